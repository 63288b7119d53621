"""A simulated run whose vectors stay where the model is: on a CUDA device, in tests on the CPU.

The library has the server, the arrivals and the batches (_core.Cluster); here are the workers'
gradients and their estimators, as optim/estimator.h states them: in double precision, products and
sums rounded one by one, so that with the same gradients the updates have the same bits as those of
the library's own workers. A worker computes as soon as it has a model. What is computed does not
depend on when, so this is the run in which every gradient is computed just before it is needed,
without keeping the models until then.
"""

import math
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from . import _core
from ._device import first_device, torch_stream
from ._network import Network

LossOf = Callable[[np.ndarray, np.ndarray], Any]
Evaluate = Callable[[Any, np.ndarray], Tuple[float, float]]

_PROGRESS_STEP = 10

# What an attack makes of its worker's own update; label-flip has changed the labels already. The
# zero that is added keeps -0 out, as the library's own attacks do.
CHANGES: Dict[str, Callable[[Any], Any]] = {
    "none": lambda update: update,
    "label-flip": lambda update: update,
    "sign-flip": lambda update: update.neg().add_(0.0),
    "zero": lambda update: update.new_zeros(update.shape),
}


class _Worker:
    """What a worker remembers from update to update, all on the device."""

    def __init__(self, statistics: Any) -> None:
        self.updates = 0
        self.statistics = statistics
        self.direction: Any = None
        self.model: Any = None
        self.previous_model: Any = None
        self.sent: Any = None  # what is under way; None: it is not finite
        self.sent_statistics: Any = None  # in host memory, where the server combines them
        self.loss = 0.0


class _Tally:
    """Since the last evaluation; byzantine since the beginning."""

    def __init__(self, byzantine: int = 0) -> None:
        self.losses: List[float] = []  # of honest workers
        self.staleness: List[int] = []
        self.byzantine = byzantine


class DeviceRun:
    def __init__(
        self, cluster: _core.Cluster, network: Network, attack: str, statistics: np.ndarray
    ) -> None:
        self._cluster = cluster
        self._network = network
        self._torch = network.torch
        self._change = CHANGES[attack]
        self._start_statistics = statistics
        start = self._torch.from_numpy(statistics).to(network.device)
        self._workers = [_Worker(start) for _ in range(cluster.workers)]
        # Where no gradient is taken at the model before, one place for models serves all workers.
        self._needs_previous = cluster.correction(2)[1]
        self._shared_model = None if self._needs_previous else self._new_vector()
        self._gradient_seconds = 0.0
        self._tally = _Tally()
        self._rows: List[Dict[str, Any]] = []

    def train(
        self, loss_of: LossOf, evaluate: Evaluate, told: Optional[Callable[[int], None]]
    ) -> Dict[str, Any]:
        """The run as History takes it."""
        begin = time.perf_counter()
        self._loss_of, self._evaluate, self._told = loss_of, evaluate, told
        self._begin, self._evaluating = begin, 0.0
        with first_device(), self._network.joined():
            for number in range(self._cluster.workers):
                self._join(number)
            status = self._deliver_all()
            model = self._read_model()
        run = self._cluster.settings()
        run["status"] = status
        run["evaluations"] = self._rows
        run["gradient_seconds"] = self._gradient_seconds
        run["total_seconds"] = time.perf_counter() - begin
        run["model"] = model.cpu().numpy().copy()
        run["statistics"] = self._statistics()
        return run

    def _new_vector(self) -> Any:
        return self._torch.empty(
            self._cluster.dim, dtype=self._torch.float32, device=self._network.device
        )

    def _stream(self) -> int:
        return torch_stream(self._torch, self._network.device)

    @staticmethod
    def _export(tensor: Any) -> Any:
        # -1, "no synchronisation": the library queues its work on PyTorch's own stream.
        return tensor.__dlpack__(stream=-1) if tensor.is_cuda else tensor.__dlpack__()

    def _read_model(self) -> Any:
        model = self._new_vector()
        self._cluster.read_model(self._export(model), self._stream())
        return model

    def _statistics(self) -> np.ndarray:
        """Before the first update counts nobody's do, and those of the first model are used."""
        combined = self._cluster.statistics()
        return self._start_statistics if combined is None else combined

    def _place_for_model(self, worker: _Worker) -> Any:
        """Memory of a model that is not needed any more."""
        if self._shared_model is not None:
            return self._shared_model
        place = worker.previous_model
        return self._new_vector() if place is None else place

    def _join(self, number: int) -> None:
        worker = self._workers[number]
        model = self._place_for_model(worker)
        self._cluster.join(number, self._export(model), self._stream())
        if self._cluster.comes_again(number):
            self._compute(number, model)

    def _deliver_all(self) -> str:
        t = 0
        while True:
            number = self._cluster.next()
            if number is None:
                return "finished"
            worker = self._workers[number]
            if worker.sent is None:
                self._evaluate_now(t)
                return "diverged"
            t += 1
            # The estimator's next step needs the model of this one, but not the one before.
            model = self._place_for_model(worker)
            outcome = self._cluster.deliver(
                self._export(worker.sent),
                worker.sent_statistics,
                self._export(model),
                self._stream(),
            )
            self._note(number, outcome, worker.loss)
            is_last = t == self._cluster.updates
            if self._told is not None and (t % _PROGRESS_STEP == 0 or is_last):
                self._told((t - 1) % _PROGRESS_STEP + 1)
            if outcome["has_diverged"]:
                self._evaluate_now(t)
                return "diverged"
            if t % self._cluster.evaluate_every == 0 or is_last:
                self._evaluate_now(t)
            if self._cluster.comes_again(number):
                self._compute(number, model)

    def _compute(self, number: int, model: Any) -> None:
        """The worker's next update, from the model it was given."""
        worker = self._workers[number]
        step = worker.updates + 1
        indices, labels, seed = self._cluster.draw(number, step)
        keep, needs_previous = self._cluster.correction(step)

        def loss_of() -> Any:
            return self._timed(lambda: self._loss_of(indices, labels))

        gradient_at = self._network.gradient_in_place
        loss, gradient, statistics = gradient_at(model, seed, worker.statistics, loss_of)
        reference = gradient
        if needs_previous:
            _, reference, _ = gradient_at(worker.model, seed, None, loss_of)
        direction = _correct(gradient, worker.direction, reference, keep)
        sent_statistics = statistics.cpu().numpy()
        largest = float(self._torch.linalg.vector_norm(direction, float("inf")))  # NaN of a NaN
        if not math.isfinite(largest) or not np.isfinite(sent_statistics).all():
            worker.sent = None
            return
        worker.updates, worker.loss = step, float(loss)
        worker.direction, worker.statistics = direction, statistics
        worker.sent_statistics = sent_statistics
        worker.previous_model, worker.model = worker.model, model
        is_byzantine = self._cluster.is_byzantine(number)
        worker.sent = self._change(direction) if is_byzantine else direction

    def _timed(self, work: Callable[[], Any]) -> Any:
        """Counts the time of forward and backward passes alone; a device is waited for."""
        wait = self._torch.cuda.synchronize if self._network.device.type == "cuda" else _nothing
        wait()
        begin = time.perf_counter()
        result = work()
        wait()
        self._gradient_seconds += time.perf_counter() - begin
        return result

    def _note(self, number: int, outcome: Dict[str, Any], loss: float) -> None:
        if not outcome["is_accepted"]:
            return
        self._tally.staleness.append(outcome["staleness"])
        if self._cluster.is_byzantine(number):
            self._tally.byzantine += 1
        else:
            self._tally.losses.append(loss)

    def _evaluate_now(self, t: int) -> None:
        begin = time.perf_counter()
        loss, accuracy = self._evaluate(self._read_model(), self._statistics())
        tally, self._tally = self._tally, _Tally(self._tally.byzantine)
        self._rows.append(
            {
                "t": t,
                "test_accuracy": accuracy,
                "test_loss": loss,
                "train_loss": _mean(tally.losses),
                "byzantine_updates": tally.byzantine,
                "staleness_mean": _mean(tally.staleness),
                "staleness_max": max(tally.staleness, default=0),
                "seconds": begin - self._begin - self._evaluating,
            }
        )
        self._evaluating += time.perf_counter() - begin


def _correct(gradient: Any, before: Any, reference: Any, keep: float) -> Any:
    """gradient + keep * (before - reference)."""
    if keep == 0.0:
        return gradient
    difference = before.double()
    difference -= reference
    difference *= keep
    difference += gradient
    return difference.float()


def _mean(values: List[Any]) -> float:
    return float(sum(values) / len(values)) if values else float("nan")


def _nothing() -> None:
    pass
