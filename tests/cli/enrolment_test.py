#!/usr/bin/env python3
"""Workers that come into a run later: real processes with mutual TLS.

Each test asks what becomes of a newcomer together with another thing that happens: a crash, an
eviction, a revocation, a resume with other names.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/cli/enrolment_test.py
"""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import CLOUDS, Site, ballast, wait_for

ENDLESS = ("--set", "updates=1000000000")
SPEC = CLOUDS + """
workers = 4
rule = "ctma(cwmed, 0.34)"
weights = "f-cap(1, 0.34)"
"""


class Enrolment(unittest.TestCase):
    def setUp(self):
        self.site = Site(SPEC)
        self.addCleanup(self.site.close)
        self.state = self.site.folder / "state"
        self.names = self.site.folder / "names"
        self.names.write_text("".join(f"worker-{i}\n" for i in range(4)))
        self.mine, self.theirs = self.site.issue_certificates(6)
        self.flags = ("--workers-file", self.names, "--checkpoint-updates", 20, *ENDLESS)

    def serve(self, how, *more):
        return self.site.serve(how, self.state, *self.flags, *more, credentials=self.mine)

    def work(self, number):
        return self.site.work(number, *ENDLESS, credentials=self.theirs[number])

    def worker(self, number):
        return self.site.status()["workers"][number]

    def add(self, number):
        with open(self.names, "a", encoding="utf-8") as file:
            file.write(f"worker-{number}\n")
        wait_for(lambda: len(self.site.status()["workers"]) > number)

    def start_with_newcomer(self, *more):
        """A server, its four workers and one that was enrolled while it ran."""
        server = self.serve("--state", *more)
        workers = [self.work(i) for i in range(4)]
        wait_for(lambda: self.site.status()["accepted"] > 20)
        self.add(4)
        workers.append(self.work(4))
        wait_for(lambda: self.worker(4)["count"] > 5)
        return server, workers

    def events(self, server):
        return [json.loads(line) for line in server.log.read_text().splitlines()]

    def test_a_newcomer_is_admitted_without_a_restart_and_survives_a_crash(self):
        server, workers = self.start_with_newcomer()
        status = self.site.status()
        self.assertEqual(status["incarnation"], 1, "no restart")
        self.assertEqual(status["places"], 6)
        self.assertLessEqual(status["method"]["heaviest_share_max"], 0.34 + 1e-9)
        self.assertIn('ballast_workers_enrolled 5\n', self.site.get("/metrics"))
        enrolled = next(one for one in self.events(server) if one["event"] == "enrolled")
        self.assertEqual((enrolled["worker"], enrolled["workers"], enrolled["quorum"],
                          enrolled["may_be_away"]), ("worker-4", 5, 3, 2))

        server.kill()
        server.wait()
        inspected = json.loads(ballast("inspect", self.state, "--json").stdout)
        self.assertEqual(inspected["generations"][0]["workers"][4]["name"], "worker-4")
        self.serve("--resume")
        before = self.worker(4)
        self.assertEqual(before["name"], "worker-4")
        wait_for(lambda: self.worker(4)["count"] > before["count"])
        self.assertIsNone(workers[4].poll(), "it lived through it")

    def test_a_method_that_waits_for_everybody_does_not_wait_for_free_places(self):
        self.flags += ("--set", "method=throttle")
        _, workers = self.start_with_newcomer()
        rounds = self.site.status()["method"]["rounds"]
        self.assertGreater(rounds, 3)
        wait_for(lambda: self.site.status()["method"]["rounds"] > rounds + 3)
        self.assertTrue(all(worker.poll() is None for worker in workers))

    def test_a_newcomer_that_is_evicted_comes_back_to_its_place(self):
        _, workers = self.start_with_newcomer("--silence-seconds", 1)
        workers[4].kill()
        wait_for(lambda: self.worker(4)["count"] == 0)
        lifetime = self.worker(4)["lifetime_count"]
        self.work(4)
        wait_for(lambda: self.worker(4)["lifetime_count"] > lifetime)
        self.assertEqual(len(self.site.status()["workers"]), 5)

    def test_who_was_revoked_while_the_server_was_away_has_no_row_when_it_is_back(self):
        server, workers = self.start_with_newcomer()
        count = self.worker(4)["count"]
        wait_for(lambda: self.site.status()["generation"] >= 3 and
                 self.worker(4)["count"] > count + 20)
        server.kill()
        server.wait()
        workers[4].kill()
        revoked = ballast("ca", "revoke", "worker-4", "--dir", self.site.folder / "ca")
        self.assertEqual(revoked.returncode, 0, revoked.stderr)

        server = self.serve("--resume", "--silence-seconds", 0)  # nobody is evicted

        wait_for(lambda: self.worker(4)["count"] == 0)
        wait_for(lambda: any(one["event"] == "revoked" and one["worker"] == "worker-4"
                             for one in self.events(server)))
        self.assertEqual(self.site.status()["evictions"], 0)
        # The name may be issued again, and has its place.
        issued = ballast("ca", "issue", "worker-4", "--dir", self.site.folder / "ca")
        self.assertEqual(issued.returncode, 0, issued.stderr)
        self.work(4)
        wait_for(lambda: self.worker(4)["count"] > 0)

    def test_a_resume_with_other_names_keeps_those_that_are_there(self):
        server, _ = self.start_with_newcomer()
        server.terminate()
        server.wait()
        self.names.write_text("worker-5\nworker-0\n")
        server = self.serve("--resume")
        names = [worker["name"] for worker in self.site.status()["workers"]]
        self.assertEqual(names, [f"worker-{i}" for i in range(6)])
        self.work(5)
        wait_for(lambda: self.worker(5)["count"] > 0 and self.worker(4)["count"] > 0)
        wait_for(lambda: sum(one["event"] == "still-enrolled" for one in self.events(server)) == 4)
        server.terminate()
        server.wait()
        refused = ballast("serve", self.site.spec, "--listen", "127.0.0.1:0", *self.mine,
                          "--resume", self.state, "--max-workers", 5, *ENDLESS)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("6 enrolled workers", refused.stderr)

    def test_places_are_counted_from_the_start(self):
        server = self.serve("--state", "--max-workers", 5)
        self.add(4)
        with open(self.names, "a", encoding="utf-8") as file:
            file.write("worker-5\n")
        wait_for(lambda: any(one["event"] == "not-enrolled" for one in self.events(server)))
        refusal = next(one for one in self.events(server) if one["event"] == "not-enrolled")
        self.assertEqual((refusal["worker"], refusal["why"]),
                         ("worker-5", "all 5 places are taken"))
        stranger = self.work(5)
        stranger.communicate(timeout=20)
        self.assertEqual(stranger.returncode, 2)
        self.assertIn("not enrolled", stranger.log.read_text())

    def test_two_ways_to_name_workers_are_refused(self):
        refused = ballast("serve", self.site.spec, "--listen", "127.0.0.1:0",
                          "--insecure-localhost", "--worker", "a", "--workers-file", self.names)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("not with both", refused.stderr)


if __name__ == "__main__":
    unittest.main()
