"""Rules on arrays, and the table of a server."""

import json
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from . import _checks, _core, _device
from ._arrays import Restore, rows_of, vector_of, view_of, weights_of
from ._errors import InvalidArgument, Unsupported

_default_threads = 0


def set_threads(threads: int) -> None:
    """How many threads calls use that do not say it themselves; 0: every hardware thread. Results
    do not depend on it. On a machine that does other work, fewer are often faster."""
    global _default_threads
    _default_threads = _checks.threads(threads)


class Report(NamedTuple):
    """What a rule tells besides its result."""

    kept: List[float]  # of each row, the fraction of its weight that was used
    iterations: int  # steps of the geometric median


class Entry(NamedTuple):
    """One name that can be written in an expression, as the library's registries have it."""

    name: str
    usage: str
    help: str
    paper: str
    parameters: List[Dict[str, Any]]

    def __str__(self) -> str:
        lines = [self.usage, f"    {self.help}"]
        lines += [_parameter_line(parameter) for parameter in self.parameters]
        if self.paper != "-":
            lines.append(f"    [{self.paper}]")
        return "\n".join(lines)


def _parameter_line(parameter: Mapping[str, Any]) -> str:
    parts = [parameter["help"], parameter.get("range") or ""]
    if parameter.get("default"):
        parts.append(f"else {parameter['default']}")
    return f"    {parameter['name']}: " + "; ".join(part for part in parts if part)


def names(kind: str) -> List[Entry]:
    """Everything of a kind that can be named: "rules", "attacks", "methods", "weights",
    "arrivals", "compute-times", "models" or "optimizers", as `ballast list` prints it."""
    entries = []
    for line in _core.catalogue(_checks.text(kind, "the kind")).splitlines():
        known = json.loads(line)
        entries.append(Entry(*(known[field] for field in Entry._fields)))
    return entries


def rules() -> List[Entry]:
    """Every rule, with its parameters and the paper it comes from.

    >>> print(ballast.rules()[1])
    """
    return names("rules")


def attacks() -> List[Entry]:
    """Every attack that the simulation knows."""
    return names("attacks")


def canonical(expression: str, kind: str = "rules") -> str:
    """The one text of all that mean the same: "ctma( gm,2/5 )" becomes "ctma(gm, 0.4)"."""
    return _core.canonical(_checks.text(kind, "the kind"), _text(expression))


def aggregate(
    expression: str,
    rows: Any,
    weights: Any = None,
    return_report: bool = False,
    *,
    draw: int = 0,
    threads: int = 0,
) -> Any:
    """Combines rows, some of which may be lies, into one vector that the lies cannot steer.

    expression     the rule, for example "gm" or "ctma(gm, 0.4)"; see ballast.rules()
    rows           one array whose first axis numbers the rows, or a list of arrays of one shape:
                   NumPy, PyTorch, or anything with DLPack or the buffer protocol, in host memory
                   or on the first CUDA device (PyTorch, CuPy)
    weights        one positive number per row, for example how many updates its worker has sent;
                   None: all alike
    return_report  also return a Report: how much of each row's weight was kept
    draw           numbers the call, for rules that draw random numbers
    threads        0: those of set_threads(); the result does not depend on it

    The result is of the kind and type of the rows. float32 rows are read where they lie, without a
    copy (but for rows whose values are not contiguous). float64, float16 and bfloat16 rows are
    rounded to float32 first and the result is converted back: the library computes in float32, with
    sums in double precision. The result has the same bits as that of `ballast aggregate`.

    Rows on a CUDA device stay there, and so does the result. The work is queued on PyTorch's
    current stream, like that of PyTorch's own functions. Medians have the same bits as on the host;
    other results may differ in their last digits.

    Raises InvalidArgument, a ValueError, for rows that hold a NaN or an infinity and for wrong
    shapes, weights and arguments; NotFound, a LookupError, for a name that no rule has. The message
    says what to do. Other threads of Python run meanwhile.

    >>> rows = np.float32([[1, 1], [1, 2], [2, 1], [900, -900]])
    >>> ballast.aggregate("cwmed", rows)
    array([1.5, 1. ], dtype=float32)
    >>> ballast.aggregate("ctma(gm, 0.3)", rows, weights=[5, 4, 5, 6], return_report=True)[1].kept
    [1.0, 1.0, 1.0, 0.0]
    """
    device = _device.device_of_rows(rows)
    if device is not None:
        result, kept, iterations = _device.aggregate(
            _text(expression), rows, weights_of(weights), _draw(draw), device
        )
        return (result, Report(kept, iterations)) if return_report else result
    given = rows_of(rows)
    out = np.empty(given.dim, np.float32)
    kept, iterations = _core.aggregate(
        _text(expression), given.values, weights_of(weights), out, _draw(draw), _threads(threads)
    )
    result = given.restore(out)
    return (result, Report(kept, iterations)) if return_report else result


def _text(expression: Any) -> str:
    return _checks.text(expression, "a rule", "ctma(gm, 0.4)")


def _draw(draw: Any) -> int:
    return _checks.whole(draw, "draw", 0, 2**64)


def _threads(threads: Any) -> int:
    return _checks.threads(threads) or _default_threads


def _size(value: Any, what: str) -> int:
    return _checks.whole(value, what, 1, 2**40)


class Table:
    """The rows of a server's workers: each worker's latest update, and a rule over them.

    It remembers what the rule needs and brings that up to date when one row changes, which is
    faster than starting over.

    dim      number of values of a row
    workers  how many workers there are, numbered from 0
    rule     an expression, see ballast.rules()
    threads  0: every hardware thread
    device   "cuda": the rows are kept on the first CUDA device, and it computes there. Rows on that
             device are copied within it, and rows from the host are brought there

    >>> table = ballast.Table(dim=3, workers=4, rule="ctma(gm, 0.4)")
    >>> for worker in range(4):
    ...     table.put(worker, gradients[worker])
    >>> direction = table.aggregate()

    Any thread may call it; calls take turns.
    """

    def __init__(
        self,
        dim: int,
        workers: int,
        rule: str = "gm",
        *,
        threads: int = 0,
        device: str = "cpu",
    ) -> None:
        self._device = _device.name_of(device)
        with _device.first_device():
            self._table = _core.Table(
                _size(dim, "dim"),
                _size(workers, "workers"),
                _text(rule),
                _threads(threads),
                self._device,
            )
        self._restore: Restore = lambda result: result
        self._view: Optional[_device.DeviceArray] = None  # of the row put last, if on the device

    @property
    def dim(self) -> int:
        return self._table.dim

    @property
    def workers(self) -> int:
        return self._table.workers

    @property
    def rule(self) -> str:
        return self._table.rule

    @property
    def device(self) -> str:
        return self._device

    @property
    def counts(self) -> Tuple[int, ...]:
        """How often each worker's row was put."""
        return tuple(self._table.counts())

    def put(self, worker: int, values: Any, weight: Optional[float] = None) -> None:
        """Replaces a worker's row. Without a weight it is how often the worker's row was put, this
        time included: what a server does. The values are copied, and checked: a NaN is refused and
        changes nothing."""
        number = self._number(worker)
        used = None if weight is None else _checks.number(weight, "the weight")
        where = _device.device_of(values)
        if where is not None:
            self._put_on_device(number, values, used, where)
            return
        with _device.first_device():
            self._table.put(number, vector_of(values), used)
        self._restore = view_of(values)[1] if not isinstance(values, (list, tuple)) else _as_is
        self._view = None

    def _put_on_device(self, number: int, values: Any, weight: Optional[float], where: str) -> None:
        if self._device != "cuda":
            raise Unsupported(
                f"the row is on {where}, but the table is in host memory; make it with "
                "device='cuda', or give it .cpu()"
            )
        _device.check_device(where)
        row, view = _device.vector_of(values)
        with _device.first_device():
            self._table.put_on_device(number, view.export(row), weight, view.stream_now())
        # The values are not kept: only how a result is made that is like them.
        self._view = view._replace(array=None)

    def set_weight(self, worker: int, weight: float) -> None:
        """Changes the weight of a row that is there."""
        self._table.set_weight(self._number(worker), _checks.number(weight, "the weight"))

    def remove(self, worker: int) -> None:
        """Takes a worker's row out; its count begins anew."""
        self._table.remove(self._number(worker))

    def __len__(self) -> int:
        return len(self._table.filled())

    def __contains__(self, worker: object) -> bool:
        return worker in self._table.filled()

    def aggregate(self, return_report: bool = False, *, draw: int = 0) -> Any:
        """The rule's result over the rows that are there, of the kind of the row put last. In the
        report, kept[i] belongs to the i-th row that is there."""
        view = self._view
        if view is not None:
            given = view.empty(self.dim)
            with _device.first_device():
                kept, iterations = self._table.aggregate_on_device(
                    view.export(given), _draw(draw), view.stream_now()
                )
            result = view.restore(given)
        else:
            out = np.empty(self.dim, np.float32)
            with _device.first_device():
                kept, iterations = self._table.aggregate(out, _draw(draw))
            result = self._restore(out)
        return (result, Report(kept, iterations)) if return_report else result

    def _number(self, worker: Any) -> int:
        if isinstance(worker, (int, np.integer)) and 0 <= worker < self.workers:
            return int(worker)
        raise InvalidArgument(f"the workers are 0 to {self.workers - 1}; there is no {worker!r}")

    def __repr__(self) -> str:
        place = "" if self._device == "cpu" else f", device={self._device!r}"
        return f"ballast.Table(dim={self.dim}, workers={self.workers}, rule={self.rule!r}{place})"


def _as_is(result: Any) -> Any:
    return result
