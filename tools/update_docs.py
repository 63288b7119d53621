#!/usr/bin/env python3
"""Writes the tables of docs/ that are made from the registries: runs the command in each mark.

    <!-- made by: ballast list attacks --markdown -->

    ... replaced ...
    <!-- end -->

Usage: tools/update_docs.py [PROGRAM]     (build/bin/ballast)
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MARK = re.compile(r"(<!-- made by: ballast ([^\n]*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "bin" / "ballast"

    def made(match):
        table = subprocess.run([program, *match.group(2).split()], check=True, capture_output=True,
                               text=True).stdout
        return f"{match.group(1)}\n{table}\n{match.group(3)}"

    for path in sorted((ROOT / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        changed = MARK.sub(made, text)
        if changed != text:
            path.write_text(changed, encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
