"""Ctrl-C in the middle of what PyTorch computes, in this process. That it ends whole processes is
tested where they train, test_simulation.py and test_network.py."""

import signal

import pytest

import ballast

torch = pytest.importorskip("torch")


class Pressing(torch.nn.Module):
    """Ctrl-C is pressed in the middle of some of its passes, counted from 1."""

    def __init__(self, at, times):
        super().__init__()
        self.at, self.times, self.begun, self.whole = at, times, 0, 0

    def forward(self, x):
        self.begun += 1
        if self.begun in self.at:
            for _ in range(self.times):
                signal.raise_signal(signal.SIGINT)
        self.whole += 1
        return x


def pressing_simulation(*at, times=1):
    torch.manual_seed(0)
    pressing = Pressing(at, times)
    net = torch.nn.Sequential(pressing, torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8))
    data = torch.randn(200, 6), torch.arange(200) % 3
    options = {"workers": 3, "updates": 12, "rule": "cwmed", "evaluate_every": 6}
    return pressing, ballast.Simulation(net, None, data, data, **options)


@pytest.fixture(autouse=True)
def control_c():
    """As Python has it on a terminal, also where tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# Three workers' first gradients, then two each, and an evaluation after six updates.
@pytest.mark.parametrize("at", [2, 4, 5, 10])
def test_it_waits_until_nothing_is_half_done(at):
    pressing, simulation = pressing_simulation(at)
    start = simulation._network.read_parameters()
    with pytest.raises(KeyboardInterrupt):
        simulation.run(progress=False)
    assert at <= pressing.begun == pressing.whole <= at + 1, "one more of the same sample"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert (simulation._network.read_parameters() == start).all()
    again = simulation.run(progress=False)
    assert (again.parameters == pressing_simulation()[1].run(progress=False).parameters).all()


def test_pressed_twice_it_does_not_wait():
    pressing, simulation = pressing_simulation(4, times=2)
    with pytest.raises(KeyboardInterrupt):
        simulation.run(progress=False)
    assert pressing.begun == 4 and pressing.whole == 3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_does_what_the_program_wants():
    pressed = []

    def note(number, frame):
        pressed.append(number)

    signal.signal(signal.SIGINT, note)
    pressing, simulation = pressing_simulation(4, 9)
    simulation.run(progress=False)
    assert pressed == [signal.SIGINT] * 2 and pressing.whole == pressing.begun > 9
    assert signal.getsignal(signal.SIGINT) is note
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    simulation.run(progress=False)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_it_ends_a_simulation_inside_of_another():
    pressing, inner = pressing_simulation(4)
    outer = pressing_simulation()[1]
    with pytest.raises(KeyboardInterrupt):
        outer.run(progress=lambda done, total: inner.run(progress=False))
    assert 4 <= pressing.begun == pressing.whole <= 5
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_waits_until_a_step_is_computed():
    import ballast.torch

    net = torch.nn.Sequential(Pressing([1], 1), torch.nn.Linear(6, 3))

    def closure():
        return net(torch.ones(4, 6)).square().mean()

    with ballast.Server(net, workers=1, weights="count", eta=0.01) as server:
        opt = ballast.torch.Optimizer(net, server.address)
        with pytest.raises(KeyboardInterrupt):
            opt.step(closure)
        assert net[0].whole == 1 and opt.accepted == 0
        assert opt.step(closure) > 0 and opt.step(closure) > 0 and opt.accepted == 2
        opt.leave()
