#!/usr/bin/env python3
"""The house style as a test: prints `file:line: message` for each breach, fails if there is one.

Usage: tools/tidy.py [ROOT]

Which room may include and name which is read from the table in ARCHITECTURE.md, section "Rooms and
doors"; a door that nothing goes through is a breach too.
Function lengths come from matching braces in code laid out by clang-format, which is enough for a
wall at 70 lines.
"""

import bisect
import os
import re
import sys
from collections import namedtuple
from functools import cached_property
from pathlib import Path, PurePosixPath

COLUMNS_MAX = 100
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70

CXX_SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
CODE_SUFFIXES = CXX_SUFFIXES | {".py", ".sh", ".cmake"}
CODE_NAMES = {"CMakeLists.txt", "Makefile"}
SPANNING_FOLDERS = ("tests", "examples", "bench", "python")  # of no room
FOLDERS_SKIPPED = {"build", "out", "__pycache__"}

# How the headers of each library in the table's last column begin.
THIRD_PARTY = {
    "benchmark": ("benchmark/",),
    "boost": ("boost/",),
    "cli11": ("CLI/",),
    "cuda": ("cuda", "cub/", "cooperative_groups"),
    "fmt": ("fmt/",),
    "grpc": ("grpc/", "grpcpp/"),
    "gtest": ("gtest/", "gmock/"),
    "hwy": ("hwy/",),
    "intrinsics": ("immintrin.h",),
    "nanobind": ("nanobind/",),
    "nlohmann-json": ("nlohmann/",),
    "openssl": ("openssl/",),
    "png": ("png.h",),
    "posix": ("arpa/", "dirent.h", "dlfcn.h", "fcntl.h", "link.h", "linux/", "malloc.h",
              "netdb.h", "netinet/", "poll.h", "pthread.h", "sched.h", "signal.h", "spawn.h",
              "stdlib.h", "sys/", "unistd.h"),
    "protobuf": ("google/protobuf/", "proto/"),
    "sanitizers": ("sanitizer/",),
    "spdlog": ("spdlog/",),
    "sqlite": ("sqlite3.h",),
    "tl-expected": ("tl/",),
    "toml++": ("toml++/", "toml.hpp"),
    "torch": ("torch/", "ATen/", "c10/"),
    "xxhash": ("xxhash.h",),
    "zlib": ("zlib.h",),
}

Ban = namedtuple("Ban", "pattern instead library_only allowed_in", defaults=(False, ()))

# Looked for in C++ code without its comments and strings. "library only" leaves out tests,
# benchmarks and everything outside src/.
BANS = [
    Ban(r"\busing\s+namespace\b", "name what is used, or an alias"),
    Ban(r"\bs?rand\s*\(", "Rng from ballast/base/rng.h"),
    Ban(r"\bassert\s*\(", "BALLAST_CHECK from ballast/base/check.h"),
    Ban(r"\bsystem_clock\b", "a time that the caller passes in", library_only=True,
        allowed_in=("src/ballast/face/server.cc",)),
    Ban(r"\bstd::(cout|cerr|clog)\b", "return a Result, the caller prints", library_only=True),
    Ban(r"\b(f?printf|f?puts|putchar)\s*\(", "return a Result, the caller prints",
        library_only=True, allowed_in=("src/ballast/base/check.cc",)),
]
UNFINISHED = re.compile(r"\b(FIXME|TODO|XXX)\b")  # tidy: the words themselves

Problem = namedtuple("Problem", "path line message")


# ---- reading the tree


class File:
    """One file of the tree; `path` is relative to the root, with forward slashes."""

    def __init__(self, root, path):
        self.path = PurePosixPath(path)
        self.data = (Path(root) / path).read_bytes()

    @cached_property
    def text(self):
        return self.data.decode("utf-8", errors="replace")

    @cached_property
    def lines(self):
        return self.text.splitlines()

    @cached_property
    def code(self):
        """The C++ text with comments and literals blanked, positions kept."""
        return blank(self.text, LITERALS_AND_COMMENTS)

    @cached_property
    def line_starts(self):
        return [0] + [match.end() for match in re.finditer("\n", self.text)]

    def line_of(self, position):
        return bisect.bisect_right(self.line_starts, position)

    @property
    def is_cxx(self):
        return self.path.suffix in CXX_SUFFIXES

    @property
    def is_code(self):
        return self.path.suffix in CODE_SUFFIXES or self.path.name in CODE_NAMES

    @property
    def is_test(self):
        """A test, or a header that only tests include."""
        return self.path.parts[0] == "tests" or re.fullmatch(r".*_test|test_.*", self.path.stem)

    @property
    def is_library(self):
        is_tool = self.is_test or re.search(r"_(bench|fuzz)$|_for_test$", self.path.stem)
        return self.path.parts[0] in ("src", "include") and not is_tool

    @property
    def is_public(self):
        """A header that is installed."""
        return self.path.parts[:2] == ("include", "ballast")

    @property
    def sees_face_only(self):
        return self.is_public or self.path.parts[0] == "examples"

    @property
    def room(self):
        """The room this file lives in, or None for what spans rooms."""
        parts = self.path.parts
        if parts[:2] == ("src", "ballast") and len(parts) > 3:
            return parts[2]
        if self.is_public:
            return "face"
        return "apps" if parts[0] == "apps" else None

    @property
    def path_in_room(self):
        return PurePosixPath(*self.path.parts[3 if self.path.parts[0] == "src" else 1:])


LITERALS_AND_COMMENTS = re.compile(
    r"//[^\n]*|/\*.*?\*/"  # comments
    r'|R"([^()\\ ]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'  # strings
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'",  # characters, but not the ' of 1'000
    re.DOTALL)
CMAKE_COMMENTS = re.compile(r"#[^\n]*")


def blank(text, pattern):
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def read_tree(root):
    """Every code file below root, and ARCHITECTURE.md, in a fixed order."""
    files = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders
                            if name not in FOLDERS_SKIPPED and not name.startswith("."))
        for name in sorted(names):
            file = File(root, (Path(folder) / name).relative_to(root).as_posix())
            if file.is_code or str(file.path) == "ARCHITECTURE.md":
                files.append(file)
    return files


# ---- the include ladder

Row = namedtuple("Row", "line rung may_include third_party")


def read_ladder(files, problems):
    """The table of rooms: name -> Row. Says what is wrong with the table itself."""
    ladder = {}
    document = next((file for file in files if file.path.name == "ARCHITECTURE.md"), None)
    in_table = False
    for number, line in enumerate(document.lines if document else [], start=1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells == ["rung", "room", "may include", "third party"]:
            in_table = True
        elif not line.startswith("|"):
            in_table = False
        elif in_table and cells[0].isdigit() and len(cells) == 4:
            rung, room, rooms, libraries = cells
            ladder[room] = Row(number, int(rung), words(rooms), limited_words(libraries))
    if not ladder:
        problems.append(Problem("ARCHITECTURE.md", 1, "has no table of rooms"))
    for room, row in ladder.items():
        for other in row.may_include - {"everything"}:
            if other not in ladder:
                problems.append(Problem(document.path, row.line, f"{room}: no such room: {other}"))
            elif ladder[other].rung >= row.rung:
                problems.append(Problem(document.path, row.line,
                                        f"{room} may not include {other}: not on a lower rung"))
        for library in row.third_party.keys() - THIRD_PARTY.keys():
            problems.append(Problem(document.path, row.line,
                                    f"{room}: tools/tidy.py does not know {library}"))
    return ladder


def words(cell):
    return set(re.findall(r"[\w+-]+", cell))


def limited_words(cell):
    """`a, b (folder)` -> {a: "", b: "folder"}."""
    return dict(re.findall(r"([\w+-]+)(?:\s*\((\w+)\))?", cell))


def may_include(ladder, room, other):
    if room == other:
        return True
    row, below = ladder[room], ladder.get(other)
    named = "everything" in row.may_include or other in row.may_include
    return named and below is not None and below.rung < row.rung


INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)


def check_includes(files, ladder):
    doors = declared_doors(files, ladder)
    for file in files:
        if not file.is_cxx:
            continue
        for match in INCLUDE.finditer(file.text):
            line = file.line_of(match.start(1))
            for message in include_breaches(file, match.group(1), ladder, doors):
                yield Problem(file.path, line, message)


def include_breaches(file, header, ladder, doors):
    parts = PurePosixPath(header).parts
    room = file.room
    if parts[0] in SPANNING_FOLDERS:
        if room and not file.is_test:
            yield f"{room} may not include {parts[0]}/"
    elif parts[0] not in ("ballast", "apps"):
        yield from library_breaches(file, header, ladder)
    elif file.sees_face_only and len(parts) > 2 and file.path.name != "error.h":
        yield "a public header or example includes public ones only: ballast/NAME.h"
    elif room in ladder:
        other = included_room(parts)
        if not may_include(ladder, room, other):
            yield f"{room} may not include {other}: see the table of rooms in ARCHITECTURE.md"
        elif room != other and other not in doors.get(room, set()) and room != "apps":
            yield f"includes {other}, but {room}'s CMakeLists.txt does not name ballast::{other}"


def included_room(parts):
    """Of a header of ours, by its path."""
    if parts[0] == "apps":
        return "apps"
    return "face" if len(parts) == 2 else parts[1]


def library_breaches(file, header, ladder):
    if "/" not in header and "." not in header:
        return  # the standard library
    if file.is_public:
        yield f'a public header includes public ones and the standard library only, not "{header}"'
        return
    library = next((name for name, prefixes in THIRD_PARTY.items()
                    if header.startswith(prefixes)), None)
    if library is None:
        yield f'unknown header "{header}": write ballast/ROOM/NAME.h, <cNAME>, or add its ' \
              "library to THIRD_PARTY in tools/tidy.py"
    elif library == "gtest":
        if not file.is_test:
            yield "GoogleTest is for *_test.cc and test_*.h only"
    elif file.room in ladder:
        libraries = ladder[file.room].third_party
        if library not in libraries:
            yield f"{file.room} may not use {library}: see the table of rooms in ARCHITECTURE.md"
        elif libraries[library] and file.path_in_room.parts[0] != libraries[library]:
            yield f"{library} belongs into {file.room}/{libraries[library]}/ only"


def declared_doors(files, ladder):
    """The rooms each room names in its CMakeLists.txt: room -> set of rooms."""
    doors = {}
    for file, _, other in cmake_doors(files, ladder):
        doors.setdefault(file.room, set()).add(other)
    return doors


def cmake_doors(files, ladder):
    """Yields (CMakeLists.txt, line, room) for each library of ours that it names."""
    for file in files:
        if file.path.name == "CMakeLists.txt" and file.room:
            for match in re.finditer(r"\bballast::(\w+)", blank(file.text, CMAKE_COMMENTS)):
                name = match.group(1)
                # ballast::ROOM_PART is a part of a room.
                room = name if name in ladder else name.partition("_")[0]
                if room != file.room:
                    yield file, file.line_of(match.start()), room


def check_doors(files, ladder):
    for file, line, other in cmake_doors(files, ladder):
        if file.room in ladder and not may_include(ladder, file.room, other):
            yield Problem(file.path, line, f"{file.room} may not depend on ballast::{other}: "
                                           "see the table of rooms in ARCHITECTURE.md")


def named_rooms(file, ladder):
    """Yields (position, room) wherever the file names a room's namespace."""
    pattern = r"(?<![\w:])(?:ballast::)?(" + "|".join(ladder) + r")::\w"
    for match in re.finditer(pattern, file.code):
        yield match.start(1), match.group(1)


def check_namespaces(files, ladder):
    """What a file names comes from a room it may include, through whichever header it came."""
    doors = declared_doors(files, ladder)
    for file in files:
        if not file.is_cxx or file.room not in ladder or file.is_test:
            continue
        seen = set()
        for position, other in named_rooms(file, ladder):
            if other == file.room or other in seen:
                continue
            seen.add(other)
            if not may_include(ladder, file.room, other):
                yield Problem(file.path, file.line_of(position),
                              f"{file.room} may not use {other}::: see the table of rooms in "
                              "ARCHITECTURE.md")
            elif other not in doors.get(file.room, set()) and file.room != "apps":
                yield Problem(file.path, file.line_of(position),
                              f"uses {other}::, but {file.room}'s CMakeLists.txt does not name "
                              f"ballast::{other}")


def check_unused_doors(files, ladder):
    """A door that nothing goes through is closed: in the table and in the DEPS."""
    used = {room: set() for room in ladder}
    libraries = {room: set() for room in ladder}
    for file in files:
        if not file.is_cxx or file.room not in ladder:
            continue
        used[file.room].update(other for _, other in named_rooms(file, ladder))
        for match in INCLUDE.finditer(file.text):
            header = match.group(1)
            parts = PurePosixPath(header).parts
            if parts[0] in ("ballast", "apps"):
                used[file.room].add(included_room(parts))
            libraries[file.room].update(name for name, prefixes in THIRD_PARTY.items()
                                        if header.startswith(prefixes))
    for room, row in ladder.items():
        if not any(file.room == room for file in files):
            continue
        for other in sorted(row.may_include - used[room] - {"everything"}):
            if may_include(ladder, room, other):  # else it is reported already
                yield Problem("ARCHITECTURE.md", row.line,
                              f"{room} does not use {other}: close that door")
        for library in sorted(row.third_party.keys() - libraries[room]):
            if library in THIRD_PARTY:
                yield Problem("ARCHITECTURE.md", row.line,
                              f"{room} does not use {library}: close that door")
    for file, line, other in cmake_doors(files, ladder):
        if file.room in ladder and may_include(ladder, file.room, other) and \
                other not in used[file.room] and file.room != "apps":
            yield Problem(file.path, line, f"{file.room} does not use ballast::{other}: close that "
                                           "door")


def check_rooms(files, ladder):
    seen = set()
    for file in files:
        if file.room and file.room not in ladder and file.room not in seen:
            seen.add(file.room)
            yield Problem(file.path, 1,
                          f"the room {file.room} has no row in the table in ARCHITECTURE.md")


# ---- what every file keeps


def check_text(files, _):
    for file in files:
        if not file.is_code:
            continue
        if len(file.lines) > FILE_LINES_MAX:
            yield Problem(file.path, FILE_LINES_MAX + 1,
                          f"file has {len(file.lines)} lines, more than {FILE_LINES_MAX}: split it")
        for number, line in enumerate(file.lines, start=1):
            if len(line) > COLUMNS_MAX:
                yield Problem(file.path, number,
                              f"line has {len(line)} columns, more than {COLUMNS_MAX}")
            if not line.isascii():
                yield Problem(file.path, number, "not ASCII")
            unfinished = UNFINISHED.search(line)
            if unfinished and "tidy: the words themselves" not in line:
                yield Problem(file.path, number,
                              f"{unfinished.group()}: finish it, or open an issue instead")


def check_headers(files, _):
    for file in files:
        # A header that Highway includes once per instruction set has a guard of its own.
        guards = ("#pragma once", "HWY_TARGET_TOGGLE")
        if file.path.suffix in (".h", ".cuh") and not any(guard in file.text for guard in guards):
            yield Problem(file.path, 1, "header without #pragma once")


def check_banned(files, _):
    for file in files:
        if not file.is_cxx:
            continue
        for ban in BANS:
            if str(file.path) in ban.allowed_in or (ban.library_only and not file.is_library):
                continue
            for match in re.finditer(ban.pattern, file.code):
                found = " ".join(match.group().split())
                yield Problem(file.path, file.line_of(match.start()),
                              f"{found} is banned; instead: {ban.instead}")


def check_listed(files, _):
    """Every source file is named in the CMakeLists.txt of its folder or of one above it."""
    lists = {file.path.parent: set(re.findall(r"[\w./-]+", blank(file.text, CMAKE_COMMENTS)))
             for file in files if file.path.name == "CMakeLists.txt"}
    for file in files:
        if file.path.suffix in (".cc", ".cu") and not any(
                str(file.path.relative_to(folder)) in lists.get(folder, ())
                for folder in file.path.parents):
            yield Problem(file.path, 1, "not named in any CMakeLists.txt above it")


def check_twins(files, _):
    """Every fast kernel has its slow twin under the same name, and the other way round."""
    kernels = PurePosixPath("src/ballast/kernels")
    names = {folder: {file.path.name for file in files
                      if file.path.parent == kernels / folder and file.path.suffix == ".cc"
                      and file.is_library}
             for folder in ("reference", "cpu")}
    for folder, other in (("reference", "cpu"), ("cpu", "reference")):
        for name in sorted(names[folder] - names[other]):
            yield Problem(kernels / folder / name, 1, f"has no twin kernels/{other}/{name}")


TYPE_NAME = re.compile(
    r"^(?:(?:class|struct|union|enum(?: class)?)\s+(?:alignas\(\w+\)\s+)?(\w+)\b[^;{()]*\{"
    r"|using\s+(\w+)\s*=(?!\s*\w+::\2;))", re.MULTILINE)


def check_type_names(files, _):
    """One word, one meaning: a type's name stands in the headers of one room, or in another as an
    alias of the same name. The face may give a type the name of the one it stands for, and what
    Highway compiles for each instruction set is nobody else's."""
    homes = {}
    for file in files:
        if file.path.suffix != ".h" or not file.is_library or not file.room or file.is_public \
                or file.path.stem.endswith("-inl"):
            continue
        for match in TYPE_NAME.finditer(file.code):
            name = match.group(1) or match.group(2)
            home = homes.setdefault(name, (file.room, file.path))
            if home[0] != file.room:
                yield Problem(file.path, file.line_of(match.start()),
                              f"{name} is already a type of {home[0]} ({home[1].name}): find "
                              "another word")


# ---- function lengths


PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.MULTILINE | re.DOTALL)
IGNORED_IN_HEAD = re.compile(r"\btemplate\s*<[^{}]*?>|\b(public|private|protected)\s*:")
TYPE_HEAD = re.compile(r"\s*(class|struct|union|enum)\b|.*\bnamespace\b", re.DOTALL)


def functions(file):
    """Yields (first line, last line) of each outermost function, signature included."""
    code = blank(file.code, PREPROCESSOR)
    open_braces = []  # kind of each open brace, and where its head begins
    head = 0  # where the text that leads to the next brace begins
    for match in re.finditer(r"[{};]", code):
        position, kind = match.start(), None
        if match.group() == "{":
            kind = brace_kind(code[head:position], enclosing(open_braces))
            open_braces.append((kind, head))
        elif match.group() == "}" and open_braces:
            kind, start = open_braces.pop()
            if kind == "function":
                first = re.compile(r"\S").search(code, start).start()
                yield file.line_of(first), file.line_of(position)
        if kind != "value" and enclosing(open_braces) == "scope":
            head = position + 1


def enclosing(open_braces):
    return open_braces[-1][0] if open_braces else "scope"


def brace_kind(head, around):
    """What a brace opens: a function, a scope of declarations, a value, or an inner block.

    clang-format writes a space before the brace of a block and none before that of an initialiser.
    """
    if around != "scope":
        return "value" if around == "value" else "inner"
    if not head[-1:].isspace() or head.rstrip().endswith("="):
        return "value"
    head = IGNORED_IN_HEAD.sub("", head)
    return "function" if "(" in head and not TYPE_HEAD.match(head) else "scope"


def check_function_lengths(files, _):
    for file in files:
        if not file.is_cxx:
            continue
        for first, last in functions(file):
            above = first - 1
            while above > 0 and file.lines[above - 1].lstrip().startswith("//"):
                above -= 1
            marked = any(re.search(r"// long: \S", line) for line in file.lines[above:last])
            if last - first + 1 > FUNCTION_LINES_MAX and not marked:
                yield Problem(file.path, first,
                              f"function has {last - first + 1} lines, more than "
                              f"{FUNCTION_LINES_MAX}: split it, or say why in `// long: reason`")


CHECKS = [check_rooms, check_includes, check_doors, check_namespaces, check_unused_doors,
          check_type_names, check_text, check_headers, check_banned, check_listed, check_twins,
          check_function_lengths]


def tidy(root):
    """Every breach of the house style in the tree at root."""
    problems = []
    files = read_tree(root)
    ladder = read_ladder(files, problems)
    for check in CHECKS:
        problems.extend(check(files, ladder))
    return sorted(problems, key=lambda problem: (str(problem.path), problem.line, problem.message))


def main(arguments):
    root = arguments[0] if arguments else Path(__file__).resolve().parent.parent
    problems = tidy(root)
    for problem in problems:
        print(f"{problem.path}:{problem.line}: {problem.message}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
