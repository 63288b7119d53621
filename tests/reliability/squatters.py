#!/usr/bin/env python3
"""A revoked worker sits on as many connections as it gets; so does somebody without certificates.

250 connections of one enrolled worker hold a health watch each, and 250 more say nothing. When the
certificate is revoked they must be gone, and an honest newcomer of the same address be admitted,
within five seconds.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/reliability/squatters.py [--full]
"""

import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import Site, ballast, wait_for

from findings import Findings, is_full
from http2 import WATCH, Connection

SECONDS_MAX = 5.0
PATIENCE_SECONDS = 60.0  # of the reduced form, which knows nothing of its machine


def squat(site, credentials, count):
    """Watches under a certificate, and connections that say nothing; those that were taken."""
    watches, silent = [], []
    for _ in range(count):
        try:
            connection = Connection(site.port, credentials)
            connection.call(WATCH, b"\0\0\0\0\0")
            watches.append(connection)
        except OSError:
            pass
        try:
            silent.append(socket.create_connection(("127.0.0.1", int(site.port)), timeout=5))
        except OSError:
            pass
    return watches, silent


def run(findings, count, rounds, seconds_max):
    with Site() as site:
        mine, theirs = site.issue_certificates(4)
        site.serve("--set", "updates=1000000000", credentials=mine)
        for _ in range(rounds):
            watches, silent = squat(site, theirs[3], count)
            revoked = ballast("ca", "revoke", "worker-3", "--dir", site.folder / "ca")
            assert revoked.returncode == 0, revoked.stderr
            start = time.monotonic()
            newcomer = site.work(0, credentials=theirs[0])
            wait_for(lambda: site.status()["workers"][0]["state"] != "away", 60)
            admitted = time.monotonic() - start
            left = list(watches)
            while left and time.monotonic() < start + 60:
                left = [one for one in left if not one.is_ended()]
            gone = time.monotonic() - start
            findings.check(admitted <= seconds_max,
                           f"seconds until a newcomer is admitted, with {len(silent)} silent and "
                           f"{len(watches)} revoked connections", f"{admitted:.2f}", seconds_max)
            findings.check(not left and gone <= seconds_max, "seconds until the last revoked "
                           "connection is ended", f"{gone:.2f}", seconds_max)
            for one in (*watches, *silent):
                one.close()
            site.forget(newcomer)
            issued = ballast("ca", "issue", "worker-3", "--dir", site.folder / "ca")
            assert issued.returncode == 0, issued.stderr
            wait_for(lambda: site.status()["workers"][0]["state"] == "away", 60)


def main():
    findings = Findings("squatters")
    run(findings, *((250, 5, SECONDS_MAX) if is_full(__doc__) else (60, 1, PATIENCE_SECONDS)))
    return findings.exit_code()


if __name__ == "__main__":
    sys.exit(main())
