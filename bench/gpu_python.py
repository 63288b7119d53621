"""Times of ballast.aggregate and ballast.Table on a CUDA device, beside plain PyTorch.

Usage: python bench/gpu_python.py
"""

import itertools
import time

import torch

import ballast

RULES = ("mean", "cwmed", "gm", "ctma(gm, 0.4)", "ctma(cwmed, 0.4)", "nnm(cwmed, 0.2)")


def median_ms(call, seconds=0.6):
    call()
    torch.cuda.synchronize()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        begin = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return 1000 * sorted(times)[len(times) // 2]


def table_ms(rule, rows):
    """One row replaced by another, and the rule."""
    workers, dim = rows.shape
    table = ballast.Table(dim, workers, rule, device="cuda")
    for worker in range(workers):
        table.put(worker, rows[worker])
    fresh = [torch.randn(dim, device="cuda") for _ in range(4)]
    numbers = itertools.count(1)

    def step():
        number = next(numbers)
        table.put(number % workers, fresh[number % 4])
        table.aggregate()

    return median_ms(step)


def measure(workers, dim):
    rows = torch.randn(workers, dim, device="cuda")
    plain = {"torch.median": lambda: rows.median(0), "torch.mean": lambda: rows.mean(0)}
    plain["one copy of the rows"] = rows.clone
    told = ", ".join(f"{name} {median_ms(call):.3f} ms" for name, call in plain.items())
    print(f"{workers} x {dim}: {told}")
    for rule in RULES:
        full = median_ms(lambda rule=rule: ballast.aggregate(rule, rows))
        print(f"  {rule:18} aggregate {full:8.3f} ms   table {table_ms(rule, rows):8.3f} ms")


for size in (66_230, 1_000_000, 11_173_962):
    measure(17, size)
