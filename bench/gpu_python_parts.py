"""What a run of ResNet-18 on a CUDA device takes besides its gradients.

First as it is: an update of the run, and the same number of gradients alone, queued one after the
other with nothing between them; what is left is outside. The marks are the run's own measurement
(_device_run.py), which counts as gradients what the server does beside them.

Then each part with the device waited for around it, which adds to the whole. Parts hold others:
_compute is gradient_in_place and _correct, and so on.

Usage: python bench/gpu_python_parts.py [EXAMPLE]     EXAMPLE: the path of resnet18_cifar10.py
"""

import collections
import runpy
import sys
import time

import torch

import ballast
from ballast import _core, _device_run, _network

EXAMPLE = sys.argv[1] if len(sys.argv) > 1 else "examples/python/resnet18_cifar10.py"
RULES = ("ctma(gm, 0.4)", "cwmed")
BATCHES = (64, 128, 256)
UPDATES = 120

ns = runpy.run_path(EXAMPLE)
train, test = ns["random_images"](2000, 1), ns["random_images"](256, 2)
spent, calls = collections.Counter(), collections.Counter()


def timed(inner, name):
    def wrapper(*a, **k):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        result = inner(*a, **k)
        torch.cuda.synchronize()
        spent[name] += time.perf_counter() - begin
        calls[name] += 1
        return result

    return wrapper


def wait_around(owner, *names):
    for name in names:
        setattr(owner, name, timed(getattr(owner, name), name))


def make(rule, batch, updates=UPDATES):
    return ballast.Simulation(
        ns["resnet18"](),
        None,
        train,
        test,
        workers=17,
        byzantine=8,
        share=0.4,
        attack="sign-flip",
        rule=rule,
        updates=updates,
        evaluate_every=updates,
        batch=batch,
        eta=0.1,
        device="cuda",
        classes=10,
    )


class Counted:
    """A cluster whose calls can be timed."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def begin_delivery(self, *a):
        return self.inner.begin_delivery(*a)

    def end_delivery(self):
        return self.inner.end_delivery()

    def draw(self, *a):
        return self.inner.draw(*a)


def cluster_of(simulation):
    network = simulation._network
    return _core.Cluster(
        simulation._text,
        network.read_parameters(),
        network.read_statistics(),
        simulation._train.size,
        simulation._labels,
        simulation._classes,
    )


def gradient_ms(simulation):
    """One forward and one backward pass, of many that are queued."""
    cluster = cluster_of(simulation)
    losses = [simulation._loss_of(*cluster.draw(worker, 1)[:2]) for worker in range(8)]
    network = simulation._network
    network.module.train()

    def passes(count):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for i in range(count):
            for parameter in network.parameters:
                parameter.grad = None
            losses[i % len(losses)]()
        torch.cuda.synchronize()
        return 1000 * (time.perf_counter() - begin) / count

    with network.joined():
        passes(10)
        return sorted(passes(30) for _ in range(3))[1]


def count_gradients(network):
    calls["gradients"] = 0
    inner = network.gradient_in_place

    def counted(*a):
        calls["gradients"] += 1
        return inner(*a)

    network.gradient_in_place = counted


def as_it_is(rule, batch):
    alone = gradient_ms(make(rule, batch))
    simulation = make(rule, batch)
    count_gradients(simulation._network)
    history = simulation.run(progress=False)
    update = 1000 * float(history["seconds"][-1]) / UPDATES
    gradients = calls["gradients"] / UPDATES  # a worker's first update has one, all others two
    outside = 1 - gradients * alone / update
    marked = 1 - history.gradient_seconds / float(history["seconds"][-1])
    print(
        f"batch {batch}, {rule}: {update:.2f} ms an update; {gradients:.2f} gradients alone "
        f"{gradients * alone:.2f} ms ({alone:.2f} each); outside {outside:.1%}, by marks "
        f"{marked:.1%}",
        flush=True,
    )


def in_parts(rule, batch=64):
    simulation = make(rule, batch)
    network = simulation._network
    run = _device_run.DeviceRun(
        Counted(cluster_of(simulation)), network, "sign-flip", network.read_statistics()
    )

    def loss_of(indices, labels):
        return timed(simulation._loss_of(indices, labels), "forward and backward")

    spent.clear()
    calls.clear()
    begin = time.perf_counter()
    run.train(loss_of, simulation._evaluate, None)
    total = time.perf_counter() - begin
    print(f"{rule}, batch {batch}, in parts: {1000 * total / UPDATES:.2f} ms an update")
    for name, seconds in spent.most_common():
        each = 1000 * seconds / UPDATES
        print(f"  {name:22} {each:7.3f} ms an update, {calls[name] / UPDATES:.2f} calls")


torch.set_num_threads(1)
make(RULES[0], 64, 34).run(progress=False)  # loads the kernels
for size in BATCHES:
    for name in RULES:
        as_it_is(name, size)
wait_around(_network.Network, "_prepare", "load", "flat", "_seed", "gradient_in_place")
wait_around(_device_run.DeviceRun, "_compute", "_correct", "_report")
wait_around(Counted, "begin_delivery", "end_delivery", "draw")
for name in RULES:
    in_parts(name)
