"""ByzPy's names and arguments over Ballast's rules: `from ballast.byzpy import GeometricMedian`.

    CoordinateWiseTrimmedMean(f=2).aggregate(gradients)
    NearestNeighborMixing(f=2).pre_aggregate(gradients)

Gradients are a list of arrays or tensors of one shape; results are of their kind and type. What
differs from ByzPy 0.1.4, on purpose: chunk_size and the like are accepted and not used, since the
library divides the work itself; CAF takes the largest eigenvalue instead of power_iters steps
towards it; CenteredClipping begins from the mean, the median or zero at each call; MultiKrum
keeps n - f vectors, so that q must be that or be left out; GeometricMedian is always converged,
to tol in its objective. The graph engine, actors and schedulers of ByzPy have no counterpart
here.
"""

from typing import Any, List, Optional

import numpy as np

from ._errors import InvalidArgument
from ._neighbours import Mixed, buckets, check_count, combine, like, rows_as_numpy, share

__all__ = [
    "Bucketing",
    "CAF",
    "CenteredClipping",
    "ComparativeGradientElimination",
    "CoordinateWiseMedian",
    "CoordinateWiseTrimmedMean",
    "EmpireAttack",
    "GeometricMedian",
    "Krum",
    "MeanOfMedians",
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


class ComparativeGradientElimination(_Rule):
    _name = "cge"


class MeanOfMedians(_Rule):
    _name = "meamed"


class SMEA(_Rule):
    _name = "smea"


class CAF(_Rule):
    _name = "caf"

    def __init__(self, f: int, *, chunk_size: int = 256, power_iters: int = 3) -> None:
        super().__init__(f)


class MoNNA(_Rule):
    def __init__(self, f: int, *, reference_index: int = 0, chunk_size: int = 32) -> None:
        super().__init__(f)
        self.reference_index = check_count(reference_index, "reference_index")

    def aggregate(self, gradients: Any) -> Any:
        if self.reference_index >= len(gradients):
            raise InvalidArgument(
                f"reference_index must be below {len(gradients)}, not {self.reference_index}"
            )
        row = self.reference_index
        return combine(gradients, lambda n: f"monna({share(self.f, n)}, row={row})")


class CenteredClipping:
    def __init__(
        self,
        *,
        c_tau: float,
        M: int = 10,
        eps: float = 1e-12,
        init: str = "mean",
        chunk_size: int = 32,
    ) -> None:
        starts = {"mean": "mean", "median": "cwmed", "zero": "previous"}
        if init not in starts:
            raise InvalidArgument("init must be one of {'mean','median','zero'}")
        steps = check_count(M, "M", 1)
        self.rule = f"cclip({starts[init]}, {float(c_tau)!r}, steps={steps})"

    def aggregate(self, gradients: Any) -> Any:
        return combine(gradients, lambda _: self.rule)


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


class NearestNeighborMixing:
    def __init__(self, f: int, *, feature_chunk_size: int = 8192) -> None:
        self.f = check_count(f, "f")

    def pre_aggregate(self, xs: Any) -> Mixed:
        share(self.f, len(xs))
        return Mixed(xs, self.f)


class Bucketing:
    def __init__(self, bucket_size: int, *, feature_chunk_size: int = 8192) -> None:
        self.bucket_size = check_count(bucket_size, "bucket_size", 1)

    def pre_aggregate(self, xs: Any) -> List[Any]:
        return buckets(xs, self.bucket_size, np.random.permutation(len(xs)))


class EmpireAttack:
    """scale times the mean of the honest gradients."""

    def __init__(self, scale: float = -1.0, *, chunk_size: int = 8) -> None:
        self.scale = float(scale)

    def apply(self, *, honest_grads: Any = None, **_: Any) -> Any:
        if not honest_grads:
            raise InvalidArgument("EmpireAttack requires honest_grads")
        mean = rows_as_numpy(honest_grads).mean(0, dtype=np.float64)
        return like(honest_grads, self.scale * mean)


class SignFlipAttack:
    """scale times the worker's own gradient."""

    def __init__(self, scale: float = -1.0, *, chunk_size: int = 8192) -> None:
        self.scale = float(scale)

    def apply(self, *, base_grad: Any = None, **_: Any) -> Any:
        if base_grad is None:
            raise InvalidArgument("SignFlipAttack requires base_grad")
        return self.scale * base_grad
