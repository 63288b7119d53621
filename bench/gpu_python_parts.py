"""What a run of ResNet-18 on a CUDA device takes besides its gradients.

First as it is: an update of the run, and the same number of gradients alone, queued one after the
other with nothing between them; what is left is outside. Both are the medians of three rounds, in
turn. An update is one of the middle third of a run: at the beginning the table grows and gradients
have no server beside them, at the end a server has no gradients, once per worker. The whole run is
given as well, and by the run's own marks (_device_run.py), which count as gradients what the server
does beside them.

Then each part with the device waited for around it and nothing beside it, which adds to the whole.
Parts hold others: _compute is gradient_in_place and _correct, and so on.

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
        evaluate_every=min(updates, UPDATES),
        batch=batch,
        eta=0.1,
        device="cuda",
        classes=10,
    )


class Counted:
    """A cluster whose calls can be timed."""

    def __init__(self, inner):
        self.inner = inner
        self.outcome = None

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def begin_delivery(self, *a):
        self.outcome = self.deliver(*a)

    def deliver(self, *a):
        """All of it at once."""
        self.inner.begin_delivery(*a)
        return self.inner.end_delivery()

    def end_delivery(self):
        return self.outcome

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


def count_gradients(simulation):
    """Returns how many there were at each evaluation, as the run goes on."""
    inner, evaluate = simulation._network.gradient_in_place, simulation._evaluate
    count, at_evaluations = [0], []

    def counted(*a):
        count[0] += 1
        return inner(*a)

    def noted(*a):
        at_evaluations.append(count[0])
        return evaluate(*a)

    simulation._network.gradient_in_place, simulation._evaluate = counted, noted
    return at_evaluations


Round = collections.namedtuple("Round", "alone update gradients whole all_gradients marked")


def one_round(rule, batch):
    alone = gradient_ms(make(rule, batch))
    simulation = make(rule, batch, 3 * UPDATES)
    gradients = count_gradients(simulation)
    history = simulation.run(progress=False)
    seconds = [float(each) for each in history["seconds"][-3:]]  # at the end of each third
    return Round(
        alone,
        1000 * (seconds[1] - seconds[0]) / UPDATES,
        (gradients[-2] - gradients[-3]) / UPDATES,
        1000 * seconds[2] / (3 * UPDATES),
        gradients[-1] / (3 * UPDATES),  # a worker's first update has one, its last model none
        1 - history.gradient_seconds / seconds[2],
    )


def as_it_is(rule, batch):
    rounds = [one_round(rule, batch) for _ in range(3)]
    middle = Round(*(sorted(column)[1] for column in zip(*rounds)))
    outside = 1 - middle.gradients * middle.alone / middle.update
    each = " ".join(f"{1 - r.gradients * r.alone / r.update:.1%}" for r in rounds)
    whole = 1 - middle.all_gradients * middle.alone / middle.whole
    print(
        f"batch {batch}, {rule}: {middle.update:.2f} ms an update; {middle.gradients:.2f} "
        f"gradients alone {middle.gradients * middle.alone:.2f} ms ({middle.alone:.2f} each); "
        f"outside {outside:.1%} (rounds: {each}); the whole run {middle.whole:.2f} ms, outside "
        f"{whole:.1%}, by marks {middle.marked:.1%}",
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
wait_around(Counted, "deliver", "draw")
for name in RULES:
    in_parts(name)
