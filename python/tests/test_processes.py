"""Threads, forks and other libraries in the same process."""

import threading

import numpy as np
import pytest

import ballast


def test_two_threads_get_what_one_gets(rng):
    rows = rng.standard_normal((2, 9, 20_000), dtype=np.float32)
    expected = [ballast.aggregate("ctma(gm, 0.4)", part) for part in rows]
    wrong = []

    def work(number):
        for _ in range(20):
            if not (ballast.aggregate("ctma(gm, 0.4)", rows[number]) == expected[number]).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number % 2,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_two_threads_share_a_table(rng):
    table = ballast.Table(dim=5_000, workers=8, rule="cwmed")
    rows = rng.standard_normal((8, 5_000), dtype=np.float32)

    def work(first):
        for _ in range(20):
            for worker in range(first, 8, 2):
                table.put(worker, rows[worker], weight=1)
                table.aggregate()

    threads = [threading.Thread(target=work, args=(first,)) for first in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (table.aggregate() == ballast.aggregate("cwmed", rows)).all()


FORK = """
import os, numpy as np, ballast
rows = np.random.default_rng(1).standard_normal((9, 50_000), dtype=np.float32)
table = ballast.Table(50_000, 9, "cwmed", threads=2)
for worker, row in enumerate(rows):
    table.put(worker, row, weight=1)
expected = ballast.aggregate("cwmed", rows, threads=2)
table.aggregate()
child = os.fork()
if child == 0:
    same = (ballast.aggregate("cwmed", rows, threads=2) == expected).all()
    same = same and (table.aggregate() == expected).all()
    os._exit(0 if same else 1)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert (ballast.aggregate("cwmed", rows, threads=2) == expected).all()
"""


def test_a_child_of_a_fork_computes_too(run_python):
    run_python(FORK)


LOADER = """
import numpy as np, torch, ballast
class Rows(torch.utils.data.Dataset):
    def __len__(self): return 6
    def __getitem__(self, i):
        rows = np.random.default_rng(i).standard_normal((5, 30_000), dtype=np.float32)
        return torch.from_numpy(ballast.aggregate("gm", rows, threads=2))
ballast.aggregate("gm", np.ones((5, 30_000), np.float32), threads=2)
found = torch.cat(list(torch.utils.data.DataLoader(Rows(), batch_size=2, num_workers=2)))
assert torch.equal(found, torch.stack([Rows()[i] for i in range(6)]))
"""


def test_the_workers_of_a_data_loader_aggregate(run_python):
    pytest.importorskip("torch")
    run_python(LOADER)


@pytest.mark.parametrize("first, second", [("torch", "ballast"), ("ballast", "torch")])
def test_torch_may_be_imported_before_or_after(first, second, run_python):
    pytest.importorskip("torch")
    run_python(
        f"import {first}\nimport {second}\n"
        "rows = torch.randn(9, 50_000)\n"
        "torch.set_num_threads(2)\n"
        "(rows @ rows.T).sum()\n"
        "a = ballast.aggregate('gm', rows, threads=2)\n"
        "(rows @ a).sum()\n"
        "assert torch.equal(a, ballast.aggregate('gm', rows, threads=1))"
    )


def test_importing_loads_neither_torch_nor_grpc(run_python):
    loaded = run_python(
        "import sys, ballast\n"
        "maps = open('/proc/self/maps').read()\n"
        "print('torch' in sys.modules, 'libtorch' in maps, 'libgrpc' in maps)"
    )
    assert loaded.split() == ["False", "False", "False"]


def test_counts_are_exact_when_threads_put_the_same_row():
    table = ballast.Table(dim=20_000, workers=1, rule="mean", threads=1)
    row = np.ones(20_000, np.float32)

    def work():
        for _ in range(50):
            table.put(0, row)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert table.counts == (200,)


FORK_IN_USE = """
import os, threading, numpy as np, ballast
table = ballast.Table(3_000_000, 3, "mean", threads=1)
row = np.ones(3_000_000, np.float32)
table.put(0, row)
stop = threading.Event()
def work():
    while not stop.is_set():
        table.put(0, row)
thread = threading.Thread(target=work)
thread.start()
seen = set()
for _ in range(200):
    child = os.fork()
    if child == 0:
        try:
            table.aggregate()
        except ballast.Unsupported as error:
            os._exit(1 if "forked" in str(error) else 2)
        os._exit(0)
    seen.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    if 1 in seen:
        break
stop.set()
thread.join()
assert 1 in seen and seen <= {0, 1}, seen
assert table.aggregate()[0] == 1
"""


def test_a_table_that_a_thread_used_during_a_fork_is_refused_and_not_waited_for(run_python):
    run_python(FORK_IN_USE)


# What a daemon thread does while the program ends; `begun` is set once it is under way.
AT_THE_END = {
    "aggregate": """
rows = np.ones((9, 1000), np.float32)
def work():
    while True:
        ballast.aggregate("gm", rows, threads=1)
        begun.set()
""",
    "push": """
server = ballast.Server({"w": np.zeros(2, np.float32)}, workers=5, weights="f-cap(1, 0.3)")
client = ballast.Client(server.address, {"w": (2,)})
client.join()
def work():
    begun.set()
    client.push(np.ones(2, np.float32))
""",
    "wait": """
server = ballast.Server({"w": np.zeros(2, np.float32)}, workers=5)
def work():
    begun.set()
    server.wait()
""",
    "train": """
def work():
    spec = {"data": "files", "model": "mlp", "workers": 3, "byzantine": 0, "share": 0.0, **files}
    ballast.train(spec, updates=10**6, evaluate_every=10**6, progress=lambda *_: begun.set())
""",
    "simulate": """
import torch
data = torch.randn(200, 6), torch.arange(200) % 3
simulation = ballast.Simulation(torch.nn.Linear(6, 3), None, data, data, updates=10**6)
def work():
    simulation.run(progress=lambda *_: begun.set())
""",
}


@pytest.mark.parametrize("what", AT_THE_END)
def test_a_program_may_end_while_daemon_threads_are_in_the_library(what, run_python, tmp_path):
    if what == "simulate":
        pytest.importorskip("torch")
    np.save(tmp_path / "x.npy", np.random.default_rng(1).random((60, 6), dtype=np.float32))
    np.save(tmp_path / "y.npy", np.arange(60) % 3)
    files = {
        f"{part}_{kind}": str(tmp_path / f"{name}.npy")
        for part in ("train", "test")
        for kind, name in (("images", "x"), ("labels", "y"))
    }
    script = (
        "import threading, numpy as np, ballast\n"
        f"begun, files = threading.Event(), {files}\n"
        f"{AT_THE_END[what]}"
        "threading.Thread(target=work, daemon=True).start()\n"
        "assert begun.wait(60)\n"
    )
    for _ in range(3):  # a matter of moments
        run_python(script)
