#!/usr/bin/env python3
"""Plain PyTorch code for the same rules on the same device, as a peer of gpu_bench.

Usage: bench/gpu_peers.py ROWSxDIM...

One JSON object per line; the median of several calls, timed by the device's events. The rows are
normal and lie in the device's memory, row i (from 1) has the weight 100 i + 1.
"""

import json
import sys

import torch


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


def peers():
    return {
        "mean": lambda rows, weights: (weights[:, None] * rows).sum(0) / weights.sum(),
        "mean by matrix product": lambda rows, weights: weights @ rows / weights.sum(),
        "torch.median (unweighted)": lambda rows, weights: torch.median(rows, dim=0).values,
        "weighted median by sort": weighted_median,
        "geometric median, 8 steps": lambda rows, weights: weiszfeld(rows, weights, 8),
        "geometric median, 8 steps, then ctma": lambda rows, weights: trimmed_around(
            rows, weights, weiszfeld(rows, weights, 8), 0.4),
    }


def time_ms(call, calls):
    times = []
    for _ in range(calls + 2):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times[2:])[calls // 2]


def main():
    torch.manual_seed(1)
    for shape in sys.argv[1:]:
        count, dim = (int(part) for part in shape.split("x"))
        rows = torch.empty(count, dim, device="cuda")
        for row in rows:
            row.normal_()
        weights = 100.0 * torch.arange(1, count + 1, device="cuda") + 1
        for name, peer in peers().items():
            try:
                ms = time_ms(lambda: peer(rows, weights), 5 if count * dim > 10**8 else 11)
            except torch.cuda.OutOfMemoryError:
                ms = None
                torch.cuda.empty_cache()
            line = {"peer": name, "rows": count, "dim": dim, "ms": ms and round(ms, 4)}
            print(json.dumps(line), flush=True)
        del rows
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
