#!/usr/bin/env python3
"""What a user of the installed library has: installs a finished build, then builds and runs the
examples against that copy, component by component, with every package hidden that the component
does not need.

BALLAST_BUILD names the build, BALLAST_COMPILER the compiler."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["BALLAST_BUILD"])
COMPILER = os.environ["BALLAST_COMPILER"]
ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"

# Packages that Ballast itself is built with, all of them hidden but for those named.
PACKAGES = {"Boost", "OpenSSL", "PNG", "Protobuf", "SQLite3", "Torch", "ZLIB", "gRPC",
            "nlohmann_json", "spdlog", "toml++"}
NETWORK = {"gRPC", "Protobuf", "OpenSSL", "ZLIB"}  # gRPC asks for zlib itself

PUBLIC_HEADERS = {"attack.h", "compute.h", "error.h", "gradient.h", "method.h", "optimizer.h",
                  "parameter_server.h", "rules.h", "simulation.h", "table.h", "training.h",
                  "worker.h"}
NETWORK_HEADERS = {"client.h", "server.h", "tls.h"}  # where this build has a network


def run(*command, **options):
    """Runs it and returns what it printed; fails with all of that."""
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=500, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def blocks(page):
    """The code of a page: files by the name that stands before them, commands, and output."""
    found = re.findall(r"([^\n]*)\n\n   ```(\w+)\n(.*?)\n   ```", page, re.DOTALL)
    files, commands, output = {}, [], ""
    for before, kind, text in found:
        lines = "".join(line.removeprefix("   ") + "\n" for line in text.split("\n"))
        if kind == "sh":
            commands += lines.splitlines()
        elif kind == "text":
            output += lines
        else:
            files[re.search(r"`([\w.]+)`:$", before).group(1)] = lines
    return files, commands, output


def expected(example):
    return (EXAMPLES / example / "expected.txt").read_text()


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = Path(tempfile.mkdtemp(prefix="ballast-installed-"))
        cls.addClassCleanup(shutil.rmtree, cls.work)
        cls.prefix = cls.work / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.headers = set(PUBLIC_HEADERS)
        cls.has_network = (cls.prefix / "include" / "ballast" / "server.h").exists()
        if cls.has_network:
            cls.headers |= NETWORK_HEADERS

    def configure(self, components, needed):
        """Configures the examples of these components; returns the build folder."""
        # What is hidden stays in the cache of a folder.
        folder = self.work / "-".join([*components.split(";"), str(len(needed))])
        hidden = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in PACKAGES - needed]
        run("cmake", "-G", "Ninja", "-S", EXAMPLES, "-B", folder, f"-DCOMPONENTS={components}",
            f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={COMPILER}",
            "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror", *hidden)
        return folder

    def build(self, components, needed=frozenset()):
        folder = self.configure(components, needed)
        run("cmake", "--build", folder)
        return folder

    def check(self, folder, *examples):
        for example in examples:
            with self.subTest(example):
                self.assertEqual(run(folder / f"example_{example}"), expected(example))

    def test_public_headers_are_these_and_include_nothing_else(self):
        folder = self.prefix / "include" / "ballast"
        found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        self.assertEqual(found, self.headers)
        for name in self.headers:
            text = (folder / name).read_text()
            for header in re.findall(r'#include\s+[<"]([^>"]+)', text):
                is_ours = header.startswith("ballast/") and header[8:] in self.headers
                is_standard = "/" not in header and "." not in header
                self.assertTrue(is_ours or is_standard or header == "tl/expected.hpp",
                                f"{name} includes {header}")

    def test_robust_needs_neither_network_nor_storage(self):
        folder = self.build("robust")
        self.check(folder, "aggregate", "long_form", "table")
        self.assertIn("ctma(gm, 0.4)", run(folder / "example_comparison"))

    def test_train_needs_neither_network_nor_storage(self):
        self.check(self.build("train"), "gradient", "attack", "search", "loop")

    def test_how_to_pages_are_right_word_for_word(self):
        for page in ("how-to-add-a-method", "how-to-add-an-attack"):
            with self.subTest(page):
                files, commands, output = blocks((ROOT / "docs" / f"{page}.md").read_text())
                folder = self.work / page
                folder.mkdir()
                for name, text in files.items():
                    (folder / name).write_text(text)
                self.assertGreaterEqual(set(files), {"CMakeLists.txt", "main.cc"})
                environment = {**os.environ, "CXX": COMPILER,
                               "CXXFLAGS": "-Wall -Wextra -Werror"}
                printed = ""
                for command in commands:
                    command = command.replace("/opt/ballast", str(self.prefix))
                    printed = run(*command.split(), cwd=folder, env=environment)
                self.assertEqual(printed, output)

    def test_a_missing_package_and_component_are_named(self):
        if self.has_network:
            with self.assertRaisesRegex(AssertionError, "gRPC"):
                self.configure("client", set())
        with self.assertRaisesRegex(AssertionError, "sailing"):
            self.configure("sailing", set())

    def test_client_and_server(self):
        if not self.has_network:
            self.skipTest("this build has no network")
        client = self.build("client", NETWORK)
        server = self.build("client;server", NETWORK | {"SQLite3"})
        self.check_together(client / "example_client", server / "example_server")
        self.check_method(server / "example_method")

    def check_together(self, client, server):
        with subprocess.Popen([server], text=True, stdout=subprocess.PIPE) as serving:
            try:
                address = serving.stdout.readline().split()[-1]
                workers = [subprocess.Popen([client, address, name])
                           for name in ("ann", "bob", "cleo", "dan", "liar")]
                self.assertEqual([worker.wait(timeout=120) for worker in workers], [0] * 5)
                self.assertEqual(serving.stdout.read(), expected("server"))
            finally:
                serving.kill()

    def check_method(self, program):
        folder = self.work / "state"
        killed = subprocess.run([program, folder], text=True, stdout=subprocess.PIPE, timeout=120,
                                check=False)
        self.assertEqual(killed.returncode, -9)
        self.assertEqual(killed.stdout + run(program, folder, "again"), expected("method"))


if __name__ == "__main__":
    unittest.main()
