#!/usr/bin/env python3
"""Two of nine workers lie and send as fast as they can, over gRPC with mutual TLS.

With capped weights their share never passes the cap, honest updates are accepted and the model
learns as without the flood; with counts as weights the same flood ruins it.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/reliability/flood.py [--full]
"""

import contextlib
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import Site, wait_for

from crowd import CAP, LAMBDA, LIARS, MNIST, SMALL, WORKERS
from findings import Findings, is_full
from journal import keep_everything, read_lives

ACCURACY_SLACK = 0.02


@dataclass
class Size:
    name: str
    spec: str
    updates: int
    pause_ms: int  # of an honest worker


REDUCED = (Size("points", SMALL, updates=400, pause_ms=50),)
# The small model is quick enough for a liar to be a hundred times as fast.
FULL = (Size("points", SMALL, updates=400, pause_ms=1000),
        Size("MNIST", MNIST, updates=3000, pause_ms=1000))


@dataclass
class Flooded:
    accuracy: float
    heaviest_share_max: float  # at any step, by the server
    liar_share_max: float  # at any step, by the journal and the transcription below
    liar_update_share: float
    looks: int  # at the server's weights
    look_error_max: float  # of the transcription, against them
    honest_accepted_share: float
    gave_up: int  # workers
    speed_ratio: float  # updates of a liar over those of an honest worker, once both send


def capped(counts):
    """The f-cap, transcribed: counts cut at the largest c that leaves the heaviest their share."""
    heaviest_first = np.sort(counts)[::-1]
    low, high = 0.0, float(heaviest_first[0])
    for _ in range(60):
        cap = (low + high) / 2
        cut = np.minimum(heaviest_first, cap)
        if cut[:LIARS].sum() <= LAMBDA * cut.sum():
            low = cap
        else:
            high = cap
    return np.minimum(counts, low)


def shares(counts, is_capped):
    """Of the weight that each worker holds, by its count."""
    weights = capped(counts) if is_capped else counts
    return weights / weights.sum()


def has_quorum(counts):
    return np.count_nonzero(counts) * LAMBDA >= LIARS


def liar_share_max(records, is_capped):
    """After any update from the first step on."""
    counts = np.zeros(WORKERS)
    largest = 0.0
    for record in records:
        counts[record.worker] += 1
        if has_quorum(counts):
            largest = max(largest, shares(counts, is_capped)[-LIARS:].sum())
    return largest


def look_errors(looks, is_capped):
    """How far the server's weights are from the transcription, in each look at it."""
    for look in looks:
        counts = np.array([float(row["count"]) for row in look["workers"]])
        if has_quorum(counts):
            held = np.array([row["weight_share"] for row in look["workers"]])
            yield np.abs(held - shares(counts, is_capped)).max()


def speed_ratio(records):
    workers = np.array([record.worker for record in records])
    is_liar = workers >= WORKERS - LIARS
    both_send = slice(np.argmax(is_liar), None)
    liars = np.count_nonzero(is_liar[both_send])
    honest = np.count_nonzero(~is_liar[both_send])
    return (liars / LIARS) / (max(honest, 1) / (WORKERS - LIARS))


def run(size, weights, liar_pause_ms, updates):
    with Site(size.spec) as site:
        state = site.folder / "state"
        mine, theirs = site.issue_certificates(WORKERS)
        settings = ("--set", f"weights={weights}", "--set", f"updates={updates}")
        server = site.serve(*settings, "--state", state, credentials=mine)
        keep_everything(state)
        workers = [site.work(i, "--pause-ms", size.pause_ms, credentials=theirs[i])
                   for i in range(WORKERS - LIARS)]
        wait_for(lambda: sum(row["state"] != "away" for row in site.status()["workers"]) ==
                 len(workers), 60)
        workers += [site.work(i, "--attack", "sign-flip", "--pause-ms", liar_pause_ms,
                              credentials=theirs[i]) for i in range(len(workers), WORKERS)]
        looks, gave_up = watch(site, server, workers)
        (life,) = read_lives(state)
        return judge(json.loads(server.communicate()[0]), life.records, looks, gave_up,
                     weights == CAP)


def watch(site, server, workers):
    """What /status said until the end, and how many workers gave up before.

    Once all have, the server would wait for others in vain.
    """
    looks, gave_up = [], 0
    while server.poll() is None:
        time.sleep(0.1)
        with contextlib.suppress(OSError):  # the server may end meanwhile
            looks.append(site.status())
        gave_up = sum(worker.poll() not in (None, 0) for worker in workers)
        if gave_up == len(workers):
            server.terminate()
            server.wait()
    return looks, gave_up


def judge(result, records, looks, gave_up, is_capped):
    verdicts = [(row["verdicts"].get("accepted", 0), sum(row["verdicts"].values()))
                for row in result["workers"][:-LIARS]]
    accepted, judged = map(sum, zip(*verdicts))
    errors = list(look_errors(looks, is_capped))
    return Flooded(accuracy=result["evaluation"]["accuracy"],
                   heaviest_share_max=result["method"]["heaviest_share_max"],
                   liar_share_max=liar_share_max(records, is_capped),
                   liar_update_share=sum(record.worker >= WORKERS - LIARS for record in records) /
                   len(records),
                   looks=len(errors),
                   look_error_max=max(errors),
                   honest_accepted_share=accepted / judged,
                   gave_up=gave_up,
                   speed_ratio=speed_ratio(records))


def report(findings, name, flooded, calm):
    findings.check(flooded.heaviest_share_max <= LAMBDA + 1e-9,
                   f"{name}, largest share of the {LIARS} heaviest at any step, by the server",
                   f"{flooded.heaviest_share_max:.4f}", f"at most {LAMBDA}")
    findings.check(flooded.look_error_max <= 0.001,
                   f"{name}, largest error of the transcribed cap in {flooded.looks} looks at the "
                   "server's weights", f"{flooded.look_error_max:.6f}", "at most 0.001")
    findings.check(flooded.liar_share_max <= LAMBDA + 1e-9,
                   f"{name}, largest share of the liars at any step, by journal and transcription",
                   f"{flooded.liar_share_max:.4f}", f"at most {LAMBDA}")
    findings.note(f"{name}, share of the liars in the updates", f"{flooded.liar_update_share:.4f}")
    findings.check(flooded.honest_accepted_share >= 0.99, f"{name}, honest updates accepted",
                   f"{flooded.honest_accepted_share:.2%}", "at least 99 %")
    findings.check(flooded.accuracy >= calm.accuracy - ACCURACY_SLACK, f"{name}, accuracy",
                   f"{flooded.accuracy:.4f}", f"at least {calm.accuracy - ACCURACY_SLACK:.4f}")
    findings.note(f"{name}, updates of a liar per update of an honest worker",
                  f"{flooded.speed_ratio:.2f}")


def report_ruin(findings, name, ruined, accuracy_max):
    findings.note(f"{name}, updates of a liar per update of an honest worker",
                  f"{ruined.speed_ratio:.0f}")
    findings.check(ruined.liar_share_max > 0.5, f"{name}, largest share of the liars",
                   f"{ruined.liar_share_max:.4f}", "above 0.5, to show what the cap prevents")
    findings.check(ruined.accuracy < accuracy_max, f"{name}, accuracy", f"{ruined.accuracy:.4f}",
                   f"below {accuracy_max:.4f}, to show what the cap prevents")
    findings.note(f"{name}, workers that gave up, because the model overflows", ruined.gave_up)


def flood(findings, size):
    speeds = {"as fast as the others": size.pause_ms, "ten times as fast": size.pause_ms // 10,
              "without pause": 0}
    calm = None
    for name, pause_ms in speeds.items():
        flooded = run(size, CAP, pause_ms, size.updates)
        calm = calm or flooded
        report(findings, f"{size.name}, f-cap, liars {name}", flooded, calm)
    # Nobody holds the liars back here, so this also shows how fast they could be; it takes more
    # updates until the honest ones have sent enough to tell.
    ruined = run(size, "count", 0, 4 * size.updates)
    report_ruin(findings, f"{size.name}, count, liars without pause", ruined, calm.accuracy - 0.2)


def main():
    findings = Findings("flood")
    for size in FULL if is_full(__doc__) else REDUCED:
        flood(findings, size)
    return findings.exit_code()


if __name__ == "__main__":
    sys.exit(main())
