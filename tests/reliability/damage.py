#!/usr/bin/env python3
"""Damages checkpoints, and lets the disk fail under a serving process.

A damaged file is found and named, and the generation before is used. A full disk and a failing
flush cost a checkpoint or end the server with an error; what was acknowledged is in the journal,
and in the state after a checkpoint that worked.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/reliability/damage.py [--full]
"""

import errno
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import PROGRAM, SEED, Site, ballast

from findings import Findings, is_full
from crash_run import INTERVAL, CrashRun, failpoint_names

FAULT_SECONDS = 1.0
FAILED = 2  # exit code
# Where libfiu lets calls of the C library fail, and the error that they return then. Not write:
# that would also hit the event descriptors by which threads wake each other.
LIBFIU = {"posix/io/sync/fsync": errno.EIO, "posix/io/sync/fdatasync": errno.EIO,
          "posix/io/rw/pwrite": errno.ENOSPC, "posix/io/dir/rename": errno.ENOSPC}
LIBFIU_PROBABILITY = 0.02


def make_checkpoints(site):
    """A folder with two generations, and what inspect says of it."""
    state = site.folder / "state"
    server = site.serve("--state", state, "--checkpoint-updates", INTERVAL)
    for i in range(4):
        site.work(i)
    server.communicate(timeout=60)
    return state, json.loads(ballast("inspect", state, "--json").stdout)["generations"]


def flip(path, rng):
    data = bytearray(path.read_bytes())
    offset = rng.randrange(len(data))
    data[offset] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def resume(site, state):
    """Goes on from a folder and ends at once, because the run is complete."""
    return ballast("serve", site.spec, "--listen", "127.0.0.1:0", "--insecure-localhost",
                   "--resume", state, "--set", "updates=1", "--linger-seconds", 0, "--json")


def check_flips(findings, rounds):
    rng = random.Random(SEED)
    with Site() as site:
        state, (newer, older) = make_checkpoints(site)
        folder = f"gen-{newer['generation']}"
        names = sorted(path.name for path in (state / folder).iterdir())
        missed = []
        for name in names * rounds:
            copy = site.folder / "copy"
            shutil.copytree(state, copy)
            flip(copy / folder / name, rng)
            done = resume(site, copy)
            result = json.loads(done.stdout) if done.returncode == 0 else {}
            is_named = any("damaged-generation" in line and f"{folder}/{name}" in line
                           for line in done.stderr.splitlines())
            if not is_named or (result.get("generation"), result.get("accepted")) != (
                    older["generation"], older["t"]):
                missed.append(name)
            shutil.rmtree(copy)
        findings.check(not missed,
                       f"flipped bits in the {len(names)} files of the newest generation that are "
                       "named in the log and cost that generation only",
                       len(names) * rounds - len(missed), f"all of {len(names) * rounds}")
        for generation in (newer, older):
            flip(state / f"gen-{generation['generation']}" / "w.bin", rng)
        done = resume(site, state)
        findings.check(done.returncode == FAILED and "no checkpoint is intact" in done.stderr,
                       "exit code when both generations are damaged", done.returncode,
                       f"{FAILED}, with an error that says so")


class Faults:
    """What servers did under faults."""

    def __init__(self, crash_run):
        self.crash_run = crash_run
        self.went_on = self.ended = 0
        self.unclear = []

    def live_through(self, what, **how):
        """A life under a fault; a server that goes on is stopped with SIGTERM."""
        server = self.crash_run.resume(**how)
        self.crash_run.site.is_listening(server)
        try:
            server.wait(timeout=FAULT_SECONDS)
        except subprocess.TimeoutExpired:
            server.terminate()
            server.wait(timeout=60)
        lost = self.crash_run.note_death()
        last = server.log.read_text().splitlines()[-1]
        if server.returncode == 0 and lost == 0:
            self.went_on += 1
        elif server.returncode == FAILED and last.startswith("ballast: "):
            self.ended += 1
        else:
            self.unclear.append(f"{what}: exit code {server.returncode}, lost {lost}: {last}")

    def report(self, findings, kind):
        findings.check(not self.unclear, f"{kind}: servers that went on and lost nothing, or ended "
                       "with an error that says why", f"{self.went_on} and {self.ended}",
                       f"all {self.unclear or ''}".strip())


def failpoints(full):
    if not full:
        return [("sync", 2, "enospc"), ("write", 3, "eio"), ("journal-append", 10, "enospc")]
    calls = [name for name in failpoint_names()
             if not name.startswith("after-") and name != "journal-commit"]
    return [(name, hit, error) for name in calls for hit in (1, 5) for error in ("eio", "enospc")]


def why_not_libfiu():
    if shutil.which("fiu-run") is None:
        return "fiu-run is not installed (package fiu-utils)"
    if b"__asan_init" in Path(PROGRAM).read_bytes():
        return "the address sanitizer must be the first library that is loaded"
    return None


def libfiu(point, error):
    return ("fiu-run", "-x", "-c", f"enable_random name={point},probability={LIBFIU_PROBABILITY},"
            f"failinfo={error}")


def check_faults(findings, full):
    with Site() as site:
        crash_run = CrashRun(site, findings)
        crash_run.kill()
        faults = Faults(crash_run)
        for name, hit, error in failpoints(full):
            faults.live_through(f"{name}:{hit}:{error}",
                          environment={"BALLAST_FAILPOINT": f"{name}:{hit}:{error}"})
        faults.report(findings, "one call fails")
        if reason := why_not_libfiu():
            findings.note("libfiu skipped", reason)
        else:
            faults = Faults(crash_run)
            for point, error in LIBFIU.items():
                for _ in range(20 if full else 1):
                    faults.live_through(point, launcher=libfiu(point, error))
            faults.report(findings, f"libfiu, {LIBFIU_PROBABILITY:.0%} of the calls fail")
        findings.note("most acknowledged updates lost by one server", crash_run.lost_max)
        crash_run.finish()


def main():
    full = is_full(__doc__)
    findings = Findings("damage")
    check_flips(findings, 20 if full else 1)
    check_faults(findings, full)
    return findings.exit_code()


if __name__ == "__main__":
    sys.exit(main())
