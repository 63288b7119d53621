"""What Python costs: ballast.aggregate() beside the public C++ call, in turn, on one thread; and
the memory that a call takes besides the rows. docs/python.md has the results.

Usage: python bench/python_overhead.py PATH/OF/aggregate_bench
"""

import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

import ballast

RULE = "ctma(gm, 0.4)"
ROUNDS = 5


def fastest_us(call, seconds=0.5):
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best * 1e6


def measure(program, count, dim):
    rows = np.random.default_rng(1).standard_normal((count, dim), dtype=np.float32)
    with tempfile.NamedTemporaryFile() as file:
        rows.tofile(file.name)
        command = [program, RULE, str(count), str(dim), file.name]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **pipes) as other:
            python, cpp = [], []
            for _ in range(ROUNDS):
                python.append(fastest_us(lambda: ballast.aggregate(RULE, rows)))
                other.stdin.write("\n")
                other.stdin.flush()
                cpp.append(float(other.stdout.readline()))
            other.stdin.close()
    ours, theirs = sorted(python)[ROUNDS // 2], sorted(cpp)[ROUNDS // 2]
    print(
        f"{count} x {dim}: Python {ours:.1f} us, C++ {theirs:.1f} us: "
        f"{ours - theirs:+.1f} us, {100 * (ours / theirs - 1):+.2f} %"
    )
    print(f"  Python {python}\n  C++    {cpp}")


def peak_kb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


ballast.set_threads(1)
one = np.ones((17, 1), np.float32)
print(f"a call for one column: {fastest_us(lambda: ballast.aggregate('mean', one)):.1f} us")
measure(sys.argv[1], 17, 66_230)
measure(sys.argv[1], 20, 1_000_000)
rows = np.ones((20, 10_000_000), np.float32)
before = peak_kb()
ballast.aggregate(RULE, rows)
print(f"20 x 10^7: {rows.nbytes // 1024} kB of rows, a call adds {peak_kb() - before} kB")
