#!/usr/bin/env python3
"""One server for an hour, with workers at full speed of whom five of six come and go all the time.

Its memory, its descriptors and the round trips of the worker that stays must be flat: the last
quarter is compared with the second. --full takes the hour, writes a line every ten seconds to
OUT/soak.csv and draws OUT/soak.svg.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/reliability/soak.py [--full] [--out OUT]
       BALLAST_PROGRAM=build/bin/ballast tests/reliability/soak.py --plot docs/images/soak.csv
"""

import argparse
import csv
import json
import os
import random
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import SEED, Site, wait_for

from churn import ENDLESS, SPEC, WORKERS, Crowd
from findings import Findings

SECONDS_FULL, SECONDS_REDUCED = 3600, 10
CHURN_SECONDS = (0.2, 1.5)
MIB = 1 << 20


@dataclass
class Sample:
    seconds: float
    accepted: int
    resident_mib: float
    descriptors: int
    threads: int
    p50_ms: float
    p99_ms: float
    ended: int  # workers, so far


def resident_mib(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / MIB


def latest_round_trips(worker):
    """The newest figures in a worker's log; none before the first."""
    found = None
    with open(worker.log, encoding="utf-8") as log:
        for line in log:
            if line.endswith("\n") and '"round-trips"' in line:
                found = json.loads(line)
    return found


def sample(site, server, crowd, seconds):
    trips = latest_round_trips(crowd.workers[0])
    pid = server.pid
    return Sample(seconds=round(seconds, 1), accepted=site.status()["accepted"],
                  resident_mib=round(resident_mib(pid), 2),
                  descriptors=len(os.listdir(f"/proc/{pid}/fd")),
                  threads=len(os.listdir(f"/proc/{pid}/task")),
                  p50_ms=trips["p50_ms"] if trips else float("nan"),
                  p99_ms=trips["p99_ms"] if trips else float("nan"),
                  ended=sum(crowd.ended.values()))


def soak(site, findings, seconds, every, keep):
    mine, theirs = site.issue_certificates(WORKERS)
    server = site.serve("--state", site.folder / "state", "--silence-seconds", 1, *ENDLESS,
                        credentials=mine)
    rng = random.Random(SEED)
    crowd = Crowd(site, rng, ("--report-seconds", every), theirs, steady=1)
    wait_for(lambda: site.status()["paused"] is None and
             latest_round_trips(crowd.workers[0]), 120)
    start = time.monotonic()
    samples = []
    while (now := time.monotonic() - start) < seconds:
        if now >= every * len(samples):
            samples.append(sample(site, server, crowd, now))
            keep(samples[-1])
        time.sleep(rng.uniform(*CHURN_SECONDS))
        crowd.churn()
    samples.append(sample(site, server, crowd, time.monotonic() - start))
    keep(samples[-1])
    listening = next(line for line in map(json.loads, server.log.read_text().splitlines())
                     if line["event"] == "listening")
    findings.check(server.poll() is None and crowd.workers[0].poll() is None,
                   "server and steady worker at the end", "alive", "alive")
    server.terminate()
    findings.check(server.wait(timeout=120) == 0, "exit code after SIGTERM", server.returncode, 0)
    return samples, listening["memory_budget"] / MIB, crowd


def quarter(samples, number, key):
    part = samples[len(samples) * (number - 1) // 4:len(samples) * number // 4]
    return [getattr(one, key) for one in part]


def judge(findings, samples, budget_mib, full):
    peak = max(one.resident_mib for one in samples)
    findings.check(peak <= budget_mib, "largest resident memory, MiB", f"{peak:.1f}",
                   f"the budget, {budget_mib:.1f}")
    findings.check(samples[-1].accepted > samples[0].accepted, "updates accepted meanwhile",
                   samples[-1].accepted - samples[0].accepted, "more than 0")
    findings.note("workers ended and started again", samples[-1].ended)
    if not full:
        return  # seconds say nothing about what grows
    for key, what, slack in (("resident_mib", "resident memory, MiB", 1.05),
                             ("descriptors", "descriptors", 1.05),
                             ("threads", "threads", 1.05)):
        second, last = max(quarter(samples, 2, key)), max(quarter(samples, 4, key))
        findings.check(last <= slack * second + 1, f"{what}, largest of the last quarter",
                       f"{last:g}", f"{slack} of the second quarter's, {second:g}, and one")
    for key, what in (("p50_ms", "median round trip, ms"), ("p99_ms", "p99 of round trips, ms")):
        second = statistics.median(quarter(samples, 2, key))
        last = statistics.median(quarter(samples, 4, key))
        findings.check(last <= 2 * second, f"{what}, median of the last quarter", f"{last:.2f}",
                       f"twice the second quarter's, {second:.2f}")


def plot(path):
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    with open(path, encoding="utf-8") as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    minutes = [row["seconds"] / 60 for row in rows]
    figure, axes = pyplot.subplots(3, 1, sharex=True, figsize=(8, 6.5))
    axes[0].plot(minutes, [row["resident_mib"] for row in rows], color="#2a78d6")
    axes[0].set_ylabel("memory, MiB")
    axes[1].plot(minutes, [row["descriptors"] for row in rows], color="#2a78d6",
                 label="descriptors")
    axes[1].plot(minutes, [row["threads"] for row in rows], color="#c2570c", label="threads")
    axes[1].legend(loc="lower right")
    axes[2].plot(minutes, [row["p50_ms"] for row in rows], color="#2a78d6", label="p50")
    axes[2].plot(minutes, [row["p99_ms"] for row in rows], color="#c2570c", label="p99")
    axes[2].set_yscale("log")
    axes[2].set_ylabel("round trip, ms")
    axes[2].set_xlabel("minutes")
    axes[2].legend(loc="upper right")
    for axis in axes:
        axis.grid(alpha=0.3)
    for axis in axes[:2]:
        axis.set_ylim(bottom=0)
    figure.suptitle(f"{rows[-1]['accepted'] - rows[0]['accepted']:,.0f} updates, "
                    f"{rows[-1]['ended']:,.0f} workers ended and started again")
    figure.tight_layout()
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="an hour, as in docs/reliability.md")
    parser.add_argument("--seconds", type=float, help="another length of the full form")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder of csv and svg")
    parser.add_argument("--plot", type=Path, help="draw this file again, and no more")
    flags = parser.parse_args()
    if flags.plot:
        plot(flags.plot)
        return 0
    seconds = flags.seconds or (SECONDS_FULL if flags.full else SECONDS_REDUCED)
    rows = []

    def keep(one):
        rows.append(one)
        if not flags.full:
            return
        with open(flags.out / "soak.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, asdict(one))
            writer.writeheader()
            writer.writerows(map(asdict, rows))

    findings = Findings("soak")
    with Site(SPEC) as site:
        samples, budget_mib, crowd = soak(site, findings, seconds, 10 if flags.full else 2, keep)
        findings.note("of them by SIGTERM and by SIGKILL",
                      " ".join(map(str, crowd.ended.values())))
    judge(findings, samples, budget_mib, flags.full)
    if flags.full:
        plot(flags.out / "soak.csv")
    return findings.exit_code()


if __name__ == "__main__":
    sys.exit(main())
