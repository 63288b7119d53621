#!/usr/bin/env python3
"""A liar that joins anew before each update, as fast as it can, under the f-cap.

Each life of it has forgotten the ones before and brings one update of a flipped sign. The lead
limit counts lifetimes, so at every moment its accepted updates are at most twice those of the
second fastest worker and two; the model learns as without the liar.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/reliability/rejoin_flood.py [--full]
"""

import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import CLOUDS, Site, wait_for

from findings import Findings, is_full
from journal import keep_everything, read_lives

WORKERS = 6
KAPPA, SLACK = 2, 2  # of the lead limit
# At one pace of the honest ones the liar gets KAPPA of (WORKERS - 1) + KAPPA updates.
SHARE_MAX = KAPPA / (WORKERS - 1 + KAPPA)
CROWD = f"""
workers = {WORKERS}
rule = "ctma(cwmed, 0.3)"
weights = "f-cap(1, 0.2)"
"""
POINTS = CLOUDS + CROWD
PAUSE_MS = 20  # of an honest worker


def run(updates, is_flooded):
    """The result, who sent the accepted updates, in order, and how often the liar joined."""
    with Site(POINTS) as site:
        state = site.folder / "state"
        server = site.serve("--state", state, "--set", f"updates={updates}")
        keep_everything(state)
        honest = WORKERS - 1 if is_flooded else WORKERS
        for i in range(honest):
            site.work(i, "--pause-ms", PAUSE_MS)
        if is_flooded:
            wait_for(lambda: site.status()["paused"] is None, 120)
            site.work(WORKERS - 1, "--attack", "sign-flip", "--rejoin")
        output, _ = server.communicate(timeout=1200)
        (life,) = read_lives(state)
        result = json.loads(output)
        joins = result["network"]["streams_opened"] - honest
        return result, [record.worker for record in life.records], joins


def largest_excess(workers):
    """Of the liar's updates over what the lead limit allows, at any moment."""
    counts = np.zeros(WORKERS, dtype=int)
    excess = -10**9
    for worker in workers:
        counts[worker] += 1
        if worker == WORKERS - 1:
            excess = max(excess, counts[worker] - (KAPPA * np.sort(counts)[-2] + SLACK))
    return excess


def main():
    full = is_full(__doc__)
    findings = Findings("rejoin_flood")
    updates = 3000 if full else 300
    calm, _, _ = run(updates, False)
    flooded, workers, joins = run(updates, True)
    share = np.count_nonzero(np.array(workers) == WORKERS - 1) / len(workers)
    findings.check(joins > 2, "times that the liar joined", joins, "more than 2, to be a test")
    findings.check(largest_excess(workers) <= 0,
                   "largest excess of the liar over the lead limit, at any moment",
                   largest_excess(workers), "0")
    findings.check(share <= SHARE_MAX + 0.02, "share of the liar in the accepted updates",
                   f"{share:.4f}", f"{KAPPA} / ({WORKERS - 1} + {KAPPA}) = {SHARE_MAX:.4f} at one "
                   "pace of the others, and 0.02")
    findings.check(flooded["method"]["heaviest_share_max"] <= 0.2 + 1e-9,
                   "largest share of the weight that one worker held",
                   f"{flooded['method']['heaviest_share_max']:.4f}", "0.2")
    expected, found = (one["evaluation"]["accuracy"] for one in (calm, flooded))
    slack = 0.01 if full else 0.05
    findings.check(found >= expected - slack, "accuracy", f"{found:.4f}",
                   f"at least {slack} below that without the liar, {expected:.4f}")
    return findings.exit_code()


if __name__ == "__main__":
    sys.exit(main())
