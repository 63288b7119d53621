"""ByzFL's names and arguments over Ballast's rules: `from ballast.byzfl import TrMean`.

    TrMean(f=2)(vectors), GeometricMedian()(NNM(f=2)(vectors)), ...

Vectors are a 2-D array or a list of vectors, of NumPy or PyTorch; results are of their kind and
type. What differs from ByzFL 0.0.11, on purpose:

- The arithmetic is in float32, with sums in double precision; ByzFL's NumPy path is in float64.
- GeometricMedian is the geometric median, converged. ByzFL takes T = 3 smoothed steps from the
  origin; nu and T are accepted and not used.
- Krum and MultiKrum score a row by its n - f - 2 nearest, as Blanchard et al. (2017) define it;
  ByzFL takes n - f - 1.
- Pre-aggregators (NNM, Clipping, ARC) leave the given vectors as they are, and are not computed
  until somebody looks: a rule takes them as part of its own work. ByzFL's Clipping and ARC change
  the caller's vectors.
- Median of an even number of tensors is the middle of the two, as it is for arrays; ByzFL's is then
  the lower one.
- CAF and SMEA take the largest eigenvalue; ByzFL takes one step of the power method from a random
  vector, so that its SMEA need not find the best set and its results differ from call to call.
  ByzFL's CAF measures rows against one that has no weight left, and may then never end; with f = 0
  it returns None. Here that row does not count, and f = 0 is the mean.
"""

from typing import Any, Callable, List, Optional, Sequence

import numpy as np

from ._byzfl_attacks import (
    ALittleIsEnough,
    Gaussian,
    Inf,
    InnerProductManipulation,
    LabelFlipping,
    Mimic,
    OptimalAttack,
    SignFlipping,
)
from ._errors import InvalidArgument
from ._neighbours import (
    Prepared,
    buckets,
    check_count,
    check_length,
    clipped,
    clipped_adaptively,
    clipped_around,
    combine,
    like,
    mixed,
    rows_as_numpy,
    share,
)

__all__ = [
    "ALittleIsEnough",
    "ARC",
    "Average",
    "Bucketing",
    "CAF",
    "CenteredClipping",
    "Clipping",
    "Gaussian",
    "GeometricMedian",
    "Inf",
    "InnerProductManipulation",
    "Krum",
    "LabelFlipping",
    "MDA",
    "Meamed",
    "Median",
    "Mimic",
    "MoNNA",
    "MultiKrum",
    "NNM",
    "Optimal_ALittleIsEnough",
    "Optimal_InnerProductManipulation",
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
    """The mean of the n - f vectors nearest to the vector number idx, which is trusted."""

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
    """From m, L times by the mean of the ways to the vectors, each at most tau long. It remembers
    its result, from which the next call begins; m=None: from 0."""

    def __init__(self, m: Any = None, L: int = 1, tau: float = 100.0) -> None:
        self.m = m
        self.L = check_count(L, "L")
        self.tau = check_length(tau, "tau")

    def __call__(self, vectors: Any) -> Any:
        rows = rows_as_numpy(vectors)
        start = np.zeros(rows.shape[1]) if self.m is None else np.asarray(self.m)
        self.m = like(vectors, clipped_around(rows, start, self.tau, self.L))
        return self.m


class NNM:
    """Nearest-neighbour mixing: each vector becomes the mean of its n - f nearest."""

    def __init__(self, f: int = 0) -> None:
        self.f = check_count(f, "f")

    def __call__(self, vectors: Any) -> Prepared:
        return mixed(vectors, self.f)


class Clipping:
    """Vectors longer than c are shortened to it."""

    def __init__(self, c: float = 2.0) -> None:
        self.c = check_length(c, "c")

    def __call__(self, vectors: Any) -> Prepared:
        return clipped(vectors, self.c)


class ARC:
    """The longest 2f(n - f)/n vectors are shortened to the length of the next."""

    def __init__(self, f: int = 0) -> None:
        self.f = check_count(f, "f")

    def __call__(self, vectors: Any) -> Prepared:
        return clipped_adaptively(vectors, self.f)


class Bucketing:
    """Means of s vectors each, in a random order, which NumPy's generator draws."""

    def __init__(self, s: int = 1) -> None:
        self.s = check_count(s, "s", 1)

    def __call__(self, vectors: Any) -> List[Any]:
        return buckets(vectors, self.s, np.random.permutation(len(vectors)))


class _Optimal(OptimalAttack):
    def __init__(
        self,
        agg: Optional[Callable[[Any], Any]] = None,
        pre_agg_list: Optional[Sequence[Callable[[Any], Any]]] = None,
        f: int = 1,
        evals: int = 20,
        start: float = 0.0,
        delta: float = 10.0,
        ratio: float = 0.8,
    ) -> None:
        agg = Average() if agg is None else agg
        pre_agg_list = [Clipping()] if pre_agg_list is None else pre_agg_list
        super().__init__(agg, pre_agg_list, f, evals, start, delta, ratio)


class Optimal_InnerProductManipulation(_Optimal):
    """InnerProductManipulation with the worst tau against agg after pre_agg_list, f times over."""

    _attack = InnerProductManipulation


class Optimal_ALittleIsEnough(_Optimal):
    """ALittleIsEnough with the worst tau against agg after pre_agg_list, f times over."""

    _attack = ALittleIsEnough
