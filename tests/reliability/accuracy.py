#!/usr/bin/env python3
"""Nine processes with mutual TLS, two of them liars, train the paper's MNIST model.

They reach the accuracy that `ballast train` does with the same specification in one process. There
is no reduced form of this but the test of `ballast cluster` in tests/cli/serving_test.py.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/reliability/accuracy.py [--full]
"""

import csv
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import Site, ballast

from crowd import LAMBDA, LIARS, MNIST
from findings import Findings, is_full

SECONDS_MAX = 900
ACCURACY_SLACK = 0.02


def simulated_accuracy(site):
    out = site.folder / "simulated"
    done = ballast("train", site.spec, "--out", out, timeout=SECONDS_MAX)
    assert done.returncode == 0, done.stderr
    with open(out / "metrics.csv", encoding="utf-8") as file:
        return float(list(csv.DictReader(file))[-1]["test_accuracy"])


def served(site):
    done = ballast("cluster", site.spec, "--out", site.folder / "cluster", "--json",
                   timeout=SECONDS_MAX)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def main():
    findings = Findings("accuracy")
    if not is_full(__doc__):
        findings.note("skipped", "it takes --full")
        return 0
    with Site(MNIST) as site:
        expected = simulated_accuracy(site)
        result = served(site)
    accuracy = result["evaluation"]["accuracy"]
    findings.note("accuracy of ballast train", f"{expected:.4f}")
    findings.check(accuracy >= expected - ACCURACY_SLACK,
                   f"accuracy of ballast cluster after {result['accepted']} updates",
                   f"{accuracy:.4f}", f"at least {expected - ACCURACY_SLACK:.4f}")
    findings.check(result["method"]["heaviest_share_max"] <= LAMBDA + 1e-9,
                   f"largest share of the {LIARS} heaviest at any step",
                   f"{result['method']['heaviest_share_max']:.4f}", f"at most {LAMBDA}")
    return findings.exit_code()


if __name__ == "__main__":
    sys.exit(main())
