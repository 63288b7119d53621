"""What the modules for users of other libraries share: f of n rows becomes a share of the weight,
and a pre-aggregator a rule around the next one."""

from typing import Any, Callable, List, Optional

import numpy as np

from ._arrays import rows_of
from ._errors import InvalidArgument
from ._rules import aggregate


def share(f: int, n: int) -> str:
    """f of n rows, as an expression writes it."""
    if 2 * f >= n:
        raise InvalidArgument(f"Cannot tolerate 2f >= n. Got f={f}, n={n}")
    return f"{f}/{n}"


def check_count(value: Any, name: str, least: int = 0) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise InvalidArgument(f"{name} must be a whole number from {least}, not {value!r}")


def rows_as_numpy(vectors: Any) -> np.ndarray:
    values = rows_of(vectors).values
    return np.stack(values) if isinstance(values, list) else values


def like(vectors: Any, row: np.ndarray) -> Any:
    """A row as an array of the kind of the vectors."""
    return rows_of(vectors).restore(np.ascontiguousarray(row, np.float32))


class Mixed:
    """What nearest-neighbour mixing makes of vectors. A rule that is given it computes on the
    vectors themselves, without the mixed ones in memory; indexing and NumPy see the mixed ones."""

    def __init__(self, vectors: Any, f: int) -> None:
        self.vectors = vectors
        self.f = f
        self._rows: Optional[np.ndarray] = None

    def __len__(self) -> int:
        return len(self.vectors)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if self._rows is None:
            self._rows = _mix(rows_as_numpy(self.vectors), self.f)
        return self._rows if dtype is None else self._rows.astype(dtype)

    def __getitem__(self, index: int) -> Any:
        return like(self.vectors, self.__array__()[index])


def _mix(rows: np.ndarray, f: int) -> np.ndarray:
    """Each row's mean with its nearest, itself among them: n - f rows in all."""
    wide = rows.astype(np.float64)
    norms = (wide * wide).sum(1)
    distances = norms[:, None] + norms[None, :] - 2 * wide @ wide.T
    np.fill_diagonal(distances, -np.inf)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, : len(rows) - f]
    mixed: np.ndarray = np.stack([wide[chosen].mean(0) for chosen in nearest]).astype(np.float32)
    return mixed


def combine(vectors: Any, expression: Callable[[int], str]) -> Any:
    """The rule that `expression` names for so many rows, of plain or mixed vectors."""
    inner = expression(len(vectors))
    if isinstance(vectors, Mixed):
        outer = f"nnm({inner}, {share(vectors.f, len(vectors))})"
        return aggregate(outer, vectors.vectors)
    return aggregate(inner, vectors)


def centred_clipping(vectors: Any, start: Any, radius: float, steps: int) -> Any:
    """From `start`, None for zero, `steps` times by the mean of the clipped ways to the rows."""
    if isinstance(vectors, Mixed):
        rows, kind = np.asarray(vectors), vectors.vectors
    else:
        rows, kind = rows_as_numpy(vectors), vectors
    origin = 0.0 if start is None else np.asarray(start, np.float32).reshape(-1)
    rule = f"cclip(previous, {float(radius)!r}, steps={steps})"
    return like(kind, origin + aggregate(rule, rows - origin))


def buckets(vectors: Any, size: int, order: np.ndarray) -> List[Any]:
    """Means of `size` vectors each, in the order given; the last may be of fewer."""
    rows = rows_as_numpy(vectors)[order]
    parts = [rows[first : first + size] for first in range(0, len(rows), size)]
    return [like(vectors, part.mean(0, dtype=np.float64)) for part in parts]
