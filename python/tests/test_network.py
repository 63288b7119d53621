"""Clients, the optimizer of PyTorch, and a server in the process, over loopback."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import weakref

import numpy as np
import pytest

import ballast

TARGET = np.arange(5, dtype=np.float32)
WORKERS = 7  # of those over TLS, two of them lie; with fewer the two could stop the server


def serve(**settings):
    keys = {"workers": 3, "rule": "gm", "weights": "count", "optimizer": "sgd", "eta": 0.1}
    return ballast.Server({"w": np.zeros(5, np.float32)}, **{**keys, **settings})


def connect(server, number=0, **options):
    name = f"worker-{number}"
    return ballast.Client(server.address, {"w": (5,)}, name=name, patience=20, **options)


def test_workers_of_any_framework_train_together():
    verdicts = []

    def work(server, number, is_liar):
        with connect(server, number) as client:
            model = client.join()
            while not model.is_over:
                gradient = model.values - TARGET
                pushed = client.push(-10 * gradient if is_liar else gradient)
                if pushed.verdict is not None:
                    verdicts.append(pushed.verdict)
                model = pushed.next

    with serve(updates=300, rule="cwmed") as server:
        threads = [
            threading.Thread(target=work, args=(server, number, number == 2)) for number in range(3)
        ]
        for thread in threads:
            thread.start()
        assert server.wait(60)
        for thread in threads:
            thread.join()
        version, values, _ = server.model()
        assert server.is_over and server.status()["accepted"] == 300 and version > 0
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
    with pytest.raises(ValueError):
        ballast.Client("127.0.0.1:1", {})
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


def test_two_threads_do_not_share_a_client():
    with serve(workers=5, weights="f-cap(1, 0.3)") as server:
        client = ballast.Client(server.address, {"w": (5,)}, patience=1)
        client.join()
        waiting = threading.Thread(target=lambda: pytest.raises(Exception, client.push, TARGET))
        waiting.start()  # held: one of five workers is no quorum
        time.sleep(0.5)
        with pytest.raises(ValueError, match="another thread"):
            client.push(TARGET)
        server.stop()
        waiting.join(30)
        assert not waiting.is_alive()


FORKED = """
import os, numpy as np, ballast
server = ballast.Server({"w": np.zeros(2, np.float32)}, workers=2, weights="count", rule="mean")
client = ballast.Client(server.address, {"w": (2,)}, name="worker-0")
unused = ballast.Client(server.address, {"w": (2,)}, name="worker-1")
client.join()
child = os.fork()
if child == 0:
    refused = 0
    for call in (client.join, lambda: client.push(np.ones(2, np.float32)), server.model,
                 server.stop, server.wait, unused.join,
                 lambda: ballast.Server({"w": np.zeros(2, np.float32)}, workers=2)):
        try:
            call()
        except ballast.Unsupported as error:
            refused += "fork" in str(error)
    del client, server
    os._exit(refused)
_, status = os.waitpid(child, 0)
assert os.WEXITSTATUS(status) == 7, status
assert client.push(np.ones(2, np.float32)).verdict == "accepted"
client.leave()
server.stop()
"""


def test_a_child_of_a_fork_is_refused_and_its_parent_goes_on(run_python):
    run_python(FORKED)


INTERRUPTED = """
import numpy as np, ballast
server = ballast.Server({"w": np.zeros(2, np.float32)}, workers=5, weights="f-cap(1, 0.3)")
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


@pytest.mark.parametrize("first, second", [("grpc", "ballast"), ("ballast", "grpc")])
def test_grpcio_may_be_in_the_same_process(first, second, run_python):
    pytest.importorskip("grpc")
    run_python(
        f"import {first}\nimport {second}\nimport concurrent.futures, numpy as np\n"
        "other = grpc.server(concurrent.futures.ThreadPoolExecutor(1))\n"
        "port = other.add_insecure_port('127.0.0.1:0')\n"
        "other.start()\n"
        "with ballast.Server({'w': np.zeros(2, np.float32)}, workers=1, weights='count') as s:\n"
        "    client = ballast.Client(s.address, {'w': (2,)}, name='worker-0')\n"
        "    client.join()\n"
        "    channel = grpc.insecure_channel(f'127.0.0.1:{port}')\n"
        "    grpc.channel_ready_future(channel).result(30)\n"
        "    assert client.push(np.ones(2, np.float32)).verdict == 'accepted'\n"
        "    client.leave()\n"
        "channel.close()\n"
        "other.stop(None).wait()\n"
    )


@pytest.fixture
def certificates(program, tmp_path):
    """An authority with a server `main` and its workers."""
    folder = tmp_path / "ca"

    def ca(*arguments):
        command = [program, "ca", *arguments, "--dir", folder]
        subprocess.run(command, check=True, capture_output=True, text=True)

    ca("init")
    ca("issue", "main", "--server", "--host", "localhost", "--host", "127.0.0.1")
    for number in range(WORKERS):
        ca("issue", f"worker-{number}")
    return folder, ca


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


def make_net():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Flatten(),
        torch.nn.Linear(6, 16),
        torch.nn.BatchNorm1d(16),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.25),
        torch.nn.Linear(16, 3),
    )


def blobs(seed, size):
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, size)
    centres = np.random.default_rng(5).standard_normal((3, 6)) * 3
    values = (centres[labels] + random.standard_normal((size, 6))).astype(np.float32)
    return values, labels


def accuracy(net, values, labels):
    import torch

    net.eval()
    with torch.no_grad():
        return float((net(torch.from_numpy(values)).argmax(1).numpy() == labels).mean())


def work(number, folder, address):
    """A worker's whole life, in a process of its own; the last two lie about the labels."""
    import torch

    import ballast.torch

    torch.set_num_threads(1)
    values, labels = blobs(100 + number, 2000)
    if number >= WORKERS - 2:
        labels = 2 - labels
    inputs, targets = torch.from_numpy(values), torch.from_numpy(labels)
    net = make_net()
    opt = ballast.torch.Optimizer(net, address, folder, name=f"worker-{number}", patience=10)
    torch.manual_seed(number)
    try:
        while not opt.is_over:
            chosen = torch.randint(0, 2000, (16,))
            opt.step(
                lambda: torch.nn.functional.cross_entropy(net(inputs[chosen]), targets[chosen])
            )
    except ballast.BallastError:
        traceback.print_exc()  # it was not connected when the server ended
    return opt.accepted


def start_workers(folder):
    """Forked workers, which wait for an address; in a process that has not used gRPC."""
    import torch  # once, for all of them

    torch.set_num_threads(1)
    pipes = [os.pipe() for _ in range(WORKERS)]
    children = []
    for number in range(WORKERS):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                address = os.read(pipes[number][0], 100).decode()
                status = 0 if work(number, folder, address) > 0 else 2
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        children.append(child)
    return [end for _, end in pipes], children


def check_ends(children):
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * WORKERS


def train_with_server_in_process(folder, updates, settings):
    ends, children = start_workers(folder)
    net = make_net()
    with ballast.Server(net, tls=folder, updates=updates, **settings) as server:
        for end in ends:
            os.write(end, server.address.encode())
        assert server.wait(400)
        check_ends(children)
        net.load_state_dict(server.state_dict())
        assert server.status()["accepted"] == updates
    return accuracy(net, *blobs(7, 2000))


def train_with_ballast_serve(folder, updates, settings):
    """The server is the program, with the network as a TorchScript file; None: it has no LibTorch."""
    import torch

    torch.jit.script(make_net()).save(os.path.join(folder, "net.pt"))
    keys = {"name": "tls", "data": "files", "model": os.path.join(folder, "net.pt")}
    for part, seed in (("train", 100), ("test", 7)):
        for kind, values in zip(("images", "labels"), blobs(seed, 2000)):
            keys[f"{part}_{kind}"] = os.path.join(folder, f"{part}_{kind}.npy")
            np.save(keys[f"{part}_{kind}"], values)
    keys.update(settings, updates=updates, seeds=[1], evaluate_every=updates)
    spec, ports = os.path.join(folder, "spec.toml"), os.path.join(folder, "ports")
    with open(spec, "w") as file:
        file.write("\n".join(f"{key} = {json.dumps(value)}" for key, value in keys.items()))
    ends, children = start_workers(folder)
    command = [os.environ["BALLAST_PROGRAM"], "serve", spec, "--listen", "localhost:0", "--json"]
    for option, file in (("ca", "ca.crt"), ("cert", "main.crt"), ("key", "main.key"), ("denied", "denied")):
        command += [f"--{option}", os.path.join(folder, file)]
    command += ["--ports-file", ports, "--state", os.path.join(folder, "state")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not os.path.exists(ports) and process.poll() is None:
            time.sleep(0.05)
        if process.poll() is not None:
            for child in children:
                os.kill(child, signal.SIGKILL)
            said = process.stderr.read().decode()
            assert "LibTorch" in said, said
            return None
        with open(ports) as file:
            address = f"localhost:{file.read().split()[0]}"
        for end in ends:
            os.write(end, address.encode())
        told, said = process.communicate(timeout=400)
        check_ends(children)
        assert process.returncode == 0, said.decode()
    return json.loads(told)["evaluation"]["accuracy"]


@pytest.mark.parametrize("server", ["train_with_ballast_serve", "train_with_server_in_process"])
def test_workers_over_tls_train_to_the_accuracy_of_the_simulation(server, certificates, run_python):
    torch = pytest.importorskip("torch")
    # The two liars have at most 0.4 of the weight, however often they come.
    weights = "f-cap(2, 0.4)"
    settings = {"workers": WORKERS, "rule": "ctma(cwmed, 0.4)", "weights": weights, "eta": 0.05}
    script = (
        "import test_network\n"
        f"print(test_network.{server}({str(certificates[0])!r}, 400, {settings}))"
    )
    told = run_python(script, timeout=500, cwd=os.path.dirname(__file__)).split()[-1]
    if told == "None":
        pytest.skip("the program has no LibTorch")
    net = make_net()
    ballast.Simulation(
        net,
        None,
        tuple(map(torch.from_numpy, blobs(100, 2000))),
        blobs(7, 2000),
        byzantine=2,
        share=0.4,
        attack="label-flip",
        arrivals="uniform",
        updates=400,
        evaluate_every=400,
        **settings,
    ).run(progress=False)
    assert float(told) > 0.9
    assert abs(float(told) - accuracy(net, *blobs(7, 2000))) <= 0.01


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
    with pytest.raises(ValueError, match="optimizer"):
        ballast.torch.Optimizer(net, "127.0.0.1:1", optimizer="adam")
