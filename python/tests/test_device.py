"""What is done for CUDA devices, as far as a machine without one can show it: where calls go, what
they refuse, and the run whose vectors stay in place, which the CPU can make as well."""

import runpy
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


def test_the_example_runs_on_the_cpu(monkeypatch, capsys):
    script = Path(__file__).parents[2] / "examples" / "python" / "resnet18_cifar10.py"
    if not script.exists():
        pytest.skip("the examples are not here")
    words = "--random-data 40 --device cpu --width 2 --batch 2 --updates 4".split()
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
