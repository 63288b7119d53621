"""ByzPy's names and arguments over Ballast's rules: `from ballast.byzpy import GeometricMedian`.

    CoordinateWiseTrimmedMean(f=2).aggregate(gradients)
    NearestNeighborMixing(f=2).pre_aggregate(gradients)

Gradients are a list of arrays or tensors of one shape; results are of their kind and type. What
differs from ByzPy 0.1.4, on purpose: chunk_size and the like are accepted and not used, since the
library divides the work itself; MultiKrum keeps n - f vectors, so that q must be that or be left
out; Krum and MultiKrum score a vector by its n - f - 2 nearest, as Blanchard et al. (2017) define
it, where ByzPy takes n - f - 1; GeometricMedian is always converged, to tol in its objective; CAF
takes the largest eigenvalue instead of power_iters steps towards it. The graph engine, actors and
schedulers of ByzPy have no counterpart here.
"""

from typing import Any, Iterable, List, Optional

import numpy as np

from ._byzpy_attacks import (
    EmpireAttack,
    GaussianAttack,
    InfAttack,
    LabelFlipAttack,
    LittleAttack,
    MimicAttack,
    SignFlipAttack,
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
    "ARC",
    "Bucketing",
    "CAF",
    "CenteredClipping",
    "Clipping",
    "ComparativeGradientElimination",
    "CoordinateWiseMedian",
    "CoordinateWiseTrimmedMean",
    "EmpireAttack",
    "GaussianAttack",
    "GeometricMedian",
    "InfAttack",
    "Krum",
    "LabelFlipAttack",
    "LittleAttack",
    "MeanOfMedians",
    "MimicAttack",
    "MinimumDiameterAveraging",
    "MoNNA",
    "MultiKrum",
    "NearestNeighborMixing",
    "SMEA",
    "SignFlipAttack",
]


class CoordinateWiseMedian:
    def __init__(self, *, chunk_size: int = 8192) -> None:
        self.chunk_size = chunk_size

    def aggregate(self, gradients: Any) -> Any:
        return combine(gradients, lambda _: "cwmed")


class GeometricMedian:
    def __init__(
        self,
        *,
        tol: float = 1e-6,
        max_iter: int = 256,
        eps: float = 1e-12,
        init: str = "median",
        chunk_size: int = 32,
    ) -> None:
        if not tol > 0:
            raise InvalidArgument("tol must be > 0")
        self.tol = float(tol)

    def aggregate(self, gradients: Any) -> Any:
        return combine(gradients, lambda _: f"gm(tolerance={min(self.tol, 1e-3)!r})")


class _Rule:
    _name = ""

    def __init__(self, f: int, *, chunk_size: int = 32) -> None:
        self.f = check_count(f, "f")

    def aggregate(self, gradients: Any) -> Any:
        return combine(gradients, lambda n: f"{self._name}({share(self.f, n)})")


class CoordinateWiseTrimmedMean(_Rule):
    _name = "cwtm"


class Krum(_Rule):
    _name = "krum"


class MinimumDiameterAveraging(_Rule):
    _name = "mda"


class MultiKrum(_Rule):
    _name = "multikrum"

    def __init__(self, f: int, q: Optional[int] = None, *, chunk_size: int = 32) -> None:
        super().__init__(f)
        self.q = None if q is None else check_count(q, "q", 1)

    def aggregate(self, gradients: Any) -> Any:
        if self.q is not None and self.q != len(gradients) - self.f:
            raise InvalidArgument(
                f"MultiKrum keeps n - f = {len(gradients) - self.f} vectors here, not {self.q}"
            )
        return super().aggregate(gradients)


class MeanOfMedians(_Rule):
    """In each coordinate the mean of the n - f values nearest to the median."""

    _name = "meamed"


class ComparativeGradientElimination(_Rule):
    """The mean of the n - f shortest."""

    _name = "cge"


class SMEA(_Rule):
    """The mean of the n - f that spread least along their widest direction."""

    _name = "smea"


class CAF(_Rule):
    """The mean after those far out along the widest direction lost weight, round by round."""

    _name = "caf"

    def __init__(self, f: int, *, chunk_size: int = 256, power_iters: int = 3) -> None:
        super().__init__(f)


class MoNNA(_Rule):
    """The mean of the n - f nearest to one that is trusted."""

    def __init__(self, f: int, *, reference_index: int = 0, chunk_size: int = 32) -> None:
        super().__init__(f)
        self.reference_index = check_count(reference_index, "reference_index")

    def aggregate(self, gradients: Any) -> Any:
        row = self.reference_index
        if row >= len(gradients):
            raise InvalidArgument(
                f"reference_index must be between 0 and {len(gradients) - 1} (got {row})."
            )
        return combine(gradients, lambda n: f"monna({share(self.f, n)}, row={row})")


class CenteredClipping:
    """From the mean, the median or zero, M times by the mean of the ways to the gradients, each at
    most c_tau long."""

    def __init__(
        self,
        *,
        c_tau: float,
        M: int = 10,
        eps: float = 1e-12,
        init: str = "mean",
        chunk_size: int = 32,
    ) -> None:
        self.c_tau = check_length(c_tau, "c_tau")
        self.M = check_count(M, "M", 1)
        if init not in ("mean", "median", "zero"):
            raise InvalidArgument("init must be one of {'mean','median','zero'}")
        self.init = init

    def aggregate(self, gradients: Any) -> Any:
        if self.init == "zero":
            rows = rows_as_numpy(gradients)
            start = np.zeros(rows.shape[1])
            return like(gradients, clipped_around(rows, start, self.c_tau, self.M))
        base = "mean" if self.init == "mean" else "cwmed"
        rule = f"cclip({base}, {self.c_tau!r}, steps={self.M})" if self.c_tau > 0 else base
        return combine(gradients, lambda _: rule)


class NearestNeighborMixing:
    """Each becomes the mean of its n - f nearest."""

    def __init__(self, f: int, *, feature_chunk_size: int = 8192) -> None:
        self.f = check_count(f, "f")

    def pre_aggregate(self, xs: Any) -> Prepared:
        return mixed(xs, self.f)


class Clipping:
    """Those longer than the threshold are shortened to it."""

    def __init__(self, threshold: float = 2.0, *, chunk_size: int = 32) -> None:
        self.threshold = check_length(threshold, "threshold")

    def pre_aggregate(self, xs: Any) -> Prepared:
        return clipped(xs, self.threshold)


class ARC:
    """The longest 2f(n - f)/n are shortened to the length of the next."""

    def __init__(self, f: int = 0, *, chunk_size: int = 32) -> None:
        self.f = check_count(f, "f")

    def pre_aggregate(self, xs: Any) -> Prepared:
        return clipped_adaptively(xs, self.f)


class Bucketing:
    """Means of bucket_size each, in the order of perm, or else in one that rng draws."""

    def __init__(
        self,
        bucket_size: int,
        *,
        feature_chunk_size: int = 8192,
        perm: Optional[Iterable[int]] = None,
        rng: Any = None,
    ) -> None:
        self.bucket_size = check_count(bucket_size, "bucket_size", 1)
        self.perm = None if perm is None else [int(i) for i in perm]
        self.rng = rng

    def pre_aggregate(self, xs: Any) -> List[Any]:
        order = list(range(len(xs))) if self.perm is None else self.perm
        if sorted(order) != list(range(len(xs))):
            raise InvalidArgument("perm must be a permutation of range(n)")
        if self.perm is None:
            (np.random if self.rng is None else self.rng).shuffle(order)
        return buckets(xs, self.bucket_size, np.array(order))
