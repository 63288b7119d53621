#!/usr/bin/env python3
"""Checks what the documents say about the project: that commands and their flags exist, that make
targets exist, that links lead somewhere and that tables have as many cells in each row as columns.

Usage: tools/check_docs.py PROGRAM [FOLDER]   (FOLDER: the project, default this one)
Prints one line per problem and exits with 1 if there is one.
"""

import functools
import re
import subprocess
import sys
from pathlib import Path

# A command in a text: at the start of a line of a code block, or between backticks.
INLINE_CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FLAG = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]*)")
WORD = re.compile(r"[a-z][a-z-]*$")
PROGRAM_NAMES = ("ballast", "build/bin/ballast", "./ballast")


class Program:
    """What the program's own help says."""

    def __init__(self, path):
        self.path = path

    @functools.lru_cache(maxsize=None)
    def help(self, *words):
        """The help of a command; empty if there is no such command."""
        run = subprocess.run([self.path, *words, "--help"], capture_output=True, text=True,
                             check=False, timeout=60)
        return run.stdout if run.returncode == 0 else ""

    def commands(self, *words):
        """The names of the commands below this one."""
        _, _, below = self.help(*words).partition("Subcommands:\n")
        return set(re.findall(r"^  ([a-z][a-z-]*)", below, re.MULTILINE))


def code_of(text):
    """(line number, code) of every line of a code block and every inline piece of code."""
    is_block = False
    waiting = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_block = not is_block
        elif is_block:
            piece = waiting + line.strip()
            waiting = piece[:-1] + " " if piece.endswith("\\") else ""
            if not waiting:
                yield number, piece.removeprefix("$ ")
        else:
            for piece in INLINE_CODE.findall(line):
                yield number, piece


def command_problems(program, code):
    """What is wrong with a piece of code that calls the program."""
    code = re.split(r"\s#\s|\s\||\s>|;|&&", code)[0]
    words = code.split()
    if not words or words[0] not in PROGRAM_NAMES:
        return
    path = []
    for word in words[1:]:
        if not WORD.match(word) or word not in program.commands(*path):
            break
        path.append(word)
    # A value that is no command is an argument, but the first word must be a command.
    if not path and len(words) > 1 and WORD.match(words[1]):
        yield f"there is no command 'ballast {words[1]}'"
        return
    known = set(FLAG.findall(program.help(*path)))
    for flag in FLAG.findall(code):
        if flag not in known:
            yield f"'ballast {' '.join(path)}' has no flag {flag}"


def make_problems(targets, code):
    """What is wrong with a piece of code that calls make."""
    words = code.split()
    if len(words) < 2 or words[0] != "make":
        return
    for word in words[1:]:
        if WORD.match(word) and word not in targets:
            yield f"the Makefile has no target '{word}'"
        if not WORD.match(word):
            break


def table_problems(text):
    """(line number, problem) of rows whose cells are not as many as their table's columns."""
    columns = 0
    is_block = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_block = not is_block
        if is_block or not line.startswith("|"):
            columns = 0
            continue
        plain = re.sub(r"`[^`]*`", "", line).replace("\\|", "")
        cells = plain.strip().strip("|").count("|") + 1
        if columns == 0:
            columns = cells
        elif cells != columns:
            yield number, f"the row has {cells} cells, its table {columns} columns"


def heading_names(text):
    """The anchors that a page's headings give."""
    names = set()
    for heading in re.findall(r"^#+ +(.*)$", text, re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
        names.add(plain.strip().replace(" ", "-"))
    return names


def link_problems(page, text):
    """What is wrong with the links of a page to files of the project."""
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name) if name else page
        if not path.exists():
            yield f"the link to {target} leads nowhere"
        elif anchor and path.suffix == ".md" and anchor not in heading_names(path.read_text()):
            yield f"the link to {target}: the page has no such heading"


def page_problems(program, targets, page):
    """(line number, problem) of one page; 0 where the line is not known."""
    text = page.read_text(encoding="utf-8")
    for number, code in code_of(text):
        for problem in command_problems(program, code):
            yield number, problem
        for problem in make_problems(targets, code):
            yield number, problem
    yield from table_problems(text)
    for problem in link_problems(page, text):
        yield 0, problem


def main():
    """Checks every page."""
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.strip())
    program = Program(sys.argv[1])
    root = Path(sys.argv[2]) if len(sys.argv) == 3 else Path(__file__).resolve().parent.parent
    if not program.commands():
        sys.exit(f"{sys.argv[1]} is not the program: it lists no commands")
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    pages = sorted([*root.glob("*.md"), *(root / "docs").glob("*.md")])
    count = 0
    for page in pages:
        for number, problem in page_problems(program, targets, page):
            place = f"{page.relative_to(root)}:{number}" if number else page.relative_to(root)
            print(f"{place}: {problem}")
            count += 1
    print(f"{len(pages)} pages, {count} problems")
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
