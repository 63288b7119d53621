#!/usr/bin/env python3
"""An enrolled worker misbehaves on HTTP/2 in four ways at once, while honest ones train.

Streams that join and never read; calls on a connection in the shadow of a second one from the same
port to another address; updates of which half is sent; calls that are reset as soon as they are
made. The server's memory must stay within 1.05 of its budget, and the honest worker's round trips
(p99) within twice what they were before.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/reliability/hostile.py [--full]
"""

import itertools
import json
import os
import statistics
import struct
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import CLOUDS, Site, ballast, wait_for

from findings import Findings, is_full
from http2 import (DATA, RST_STREAM, TRAIN, WATCH, Connection, frame, join, message, number,
                   schema_hash)

MIB = 1 << 20
SPEC = CLOUDS.replace('"softmax"', '"mlp"') + """
hidden = 20000
workers = 6
rule = "ctma(cwmed, 0.3)"
weights = "f-cap(1, 0.2)"
"""
HONEST, HOSTILE = 5, 5
ENDLESS = ("--set", "updates=1000000000")
REPORT_SECONDS = 2


class Attack(threading.Thread):
    """Does one thing over and over, on a connection of its own each time, until it is stopped."""

    def __init__(self, name, once):
        super().__init__(daemon=True)
        self.what, self.once = name, once
        self.rounds, self.ended = 0, 0
        self.is_over = threading.Event()

    def run(self):
        while not self.is_over.is_set():
            try:
                self.once()
                self.rounds += 1
            except OSError:
                self.ended += 1
                time.sleep(0.02)


class Attacks:
    def __init__(self, site, credentials, schema, dim):
        self.site, self.credentials = site, credentials
        self.join = join(schema, dim)
        self.ports = itertools.cycle(range(20000, 30000))
        self.held = []

    def connect(self, **how):
        return Connection(self.site.port, self.credentials, **how)

    def unread_streams(self):
        connection = self.connect(receive_bytes=4096)
        self.held.append(connection)
        for _ in range(4):
            connection.call(TRAIN, self.join)
        time.sleep(0.1)
        if len(self.held) > 32:
            self.held.pop(0).close()

    def shadowed_calls(self):
        source = ("127.0.0.1", next(self.ports))
        first = self.connect(source=source)
        try:
            second = self.connect(source=source, host="127.0.0.2")
            second.close()
        except OSError:
            pass
        for _ in range(200):
            first.call(WATCH, b"\0\0\0\0\0")
        first.close()

    def half_messages(self):
        connection = self.connect()
        stream = connection.call(TRAIN, self.join)
        chunk = b"\x1a" + number(MIB) + bytes(MIB // 2)
        half = struct.pack(">BI", 0, MIB + 4) + chunk
        for at in range(0, len(half), 16384):
            connection.socket.sendall(frame(DATA, stream, half[at:at + 16384]))
        time.sleep(0.1)
        connection.close()

    def rapid_resets(self):
        connection = self.connect()
        for _ in range(500):
            stream = connection.call(TRAIN, message(b""))
            connection.socket.sendall(frame(RST_STREAM, stream, struct.pack(">I", 8)))
        connection.close()

    def start(self):
        threads = [Attack(once.__name__, once) for once in (self.unread_streams,
                   self.shadowed_calls, self.half_messages, self.rapid_resets)]
        for thread in threads:
            thread.start()
        return threads


def peak_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def round_trips(worker):
    with open(worker.log, encoding="utf-8") as log:
        return [json.loads(line) for line in log
                if line.endswith("\n") and '"round-trips"' in line]


def p99_of(worker, periods):
    """The median of the p99 of so many periods that begin from now on."""
    before = len(round_trips(worker)) + 1  # the present one has begun already
    wait_for(lambda: len(round_trips(worker)) >= before + periods, 60 + 20 * periods)
    return statistics.median(one["p99_ms"] for one in round_trips(worker)[before:])


def run(findings, periods):
    with Site(SPEC) as site:
        mine, theirs = site.issue_certificates(6)
        state = site.folder / "state"
        server = site.serve("--state", state, *ENDLESS, "--silence-seconds", 5,
                            "--listen", "0.0.0.0:0", credentials=mine)
        exported = ballast("export", state, "--out", site.folder / "start.safetensors")
        assert exported.returncode == 0, exported.stderr
        schema, dim = schema_hash(site.folder / "start.safetensors")
        workers = [site.work(i, *ENDLESS, "--pause-ms", 100, "--report-seconds", REPORT_SECONDS,
                             credentials=theirs[i]) for i in range(HONEST)]
        wait_for(lambda: site.status()["paused"] is None, 120)
        calm = p99_of(workers[0], periods)
        os.nice(10)  # the attackers shall cost the server their messages, not its processor
        attacks = Attacks(site, theirs[HOSTILE], schema, dim).start()
        under_attack = p99_of(workers[0], periods)
        for attack in attacks:
            attack.is_over.set()
        for attack in attacks:
            attack.join(timeout=30)
        budget = next(line["memory_budget"] for line in
                      map(json.loads, server.log.read_text().splitlines())
                      if line["event"] == "listening") / MIB
        rounds = [(attack.what, attack.rounds, attack.ended) for attack in attacks]
        findings.check(all(done + ended > 0 for _, done, ended in rounds),
                       "rounds of each attack, and of them ended by the server",
                       ", ".join(f"{what} {done + ended} {ended}" for what, done, ended in rounds),
                       "each at least once")
        network = site.status()["network"]
        findings.note("streams opened, connections ended", f"{network['streams_opened']}, "
                      f"{network['connections_ended']}")
        peak = peak_mib(server.pid)
        findings.check(peak <= 1.05 * budget, "largest memory of the server, MiB", f"{peak:.1f}",
                       f"1.05 of its budget, {budget:.1f}")
        measured = (under_attack <= 2 * calm, "p99 of an honest worker's round trips, ms",
                    f"{under_attack:.1f}", f"twice what it was before, {calm:.1f}")
        if periods > 2:
            findings.check(*measured)
        else:
            findings.note(measured[1], f"{measured[2]}, before {calm:.1f}")
        alive = sum(worker.poll() is None for worker in workers)
        findings.check(alive == HONEST, "honest workers that lived through it", alive, HONEST)


def main():
    findings = Findings("hostile")
    run(findings, 10 if is_full(__doc__) else 2)
    return findings.exit_code()


if __name__ == "__main__":
    sys.exit(main())
