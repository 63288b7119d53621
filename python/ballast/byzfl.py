"""ByzFL's names and arguments over Ballast's rules: `from ballast.byzfl import TrMean`.

    TrMean(f=2)(vectors), GeometricMedian()(NNM(f=2)(vectors)), ...

Vectors are a 2-D array or a list of vectors, of NumPy or PyTorch; results are of their kind and
type. What differs from ByzFL 0.0.11, on purpose:

- The arithmetic is in float32, with sums in double precision; ByzFL's NumPy path is in float64.
- GeometricMedian is the geometric median, converged. ByzFL takes T = 3 smoothed steps from the
  origin; nu and T are accepted and not used.
- Krum and MultiKrum score a row by its n - f - 2 nearest, as Blanchard et al. (2017) define it;
  ByzFL takes n - f - 1.
- CAF and SMEA take the largest eigenvalue; ByzFL takes one step of the power method from a random
  vector, so that its SMEA need not find the best set and its results differ from call to call.
  ByzFL's CAF measures rows against one that has no weight left, and may then never end; with f = 0
  it returns None. Here that row does not count, and f = 0 is the mean.
- NNM(f)(vectors) is not computed until somebody looks: a rule takes it as part of its own work.
"""

from typing import Any, List, Optional

import numpy as np

from ._errors import InvalidArgument
from ._neighbours import (
    Mixed,
    buckets,
    centred_clipping,
    check_count,
    combine,
    like,
    rows_as_numpy,
    share,
)

__all__ = [
    "ALittleIsEnough",
    "Average",
    "Bucketing",
    "CAF",
    "CenteredClipping",
    "Gaussian",
    "GeometricMedian",
    "Inf",
    "InnerProductManipulation",
    "Krum",
    "MDA",
    "Meamed",
    "Median",
    "Mimic",
    "MoNNA",
    "MultiKrum",
    "NNM",
    "SMEA",
    "SignFlipping",
    "TrMean",
]


class _Rule:
    """A rule that is told f."""

    _name = ""

    def __init__(self, f: int = 0) -> None:
        self.f = check_count(f, "f")

    def __call__(self, vectors: Any) -> Any:
        return combine(vectors, lambda n: f"{self._name}({share(self.f, n)})")


class _PlainRule:
    _name = ""

    def __call__(self, vectors: Any) -> Any:
        return combine(vectors, lambda _: self._name)


class Average(_PlainRule):
    """The mean; not robust."""

    _name = "mean"


class Median(_PlainRule):
    """The coordinate-wise median."""

    _name = "cwmed"


class GeometricMedian(_PlainRule):
    """The geometric median, converged."""

    _name = "gm"

    def __init__(self, nu: float = 0.1, T: int = 3) -> None:
        self.nu, self.T = nu, T


class TrMean(_Rule):
    """The coordinate-wise mean without the f largest and the f smallest."""

    _name = "cwtm"


class Krum(_Rule):
    """The vector in the densest company."""

    _name = "krum"


class MultiKrum(_Rule):
    """The mean of the n - f vectors in the densest company."""

    _name = "multikrum"


class MDA(_Rule):
    """The mean of the n - f vectors of smallest diameter."""

    _name = "mda"


class Meamed(_Rule):
    """In each coordinate the mean of the n - f values nearest to the median."""

    _name = "meamed"


class SMEA(_Rule):
    """The mean of the n - f vectors that spread least along their widest direction."""

    _name = "smea"


class CAF(_Rule):
    """The mean after vectors far out along the widest direction lost weight, round by round."""

    _name = "caf"


class MoNNA(_Rule):
    """The mean of the n - f vectors nearest to the one numbered idx."""

    def __init__(self, f: int = 0, idx: int = 0) -> None:
        super().__init__(f)
        self.idx = check_count(idx, "idx")

    def __call__(self, vectors: Any) -> Any:
        if self.idx >= len(vectors):
            raise InvalidArgument(
                f"idx must be smaller than n, but got idx={self.idx} and n={len(vectors)}"
            )
        return combine(vectors, lambda n: f"monna({share(self.f, n)}, row={self.idx})")


class CenteredClipping:
    """Centred clipping, L steps from the result before, which is kept in m; zero at first."""

    def __init__(self, m: Any = None, L: int = 1, tau: float = 100.0) -> None:
        self.L = check_count(L, "L", 1)
        self.tau = float(tau)
        self.m: Optional[Any] = m

    def __call__(self, vectors: Any) -> Any:
        self.m = centred_clipping(vectors, self.m, self.tau, self.L)
        return self.m


class NNM:
    """Nearest-neighbour mixing: each vector becomes the mean of its n - f nearest."""

    def __init__(self, f: int = 0) -> None:
        self.f = check_count(f, "f")

    def __call__(self, vectors: Any) -> Mixed:
        share(self.f, len(vectors))
        return Mixed(vectors, self.f)


class Bucketing:
    """Means of s vectors each, in a random order, which NumPy's generator draws."""

    def __init__(self, s: int = 1) -> None:
        self.s = check_count(s, "s", 1)

    def __call__(self, vectors: Any) -> List[Any]:
        return buckets(vectors, self.s, np.random.permutation(len(vectors)))


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
