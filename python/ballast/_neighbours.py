"""What the modules for users of other libraries share: f of n rows becomes a share of the weight,
and a pre-aggregator a rule around the next one."""

from typing import Any, Callable, List, Optional

import numpy as np

from ._arrays import rows_of
from ._errors import InvalidArgument
from ._rules import aggregate

Wrap = Callable[[str, int], str]  # a rule, and the number of rows: the rule around it
Prepare = Callable[[np.ndarray], np.ndarray]


def share(f: int, n: int) -> str:
    """f of n rows, as an expression writes it."""
    if 2 * f >= n:
        raise InvalidArgument(f"Cannot tolerate 2f >= n. Got f={f}, n={n}")
    return f"{f}/{n}"


def check_count(value: Any, name: str, least: int = 0) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise InvalidArgument(f"{name} must be a whole number from {least}, not {value!r}")


def check_length(value: Any, name: str) -> float:
    if isinstance(value, (int, float, np.number)) and 0 <= value < np.inf:
        return float(value)
    raise InvalidArgument(f"{name} must be a number from 0, not {value!r}")


def rows_as_numpy(vectors: Any) -> np.ndarray:
    values = rows_of(vectors).values
    return np.stack(values) if isinstance(values, list) else values


def like(vectors: Any, row: np.ndarray) -> Any:
    """A row as an array of the kind of the vectors."""
    while isinstance(vectors, Prepared):
        vectors = vectors.vectors
    return rows_of(vectors).restore(np.ascontiguousarray(row, np.float32))


class Prepared:
    """What a pre-aggregator makes of vectors. A rule that is given it computes on the vectors
    themselves, as the rule that `wrap` writes around it; indexing and NumPy see what `prepare`
    makes of them."""

    def __init__(self, vectors: Any, wrap: Wrap, prepare: Prepare) -> None:
        self.vectors = vectors
        self.wrap = wrap
        self._prepare = prepare
        self._rows: Optional[np.ndarray] = None

    def __len__(self) -> int:
        return len(self.vectors)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if self._rows is None:
            self._rows = self._prepare(rows_as_numpy(self.vectors)).astype(np.float32)
        return self._rows if dtype is None else self._rows.astype(dtype)

    def __getitem__(self, index: int) -> Any:
        return like(self.vectors, self.__array__()[index])


def mixed(vectors: Any, f: int) -> Prepared:
    """Nearest-neighbour mixing."""
    share(f, len(vectors))
    return Prepared(
        vectors, lambda inner, n: f"nnm({inner}, {share(f, n)})", lambda rows: _mix(rows, f)
    )


def _mix(rows: np.ndarray, f: int) -> np.ndarray:
    """Each row's mean with its nearest, itself among them: n - f rows in all."""
    wide = rows.astype(np.float64)
    norms = (wide * wide).sum(1)
    distances = norms[:, None] + norms[None, :] - 2 * wide @ wide.T
    np.fill_diagonal(distances, -np.inf)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, : len(rows) - f]
    means: np.ndarray = np.stack([wide[chosen].mean(0) for chosen in nearest])
    return means


def clipped(vectors: Any, radius: float) -> Prepared:
    """Vectors shortened to the radius."""
    # The rule wants a radius above 0; of this length nothing is left of any sum.
    used = max(radius, 1e-30)
    return Prepared(
        vectors, lambda inner, _: f"clip({inner}, {used!r})", lambda rows: _shorten(rows, radius)
    )


def clipped_adaptively(vectors: Any, f: int) -> Prepared:
    """The longest vectors shortened to the length of the next, as ARC chooses it."""
    share(f, len(vectors))
    return Prepared(
        vectors,
        lambda inner, n: f"arc({inner}, {share(f, n)})",
        lambda rows: _shorten(rows, _adaptive_radius(rows, f)),
    )


def _norms(rows: np.ndarray) -> np.ndarray:
    norms: np.ndarray = np.sqrt((rows.astype(np.float64) ** 2).sum(1))
    return norms


def _adaptive_radius(rows: np.ndarray, f: int) -> float:
    n = len(rows)
    return float(np.sort(_norms(rows))[n - 2 * f * (n - f) // n - 1])


def _shorten(rows: np.ndarray, radius: float) -> np.ndarray:
    norms = _norms(rows)
    shorter: np.ndarray = rows * (np.minimum(radius, norms) / np.maximum(norms, 1e-300))[:, None]
    return shorter


def combine(vectors: Any, expression: Callable[[int], str]) -> Any:
    """The rule that `expression` names for so many rows, of plain or prepared vectors."""
    inner = expression(len(vectors))
    while isinstance(vectors, Prepared):
        inner = vectors.wrap(inner, len(vectors))
        vectors = vectors.vectors
    return aggregate(inner, vectors)


def clipped_around(vectors: Any, start: np.ndarray, radius: float, steps: int) -> np.ndarray:
    """Centred clipping from a point of the caller's: the rule cclip has only rules to begin at."""
    rows = rows_as_numpy(vectors)
    point = np.asarray(start, np.float64)
    if point.shape != rows.shape[1:]:
        raise InvalidArgument(f"the start has the shape {point.shape}, not {rows.shape[1:]}")
    if radius == 0:
        return point
    for _ in range(steps):
        ways = rows if not point.any() else (rows - point).astype(np.float32)
        point = point + aggregate(f"clip(mean, {radius!r})", ways)
    return point


def buckets(vectors: Any, size: int, order: np.ndarray) -> List[Any]:
    """Means of `size` vectors each, in the order given; the last may be of fewer."""
    rows = rows_as_numpy(vectors)[order]
    parts = [rows[first : first + size] for first in range(0, len(rows), size)]
    return [like(vectors, part.mean(0, dtype=np.float64)) for part in parts]
