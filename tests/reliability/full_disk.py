#!/usr/bin/env python3
"""A disk that is full: without inodes, and without space.

A small file system without free inodes: journal lines go into files that are there, a checkpoint
needs new ones. The server must stop acknowledging at its bound, say so, go on when there is room
again, and after kill -9 in that state lose no more than the bound. Without space the journal fails
too, sooner or later: the server ends, and what it has acknowledged is in the journal. Needs the
right to mount.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/reliability/full_disk.py [--full]
"""

import json
import subprocess
import sys
import time
import urllib.error
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import Site, ballast, wait_for

from findings import Findings, is_full

INTERVAL, BOUND = 20, 50
FLAGS = ("--checkpoint-updates", INTERVAL, "--checkpoint-seconds", 1000, "--unsaved-updates-max",
         BOUND, "--set", "updates=1000000000")
INODES = 200


class SmallDisk:
    """A file system of few inodes, or an error that says why there is none."""

    def __init__(self, folder):
        self.folder = folder
        self.folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=64m,nr_inodes={INODES}", "ballast",
                        folder], check=True, capture_output=True, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.folder], check=True)

    def fill(self):
        """Takes the inodes that are left."""
        (self.folder / "fill").mkdir(exist_ok=True)
        for i in range(INODES):
            try:
                (self.folder / "fill" / str(i)).touch()
            except OSError:
                return

    def fill_space(self):
        """Takes the space that is left."""
        (self.folder / "fill").mkdir(exist_ok=True)
        with open(self.folder / "fill" / "space", "ab", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    continue

    def empty(self):
        for path in (self.folder / "fill").iterdir():
            path.unlink()


def is_ready(site):
    try:
        return site.get("/readyz") == "ready\n"
    except urllib.error.HTTPError as error:
        error.close()
        return False


def is_quiet(site):
    """Whether nothing is accepted any more."""
    before = site.status()["accepted"]
    time.sleep(0.5)
    return site.status()["accepted"] == before


def stall(site, disk, findings):
    """Fills the disk; the number of updates accepted when the server has stopped acknowledging."""
    def is_stalled():
        disk.fill()  # again: a checkpoint that was being written makes room when it is done
        return not site.status()["acknowledging"]

    wait_for(is_stalled, 60)
    status = site.status()
    findings.check(status["unsaved"] == BOUND + 1 and is_quiet(site),
                   "updates in no checkpoint when acknowledging stops, one of them unanswered",
                   status["unsaved"], f"{BOUND + 1}, and no more later")
    findings.check(not is_ready(site) and "ballast_is_acknowledging 0" in site.get("/metrics"),
                   "ready while it does not acknowledge", is_ready(site), "False")
    return status["accepted"]


def resume(site, state, before, findings, what):
    """After a death; checks what the resume says to have and to have lost."""
    server = site.serve("--resume", state, *FLAGS)
    resumed = next(line for line in map(json.loads, server.log.read_text().splitlines())
                   if line["event"] == "resumed")
    findings.check(resumed["accepted"] + resumed["lost"] >= before,
                   f"{what}: updates that the resume says to have and to have lost",
                   f"{resumed['accepted']} and {resumed['lost']}",
                   f"together at least the {before} that were acknowledged")
    findings.check(resumed["lost"] <= BOUND + 1, f"{what}: lost", resumed["lost"],
                   f"{BOUND} acknowledged ones and one without an answer")
    return server


def run_out_of_space(site, disk, findings, rounds):
    """The server ends by itself once the journal does not fit, or is killed while it waits."""
    state = disk.folder / "spaceless"
    server = site.serve("--state", state, *FLAGS)
    workers = [site.work(i, "--set", "updates=1000000000", "--patience-seconds", 600)
               for i in range(4)]
    wait_for(lambda: site.status()["generation"] >= 3, 60)
    for _ in range(rounds):
        acknowledged = 0
        end = time.monotonic() + 60
        while server.poll() is None and time.monotonic() < end:
            disk.fill_space()  # again: a checkpoint that was being written makes room
            try:
                status = site.status()
            except OSError:
                continue
            # One of those that the state has may be without its answer.
            acknowledged = max(acknowledged, status["accepted"] - 1)
            if not status["acknowledging"] and is_quiet(site):
                break
            time.sleep(0.05)
        has_ended = server.poll() is not None
        findings.check(not has_ended or server.returncode == 2,
                       "without space: the server, at the end", "ended with an error"
                       if has_ended else "stopped acknowledging", "either")
        server.kill()
        server.wait()
        disk.empty()
        server = resume(site, state, acknowledged, findings, "without space")
        reached = site.status()["accepted"]
        wait_for(lambda: site.status()["accepted"] > reached + INTERVAL, 60)
    alive = sum(worker.poll() is None for worker in workers)
    findings.check(alive == 4, "without space: workers that lived through it", alive, 4)
    server.terminate()
    findings.check(server.wait(timeout=60) == 0, "exit code after SIGTERM", server.returncode, 0)
    for worker in workers:
        site.forget(worker)


def run(site, disk, findings, rounds):
    state = disk.folder / "state"
    server = site.serve("--state", state, *FLAGS)
    for i in range(4):
        site.work(i, "--set", "updates=1000000000", "--patience-seconds", 600)
    wait_for(lambda: site.status()["generation"] >= 3, 60)
    for _ in range(rounds):
        before = stall(site, disk, findings)
        disk.empty()
        wait_for(lambda: site.status()["accepted"] > before + INTERVAL, 60)
        findings.check(is_ready(site), "ready again once there is room", True, "True")

        before = stall(site, disk, findings)
        server.kill()
        server.wait()
        disk.empty()
        server = site.serve("--resume", state, *FLAGS)
        resumed = next(line for line in map(json.loads, server.log.read_text().splitlines())
                       if line["event"] == "resumed")
        findings.check(resumed["accepted"] + resumed["lost"] == before,
                       "updates that the resume says to have and to have lost",
                       f"{resumed['accepted']} and {resumed['lost']}", f"together {before}")
        findings.check(resumed["lost"] <= BOUND + 1, "lost by kill -9 on the full disk",
                       resumed["lost"], f"{BOUND} acknowledged ones and one without an answer")
        wait_for(lambda: site.status()["accepted"] > before, 60)
    server.terminate()
    findings.check(server.wait(timeout=60) == 0, "exit code after SIGTERM", server.returncode, 0)
    inspected = json.loads(ballast("inspect", state, "--json").stdout)
    findings.check(all(generation["intact"] for generation in inspected["generations"]),
                   "generations that are intact", len(inspected["generations"]), "all")


def main():
    findings = Findings("full_disk")
    rounds = 10 if is_full(__doc__) else 1
    with Site() as site:
        try:
            disk = SmallDisk(site.folder / "disk")
        except (OSError, subprocess.CalledProcessError) as why:
            findings.note("skipped", getattr(why, "stderr", None) or why)
            return 0
        with disk:
            run_out_of_space(site, disk, findings, rounds)
            run(site, disk, findings, rounds)
            for process in site.processes:
                process.kill()
                process.wait()
    return findings.exit_code()


if __name__ == "__main__":
    sys.exit(main())
