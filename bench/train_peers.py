#!/usr/bin/env python3
"""Updates a second of the paper's MNIST training, on one thread: `ballast bench train`, and the
same loop written in PyTorch with Ballast's rules, plain PyTorch's, ByzFL's and ByzPy's.

Usage: bench/train_peers.py [--program FILE] [--workers 9] [--updates 100]

The loop in PyTorch is what a user would write: the paper's network (66,230 parameters), batches of
16 random images, mu^2 (two gradients of one sample for each update), the latest update of every
worker in a table, the rule over the whole table at each arrival, one step. ByzFL and ByzPy know
no weights. One JSON object per line; of three rounds in turn the best of each.
"""

import argparse
import json
import subprocess
import time

import peers
import torch

BATCH, ETA, BETA, GAMMA = 16, 0.01, 0.25, 0.1


class Net(torch.nn.Module):
    """The paper's network for MNIST."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(1, 20, 5), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(20, 50, 5), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Flatten(), torch.nn.Linear(800, 50), torch.nn.BatchNorm1d(50),
            torch.nn.ReLU(), torch.nn.Linear(50, 10))

    def forward(self, images):
        return self.layers(images)


class Loop:
    """Arrivals in turn, each a new row of the table, the rule's direction and a step."""

    def __init__(self, workers, rule):
        torch.manual_seed(1)
        self.net, self.rule = Net().train(), rule
        self.parameters = list(self.net.parameters())
        self.dim = sum(p.numel() for p in self.parameters)
        self.rows = torch.zeros(workers, self.dim)
        self.counts = torch.ones(workers)
        self.model = torch.nn.utils.parameters_to_vector(self.parameters).detach()
        self.average = self.model.clone()
        self.models = [self.average.clone() for _ in range(workers)]
        for worker in range(workers):
            self.rows[worker] = self.gradient(self.average, *self.sample())

    def sample(self):
        return torch.randn(BATCH, 1, 28, 28), torch.randint(10, (BATCH,))

    def gradient(self, model, images, labels):
        torch.nn.utils.vector_to_parameters(model, self.parameters)
        loss = torch.nn.functional.cross_entropy(self.net(images), labels)
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss, self.parameters)])

    def update(self, worker):
        images, labels = self.sample()
        new = self.gradient(self.average, images, labels)
        old = self.gradient(self.models[worker], images, labels)
        self.rows[worker] = new + (1 - BETA) * (self.rows[worker] - old)
        self.models[worker] = self.average
        self.counts[worker] += 1
        self.model = self.model - ETA * self.rule(self.rows, self.counts)
        self.average = GAMMA * self.model + (1 - GAMMA) * self.average

    def updates_per_second(self, updates):
        workers = len(self.rows)
        for k in range(3):
            self.update(k % workers)
        begin = time.perf_counter()
        for k in range(updates):
            self.update(k % workers)
        return updates / (time.perf_counter() - begin)


def rules(workers):
    """{(who, rule): a function of rows and counts}."""
    found = peers.all_peers(workers, is_cpu=True)
    wanted = {
        "gm": ["ballast gm", "geometric median, 8 steps", "authors' geometric median, 3 steps",
               "ByzFL GeometricMedian, 3 steps", "ByzPy GeometricMedian"],
        "cwmed": ["ballast cwmed", "weighted median by sort", "torch.median (unweighted)",
                  "ByzFL Median", "ByzPy CoordinateWiseMedian"],
    }
    return {(name, rule): found[name] for rule, names in wanted.items() for name in names
            if name in found}


def of_the_program(program, workers, updates):
    """What `ballast bench train` measures of the same settings: {("bench train", rule): rate}."""
    lines = subprocess.run([program, "bench", "train", "--threads", "1", "--updates", str(updates),
                            "--json"], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in map(json.loads, lines.splitlines()):
        is_same = (line.get("data"), line.get("workers"), line.get("optimizer")) == (
            "mnist", workers, "mu2")
        if is_same and line["rule"] in ("gm", "cwmed"):
            found["ballast bench train", line["rule"]] = line["updates_per_second"]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", help="the program ballast, measured in the same run")
    parser.add_argument("--workers", type=int, default=9)
    parser.add_argument("--updates", type=int, default=100)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found, best = rules(arguments.workers), {}
    for _ in range(3):
        rates = {key: Loop(arguments.workers, rule).updates_per_second(arguments.updates)
                 for key, rule in found.items()}
        if arguments.program:
            rates |= of_the_program(arguments.program, arguments.workers, 3 * arguments.updates)
        best = {key: max(rate, best.get(key, 0.0)) for key, rate in rates.items()}
    for (who, rule), rate in sorted(best.items(), key=lambda item: (item[0][1], -item[1])):
        print(json.dumps({"rule": rule, "who": who, "workers": arguments.workers,
                          "updates_per_second": round(rate, 1)}), flush=True)


if __name__ == "__main__":
    main()
