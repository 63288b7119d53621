#!/usr/bin/env python3
"""Trains with rows on a CUDA device and on the processor, and compares. Skipped without a device.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/cli/gpu_train_test.py
"""

import csv
import os
import random
import shlex
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM = shlex.split(os.environ["BALLAST_PROGRAM"])
SPEC = """
data = "files"
train_images = "train_x.npy"
train_labels = "train_y.npy"
test_images = "test_x.npy"
test_labels = "test_y.npy"
model = "mlp"
hidden = 64
workers = 9
byzantine = 3
share = 0.3
attack = "sign-flip"
weights = "f-cap(1, 0.25)"
eta = 0.05
updates = 200
evaluate_every = 100
seeds = [1]
"""


def run(*arguments):
    return subprocess.run([*PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          timeout=60, check=False)


def save(path, kind, shape, values):
    """An array as NumPy saves it; the machine with the device need not have NumPy."""
    header = f"{{'descr': '<{kind}4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    code = "f" if kind == "f" else "i"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                     + struct.pack(f"<{len(values)}{code}", *values))


class GpuTrainTest(unittest.TestCase):
    def setUp(self):
        said = run("bench", "--rows", 2, "--dim", 10, "--rules", "mean", "--device", "cuda")
        if "no CUDA plugin" in said.stderr:
            self.skipTest(said.stderr.strip())
        self.folder = Path(tempfile.mkdtemp(prefix="ballast-gpu-"))
        self.addCleanup(shutil.rmtree, self.folder)
        rng = random.Random(3)
        for split, count in (("train", 600), ("test", 500)):
            labels = [rng.randrange(3) for _ in range(count)]
            points = [2.0 * (label == i) + rng.gauss(0, 0.7) for label in labels for i in range(3)]
            save(self.folder / f"{split}_x.npy", "f", (count, 3), points)
            save(self.folder / f"{split}_y.npy", "i", (count,), labels)

    def train(self, rule, device):
        """The final accuracy and the bytes of the model."""
        spec, out = self.folder / "own.toml", self.folder / f"out-{device}"
        spec.write_text(f'rule = "{rule}"\n' + SPEC, encoding="utf-8")
        shutil.rmtree(out, ignore_errors=True)
        done = run("train", spec, "--out", out, "--device", device)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f'device = "{device}"', (out / "spec.toml").read_text(encoding="utf-8"))
        with (out / "metrics.csv").open(encoding="utf-8") as file:
            accuracy = float(list(csv.DictReader(file))[-1]["test_accuracy"])
        return accuracy, (out / "model.safetensors").read_bytes()

    def test_medians_and_steps_have_the_same_bits(self):
        on_cpu, on_cuda = self.train("cwmed", "cpu"), self.train("cwmed", "cuda")
        self.assertEqual(on_cpu, on_cuda)
        self.assertEqual(on_cuda, self.train("cwmed", "cuda"))

    def test_sums_differ_in_their_last_digits_only(self):
        for rule in ("cwtm(0.3)", "ctma(gm, 0.3)", "nnm(gm, 0.3)"):
            with self.subTest(rule=rule):
                on_cpu, on_cuda = self.train(rule, "cpu"), self.train(rule, "cuda")
                self.assertAlmostEqual(on_cpu[0], on_cuda[0], delta=0.02)
                self.assertEqual(on_cuda, self.train(rule, "cuda"))


if __name__ == "__main__":
    unittest.main()
