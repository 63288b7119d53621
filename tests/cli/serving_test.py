#!/usr/bin/env python3
"""Serves, works and watches as users do: real processes on loopback, killed and resumed.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/cli/serving_test.py
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np

PROGRAM = os.environ["BALLAST_PROGRAM"]
SEED = 7
CLASSES, FEATURES = 4, 12
SPEC = """
data = "files"
train_images = "train_images.npy"
train_labels = "train_labels.npy"
test_images = "test_images.npy"
test_labels = "test_labels.npy"
model = "softmax"
workers = 4
byzantine = 1
share = 0.25
attack = "sign-flip"
rule = "ctma(cwmed, {cap_share})"
weights = "f-cap"
f = 1
cap_share = 0.3
eta = 0.05
updates = 400
evaluate_every = 100
seeds = [1]
"""


def ballast(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          timeout=60, check=False)


def write_data(folder):
    """Four clouds of points around random centres."""
    rng = np.random.default_rng(SEED)
    centres = 1.2 * rng.normal(size=(CLASSES, FEATURES))
    for name, count in (("train", 2000), ("test", 1000)):
        labels = rng.integers(0, CLASSES, count)
        images = centres[labels] + rng.normal(size=(count, FEATURES))
        np.save(folder / f"{name}_images.npy", images.astype(np.float32))
        np.save(folder / f"{name}_labels.npy", labels)


def wait_for(condition, seconds=15):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        time.sleep(0.02)


class ServingTest(unittest.TestCase):
    """A folder with a data set and a specification; processes that end with the test."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="ballast-serving-"))
        self.addCleanup(shutil.rmtree, self.folder)
        write_data(self.folder)
        self.spec = self.folder / "spec.toml"
        self.spec.write_text(SPEC)
        self.ports = self.folder / "ports"

    def start(self, *arguments, environment=None):
        with open(self.folder / f"log-{len(os.listdir(self.folder))}", "w",
                  encoding="utf-8") as log:
            process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE,
                                       stderr=log, text=True,
                                       env={**os.environ, **(environment or {})})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def serve(self, *more, credentials=("--insecure-localhost",), environment=None):
        self.ports.unlink(missing_ok=True)
        if "--listen" not in more:
            more = (*more, "--listen", "127.0.0.1:0")
        server = self.start("serve", self.spec, *credentials, "--ports-file", self.ports, "--json",
                            "--http", "127.0.0.1:0", *more, environment=environment)
        wait_for(lambda: self.ports.exists() or server.poll() is not None)
        self.assertIsNone(server.poll(), "the server ended at once")
        self.port, self.http = self.ports.read_text().split()
        return server

    def work(self, number, *more, credentials=("--insecure-localhost",)):
        return self.start("work", self.spec, *credentials, "--server", f"127.0.0.1:{self.port}",
                          "--name", f"worker-{number}", *more)

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=5) as answer:
            return answer.read().decode()

    def status(self):
        return json.loads(self.get("/status"))

    def refused(self, text, *arguments):
        done = ballast(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class Cluster(ServingTest):
    def test_a_cluster_with_a_liar_reaches_the_accuracy_of_the_simulator(self):
        simulated = ballast("train", self.spec, "--out", self.folder / "sim", "--json")
        self.assertEqual(simulated.returncode, 0, simulated.stderr)
        metrics = (self.folder / "sim" / "metrics.csv").read_text().splitlines()
        column = metrics[0].split(",").index("test_accuracy")
        expected = float(metrics[-1].split(",")[column])

        out = self.folder / "cluster"
        done = ballast("cluster", self.spec, "--out", out, "--json")

        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result["accepted"], 400)
        self.assertGreater(result["evaluation"]["accuracy"], expected - 0.03)
        self.assertLessEqual(result["heaviest_share_max"], 0.3 + 1e-9)
        self.assertGreater(result["workers"][3]["count"], 50, "the liar takes part")
        self.assertTrue((out / "ca" / "worker-3.crt").exists())
        inspected = ballast("inspect", out / "state")
        self.assertEqual(inspected.returncode, 0, inspected.stderr)

        resumed = ballast("serve", self.spec, "--listen", "127.0.0.1:0", "--insecure-localhost",
                          "--resume", out / "state", "--json")
        self.assertEqual(json.loads(resumed.stdout)["accepted"], 400, "there is nothing left to do")

    def test_colluding_attacks_are_refused_before_anything_starts(self):
        out = self.folder / "cluster"
        self.refused("needs the honest workers' updates", "cluster", self.spec, "--set",
                     "attack=little", "--out", out)
        self.assertFalse(out.exists())


class Life(ServingTest):
    def test_a_killed_server_goes_on_from_its_checkpoint_and_the_workers_with_it(self):
        state = self.folder / "state"
        endless = ("--set", "updates=1000000")
        server = self.serve("--state", state, "--checkpoint-updates", 20, *endless)
        port = self.port
        workers = [self.work(i, *endless) for i in range(4)]
        wait_for(lambda: self.status()["generation"] >= 3)
        before = self.status()["accepted"]
        server.send_signal(signal.SIGKILL)
        server.wait()

        server = self.serve("--resume", state, "--checkpoint-updates", 20, "--listen",
                            f"127.0.0.1:{port}", *endless)

        first = self.status()
        self.assertEqual(first["incarnation"], 2)
        self.assertGreaterEqual(first["accepted"], before - 20 - 4)
        wait_for(lambda: self.status()["accepted"] > before + 100)
        self.assertTrue(all(worker.poll() is None for worker in workers))
        self.stop_and_check(server, workers)

    def stop_and_check(self, server, workers):
        """SIGTERM ends all of them cleanly; the last checkpoint holds what was acknowledged."""
        for worker in workers:
            worker.terminate()
        for worker in workers:
            self.assertEqual(worker.wait(timeout=10), 0)
        server.terminate()
        output, _ = server.communicate(timeout=10)
        self.assertEqual(server.returncode, 0)
        result = json.loads(output)
        inspected = json.loads(ballast("inspect", self.folder / "state", "--json").stdout)
        self.assertEqual(inspected["generations"][0]["t"], result["accepted"])

    def test_a_failing_journal_ends_the_server_and_loses_nothing(self):
        state = self.folder / "state"
        server = self.serve("--state", state, "--checkpoint-updates", 10,
                            environment={"BALLAST_FAILPOINT": "journal-append:25:eio"})
        workers = [self.work(i, "--patience-seconds", 0) for i in range(4)]
        server.communicate(timeout=20)
        self.assertEqual(server.returncode, 2)
        for worker in workers:
            worker.communicate(timeout=20)
        inspected = json.loads(ballast("inspect", state, "--json").stdout)
        self.assertEqual(inspected["generations"][0]["t"], 20)
        self.serve("--resume", state)
        self.assertEqual(self.status()["accepted"], 20)

    def test_a_revoked_worker_is_turned_out_and_the_others_go_on(self):
        ca = self.folder / "ca"
        ballast("ca", "init", "--dir", ca)
        ballast("ca", "issue", "main", "--server", "--host", "127.0.0.1", "--dir", ca)

        def credentials(name):
            return ("--ca", ca / "ca.crt", "--cert", ca / f"{name}.crt", "--key",
                    ca / f"{name}.key")

        self.serve("--set", "updates=1000000",
                   credentials=(*credentials("main"), "--denied", ca / "denied"))
        workers = []
        for i in range(4):
            ballast("ca", "issue", f"worker-{i}", "--dir", ca)
            workers.append(self.work(i, credentials=credentials(f"worker-{i}")))
        wait_for(lambda: self.status()["accepted"] > 20)

        revoked = ballast("ca", "revoke", "worker-3", "--dir", ca)

        self.assertEqual(revoked.returncode, 0, revoked.stderr)
        workers[3].communicate(timeout=20)
        self.assertEqual(workers[3].returncode, 2)
        before = self.status()["workers"]
        wait_for(lambda: self.status()["workers"][0]["count"] > before[0]["count"])
        self.assertEqual(self.status()["workers"][3]["count"], before[3]["count"])

    def test_figures_can_be_read_while_the_server_waits(self):
        self.serve()
        self.assertEqual(self.status()["accepted"], 0)
        self.assertEqual([worker["state"] for worker in self.status()["workers"]], ["away"] * 4)
        metrics = self.get("/metrics")
        self.assertIn("\nballast_model_version 0\n", metrics)
        self.assertIn('ballast_verdicts_total{worker="worker-3",verdict="stale"} 0\n', metrics)
        with self.assertRaises(urllib.error.HTTPError) as paused:
            self.get("/healthz")
        self.assertEqual(paused.exception.code, 503)
        paused.exception.close()
        seen = ballast("top", f"http://127.0.0.1:{self.http}/", "--once")
        self.assertEqual(seen.returncode, 0, seen.stderr)
        self.assertIn("worker-2", seen.stdout)

    def test_a_worker_leaves_after_the_updates_it_was_asked_for(self):
        self.serve("--set", "weights=count")
        worker = self.work(0, "--updates", 5)
        self.assertEqual(worker.communicate(timeout=20)[0], "5 of 5 updates accepted\n")
        wait_for(lambda: self.status()["workers"][0]["state"] == "away")

    def test_a_stranger_is_refused(self):
        self.serve()
        stranger = self.work(7, "--number", 1)
        stranger.communicate(timeout=20)
        self.assertEqual(stranger.returncode, 2)


class Flags(ServingTest):
    def test_wrong_flags_are_refused_in_one_line(self):
        serve = ("serve", self.spec, "--listen", "127.0.0.1:0")
        self.refused("--insecure-localhost", *serve)
        self.refused("takes no certificates", *serve, "--insecure-localhost", "--ca", "ca.crt")
        self.refused("--denied", *serve, "--ca", "a", "--cert", "b", "--key", "c")
        self.refused("leave out one", *serve, "--insecure-localhost", "--state", "a", "--resume",
                     "b")
        self.refused("4", *serve, "--insecure-localhost", "--worker", "ada")
        self.refused("seeds", *serve, "--insecure-localhost", "--set", "seeds=[]")
        self.refused("runs", *serve, "--insecure-localhost", "--set", "grid.eta=[0.1, 0.2]")
        self.refused("0.0.0.0", "serve", self.spec, "--listen", "0.0.0.0:0", "--insecure-localhost")
        work = ("work", self.spec, "--server", "127.0.0.1:1", "--insecure-localhost", "--name")
        self.refused("--number", *work, "ada")
        self.refused("0 to 3", *work, "worker-4")
        self.refused("sign-flip", *work, "worker-1", "--attack", "sign-flop")
        self.refused("needs the honest", *work, "worker-1", "--attack", "empire")
        self.refused("127.0.0.1:1", *work, "worker-1", "--patience-seconds", 0)
        self.refused("127.0.0.1:1", "top", "127.0.0.1:1")

    def test_a_folder_of_another_run_is_not_gone_on_with(self):
        self.refused("nowhere", "serve", self.spec, "--listen", "127.0.0.1:0",
                     "--insecure-localhost", "--resume", self.folder / "nowhere")


if __name__ == "__main__":
    unittest.main()
