"""Plants mistakes into a page and expects check_docs.py to name each of them."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.environ["BALLAST_PROGRAM"]
SCRIPT = Path(__file__).resolve().parent / "check_docs.py"


class CheckDocs(unittest.TestCase):
    """One page each."""

    def check(self, page):
        """The problems of a project with this page."""
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            (root / "docs").mkdir()
            (root / "Makefile").write_text("test: build\nbuild:\n", encoding="utf-8")
            (root / "docs" / "other.md").write_text("# A `good` page\n", encoding="utf-8")
            (root / "README.md").write_text(page, encoding="utf-8")
            run = subprocess.run([sys.executable, "-B", SCRIPT, PROGRAM, root], text=True,
                                 capture_output=True, check=False)
        lines = run.stdout.splitlines()
        self.assertEqual(run.returncode, 1 if len(lines) > 1 else 0, run.stderr)
        return lines[:-1]

    def test_what_is_right_passes(self):
        page = ("Call `ballast list rules --markdown` or `make test`, see\n"
                "[it](docs/other.md#a-good-page)\n"
                "```sh\nballast train spec.toml \\\n    --set a=b | tee log --what\n"
                "make build test\n```\n"
                "| a | b |\n|---|---|\n| `x | y` | 2 |\n\nballast is a word, `--flag` too.\n")
        self.assertEqual(self.check(page), [])

    def test_commands_and_flags_that_do_not_exist(self):
        self.assertEqual(self.check("`ballast trian spec.toml`\n"),
                         ["README.md:1: there is no command 'ballast trian'"])
        self.assertEqual(self.check("a\n```\nballast train spec.toml \\\n  --sett a=b\n```\n"),
                         ["README.md:4: 'ballast train' has no flag --sett"])
        self.assertEqual(self.check("`ballast bench train --seats 3`\n"),
                         ["README.md:1: 'ballast bench train' has no flag --seats"])

    def test_targets_links_and_tables(self):
        self.assertEqual(self.check("`make tset`\n"),
                         ["README.md:1: the Makefile has no target 'tset'"])
        self.assertEqual(self.check("[it](docs/none.md) [that](docs/other.md#bad)\n"),
                         ["README.md: the link to docs/none.md leads nowhere",
                          "README.md: the link to docs/other.md#bad: the page has no such heading"])
        self.assertEqual(self.check("| a | b |\n|---|---|\n| 1 |\n"),
                         ["README.md:3: the row has 1 cells, its table 2 columns"])


if __name__ == "__main__":
    unittest.main()
