#!/usr/bin/env python3
"""Drives `ballast ca` as an operator does, and checks the certificates with the `openssl` program.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/cli/ca_test.py
"""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path

PROGRAM = os.environ["BALLAST_PROGRAM"]
OPENSSL = shutil.which("openssl")


class CaTest(unittest.TestCase):
    """A folder of its own for each test, with an authority in it."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="ballast-ca-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.say("init")

    def ca(self, *arguments):
        return subprocess.run([PROGRAM, "ca", *map(str, arguments)], capture_output=True, text=True,
                              timeout=60, check=False, cwd=self.folder)

    def say(self, *arguments):
        done = self.ca(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def check_refused(self, arguments, says):
        """Exit code 2, one line that says it, and no file touched."""
        with self.subTest(" ".join(map(str, arguments))):
            before = self.files()
            done = self.ca(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertRegex(done.stderr, r"^ballast: [^\n]*[^\n:; ]\n$")
            self.assertIn(says, done.stderr)
            self.assertEqual(self.files(), before)

    def files(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def listed(self):
        return [json.loads(line) for line in self.say("list", "--json").splitlines()]

    def denied(self):
        lines = (self.folder / "ca" / "denied").read_text(encoding="ascii").splitlines()
        return [line.split() for line in lines if not line.startswith("#")]


class LifeTest(CaTest):
    """Init, issue, rotate, revoke."""

    def test_keys_are_private(self):
        self.say("issue", "worker-1")
        for name in ("ca.key", "worker-1.key"):
            self.assertEqual((self.folder / "ca" / name).stat().st_mode & 0o777, 0o600, name)

    def test_list_tells_the_life_of_every_certificate(self):
        before = datetime.now(timezone.utc)
        self.say("issue", "worker-1", "--days", 30)
        self.say("issue", "main", "--server", "--host", "localhost", "--host", "10.0.0.7")

        first, second = self.listed()

        self.assertEqual(list(first), ["name", "kind", "serial", "valid_from", "valid_until",
                                       "state"])
        self.assertEqual((first["name"], first["kind"], first["state"]),
                         ("worker-1", "worker", "valid"))
        self.assertEqual((second["name"], second["kind"]), ("main", "server"))
        self.assertRegex(first["serial"], r"^[0-9a-f]{20,32}$")
        until = datetime.fromisoformat(first["valid_until"].replace("Z", "+00:00"))
        self.assertLess(abs(until - before - timedelta(days=30)), timedelta(minutes=1))
        lines = self.say("list").splitlines()
        self.assertEqual([line.split()[:3] for line in lines],
                         [["worker-1", "worker", "valid"], ["main", "server", "valid"]])

    def test_rotation_keeps_the_old_certificate_until_it_is_revoked(self):
        self.say("issue", "worker-1")
        self.say("issue", "worker-1")
        self.assertEqual([line["state"] for line in self.listed()], ["valid", "valid"])
        self.say("revoke", "worker-1", "--old")
        self.assertEqual([line["state"] for line in self.listed()], ["revoked", "valid"])
        self.assertEqual(self.denied(), [[self.listed()[0]["serial"], "worker-1"]])

    def test_replacement_and_revocation(self):
        self.say("issue", "worker-1")
        self.say("issue", "worker-1", "--replace")
        self.assertEqual([line["state"] for line in self.listed()], ["revoked", "valid"])
        self.assertEqual(self.say("revoke", "worker-1"),
                         f"revoked worker-1, serial {self.listed()[1]['serial']}\n")
        self.assertEqual(self.say("revoke", "worker-1"), "worker-1: nothing left to revoke\n")
        self.assertEqual([serial for serial, _ in self.denied()],
                         [line["serial"] for line in self.listed()])

    def test_dir_and_out(self):
        (self.folder / "site").mkdir()
        self.say("init", "--dir", "second", "--name", "second", "--days", 400)
        self.say("issue", "w", "--dir", "second", "--out", "site")
        self.assertEqual({path.name for path in (self.folder / "site").iterdir()},
                         {"w.key", "w.crt"})
        self.assertEqual(self.listed(), [])

    @unittest.skipUnless(OPENSSL, "no openssl program")
    def test_another_program_verifies_the_chain(self):
        self.say("issue", "worker-1")
        self.say("issue", "main", "--server", "--host", "localhost")
        self.say("init", "--dir", "other")
        good = [("ca", "worker-1", "sslclient"), ("ca", "main", "sslserver")]
        bad = [("ca", "worker-1", "sslserver"), ("ca", "main", "sslclient"),
               ("other", "worker-1", "sslclient")]
        for root, name, purpose in good + bad:
            with self.subTest(root=root, name=name, purpose=purpose):
                done = subprocess.run(
                    [OPENSSL, "verify", "-x509_strict", "-purpose", purpose, "-CAfile",
                     self.folder / root / "ca.crt", self.folder / "ca" / f"{name}.crt"],
                    capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode == 0, (root, name, purpose) in good, done.stderr)


class ErrorTest(CaTest):
    """Whatever is wrong changes nothing."""

    def test_wrong_names_and_flags(self):
        self.say("issue", "worker-1")
        for name in ("Worker", "a_b", "../a", "a" * 64, "a\nb", ""):
            self.check_refused(["issue", name], "is not a name")
        self.check_refused(["issue", "ca"], "choose another one")
        self.check_refused(["issue"], "name")
        self.check_refused(["issue", "w", "--host", "localhost"], "--server")
        self.check_refused(["issue", "main", "--server"], "--host")
        self.check_refused(["issue", "main", "--server", "--host", "*.org"], "'*.org'")
        self.check_refused(["issue", "worker-1", "--server", "--host", "a"], "name of a worker")
        for days in ("0", "-1", "36501", "ever"):
            self.check_refused(["issue", "w", "--days", days], days)
        self.check_refused(["issue", "w", "--days", "3651"], "fewer days")
        self.check_refused(["revoke", "workr-1"], "did you mean 'worker-1'?")
        self.check_refused([], "--help")

    def test_wrong_folders(self):
        self.check_refused(["init"], "ca: exists already")
        self.check_refused(["init", "--dir", "none/ca"], "none")
        self.check_refused(["init", "--dir", "new", "--name", "My CA"], "is not a name")
        for arguments in (["issue", "w"], ["revoke", "w"], ["list"]):
            self.check_refused([*arguments, "--dir", "none"], "'ballast ca init' makes one")
        self.check_refused(["issue", "w", "--out", "none"], "none")

    def test_a_key_that_others_can_read(self):
        (self.folder / "ca" / "ca.key").chmod(0o644)
        self.check_refused(["issue", "w"], "run 'chmod 600 ca/ca.key'")


if __name__ == "__main__":
    unittest.main()
