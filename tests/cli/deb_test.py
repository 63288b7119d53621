#!/usr/bin/env python3
"""Makes the Debian package and looks at what a machine would get.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/cli/deb_test.py
"""

import gzip
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.environ["BALLAST_PROGRAM"]
PACKAGING = Path(__file__).resolve().parents[2] / "packaging"


def run(*words, **how):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=120, check=True, **how).stdout


@unittest.skipUnless(shutil.which("dpkg-deb") and shutil.which("dpkg-shlibdeps"), "needs Debian")
class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="ballast-deb-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.package = Path(run(PACKAGING / "build_deb.sh", PROGRAM, cls.folder).strip())
        cls.root = cls.folder / "root"
        run("dpkg-deb", "-x", cls.package, cls.root)

    def test_the_program_in_it_runs(self):
        program = self.root / "usr/bin/ballast"
        self.assertEqual(run(program, "--version"), run(PROGRAM, "--version"))
        self.assertIn("gm", run(program, "list"))

    def test_it_names_the_libraries_it_needs_and_the_right_version(self):
        fields = run("dpkg-deb", "-f", self.package)
        self.assertRegex(fields, r"Depends: .*libgrpc\+\+1.*adduser")
        version = run(PROGRAM, "--version").split()[1]
        self.assertIn(f"Version: {version}\n", fields)
        contents = run("dpkg-deb", "-c", self.package)
        self.assertNotIn("/root/", contents)
        self.assertTrue(all(" root/root " in line for line in contents.splitlines()))

    def test_the_units_start_what_is_there(self):
        for unit in ("ballast-server.service", "ballast-worker@.service"):
            text = (self.root / "lib/systemd/system" / unit).read_text()
            self.assertIn("MemoryMax=", text)
            self.assertIn("ProtectSystem=strict", text)
            started = re.search(r"^ExecStart=(\S+)", text, re.MULTILINE).group(1)
            self.assertTrue(os.access(self.root / started.lstrip("/"), os.X_OK), started)
        if shutil.which("systemd-analyze"):
            done = subprocess.run(["systemd-analyze", "verify", "--root", self.root,
                                   self.root / "lib/systemd/system/ballast-server.service"],
                                  capture_output=True, text=True, check=False)
            self.assertNotRegex(done.stderr, r"ballast-server.service:\d+: ")

    def test_the_start_script_starts_and_goes_on(self):
        site = self.folder / "site"
        (site / "bin").mkdir(parents=True)
        fake = site / "bin/ballast"
        fake.write_text("#!/bin/sh\necho \"$@\"\n")
        fake.chmod(0o755)
        script = site / "start"
        script.write_text((self.root / "usr/lib/ballast/start-server").read_text()
                          .replace("/usr/bin/ballast", str(fake)))
        (site / "server.flags").write_text("--threads 3\n")
        self.assertTrue(run("sh", script, cwd=site).endswith("--threads 3 --state state\n"))
        (site / "state/gen-4").mkdir(parents=True)
        self.assertTrue(run("sh", script, cwd=site).endswith("--threads 3 --resume state\n"))

    def test_the_man_page_has_every_command(self):
        packed = (self.root / "usr/share/man/man1/ballast.1.gz").read_bytes()
        page = gzip.decompress(packed).decode()
        commands = re.findall(r"^  ([a-z]+) ", run(PROGRAM, "--help").split("Subcommands:")[1],
                              re.MULTILINE)
        self.assertGreater(len(commands), 10)
        for command in commands:
            self.assertIn(f".B {command}\n", page)
        self.assertNotIn("@VERSION@", page)

    def test_bash_completes_commands_and_flags(self):
        completion = self.root / "usr/share/bash-completion/completions/ballast"

        def complete(*words):
            script = (f"PATH={self.root}/usr/bin:$PATH; source {completion}; "
                      f"COMP_WORDS=({' '.join(words)} ''); [ -n '{words[-1]}' ] && "
                      f"COMP_WORDS=({' '.join(words)}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); "
                      "_ballast; echo ${COMPREPLY[@]}")
            return run("bash", "-c", script).split()

        self.assertEqual(complete("ballast", "exp"), ["export"])
        self.assertEqual(complete("ballast", "ca", "rev"), ["revoke"])
        self.assertIn("--model-every", complete("ballast", "serve", "--model"))


if __name__ == "__main__":
    unittest.main()
