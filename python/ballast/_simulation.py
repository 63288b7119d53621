"""Trainings in a simulated cluster: the library's own models, or any of PyTorch's."""

import os
import threading
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _checks, _core
from ._ctrl_c import KeptCtrlC, let_through
from ._device import check_device, name_of
from ._device_run import CHANGES, DeviceRun
from ._errors import InvalidArgument, IoError, Unsupported
from ._history import History
from ._network import Network
from ._progress import Progress, listener
from ._samples import Samples
from ._toml import is_table, to_toml

Spec = Union[str, "os.PathLike[str]", Mapping[str, Any]]

# One simulation at a time: PyTorch's random numbers and number of threads are the process's.
_turn = threading.RLock()


def _renew_turn() -> None:
    global _turn
    _turn = threading.RLock()


os.register_at_fork(after_in_child=_renew_turn)


def train(
    spec: Spec,
    *,
    out: Union[str, "os.PathLike[str]", None] = None,
    threads: int = 0,
    explain: bool = False,
    progress: Progress = None,
    force: bool = False,
    **settings: Any,
) -> List[History]:
    """Runs a specification natively, without Python in the loop: what `ballast train` does.

    spec      a TOML file, a TOML text (of more than one line), or a dictionary of the same keys;
              docs/spec.md has them
    out       a folder for records, models and pictures; None: nothing is written. Runs that are
              there are not made again, and those that were interrupted go on
    threads   0: every hardware thread; the results do not depend on it
    explain   also record what the rule did at every evaluation, where the method is "table"
    progress  True, False, None (on a terminal), or a callable that is told (done, total)
    force     replace what `out` holds of other settings, which is refused else
    settings  single keys that replace those of the specification: rule="gm", updates=100

    Returns one History per run, in the order of the plan; with `out` the models are in that folder,
    and not in it. Ctrl-C ends it within a few updates.

    >>> runs = ballast.train({"data": "mnist", "rule": "ctma(gm, 0.4)", "updates": 500})
    >>> runs[0].accuracy
    """
    text, file = _text_of(spec)
    overrides = [_override(key, value) for key, value in settings.items()]
    total = _core.count_updates(text, file, overrides)
    runs = _core.train(
        text,
        file,
        overrides,
        "" if out is None else os.fspath(out),
        _checks.threads(threads) or _core.hardware_threads(),
        bool(explain),
        bool(force),
        listener(progress, total),
    )
    return [History(run) for run in runs]


def _override(key: str, value: Any) -> str:
    if is_table(value):
        raise InvalidArgument(f"{key} is a table, which belongs into the specification itself")
    return to_toml({key: value}).strip().replace(" = ", "=", 1)


def _text_of(spec: Spec) -> Tuple[str, str]:
    if isinstance(spec, Mapping):
        return to_toml(spec), "specification.toml"
    if isinstance(spec, str) and "\n" in spec:
        return spec, "specification.toml"
    path = Path(spec)
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except OSError as error:
        raise IoError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"{path}: {error}") from error


class Simulation:
    """A cluster of workers, some of which lie, that trains a PyTorch model of yours.

    The server, the schedules, the attacks and the rules are the library's own; only gradients and
    evaluations come from PyTorch. With the same seed two runs give the same bits (on a CUDA device
    only if PyTorch's functions do).

    model      a torch.nn.Module; it is trained in place, and starts from the weights it has
    loss       called as loss(outputs, targets); None: cross-entropy
    train_set  (inputs, targets), a TensorDataset, or any Dataset with an order
    test_set   the same; the accuracy is the share of the samples whose class is found, NaN where
               targets are no classes
    workers, byzantine, share, attack, rule, ...   keys of a specification, see docs/spec.md:
               updates, evaluate_every, batch, optimizer ("mu2", "momentum", "sgd"), eta, beta,
               weights, arrivals, partition, seed, ...
    device     where all of it lies: "cpu", or "cuda", the first CUDA device. The model is moved
               there, and so are the samples of (inputs, targets). None: where the model is

    On a CUDA device models and updates never leave it (only BatchNorm's statistics do), as long as
    the Byzantine workers need nothing but their own update: the attacks none, label-flip, sign-flip
    and zero. Other attacks, other methods than "table" (also "table(past=30)") and explain=True
    take a detour: gradients and rules stay on the device, but every model and update passes through
    host memory, where the attack is made. on_device says which it is.

    Dropout and BatchNorm are as in the library's own engine: the second gradient of mu^2, on the
    same sample at the model before, sees the same mask and moves no statistics; each worker has its
    own running statistics, and the median of them is evaluated.

    >>> simulation = ballast.Simulation(net, None, (x, y), (x_test, y_test), workers=17,
    ...     byzantine=8, share=0.4, attack="sign-flip", rule="ctma(gm, 0.4)", updates=1000)
    >>> history = simulation.run()
    >>> history.plot()
    """

    def __init__(
        self,
        model: Any,
        loss: Optional[Callable[[Any, Any], Any]],
        train_set: Any,
        test_set: Any,
        *,
        workers: int = 9,
        byzantine: int = 0,
        share: float = 0.0,
        attack: str = "sign-flip",
        rule: str = "ctma(gm, {share})",
        seed: int = 1,
        classes: Optional[int] = None,
        device: Any = None,
        **settings: Any,
    ) -> None:
        kind = _move(model, device)
        self._network = Network(model)
        self._torch = self._network.torch
        self._loss = loss or self._torch.nn.CrossEntropyLoss()
        self._train = Samples(train_set, "train_set", self._network.device)
        self._test = Samples(test_set, "test_set", self._network.device)
        labels = self._train.labels()
        self._labels: List[int] = [] if labels is None else labels.tolist()
        known = 0 if classes is None else _checks.whole(classes, "classes", 1, 2**31)
        self._classes = 0 if labels is None else max(known, int(labels.max()) + 1)
        for key in ("data", "model", "engine", "hidden", "seeds", "grid", "panel", "curve"):
            if key in settings:
                raise InvalidArgument(f"a simulation takes no '{key}': it is one run of a model")
        spec = {
            "name": "simulation",
            "workers": workers,
            "byzantine": byzantine,
            "share": share,
            "attack": attack,
            "rule": rule,
            "seeds": [seed],
            "device": kind or self._network.device.type,
        }
        spec.update(settings)
        self._text = to_toml(spec)
        self.updates = _core.count_updates(self._text, "simulation", [])
        self._attack = _core.canonical("attacks", attack) if byzantine else "none"
        if "back-door" in self._attack:
            raise Unsupported(
                "back-door paints into the library's images, and those of a simulation are in "
                "Python; train() has it"
            )
        self._method = str(settings.get("method", "table"))

    @property
    def on_device(self) -> bool:
        """Whether updates stay on a device from the gradient to the new model."""
        return self._network.device.type != "cpu" and self._stays_in_place()

    def _stays_in_place(self) -> bool:
        return self._attack in CHANGES and self._method == "table"

    def run(self, *, explain: bool = False, progress: Progress = None, threads: int = 1) -> History:
        """Trains from the weights the model has now, and leaves the last ones in it.

        explain  also record what the rule did at every evaluation, where the method is "table"
        progress True, False, None (on a terminal), or a callable that is told (done, total)
        threads  of PyTorch's: one gradient of a small batch gains nothing by more, and with one the
                 result does not depend on the machine

        Ctrl-C ends the run between two gradients, pressed twice at once; PyTorch's random numbers
        go on afterwards as if nothing had been drawn. An exception of the model or the loss is
        raised here. Other threads that run simulations wait for this one.
        """
        told = listener(progress, self.updates)
        with _turn, KeptCtrlC():
            return self._run(explain, told, _checks.whole(threads, "threads", 1, 1025))

    def _run(self, explain: bool, told: Optional[Callable[[int], None]], threads: int) -> History:
        network = self._network
        torch, on_cuda = self._torch, network.device.type == "cuda"
        was_training = network.module.training
        random = torch.get_rng_state()
        cuda_random = torch.cuda.get_rng_state(network.device) if on_cuda else None
        threads_before = torch.get_num_threads()
        start = network.read_parameters()
        statistics = network.read_statistics()
        torch.set_num_threads(threads)
        try:
            if self.on_device and not explain:
                run = self._run_in_place(start, statistics, told)
            else:
                run = self._run_through_host(start, statistics, explain, told)
            network.load(run["model"], run["statistics"])
        except BaseException:
            network.load(start, statistics)
            raise
        finally:
            torch.set_rng_state(random)
            if on_cuda:
                torch.cuda.set_rng_state(cuda_random, network.device)
            torch.set_num_threads(threads_before)
            network.module.train(was_training)
            for parameter in network.parameters:
                parameter.grad = None
        return History(run)

    def _run_through_host(
        self,
        start: np.ndarray,
        statistics: np.ndarray,
        explain: bool,
        told: Optional[Callable[[int], None]],
    ) -> Dict[str, Any]:
        return _core.simulate(
            self._text,
            self._gradient,
            self._evaluate,
            start,
            statistics,
            self._train.size,
            self._labels,
            self._classes,
            explain,
            told,
        )

    def _run_in_place(
        self,
        start: np.ndarray,
        statistics: np.ndarray,
        told: Optional[Callable[[int], None]],
    ) -> Dict[str, Any]:
        cluster = _core.Cluster(
            self._text, start, statistics, self._train.size, self._labels, self._classes
        )
        run = DeviceRun(cluster, self._network, self._attack, statistics)
        return run.train(self._loss_of, self._evaluate, told)

    def _loss_of(self, indices: np.ndarray, labels: np.ndarray) -> Callable[[], Any]:
        """The loss of a batch and its gradient in the module, each time it is called."""
        let_through()
        chosen = self._train.chosen(indices, labels if self._labels else None)

        def loss_of() -> Any:
            inputs, targets = chosen()
            loss = self._loss(self._network.module(inputs), targets)
            loss.backward()
            return loss

        return loss_of

    def _gradient(
        self,
        parameters: np.ndarray,
        indices: np.ndarray,
        labels: np.ndarray,
        seed: int,
        out: np.ndarray,
        statistics: Optional[np.ndarray],
    ) -> float:
        return self._network.gradient(
            parameters, seed, out, statistics, self._loss_of(indices, labels)
        )

    def _evaluate(self, parameters: Any, statistics: np.ndarray) -> Tuple[float, float]:
        torch = self._torch
        self._network.load(parameters, statistics)
        self._network.evaluate()
        loss, correct, has_classes = 0.0, 0, False
        with torch.no_grad():
            for first in range(0, self._test.size, 256):
                let_through()
                indices = np.arange(first, min(first + 256, self._test.size))
                inputs, targets = self._test.batch(indices)
                outputs = self._network.module(inputs)
                loss += float(self._loss(outputs, targets)) * len(indices)
                has_classes = outputs.ndim == 2 and targets.ndim == 1
                if has_classes:
                    correct += int((outputs.argmax(1) == targets).sum())
        size = self._test.size
        return loss / size, correct / size if has_classes else float("nan")

    def state_dict(self, history: History) -> Dict[str, Any]:
        """The model of a history as named tensors."""
        if history.parameters is None or history.statistics is None:
            raise InvalidArgument("the history has no model")
        return self._network.state(history.parameters, history.statistics)


def _move(model: Any, device: Any) -> Optional[str]:
    """Brings the model to the device; returns the library's name of it, None: not said."""
    if device is None:
        return None
    import torch

    if not isinstance(model, torch.nn.Module):
        return None  # which Network refuses
    if str(device) == "reference":
        model.to("cpu")
        return "reference"
    name = name_of(device)
    if name == "cuda":
        if not torch.cuda.is_available():
            raise Unsupported("PyTorch sees no CUDA device here; use the device 'cpu'")
        check_device("cuda:0")
    model.to("cuda:0" if name == "cuda" else "cpu")
    return name


def compare(histories: Sequence[History], column: str = "test_accuracy", ax: Any = None) -> Any:
    """Draws several histories into one picture."""
    for history in histories:
        ax = history.plot(column, ax)
    if ax is not None:
        ax.legend()
    return ax
