"""Trainings: the library's models natively, PyTorch's through a callable, to the same result."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import ballast

SPEC = {
    "data": "files",
    "model": "mlp",
    "hidden": 8,
    "workers": 5,
    "byzantine": 1,
    "share": 0.3,
    "attack": "sign-flip",
    "rule": "ctma(gm, 0.4)",
    "updates": 60,
    "evaluate_every": 20,
    "seeds": [3],
}


def blobs(rng, size, classes=3, features=6):
    """Three clouds that a small network can tell apart."""
    labels = rng.integers(0, classes, size)
    centres = np.random.default_rng(5).standard_normal((classes, features)) * 2
    values = centres[labels] + rng.standard_normal((size, features))
    return values.astype(np.float32), labels.astype(np.int64)


@pytest.fixture
def data(rng):
    return blobs(rng, 400), blobs(rng, 200)


@pytest.fixture
def files(data, tmp_path):
    """The same data as files, with the keys that name them."""
    keys = {}
    for part, (values, labels) in zip(("train", "test"), data):
        np.save(tmp_path / f"{part}_images.npy", values)
        np.save(tmp_path / f"{part}_labels.npy", labels)
        keys[f"{part}_images"] = str(tmp_path / f"{part}_images.npy")
        keys[f"{part}_labels"] = str(tmp_path / f"{part}_labels.npy")
    return keys


def make_net(seed=0):
    torch = pytest.importorskip("torch")
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Flatten(),
        torch.nn.Linear(6, 16),
        torch.nn.BatchNorm1d(16),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.25),
        torch.nn.Linear(16, 3),
    )


def test_train_gives_what_the_program_gives(program, files, tmp_path):
    spec = {**SPEC, **files}
    histories = ballast.train(spec, progress=False, threads=1)
    again = ballast.train(spec, progress=False, out=tmp_path / "again")
    assert len(histories) == 1 and histories[0].status == "finished"
    assert (tmp_path / "again" / "summary.json").exists()
    toml = tmp_path / "spec.toml"
    keys = [f"{key} = {value!r}".replace("'", '"') for key, value in spec.items()]
    toml.write_text("\n".join(keys))
    command = [program, "train", toml, "--out", tmp_path / "program"]
    subprocess.run(command, check=True, capture_output=True)
    lines = (tmp_path / "program" / "metrics.csv").read_text().splitlines()
    names = lines[0].split(",")
    at = names.index("test_loss")
    expected = [float(line.split(",")[at]) for line in lines[1:]]
    assert histories[0]["test_loss"].tolist() == pytest.approx(expected, rel=1e-6)
    assert (histories[0].test_loss == again[0].test_loss).all()
    from_file = ballast.train(toml, progress=False, updates=20)
    assert from_file[0].t.tolist() == [20]


def test_a_history_is_a_table(files):
    history = ballast.train({**SPEC, **files}, progress=False, explain=True)[0]
    assert history.t.tolist() == [20, 40, 60]
    assert list(history)[:2] == ["t", "test_accuracy"] and "byzantine_kept" in history
    assert history.accuracy == history["test_accuracy"][-1]
    assert "accuracy" in repr(history) and history.parameters.size > 0
    with pytest.raises(AttributeError, match="neither"):
        getattr(history, "nothing")  # noqa: B009
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = history.plot()
    assert axes.get_xlabel() == "updates"


def test_a_history_is_a_data_frame(files):
    pandas = pytest.importorskip("pandas")
    history = ballast.train({**SPEC, **files}, progress=False, explain=True)[0]
    frame = history.to_pandas()
    assert frame.equals(pandas.DataFrame(history))
    assert list(frame) == list(history) and frame["t"].tolist() == [20, 40, 60]
    assert frame.dtypes["staleness_max"] == np.int64 and frame.dtypes["seconds"] == np.float64
    again = pickle.loads(pickle.dumps(history))
    assert again.to_pandas().equals(frame) and repr(again) == repr(history)


def test_results_of_other_settings_are_replaced_only_if_told_to(files, tmp_path):
    spec = {**SPEC, **files, "updates": 20, "name": "a \U0001f600"}
    first = ballast.train(spec, out=tmp_path / "out", progress=False)
    with pytest.raises(ValueError, match="other settings: eta"):
        ballast.train(spec, out=tmp_path / "out", progress=False, eta=0.5)
    second = ballast.train(spec, out=tmp_path / "out", progress=False, eta=0.5, force=True)
    assert second[0].test_loss[0] != first[0].test_loss[0]


def test_progress_is_told(files):
    told = []
    ballast.train({**SPEC, **files}, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (60, 60) and told == sorted(told)


def test_what_is_wrong_with_a_specification_is_said():
    with pytest.raises(ballast.BallastError, match="wrokers"):
        ballast.train({"wrokers": 3})
    with pytest.raises(OSError, match="nowhere.toml"):
        ballast.train("nowhere.toml")
    with pytest.raises(ValueError, match="nan"):
        ballast.train({"eta": float("nan")})
    with pytest.raises(ValueError, match="dict|key"):
        ballast.train({"eta": object()})
    with pytest.raises(NotImplementedError, match="Simulation"):
        ballast.train({"engine": "torch"})


@pytest.mark.parametrize(
    "keys",
    [
        {"optimizer": "mu2"},
        {"optimizer": "sgd"},
        {"optimizer": "momentum", "method": "table(past=5)", "attack": "little"},
        {"optimizer": "sgd", "method": "fedbuff", "attack": "empire"},
        {"optimizer": "sgd", "method": "aflguard", "server_samples": 60, "attack": "gaussian"},
    ],
    ids=lambda keys: "-".join(str(value) for value in keys.values()),
)
def test_a_module_trains_as_its_torchscript_file_does(keys, program, data, files, tmp_path):
    torch = pytest.importorskip("torch")
    net = make_net()
    torch.jit.script(net).save(str(tmp_path / "net.pt"))
    settings = {**SPEC, "updates": 120, "attack": "label-flip", **keys}
    spec = {**settings, **files, "model": str(tmp_path / "net.pt")}
    del spec["hidden"]
    keys = [f"{key} = {value!r}".replace("'", '"') for key, value in spec.items()]
    (tmp_path / "spec.toml").write_text("\n".join(keys))
    command = [program, "train", tmp_path / "spec.toml", "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True)
    if "LibTorch" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "out" / "metrics.csv").read_text().splitlines()
    names = lines[0].split(",")
    expected = {
        name: [float(line.split(",")[names.index(name)]) for line in lines[1:]]
        for name in ("test_accuracy", "test_loss", "train_loss")
    }
    for key in ("data", "model", "hidden", "seeds"):
        settings.pop(key)
    history = ballast.Simulation(net, None, *data, seed=3, **settings).run(progress=False)
    # Roundings differ between builds of PyTorch; masks and samples do not.
    assert history["test_loss"] == pytest.approx(expected["test_loss"], rel=1e-3)
    assert history["train_loss"] == pytest.approx(expected["train_loss"], rel=1e-3)
    assert np.abs(history.test_accuracy - expected["test_accuracy"]).max() <= 0.01


def test_a_simulation_repeats_and_leaves_the_world_as_it_was(data):
    torch = pytest.importorskip("torch")
    settings = {"updates": 60, "evaluate_every": 30, "workers": 5, "byzantine": 2, "share": 0.3}
    results = []
    for _ in range(2):
        net = make_net()
        net.eval()
        random = torch.get_rng_state()
        history = ballast.Simulation(net, None, *data, **settings).run(progress=False)
        assert torch.equal(torch.get_rng_state(), random) and not net.training
        flat = torch.cat([p.detach().reshape(-1) for p in net.parameters()]).numpy()
        assert (flat == history.parameters).all()
        results.append(history)
    assert (results[0].parameters == results[1].parameters).all()
    assert (results[0].statistics == results[1].statistics).all()


def test_the_second_gradient_sees_the_same_mask_and_moves_no_statistics(data):
    torch = pytest.importorskip("torch")
    masks, moved = [], []

    class Watch(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = make_net()

        def forward(self, x):
            if self.training:
                y = torch.nn.functional.dropout(torch.ones(8), 0.5, True)
                masks.append(y.tolist())
                moved.append(self.net[2].running_mean.clone())
            return self.net(x)

    simulation = ballast.Simulation(
        Watch(), None, *data, workers=1, updates=4, evaluate_every=4, arrivals="uniform"
    )
    simulation.run(progress=False)
    # Update 1 takes one gradient, updates 2, 3 and 4 two each.
    assert len(masks) == 7
    for first, second in ((1, 2), (3, 4), (5, 6)):
        assert masks[first] == masks[second]
    assert masks[1] != masks[3] != masks[5]
    # The first gradient of an update begins where that of the one before ended; the second at
    # the statistics of the beginning, and is forgotten.
    assert torch.equal(moved[2], torch.zeros(16))
    assert not torch.equal(moved[1], moved[3]) and not torch.equal(moved[3], torch.zeros(16))


METHODS = {  # with what each needs besides
    "table": {},
    "table(past=5)": {},
    "asgd": {},
    "delay-adaptive": {},
    "picky(0.01)": {},
    "fedbuff": {},
    "throttle": {},
    "kardam(1)": {},
    "basgd(3)": {},
    "basgdm(3)": {"optimizer": "momentum"},
    "zeno++": {"server_samples": 40},
    "aflguard": {"server_samples": 40},
}


def test_every_method_is_reached_by_its_name(data, files):
    torch = pytest.importorskip("torch")
    assert {text.partition("(")[0] for text in METHODS} == {
        entry.name for entry in ballast.names("methods")
    }
    base = {key: SPEC[key] for key in ("workers", "byzantine", "share", "updates")}
    found = {}
    for method, keys in METHODS.items():
        torch.manual_seed(0)
        net = torch.nn.Linear(6, 3)
        settings = {**base, "evaluate_every": 60, "method": method, **keys}
        history = ballast.Simulation(net, None, *data, **settings).run(progress=False)
        assert history.status == "finished"
        found[method] = history.parameters.tobytes()
        native = ballast.train({**SPEC, **files, **settings}, progress=False)
        assert native[0].status == "finished" and native[0].t.tolist() == [60]
    assert len(set(found.values())) == len(found)  # none is another one under its name
    with pytest.raises(ballast.BallastError, match="did you mean 'fedbuff'"):
        ballast.Simulation(torch.nn.Linear(6, 3), None, *data, method="fedbuf")


def test_every_attack_is_reached_by_its_name_under_every_method(rng):
    torch = pytest.importorskip("torch")
    # Statistics that can be lied about.
    data = [(rng.random((60, 1, 4, 4), dtype=np.float32), rng.integers(0, 3, 60)) for _ in range(2)]

    def simulation(**settings):
        net = torch.nn.Sequential(
            torch.nn.Conv2d(1, 2, 3),
            torch.nn.BatchNorm2d(2),
            torch.nn.Flatten(),
            torch.nn.Linear(8, 3),
        )
        cluster = {"workers": 5, "byzantine": 1, "share": 0.2, "updates": 12, "evaluate_every": 6}
        return ballast.Simulation(net, None, *data, **cluster, **settings)

    names = [entry.name for entry in ballast.attacks()]
    names.remove("back-door")
    for name in names:
        for method, keys in METHODS.items():
            history = simulation(attack=name, method=method, **keys).run(progress=False)
            assert history.status == "finished" and history.t.tolist() == [6, 12], (name, method)
    for method, keys in METHODS.items():
        explained = simulation(attack="little", method=method, **keys)
        if method.startswith("table"):
            history = explained.run(progress=False, explain=True)
            assert history["byzantine_kept"].shape == (2,)
        else:
            with pytest.raises(ballast.Unsupported, match="only the rows of a table"):
                explained.run(progress=False, explain=True)
    for attack in ("back-door", "ambush(back-door)"):
        with pytest.raises(ballast.Unsupported, match="in Python"):
            simulation(attack=attack)


def test_data_sets_of_every_kind_give_the_same_run(data):
    torch = pytest.importorskip("torch")
    pairs = [tuple(torch.from_numpy(part) for part in half) for half in data]

    class Own(torch.utils.data.Dataset):
        def __init__(self, pair):
            self.pair = pair

        def __len__(self):
            return len(self.pair[0])

        def __getitem__(self, i):
            return self.pair[0][i], int(self.pair[1][i])

    found = []
    for make in (tuple, lambda pair: torch.utils.data.TensorDataset(*pair), Own):
        sets = [make(pair) for pair in pairs]
        simulation = ballast.Simulation(make_net(), None, *sets, updates=20, evaluate_every=20)
        found.append(simulation.run(progress=False).parameters)
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()


def test_regression_has_no_classes(data):
    torch = pytest.importorskip("torch")
    (values, labels), _ = data
    targets = labels.astype(np.float32)[:, None]
    net = torch.nn.Linear(6, 1)
    settings = {"workers": 3, "updates": 200, "evaluate_every": 50, "eta": 0.002}
    history = ballast.Simulation(
        net, torch.nn.functional.mse_loss, (values, targets), (values, targets), **settings
    ).run(progress=False)
    assert history.test_loss[-1] < history.test_loss[0]
    assert np.isnan(history.accuracy)
    with pytest.raises(ballast.BallastError, match="label"):
        ballast.Simulation(
            net,
            torch.nn.functional.mse_loss,
            (values, targets),
            (values, targets),
            **settings,
            byzantine=1,
            share=0.2,
            attack="label-flip",
        ).run(progress=False)


def test_simulations_of_two_threads_do_not_disturb_each_other(data):
    torch = pytest.importorskip("torch")
    settings = {"workers": 3, "updates": 60, "evaluate_every": 30}

    def run(seed, found):
        simulation = ballast.Simulation(nets[seed], None, *data, seed=seed, **settings)
        found[seed] = simulation.run(progress=False).parameters.tobytes()

    alone, together = {}, {}
    nets = [make_net(seed) for seed in range(3)]
    for seed in range(3):
        run(seed, alone)
    nets = [make_net(seed) for seed in range(3)]
    random, count = torch.get_rng_state(), torch.get_num_threads()
    threads = [threading.Thread(target=run, args=(seed, together)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone
    assert torch.equal(torch.get_rng_state(), random) and torch.get_num_threads() == count


def test_exceptions_of_the_model_come_out_and_leave_the_model_alone(data):
    torch = pytest.importorskip("torch")
    net = make_net()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    calls = []

    def loss(outputs, targets):
        calls.append(1)
        if len(calls) == 7:
            raise ZeroDivisionError("on purpose")
        return torch.nn.functional.cross_entropy(outputs, targets)

    simulation = ballast.Simulation(net, loss, *data, updates=100, evaluate_every=100)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        simulation.run(progress=False)
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_misuse_of_a_simulation_is_refused(data):
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="not a torch.nn.Module"):
        ballast.Simulation(3, None, *data)
    with pytest.raises(ValueError, match="no parameters"):
        ballast.Simulation(torch.nn.ReLU(), None, *data)
    with pytest.raises(ValueError, match="float32"):
        ballast.Simulation(make_net().double(), None, *data)
    with pytest.raises(ValueError, match="empty"):
        ballast.Simulation(make_net(), None, (data[0][0][:0], data[0][1][:0]), data[1])
    with pytest.raises(ValueError, match="targets"):
        ballast.Simulation(make_net(), None, (data[0][0], data[0][1][:3]), data[1])
    with pytest.raises(ballast.BallastError, match="did you mean"):
        ballast.Simulation(make_net(), None, *data, rule="gn")
    with pytest.raises(ValueError, match="one run"):
        ballast.Simulation(make_net(), None, *data, seeds=[1, 2])
    broken = make_net()
    with torch.no_grad():
        broken[1].weight[0, 0] = float("nan")
    with pytest.raises(ValueError, match="NaN"):
        ballast.Simulation(broken, None, *data, updates=5).run()


INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background
import numpy as np, os, sys, ballast
values = np.random.default_rng(1).standard_normal((500, 6)).astype(np.float32)
labels = np.arange(500) % 3
np.save(sys.argv[1] + "/x.npy", values)
np.save(sys.argv[1] + "/y.npy", labels)
spec = dict(data="files", model="mlp", updates=1_000_000, evaluate_every=1_000_000, workers=3,
            byzantine=0, share=0.0, seeds=[1])
for part in ("train", "test"):
    spec[part + "_images"] = sys.argv[1] + "/x.npy"
    spec[part + "_labels"] = sys.argv[1] + "/y.npy"
def tell(done, total):
    if done == 20: print("running", flush=True)
if sys.argv[2] == "forked" and os.fork() != 0:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
out = None
if sys.argv[2] == "files":  # the thread that is told of Ctrl-C may be through with its runs
    out = sys.argv[1] + "/out"
    spec["curve"] = [dict(label=str(updates), updates=updates) for updates in (20, 10**6, 21)]
try:
    ballast.train(spec, progress=tell, out=out, threads=2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    assert ballast.aggregate("mean", values).size == 6
"""


INTERRUPTED_SIMULATION = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import torch, ballast
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 3))
before = {name: value.clone() for name, value in net.state_dict().items()}
data = torch.randn(200, 6), torch.arange(200) % 3
def tell(done, total):
    if done == 20: print("running", flush=True)
options = dict(workers=3, byzantine=0, share=0.0, evaluate_every=1_000_000)
simulation = ballast.Simulation(net, None, data, data, updates=1_000_000, **options)
try:
    simulation.run(progress=tell)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name]), name
    again = ballast.Simulation(net, None, data, data, updates=10, **options).run(progress=False)
    assert again.t[-1] == 10
"""


def interrupt(command):
    """Sends Ctrl-C to a script once it says that it is running; it must tell and end well."""
    options = {"stdout": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(command, **options) as process:
        try:
            assert process.stdout.readline() == "running\n"
            time.sleep(0.2)
            os.killpg(process.pid, signal.SIGINT)
            assert process.stdout.readline() == "interrupted\n"
            assert process.wait(60) == 0
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("way", ["plain", "files", "forked"])
def test_ctrl_c_ends_train(way, tmp_path):
    interrupt([sys.executable, "-c", INTERRUPTED, str(tmp_path), way])


def test_ctrl_c_ends_a_simulation_and_leaves_its_model_alone():
    pytest.importorskip("torch")
    interrupt([sys.executable, "-c", INTERRUPTED_SIMULATION])
