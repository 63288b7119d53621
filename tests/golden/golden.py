#!/usr/bin/env python3
"""Compares what `ballast train` computes, bit for bit, with what it computed when golden.json was
written: the model of each run, and its metrics but for the times.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/golden/golden.py [--full] [--record]

Without --full: the runs that make their own data. With it also those on MNIST and CIFAR-10, which
`ballast data get all` brings. On a machine with AVX-512 everything is run with it and with AVX2.
--record writes golden.json anew, for a change that is meant to change results.
"""

import argparse
import csv
import hashlib
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import cases
import data

PROGRAM = os.environ["BALLAST_PROGRAM"]
TABLE = Path(__file__).parent / "golden.json"
SEED = 5
AVX512 = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}  # what Highway asks for
MEASURED = ("t", "test_accuracy", "test_loss", "train_loss", "byzantine_updates", "staleness_mean",
            "staleness_max")


def instruction_sets():
    """Those of this machine that the table knows, and the flags that choose them."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    flags = set(next((line for line in lines if line.startswith("flags")), "").split())
    sets = {}
    if AVX512 <= flags:
        sets["avx512"] = []
    if {"avx2", "fma"} <= flags:
        sets["avx2"] = ["--instructions", "avx2"]
    return sets


def specification(group, keys, runs):
    lines = [f"name = {json.dumps(group)}", f"seeds = [{SEED}]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    for name, settings in runs.items():
        lines += ["", "[[curve]]", f"label = {json.dumps(name)}"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    return "\n".join(lines) + "\n"


def hash_of_model(path):
    """Of names, shapes and values; what else the file says is no part of the result."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    result = hashlib.sha256()
    for name, entry in sorted(header.items()):
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        result.update(f"{name} {entry['shape']}\n".encode())
        result.update(content[begin:end])
    return result.hexdigest()


def hash_of_metrics(rows):
    lines = [" ".join(row[column] for column in MEASURED) for row in rows]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def results_of(group, runs, out):
    """The two hashes of each run, in the order in which the program lists them."""
    with (out / "metrics.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    results = {}
    for name in runs:
        own = [row for row in rows if row["run"] == name]
        if not own:
            raise SystemExit(f"{group}/{name}: metrics.csv has no such run")
        results[f"{group}/{name}"] = {
            "model": hash_of_model(out / "runs" / f"{name}-seed{SEED}.safetensors"),
            "metrics": hash_of_metrics(own)}
    return results


def run_group(group, contents, flags, folder):
    keys = dict(contents["keys"])
    if group in data.MAKERS:
        keys.update(data.write(group, folder))
    data.write_trace(folder / "trace.txt", workers=keys["workers"], length=200)
    spec = folder / f"{group}.toml"
    spec.write_text(specification(group, keys, contents["runs"]), encoding="utf-8")
    out = folder / f"{group}-results"
    done = subprocess.run([PROGRAM, "train", str(spec), "--out", str(out), *flags],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{group}: {done.stderr}")
    return results_of(group, contents["runs"], out)


def run_all(groups, flags):
    results = {}
    for group, contents in groups.items():
        with tempfile.TemporaryDirectory(prefix="ballast-golden-") as folder:
            results.update(run_group(group, contents, flags, Path(folder)))
    return results


def compare(expected, found, instructions):
    """Prints what differs; the number of runs that do."""
    count = 0
    for name, hashes in found.items():
        known = expected.get(name)
        differing = [kind for kind in hashes if known is None or known[kind] != hashes[kind]]
        if differing:
            count += 1
            what = " and ".join(differing) + " differ" if known else "is not in golden.json"
            print(f"{instructions} {name}: {what}")
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="also MNIST and CIFAR-10")
    parser.add_argument("--record", action="store_true", help="write golden.json anew")
    parser.add_argument("--instructions", choices=["avx512", "avx2"], help="only with these")
    arguments = parser.parse_args()
    table = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    groups = {**cases.SMALL, **(cases.FULL if arguments.full else {})}
    wrong = 0
    for instructions, flags in instruction_sets().items():
        if arguments.instructions not in (None, instructions):
            continue
        found = run_all(groups, flags)
        if arguments.record:
            table[instructions] = {**table.get(instructions, {}), **found}
        else:
            wrong += compare(table.get(instructions, {}), found, instructions)
        print(f"{instructions}: {len(found)} runs")
    if arguments.record:
        TABLE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
