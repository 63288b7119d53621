"""Rules, tables and simulations on a CUDA device, beside the same on the host."""

import json
import os
import threading

import numpy as np
import pytest
from nets import blobs, make_net

import ballast
from ballast import _core

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("PyTorch sees no CUDA device", allow_module_level=True)
try:
    _core.open_device("cuda")
except ballast.Unsupported as error:
    pytest.skip(str(error), allow_module_level=True)

RULES = [
    "mean",
    "cwmed",
    "cwtm(0.2)",
    "gm",
    "krum(0.2)",
    "multikrum(0.2)",
    "cge(0.2)",
    "cclip(cwmed, 3, 2)",
    "clip(gm, 5)",
    "arc(mean, 0.2)",
    "nnm(gm, 0.2)",
    "bucketing(cwmed, 2)",
    "ctma(cwmed, 0.4)",
    "ctma(gm, 0.4)",
]
SHAPES = [(1, 1), (2, 7), (5, 1000), (17, 66_230), (40, 4099), (150, 513)]


def on_device(values):
    return torch.from_numpy(np.ascontiguousarray(values)).cuda()


def make_rows(rng, m, d):
    """Most of them alike, some far away, columns with ties."""
    rows = rng.standard_normal((m, d)).astype(np.float32)
    rows[:: max(m // 3, 1)] *= 100
    rows[:, :: max(d // 5, 1)] = np.round(rows[:, :: max(d // 5, 1)])
    return rows


def assert_alike(rule, result, expected):
    assert result.is_cuda and result.dtype == torch.float32
    values = result.cpu().numpy()
    if rule == "cwmed":
        np.testing.assert_array_equal(values.view(np.uint32), expected.view(np.uint32))
        return
    scale = np.abs(expected).max() + 1e-30
    assert np.abs(values - expected).max() <= 1e-5 * scale, rule


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shape", SHAPES)
def test_results_are_those_of_the_host(rng, rule, shape):
    rows = make_rows(rng, *shape)
    weights = rng.integers(1, 50, shape[0])
    try:
        expected, told = ballast.aggregate(rule, rows, weights, return_report=True)
    except ballast.InvalidArgument as error:
        with pytest.raises(ballast.InvalidArgument) as raised:
            ballast.aggregate(rule, on_device(rows), weights)
        assert str(raised.value) == str(error)
        return
    result, report = ballast.aggregate(rule, on_device(rows), weights, return_report=True)
    assert_alike(rule, result, expected)
    np.testing.assert_allclose(report.kept, told.kept, atol=1e-5)


def test_rows_may_lie_anyhow(rng):
    rows = make_rows(rng, 6, 900)
    expected = ballast.aggregate("cwmed", rows)
    whole = on_device(rows)
    wide = torch.zeros(6, 2000, device="cuda")
    wide[:, 1:901] = whole
    tall = on_device(rows.T)
    for given in (
        whole,
        list(whole),
        tuple(row.clone() for row in whole),
        wide[:, 1:901],  # rows with gaps between them, used where they lie
        tall.T,  # values with gaps between them, which are copied on the device
        list(tall.T),
        whole.clone().requires_grad_(),
    ):
        assert_alike("cwmed", ballast.aggregate("cwmed", given), expected)
    shaped = ballast.aggregate("cwmed", whole.view(6, 30, 30))
    assert shaped.shape == (30, 30)
    assert_alike("cwmed", shaped.reshape(-1), expected)
    shaped = ballast.aggregate("cwmed", [row.view(30, 30) for row in whole])
    assert shaped.shape == (30, 30)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_types_are_converted_and_come_back(rng, dtype):
    rows = on_device(make_rows(rng, 5, 300)).to(dtype)
    result = ballast.aggregate("cwmed", rows)
    assert result.dtype == dtype and result.is_cuda
    expected = ballast.aggregate("cwmed", rows.float())
    assert torch.equal(result, expected.to(dtype))
    if dtype == torch.float64:
        rows[2, 7] = 1e300
        with pytest.raises(ballast.InvalidArgument, match="beyond float32"):
            ballast.aggregate("cwmed", rows)


def test_what_is_wrong_is_said(rng):
    rows = on_device(make_rows(rng, 4, 50))
    with pytest.raises(ballast.InvalidArgument, match="row 0 is on cuda:0 but row 1 is in host"):
        ballast.aggregate("gm", [rows[0], rows[1].cpu()])
    with pytest.raises(ballast.InvalidArgument, match="floating-point"):
        ballast.aggregate("gm", rows.int())
    with pytest.raises(ballast.InvalidArgument, match="3 weights"):
        ballast.aggregate("gm", rows, [1, 2, 3])
    with pytest.raises(ballast.InvalidArgument, match="m x d"):
        ballast.aggregate("gm", rows[0])
    with pytest.raises(ballast.InvalidArgument, match="row 0 has the shape"):
        ballast.aggregate("gm", [rows[0], rows[1][:20]])
    for bad in (float("nan"), float("inf")):
        hostile = rows.clone()
        hostile[2, 49] = bad
        with pytest.raises(ballast.InvalidArgument, match="row 2 holds a NaN or an infinity"):
            ballast.aggregate("gm", hostile)
    with pytest.raises(ballast.InvalidArgument, match="no rows"):
        ballast.aggregate("gm", rows[:0])


def test_a_graph_that_is_recorded_is_left_alone(rng):
    rows = on_device(make_rows(rng, 4, 50))
    graph = torch.cuda.CUDAGraph()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        graph.capture_begin()
        doubled = rows * 2
        with pytest.raises(ballast.Unsupported, match="graph"):
            ballast.aggregate("gm", rows)
        graph.capture_end()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(doubled, rows * 2)


SLEEP = 200_000_000  # cycles, about a tenth of a second


def test_what_the_caller_has_queued_is_seen(rng):
    rows = on_device(make_rows(rng, 5, 10_000))
    expected = ballast.aggregate("cwmed", rows.cpu())
    for stream in (torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()):
        late = torch.zeros_like(rows)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(SLEEP)
            late.copy_(rows)
            result = ballast.aggregate("cwmed", late)
            late.zero_()  # behind the call: must not be seen by it
            doubled = result * 2
        stream.synchronize()
        assert torch.equal(doubled.cpu(), expected * 2)


def test_a_table_follows_the_caller_from_stream_to_stream(rng):
    rows = on_device(make_rows(rng, 5, 10_000))
    table = ballast.Table(10_000, 5, "cwmed", device="cuda")
    streams = [torch.cuda.Stream() for _ in range(5)]
    late = [torch.zeros(10_000, device="cuda") for _ in range(5)]
    torch.cuda.synchronize()
    for worker, stream in enumerate(streams):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(SLEEP // 10)
            late[worker].copy_(rows[worker])
            table.put(worker, late[worker], 1)
            late[worker].fill_(-1)
    result = table.aggregate()
    torch.cuda.current_stream().synchronize()
    assert torch.equal(result.cpu(), ballast.aggregate("cwmed", rows.cpu()))


def test_rows_are_used_where_they_lie():
    rows = torch.randn(16, 12_000_000, device="cuda")
    ballast.aggregate("cwmed", rows[:, :1000])
    torch.cuda.synchronize()
    before = torch.cuda.mem_get_info()[0]
    ballast.aggregate("cwmed", rows)
    taken = before - torch.cuda.mem_get_info()[0]
    assert taken < rows.numel() * 4 / 4, "less than a quarter of the rows"


@pytest.mark.parametrize("rule", ["cwmed", "gm", "ctma(gm, 0.4)", "cwtm(0.2)"])
def test_a_table_gives_what_aggregate_gives(rng, rule):
    m, d = 9, 5003
    rows = on_device(make_rows(rng, m, d))
    table = ballast.Table(d, m, rule, device="cuda")
    assert table.device == "cuda" and "device='cuda'" in repr(table)
    for worker in range(m):
        table.put(worker, rows[worker])
    for step in range(12):
        worker = step % m
        rows[worker] = torch.randn(d, device="cuda")
        table.put(worker, rows[worker])
        result, report = table.aggregate(return_report=True)
        expected = ballast.aggregate(rule, rows.cpu().numpy(), table.counts)
        assert_alike(rule, result, expected)
        assert len(report.kept) == m
    table.remove(3)
    assert len(table) == m - 1
    left = [i for i in range(m) if i != 3]
    counts = [table.counts[i] for i in left]
    expected = ballast.aggregate(rule, rows[left].cpu().numpy(), counts)
    assert_alike(rule, table.aggregate(), expected)


def test_a_table_on_the_device_takes_rows_of_any_kind(rng):
    rows = make_rows(rng, 3, 100)
    table = ballast.Table(100, 3, "cwmed", device="cuda")
    table.put(0, rows[0], 1)
    table.put(1, torch.from_numpy(rows[1]), 1)
    table.put(2, on_device(rows[2]).double(), 1)
    expected = ballast.aggregate("cwmed", rows)
    result = table.aggregate()
    assert result.is_cuda and result.dtype == torch.float64
    np.testing.assert_array_equal(result.cpu().numpy(), expected)
    table.put(0, rows[0], 1)
    result = table.aggregate()
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, expected)
    bad = on_device(rows[1])
    bad[50] = float("nan")
    with pytest.raises(ballast.InvalidArgument, match="NaN"):
        table.put(1, bad)
    with pytest.raises(ballast.InvalidArgument, match="99 values"):
        table.put(1, on_device(rows[1])[:99])
    np.testing.assert_array_equal(table.aggregate(), expected)


def test_too_large_a_table_is_an_error_that_leaves_the_others(rng):
    rows = on_device(make_rows(rng, 3, 100))
    with pytest.raises(MemoryError):
        ballast.Table(2**37, 2, device="cuda")
    expected = ballast.aggregate("cwmed", rows.cpu().numpy())
    assert_alike("cwmed", ballast.aggregate("cwmed", rows), expected)


def test_several_threads_with_streams_of_their_own(rng):
    rows = [make_rows(rng, 7, 20_011) for _ in range(4)]
    expected = [ballast.aggregate("ctma(cwmed, 0.4)", each) for each in rows]
    failed = []

    def work(number):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(20):
                    given = on_device(rows[number])
                    result = ballast.aggregate("ctma(cwmed, 0.4)", given)
                    assert_alike("ctma(cwmed, 0.4)", result, expected[number])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed


class Foreign:
    """An array of another framework, as CuPy's: DLPack, and a module with its functions."""

    streams = []

    def __init__(self, tensor):
        self.tensor = tensor
        self.dtype = str(tensor.dtype).replace("torch.", "")
        self.shape = tuple(tensor.shape)
        self.ndim = tensor.ndim
        self.itemsize = 4
        self.strides = tuple(4 * stride for stride in tensor.stride())

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, *, stream=None):
        Foreign.streams.append(stream)
        return self.tensor.__dlpack__(stream=stream)

    def __array_namespace__(self):
        return Foreign

    def reshape(self, *shape):
        return Foreign(self.tensor.reshape(*shape))

    float32 = torch.float32

    @staticmethod
    def empty(size, dtype):
        return Foreign(torch.empty(size, dtype=dtype, device="cuda"))


def test_any_array_with_dlpack_will_do(rng):
    rows = make_rows(rng, 5, 600)
    expected = ballast.aggregate("cwmed", rows)
    Foreign.streams = []
    for given in (Foreign(on_device(rows)), [Foreign(on_device(row)) for row in rows]):
        result = ballast.aggregate("cwmed", given)
        assert type(result) is Foreign and result.shape == (600,)
        assert_alike("cwmed", result.tensor, expected)
    assert set(Foreign.streams) == {1}, "CUDA's default stream, as DLPack numbers it"
    table = ballast.Table(600, 5, "cwmed", device="cuda")
    for worker in range(5):
        table.put(worker, Foreign(on_device(rows[worker])), 1)
    assert_alike("cwmed", table.aggregate().tensor, expected)
    with pytest.raises(ballast.InvalidArgument, match="float32"):
        ballast.aggregate("gm", Foreign(on_device(rows).double()))


def test_a_forked_child_is_refused():
    ballast.aggregate("gm", torch.ones(2, 3, device="cuda"))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        message = b"no error"
        try:
            _core.open_device("cuda")
        except ballast.Unsupported as error:
            message = str(error).encode()
        finally:
            os.write(writing, message)
            os._exit(0)
    os.waitpid(child, 0)
    assert b"spawn" in os.read(reading, 1000)


SETTINGS = {
    "workers": 5,
    "byzantine": 2,
    "share": 0.4,
    "rule": "cwmed",
    "updates": 60,
    "evaluate_every": 20,
    "batch": 16,
    "eta": 0.05,
}


def run(device, net=None, **settings):
    torch.backends.cuda.matmul.allow_tf32 = False
    net = make_linear() if net is None else net
    options = {**SETTINGS, **settings}
    simulation = ballast.Simulation(
        net, None, blobs(1, 300), blobs(2, 200), device=device, **options
    )
    return simulation, simulation.run(progress=False)


def test_updates_in_place_are_those_through_host_memory():
    """On one device, where ties are broken alike."""
    runs = []
    for name in ("_run_in_place", "_run_through_host"):
        options = {**SETTINGS, "rule": "ctma(gm, 0.4)", "attack": "sign-flip"}
        simulation = ballast.Simulation(
            make_linear(), None, blobs(1, 300), blobs(2, 200), device="cuda", **options
        )
        start = simulation._network.read_parameters()
        rest = (None,) if name == "_run_in_place" else (False, None)
        runs.append(getattr(simulation, name)(start, np.empty(0, np.float32), *rest))
    in_place, through_host = (ballast.History(each) for each in runs)
    np.testing.assert_allclose(in_place.parameters, through_host.parameters, atol=1e-5)
    np.testing.assert_allclose(in_place["train_loss"], through_host["train_loss"], rtol=1e-4)


def make_linear():
    torch.manual_seed(0)
    return torch.nn.Linear(6, 3)


# With two rows of equal weight ctma(gm, 0.4) has two answers that are as good, and the last digits
# choose: host and device may go different ways from there. f-cap takes no step before it has three.
RULES_OF_RUNS = [
    {"rule": "cwmed"},
    {"rule": "ctma(gm, 0.4)", "weights": "f-cap(1, 0.4)"},
]


@pytest.mark.parametrize("attack", ["none", "label-flip", "sign-flip", "zero"])
@pytest.mark.parametrize("optimizer", ["mu2", "momentum", "sgd"])
@pytest.mark.parametrize("rule", RULES_OF_RUNS)
def test_a_simulation_on_the_device_is_that_on_the_host(attack, optimizer, rule):
    _, host = run("cpu", attack=attack, optimizer=optimizer, **rule)
    simulation, device = run("cuda", attack=attack, optimizer=optimizer, **rule)
    assert simulation.on_device
    assert next(simulation._network.module.parameters()).is_cuda
    assert device.status == "finished"
    for column in ("t", "byzantine_updates", "staleness_mean", "staleness_max"):
        np.testing.assert_array_equal(host[column], device[column])
    np.testing.assert_allclose(device["train_loss"], host["train_loss"], rtol=1e-3)
    np.testing.assert_allclose(device.parameters, host.parameters, atol=1e-4)


@pytest.mark.parametrize(
    "settings", [{"attack": "little"}, {"attack": "gaussian"}, {"method": "asgd"}]
)
def test_what_needs_the_host_takes_the_detour(settings):
    settings = {"attack": "sign-flip", "optimizer": "sgd", **settings}
    _, host = run("cpu", **settings)
    simulation, device = run("cuda", **settings)
    assert not simulation.on_device
    np.testing.assert_allclose(device.parameters, host.parameters, atol=1e-4)


def test_a_network_with_dropout_and_batchnorm_learns_on_the_device():
    before = torch.cuda.get_rng_state()
    net = make_net().cuda()
    settings = {"updates": 300, "evaluate_every": 100, "rule": "ctma(gm, 0.4)"}
    simulation, history = run(None, net, attack="sign-flip", **settings)
    assert simulation.on_device
    assert torch.equal(before, torch.cuda.get_rng_state())
    assert history.accuracy > 0.8
    values, labels = blobs(2, 200)
    net.eval()
    with torch.no_grad():
        found = net(torch.from_numpy(values).cuda()).argmax(1).cpu().numpy()
    assert (found == labels).mean() == pytest.approx(history.accuracy)
    state = simulation.state_dict(history)
    assert all(value.is_cuda for value in state.values())


def test_explaining_takes_the_detour():
    net = make_linear()
    simulation = ballast.Simulation(
        net, None, blobs(1, 300), blobs(2, 200), device="cuda", attack="sign-flip", **SETTINGS
    )
    history = simulation.run(progress=False, explain=True)
    assert simulation.on_device and "direction_cosine" in history


def copied_bytes(file, kind):
    """Of the copies that a profile shows, the bytes of those of this kind."""
    events = json.loads(file.read_text())["traceEvents"]
    return [
        event["args"]["bytes"]
        for event in events
        if event.get("cat") == "gpu_memcpy" and kind in event["name"]
    ]


def test_updates_and_models_do_not_leave_the_device(tmp_path):
    hidden = 150_000
    layers = [torch.nn.Linear(6, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 3)]
    net = torch.nn.Sequential(*layers)  # 6 MB
    options = {**SETTINGS, "updates": 12, "evaluate_every": 12, "attack": "sign-flip"}
    simulation = ballast.Simulation(
        net, None, blobs(1, 300), blobs(2, 20), device="cuda", **options
    )
    start = simulation._network.read_parameters()
    activities = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profile:
        finished = simulation._run_in_place(start, np.empty(0, np.float32), None)
        torch.cuda.synchronize()
    assert finished["status"] == "finished"
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    size = start.nbytes
    inside = copied_bytes(tmp_path / "trace.json", "DtoD")
    if sum(inside) < size:
        pytest.skip("the profiler does not show copies here")
    out = copied_bytes(tmp_path / "trace.json", "DtoH")
    into = copied_bytes(tmp_path / "trace.json", "HtoD")
    # The first model goes there, for each vector of the optimizer, and comes back once when the
    # server is made; the last one comes back for the History.
    assert sum(each >= size for each in out) <= 2, out
    assert sum(each >= size for each in into) <= 4, into
    assert sum(each for each in out if each < size) < size / 10


def test_the_seed_of_a_sample_is_that_of_torch():
    simulation = ballast.Simulation(
        make_linear(), None, blobs(1, 300), blobs(2, 20), device="cuda", **SETTINGS
    )
    for seed in (0, 7, 2**63, 2**64 - 1):
        torch.manual_seed(seed)
        expected = torch.rand(9), torch.rand(9, device="cuda")
        simulation._network._seed(seed)
        assert torch.equal(torch.rand(9), expected[0])
        assert torch.equal(torch.rand(9, device="cuda"), expected[1])


@pytest.mark.parametrize("optimizer", ["mu2", "momentum"])
def test_a_run_in_two_queues_has_the_bits_of_the_run_in_one(optimizer, monkeypatch):
    """Large enough that the server works while gradients are computed."""
    from ballast import _queues

    def history():
        torch.manual_seed(0)
        layers = [torch.nn.Linear(6, 40_000), torch.nn.ReLU(), torch.nn.Linear(40_000, 3)]
        options = {**SETTINGS, "workers": 9, "updates": 150, "evaluate_every": 50, "eta": 1e-3}
        simulation = ballast.Simulation(
            torch.nn.Sequential(*layers),
            None,
            blobs(1, 300),
            blobs(2, 200),
            device="cuda",
            attack="sign-flip",
            optimizer=optimizer,
            **options,
        )
        return simulation.run(progress=False)

    two = history()
    for name in ("hold_server", "hold_gradients"):
        monkeypatch.setattr(_queues.Queues, name, lambda self: self.finish())
    monkeypatch.setattr(
        _queues.Queues,
        "mark",
        lambda self, mark=_queues.Queues.mark: (mark(self), self.finish())[0],
    )
    one = history()
    assert one.status == two.status == "finished"
    np.testing.assert_array_equal(one.parameters, two.parameters)
    np.testing.assert_array_equal(one["train_loss"], two["train_loss"])
    assert 0 < two.gradient_seconds <= two["seconds"][-1]
