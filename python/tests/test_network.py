"""Clients, the optimizer of PyTorch, and a server in the process, over loopback."""

import contextlib
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from nets import make_net

import ballast

TARGET = np.arange(5, dtype=np.float32)


def serve(**settings):
    keys = {"workers": 3, "rule": "gm", "weights": "count", "optimizer": "sgd", "eta": 0.1}
    return ballast.Server({"w": np.zeros(5, np.float32)}, **{**keys, **settings})


def connect(server, number=0, **options):
    name = f"worker-{number}"
    return ballast.Client(server.address, {"w": (5,)}, name=name, patience=20, **options)


@pytest.mark.parametrize("method", ["table", "table(past=30)"])
def test_workers_of_any_framework_train_together(method):
    verdicts = []
    # In rounds: weights are counts, and a liar that the machine lets race ahead would have most.
    together = threading.Barrier(3)

    def work(server, number, is_liar):
        with connect(server, number) as client:
            model = client.join()
            while not model.is_over:
                gradient = model.values - TARGET
                pushed = client.push(-10 * gradient if is_liar else gradient)
                if pushed.verdict is not None:
                    verdicts.append(pushed.verdict)
                model = pushed.next
                with contextlib.suppress(threading.BrokenBarrierError):  # somebody is through
                    together.wait(60)
        together.abort()

    with serve(updates=300, rule="ctma(cwmed, 0.4)", method=method) as server:
        threads = [
            threading.Thread(target=work, args=(server, number, number == 2)) for number in range(3)
        ]
        for thread in threads:
            thread.start()
        assert server.wait(60)
        for thread in threads:
            thread.join()
        version, values, _ = server.model()
        status = server.status()
        assert server.is_over and status["accepted"] == 300 and version > 0
        assert status["run"] == "server" and status["method"]["name"] == method
        assert verdicts.count("accepted") >= 295
        assert np.abs(values - TARGET).max() < 0.1
        assert (server.state_dict()["w"] == values).all()


def test_misuse_of_a_client_is_refused():
    with serve(workers=1) as server:
        client = connect(server)
        with pytest.raises(ValueError, match="join"):
            client.push(np.ones(5, np.float32))
        model = client.join()
        assert model.values.tolist() == [0] * 5 and not model.is_over
        with pytest.raises(ValueError, match="5 values, not 4"):
            client.push(np.ones(4, np.float32))
        with pytest.raises(ValueError, match="NaN"):
            client.push(np.full(5, np.nan, np.float32))
        with pytest.raises(ValueError, match="statistics"):
            client.push(np.ones(5, np.float32), np.ones(1, np.float32))
        assert client.push(np.ones(5, np.float32)).verdict == "accepted"
        client.leave()
        with pytest.raises(ballast.BallastError):
            ballast.Client(server.address, {"w": (6,)}, name="worker-0", patience=1).join()
        with pytest.raises(ballast.BallastError):
            ballast.Client(server.address, {"w": (5,)}, name="stranger", patience=1).join()
    for options in ({"encoding": "int8"}, {"patience": -1.0}):
        with pytest.raises(ValueError):
            ballast.Client("127.0.0.1:1", {"w": (5,)}, **options)
    for tensors in ({}, {"w": 5}, {"w": (-5,)}, {"w": (2.5,)}, {"w": (2**39, 4)}, {3: (5,)}, None):
        with pytest.raises(ValueError):
            ballast.Client("127.0.0.1:1", tensors)
    # gRPC ends the process for headers with some of these.
    for name in ("a\0b", "a\nb", "w\u00f6rker", "Worker 0", "x" * 1000, "", 3):
        with pytest.raises(ValueError, match="name"):
            ballast.Client("127.0.0.1:1", {"w": (5,)}, name=name)
    for options in ({"server": 3}, {"server_name": 3}, {"patience": "x"}, {"tls": 3}):
        with pytest.raises(ValueError):
            ballast.Client(**{"server": "127.0.0.1:1", "tensors": {"w": (5,)}, **options})
    with pytest.raises(ballast.BallastError):
        ballast.Client("nowhere", {"w": (5,)}, patience=1).join()


def test_misuse_of_a_server_is_refused():
    with pytest.raises(ballast.BallastError, match="did you mean"):
        serve(rule="gn")
    with pytest.raises(ValueError, match="NaN"):
        ballast.Server({"w": np.full(3, np.nan, np.float32)}, workers=1)
    with pytest.raises(ValueError, match="no parameters"):
        ballast.Server({}, workers=1)
    with pytest.raises(ValueError, match="named"):
        serve(names=["a"])
    for keys in (
        {"listen": 5},
        {"names": "abc"},
        {"names": ["a", "b", 3]},
        {"names": ["a", "b", "c\n"]},
        {"threads": -1},
        {"tls": 5},
    ):
        with pytest.raises(ValueError):
            serve(**keys)
    with pytest.raises(ValueError, match="a name is a text"):
        ballast.Server({0: np.zeros(3, np.float32)}, workers=1)
    with serve() as server, pytest.raises(ValueError, match="seconds is a number"):
        server.wait("a while")
    with pytest.raises(ballast.BallastError):
        serve(listen="0.0.0.0:0")
    with pytest.raises(ballast.BallastError):
        serve(tls="no/such/folder")


def test_a_client_outlives_its_server():
    server = serve(workers=1)
    client = ballast.Client(server.address, {"w": (5,)}, name="worker-0", patience=1)
    client.join()
    server.stop()
    server.stop()
    assert server.model()[0] == 0 and not server.is_over and not server.wait(0.01)
    with pytest.raises(ballast.BallastError):
        client.push(np.ones(5, np.float32))
    with pytest.raises(ballast.BallastError):
        client.join()
    client.leave()


@pytest.mark.parametrize("way", ["between steps", "during the gradient", "waiting for the verdict"])
def test_an_optimizer_outlives_its_server(way):
    """The server goes; the step says so, the weights are as they were, and a server that comes
    back at the same address goes on with the same optimizer."""
    torch = pytest.importorskip("torch")
    import ballast.torch

    torch.manual_seed(0)
    net = torch.nn.Linear(5, 1)
    x = torch.randn(8, 5)
    stops = []

    def closure():
        if stops:
            stops.pop()()
        return net(x).square().mean()

    # f-cap of five workers takes no step, and so no verdict comes, before others have joined.
    weights = "f-cap(1, 0.3)" if way == "waiting for the verdict" else "count"
    keys = {"workers": 5, "weights": weights, "eta": 0.1}
    server = ballast.Server(net, **keys)
    opt = ballast.torch.Optimizer(net, server.address, patience=0.5)
    opt.join()
    if way == "between steps":
        assert opt.step(closure) > 0 and opt.verdict == "accepted"
        server.stop()
    elif way == "during the gradient":
        assert opt.step(closure) > 0
        stops.append(server.stop)
    else:
        stops.append(threading.Timer(0.5, server.stop).start)
    before = net.weight.detach().clone()
    with pytest.raises(ballast.BallastError):
        opt.step(closure)
    assert torch.equal(net.weight, before)
    with pytest.raises(ballast.BallastError):
        opt.step(closure)
    opt.leave()
    with ballast.Server(net, **{**keys, "weights": "count"}, listen=server.address) as again:
        assert opt.step(closure) > 0 and opt.verdict == "accepted"
        assert again.status()["accepted"] == 1
        opt.leave()


def test_two_threads_do_not_share_a_client():
    said = queue.Queue()

    def push(client):
        with pytest.raises(ballast.BallastError) as raised:
            client.push(TARGET)
        said.put(str(raised.value))

    with serve(workers=5, weights="f-cap(1, 0.3)") as server:
        client = ballast.Client(server.address, {"w": (5,)}, patience=1)
        client.join()
        threads = [threading.Thread(target=push, args=(client,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        # One of five workers is no quorum: whoever came first is held, and the other is refused.
        assert "another thread" in said.get(timeout=60)
        server.stop()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
    assert "another thread" not in said.get(timeout=60)


FORKED = """
import os, numpy as np, ballast
server = ballast.Server({"w": np.zeros(2, np.float32)}, workers=2, weights="count", rule="mean",
                        method="METHOD")
client = ballast.Client(server.address, {"w": (2,)}, name="worker-0")
unused = ballast.Client(server.address, {"w": (2,)}, name="worker-1")
client.join()
child = os.fork()
if child == 0:
    refused = 0
    for call in (client.join, lambda: client.push(np.ones(2, np.float32)), server.model,
                 server.stop, server.wait, unused.join, lambda: server.is_over,
                 lambda: ballast.Server({"w": np.zeros(2, np.float32)}, workers=2)):
        try:
            call()
        except ballast.Unsupported as error:
            refused += "fork" in str(error)
    del client, server
    os._exit(refused)
_, status = os.waitpid(child, 0)
assert os.WEXITSTATUS(status) == 8, status
assert client.push(np.ones(2, np.float32)).verdict == "accepted"
client.leave()
server.stop()
"""


@pytest.mark.parametrize("method", ["table", "table(past=30)"])
def test_a_child_of_a_fork_is_refused_and_its_parent_goes_on(method, run_python):
    run_python(FORKED.replace("METHOD", method))


INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background
import numpy as np, ballast
server = ballast.Server({"w": np.zeros(2, np.float32)}, workers=5, weights="f-cap(1, 0.3)",
                        method="table(past=30)")
client = ballast.Client(server.address, {"w": (2,)}, name="worker-0")
for call in (lambda: client.push(np.ones(2, np.float32)), server.wait):
    client.join()
    try:
        print("waiting", flush=True)
        call()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
client.leave()
server.stop()
"""


def test_ctrl_c_ends_push_and_wait():
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            for _ in range(2):
                assert process.stdout.readline() == "waiting\n"
                time.sleep(0.5)
                process.send_signal(signal.SIGINT)
                assert process.stdout.readline() == "interrupted\n"
            assert process.wait(60) == 0
        finally:
            process.kill()


TOGETHER = """
other = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
port = other.add_insecure_port('127.0.0.1:0')
other.start()
with ballast.Server({'w': np.zeros(2, np.float32)}, workers=1, weights='count') as server:
    client = ballast.Client(server.address, {'w': (2,)}, name='worker-0')
    client.join()
    channel = grpc.insecure_channel(f'127.0.0.1:{port}')
    grpc.channel_ready_future(channel).result(30)
    assert client.push(np.ones(2, np.float32)).verdict == 'accepted'
    client.leave()
channel.close()
other.stop(None).wait()
"""


@pytest.mark.parametrize(
    "modules", ["grpc torch ballast", "ballast torch grpc", "torch grpc ballast", "grpc ballast"]
)
def test_grpcio_and_torch_may_be_in_the_same_process(modules, run_python):
    pytest.importorskip("grpc")
    if "torch" in modules:
        pytest.importorskip("torch")
    imports = "".join(f"import {module}\n" for module in modules.split())
    run_python(imports + "import concurrent.futures, numpy as np\n" + TOGETHER)


LOADER = """
import torch, ballast, ballast.torch
x = torch.randn(64, 6, generator=torch.Generator().manual_seed(1))
loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16, num_workers=2)
net = torch.nn.Linear(6, 2)
loss = torch.nn.CrossEntropyLoss()
with ballast.Server(net, workers=1, weights="count", optimizer="sgd", eta=0.1) as server:
    opt = ballast.torch.Optimizer(net, server.address, optimizer="sgd")
    for epoch in range(3):  # the loader forks at the beginning of each, twice after gRPC was used
        for inputs, targets in loader:
            opt.step(lambda: loss(net(inputs), targets))
    assert opt.accepted == 12 and opt.refused == 0, (opt.accepted, opt.refused)
    opt.leave()
print("done")
"""


def test_a_data_loader_with_workers_feeds_a_worker_of_the_server(run_python):
    pytest.importorskip("torch")
    assert run_python(LOADER) == "done\n"


def test_replaced_certificates_are_used(certificates):
    folder, ca = certificates
    with serve(workers=1, tls=folder, updates=100_000) as server:
        with connect(server, tls=folder) as client:
            client.join()
            client.push(TARGET)
            ca("issue", "worker-0")
            end = time.monotonic() + 60
            while client.reconnects == 0 and time.monotonic() < end:
                assert client.push(TARGET).verdict == "accepted"
                time.sleep(0.05)
            assert client.reconnects == 1
            assert client.push(TARGET).verdict == "accepted"
    with pytest.raises(ballast.BallastError, match="ca.crt"):
        ballast.Client("127.0.0.1:1", {"w": (5,)}, name="worker-1", tls="/nowhere").join()


def test_a_step_takes_both_gradients_with_one_mask():
    torch = pytest.importorskip("torch")
    import ballast.torch

    net = make_net()
    masks, starts = [], []

    def closure():
        masks.append(torch.nn.functional.dropout(torch.ones(8), 0.5, True).tolist())
        starts.append(net[2].running_mean.clone())
        return net(torch.ones(4, 6) * torch.arange(4)[:, None]).square().mean()

    with ballast.Server(net, workers=1, weights="count", eta=0.01, updates=4) as server:
        opt = ballast.torch.Optimizer(net, server.address)
        losses = []
        while not opt.is_over:
            losses.append(opt.step(closure))
        assert opt.step(closure) is None
        assert opt.accepted == 4 and opt.refused == 0
    # One gradient for the first update, two for each of the others; one more may have been on its
    # way when the training ended.
    assert len(losses) in (4, 5) and len(masks) == 2 * len(losses) - 1
    for first, second in ((1, 2), (3, 4), (5, 6)):
        assert masks[first] == masks[second]
    assert masks[1] != masks[3] != masks[5]
    assert torch.equal(starts[2], torch.zeros(16)) and not torch.equal(starts[3], starts[1])
    alive = weakref.ref(opt)
    del opt
    assert alive() is None  # and with it the connection
    broken = ballast.torch.Optimizer(net, "127.0.0.1:1", patience=1)
    with pytest.raises(ballast.BallastError):
        broken.step(closure)
    for options in ({"optimizer": "adam"}, {"optimizer": 3}, {"beta": "x"}, {"momentum": None}):
        with pytest.raises(ValueError, match=next(iter(options))):
            ballast.torch.Optimizer(net, "127.0.0.1:1", **options)


def test_one_step_at_a_time():
    torch = pytest.importorskip("torch")
    import ballast.torch

    net = torch.nn.Linear(6, 3)

    def closure():
        return net(torch.ones(4, 6)).square().mean()

    with ballast.Server(net, workers=1, weights="count", eta=0.01) as server:
        opt = ballast.torch.Optimizer(net, server.address)
        with pytest.raises(ValueError, match="under way"):
            opt.step(lambda: opt.step(closure))
        for wrong, words in ((None, "cannot be called"), (lambda: 3.0, "a tensor")):
            with pytest.raises(ValueError, match=words):
                opt.step(wrong)
        assert opt.accepted == 0 and opt.step(closure) > 0 and opt.accepted == 1
        opt.leave()
