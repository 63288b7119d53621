#!/usr/bin/env python3
"""Other code for the same rules on the same device, as a peer of gpu_bench and `ballast bench`.

Usage: bench/peers.py [--cpu] ROWSxDIM...     --cpu: one thread of the processor, else CUDA

Plain PyTorch as one would write the rules with it, what the paper's authors published (written
anew after what their code does), and ByzFL's and ByzPy's own functions where these packages are
found. Of those only the modules of the rules are loaded, so that copies of the packages on
PYTHONPATH do on a machine that has PyTorch and NumPy alone. On the processor Ballast's own rules
are measured in the same run where the package is installed.

One JSON object per line; the median of several calls, on CUDA timed by the device's events. The
rows are normal and lie in the device's memory, row i (from 1) has the weight 100 i + 1; ByzFL and
ByzPy know no weights.
"""

import importlib
import importlib.util
import json
import sys
import time
import types

import torch

LONG_MS = 2000  # a call that takes so long is measured once


def weighted_median(rows, weights):
    """Sorts each column, adds its weights up and takes the first value that reaches half."""
    values, order = torch.sort(rows, dim=0)
    reached = torch.cumsum(weights[order], dim=0) >= weights.sum() / 2
    first = torch.argmax(reached.to(torch.uint8), dim=0, keepdim=True)
    return torch.gather(values, 0, first)[0]


def weiszfeld(rows, weights, steps):
    """The geometric median by so many steps from the mean."""
    point = (weights[:, None] * rows).sum(0) / weights.sum()
    for _ in range(steps):
        factors = weights / torch.linalg.vector_norm(rows - point, dim=1).clamp_min(1e-12)
        point = (factors[:, None] * rows).sum(0) / factors.sum()
    return point


def trimmed_around(rows, weights, anchor, trimmed):
    """The weighted mean of the rows nearest to the anchor."""
    order = torch.argsort(torch.linalg.vector_norm(rows - anchor, dim=1))
    keep = (1 - trimmed) * weights.sum()
    before = torch.cumsum(weights[order], 0) - weights[order]
    kept = torch.minimum(weights[order], (keep - before).clamp_min(0))
    return (kept[:, None] * rows[order]).sum(0) / keep


def published_median(rows, weights):
    """As the authors publish it: normalised weights, of which the sum must exceed one half."""
    values, order = torch.sort(rows, dim=0)
    exceeds = torch.cumsum((weights / weights.sum())[order], dim=0) > 0.5
    return torch.gather(values, 0, exceeds.int().argmax(dim=0, keepdim=True))[0]


def published_geometric_median(rows, weights):
    """As the authors publish it: three steps of Weiszfeld's iteration from the origin."""
    shares, point = weights / weights.sum(), torch.zeros_like(rows[0])
    for _ in range(3):
        factors = shares / torch.linalg.vector_norm(rows - point, dim=1)
        point = (factors[:, None] * rows).sum(0) / factors.sum()
    return point


def plain_peers():
    return {
        "mean": lambda rows, weights: (weights[:, None] * rows).sum(0) / weights.sum(),
        "mean by matrix product": lambda rows, weights: weights @ rows / weights.sum(),
        "torch.median (unweighted)": lambda rows, weights: torch.median(rows, dim=0).values,
        "weighted median by sort": weighted_median,
        "geometric median, 8 steps": lambda rows, weights: weiszfeld(rows, weights, 8),
        "geometric median, 8 steps, then ctma": lambda rows, weights: trimmed_around(
            rows, weights, weiszfeld(rows, weights, 8), 0.4),
        "authors' weighted median": published_median,
        "authors' geometric median, 3 steps": published_geometric_median,
    }


def import_part(package, module):
    """A module of a package without what the package itself imports, such as plots and data."""
    if package not in sys.modules:
        spec = importlib.util.find_spec(package)
        if spec is None:
            raise ImportError(f"{package} is not installed")
        shell = types.ModuleType(package)
        shell.__path__ = list(spec.submodule_search_locations)
        sys.modules[package] = shell
    return importlib.import_module(f"{package}.{module}")


def stand_in_for_scipy():
    """ByzFL asks SciPy for distances of NumPy arrays, which are not measured here."""
    if importlib.util.find_spec("scipy") is None:
        for name in ("scipy", "scipy.spatial", "scipy.spatial.distance"):
            sys.modules.setdefault(name, types.ModuleType(name))
        sys.modules["scipy.spatial"].distance = sys.modules["scipy.spatial.distance"]


def byzfl_peers(count):
    stand_in_for_scipy()
    rules = import_part("byzfl", "aggregators.aggregators")
    made = {
        "ByzFL Median": rules.Median(),
        f"ByzFL TrMean({count // 5})": rules.TrMean(f=count // 5),
        "ByzFL GeometricMedian, 3 steps": rules.GeometricMedian(),
    }
    return {name: lambda rows, weights, rule=rule: rule(rows) for name, rule in made.items()}


def byzpy_peers(count):
    by_column = import_part("byzpy", "aggregators.coordinate_wise")
    by_row = import_part("byzpy", "aggregators.geometric_wise")
    made = {
        "ByzPy CoordinateWiseMedian": by_column.CoordinateWiseMedian(),
        f"ByzPy CoordinateWiseTrimmedMean({count // 5})": by_column.CoordinateWiseTrimmedMean(
            f=count // 5),
        "ByzPy GeometricMedian": by_row.GeometricMedian(),
    }
    return {name: lambda rows, weights, rule=rule: rule.aggregate(list(rows))
            for name, rule in made.items()}


def ballast_rules(count):
    import ballast
    ballast.set_threads(1)
    rules = ["mean", "cwmed", "gm", "ctma(gm, 0.4)", "cwtm(0.2)"]
    return {f"ballast {rule}": lambda rows, weights, rule=rule: ballast.aggregate(
        rule, rows, weights=weights) for rule in rules}


def all_peers(count, is_cpu):
    peers = plain_peers()
    makers = {"byzfl": byzfl_peers, "byzpy": byzpy_peers}
    if is_cpu:
        makers["ballast"] = ballast_rules
    for package, make in makers.items():
        try:
            peers |= make(count)
        except Exception as error:  # whatever such a package does when it is loaded
            print(f"peers: without {package}: {error!r}", file=sys.stderr)
    return peers


def device_ms(call):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end)


def host_ms(call):
    begin = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - begin)


def median_ms(once, calls):
    """The median of so many calls after two to warm up; of a long one the first."""
    times = []
    for _ in range(calls + 2):
        times.append(once())
        if times[-1] > LONG_MS:
            return times[-1]
    return sorted(times[2:])[calls // 2]


def measure(shape, is_cpu):
    count, dim = (int(part) for part in shape.split("x"))
    device = "cpu" if is_cpu else "cuda"
    rows = torch.empty(count, dim, device=device)
    for row in rows:
        row.normal_()
    weights = 100.0 * torch.arange(1, count + 1, device=device) + 1
    time_once = host_ms if is_cpu else device_ms
    for name, peer in all_peers(count, is_cpu).items():
        try:
            ms = median_ms(lambda: time_once(lambda: peer(rows, weights)),
                           5 if count * dim > 10**8 else 11)
        except torch.cuda.OutOfMemoryError:
            ms = None
            torch.cuda.empty_cache()
        line = {"peer": name, "rows": count, "dim": dim, "ms": ms and round(ms, 4)}
        print(json.dumps(line), flush=True)


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    is_cpu = "--cpu" in sys.argv
    for shape in sys.argv[1:]:
        if shape != "--cpu":
            measure(shape, is_cpu)
            if not is_cpu:
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
