#!/usr/bin/env python3
"""Kills and restarts workers at random all the time; the run ends as an undisturbed one does.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/reliability/workers.py [--full]
"""

import json
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import SEED, Site

from crowd import LAMBDA, LIARS, MNIST, SMALL, WORKERS
from findings import Findings, is_full

PAUSE_MS = 20
SECONDS_BETWEEN = (0.1, 0.5)
SECONDS_MAX = 600
ACCURACY_SLACK = 0.02


def start(site, number):
    attack = ("--attack", "sign-flip") if number >= WORKERS - LIARS else ()
    return site.work(number, "--pause-ms", PAUSE_MS, *attack)


def run(spec, updates, is_disturbed):
    """The server's result, and how many workers were killed."""
    rng = random.Random(SEED)
    with Site(spec) as site:
        server = site.serve("--set", f"updates={updates}")
        workers = [start(site, i) for i in range(WORKERS)]
        killed = 0
        end = time.monotonic() + SECONDS_MAX
        while server.poll() is None and time.monotonic() < end:
            time.sleep(rng.uniform(*SECONDS_BETWEEN))
            if is_disturbed and server.poll() is None:
                number = rng.randrange(WORKERS)
                workers[number].kill()
                workers[number].wait()
                workers[number] = start(site, number)
                killed += 1
        output, _ = server.communicate(timeout=1)
        return json.loads(output), killed


def main():
    spec, updates = (MNIST, 3000) if is_full(__doc__) else (SMALL, 1200)
    findings = Findings("workers")
    calm, _ = run(spec, updates, False)
    troubled, killed = run(spec, updates, True)
    expected = calm["evaluation"]["accuracy"]
    accuracy = troubled["evaluation"]["accuracy"]
    findings.note("accuracy of an undisturbed run", f"{expected:.4f}")
    findings.check(killed >= 5, "workers killed with SIGKILL and started again", killed,
                   "at least 5, to be a test")
    findings.check(troubled["accepted"] == updates, "updates of the disturbed run",
                   troubled["accepted"], updates)
    findings.check(accuracy >= expected - ACCURACY_SLACK, "accuracy of the disturbed run",
                   f"{accuracy:.4f}", f"at least {expected - ACCURACY_SLACK:.4f}")
    findings.check(troubled["method"]["heaviest_share_max"] <= LAMBDA + 1e-9,
                   f"largest share of the {LIARS} heaviest at any step",
                   f"{troubled['method']['heaviest_share_max']:.4f}", f"at most {LAMBDA}")
    return findings.exit_code()


if __name__ == "__main__":
    sys.exit(main())
