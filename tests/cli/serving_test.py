#!/usr/bin/env python3
"""Serves, works and watches as users do: real processes on loopback, killed and resumed.

Usage: BALLAST_PROGRAM=build/bin/ballast tests/cli/serving_test.py
"""

import json
import re
import signal
import socket
import sys
import time
import unittest
import urllib.error
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from process import INSECURE, Site, ballast, wait_for


class ServingTest(unittest.TestCase):
    def setUp(self):
        self.site = Site()
        self.addCleanup(self.site.close)
        self.folder, self.spec = self.site.folder, self.site.spec

    def refused(self, text, *arguments):
        done = ballast(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class Bench(ServingTest):
    def test_a_measurement_has_a_plain_copy_beside_it_with_and_without_tls(self):
        done = ballast("bench", "serve", "--dim", 3000, "--workers", 2, "--seconds", 0.2,
                       "--bounds", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line["tls"] for line in lines], [False, True])
        for line in lines:
            self.assertGreater(line["updates_per_second"], 0)
            self.assertGreater(line["server_seconds_per_update"], 0)
            self.assertGreater(line["checked_bytes_per_second"], 0)
            self.assertGreater(line["grpc_bytes_per_second"], 0)
            self.assertAlmostEqual(line["ratio"] * line["plain_bytes_per_second"],
                                   line["bytes_per_second"], delta=1)

    def test_what_fails_in_a_process_of_a_measurement_is_told(self):
        self.refused("nonsense", "bench", "serve", "--dim", 10, "--rule", "nonsense")


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
        self.assertLessEqual(result["method"]["heaviest_share_max"], 0.34 + 1e-9)
        self.assertGreater(result["workers"][3]["count"], 50, "the liar takes part")
        self.assertTrue((out / "ca" / "worker-3.crt").exists())
        inspected = ballast("inspect", out / "state")
        self.assertEqual(inspected.returncode, 0, inspected.stderr)

        self.check_model(out, result["evaluation"]["accuracy"])
        resumed = ballast("serve", self.spec, "--listen", "127.0.0.1:0", "--insecure-localhost",
                          "--resume", out / "state", "--linger-seconds", 0)
        self.assertIn("complete already (400 of 400 updates)", resumed.stdout)
        self.assertTrue((out / "state" / "model.safetensors").exists())

    def check_model(self, out, accuracy):
        """The model that the cluster left, and the one in its state, are as good as it said."""
        exported = self.folder / "exported.safetensors"
        done = ballast("export", out / "state", "--out", exported)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("after 400 updates", done.stdout)
        for model in (out / "model.safetensors", exported):
            seen = ballast("evaluate", model, self.spec, "--json")
            self.assertEqual(seen.returncode, 0, seen.stderr)
            self.assertAlmostEqual(json.loads(seen.stdout)["accuracy"], accuracy, places=6)
        self.refused("is not this model", "evaluate", exported, self.spec, "--set", "model=mlp")
        self.refused("holds no checkpoint", "export", self.folder)

    def test_colluding_attacks_are_refused_before_anything_starts(self):
        out = self.folder / "cluster"
        self.refused("needs the honest workers' updates", "cluster", self.spec, "--set",
                     "attack=little", "--out", out)
        self.refused("needs a copy of the server's method", "cluster", self.spec, "--set",
                     "attack=opportunist", "--out", out)
        self.assertFalse(out.exists())

    def test_a_rule_that_cannot_judge_the_past_is_refused_before_anything_starts(self):
        out = self.folder / "cluster"
        for command in (("cluster", self.spec, "--out", out),
                        ("serve", self.spec, *INSECURE, "--listen", "127.0.0.1:0", "--state", out)):
            self.refused("take ctma(cwmed, 0.4), say", *command, "--set", "rule=cwmed",
                         "--set", 'method="table(past=9)"')
            self.assertFalse(out.exists())


class Life(ServingTest):
    def test_a_killed_server_goes_on_from_its_checkpoint_and_the_workers_with_it(self):
        state = self.folder / "state"
        endless = ("--set", "updates=1000000")
        server = self.site.serve("--state", state, "--checkpoint-updates", 20, *endless)
        workers = [self.site.work(i, *endless) for i in range(4)]
        wait_for(lambda: self.site.status()["generation"] >= 3)
        before = self.site.status()["accepted"]
        server.send_signal(signal.SIGKILL)
        server.wait()

        server = self.site.serve("--resume", state, "--checkpoint-updates", 20, *endless)

        first = self.site.status()
        self.assertEqual(first["incarnation"], 2)
        self.assertGreaterEqual(first["accepted"], before - 20 - 4)
        resumed = next(line for line in map(json.loads, server.log.read_text().splitlines())
                       if line["event"] == "resumed")
        self.assertGreaterEqual(resumed["accepted"] + resumed["lost"], before,
                                "what was acknowledged and is gone, the journal knows")
        wait_for(lambda: self.site.status()["accepted"] > before + 100)
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

    def test_a_worker_stops_while_a_server_keeps_silent(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.site.port = silent.getsockname()[1]
            worker = self.site.work(0)
            connection, _ = silent.accept()
            with connection:
                worker.terminate()
                self.assertEqual(worker.wait(timeout=5), 0, "it would wait 10 s to be connected")

    def test_methods_other_than_the_table_survive_a_kill_too(self):
        methods = ("table(past=20)", "asgd", "delay-adaptive", "picky(5)", "fedbuff(size=3)",
                   "throttle", "kardam(1)", "basgd(3, cwmed, reassign=20)", "basgdm(2)", "zeno++",
                   "aflguard")
        listed = re.findall(r"^\| `([a-z+-]+)", ballast("list", "methods", "--markdown").stdout,
                            re.MULTILINE)
        self.assertEqual({re.match("[a-z+-]+", method)[0] for method in methods}, set(listed))
        for method in methods:
            with self.subTest(method=method):
                site = self.site = Site()
                self.addCleanup(site.close)
                self.folder, self.spec = site.folder, site.spec
                text = site.spec.read_text() + f'method = "{method}"\nserver_samples = 100\n'
                if method.startswith("basgdm"):
                    text += 'optimizer = "momentum"\n'
                site.spec.write_text(text.replace("updates = 400", "updates = 1000000"))
                state = site.folder / "state"
                server = site.serve("--state", state, "--checkpoint-updates", 20)
                workers = [site.work(i) for i in range(4)]
                wait_for(lambda: site.status()["generation"] >= 3)
                server.send_signal(signal.SIGKILL)
                server.wait()

                server = site.serve("--resume", state, "--checkpoint-updates", 20)

                first = site.status()
                name = method.replace("cwmed, ", "")  # cwmed is the default
                self.assertEqual(first["method"]["name"], name)
                self.assertGreaterEqual(first["accepted"], 40)
                wait_for(lambda: site.status()["accepted"] > first["accepted"] + 60)
                figure = "quorum" if method.startswith("table") else "refused"
                self.assertIn(figure, site.status()["method"])
                self.assertIn(f"ballast_method_{figure} ", site.get("/metrics"))
                self.stop_and_check(server, workers)
                inspected = ballast("inspect", state)
                self.assertIn(name, inspected.stdout)

    def test_a_failing_journal_ends_the_server_and_loses_nothing(self):
        state = self.folder / "state"
        server = self.site.serve("--state", state, "--checkpoint-updates", 10,
                                 environment={"BALLAST_FAILPOINT": "journal-append:25:eio"})
        workers = [self.site.work(i, "--patience-seconds", 0) for i in range(4)]
        server.communicate(timeout=20)
        self.assertEqual(server.returncode, 2)
        for worker in workers:
            worker.communicate(timeout=20)
        inspected = json.loads(ballast("inspect", state, "--json").stdout)
        self.assertEqual(inspected["generations"][0]["t"], 20)
        self.site.serve("--resume", state)
        self.assertEqual(self.site.status()["accepted"], 20)

    def test_a_revoked_worker_is_turned_out_and_the_others_go_on(self):
        mine, theirs = self.site.issue_certificates(4)
        self.site.serve("--set", "updates=1000000", credentials=mine)
        workers = [self.site.work(i, credentials=theirs[i]) for i in range(4)]
        wait_for(lambda: self.site.status()["accepted"] > 20)

        revoked = ballast("ca", "revoke", "worker-3", "--dir", self.folder / "ca")

        self.assertEqual(revoked.returncode, 0, revoked.stderr)
        workers[3].communicate(timeout=20)
        self.assertEqual(workers[3].returncode, 2)
        before = self.site.status()["workers"]
        wait_for(lambda: self.site.status()["workers"][0]["count"] > before[0]["count"])
        self.assertEqual(self.site.status()["workers"][3]["weight_share"], 0, "its row has left")
        self.assertEqual(self.site.status()["network"]["workers_revoked"], 1)

    def test_a_deny_list_that_is_away_for_a_while_costs_no_worker(self):
        mine, theirs = self.site.issue_certificates(4)
        self.site.serve("--set", "updates=1000000", credentials=mine)
        workers = [self.site.work(i, credentials=theirs[i]) for i in range(4)]
        wait_for(lambda: self.site.status()["accepted"] > 20)

        denied, away = self.folder / "ca" / "denied", self.folder / "ca" / "away"
        denied.rename(away)
        wait_for(lambda: self.site.status()["network"]["deny_list_unreadable"])
        away.rename(denied)

        before = self.site.status()["workers"]
        for i in range(4):
            wait_for(lambda i=i: self.site.status()["workers"][i]["count"] > before[i]["count"])
        self.assertEqual([worker.poll() for worker in workers], [None] * 4)
        self.assertFalse(self.site.status()["network"]["deny_list_unreadable"])

    def test_idle_threads_of_a_server_sleep_unless_its_user_says_otherwise(self):
        def settings(server):
            environment = Path(f"/proc/{server.pid}/environ").read_text(encoding="utf-8")
            return [entry for entry in environment.split("\0")
                    if entry.startswith(("GOMP_SPINCOUNT=", "OMP_WAIT_POLICY="))]

        first = self.site.serve()
        self.assertEqual(settings(first), ["GOMP_SPINCOUNT=0"])
        self.assertEqual(Path(f"/proc/{first.pid}/comm").read_text(encoding="utf-8"), "ballast\n")
        self.site.forget(first)
        second = self.site.serve(environment={"OMP_WAIT_POLICY": "active"})
        self.assertEqual(settings(second), ["OMP_WAIT_POLICY=active"])

    def test_figures_can_be_read_while_the_server_waits(self):
        self.site.serve()
        self.assertEqual(self.site.status()["accepted"], 0)
        states = [worker["state"] for worker in self.site.status()["workers"]]
        self.assertEqual(states, ["away"] * 4)
        metrics = self.site.get("/metrics")
        self.assertIn("\nballast_model_version 0\n", metrics)
        self.assertIn('ballast_verdicts_total{worker="worker-3",verdict="stale"} 0\n', metrics)
        self.assertEqual(self.site.get("/livez"), "alive\n")
        self.assertEqual(self.site.get("/readyz"), "ready\n", "or nobody would send workers")
        with self.assertRaises(urllib.error.HTTPError) as paused:
            self.site.get("/healthz")
        self.assertEqual(paused.exception.code, 503)
        paused.exception.close()
        seen = ballast("top", f"http://127.0.0.1:{self.site.http}/", "--once")
        self.assertEqual(seen.returncode, 0, seen.stderr)
        self.assertIn("worker-2", seen.stdout)

    def test_workers_that_round_what_they_send_learn_as_well(self):
        server = self.site.serve()
        for i in range(4):
            self.site.work(i, "--bfloat16")
        output, _ = server.communicate(timeout=60)
        result = json.loads(output)
        self.assertEqual(result["accepted"], 400)
        self.assertGreater(result["evaluation"]["accuracy"], 0.9)
        self.assertGreater(result["workers"][0]["norm"], 0)
        self.assertGreater(result["workers"][0]["distance"], 0)

    def test_a_rotated_worker_goes_on_with_its_row(self):
        mine, theirs = self.site.issue_certificates(4)
        self.site.serve("--set", "updates=1000000", credentials=mine)
        workers = [self.site.work(i, credentials=theirs[i]) for i in range(4)]
        wait_for(lambda: self.site.status()["accepted"] > 20)

        for i in range(4):
            issued = ballast("ca", "issue", f"worker-{i}", "--dir", self.folder / "ca")
            self.assertEqual(issued.returncode, 0, issued.stderr)
        wait_for(lambda: all("certificate-renewed" in worker.log.read_text()
                             for worker in workers))
        before = self.site.status()["workers"][3]["count"]
        self.assertGreater(before, 0, "the row stays")
        for i in range(4):
            revoked = ballast("ca", "revoke", f"worker-{i}", "--old", "--dir", self.folder / "ca")
            self.assertEqual(revoked.returncode, 0, revoked.stderr)

        wait_for(lambda: self.site.status()["workers"][3]["count"] > before + 5)
        self.assertTrue(all(worker.poll() is None for worker in workers))

        # The old certificate is refused at once, maybe before the worker has seen the new one.
        issued = ballast("ca", "issue", "worker-3", "--replace", "--dir", self.folder / "ca")
        self.assertEqual(issued.returncode, 0, issued.stderr)
        wait_for(lambda: workers[3].log.read_text().count("certificate-renewed") == 2)
        before = self.site.status()["workers"][3]["verdicts"]["accepted"]
        wait_for(lambda: self.site.status()["workers"][3]["verdicts"]["accepted"] > before + 5)

    def test_a_worker_that_comes_after_the_end_is_told_so(self):
        state = self.folder / "state"
        server = self.site.serve("--state", state, "--set", "updates=40")
        workers = [self.site.work(i, "--set", "updates=40") for i in range(4)]
        server.communicate(timeout=60)
        for worker in workers:
            worker.communicate(timeout=20)
        server = self.site.serve("--resume", state, "--set", "updates=40", "--linger-seconds", 20)
        late = self.site.work(0)
        output, _ = late.communicate(timeout=30)
        self.assertEqual(late.returncode, 0, late.log.read_text())
        self.assertTrue(output.startswith("the training is over"), output)
        server.terminate()
        self.assertEqual(server.wait(timeout=20), 0)

    def test_workers_end_with_the_training(self):
        server = self.site.serve()
        workers = [self.site.work(i) for i in range(4)]
        server.communicate(timeout=60)
        for worker in workers:
            worker.communicate(timeout=20)
            self.assertEqual(worker.returncode, 0)

    def test_a_worker_leaves_after_the_updates_it_was_asked_for(self):
        self.site.serve("--set", "weights=count")
        worker = self.site.work(0, "--updates", 5)
        self.assertEqual(worker.communicate(timeout=20)[0], "5 of 5 updates accepted\n")
        wait_for(lambda: self.site.status()["workers"][0]["state"] == "away")

    def test_a_worker_that_pauses_takes_its_time_and_leaves_at_once(self):
        self.site.serve("--set", "weights=count")
        begin = time.monotonic()
        worker = self.site.work(0, "--updates", 3, "--pause-ms", 200, "--json")
        report = json.loads(worker.communicate(timeout=20)[0])
        self.assertEqual(report, {"sent": 3, "accepted": 3, "lost": 0, "reconnects": 0,
                                  "over": False})
        self.assertGreater(time.monotonic() - begin, 0.6)

        worker = self.site.work(0, "--pause-ms", 3_600_000, "--json")
        wait_for(lambda: self.site.status()["workers"][0]["state"] == "computing")
        worker.terminate()
        self.assertEqual(json.loads(worker.communicate(timeout=10)[0])["sent"], 0)
        self.assertEqual(worker.returncode, 0)

    def test_a_stranger_is_refused(self):
        self.site.serve()
        stranger = self.site.work(7, "--number", 1)
        stranger.communicate(timeout=20)
        self.assertEqual(stranger.returncode, 2)


class Documents(unittest.TestCase):
    def test_the_kubernetes_example_starts_from_nothing(self):
        """A server is ready before the first worker; a probe that waits for them never is."""
        page = (Path(__file__).resolve().parents[2] / "docs" / "serving.md").read_text()
        example = page.split("## Kubernetes")[1].split("```")[1]
        probes = dict(re.findall(r"(\w+)Probe:\n\s+httpGet: {path: (/\w+), port: 7001}", example))
        self.assertEqual(probes, {"liveness": "/livez", "readiness": "/readyz"})
        self.assertNotIn("/healthz", example)


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
        self.refused("0 to 3", *work, "worker-4", "--set", "partition=even")
        self.refused("sign-flip", *work, "worker-1", "--attack", "sign-flop")
        self.refused("needs the honest", *work, "worker-1", "--attack", "empire")
        self.refused("127.0.0.1:1", *work, "worker-1", "--patience-seconds", 0)
        self.refused("127.0.0.1:1", "top", "127.0.0.1:1")

    def test_wrong_certificates_are_found_before_anything_is_made(self):
        mine, theirs = self.site.issue_certificates(2)
        ca = self.folder / "ca"
        state = self.folder / "state"
        serve = ("serve", self.spec, "--listen", "127.0.0.1:0", "--state", state)

        def server(**other):
            flags = dict(zip(mine[::2], mine[1::2])) | {f"--{k}": v for k, v in other.items()}
            return (*serve, *(word for pair in flags.items() for word in pair))

        self.refused("nowhere.crt", *server(ca="nowhere.crt"))
        self.refused("is not the key of", *server(key=ca / "worker-0.key"))
        self.refused("is a worker's certificate",
                     *server(cert=ca / "worker-0.crt", key=ca / "worker-0.key"))
        self.refused("nowhere", *server(denied="nowhere"))
        ballast("ca", "init", "--dir", self.folder / "other")
        self.refused("is not signed by", *server(ca=self.folder / "other" / "ca.crt"))
        self.assertFalse(state.exists())
        work = ("work", self.spec, "--server", "127.0.0.1:1", "--name", "worker-0")
        self.refused("is the certificate of worker-1, but --name says worker-0", *work, *theirs[1])
        self.refused("is a server's certificate", *work, *mine[:6])

    def test_a_network_does_not_ask_for_the_keys_of_the_simulator(self):
        state = self.folder / "state"
        self.site.serve("--state", state, "--set", "byzantine=0", "--set", "share=0.4", "--set",
                        "arrivals=trace", "--set", "attack=little", "--set", "updates=1000000")
        self.assertEqual(self.site.status()["accepted"], 0)

    def test_a_run_that_its_liars_could_stop_is_refused(self):
        self.refused("at least 5 workers", "serve", self.spec, "--listen", "127.0.0.1:0",
                     "--insecure-localhost", "--set", "weights=f-cap(1, 0.3)")
        self.refused("at least 5 workers", "cluster", self.spec, "--set", "weights=f-cap(1, 0.3)",
                     "--out", self.folder / "cluster")
        self.refused("--min-workers", "serve", self.spec, "--listen", "127.0.0.1:0",
                     "--insecure-localhost", "--min-workers", 5)

    def test_counts_are_warned_of_and_the_quorum_is_told(self):
        server = self.site.serve("--set", "weights=count", "--min-workers", 2)
        lines = [json.loads(line) for line in server.log.read_text().splitlines()]
        listening = next(line for line in lines if line["event"] == "listening")
        self.assertEqual((listening["quorum"], listening["may_be_away"]), (2, 2))
        warning = next(line for line in lines if line["event"] == "weights")
        self.assertIn("any share", warning["why"])
        worker = self.site.work(0, "--set", "weights=count")
        wait_for(lambda: self.site.status()["workers"][0]["count"] == 1)
        self.assertEqual(self.site.status()["version"], 0, "one of two")
        self.site.work(1, "--set", "weights=count")
        wait_for(lambda: self.site.status()["version"] > 5)
        self.assertIsNone(worker.poll())

    def test_a_folder_of_another_run_is_not_gone_on_with(self):
        self.refused("nowhere", "serve", self.spec, "--listen", "127.0.0.1:0",
                     "--insecure-localhost", "--resume", self.folder / "nowhere")


if __name__ == "__main__":
    unittest.main()
