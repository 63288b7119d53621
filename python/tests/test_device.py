"""What is done for CUDA devices, as far as a machine without one can show it: where calls go, what
they refuse, and the run whose vectors stay in place, which the CPU can make as well."""

import os
import runpy
import signal
from pathlib import Path

import numpy as np
import pytest
from nets import blobs, make_net

import ballast
from ballast import _core, _device

torch = pytest.importorskip("torch")


class OnDevice:
    """An array of a framework that is not there, on a device of DLPack's kind."""

    def __init__(self, kind=2, number=0, dtype="float32", shape=(2, 3)):
        self.place = (kind, number)
        self.dtype = dtype
        self.shape = shape
        self.ndim = len(shape)

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, **options):
        raise AssertionError("nobody should ask for the values")


def has_device():
    try:
        _core.open_device("cuda")
    except ballast.Unsupported:
        return False
    return True


def test_devices_are_told_apart():
    assert _device.device_of(np.ones(3)) is None
    assert _device.device_of(torch.ones(3)) is None
    assert _device.device_of([1.0, 2.0]) is None
    assert _device.device_of(OnDevice(3)) is None  # pinned host memory
    assert _device.device_of(OnDevice(2, 1)) == "cuda:1"
    assert _device.device_of(OnDevice(13)) == "cuda:0"
    assert _device.device_of(OnDevice(10)) == "device 0 of DLPack's kind 10"
    assert _device.device_of(torch.ones(3, device="meta")) == "meta"


def test_rows_in_several_places_are_refused():
    rows = [np.ones(3, np.float32), OnDevice(shape=(3,))]
    with pytest.raises(
        ballast.InvalidArgument, match="row 0 is in host memory but row 1 is on cuda"
    ):
        ballast.aggregate("gm", rows)
    rows = [OnDevice(2, 0, shape=(3,)), OnDevice(2, 1, shape=(3,))]
    with pytest.raises(ballast.InvalidArgument, match="row 0 is on cuda:0 but row 1 is on cuda:1"):
        ballast.aggregate("gm", rows)


def test_a_device_that_is_not_the_first_is_refused():
    with pytest.raises(ballast.Unsupported, match="CUDA_VISIBLE_DEVICES"):
        ballast.aggregate("gm", OnDevice(2, 1))


def test_a_device_of_another_kind_is_refused():
    for rows in (torch.ones(3, 2, device="meta"), OnDevice(10)):
        with pytest.raises(ballast.Unsupported, match="host memory or to a CUDA device"):
            ballast.aggregate("gm", rows)


def test_an_array_that_tells_nothing_of_itself_is_refused():
    class Bare:
        def __dlpack_device__(self):
            return (2, 0)

    for call in (_device._rows, _device.vector_of):
        with pytest.raises(ballast.Unsupported, match="type and shape; bring it to host memory"):
            call(Bare())


def test_types_other_than_float32_and_frameworks_without_empty_are_refused():
    with pytest.raises(ballast.InvalidArgument, match="float64; on the device rows are float32"):
        _device.view_of(OnDevice(dtype="float64"))
    with pytest.raises(ballast.Unsupported, match="no way to make a result of type OnDevice"):
        _device.view_of(OnDevice())


def test_a_row_on_a_device_does_not_go_into_a_table_in_host_memory():
    table = ballast.Table(3, 2)
    with pytest.raises(ballast.Unsupported, match="device='cuda'"):
        table.put(0, OnDevice(shape=(3,)))
    assert len(table) == 0 and table.counts == (0, 0)


def test_a_device_has_a_name():
    assert ballast.Table(3, 2).device == "cpu"
    for name in ("cuda:1", "gpu", None):
        with pytest.raises(ballast.InvalidArgument, match="the first CUDA device"):
            ballast.Table(3, 2, device=name)
    with pytest.raises(ballast.InvalidArgument, match="the first CUDA device"):
        ballast.Simulation(make_net(), None, blobs(1, 9), blobs(2, 9), device="gpu")


def test_without_a_device_the_reason_is_said():
    if has_device():
        pytest.skip("there is a CUDA device")
    with pytest.raises(ballast.Unsupported, match="no CUDA plugin.*bring what is on cuda:0"):
        ballast.aggregate("gm", OnDevice())
    with pytest.raises(ballast.Unsupported, match="no CUDA plugin"):
        ballast.Table(3, 2, device="cuda")
    with pytest.raises(ballast.Unsupported, match="CUDA"):
        ballast.Simulation(make_net(), None, blobs(1, 9), blobs(2, 9), device="cuda")


def simulation(**settings):
    options = {
        "workers": 5,
        "byzantine": 2,
        "share": 0.4,
        "attack": "sign-flip",
        "rule": "ctma(gm, 0.4)",
        "updates": 25,
        "evaluate_every": 10,
        "batch": 8,
        "eta": 0.05,
    }
    options.update(settings)
    return ballast.Simulation(make_net(), None, blobs(1, 300), blobs(2, 100), **options)


def in_place(given, told=None):
    """On one thread of PyTorch's, as run() does it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        network = given._network
        return given._run_in_place(network.read_parameters(), network.read_statistics(), told)
    finally:
        torch.set_num_threads(threads)


def both_ways(**settings):
    """The run through the library's own workers, and that whose vectors stay in place."""
    histories = [simulation(**settings).run(progress=False)]
    staying = simulation(**settings)
    told = []
    run = in_place(staying, told.append)
    if run["status"] == "finished":
        assert sum(told) == staying.updates
    histories.append(ballast.History(run))
    return histories


def assert_same(one, other):
    assert one.status == other.status
    assert (one.run, one.seed, one.settings) == (other.run, other.seed, other.settings)
    assert list(one) == list(other)
    for column in one:
        if column != "seconds":
            np.testing.assert_array_equal(one[column], other[column], err_msg=column)
    np.testing.assert_array_equal(one.parameters, other.parameters)
    np.testing.assert_array_equal(one.statistics, other.statistics)


@pytest.mark.parametrize("optimizer", ["mu2", "momentum", "sgd"])
@pytest.mark.parametrize("attack", ["none", "label-flip", "sign-flip", "zero"])
def test_a_run_in_place_has_the_bits_of_any_other(optimizer, attack):
    assert_same(*both_ways(optimizer=optimizer, attack=attack))


@pytest.mark.parametrize(
    "settings",
    [
        {"reply": "paper"},
        {"staleness_max": 3},
        {"partition": "dirichlet", "dirichlet_alpha": 0.5},
        {"weights": "f-cap(1, 0.4)"},
        {"beta": 1.0, "alpha": "t"},
        {"byzantine": 0, "share": 0.0, "rule": "cwmed", "attack": "little"},
        {"projection": "box", "box_low": -0.1, "box_high": 0.1},
    ],
)
def test_a_run_in_place_follows_the_specification(settings):
    assert_same(*both_ways(**settings))


def test_a_run_in_place_needs_no_statistics():
    options = {"workers": 3, "updates": 12, "rule": "cwmed", "attack": "none"}
    runs = []
    for _ in range(2):
        torch.manual_seed(0)
        net = torch.nn.Linear(6, 3)
        runs.append(ballast.Simulation(net, None, blobs(1, 90), blobs(2, 30), **options))
    assert_same(runs[0].run(progress=False), ballast.History(in_place(runs[1])))


def test_a_run_in_place_that_leaves_the_finite_numbers_says_so():
    one, other = both_ways(eta=1e38, optimizer="sgd", rule="mean", byzantine=0, share=0.0)
    assert other.status == "diverged"
    assert_same(one, other)


@pytest.mark.parametrize("optimizer", ["mu2", "momentum", "sgd"])
def test_an_update_that_is_not_finite_ends_the_run(optimizer):
    """Of a worker's later updates: what the correction says of its result."""
    values, labels = blobs(1, 90)
    values[57] = np.nan
    histories = []
    for way in ("_run_through_host", "_run_in_place"):
        torch.manual_seed(0)
        options = {"workers": 2, "updates": 200, "rule": "mean", "optimizer": optimizer, "batch": 1}
        made = ballast.Simulation(
            torch.nn.Linear(6, 3), None, (values, labels), blobs(2, 30), evaluate_every=5, **options
        )
        through = way == "_run_through_host"
        histories.append(made.run(progress=False) if through else ballast.History(in_place(made)))
    assert histories[1].status == "diverged" and histories[1]["t"][-1] > 4
    assert np.isfinite(histories[1].parameters).all()
    assert_same(*histories)


def cluster_of(made):
    network = made._network
    return _core.Cluster(
        made._text,
        network.read_parameters(),
        network.read_statistics(),
        made._train.size,
        made._labels,
        made._classes,
    )


@pytest.mark.parametrize("optimizer", ["mu2", "momentum", "sgd"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_that_comes_twice_in_a_row_has_its_gradients_first(workers, optimizer):
    options = {"workers": workers, "byzantine": 0, "share": 0.0, "rule": "mean"}
    assert_same(*both_ways(optimizer=optimizer, attack="none", **options))


class Watched:
    """A cluster that tells what is called, and whether an update is being delivered meanwhile."""

    last = None

    def __init__(self, *given):
        Watched.last = self
        self.inner = Cluster(*given)
        self.coming, self.calls = None, []

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def begin_delivery(self, *given):
        self.inner.begin_delivery(*given)
        self.coming = self.inner.next()

    def end_delivery(self):
        self.calls.append(("end", self.coming))
        self.coming = None
        return self.inner.end_delivery()

    def draw(self, worker, step):
        self.calls.append((worker, self.coming))
        return self.inner.draw(worker, step)


Cluster = _core.Cluster


@pytest.fixture
def watched(monkeypatch):
    monkeypatch.setattr(_core, "Cluster", Watched)
    return Watched


def test_gradients_are_computed_while_the_next_update_is_delivered(watched):
    in_place(simulation(workers=2, byzantine=0, share=0.0, rule="mean"))
    calls = watched.last.calls
    first = next(i for i, (name, _) in enumerate(calls) if name == "end")
    joined = [coming for _, coming in calls[:first]]
    assert joined == [None, None], "all have their first gradients before an update arrives"
    beside = alone = 0
    for i, (name, coming) in enumerate(calls[first:], first):
        if name == "end":
            served = coming
            continue
        assert name == served, "the worker that was served computes"
        following = next(worker for end, worker in calls[i:] if end == "end")
        assert coming == (None if following == served else following)
        beside, alone = beside + (coming is not None), alone + (coming is None)
    assert beside > 5 and alone > 5


class Stopping(torch.nn.Module):
    """Stops in its forward pass while an update is delivered."""

    def __init__(self, stop):
        super().__init__()
        self.stop, self.passes = stop, 0

    def forward(self, x):
        if Watched.last is not None and Watched.last.coming is not None:
            self.passes += 1
            if self.passes == 5:
                self.stop()
        return x


def raise_error():
    raise RuntimeError("no more")


def press_control_c():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("optimizer", ["mu2", "sgd"])
@pytest.mark.parametrize(
    "stop, error", [(raise_error, RuntimeError), (press_control_c, KeyboardInterrupt)]
)
def test_a_run_that_stops_while_an_update_is_delivered_leaves_nothing(
    watched, stop, error, optimizer
):
    watched.last = None
    options = {"workers": 5, "updates": 40, "rule": "cwmed", "optimizer": optimizer}
    net = torch.nn.Sequential(Stopping(stop), make_net())
    made = ballast.Simulation(net, None, blobs(1, 90), blobs(2, 30), **options)
    start = made._network.read_parameters()
    with pytest.raises(error):
        in_place(made)
    stopped = watched.last
    assert stopped.coming is not None
    assert stopped.inner.statistics() is not None, "which is refused while the server is at work"
    with pytest.raises(ballast.InvalidArgument, match="no delivery has begun"):
        stopped.inner.end_delivery()
    # The same simulation goes through when nothing stops it.
    made._network.load(start)
    net[0].stop = lambda: None
    again = ballast.History(in_place(made))
    plain = torch.nn.Sequential(torch.nn.Identity(), make_net())
    other = ballast.Simulation(plain, None, blobs(1, 90), blobs(2, 30), **options)
    assert_same(other.run(progress=False), again)


def begin_one(cluster):
    """Begins to deliver the first update, and returns where the next model goes."""
    model = np.zeros(cluster.dim, np.float32)
    for worker in range(cluster.workers):
        cluster.join(worker, model, 0)
    report = np.zeros(len(simulation()._network.read_statistics()) + 1, np.float32)
    cluster.begin_delivery(np.ones(cluster.dim, np.float32), report, model, 0, 0)
    return report, model


def test_one_update_at_a_time_is_delivered():
    cluster = cluster_of(simulation())
    with pytest.raises(ballast.InvalidArgument, match="no delivery has begun"):
        cluster.end_delivery()
    cluster.abandon_delivery()
    report, model = begin_one(cluster)
    for call in (
        lambda: cluster.begin_delivery(model, report, model, 0, 0),
        lambda: cluster.join(0, model, 0),
        lambda: cluster.read_model(model, 0),
        cluster.statistics,
    ):
        with pytest.raises(ballast.InvalidArgument, match="an update is being delivered"):
            call()
    first = cluster.next()
    assert cluster.end_delivery()["is_accepted"]
    assert np.abs(model).max() > 0 and cluster.statistics() is not None
    report[-1] = np.nan
    cluster.begin_delivery(model.copy(), report, model, 0, 0)
    assert cluster.end_delivery() == {"is_finite": False}
    assert first is not None and cluster.next() is not None
    with pytest.raises(ballast.InvalidArgument, match="a report has one number at least"):
        cluster.begin_delivery(model, report[:0], model, 0, 0)


def test_a_cluster_may_be_let_go_while_it_delivers():
    for _ in range(20):
        begin_one(cluster_of(simulation()))


def test_a_forked_child_does_not_wait_for_the_delivery_of_its_parent():
    cluster = cluster_of(simulation())
    begin_one(cluster)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        message = b"no error"
        try:
            cluster.end_delivery()
        except ballast.Unsupported as error:
            message = str(error).encode()
            del cluster
        finally:
            os.write(writing, message)
            os._exit(0)
    os.waitpid(child, 0)
    assert b"make a new simulation" in os.read(reading, 1000)
    assert cluster.end_delivery()["is_accepted"]


@pytest.mark.parametrize("keep", [0.9, 1 / 3, 1e-30])
def test_a_correction_has_the_bits_of_pytorchs_double_precision(rng, keep):
    cluster = cluster_of(simulation())
    made = [torch.from_numpy(rng.standard_normal(cluster.dim).astype(np.float32)) for _ in range(3)]
    gradient, before, reference = made
    for there in (reference, gradient):  # mu^2's, momentum's
        expected = (gradient.double() + keep * (before.double() - there.double())).float()
        corrected, mark = gradient.clone(), torch.zeros(1)
        there = corrected if there is gradient else there
        given = [each.__dlpack__() for each in (corrected, before, there)]
        cluster.correct(*given, keep, mark.__dlpack__(), 0)
        assert torch.equal(corrected.view(torch.int32), expected.view(torch.int32))
        assert mark.item() == 0
        before[-1] = float("inf")
        given = [each.__dlpack__() for each in (corrected, before, there)]
        cluster.correct(*given, keep, mark.__dlpack__(), 0)
        assert mark.isnan()
        before[-1] = 1


def test_a_correction_of_another_length_is_refused():
    cluster = cluster_of(simulation())
    right, wrong, mark = (torch.zeros(size) for size in (cluster.dim, cluster.dim + 1, 1))
    for place in range(3):
        given = [wrong if i == place else right for i in range(3)]
        with pytest.raises(ballast.InvalidArgument, match="values, not"):
            cluster.correct(*(each.__dlpack__() for each in given), 0.9, mark.__dlpack__(), 0)
    given = [right.__dlpack__() for _ in range(3)]
    with pytest.raises(ballast.InvalidArgument, match="a mark is one value"):
        cluster.correct(*given, 0.9, right.__dlpack__(), 0)


def test_attacks_that_need_the_others_take_the_detour():
    assert simulation()._stays_in_place()
    assert simulation(attack="little", byzantine=0, share=0.0)._stays_in_place()
    for settings in ({"attack": "little"}, {"attack": "gaussian(2)"}, {"method": "asgd"}):
        assert not simulation(**settings)._stays_in_place()
    assert not simulation().on_device  # which is the CPU


@pytest.mark.parametrize("more", ["", "--bfloat16 --decay-after 2 3", "--bfloat16 --attack little"])
def test_the_example_runs_on_the_cpu(monkeypatch, capsys, more):
    script = Path(__file__).parents[2] / "examples" / "python" / "resnet18_cifar10.py"
    if not script.exists():
        pytest.skip("the examples are not here")
    words = f"--random-data 40 --device cpu --width 2 --batch 2 --updates 4 {more}".split()
    monkeypatch.setattr("sys.argv", [str(script), *words])
    runpy.run_path(str(script), run_name="__main__")
    told = capsys.readouterr().out
    assert "after 4 updates: accuracy 0." in told and "outside gradients" in told


def test_a_model_in_one_piece_of_memory_is_loaded_and_let_go():
    network = simulation()._network
    values = np.arange(network.dim, dtype=np.float32)
    with network.joined():
        first = network.parameters[0].data_ptr()
        for parameter, offset in zip(network.parameters, (0, 96, 112, 128, 144, 192)):
            assert parameter.data_ptr() == first + 4 * offset
        network.load(values)
        assert network.flat(network.parameters).tolist() == values.tolist()
    np.testing.assert_array_equal(network.read_parameters(), values)
    for parameter in network.parameters:
        assert parameter.storage_offset() == 0 and parameter.is_contiguous()


class Counting(torch.nn.Module):
    """Whose output depends on what it counted."""

    def __init__(self, dtypes, shape):
        super().__init__()
        for i, dtype in enumerate(dtypes):
            self.register_buffer(f"count_{i}", torch.full(shape, 3, dtype=dtype))

    def forward(self, x):
        total = sum(buffer.sum() for buffer in self.buffers())
        for buffer in self.buffers():
            buffer += 1
        return x * (1 + total.double() / 1000).float()


@pytest.mark.parametrize("shape", [(), (2, 3)])
@pytest.mark.parametrize("dtypes", [[torch.int64] * 3, [torch.int64, torch.float64, torch.int32]])
def test_counters_are_put_back_before_every_gradient(dtypes, shape):
    histories = []
    for through in (True, False):
        options = {"workers": 3, "updates": 20, "rule": "cwmed", "evaluate_every": 5}
        net = torch.nn.Sequential(Counting(dtypes, shape), make_net())
        made = ballast.Simulation(net, None, blobs(1, 90), blobs(2, 30), **options)
        histories.append(made.run(progress=False) if through else ballast.History(in_place(made)))
        if not through:
            for buffer in net[0].buffers():
                assert buffer.storage_offset() == 0 and buffer.is_contiguous()
    assert_same(*histories)


def test_weights_that_would_lie_badly_are_left_where_they_are():
    for net in (torch.nn.Linear(3, 3), torch.nn.LSTM(4, 4)):
        made = ballast.Simulation(net, None, blobs(1, 9), blobs(2, 9), workers=2)
        before = [parameter.data_ptr() for parameter in net.parameters()]
        with made._network.joined():
            assert [parameter.data_ptr() for parameter in net.parameters()] == before


@pytest.mark.parametrize("optimizer", ["mu2", "sgd"])
def test_a_model_that_changes_its_inputs_gets_new_ones_for_each_gradient(optimizer):
    class Halving(torch.nn.Module):
        def forward(self, x):
            return x.mul_(0.5)

    histories = []
    for way in ("_run_through_host", "_run_in_place"):
        options = {"workers": 3, "updates": 20, "rule": "cwmed", "optimizer": optimizer}
        net = torch.nn.Sequential(Halving(), make_net())
        made = ballast.Simulation(net, None, blobs(1, 90), blobs(2, 30), **options)
        through = way == "_run_through_host"
        histories.append(made.run(progress=False) if through else ballast.History(in_place(made)))
    assert_same(*histories)


def test_a_data_set_that_is_no_pair_gives_the_same_run():
    values, labels = blobs(1, 90)
    pairs = [(torch.from_numpy(value), int(label)) for value, label in zip(values, labels)]
    histories = []
    for given in (pairs, (values, labels)):
        options = {"workers": 5, "byzantine": 2, "share": 0.4, "attack": "label-flip"}
        options.update(updates=20, rule="cwmed")
        made = ballast.Simulation(make_net(), None, given, blobs(2, 30), **options)
        histories.append(ballast.History(in_place(made)))
    assert_same(*histories)


def test_the_seed_of_a_sample_is_that_of_torch():
    network = simulation()._network
    for seed in (0, 7, 2**63, 2**64 - 1):
        torch.manual_seed(seed)
        expected = torch.get_rng_state()
        network._seed(seed ^ 1)
        assert not torch.equal(torch.get_rng_state(), expected)
        network._seed(seed)
        assert torch.equal(torch.get_rng_state(), expected)
