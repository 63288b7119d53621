#!/usr/bin/env python3
"""Drives `ballast data` as a user does, without a network: no program it could call is on PATH.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/cli/data_command_test.py
A folder of real data sets in BALLAST_DATA lets the test of files that are there run too.
"""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.environ["BALLAST_PROGRAM"]
MNIST_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
               "t10k-labels-idx1-ubyte")


def ballast_data(*arguments, **environment):
    return subprocess.run([PROGRAM, "data", *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, check=False, env={"PATH": "/nowhere", **environment})


class DataCommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="ballast-data-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def check_refused(self, done, *says):
        """Exit code 2, nothing on standard output, and the error as the last line."""
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        lines = done.stderr.splitlines()
        self.assertTrue(lines[-1].startswith("ballast: "), done.stderr)
        self.assertEqual(sum(line.startswith("ballast: ") for line in lines), 1)
        for text in says:
            self.assertIn(text, lines[-1])
        return lines[:-1]

    def test_list_has_one_line_per_data_set(self):
        done = ballast_data("list", "--json")
        entries = [json.loads(line) for line in done.stdout.splitlines()]
        table = ballast_data("list").stdout.splitlines()

        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([entry["name"] for entry in entries],
                         ["mnist", "fashion-mnist", "cifar10"])
        self.assertEqual([(entry["files"], entry["bytes"]) for entry in entries],
                         [(4, 54_950_048), (4, 54_950_048), (6, 6 * 10_000 * 3073)])
        for line, entry in zip(table, entries, strict=True):
            self.assertEqual(line.split(maxsplit=1), [entry["name"], entry["summary"]])

    def test_wrong_names_touch_nothing(self):
        for name, says in (("minst", "did you mean 'mnist'?"), ("imagenet-21k", "there are mnist"),
                           ("", "there are mnist")):
            with self.subTest(name):
                done = ballast_data("get", name, "--dir", self.folder / "new")
                self.assertEqual(self.check_refused(done, "no data set is called", says), [])
                self.assertFalse((self.folder / "new").exists())

    def test_wrong_commands(self):
        self.check_refused(ballast_data(), "subcommand", "ballast data --help")
        self.check_refused(ballast_data("get"), "NAME", "ballast data get --help")
        self.check_refused(ballast_data("fetch", "mnist"), "ballast data --help")
        self.check_refused(ballast_data("get", "mnist", "cifar10", "--dir", self.folder), "cifar10")

    def test_offline_it_says_what_to_do(self):
        for arguments in (("mnist",), ("all", "--json")):
            with self.subTest(arguments):
                done = ballast_data("get", *arguments, "--dir", self.folder)
                progress = self.check_refused(done, "connect this machine to the network", "copy",
                                              str(self.folder / "mnist"), *MNIST_FILES)
                self.assertGreaterEqual(len(progress), 2)
                for line in progress:
                    self.assertRegex(line, "^mnist: trying ")
                self.assertEqual(list((self.folder / "mnist").iterdir()), [])

    def test_wrong_files_are_neither_taken_nor_lost(self):
        wrong = self.folder / "mnist" / MNIST_FILES[1]
        wrong.parent.mkdir()
        wrong.write_bytes(b"not the real labels")

        self.check_refused(ballast_data("get", "mnist", "--dir", self.folder), *MNIST_FILES)

        self.assertEqual(wrong.read_bytes(), b"not the real labels")

    def test_a_folder_that_cannot_be_made(self):
        (self.folder / "file").write_bytes(b"")
        done = ballast_data("get", "mnist", "--dir", self.folder / "file")
        self.check_refused(done, str(self.folder / "file" / "mnist"), "cannot be created")

    def test_the_default_folder_comes_from_the_environment(self):
        self.check_refused(ballast_data("get", "mnist"), "set BALLAST_DATA")
        done = ballast_data("get", "mnist", BALLAST_DATA=str(self.folder / "own"))
        self.check_refused(done, str(self.folder / "own" / "mnist"))

    @unittest.skipUnless("BALLAST_DATA" in os.environ, "no real data sets in BALLAST_DATA")
    def test_files_that_are_there_are_kept(self):
        root = os.environ["BALLAST_DATA"]
        done = ballast_data("get", "mnist", "--dir", root)
        line = ballast_data("get", "mnist", "--json", BALLAST_DATA=root).stdout

        folder, source = str(Path(root) / "mnist"), "files that were already there"
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, f"mnist: {folder} (from {source})\n")
        self.assertEqual(json.loads(line), {"name": "mnist", "folder": folder, "source": source})


if __name__ == "__main__":
    unittest.main()
