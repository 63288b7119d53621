#!/usr/bin/env python3
"""Kills a serving process under load with SIGKILL, again and again.

At random instants, those of its start among them, and at every named failpoint. It must resume each
time, hold what its journal says, and never take an update twice; its workers live through it all.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/reliability/kill_server.py [--full]
"""

import random
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import SEED, Site

from findings import Findings, is_full
from crash_run import INTERVAL, CrashRun, failpoint_names

HITS = (1, 2, 7)
REACHED_ONCE = ("journal-open",)
SIGKILLED = -9


def kill_at_random(crash_run, findings, rng, rounds):
    alive = 0
    for _ in range(rounds):
        crash_run.resume()
        time.sleep(rng.uniform(0.0, 1.0))
        alive += crash_run.server.poll() is None
        crash_run.kill()
    findings.check(alive == rounds, "random instants of SIGKILL, with the server alive until then",
                   alive, rounds)


def kill_at_failpoints(crash_run, findings, failpoints):
    survived = []
    for name, hit in failpoints:
        crash_run.resume(environment={"BALLAST_FAILPOINT": f"{name}:{hit}:kill"})
        try:
            crash_run.server.wait(timeout=60)
        except subprocess.TimeoutExpired:
            crash_run.server.kill()
            survived.append(f"{name}:{hit}")
        crash_run.note_death()
        if crash_run.server.returncode != SIGKILLED:
            survived.append(f"{name}:{hit} ended with {crash_run.server.returncode}")
    findings.check(not survived, "failpoints that killed the server",
                   f"{len(failpoints) - len(survived)} at {len(dict(failpoints))} places",
                   f"all of {len(failpoints)} {survived or ''}".strip())


def all_failpoints():
    return [(name, hit) for name in failpoint_names()
            for hit in (HITS[:1] if name in REACHED_ONCE else HITS)]


def main():
    full = is_full(__doc__)
    few = [("sync", 2), ("rename", 1), ("journal-commit", 7), ("after-commit", 2)]
    findings = Findings("kill_server")
    with Site() as site:
        crash_run = CrashRun(site, findings)
        crash_run.kill()
        kill_at_random(crash_run, findings, random.Random(SEED), 200 if full else 5)
        kill_at_failpoints(crash_run, findings, all_failpoints() if full else few)
        findings.check(crash_run.lost_max <= INTERVAL,
                       "most acknowledged updates lost by one death",
                       crash_run.lost_max, f"at most the checkpoint interval, {INTERVAL}")
        crash_run.finish()
    return findings.exit_code()


if __name__ == "__main__":
    sys.exit(main())
