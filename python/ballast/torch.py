"""For PyTorch: an optimizer whose steps are made by a server, out of many workers' updates."""

import weakref
from typing import Any, Callable, Optional, Tuple

import numpy as np

from . import _checks
from ._client import Client, Model, TlsLike
from ._core import Worker
from ._ctrl_c import KeptCtrlC
from ._errors import BallastError, InvalidArgument
from ._network import Network


class Optimizer:
    """Makes this process a worker of a Ballast server: nothing else of a training loop changes.

    model      the module; its weights become the server's at the first step
    server     "host:port" of `ballast serve` or ballast.Server
    tls        the folder with ca.crt, NAME.crt and NAME.key; None: a server on this machine
    name       as enrolled: "worker-0", ...
    optimizer  this worker's half: "mu2" (corrected momentum), "momentum" or "sgd". It must be the
               one that the server's specification names
    beta       of mu2; None: 1/k
    momentum   of momentum

    >>> opt = ballast.torch.Optimizer(net, server="train.example.org:7000", tls="certificates",
    ...                               name="worker-3")
    >>> for x, y in loader:
    ...     opt.step(lambda: loss(net(x), y))
    ...     if opt.is_over:
    ...         break

    The server has the learning rate. BatchNorm's running statistics are this worker's own.
    """

    def __init__(
        self,
        model: Any,
        server: str,
        tls: TlsLike = None,
        *,
        name: str = "worker-0",
        optimizer: str = "mu2",
        beta: Optional[float] = 0.25,
        momentum: float = 0.9,
        server_name: str = "",
        encoding: str = "float32",
        patience: float = 300.0,
    ) -> None:
        self._network = Network(model)
        self._torch = self._network.torch
        self._client = Client(
            server,
            dict(self._network.parameter_slots),
            statistics=dict(self._network.statistic_slots),
            name=name,
            tls=tls,
            server_name=server_name,
            encoding=encoding,
            patience=patience,
        )
        # Not the method itself: the two would keep each other alive.
        method = weakref.WeakMethod(self._gradient)

        def gradient(*arguments: Any) -> float:
            bound = method()
            assert bound is not None
            return bound(*arguments)

        self._worker = Worker(
            gradient,
            self._network.dim,
            self._network.read_statistics(),
            _checks.text(optimizer, "the optimizer"),
            None if beta is None else _checks.number(beta, "beta"),
            _checks.number(momentum, "momentum"),
        )
        self._model: Optional[Model] = None
        self._statistics = self._network.read_statistics()
        self._closure: Optional[Callable[[], Any]] = None  # of the step under way
        self._random: Any = None
        self._random_after: Any = None
        self.accepted = 0
        self.refused = 0
        self.verdict: Optional[str] = None  # on the last update

    @property
    def is_over(self) -> bool:
        """The server has had all its updates."""
        return self._model is not None and self._model.is_over

    @property
    def version(self) -> int:
        """Of the model that the module holds."""
        return -1 if self._model is None else self._model.version

    @property
    def reconnects(self) -> int:
        return self._client.reconnects

    def join(self) -> None:
        """Connects and loads the server's model; the first step() does it where nobody has."""
        self._model = self._client.join()
        self._load()

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter in self._network.parameters:
            parameter.grad = None

    def step(self, closure: Callable[[], Any]) -> Optional[float]:
        """One update: takes the gradient on a sample, and for mu2 once more on the same sample at
        the model before, sends what follows from them, waits for the verdict and loads the next
        model. Returns the loss; None once the training is over.

        closure  computes the loss of one sample and returns it; it may call backward() itself. It
                 is called once or twice, and must take the same sample both times. Dropout draws
                 the same mask both times, and the second time moves no running statistics. Ctrl-C
                 ends the step after it, pressed twice at once.
        """
        if not callable(closure):
            raise InvalidArgument(f"a closure computes the loss; {closure!r} cannot be called")
        if self._closure is not None:
            raise InvalidArgument("a step is under way, in its closure or in another thread")
        if self._model is None:
            self.join()
        model = self._model
        assert model is not None
        if model.is_over:
            return None
        update = None
        try:
            with KeptCtrlC():
                update, statistics, loss = self._compute(closure, model)
            pushed = self._client.push(update, statistics)
        except BaseException:
            if update is not None:  # the server has not got it, or nobody knows
                self._model = None  # the next step joins anew
                self._worker.start_afresh()
            raise
        self._statistics = statistics
        self._model = pushed.next if not pushed.next.is_over else model._replace(is_over=True)
        self._judge(pushed.verdict)
        self._load()
        return loss

    def leave(self) -> None:
        """Says good-bye to the server."""
        self._client.leave()
        self._model = None

    def __enter__(self) -> "Optimizer":
        return self

    def __exit__(self, *_: Any) -> None:
        self.leave()

    def _compute(
        self, closure: Callable[[], Any], model: Model
    ) -> Tuple[np.ndarray, np.ndarray, float]:
        """The update, the running statistics beside it, and the loss."""
        self._closure = closure
        self._random = self._torch.get_rng_state()
        self._random_after = None
        try:
            return self._worker.on_model(model.version, model.values)
        finally:
            if self._random_after is not None:
                self._torch.set_rng_state(self._random_after)
            self._closure = None
            self._load()

    def _judge(self, verdict: Optional[str]) -> None:
        self.verdict = verdict
        if verdict == "accepted":
            self.accepted += 1
        elif verdict is not None:
            self.refused += 1
        if verdict == "not-finite":
            self._worker.start_afresh()
        if verdict in ("unknown-worker", "wrong-shape", "forged"):
            raise BallastError(f"the server refused an update as {verdict}")

    def _load(self) -> None:
        if self._model is not None and self._model.values.size:
            self._network.load(self._model.values, self._statistics)

    def _gradient(
        self, parameters: np.ndarray, out: np.ndarray, statistics: Optional[np.ndarray]
    ) -> float:
        self._torch.set_rng_state(self._random)

        def loss_of() -> Any:
            with self._torch.enable_grad():
                assert self._closure is not None
                loss = self._closure()
                if not self._torch.is_tensor(loss):
                    raise InvalidArgument("the closure must return the loss, a tensor")
                if loss.requires_grad and all(p.grad is None for p in self._network.parameters):
                    loss.backward()
            return loss

        loss = self._network.gradient(parameters, None, out, statistics, loss_of)
        if self._random_after is None:
            self._random_after = self._torch.get_rng_state()
        return loss
