#!/usr/bin/env python3
"""Drives the program `ballast` as a user does: files in, files, text and exit codes out.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/cli/cli_test.py
"""

import json
import os
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

import brute_force

PROGRAM = os.environ["BALLAST_PROGRAM"]
SEED = 7


def ballast(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, check=False)


def write_safetensors(path, tensors):
    """By hand, from the description of the format: header length, JSON header, bytes."""
    names = {np.dtype(np.float32): "F32", np.dtype(np.float64): "F64", np.dtype(np.int64): "I64"}
    header, data = {}, b""
    for name, array in tensors.items():
        begin = len(data)
        data += np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": names[array.dtype], "shape": array.shape,
                        "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class ProgramTest(unittest.TestCase):
    """A folder of its own for each test, with a small table in it."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="ballast-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = self.folder / "out.npy"
        rng = np.random.default_rng(SEED)
        self.rows = rng.normal(size=(7, 300)).astype(np.float32)
        self.rows[5:] = 30 + 5 * self.rows[5:]  # two liars
        self.counts = np.array([3, 9, 4, 6, 5, 7, 6])

    def save(self, name, array):
        np.save(self.folder / name, array)
        return self.folder / name

    def aggregate(self, rule, rows, weights, *more):
        """The result as the program writes it and the JSON line it prints."""
        done = ballast("aggregate", "--rule", rule, "--rows", rows, "--weights", weights,
                       "--out", self.out, "--json", *more)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("\n"), 1)
        return np.load(self.out), json.loads(done.stdout)

    def aggregate_arrays(self, rule, rows, weights, *more):
        return self.aggregate(rule, self.save("rows.npy", rows), self.save("w.npy", weights), *more)


class AggregateTest(ProgramTest):
    """The result of `aggregate` is that of the definitions."""

    def test_mean_and_median_equal_the_definitions(self):
        rows, counts = self.rows.astype(np.float64), self.counts
        for rule, definition in (("mean", brute_force.mean), ("cwmed", brute_force.cwmed)):
            with self.subTest(rule):
                result, _ = self.aggregate_arrays(rule, self.rows, counts)
                np.testing.assert_allclose(result, definition(rows, counts), rtol=1e-6, atol=1e-6)

    def test_a_tie_of_the_median_is_the_mean_of_its_neighbours(self):
        rows = self.rows[:5]
        counts = np.array([3, 2, 4, 6, 5])  # 4 + 6 = 3 + 2 + 5

        result, _ = self.aggregate_arrays("cwmed", rows, counts)

        expected = brute_force.cwmed(rows.astype(np.float64), counts)
        np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6)
        between = ~np.isin(result, rows)
        self.assertTrue(between.any())

    def test_geometric_median_is_converged(self):
        result, report = self.aggregate_arrays("gm", self.rows, self.counts)
        rows = self.rows.astype(np.float64)
        best = brute_force.gm(rows, self.counts)

        def objective(point):
            return self.counts @ np.linalg.norm(rows - point, axis=1)

        self.assertLessEqual(objective(result.astype(np.float64)), objective(best) * (1 + 2e-6))
        self.assertLess(np.linalg.norm(result - best), 2e-3 * np.linalg.norm(best))
        self.assertGreater(report["iterations"], 0)

    def test_ctma_is_algorithm_1(self):
        for base in (brute_force.gm, brute_force.cwmed):
            for trimmed_share in (0.0, 0.2, 0.325, 0.4):  # 0.325 is exactly the liars' 13 of 40
                with self.subTest(base=base.__name__, trimmed_share=trimmed_share):
                    expected, kept = brute_force.ctma(base, self.rows.astype(np.float64),
                                                      self.counts, trimmed_share)
                    rule = f"ctma({base.__name__}, {trimmed_share})"
                    result, report = self.aggregate_arrays(rule, self.rows, self.counts)
                    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
                    np.testing.assert_allclose(report["kept_weight"], kept, atol=1e-9)

    def test_json_says_what_was_done(self):
        _, report = self.aggregate_arrays("  ctma( gm ,2/5)", self.rows, self.counts)

        self.assertEqual(list(report), ["rule", "rows", "dim", "ms", "kept_weight", "iterations"])
        self.assertEqual(report["rule"], "ctma(gm, 0.4)")
        self.assertEqual((report["rows"], report["dim"]), self.rows.shape)
        self.assertGreater(report["ms"], 0)
        self.assertEqual(report["kept_weight"][5:], [0, 0])
        self.assertAlmostEqual(np.dot(report["kept_weight"], self.counts), 0.6 * 40)

    def test_rules_that_trim_no_rows_keep_all_weight(self):
        for rule in ("mean", "cwmed", "gm", "cwtm(0.2)"):
            _, report = self.aggregate_arrays(rule, self.rows, self.counts)
            self.assertEqual(report["kept_weight"], [1] * 7, rule)

    def test_without_json_it_names_the_trimmed_rows(self):
        rows, weights = self.save("rows.npy", self.rows), self.save("w.npy", self.counts)
        done = ballast("aggregate", "--rule", "ctma(gm, 0.325)", "--rows", rows,
                       "--weights", weights)

        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^ctma\(gm, 0\.325\) of 7 rows x 300 in \S+ ms$")
        self.assertEqual([line.split(":")[0].strip() for line in lines[1:]], ["row 5", "row 6"])

    def test_without_weights_all_rows_weigh_the_same(self):
        expected, _ = self.aggregate_arrays("cwmed", self.rows, np.ones(7))
        done = ballast("aggregate", "--rule", "cwmed", "--rows", self.folder / "rows.npy",
                       "--out", self.out)

        self.assertEqual(done.returncode, 0)
        np.testing.assert_array_equal(np.load(self.out), expected)


class FormatTest(ProgramTest):
    """Whatever the file, the same values give the same result."""

    def setUp(self):
        super().setUp()
        self.expected, _ = self.aggregate_arrays("ctma(gm, 0.4)", self.rows, self.counts)

    def check(self, rows, weights, *more):
        result, _ = self.aggregate("ctma(gm, 0.4)", rows, weights, *more)
        np.testing.assert_array_equal(result, self.expected)
        return result

    def test_float32_in_gives_float32_out(self):
        self.assertEqual(self.expected.dtype, np.float32)
        self.assertEqual(self.expected.shape, (300,))

    def test_float64_in_gives_float64_out(self):
        rows = self.save("double.npy", self.rows.astype(np.float64))
        self.assertEqual(self.check(rows, self.folder / "w.npy").dtype, np.float64)

    def test_fortran_order_and_big_endian_are_read(self):
        weights = self.folder / "w.npy"
        self.check(self.save("fortran.npy", np.asfortranarray(self.rows)), weights)
        self.check(self.save("big.npy", self.rows.astype(">f4")), weights)

    def test_weights_of_every_number_type_are_read(self):
        rows = self.folder / "rows.npy"
        for dtype in (np.int8, np.uint16, np.int32, np.int64, np.uint64, np.float32, np.float64):
            with self.subTest(dtype=dtype.__name__):
                self.check(rows, self.save("typed.npy", self.counts.astype(dtype)))
        self.check(rows, self.save("scaled.npy", self.counts * 0.125))

    def test_safetensors_are_read_by_name_and_alone(self):
        both, alone = self.folder / "both.safetensors", self.folder / "alone.safetensors"
        write_safetensors(both, {"rows": self.rows, "weights": self.counts})
        write_safetensors(alone, {"anything": self.rows.astype(np.float64)})

        self.check(f"{both}:rows", f"{both}:weights")
        self.check(alone, f"{both}:weights")

    def test_safetensors_are_written(self):
        self.out = self.folder / "out.safetensors"
        done = ballast("aggregate", "--rule", "ctma(gm, 0.4)", "--rows", self.folder / "rows.npy",
                       "--weights", self.folder / "w.npy", "--out", self.out)
        self.assertEqual(done.returncode, 0)

        data = self.out.read_bytes()
        header_size = struct.unpack("<Q", data[:8])[0]
        tensor = json.loads(data[8:8 + header_size])["out"]
        begin, end = (8 + header_size + offset for offset in tensor["data_offsets"])

        self.assertEqual((tensor["dtype"], tensor["shape"]), ("F32", [300]))
        np.testing.assert_array_equal(np.frombuffer(data[begin:end], "<f4"), self.expected)

    def test_threads_change_no_byte(self):
        rows = self.save("long.npy", np.tile(self.rows, (1, 400)))
        for rule in ("mean", "cwmed", "gm", "ctma(cwmed, 0.4)", "cwtm(0.3)", "nnm(gm, 0.4)"):
            written = set()
            for threads in (1, 2, 3):
                self.aggregate(rule, rows, self.folder / "w.npy", "--threads", threads)
                written.add(self.out.read_bytes())
            self.assertEqual(len(written), 1, rule)

    def test_reference_device_agrees(self):
        arguments = self.folder / "rows.npy", self.folder / "w.npy"
        for rule in ("mean", "cwmed", "gm", "ctma(gm, 0.4)", "cwtm(0.3)", "krum(0.4)",
                     "multikrum(0.4)", "mda(0.4)", "caf(0.4)", "dnc(0.4)", "nnm(cwmed, 0.4)",
                     "bucketing(cwmed, 2)"):
            fast, fast_report = self.aggregate(rule, *arguments, "--device", "cpu")
            plain, plain_report = self.aggregate(rule, *arguments, "--device", "reference")
            np.testing.assert_allclose(fast, plain, rtol=1e-6, atol=1e-6, err_msg=rule)
            np.testing.assert_allclose(fast_report["kept_weight"], plain_report["kept_weight"],
                                       atol=1e-9, err_msg=rule)


class ErrorTest(ProgramTest):
    """Whatever is wrong: exit code 2, one line that says it, and no file touched."""

    def setUp(self):
        super().setUp()
        self.good = {"--rule": "mean", "--rows": self.save("rows.npy", self.rows),
                     "--weights": self.save("w.npy", self.counts), "--out": self.out}

    def check_refused(self, arguments, says):
        self.out.write_bytes(b"from before")
        before = sorted(self.folder.iterdir())

        done = ballast(*arguments)

        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"^ballast: [^\n]*[^\n:; ]\n$")
        self.assertIn(says, done.stderr)
        self.assertEqual(self.out.read_bytes(), b"from before")
        self.assertEqual(sorted(self.folder.iterdir()), before)
        self.out.unlink()
        ballast(*arguments)
        self.assertFalse(self.out.exists())

    def check_flag(self, flag, value, says):
        """Refused with this flag changed, or left out if the value is None."""
        with self.subTest(**{flag.strip("-"): str(value)}):
            flags = {key: str(text) for key, text in {**self.good, flag: value}.items()
                     if text is not None}
            self.check_refused(["aggregate", *sum(flags.items(), ())], says)

    def test_wrong_rules(self):
        self.check_flag("--rule", "ctmaa(gm, 0.4)", "no rule 'ctmaa'; did you mean 'ctma'?")
        self.check_flag("--rule", "ctma(gm, 0.6)", "1/2")
        self.check_flag("--rule", "ctma(gm", "ctma(gm")
        self.check_flag("--rule", "ctma(0.4)", "ctma(0.4)")
        self.check_flag("--rule", "mean\nmean", "mean")
        self.check_flag("--rule", "m\x1b[31mean", "m?[31mean")
        self.check_flag("--rule", "", "expected a rule")

    def test_too_many_rows_for_the_rule(self):
        self.good["--rows"] = self.save("many.npy", np.ones((40, 3), np.float32))
        self.good["--weights"] = self.save("forty.npy", np.ones(40))
        self.check_flag("--rule", "mda(0.2)", "not 40")

    def test_rows_of_a_wrong_shape_or_type(self):
        wrong = {"flat": np.ones(7, np.float32), "cube": np.ones((7, 2, 2), np.float32),
                 "no-rows": np.ones((0, 3), np.float32), "no-columns": np.ones((7, 0), np.float32)}
        for name, array in wrong.items():
            self.check_flag("--rows", self.save(name + ".npy", array), "rows must be m x d")
        for dtype in (np.int32, np.bool_, np.complex64):
            rows = self.save(dtype.__name__ + ".npy", np.ones((7, 2), dtype))
            self.check_flag("--rows", rows, "float")

    def test_rows_that_are_not_finite(self):
        for dtype in (np.float32, np.float64):
            for value in (np.nan, np.inf, -np.inf):
                self.rows[4, 299] = value
                rows = self.save("bad.npy", self.rows.astype(dtype))
                self.check_flag("--rows", rows, "row 4 holds a NaN or an infinity")
        self.rows[4, 299] = 0
        doubles = self.rows.astype(np.float64)
        doubles[6, 0] = 1e39
        self.check_flag("--rows", self.save("huge.npy", doubles), "row 6 holds 1e+39")

    def test_wrong_weights(self):
        for value in (0, -1, np.nan, np.inf):
            weights = self.counts.astype(np.float64)
            weights[2] = value
            self.check_flag("--weights", self.save("bad.npy", weights), "weight 2")
        for weights in (np.ones(6), np.ones(8), np.ones((7, 1)), np.ones(0)):
            self.check_flag("--weights", self.save("bad.npy", weights), "7 rows need weights")

    def test_files_that_cannot_be_read(self):
        garbage = self.folder / "garbage.npy"
        garbage.write_bytes(b"not an array at all")
        cut = self.folder / "cut.npy"
        cut.write_bytes((self.folder / "rows.npy").read_bytes()[:-1])
        empty = self.folder / "empty.npy"
        empty.write_bytes(b"")
        two = self.folder / "two.safetensors"
        write_safetensors(two, {"first": self.rows, "second": self.rows})
        for flag in ("--rows", "--weights"):
            self.check_flag(flag, self.folder / "absent.npy", "absent.npy")
            self.check_flag(flag, self.folder / "line\nbreak.npy", "break.npy")
            self.check_flag(flag, self.folder, str(self.folder))
            for path in (garbage, cut, empty, "/dev/zero"):
                self.check_flag(flag, path, Path(path).name)
            self.check_flag(flag, two, "second")
            self.check_flag(flag, f"{two}:third", "third")
            self.check_flag(flag, "", flag)

    def test_results_that_cannot_be_written(self):
        self.check_flag("--out", self.folder / "absent" / "out.npy", "absent")
        self.check_flag("--out", self.folder, str(self.folder))
        self.check_flag("--out", "", "--out")

    def test_wrong_flags(self):
        self.check_flag("--rule", None, "--rule")
        self.check_flag("--rows", None, "--rows")
        self.check_flag("--roows", "rows.npy", "--roows")
        self.check_flag("--device", "tpu", "tpu")
        self.check_flag("--device", "cuda", "CUDA")
        for threads in ("0", "-1", "many", "1.5", "100000"):
            self.check_flag("--threads", threads, "--threads")

    def test_wrong_commands(self):
        for arguments in (["agregate"], ["--verison"], ["list", "mean"], ["bench", "--rows", "0"],
                          ["bench", "--rules", "mean, nothing"], ["bench", "--rules", ""],
                          ["bench", "--rules", "mean,"],
                          ["bench", "--rules", "mean, mda(0.2)", "--rows", "40"]):
            with self.subTest(" ".join(arguments)):
                self.check_refused(arguments, "")


class TextTest(ProgramTest):
    """What the program says about itself."""

    def say(self, *arguments):
        done = ballast(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_list_has_every_rule_with_its_parameters(self):
        entries = [json.loads(line) for line in self.say("list", "rules", "--json").splitlines()]
        text = self.say("list", "rules")

        names = {entry["name"] for entry in entries}
        self.assertLessEqual({"mean", "cwmed", "gm", "ctma", "cwtm", "krum", "multikrum", "mda",
                              "nnm", "bucketing", "unweighted"}, names)
        usages = [line for line in text.splitlines() if not line.startswith(" ")]
        self.assertEqual(usages, [entry["usage"] for entry in entries])
        for entry in entries:
            self.assertIn(entry["help"], text)
        ctma = next(entry for entry in entries if entry["name"] == "ctma")
        self.assertEqual(ctma["usage"], "ctma(BASE, LAMBDA)")
        self.assertEqual([parameter["name"] for parameter in ctma["parameters"]],
                         ["base", "lambda"])
        self.assertEqual(ctma["parameters"][1]["range"], "at least 0 and below 1/2")

    def test_list_tells_everything_that_can_be_named(self):
        kinds = {"rules": "gm(", "attacks": "empire(epsilon=0.1)",
                 "methods": "kardam(F",
                 "weights": "f-cap(f=1, share=0.2)",
                 "arrivals": "burst(length=10)", "compute-times": "lognormal(sigma=0.5)",
                 "models": "mnist-cnn", "optimizers": "mu2"}
        whole = self.say("list")
        lines = [json.loads(line) for line in self.say("list", "--json").splitlines()]
        for kind, usage in kinds.items():
            self.assertIn(f"{kind}:\n\n", whole)
            self.assertIn(usage, self.say("list", kind))
            self.assertIn(self.say("list", kind), whole)
            self.assertIn("|---|", self.say("list", kind, "--markdown"))
        self.assertEqual({line["kind"] for line in lines},
                         {"rule", "attack", "method", "weight policy", "arrival pattern",
                          "compute time", "model", "optimizer"})
        done = ballast("list", "atacks")
        self.assertIn("did you mean 'attacks'?", done.stderr)

    def test_version(self):
        self.assertRegex(self.say("--version"), r"^ballast \d+\.\d+\.\d+\n$")

    def test_help_teaches(self):
        text = self.say("--help")
        for word in ("list", "aggregate", "bench", "data get", "ctma(gm, 0.4)"):
            self.assertIn(word, text)
        self.assertEqual(self.say(), text)
        for flag in ("--rule", "--rows", "--weights", "--out", "--device", "--threads", "--json"):
            self.assertIn(flag, self.say("aggregate", "--help"))
        self.assertIn("--rules", self.say("bench", "--help"))

    def test_bench_prints_one_line_per_rule_and_mode(self):
        rules = ["mean", "cwmed", "ctma(gm, 0.4)"]
        text = self.say("bench", "--rows", 5, "--dim", 2000, "--json",
                        "--rules", " mean ,cwmed, ctma(gm,2/5)")

        *lines, products = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([(line["rule"], line["mode"]) for line in lines],
                         [(rule, mode) for rule in rules for mode in ("full", "noisy", "settled")])
        self.assertEqual(products["measure"], "inner products")
        self.assertAlmostEqual(products["gfma_per_second"], 15 * 2000 / products["ms"] * 1e-6)
        self.assertAlmostEqual(products["share"], products["gfma_per_second"]
                               / products["peak_gfma_per_second"])
        for line in lines:
            self.assertEqual(list(line), ["rule", "mode", "rows", "dim", "device", "threads", "ms",
                                          "stream_ms", "ratio"])
            self.assertEqual((line["rows"], line["dim"], line["threads"]), (5, 2000, 1))
            self.assertEqual(line["device"], "cpu")
            self.assertGreater(line["ms"], 0)
            self.assertGreater(line["stream_ms"], 0)
            self.assertAlmostEqual(line["ratio"], line["ms"] / line["stream_ms"])
        self.assertIn("device reference;", self.say("bench", "--rows", 3, "--dim", 100, "--rules",
                                                    "mean", "--device", "reference"))

    def test_a_bench_sweep_measures_rows_then_values_beside_their_limit(self):
        text = self.say("bench", "--sweep", "--rows-max", 8, "--values-max", 2000, "--rows", 3,
                        "--dim", 100, "--rules", "mean, gm", "--json", "--instructions", "avx2")

        lines = [json.loads(line) for line in text.splitlines()]
        sizes = [("rows", 4, 100), ("rows", 8, 100), ("values", 3, 1000), ("values", 3, 2000)]
        self.assertEqual([(line["sweep"], line["rows"], line["dim"], line["rule"], line["mode"])
                          for line in lines],
                         [(*size, rule, mode) for size in sizes for rule in ("mean", "gm")
                          for mode in ("full", "noisy")])
        for line in lines:
            self.assertGreaterEqual(line["limit_ms"], line["stream_ms"])
            if line["rule"] == "mean" or line["mode"] == "noisy":
                self.assertEqual(line["limit_ms"], line["stream_ms"])
        self.assertIn("limit ms", self.say("bench", "--sweep", "--rows-max", 4, "--values-max",
                                           1000, "--rows", 2, "--dim", 10, "--rules", "cwmed"))
        refused = ballast("bench", "--sweep", "--device", "reference")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("--sweep measures the processor only", refused.stderr)

    def test_a_full_disk_behind_standard_output_is_an_error(self):
        for argument in ("list", "--help", "--version"):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([PROGRAM, argument], stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr, "ballast: cannot write to standard output\n")


if __name__ == "__main__":
    unittest.main()
