"""ByzFL's attacks, for ballast.byzfl."""

from typing import Any, Callable, Sequence

import numpy as np

from ._errors import InvalidArgument
from ._neighbours import check_count, like, rows_as_numpy


def _mean(vectors: Any) -> np.ndarray:
    mean: np.ndarray = rows_as_numpy(vectors).mean(0, dtype=np.float64)
    return mean


class SignFlipping:
    """The honest mean, reversed."""

    def __call__(self, honest_vectors: Any) -> Any:
        return like(honest_vectors, -_mean(honest_vectors))


class InnerProductManipulation:
    """-tau times the honest mean."""

    def __init__(self, tau: float = 2.0) -> None:
        self.tau = float(tau)

    def __call__(self, honest_vectors: Any) -> Any:
        return like(honest_vectors, -self.tau * _mean(honest_vectors))


class ALittleIsEnough:
    """The honest mean plus tau deviations."""

    def __init__(self, tau: float = 1.5) -> None:
        self.tau = float(tau)

    def __call__(self, honest_vectors: Any) -> Any:
        deviation = rows_as_numpy(honest_vectors).std(0, ddof=1, dtype=np.float64)
        return like(honest_vectors, _mean(honest_vectors) + self.tau * deviation)


class OptimalAttack:
    """An attack with the tau, found by a line search, that moves a rule's result farthest."""

    _attack: Callable[[float], Callable[[Any], Any]]

    def __init__(
        self,
        agg: Callable[[Any], Any],
        pre_agg_list: Sequence[Callable[[Any], Any]],
        f: int,
        evals: int,
        start: float,
        delta: float,
        ratio: float,
    ) -> None:
        self.agg = agg
        self.pre_agg_list = pre_agg_list
        self.f = check_count(f, "f")
        self.evals = check_count(evals, "evals", 1)
        if delta == 0 or not 0.5 < ratio < 1:
            raise InvalidArgument("delta must not be 0, and ratio lies between 0.5 and 1")
        self.start, self.delta, self.ratio = float(start), float(delta), float(ratio)

    def __call__(self, honest_vectors: Any) -> Any:
        rows = rows_as_numpy(honest_vectors)
        mean = _mean(rows)

        def damage(tau: float) -> float:
            vectors: Any = np.concatenate([rows] + [type(self)._attack(tau)(rows)[None]] * self.f)
            for prepare in self.pre_agg_list:
                vectors = prepare(vectors)
            return float(np.linalg.norm(np.asarray(self.agg(vectors), np.float64) - mean))

        best = self._search(damage)
        return like(honest_vectors, np.asarray(type(self)._attack(best)(rows)))

    def _search(self, damage: Callable[[float], float]) -> float:
        """Growing steps while they do more damage, then shrinking ones."""
        best, most, step = self.start, damage(self.start), self.delta
        is_growing = True
        for _ in range(self.evals - 1):
            does = damage(best + step)
            is_growing = is_growing and does > most
            if does > most:
                best, most = best + step, does
            step *= 2 if is_growing else self.ratio
        return best


class LabelFlipping:
    """The mean of gradients, which the caller has taken on flipped labels."""

    def __call__(self, vectors: Any) -> Any:
        return like(vectors, _mean(vectors))


class Mimic:
    """A copy of one honest vector."""

    def __init__(self, epsilon: int = 0) -> None:
        self.epsilon = check_count(epsilon, "epsilon")

    def __call__(self, honest_vectors: Any) -> Any:
        if self.epsilon >= len(honest_vectors):
            raise InvalidArgument(
                f"epsilon must be smaller than len(honest_vectors), but got {self.epsilon} and "
                f"{len(honest_vectors)}"
            )
        return honest_vectors[self.epsilon]


class Inf:
    """Infinities, which every rule here refuses."""

    def __call__(self, honest_vectors: Any) -> Any:
        return like(honest_vectors, np.full(len(_mean(honest_vectors)), np.inf))


class Gaussian:
    """Normal noise, which NumPy's generator draws."""

    def __init__(self, mu: float = 0.0, sigma: float = 1.0) -> None:
        if sigma < 0:
            raise InvalidArgument("sigma must be a non-negative float.")
        self.mu, self.sigma = float(mu), float(sigma)

    def __call__(self, honest_vectors: Any) -> Any:
        size = len(_mean(honest_vectors))
        return like(honest_vectors, np.random.normal(self.mu, self.sigma, size))
