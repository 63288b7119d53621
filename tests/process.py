"""What every test of real serving processes needs: data, certificates, a server and its workers.

Needs the program's path in the environment, BALLAST_PROGRAM.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np

PROGRAM = os.environ["BALLAST_PROGRAM"]
SEED = 7
CLASSES, FEATURES = 4, 12
CLOUDS = """
data = "files"
train_images = "train_images.npy"
train_labels = "train_labels.npy"
test_images = "test_images.npy"
test_labels = "test_labels.npy"
model = "softmax"
eta = 0.05
updates = 400
evaluate_every = 100
seeds = [1]
"""
SPEC = CLOUDS + """
workers = 4
byzantine = 1
share = 0.25
attack = "sign-flip"
rule = "ctma(cwmed, 0.34)"
weights = "f-cap(1, 0.34)"
"""
INSECURE = ("--insecure-localhost",)


def ballast(*arguments, timeout=60):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout, check=False)


def write_data(folder):
    """Four clouds of points around random centres."""
    rng = np.random.default_rng(SEED)
    centres = 1.2 * rng.normal(size=(CLASSES, FEATURES))
    for name, count in (("train", 2000), ("test", 1000)):
        labels = rng.integers(0, CLASSES, count)
        images = centres[labels] + rng.normal(size=(count, FEATURES))
        np.save(folder / f"{name}_images.npy", images.astype(np.float32))
        np.save(folder / f"{name}_labels.npy", labels)


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        time.sleep(0.02)


class Site:
    """A folder with a data set and a specification; processes that end with it.

    The server started last is the one that work(), get() and status() mean.
    """

    def __init__(self, spec=SPEC):
        self.folder = Path(tempfile.mkdtemp(prefix="ballast-serving-"))
        write_data(self.folder)
        self.spec = self.folder / "spec.toml"
        self.spec.write_text(spec)
        self.ports = self.folder / "ports"
        self.port, self.http = "0", "0"
        self.processes = []
        self.started = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdout.close()
        shutil.rmtree(self.folder)

    def start(self, *arguments, environment=None, launcher=()):
        """A process; what it says on standard error is in the file .log."""
        self.started += 1
        path = self.folder / f"log-{self.started}"
        with open(path, "w", encoding="utf-8") as log:
            process = subprocess.Popen([*launcher, PROGRAM, *map(str, arguments)],
                                       stdout=subprocess.PIPE, stderr=log, text=True,
                                       env={**os.environ, **(environment or {})})
        process.log = path
        self.processes.append(process)
        return process

    def forget(self, process):
        """Kills it and keeps nothing of it, for runs that start thousands."""
        process.kill()
        process.wait()
        process.stdout.close()
        process.log.unlink()
        self.processes.remove(process)

    def start_server(self, *more, credentials=INSECURE, **how):
        """A server on the port of the one before it, if there was one."""
        self.ports.unlink(missing_ok=True)
        for flag, value in (("--model-out", self.folder / "model.safetensors"),
                            ("--linger-seconds", 0), ("--listen", f"127.0.0.1:{self.port}")):
            more = more if flag in more else (*more, flag, value)
        return self.start("serve", self.spec, *credentials, "--ports-file", self.ports, "--json",
                          "--http", "127.0.0.1:0", *more, **how)

    def is_listening(self, server):
        """Once it is; false if it ended before."""
        wait_for(lambda: self.ports.exists() or server.poll() is not None, 60)
        if not self.ports.exists():
            return False
        wait_for(lambda: self.ports.read_text().endswith("\n"))
        self.port, self.http = self.ports.read_text().split()
        return True

    def serve(self, *more, **how):
        server = self.start_server(*more, **how)
        assert self.is_listening(server), "the server ended: " + server.log.read_text()
        return server

    def work(self, number, *more, credentials=INSECURE):
        return self.start("work", self.spec, *credentials, "--server", f"127.0.0.1:{self.port}",
                          "--name", f"worker-{number}", *more)

    def issue_certificates(self, worker_count):
        """The flags of the server and a list of those of the workers."""
        ca = self.folder / "ca"

        def issue(name, *more):
            issued = ballast("ca", "issue", name, *more, "--dir", ca)
            assert issued.returncode == 0, issued.stderr
            return ("--ca", ca / "ca.crt", "--cert", ca / f"{name}.crt",
                    "--key", ca / f"{name}.key")

        ballast("ca", "init", "--dir", ca)
        server = issue("main", "--server", "--host", "127.0.0.1")
        workers = [issue(f"worker-{i}") for i in range(worker_count)]
        return (*server, "--denied", ca / "denied"), workers

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=5) as answer:
            return answer.read().decode()

    def status(self):
        return json.loads(self.get("/status"))
