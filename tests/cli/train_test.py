#!/usr/bin/env python3
"""Drives `ballast train` as a user does, on a tiny data set of its own.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/cli/train_test.py
"""

import csv
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

PROGRAM = os.environ["BALLAST_PROGRAM"]
SCRIPTED_MODEL = Path(__file__).parent / "softmax.pt"


def train(*arguments, timeout=120):
    return subprocess.run([PROGRAM, "train", *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout, check=False)


def read_metrics(folder):
    with (folder / "metrics.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_safetensors(path):
    """The format in ten lines: what another program sees."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    data = content[8 + length:]
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
            for name, entry in header.items()}


class TrainTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="ballast-train-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = self.folder / "out"
        rng = np.random.default_rng(3)
        for split, count in (("train", 400), ("test", 200)):
            labels = rng.integers(0, 3, count)
            points = np.eye(3)[labels] * 2 + rng.normal(size=(count, 3)) * 0.5
            np.save(self.folder / f"{split}_x.npy", points.astype(np.float32))
            np.save(self.folder / f"{split}_y.npy", labels)

    def spec(self, text="", **keys):
        """A specification of this data; keys and text are added."""
        settings = {"data": "files", "workers": 5, "byzantine": 1, "share": 0.3, "updates": 120,
                    "evaluate_every": 40, "seeds": [1], "eta": 0.05, "batch": 8}
        for split in ("train", "test"):
            settings[f"{split}_images"] = f"{split}_x.npy"
            settings[f"{split}_labels"] = f"{split}_y.npy"
        settings.update(keys)
        lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
        path = self.folder / "spec.toml"
        path.write_text("\n".join(lines) + "\n" + text)
        return path

    def refused(self, *arguments, **keys):
        result = train(self.spec(**keys), "--out", self.out, *arguments)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertFalse(self.out.exists(), "nothing is written")
        return result.stderr


class ReadySpecificationsTest(TrainTest):
    def test_run_as_they_are_but_for_their_data_and_length(self):
        experiments = Path(__file__).resolve().parents[2] / "experiments"
        runs = {"heterogeneous-data": 16, "heterogeneous-speeds": 16, "sleeping-worker": 3}
        smaller = {"data": "files", "updates": 30, "evaluate_every": 15, "seeds": [1]}
        for split in ("train", "test"):
            smaller[f"{split}_images"] = str(self.folder / f"{split}_x.npy")
            smaller[f"{split}_labels"] = str(self.folder / f"{split}_y.npy")
        settings = [word for key, value in smaller.items()
                    for word in ("--set", f"{key}={json.dumps(value)}")]
        for name, count in runs.items():
            with self.subTest(name):
                out = self.folder / name
                result = train(experiments / f"{name}.toml", "--out", out, *settings)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(len(list(out.glob("runs/*.json"))), count)


class ResultsTest(TrainTest):
    def test_leaves_all_its_files(self):
        result = train(self.spec(), "--out", self.out, "--threads", 2)
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in ("spec.toml", "metrics.csv", "summary.json", "model.safetensors", "curves.png",
                     "curves.svg"):
            self.assertTrue((self.out / name).is_file(), name)
        self.assertEqual(len(list(self.out.glob("tensorboard/*/*tfevents*"))), 1)
        rows = read_metrics(self.out)
        self.assertEqual([int(row["t"]) for row in rows], [40, 80, 120])
        self.assertEqual([int(row["byzantine_updates"]) for row in rows], [12, 24, 36])
        self.assertGreater(float(rows[-1]["test_accuracy"]), 0.9)
        summary = json.loads((self.out / "summary.json").read_text())
        self.assertEqual(summary["curves"][0]["final_accuracy"]["mean"],
                         float(rows[-1]["test_accuracy"]))

    def test_the_model_is_what_was_measured(self):
        self.assertEqual(train(self.spec(), "--out", self.out).returncode, 0)
        tensors = read_safetensors(self.out / "model.safetensors")
        weight = next(t for t in tensors.values() if t.ndim == 2)
        bias = next(t for t in tensors.values() if t.ndim == 1)
        scores = np.load(self.folder / "test_x.npy") @ weight.T + bias
        accuracy = np.mean(scores.argmax(axis=1) == np.load(self.folder / "test_y.npy"))
        rows = read_metrics(self.out)
        self.assertAlmostEqual(accuracy, float(rows[-1]["test_accuracy"]), delta=1e-9)

    def test_threads_change_no_byte_of_the_model(self):
        spec = self.spec(rule="ctma(gm, 0.3)", model="mlp", hidden=20)
        models = []
        for threads in (1, 2, 4):
            out = self.folder / f"threads{threads}"
            self.assertEqual(train(spec, "--out", out, "--threads", threads).returncode, 0)
            models.append((out / "model.safetensors").read_bytes())
        self.assertEqual(models[0], models[1])
        self.assertEqual(models[0], models[2])

    def test_the_resolved_specification_gives_the_same_runs(self):
        self.assertEqual(train(self.spec(), "--out", self.out).returncode, 0)
        again = self.folder / "again"
        self.assertEqual(train(self.out / "spec.toml", "--out", again).returncode, 0)
        self.assertEqual((self.out / "model.safetensors").read_bytes(),
                         (again / "model.safetensors").read_bytes())

    def test_finished_runs_are_not_repeated(self):
        spec = self.spec('[grid]\nrule = ["gm", "mean"]\n')
        only_gm = train(spec, "--out", self.out, "--set", 'grid.rule=["gm"]')
        self.assertEqual(only_gm.returncode, 0, only_gm.stderr)
        before = {path: path.stat().st_mtime_ns for path in self.out.glob("runs/*gm*")}
        self.assertTrue(before)
        result = train(spec, "--out", self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("1 run is done already", result.stderr)
        after = {path: path.stat().st_mtime_ns for path in before}
        self.assertEqual(before, after)
        self.assertEqual(len(list(self.out.glob("runs/*.json"))), 2)

    def test_every_key_that_varies_has_a_column(self):
        spec = self.spec('[grid]\nrule = ["gm", "ctma(gm, {share})"]\n'
                         '[[curve]]\nlabel = "a"\nbatch = 4\n[[curve]]\nlabel = "b"\n')
        self.assertEqual(train(spec, "--out", self.out).returncode, 0)
        rows = read_metrics(self.out)
        self.assertEqual({(row["rule"], row["batch"]) for row in rows},
                         {(rule, batch) for rule in ("gm", "ctma(gm, 0.3)") for batch in "48"})

    def test_why_tells_what_the_rule_did_and_changes_nothing(self):
        spec = self.spec(rule="ctma(gm, 0.3)")
        self.assertEqual(train(spec, "--out", self.out).returncode, 0)
        plain = (self.out / "model.safetensors").read_bytes()
        self.assertFalse((self.out / "why.png").exists())
        explained = train(spec, "--out", self.out, "--why")
        self.assertEqual(explained.returncode, 0, explained.stderr)
        self.assertEqual((self.out / "model.safetensors").read_bytes(), plain)
        self.assertTrue((self.out / "why.png").is_file())
        rows = read_metrics(self.out)
        self.assertEqual([row["byzantine_weight"] for row in rows], ["0.3", "0.3", "0.3"])
        for row in rows:
            self.assertLessEqual(float(row["byzantine_kept"]), 0.3 / 0.7 + 1e-9)
            self.assertGreater(float(row["direction_cosine"]), 0)
            self.assertLess(float(row["staleness_byzantine"]), float(row["staleness_honest"]))

    def test_results_of_other_settings_are_not_overwritten(self):
        spec = self.spec()
        self.assertEqual(train(spec, "--out", self.out).returncode, 0)
        before = {path: path.read_bytes() for path in self.out.rglob("*") if path.is_file()}

        refused = train(spec, "--out", self.out, "--set", "updates=80")

        self.assertEqual(refused.returncode, 2)
        self.assertIn("holds 1 run with other settings: updates = 120 there, 80 here",
                      refused.stderr)
        self.assertIn("--out", refused.stderr)
        self.assertEqual(before, {path: path.read_bytes() for path in before})
        forced = train(spec, "--out", self.out, "--set", "updates=80", "--force")
        self.assertEqual(forced.returncode, 0, forced.stderr)
        rows = read_metrics(self.out)
        self.assertEqual([int(row["t"]) for row in rows], [40, 80])
        self.assertEqual(len(list(self.out.glob("runs/*.json"))), 1)

    def test_a_run_under_way_with_other_settings_is_not_lost(self):
        spec = self.spec(updates=100000)
        command = [PROGRAM, "train", str(spec), "--out", str(self.out), "--checkpoint-seconds",
                   "0.05"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as killed:
            runs = self.out / "runs"
            deadline = time.monotonic() + 60
            while not list(runs.glob("*.checkpoint/gen-*")) and time.monotonic() < deadline:
                time.sleep(0.02)
            killed.kill()
        refused = train(spec, "--out", self.out, "--set", "updates=80")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("holds 1 run under way with other settings: updates = 100000 there, 80 here",
                      refused.stderr)
        self.assertEqual(len(list(runs.glob("*.checkpoint"))), 1)
        forced = train(spec, "--out", self.out, "--set", "updates=80", "--force")
        self.assertEqual(forced.returncode, 0, forced.stderr)
        self.assertEqual(list(runs.glob("*.checkpoint")), [])

    def test_fewer_seeds_do_not_hide_the_others(self):
        self.assertEqual(train(self.spec(seeds=[1, 2]), "--out", self.out).returncode, 0)
        refused = train(self.spec(seeds=[1]), "--out", self.out)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("seeds = [1, 2] there, [1] here", refused.stderr)
        more = train(self.spec(seeds=[1, 2, 3]), "--out", self.out)
        self.assertEqual(more.returncode, 0, more.stderr)
        self.assertIn("2 runs are done already", more.stderr)

    def test_json_is_the_summary(self):
        result = train(self.spec(), "--out", self.out, "--json")
        curves = json.loads((self.out / "summary.json").read_text())["curves"]
        self.assertEqual([json.loads(line) for line in result.stdout.splitlines()], curves)

    def test_parts_divide_the_runs_and_are_put_together(self):
        spec = self.spec('[grid]\nrule = ["gm", "mean", "cwmed"]\n', seeds=[1, 2])
        for number in (1, 2, 3, 4):
            done = train(spec, "--out", self.out, "--part", f"{number}/4")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"part {number}/4 is done", done.stdout)
        self.assertEqual(len(list(self.out.glob("runs/*.json"))), 6)
        self.assertFalse((self.out / "metrics.csv").exists())

        merged = train(spec, "--out", self.out)

        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assertIn("6 runs are done already", merged.stderr)
        whole = self.folder / "whole"
        self.assertEqual(train(spec, "--out", whole).returncode, 0)
        self.assertEqual((self.out / "model.safetensors").read_bytes(),
                         (whole / "model.safetensors").read_bytes())
        times = ("seconds",)
        for one, other in zip(read_metrics(self.out), read_metrics(whole), strict=True):
            self.assertEqual({key: one[key] for key in one if key not in times},
                             {key: other[key] for key in one if key not in times})

    def test_two_at_a_time_may_make_the_same_part(self):
        spec = self.spec(seeds=[1, 2, 3, 4], updates=400)
        command = [PROGRAM, "train", str(spec), "--out", str(self.out), "--part", "1/2"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as one:
            with subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as two:
                self.assertEqual((one.wait(100), two.wait(100)), (0, 0))
        self.assertEqual(train(spec, "--out", self.out).returncode, 0)
        self.assertEqual(len({row["seed"] for row in read_metrics(self.out)}), 4)

    def test_progress_shows_the_accuracy_so_far(self):
        result = train(self.spec(), "--out", self.out)
        self.assertRegex(result.stderr, r"[0-9.]+ % at (40|80) of spec seed 1")

    def test_interrupted_work_is_kept_and_taken_up_again(self):
        spec = self.spec(updates=4000, seeds=list(range(1, 9)))
        command = [PROGRAM, "train", str(spec), "--out", str(self.out), "--threads", "1"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            deadline = time.monotonic() + 60
            while not list(self.out.glob("runs/*.json")) and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, error)
        self.assertIn(b"the same command goes on", error)
        done = len(list(self.out.glob("runs/*.json")))
        self.assertGreaterEqual(done, 1)
        self.assertLess(done, 8)
        result = train(spec, "--out", self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("1 run is" if done == 1 else f"{done} runs are", result.stderr)
        self.assertEqual(len(list(self.out.glob("runs/*.json"))), 8)

    def test_a_run_that_is_cut_goes_on_to_the_same_bits(self):
        self.check_cut_run(self.folder / "table")
        self.check_cut_run(self.folder / "past", method="table(past=20)")

    def check_cut_run(self, folder, **keys):
        spec = self.spec(updates=10000, evaluate_every=2500, **keys)
        whole, out = folder / "whole", folder / "cut"
        self.assertEqual(train(spec, "--out", whole).returncode, 0)
        command = [PROGRAM, "train", str(spec), "--out", str(out), "--threads", "1",
                   "--checkpoint-seconds", "0.01"]
        for stop in (signal.SIGINT, signal.SIGKILL):
            with subprocess.Popen(command, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as process:
                deadline = time.monotonic() + 60
                while not list(out.glob("runs/*.checkpoint/gen-*/manifest.json")):
                    self.assertIsNone(process.poll(), "was done before it was saved")
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.001)
                process.send_signal(stop)
                process.communicate(timeout=60)
        result = train(spec, "--out", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(list(out.glob("runs/*.checkpoint")), [])
        name = "model.safetensors"
        self.assertEqual((out / name).read_bytes(), (whole / name).read_bytes())
        keys = [key for key in read_metrics(whole)[0] if key != "seconds"]
        self.assertEqual([[row[key] for key in keys] for row in read_metrics(out)],
                         [[row[key] for key in keys] for row in read_metrics(whole)])

    def test_a_run_that_leaves_the_finite_numbers_is_a_result(self):
        result = train(self.spec(eta=1e38, rule="mean", optimizer="sgd"), "--out", self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        summary = json.loads((self.out / "summary.json").read_text())
        self.assertEqual(summary["curves"][0]["diverged"], 1)

    def metrics(self, name, **keys):
        """Without the seconds, which differ from run to run."""
        out = self.folder / name
        result = train(self.spec(attack="scaled(-3)", arrivals="burst(4)", **keys), "--out", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = csv.DictReader((out / "metrics.csv").open(encoding="utf-8"))
        return [{key: row[key] for key in row if key != "seconds"} for row in rows]

    def test_every_method_trains(self):
        for method in ("table(past=10)", "asgd", "delay-adaptive", "picky(5)", "fedbuff(4)",
                       "throttle", "kardam(1)", "basgd(3, cwtm({share}))", "zeno++", "aflguard"):
            with self.subTest(method=method):
                rows = self.metrics(method, method=method, server_samples=50, eta=0.01)
                self.assertEqual(rows[-1]["t"], "120")
        rows = self.metrics("momentum", method="basgdm(3)", optimizer="momentum",
                            eta=0.2)
        self.assertGreater(float(rows[-1]["test_accuracy"]), 0.8)

    def test_methods_with_data_of_their_own_see_through_a_flood(self):
        for method in ("zeno++", "aflguard(0.9)"):
            rows = self.metrics("flood-" + method, method=method, server_samples=50, share=0.49,
                                optimizer="sgd", eta=0.1)
            self.assertGreater(float(rows[-1]["test_accuracy"]), 0.8, method)

    def test_several_caps_hold_at_once(self):
        one = self.metrics("one", weights="f-cap(1, 0.25)")
        two = self.metrics("two", weights="f-cap(2, 0.45)")
        both = self.metrics("both", weights="f-cap(2, 0.45) & f-cap(share=0.25)")
        self.assertNotEqual(one, two)
        self.assertNotEqual(both, two, "the second cap counts as well")
        again = self.metrics("again", weights="f-cap(1, 1/4) & f-cap(1, 0.3)")
        self.assertEqual(again, one, "a cap that holds anyway changes nothing")

    def test_a_torchscript_model_trains_on_own_data(self):
        spec = self.spec(model=str(SCRIPTED_MODEL))
        result = train(spec, "--out", self.out)
        if "libtorch-dev" in result.stderr:
            self.skipTest(result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = read_metrics(self.out)
        self.assertGreater(float(rows[-1]["test_accuracy"]), 0.9)
        tensors = read_safetensors(self.out / "model.safetensors")
        self.assertEqual({tensor.shape for tensor in tensors.values()}, {(3, 3), (3,)})


class OwnDataPageTest(unittest.TestCase):
    """The example of docs/own-data.md, as it stands there."""

    def test_the_example_runs(self):
        page = (Path(__file__).parents[2] / "docs/own-data.md").read_text(encoding="utf-8")
        blocks = dict(re.findall(r"```(python|toml|sh)\n(.*?)```", page, re.DOTALL))
        with tempfile.TemporaryDirectory(prefix="ballast-own-") as folder:
            # This interpreter has NumPy; another python3 may come first on the PATH.
            subprocess.run([sys.executable, "-c", blocks["python"]], cwd=folder, check=True)
            (Path(folder) / "own.toml").write_text(blocks["toml"], encoding="utf-8")
            command = blocks["sh"].split()
            self.assertEqual(command.pop(0), "ballast")
            done = subprocess.run([PROGRAM, *command], cwd=folder, capture_output=True, text=True,
                                  timeout=120, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            summary = json.loads((Path(folder) / "results/own/summary.json").read_text())
            accuracy = summary["curves"][0]["final_accuracy"]
            self.assertGreater(accuracy["min"], 0.85)
            self.assertLess(accuracy["max"], 0.90)


class RefusalsTest(TrainTest):
    def test_an_unknown_key_names_the_nearest(self):
        error = self.refused(shares=0.2)
        self.assertIn("spec.toml:", error)
        self.assertIn("shares", error)
        self.assertIn("'share'", error)

    def test_an_old_key_names_the_new_form(self):
        self.assertIn('weights = "f-cap(1, 0.2)"', self.refused(cap_share=0.3))
        self.assertIn('attack = "empire(0.1)"', self.refused("--set", "attack_epsilon=1"))

    def test_a_wrong_expression_names_the_column(self):
        error = self.refused(weights="f-cap(1, 0.2) & f-cap(2, 0.5)")
        self.assertIn("share must be above 0 and below 1/2, not 0.5 at column 26", error)
        self.assertIn("did you mean 'empire'?", self.refused("--set", "attack=empir(2)"))

    def test_a_wrong_type_names_the_key(self):
        self.assertIn("workers", self.refused(workers="nine"))

    def test_a_method_says_what_it_lacks(self):
        self.assertIn("set server_samples = 100", self.refused(method="zeno++"))
        self.assertIn('set optimizer = "momentum"', self.refused(method="basgdm(2)"))
        self.assertIn("needs more than 6 workers", self.refused(method="kardam(2)"))
        self.assertIn("did you mean 'kardam'?", self.refused(method="kardan(1)"))
        self.assertIn("take ctma(cwmed, 0.4)", self.refused(method="table(past=9)", rule="cwmed"))

    def test_a_share_of_one_half_is_impossible(self):
        self.assertIn("share = 0.5", self.refused(share=0.5))

    def test_more_liars_than_workers(self):
        self.assertIn("byzantine", self.refused(byzantine=6))

    def test_a_missing_file(self):
        self.assertIn("nowhere.npy", self.refused(train_images="nowhere.npy"))

    def test_a_wrong_rule_points_at_the_character(self):
        self.assertIn("column", self.refused(rule="ctma(gm; 0.4)"))

    def test_an_override_is_blamed_itself(self):
        self.assertIn("--set share=0.7", self.refused("--set", "share=0.7"))

    def test_labels_that_do_not_fit_the_images(self):
        np.save(self.folder / "train_y.npy", np.zeros(7, dtype=int))
        self.assertIn("train_x.npy", self.refused())

    def test_a_value_that_is_no_number_is_found(self):
        points = np.load(self.folder / "train_x.npy")
        points[17, 2] = np.nan
        np.save(self.folder / "train_x.npy", points)
        self.assertIn("train_x.npy: sample 17, column 2 is nan", self.refused())
        images = np.zeros((6, 2, 3, 4), dtype=np.float64)
        images[5, 1, 2, 3] = np.inf
        np.save(self.folder / "test_x.npy", images)
        np.save(self.folder / "test_y.npy", np.zeros(6))
        np.save(self.folder / "train_x.npy", np.zeros((400, 2, 3, 4)))
        self.assertIn("test_x.npy: sample 5, channel 1, row 2, column 3 is inf", self.refused())

    def test_labels_that_are_none(self):
        labels = np.load(self.folder / "test_y.npy")
        labels[40] = 6
        np.save(self.folder / "test_y.npy", labels)
        self.assertIn("test_y.npy: label 6 of sample 40 does not occur in training: its labels go "
                      "from 0 to 2", self.refused())
        labels[3] = -1
        np.save(self.folder / "train_y.npy", labels)
        self.assertIn("train_y.npy: label -1 of sample 3", self.refused())

    def test_a_label_that_a_scripted_model_has_no_place_for(self):
        labels = np.load(self.folder / "train_y.npy")
        labels[21] = 5
        np.save(self.folder / "train_y.npy", labels)
        error = self.refused(model=str(SCRIPTED_MODEL))
        if "libtorch-dev" in error:
            self.skipTest(error)
        self.assertIn("there are 6 classes, since label 5 stands at sample 21", error)

    def test_a_missing_specification(self):
        result = train(self.folder / "none.toml")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr.count("none.toml"), 1, result.stderr)

    def test_parts_that_are_none(self):
        for part in ("0/4", "5/4", "3", "a/b", "1/99999"):
            self.assertIn("--part " + part, self.refused("--part", part))

    def test_a_mistyped_command_is_understood(self):
        result = subprocess.run([PROGRAM, "trian"], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("did you mean 'train'?", result.stderr)

    def test_nothing_to_train(self):
        result = train()
        self.assertEqual(result.returncode, 2)
        self.assertIn("--demo", result.stderr)


if __name__ == "__main__":
    unittest.main()
