#!/usr/bin/env python3
"""Churn and crashes together: workers and the server end at random, by SIGTERM and by SIGKILL.

With --silence-seconds 1 rows are evicted, leave and come back all the time, so every checkpoint is
one of a server that has lost rows. Every resume must succeed, a death costs at most the interval
of the checkpoints, an orderly end nothing, and no ticket counts twice over all lives.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/reliability/churn_and_crash.py [--full]
"""

import contextlib
import json
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import INSECURE, SEED, Site, ballast, wait_for

from churn import ENDLESS, SPEC, WORKERS, Crowd
from findings import Findings, is_full
from journal import keep_everything, read_lives

INTERVAL = 20
FLAGS = ("--checkpoint-updates", INTERVAL, "--checkpoint-seconds", 1000, "--silence-seconds", 1,
         *ENDLESS)
LIFE_SECONDS = (0.2, 2.0)
CHURN_SECONDS = 0.15


class Lives:
    """One run whose server dies many deaths under a crowd that never rests."""

    def __init__(self, site, rng):
        self.site, self.rng = site, rng
        self.state = site.folder / "state"
        self.server = site.serve("--state", self.state, *FLAGS)
        keep_everything(self.state)
        self.crowd = Crowd(site, rng, ("--patience-seconds", 60), [INSECURE] * WORKERS, steady=0)
        self.deaths = Counter()
        self.not_resumed, self.damaged = [], []
        self.lost = {signal.SIGTERM: [], signal.SIGKILL: []}
        self.started = []  # updates that each life went on from

    def live(self):
        """Churns for a random while, then the server is ended and resumed."""
        end = time.monotonic() + self.rng.uniform(*LIFE_SECONDS)
        while time.monotonic() < end:
            self.crowd.churn()
            time.sleep(self.rng.uniform(0, CHURN_SECONDS))
        how = self.rng.choice((signal.SIGTERM, signal.SIGKILL))
        self.server.send_signal(how)
        code = self.server.wait(timeout=60)
        self.deaths[how] += 1
        if how == signal.SIGTERM and code != 0:
            self.not_resumed.append(f"SIGTERM ended with {code}")
        self.look(how)
        self.site.forget(self.server)
        self.server = self.site.start_server("--resume", self.state, *FLAGS)
        if not self.site.is_listening(self.server):
            self.not_resumed.append(self.server.log.read_text()[-300:])
            return False
        return True

    def look(self, how):
        folder = json.loads(ballast("inspect", self.state, "--json").stdout)
        for generation in folder["generations"]:
            if not generation["intact"]:
                self.damaged.append(generation["damage"])
        life = read_lives(self.state)[-1]
        written = max((record.t for record in life.records), default=life.t)
        self.lost[how].append(written - folder["generations"][0]["t"])


def reckon(findings, lives, deaths):
    check = findings.check
    check(sum(lives.deaths.values()) == deaths and not lives.not_resumed,
          "deaths that the server resumed from, by SIGTERM and SIGKILL",
          f"{lives.deaths[signal.SIGTERM]} and {lives.deaths[signal.SIGKILL]}",
          f"together {deaths} {lives.not_resumed[:1] or ''}".strip())
    check(not lives.damaged, "generations that were damaged", lives.damaged[:1] or 0, 0)
    check(max(lives.lost[signal.SIGKILL], default=0) <= INTERVAL,
          "most acknowledged updates lost by a SIGKILL",
          max(lives.lost[signal.SIGKILL], default=0), f"the interval, {INTERVAL}")
    check(max(lives.lost[signal.SIGTERM], default=0) == 0, "lost by a SIGTERM",
          max(lives.lost[signal.SIGTERM], default=0), 0)
    records = [record for life in read_lives(lives.state) for record in life.records]
    twice = [key for key, times in
             Counter((record.worker, record.sequence) for record in records).items() if times > 1]
    check(not twice, "tickets accepted twice, over all lives", twice[:3] or 0, 0)
    findings.note("updates accepted over all lives", len(records))
    findings.note("workers ended by SIGTERM and by SIGKILL",
                  " and ".join(map(str, lives.crowd.ended.values())))


def main():
    deaths = 200 if is_full(__doc__) else 4
    findings = Findings("churn_and_crash")
    with Site(SPEC) as site:
        lives = Lives(site, random.Random(SEED))
        for _ in range(deaths):
            if not lives.live():
                break
        else:
            target = site.status()["accepted"] + 100
            # Whoever was being started when the server was away comes back by itself.
            with contextlib.suppress(AssertionError):
                wait_for(lambda: site.status()["accepted"] > target, 60)
            accepted = site.status()["accepted"]
            findings.check(accepted > target, "updates in the last life", accepted,
                           f"more than {target}: the run goes on")
            lives.server.terminate()
            findings.check(lives.server.wait(timeout=60) == 0, "exit code after SIGTERM",
                           lives.server.returncode, 0)
        reckon(findings, lives, deaths)
    return findings.exit_code()


if __name__ == "__main__":
    sys.exit(main())
