"""Workers of a server over TLS, two of which lie, and the simulation of the same."""

import json
import os
import signal
import subprocess
import time
import traceback

import numpy as np
import pytest
from nets import accuracy, blobs, make_net

import ballast

WORKERS = 7  # two of them lie; with fewer the two could stop the server by staying away


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
            x, y = inputs[chosen], targets[chosen]
            opt.step(lambda: torch.nn.functional.cross_entropy(net(x), y))  # noqa: B023
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
    """The server is the program, which reads a TorchScript file; None: it has no LibTorch."""
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
    for option, file in (
        ("ca", "ca.crt"),
        ("cert", "main.crt"),
        ("key", "main.key"),
        ("denied", "denied"),
    ):
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
        "import test_tls_training\n"
        f"print(test_tls_training.{server}({str(certificates[0])!r}, 400, {settings}))"
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
