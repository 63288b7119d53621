#!/usr/bin/env python3
"""Drives `ballast reproduce` as a user does, on a tiny data set of its own.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/cli/reproduce_test.py
"""

import html.parser
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

PROGRAM = os.environ["BALLAST_PROGRAM"]
ROOT = Path(__file__).resolve().parents[2]
VOID_TAGS = {"meta", "link", "br", "hr", "img"}


def reproduce(*arguments):
    return subprocess.run([PROGRAM, "reproduce", *map(str, arguments)], capture_output=True,
                          text=True, timeout=250, check=False)


def form(page, figure):
    """What a figure's part of the page says beside its numbers and findings: headings, pictures,
    and of each table the cells that name something."""
    part = page.partition(f"## Figure {figure}.")[2].partition(f"## Figure {figure + 1}.")[0]
    number = re.compile(r"[+-]?\d+\.\d+( .*)?|holds|fails.*|not decided")
    lines = [line for line in part.splitlines() if line.startswith(("#", "!", "| "))]
    return [[cell.strip() for cell in line.strip("|").split("|")
             if not number.fullmatch(cell.strip())] for line in lines]


class Outline(html.parser.HTMLParser):
    """Checks that tags nest, and counts them."""

    def __init__(self):
        super().__init__()
        self.open, self.counts = [], {}

    def handle_starttag(self, tag, attrs):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if tag not in VOID_TAGS:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:], self.getpos())
        self.open.pop()


class ReproduceCommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="ballast-reproduce-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = self.folder / "out"

    def own_data(self):
        """Ten classes that tell themselves."""
        labels = np.arange(60) % 10
        np.save(self.folder / "x.npy", np.eye(10, dtype=np.float32)[labels])
        np.save(self.folder / "y.npy", labels)
        settings = {"data": "files", "model": "softmax", "updates": 20, "evaluate_every": 10}
        for split in ("train", "test"):
            settings[f"{split}_images"] = self.folder / "x.npy"
            settings[f"{split}_labels"] = self.folder / "y.npy"
        return [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]

    def check_refused(self, done, *says):
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for text in says:
            self.assertIn(text, done.stderr)
        self.assertFalse(self.out.exists())

    def test_runs_a_figure_and_reports(self):
        done = reproduce("--figure", 5, "--quick", "--threads", 2, "--out", self.out,
                         *self.own_data())

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the report is", done.stdout)
        for name in ("claims.json", "report.html", "fig5/metrics.csv", "fig5/curves.svg"):
            self.assertTrue((self.out / name).exists(), name)
        claims = json.loads((self.out / "claims.json").read_text(encoding="utf-8"))["claims"]
        self.assertEqual(len(claims), 4 * 3)  # panels x claims
        self.assertEqual({claim["finding"] for claim in claims}, {"not decided"})  # one seed
        page = (self.out / "results.md").read_text(encoding="utf-8")
        self.assertRegex(page, r"Made by ballast [0-9.]+, commit \w+")
        self.assertIn("ballast reproduce --figure 5 --quick --set 'data=files'", page)
        self.assertIn("](images/fig5.svg)", page)
        self.assertEqual((self.out / "images/fig5.svg").read_bytes(),
                         (self.out / "fig5/curves.svg").read_bytes())
        self.assertEqual({(claim["stated_share"], round(claim["share_run"], 3))
                          for claim in claims}, {(0.4, 0.4), (0.4, 0.333)})
        on_record = (ROOT / "docs/results.md").read_text(encoding="utf-8")
        self.assertEqual(form(page, 5), form(on_record, 5), "docs/results.md is of another form")
        self.assertEqual(len(form(page, 5)), 1 + 1 + 7 + 1 + 1 + 12)  # picture, tables, heading

    def test_the_report_is_well_formed_and_needs_nothing_else(self):
        done = reproduce("--figure", 6, "--quick", "--threads", 2, "--out", self.out,
                         *self.own_data())
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (self.out / "report.html").read_text(encoding="utf-8")

        outline = Outline()
        outline.feed(page)
        outline.close()

        self.assertEqual(outline.open, [])
        self.assertEqual(outline.counts["svg"], 1)
        self.assertEqual(outline.counts["table"], 3)  # in short, results, claims
        self.assertEqual(outline.counts.get("script", 0), 0)
        self.assertNotIn("src=", page)

    def test_the_same_command_repeats_no_run(self):
        arguments = ("--figure", 5, "--quick", "--threads", 2, "--out", self.out,
                     *self.own_data())
        self.assertEqual(reproduce(*arguments).returncode, 0)
        before = {path: path.stat().st_mtime_ns for path in (self.out / "fig5/runs").iterdir()}

        done = reproduce(*arguments)

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(before), 4 * 7 + 1)  # a record of each run, and one model
        for path, time in before.items():
            self.assertEqual(path.stat().st_mtime_ns, time, path)

    def test_missing_data_is_told_before_anything_runs(self):
        self.check_refused(reproduce("--out", self.out, "--set", f"data_dir={self.folder}"),
                           "figure 2: ", "ballast data get cifar10")

    def test_wrong_flags_are_refused(self):
        for arguments, says in ((("--figure", "8"), "from 2 to 7, as in 5,6, or all"),
                                (("--set", "shares=0.3"), "did you mean 'share'?"),
                                (("--set", "share=0.3"), "every [[panel]] sets share"),
                                (("--set", "updates=0"), "updates must be from 1"),
                                (("--threads", "0"), "reproduce --help"),
                                (("--fast",), "reproduce --help")):
            with self.subTest(arguments):
                self.check_refused(reproduce(*arguments, "--out", self.out), says)


if __name__ == "__main__":
    unittest.main()
