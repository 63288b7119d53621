#!/usr/bin/env python3
"""Drives `ballast verify` as a user does: every claim holds, the folder has what it should have,
and a claim that does not hold is told apart from a wrong flag.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/cli/verify_test.py
"""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.environ["BALLAST_PROGRAM"]


def verify(*arguments):
    return subprocess.run([PROGRAM, "verify", *map(str, arguments)], capture_output=True,
                          text=True, timeout=600, check=False)


class Verify(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = Path(self.folder.name) / "out"

    def test_every_claim_holds(self):
        run = verify("--quick", "--out", self.out)

        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertNotIn("DOES NOT HOLD", run.stdout)
        report = json.loads((self.out / "claims.json").read_text())
        self.assertTrue(report["quick"])
        self.assertTrue(report["holds"])
        self.assertGreaterEqual(len(report["claims"]), 17)
        self.assertTrue(all(claim["checks"] for claim in report["claims"]))
        self.assertIn("The theory, checked", (self.out / "report.html").read_text())

    def test_one_claim_prints_all_its_checks_or_json(self):
        table = verify("--quick", "--claim", "definitions", "--out", self.out)
        self.assertEqual(table.returncode, 0, table.stderr)
        self.assertIn("cwmed with ties", table.stdout)

        printed = verify("--quick", "--claim", "definitions", "--out", self.out, "--json")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        self.assertEqual(json.loads(printed.stdout),
                         json.loads((self.out / "claims.json").read_text()))

    def test_same_numbers_on_any_number_of_threads(self):
        reports = [verify("--quick", "--claim", "delay", "--out", self.out, "--json",
                          "--threads", threads).stdout for threads in (1, 3)]
        self.assertEqual(reports[0], reports[1])

    def test_a_claim_that_does_not_hold_has_an_exit_code_of_its_own(self):
        run = verify("--quick", "--claim", "regret", "--plant", "eta-halved", "--out", self.out)

        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("DOES NOT HOLD", run.stdout)
        self.assertIn("not all claims hold: regret", run.stderr)
        self.assertFalse(json.loads((self.out / "claims.json").read_text())["holds"])

    def test_mutants_are_caught_and_shown(self):
        run = verify("--mutants", "--claim", "algorithm")

        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("| `reply-newest` | the reply is x_{t+1} | `algorithm` |", run.stdout)
        self.assertNotIn("NOT CAUGHT", run.stdout)

    def test_unknown_mutants_are_refused(self):
        run = verify("--quick", "--claim", "regret", "--plant", "eta-halfed", "--out", self.out)

        self.assertEqual(run.returncode, 2)
        self.assertIn("did you mean 'eta-halved'?", run.stderr)
        self.assertFalse(self.out.exists())

    def test_unknown_claims_are_refused(self):
        run = verify("--claim", "martingal", "--out", self.out)

        self.assertEqual(run.returncode, 2)
        self.assertIn("did you mean 'martingale'?", run.stderr)
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main()
