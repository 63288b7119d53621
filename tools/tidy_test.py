#!/usr/bin/env python3
"""Plants each breach of the house style in a small clean tree and sees tidy.py find it."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import tidy

CLEAN_TREE = {
    "ARCHITECTURE.md": """\
# Architecture

| rung | room | may include | third party |
|---:|---|---|---|
| 0 | base | | fmt |
| 1 | kernels | base | hwy (cpu) |
| 1 | files | base | posix |
| 2 | robust | kernels, base | |
| 7 | apps | everything | cli11 |
""",
    "src/ballast/base/CMakeLists.txt":
        "ballast_library(base SOURCES error.cc TESTS error_test.cc)\n",
    "src/ballast/base/error.h": "#pragma once\n#include <string>\n",
    "src/ballast/base/error.cc": '#include "ballast/base/error.h"\n#include <fmt/format.h>\n',
    "src/ballast/base/error_test.cc": "#include <gtest/gtest.h>\n",
    "src/ballast/kernels/CMakeLists.txt":
        "ballast_library(kernels SOURCES reference/norm.cc cpu/norm.cc DEPS ballast::base)\n",
    "src/ballast/kernels/norm.h": '#pragma once\n#include "ballast/base/error.h"\n',
    "src/ballast/kernels/reference/norm.cc": '#include "ballast/kernels/norm.h"\n',
    "src/ballast/kernels/cpu/norm.cc": '#include "hwy/highway.h"\n',
    "src/ballast/files/CMakeLists.txt": "ballast_library(files DEPS ballast::base)\n",
    "src/ballast/files/npy.h": "#pragma once\n#include <sys/mman.h>\n",
    "src/ballast/robust/CMakeLists.txt":
        "ballast_library(robust SOURCES rule.cc DEPS ballast::kernels ballast::base)\n",
    "src/ballast/robust/rule.cc": '#include "ballast/kernels/norm.h"\n',
    # So that the tests can replace the other files and leave no door unused.
    "src/ballast/base/doors.h": "#pragma once\n#include <fmt/core.h>\n",
    "src/ballast/kernels/doors.h": '#pragma once\n#include "ballast/base/error.h"\n',
    "src/ballast/files/doors.h":
        '#pragma once\n#include <sys/mman.h>\n#include "ballast/base/error.h"\n',
    "src/ballast/robust/doors.h":
        '#pragma once\n#include "ballast/base/error.h"\n#include "ballast/kernels/norm.h"\n',
    "apps/ballast/doors.h": "#pragma once\n#include <CLI/CLI.hpp>\n",
    "apps/ballast/CMakeLists.txt": "add_executable(ballast_program main.cc)\n",
    "apps/ballast/main.cc": '#include <CLI/CLI.hpp>\n#include "ballast/robust/rule.h"\n',
}


def function_of(lines, before="", inside=""):
    """A function of that many lines."""
    body = "".join(f"  x += {index};\n" for index in range(lines - 2 - inside.count("\n")))
    return f"{before}void f(int x) {{\n{inside}{body}}}\n"


class TidyTest(unittest.TestCase):
    def breaches(self, planted):
        """What tidy says of the clean tree with some files replaced, added, or removed (None)."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**CLEAN_TREE, **planted}.items():
                if text is not None:
                    file = Path(root, path)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text, encoding="utf-8")
            return [f"{path}:{line}: {message}" for path, line, message in tidy.tidy(root)]

    def assert_breach(self, planted, *expected):
        """Exactly one breach is found, and its line has all the expected words."""
        found = self.breaches(planted)
        self.assertEqual(len(found), 1, found)
        for words in expected:
            self.assertIn(words, found[0])

    def assert_clean(self, planted):
        self.assertEqual(self.breaches(planted), [])

    def test_clean_tree_has_no_breach(self):
        self.assert_clean({})

    # The include ladder.

    def test_upward_include(self):
        self.assert_breach(
            {"src/ballast/kernels/norm.h": '#pragma once\n\n#include "ballast/robust/rule.h"\n'},
            "src/ballast/kernels/norm.h:3:", "kernels may not include robust")

    def test_include_of_an_unlisted_room_below(self):
        self.assert_breach({"src/ballast/robust/rule.cc": '#include "ballast/files/npy.h"\n'},
                           "src/ballast/robust/rule.cc:1:", "robust may not include files")

    def test_include_of_a_room_on_the_same_rung(self):
        self.assert_breach({"src/ballast/files/npy.h":
                            '#pragma once\n#include "ballast/kernels/norm.h"\n'},
                           "files may not include kernels")

    def test_library_may_not_include_the_program(self):
        self.assert_breach({"src/ballast/robust/rule.cc": '#include "apps/ballast/flags.h"\n'},
                           "robust may not include apps")

    def test_library_may_not_include_tests(self):
        self.assert_breach({"src/ballast/robust/rule.cc": '#include "tests/rows.h"\n'},
                           "robust may not include tests/")

    def test_unlisted_dependency_in_cmake(self):
        self.assert_breach(
            {"src/ballast/files/CMakeLists.txt":
             "# may not be ballast::apps\nballast_library(files DEPS ballast::base\n"
             "  ballast::robust)\n"},
            "src/ballast/files/CMakeLists.txt:3:", "files may not depend on ballast::robust")

    def test_include_without_the_dependency_in_cmake(self):
        self.assert_breach(
            {"src/ballast/robust/CMakeLists.txt":
             "ballast_library(robust SOURCES rule.cc DEPS ballast::base)\n",
             "src/ballast/robust/doors.h": '#pragma once\n#include "ballast/base/error.h"\n'},
            "rule.cc:1:", "does not name ballast::kernels")

    def test_namespace_of_an_unlisted_room(self):
        self.assert_breach(
            {"src/ballast/robust/rule.cc": "\nfiles::Array read();\nfiles::Array again();\n"},
            "rule.cc:2:", "robust may not use files::")
        self.assert_breach({"src/ballast/files/npy.h": "#pragma once\nballast::robust::Rule x;\n"},
                           "npy.h:2:", "files may not use robust::")

    def test_namespace_without_the_dependency_in_cmake(self):
        self.assert_breach(
            {"src/ballast/robust/CMakeLists.txt":
             "ballast_library(robust SOURCES rule.cc DEPS ballast::base)\n",
             "src/ballast/robust/doors.h": '#pragma once\n#include "ballast/base/error.h"\n',
             "src/ballast/robust/rule.cc": "kernels::Weights x;\n"},
            "rule.cc:1:", "uses kernels::, but")

    def test_what_only_looks_like_a_room(self):
        self.assert_clean({"src/ballast/files/npy.h":
                           "#pragma once\nint a = std::kernels::x;\nint b = my_robust::y;\n"
                           "// robust::Rule in a comment\n",
                           "src/ballast/base/error_test.cc": "robust::Rule x;\n"})

    def test_unused_door_in_the_table(self):
        table = CLEAN_TREE["ARCHITECTURE.md"].replace("robust | kernels", "robust | files, kernels")
        self.assert_breach({"ARCHITECTURE.md": table}, "ARCHITECTURE.md:8:",
                           "robust does not use files: close")
        table = CLEAN_TREE["ARCHITECTURE.md"].replace("cli11", "cli11, fmt")
        self.assert_breach({"ARCHITECTURE.md": table}, "apps does not use fmt: close")

    def test_unused_door_in_cmake(self):
        table = CLEAN_TREE["ARCHITECTURE.md"].replace("robust | kernels, base",
                                                      "robust | everything")
        self.assert_breach(
            {"ARCHITECTURE.md": table,
             "src/ballast/robust/CMakeLists.txt":
             "ballast_library(robust SOURCES rule.cc DEPS ballast::kernels ballast::base\n"
             "  ballast::files)\n"},
            "src/ballast/robust/CMakeLists.txt:2:", "robust does not use ballast::files")

    def test_part_of_a_room_is_the_room(self):
        self.assert_clean({"src/ballast/robust/CMakeLists.txt":
                           "ballast_library(robust_rows DEPS ballast::kernels_cpu)\n"
                           "ballast_library(robust SOURCES rule.cc\n"
                           "  DEPS ballast::robust_rows ballast::base)\n"})

    # The public face.

    FACE = {"ARCHITECTURE.md": CLEAN_TREE["ARCHITECTURE.md"].replace(
                "| 7 | apps", "| 7 | face | everything | |\n| 7 | apps"),
            "src/ballast/face/CMakeLists.txt":
                "ballast_library(face_rules SOURCES rules.cc DEPS ballast::robust)\n",
            "src/ballast/face/rules.cc":
                '#include "ballast/rules.h"\n#include "ballast/robust/doors.h"\n',
            "include/ballast/error.h": '#pragma once\n#include "ballast/base/error.h"\n',
            "include/ballast/rules.h":
                '#pragma once\n#include <span>\n#include "ballast/error.h"\n'}

    def test_public_headers_include_each_other(self):
        cmake = self.FACE["src/ballast/face/CMakeLists.txt"].replace("DEPS", "DEPS ballast::base")
        self.assert_clean({**self.FACE, "src/ballast/face/CMakeLists.txt": cmake})

    def test_public_header_that_includes_something_else(self):
        cmake = self.FACE["src/ballast/face/CMakeLists.txt"].replace("DEPS", "DEPS ballast::base")
        for header in ("ballast/robust/doors.h", "fmt/core.h", "unistd.h"):
            with self.subTest(header):
                self.assert_breach(
                    {**self.FACE, "src/ballast/face/CMakeLists.txt": cmake,
                     "include/ballast/rules.h": f'#pragma once\n\n#include "{header}"\n'},
                    "include/ballast/rules.h:3:", "a public header", "includes public ones")

    def test_example_that_includes_a_room(self):
        self.assert_breach({"examples/CMakeLists.txt": "add_executable(x main.cc)\n",
                            "examples/main.cc": '#include "ballast/robust/doors.h"\n'},
                           "examples/main.cc:1:", "includes public ones only")

    def test_room_that_includes_the_face(self):
        cmake = self.FACE["src/ballast/face/CMakeLists.txt"].replace("DEPS", "DEPS ballast::base")
        self.assert_breach({**self.FACE, "src/ballast/face/CMakeLists.txt": cmake,
                            "src/ballast/robust/rule.cc": '#include "ballast/rules.h"\n'},
                           "rule.cc:1:", "robust may not include face")

    # One word, one meaning.

    def test_type_name_of_two_rooms(self):
        for code in ("struct Shape {", "class Shape final : public Base {", "enum class Shape {",
                     "using Shape = int;", "template <typename T>\nclass Shape\n    : Base<T> {"):
            with self.subTest(code):
                self.assert_breach(
                    {"src/ballast/files/npy.h": "#pragma once\nstruct Shape {};\n",
                     "src/ballast/robust/rule.h": f"#pragma once\n{code}"},
                    "rule.h:", "Shape is already a type of files (npy.h)")

    def test_type_names_that_do_not_clash(self):
        self.assert_clean({
            "src/ballast/files/npy.h": "#pragma once\nstruct Shape {\n  struct Part {};\n};\n",
            "src/ballast/files/csv.h": "#pragma once\nstruct Shape {};\n",
            "src/ballast/robust/rule.h":
                "#pragma once\nstruct Shape;\nclass Shape& shape();\nstruct Part {};\n"
                "using base::Shape;\nusing Norm = kernels::Norm;\n",
            "src/ballast/kernels/norm.h": "#pragma once\nstruct Norm {};\n",
            "src/ballast/kernels/cpu/norm-inl.h": "HWY_TARGET_TOGGLE\nstruct Shape {};\n",
            "src/ballast/robust/test_rule.h": "#pragma once\nstruct Shape {};\n",
            "src/ballast/robust/rule.cc": "struct Shape {};\n"})

    def test_room_without_a_row(self):
        self.assert_breach({"src/ballast/attic/old.h": "#pragma once\n"}, "attic has no row")

    def test_table_that_names_a_higher_rung(self):
        table = CLEAN_TREE["ARCHITECTURE.md"].replace("files | base |", "files | base, robust |")
        self.assert_breach({"ARCHITECTURE.md": table}, "ARCHITECTURE.md:7:", "not on a lower rung")

    def test_table_that_names_an_unknown_room(self):
        table = CLEAN_TREE["ARCHITECTURE.md"].replace("files | base |", "files | base, cellar |")
        self.assert_breach({"ARCHITECTURE.md": table}, "no such room: cellar")

    def test_table_that_names_an_unknown_library(self):
        table = CLEAN_TREE["ARCHITECTURE.md"].replace("posix", "posix, leftpad")
        self.assert_breach({"ARCHITECTURE.md": table}, "does not know leftpad")

    def test_missing_table(self):
        self.assertIn("ARCHITECTURE.md:1: has no table of rooms",
                      self.breaches({"ARCHITECTURE.md": None}))

    # Third-party headers.

    def test_library_outside_its_room(self):
        self.assert_breach({"src/ballast/robust/rule.cc": "#include <CLI/CLI.hpp>\n"},
                           "robust may not use cli11")

    def test_library_outside_its_folder(self):
        self.assert_breach({"src/ballast/kernels/norm.h": '#pragma once\n#include "hwy/base.h"\n'},
                           "hwy belongs into kernels/cpu/ only")

    def test_gtest_outside_of_tests(self):
        self.assert_breach({"src/ballast/base/error.h": "#pragma once\n#include <gmock/gmock.h>\n"},
                           "GoogleTest is for *_test.cc and test_*.h only")

    def test_gtest_in_a_header_for_tests(self):
        self.assert_clean({"src/ballast/base/test_files.h":
                           "#pragma once\n#include <gtest/gtest.h>\n"})

    def test_unknown_header(self):
        self.assert_breach({"src/ballast/base/error.h": '#pragma once\n#include "check.h"\n'},
                           'unknown header "check.h"')

    # What every file keeps.

    def test_long_line(self):
        self.assert_breach({"src/ballast/base/error.h": "#pragma once\n// " + "x" * 98 + "\n"},
                           "error.h:2:", "101 columns")
        self.assert_clean({"src/ballast/base/error.h": "#pragma once\n// " + "x" * 97 + "\n"})

    def test_text_that_is_not_ascii(self):
        self.assert_breach({"src/ballast/base/error.h": "#pragma once\n// na\u00efve\n"},
                           "error.h:2:", "not ASCII")

    def test_long_file(self):
        text = "#pragma once\n" + "int x;\n" * 600
        self.assert_breach({"src/ballast/base/error.h": text}, "file has 601 lines")

    def test_header_without_pragma_once(self):
        self.assert_breach({"src/ballast/base/error.h": "#include <string>\n"}, "#pragma once")

    def test_highway_header_has_its_own_guard(self):
        self.assert_clean({"src/ballast/kernels/cpu/norm-inl.h":
                           "#if defined(NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)\n#endif\n"})

    def test_unfinished_work(self):
        for word in ("TO" "DO", "FIX" "ME", "XX" "X"):
            self.assert_breach({"src/ballast/base/CMakeLists.txt":
                                CLEAN_TREE["src/ballast/base/CMakeLists.txt"] + f"# {word}: later"},
                               "CMakeLists.txt:2:", word)

    # Banned words.

    def test_banned_words(self):
        for code, instead in {
            "using namespace std;": "name what is used",
            "int x = rand();": "Rng",
            "int x = std::rand ();": "Rng",
            "assert(x);": "BALLAST_CHECK",
            "auto t = std::chrono::system_clock::now();": "caller passes in",
            "std::cout << x;": "Result",
            'std::printf("%d", x);': "Result",
            'fprintf(stderr, "x");': "Result",
        }.items():
            with self.subTest(code):
                self.assert_breach({"src/ballast/robust/rule.cc": f"\n{code}\n"},
                                   "rule.cc:2:", "is banned", instead)

    def test_words_that_only_look_banned(self):
        self.assert_clean({"src/ballast/robust/rule.cc":
                           "static_assert(true);\nint operand(int);\nsnprintf(a, b, c);\n"
                           "// assert(x) and rand() in a comment\n"
                           'const char* kText = "std::cout";\nint n = 1\'000\'000;\n'
                           'const char* kRaw = R"(using namespace std "quoted")";\n'})

    def test_tests_and_the_program_may_print(self):
        self.assert_clean({"src/ballast/base/error_test.cc": "std::cout << x;\n",
                           "apps/ballast/main.cc": "std::printf(text);\n"})

    # Files and their lists.

    def test_unlisted_sources(self):
        for name in ("lost_test.cc", "lost_fuzz.cc", "lost.cc"):
            with self.subTest(name):
                self.assert_breach({f"src/ballast/base/{name}": ""}, name, "not named in any")

    def test_source_listed_in_a_comment_only(self):
        self.assert_breach({"src/ballast/base/lost_test.cc": "",
                            "src/ballast/base/CMakeLists.txt":
                            CLEAN_TREE["src/ballast/base/CMakeLists.txt"] + "# lost_test.cc\n"},
                           "lost_test.cc:1:", "not named in any")

    def test_kernel_without_a_twin(self):
        listed = CLEAN_TREE["src/ballast/kernels/CMakeLists.txt"]
        for folder, other in (("cpu", "reference"), ("reference", "cpu")):
            with self.subTest(folder):
                self.assert_breach(
                    {f"src/ballast/kernels/{folder}/sum.cc": "",
                     "src/ballast/kernels/CMakeLists.txt": f"{listed}set(x {folder}/sum.cc)\n"},
                    f"kernels/{folder}/sum.cc:1:", f"no twin kernels/{other}/sum.cc")

    def test_cuda_may_lack_kernels_and_tests_need_no_twin(self):
        listed = CLEAN_TREE["src/ballast/kernels/CMakeLists.txt"]
        self.assert_clean({"src/ballast/kernels/cuda/sum.cu": "",
                           "src/ballast/kernels/cpu/norm_test.cc": "",
                           "src/ballast/kernels/CMakeLists.txt":
                           f"{listed}set(x cuda/sum.cu cpu/norm_test.cc)\n"})

    # Function lengths.

    def assert_long_function(self, text, line):
        self.assert_breach({"src/ballast/robust/rule.cc": text},
                           f"rule.cc:{line}:", "function has 71 lines")

    def test_function_at_the_wall_and_above(self):
        self.assert_clean({"src/ballast/robust/rule.cc": function_of(70)})
        self.assert_long_function(function_of(71), line=1)

    def test_long_function_in_a_class_in_a_namespace(self):
        before = ("namespace a {\ntemplate <typename T>\nclass B final : public C {\n public:\n"
                  "  enum class E { kOne };\n  int a_[2] = {1, 2};\n")
        self.assert_long_function(before + function_of(71) + "};\n}  // namespace a\n", line=7)

    def test_long_constructor_with_initialisers(self):
        text = function_of(71).replace("void f(int x) {", "A::A() : a_{1}, b_(2), c_{{3}} {")
        self.assert_long_function(text, line=1)

    def test_long_namespaces_classes_and_tables_are_no_functions(self):
        rows = "    {1, f(2), [] { return 3; }},\n" * 80
        self.assert_clean({"src/ballast/robust/rule.cc":
                           "namespace a {\nstruct alignas(64) B {\n" + "  int f() { return 1; }\n"
                           * 80 + f"}};\nconst Row kRows[] = {{\n{rows}}};\nint g() {{ return 1; }}"
                           "\n}  // namespace a\n"})

    def test_marked_long_function(self):
        mark = "// long: one table of cases\n"
        self.assert_clean({"src/ballast/robust/rule.cc": function_of(90, before=mark)})
        self.assert_clean({"src/ballast/robust/rule.cc": function_of(90, inside=mark)})
        self.assert_breach({"src/ballast/robust/rule.cc": function_of(90, inside="// long:\n")},
                           "function has 90 lines")

    # The program around it.

    def test_exit_status_tells(self):
        with tempfile.TemporaryDirectory() as root:
            Path(root, "ARCHITECTURE.md").write_text(CLEAN_TREE["ARCHITECTURE.md"])
            self.assertEqual(tidy.main([root]), 0)
            Path(root, "x.h").write_text("#pragma once\n" + "int x;\n" * 600)
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                self.assertEqual(tidy.main([root]), 1)
            self.assertTrue(printed.getvalue().startswith("x.h:601: file has 601 lines"))


if __name__ == "__main__":
    unittest.main()
