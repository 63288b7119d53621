"""What a simulation on a CUDA device does at one time: gradients beside the delivery of an update,
and corrections on their stream."""

import numpy as np
import pytest
from nets import blobs

import ballast
from ballast import _core

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("PyTorch sees no CUDA device", allow_module_level=True)

from test_cuda import SETTINGS, make_linear, on_device, run  # noqa: E402

Cluster = _core.Cluster


class Serial:
    """A cluster whose deliveries are over when they have begun."""

    def __init__(self, *given):
        self.inner, self.outcome = Cluster(*given), None

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def begin_delivery(self, *given):
        self.inner.begin_delivery(*given)
        self.outcome = self.inner.end_delivery()

    def end_delivery(self):
        return self.outcome


class Stopping(torch.nn.Module):
    """Stops in one of its forward passes."""

    def __init__(self, at):
        super().__init__()
        self.at, self.passes = at, 0

    def forward(self, x):
        self.passes += 1
        if self.passes == self.at:
            raise RuntimeError("no more")
        return x


def run_of_wide_layers(optimizer, first=None, workers=9):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(6, 40_000), torch.nn.ReLU(), torch.nn.Linear(40_000, 3)]
    net = torch.nn.Sequential(first or torch.nn.Identity(), *layers)
    options = {"workers": workers, "updates": 150, "evaluate_every": 50, "eta": 1e-3}
    return run("cuda", net, attack="sign-flip", optimizer=optimizer, **options)[1]


@pytest.mark.parametrize("workers", [3, 9])
@pytest.mark.parametrize("optimizer", ["mu2", "momentum", "sgd"])
def test_gradients_beside_a_delivery_have_the_bits_of_those_after_it(
    optimizer, workers, monkeypatch
):
    beside = run_of_wide_layers(optimizer, workers=workers)
    monkeypatch.setattr(_core, "Cluster", Serial)
    after = run_of_wide_layers(optimizer, workers=workers)
    assert beside.status == after.status == "finished"
    np.testing.assert_array_equal(beside.parameters, after.parameters)
    np.testing.assert_array_equal(beside["train_loss"], after["train_loss"])


def test_a_run_may_stop_while_an_update_is_delivered():
    expected = run_of_wide_layers("mu2")
    for at in (40, 41, 77):
        with pytest.raises(RuntimeError, match="no more"):
            run_of_wide_layers("mu2", Stopping(at))
    again = run_of_wide_layers("mu2")
    np.testing.assert_array_equal(expected.parameters, again.parameters)


@pytest.mark.parametrize("keep", [0.9, 1 / 3])
def test_a_correction_has_the_bits_of_pytorchs_double_precision(rng, keep):
    simulation = ballast.Simulation(
        make_linear(), None, blobs(1, 300), blobs(2, 20), device="cuda", **SETTINGS
    )
    network = simulation._network
    cluster = _core.Cluster(
        simulation._text,
        network.read_parameters(),
        network.read_statistics(),
        simulation._train.size,
        simulation._labels,
        simulation._classes,
    )
    given = [on_device(rng.standard_normal(cluster.dim).astype(np.float32)) for _ in range(3)]
    gradient, before, reference = given
    expected = (gradient.double() + keep * (before.double() - reference.double())).float()
    mark = torch.zeros(1, device="cuda")
    for bad in (0.0, float("nan")):
        before[0] += bad
        corrected = gradient.clone()
        places = [each.__dlpack__(stream=-1) for each in (corrected, before, reference)]
        cluster.correct(*places, keep, mark.__dlpack__(stream=-1), 1)
        assert torch.equal(corrected[1:].view(torch.int32), expected[1:].view(torch.int32))
        assert bool(mark.isnan()) == bool(np.isnan(bad))
