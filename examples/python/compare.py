"""Ballast beside ByzFL and ByzPy, in one run: what docs/python.md shows.

Usage: compare.py [DIM] [THREADS]     ByzFL and ByzPy are measured where they are installed
"""

import importlib
import importlib.util
import sys
import time
import types
from typing import Any, Callable

import numpy as np
import torch

import ballast
from ballast import byzfl, byzpy

ROWS, F = 17, 4


def byzfl_aggregators() -> Any:
    """ByzFL's rules without its training framework, which needs torchvision."""
    spec = importlib.util.find_spec("byzfl")
    if spec is None or spec.submodule_search_locations is None:
        return None
    package = types.ModuleType("byzfl")
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules["byzfl"] = package
    return importlib.import_module("byzfl.aggregators")


def milliseconds(call: Callable[[], Any], seconds: float = 1.0) -> float:
    """The fastest of as many calls as fit, at least two."""
    best, end, calls = float("inf"), time.perf_counter() + seconds, 0
    while calls < 2 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best, calls = min(best, time.perf_counter() - start), calls + 1
    return best * 1e3


dim = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
threads = int(sys.argv[2]) if len(sys.argv) > 2 else 1
torch.set_num_threads(threads)
ballast.set_threads(threads)
rows = torch.from_numpy(np.random.default_rng(1).standard_normal((ROWS, dim), dtype=np.float32))
vectors = list(rows)
theirs = byzfl_aggregators()
has_byzpy = importlib.util.find_spec("byzpy") is not None

RULES = {  # ours for ByzFL's users; ByzFL's name; where ByzPy has it
    "median": (byzfl.Median(), "Median", (), "coordinate_wise.CoordinateWiseMedian", {}),
    "trimmed mean": (
        byzfl.TrMean(F),
        "TrMean",
        (F,),
        "coordinate_wise.CoordinateWiseTrimmedMean",
        {"f": F},
    ),
    "geometric median": (
        byzfl.GeometricMedian(),
        "GeometricMedian",
        (),
        "geometric_wise.GeometricMedian",
        {},
    ),
    "Krum": (byzfl.Krum(F), "Krum", (F,), "geometric_wise.Krum", {"f": F}),
}

print(f"{ROWS} x {dim} float32, PyTorch {torch.__version__}, {threads} threads, ms")
print("| rule | ballast | ByzFL | ByzPy |\n|---|---:|---:|---:|")
for name, (ours, byzfl_name, arguments, path, options) in RULES.items():
    cells = [milliseconds(lambda: ours(rows))]  # noqa: B023
    rule = getattr(theirs, byzfl_name)(*arguments) if theirs else None
    cells.append(milliseconds(lambda: rule(rows)) if rule else float("nan"))  # noqa: B023
    if has_byzpy:
        module, _, kind = path.partition(".")
        other = getattr(importlib.import_module(f"byzpy.aggregators.{module}"), kind)(**options)
        cells.append(milliseconds(lambda: other.aggregate(vectors)))  # noqa: B023
    else:
        cells.append(float("nan"))
    print(f"| {name} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
mixing, trimmed = byzfl.NNM(F), byzfl.TrMean(F)
cells = [milliseconds(lambda: trimmed(mixing(rows)))]
if theirs:
    their_mixing, their_mean = theirs.NNM(F), theirs.TrMean(F)
    cells.append(milliseconds(lambda: their_mean(their_mixing(rows))))
else:
    cells.append(float("nan"))
if has_byzpy:
    pre = importlib.import_module("byzpy.pre_aggregators").NearestNeighborMixing(f=F)
    then = importlib.import_module("byzpy.aggregators.coordinate_wise")
    mean = then.CoordinateWiseTrimmedMean(f=F)
    cells.append(milliseconds(lambda: mean.aggregate(pre.pre_aggregate(vectors))))
else:
    cells.append(float("nan"))
print("| NNM, then trimmed mean | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
assert byzpy.Krum(F).aggregate(vectors).shape == (dim,)
one = np.ones((ROWS, 1), np.float32)
print(f"a call for one column: {1e3 * milliseconds(lambda: ballast.aggregate('mean', one)):.1f} us")
