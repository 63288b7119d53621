#!/usr/bin/env python3
"""Drives `ballast arena` as a user does, on a tiny contest of its own.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/cli/arena_test.py
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

PROGRAM = os.environ["BALLAST_PROGRAM"]

CONTEST = """
name = "own"
data = "files"
train_images = "x.npy"
train_labels = "y.npy"
test_images = "x.npy"
test_labels = "y.npy"
updates = 20
evaluate_every = 20
seeds = [1, 2]
[grid]
attack = ["none", "sign-flip"]
[arena]
title = "Own"
recommended = "table"
[arena.search]
eta = [0.1, 1.0]
validation_samples = 20
attacks = ["none"]
panels = ["one liar"]
seeds = [9]
[[arena.size]]
name = "quick"
set = ["seeds=[1]"]
[[panel]]
label = "one liar"
workers = 5
share = 0.3
[[curve]]
label = "table"
needs = "share"
rule = "ctma(gm, {share})"
[[curve]]
label = "asgd"
method = "asgd"
optimizer = "sgd"
"""


def arena(*arguments):
    return subprocess.run([PROGRAM, "arena", *map(str, arguments)], capture_output=True, text=True,
                          timeout=250, check=False)


class ArenaCommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="ballast-arena-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = self.folder / "out"
        self.contest = self.folder / "own.toml"
        self.contest.write_text(CONTEST, encoding="utf-8")
        labels = np.arange(60) % 10
        np.save(self.folder / "x.npy", np.eye(10, dtype=np.float32)[labels])
        np.save(self.folder / "y.npy", labels)

    def check_refused(self, done, *says):
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        for text in says:
            self.assertIn(text, done.stderr)
        self.assertFalse(self.out.exists())

    def test_runs_a_contest_and_goes_on_from_what_is_done(self):
        done = arena(self.contest, "--out", self.out, "--threads", 2)

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("12 runs, 240 updates", done.stderr)  # 2 x 2 of the search, 2 x 2 x 2
        self.assertIn("the page is", done.stdout)
        page = (self.out / "arena.md").read_text(encoding="utf-8")
        self.assertRegex(page, r"Made by ballast [0-9.]+, commit \w+")
        self.assertIn(f"ballast arena {self.contest}\n", page)
        self.assertIn("| asgd |", page)
        self.assertIn("## Own: the search for step sizes", page)
        for name in ("report.html", "own/metrics.csv", "own-search/metrics.csv",
                     "images/own-worst.svg", "images/own-worlds.svg"):
            self.assertTrue((self.out / name).exists(), name)
        self.assertIn("](images/own-worst.svg)", page)

        again = arena(self.contest, "--out", self.out, "--threads", 1)

        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual((self.out / "arena.md").read_text(encoding="utf-8"), page)

    def test_has_sizes_and_settings(self):
        done = arena(self.contest, "--quick", "--out", self.out, "--set", "updates=10",
                     "--set", "evaluate_every=10")

        self.assertEqual(done.returncode, 0, done.stderr)
        page = (self.out / "arena.md").read_text(encoding="utf-8")
        self.assertTrue(page.startswith("# The arena (quick)\n"), page[:80])
        self.assertIn(f"{self.contest} --quick --set 'updates=10'", page)
        self.assertIn("1 world, 2 attacks, 10 updates, 1 seed.", page)

    def test_never_overwrites_other_results(self):
        self.assertEqual(arena(self.contest, "--out", self.out).returncode, 0)

        done = arena(self.contest, "--out", self.out, "--set", "batch=3")

        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--force", done.stderr)

    def test_says_what_is_wrong(self):
        self.check_refused(arena(self.contest, "--size", "huge", "--out", self.out),
                           "there is no size \"huge\"; there are: full, quick")
        self.check_refused(arena(self.folder / "none.toml", "--out", self.out), "none.toml")
        self.check_refused(arena("--out", self.out, "--set", f"data_dir={self.folder}"),
                           "ballast data get mnist")
        self.contest.write_text(CONTEST.replace("[arena]", "[arenas]"), encoding="utf-8")
        self.check_refused(arena(self.contest, "--out", self.out),
                           "there is no key 'arenas'")
        self.contest.write_text('data = "mnist"\n', encoding="utf-8")
        self.check_refused(arena(self.contest, "--out", self.out),
                           "a contest needs a table [arena]")


if __name__ == "__main__":
    unittest.main()
