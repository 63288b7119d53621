"""A simulated run whose vectors stay where the model is: on a CUDA device, in tests on the CPU.

The library has the server, the arrivals and the batches (_core.Cluster); here are the workers'
gradients and their estimators, as optim/estimator.h states them: in double precision, products and
sums rounded one by one, so that with the same gradients the updates have the same bits as those of
the library's own workers. A worker computes as soon as it has a model. What is computed does not
depend on when, so this is the run in which every gradient is computed just before it is needed,
without keeping the models until then.

Queueing a gradient takes Python as long as a device takes for a small one, and the server asks its
device several times how to go on. So while the server takes an update, on a thread of the
library's, the gradients of the worker that was served before are queued: one thing at a time at
either, in the order of the arrivals, and nothing is shared but what was finished before.
"""

import time
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from . import _core
from ._device import first_device
from ._network import Network
from ._queues import queues_of

LossOf = Callable[[np.ndarray, np.ndarray], Callable[[], Any]]
Evaluate = Callable[[Any, np.ndarray], Tuple[float, float]]

_PROGRESS_STEP = 10

# What an attack makes of its worker's own update; label-flip has changed the labels already.
# Subtracting keeps -0 out, as the library's own attacks do.
CHANGES: Dict[str, Callable[[Any], Any]] = {
    "none": lambda update: update,
    "label-flip": lambda update: update,
    "sign-flip": lambda update: 0.0 - update,
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
        self.sent: Any = None  # what is under way
        self.given: Any = None  # where its next model goes
        # What Python and the server read of it, in host memory; there when the mark is reached.
        self.report: Any = None  # the statistics, and a number that is finite as the update is
        self.report_values: Any = None  # the same memory, NumPy's
        self.loss: Any = None
        self.mark: Any = None
        self.spans: List[Tuple[Any, Any]] = []  # marks around its gradients


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
        # Where no gradient is taken at the model before, two places for models serve all workers in
        # turn: that which gradients are taken at, and that which the server writes meanwhile.
        needs_previous = cluster.correction(2)[1]
        self._shared_models = [] if needs_previous else [self._new_vector() for _ in range(2)]
        self._queues = queues_of(self._torch, network.device)
        self._gradient_seconds = 0.0
        self._tally = _Tally()
        self._rows: List[Dict[str, Any]] = []

    def train(
        self, loss_of: LossOf, evaluate: Evaluate, told: Optional[Callable[[int], None]]
    ) -> Dict[str, Any]:
        """The run as History takes it."""
        begin, cluster = time.perf_counter(), self._cluster
        self._loss_of, self._evaluate, self._told = loss_of, evaluate, told
        self._begin, self._evaluating = begin, 0.0
        with first_device(), self._network.joined():
            try:
                for number in range(cluster.workers):
                    self._join(number)
                status = self._deliver_all()
                model = self._read_model()
            finally:  # before memory that is in use is let go
                cluster.abandon_delivery()
                self._queues.finish()
        run = cluster.settings()
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

    @staticmethod
    def _export(tensor: Any) -> Any:
        # -1, "no synchronisation": who waits for whom is said by _queues.
        return tensor.__dlpack__(stream=-1) if tensor.is_cuda else tensor.__dlpack__()

    def _read_model(self) -> Any:
        model = self._new_vector()
        self._queues.hold_server()
        self._cluster.read_model(self._export(model), self._queues.server)
        self._queues.hold_gradients()
        return model

    def _statistics(self) -> np.ndarray:
        """Before the first update counts nobody's do, and those of the first model are used."""
        combined = self._cluster.statistics()
        return self._start_statistics if combined is None else combined

    def _place_for_model(self, worker: _Worker) -> Any:
        """Memory of a model that is not needed any more, for the server to write to when the
        worker's gradients are done. The worker's own is read by no others than these; other memory
        may be in use by all that are queued. The estimator's next step needs the model of this one,
        but not the one before."""
        if worker.previous_model is not None and not self._shared_models:
            return worker.previous_model
        self._queues.hold_server()
        if not self._shared_models:
            return self._new_vector()
        self._shared_models.reverse()
        return self._shared_models[0]

    def _join(self, number: int) -> None:
        worker = self._workers[number]
        model = self._place_for_model(worker)
        self._cluster.join(number, self._export(model), self._queues.server)
        self._queues.hold_gradients()
        if self._cluster.comes_again(number):
            self._compute(number, model)

    def _deliver_all(self) -> str:
        t = 0
        coming = self._cluster.next()
        self._begin_delivery(coming)
        while coming is not None:
            number, worker = coming, self._workers[coming]
            outcome = self._cluster.end_delivery()
            self._queues.hold_gradients()
            self._count_time(worker)
            if not outcome["is_finite"]:
                self._evaluate_now(t)
                return "diverged"
            t += 1
            self._note(number, outcome, float(worker.loss))
            is_last = t == self._cluster.updates
            if self._told is not None and (t % _PROGRESS_STEP == 0 or is_last):
                self._told((t - 1) % _PROGRESS_STEP + 1)
            if outcome["has_diverged"]:
                self._evaluate_now(t)
                return "diverged"
            if t % self._cluster.evaluate_every == 0 or is_last:
                self._evaluate_now(t)
            coming = self._cluster.next()
            is_same = coming == number  # which has no update yet
            if not is_same:
                self._begin_delivery(coming)
            if self._cluster.comes_again(number):
                self._compute(number, worker.given)
            if is_same:
                self._begin_delivery(coming)
        return "finished"

    def _begin_delivery(self, number: Optional[int]) -> None:
        """Of this worker's update, which comes next; none after the last."""
        if number is None:
            return
        worker = self._workers[number]
        worker.given = self._place_for_model(worker)
        self._cluster.begin_delivery(
            self._export(worker.sent),
            worker.report_values,
            self._export(worker.given),
            self._queues.event(worker.mark),
            self._queues.server,
        )

    def _compute(self, number: int, model: Any) -> None:
        """Queues the worker's next update, from the model it was given."""
        worker = self._workers[number]
        worker.updates += 1
        indices, labels, seed = self._cluster.draw(number, worker.updates)
        keep, needs_previous = self._cluster.correction(worker.updates)
        loss_of = self._loss_of(indices, labels)

        def timed_loss() -> Any:
            begin = self._queues.mark()
            result = loss_of()
            worker.spans.append((begin, self._queues.mark()))
            return result

        gradient_at = self._network.gradient_in_place
        loss, gradient, statistics = gradient_at(model, seed, worker.statistics, timed_loss)
        reference = gradient
        if needs_previous:
            _, reference, _ = gradient_at(worker.model, seed, None, timed_loss)
        direction, is_finite = self._correct(gradient, worker.direction, reference, keep)
        worker.direction, worker.statistics = direction, statistics
        worker.previous_model, worker.model = worker.model, model
        is_byzantine = self._cluster.is_byzantine(number)
        worker.sent = self._change(direction) if is_byzantine else direction
        self._report(worker, loss, is_finite)

    def _correct(self, gradient: Any, before: Any, reference: Any, keep: float) -> Tuple[Any, Any]:
        """gradient + keep * (before - reference), in place of the gradient, and a number that is
        finite where all values are."""
        if keep == 0.0:
            return gradient, self._torch.linalg.vector_norm(gradient, float("inf"))  # NaN of a NaN
        mark = gradient.new_zeros(1)
        self._cluster.correct(
            self._export(gradient),
            self._export(before),
            self._export(reference),
            keep,
            self._export(mark),
            self._queues.gradients,
        )
        return gradient, mark

    def _report(self, worker: _Worker, loss: Any, is_finite: Any) -> None:
        """Queues what is to be known on the host when the update arrives."""
        torch = self._torch
        report = torch.cat((worker.statistics, is_finite.reshape(1)))
        if worker.report is None:
            worker.report = self._queues.host_memory(len(report), torch.float32)
            worker.report_values = worker.report.numpy()
            worker.loss = self._queues.host_memory(1, torch.float64)
        worker.report.copy_(report, non_blocking=True)
        worker.loss.copy_(loss.reshape(1).double(), non_blocking=True)
        worker.mark = self._queues.mark()

    def _count_time(self, worker: _Worker) -> None:
        """Of an update that has arrived.

        The time of the gradients is that between the marks before a forward pass and after its
        backward pass, on the device's own clock: the device computes, or waits for Python to queue
        the rest of these passes. All other time is outside, on the device as in Python, but for
        that in which both go on at once. bench/gpu_python_parts.py compares a run with the same
        gradients alone.
        """
        for begin, end in worker.spans:
            self._gradient_seconds += self._queues.seconds(begin, end)
        worker.spans.clear()

    def _note(self, number: int, outcome: Dict[str, Any], loss: float) -> None:
        if not outcome["is_accepted"]:
            return
        self._tally.staleness.append(outcome["staleness"])
        if self._cluster.is_byzantine(number):
            self._tally.byzantine += 1
        else:
            self._tally.losses.append(loss)

    def _evaluate_now(self, t: int) -> None:
        self._queues.finish()  # which is time of the training
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


def _mean(values: List[Any]) -> float:
    return float(sum(values) / len(values)) if values else float("nan")
