"""Where the time outside gradients goes in a run of ResNet-18 on a CUDA device.

The device is waited for around each part, which adds to the whole. Parts hold others: _compute is
gradient_in_place and _correct, and so on.

Usage: python bench/gpu_python_parts.py
"""

import collections
import runpy
import time

import torch

import ballast
from ballast import _device_run, _network

ns = runpy.run_path("examples/python/resnet18_cifar10.py")
spent, calls = collections.Counter(), collections.Counter()


def timed(owner, name, label=None):
    inner = getattr(owner, name)

    def wrapper(*a, **k):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        result = inner(*a, **k)
        torch.cuda.synchronize()
        spent[label or name] += time.perf_counter() - begin
        calls[label or name] += 1
        return result

    setattr(owner, name, wrapper)


timed(_network.Network, "_prepare")
timed(_network.Network, "load")
timed(_network.Network, "flat")
timed(_device_run, "_correct")
timed(_device_run.DeviceRun, "_compute")
timed(_device_run.DeviceRun, "_timed", "forward and backward")
timed(_network.Network, "gradient_in_place")
timed(torch, "manual_seed")


class Cluster:
    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def deliver(self, *a):
        return self.inner.deliver(*a)

    def draw(self, *a):
        return self.inner.draw(*a)


timed(Cluster, "deliver")
timed(Cluster, "draw")
train, test = ns["random_images"](2000, 1), ns["random_images"](256, 2)
for rule in ("ctma(gm, 0.4)", "cwmed"):
    simulation = ballast.Simulation(
        ns["resnet18"](),
        None,
        train,
        test,
        workers=17,
        byzantine=8,
        share=0.4,
        attack="sign-flip",
        rule=rule,
        updates=120,
        evaluate_every=120,
        batch=64,
        eta=0.1,
        device="cuda",
        classes=10,
    )
    n = simulation._network
    start, statistics = n.read_parameters(), n.read_statistics()
    core = simulation._run_in_place.__globals__["_core"]
    cluster = Cluster(
        core.Cluster(
            simulation._text,
            start,
            statistics,
            simulation._train.size,
            simulation._labels,
            simulation._classes,
        )
    )
    run = _device_run.DeviceRun(cluster, n, "sign-flip", statistics)
    torch.set_num_threads(1)
    spent.clear()
    calls.clear()
    begin = time.perf_counter()
    run.train(simulation._loss_of, simulation._evaluate, None)
    total = time.perf_counter() - begin
    print(rule, f"total {1000 * total / 120:.2f} ms an update")
    for name, seconds in spent.most_common():
        print(
            f"  {name:22} {1000 * seconds / 120:7.3f} ms an update, {calls[name] / 120:.2f} calls"
        )
