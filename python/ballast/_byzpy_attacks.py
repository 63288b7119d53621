"""ByzPy's attacks, for ballast.byzpy."""

from statistics import NormalDist
from typing import Any, Dict, Optional

import numpy as np

from ._errors import InvalidArgument
from ._neighbours import check_count, check_length, like, rows_as_numpy


def _honest(gradients: Any, attack: str) -> np.ndarray:
    if gradients is None or len(gradients) == 0:
        raise InvalidArgument(f"{attack} requires honest_grads")
    return rows_as_numpy(gradients)


class EmpireAttack:
    """scale times the mean of the honest gradients."""

    def __init__(self, scale: float = -1.0, *, chunk_size: int = 8) -> None:
        self.scale = float(scale)

    def apply(self, *, honest_grads: Any = None, **_: Any) -> Any:
        rows = _honest(honest_grads, "EmpireAttack")
        return like(honest_grads, self.scale * rows.mean(0, dtype=np.float64))


class SignFlipAttack:
    """scale times the worker's own gradient."""

    def __init__(self, scale: float = -1.0, *, chunk_size: int = 8192) -> None:
        self.scale = float(scale)

    def apply(self, *, base_grad: Any = None, **_: Any) -> Any:
        if base_grad is None:
            raise InvalidArgument("SignFlipAttack requires base_grad")
        return self.scale * base_grad


class LittleAttack:
    """The honest mean, moved by as many deviations as f of N colluding workers can hide."""

    def __init__(self, f: int, N: Optional[int] = None, *, chunk_size: int = 8192) -> None:
        self.f = check_count(f, "f")
        self.N = None if N is None else check_count(N, "N", max(self.f, 1))

    def apply(self, *, honest_grads: Any = None, **_: Any) -> Any:
        rows = _honest(honest_grads, "LittleAttack")
        total = len(rows) + self.f if self.N is None else self.N
        needed = max(1, total // 2 + 1 - self.f)  # honest workers for a majority
        hidden = min(max((total - needed) / total, 1e-12), 1 - 1e-12)
        mean = rows.mean(0, dtype=np.float64)
        deviation = rows.std(0, dtype=np.float64)
        return like(honest_grads, mean + NormalDist().inv_cdf(hidden) * deviation)


class GaussianAttack:
    """Normal noise, of its own seed."""

    def __init__(
        self,
        mu: float = 0.0,
        sigma: float = 1.0,
        *,
        seed: Optional[int] = None,
        chunk_size: int = 8192,
    ) -> None:
        self.mu, self.sigma, self.seed = float(mu), check_length(sigma, "sigma"), seed

    def apply(self, *, honest_grads: Any = None, **_: Any) -> Any:
        size = _honest(honest_grads, "GaussianAttack").shape[1]
        noise = np.random.default_rng(self.seed).normal(self.mu, self.sigma, size)
        return like(honest_grads, noise)


class InfAttack:
    """Infinities, which every rule here refuses."""

    def __init__(self, *, chunk_size: int = 8192) -> None:
        pass

    def apply(self, *, honest_grads: Any = None, **_: Any) -> Any:
        rows = _honest(honest_grads, "InfAttack")
        return like(honest_grads, np.full(rows.shape[1], np.inf))


class MimicAttack:
    """A copy of one honest gradient."""

    def __init__(self, epsilon: int = 0, *, chunk_size: int = 8192) -> None:
        self.epsilon = check_count(epsilon, "epsilon")

    def apply(self, *, honest_grads: Any = None, **_: Any) -> Any:
        count = len(_honest(honest_grads, "MimicAttack"))
        if self.epsilon >= count:
            raise InvalidArgument(
                f"epsilon must be < number of honest_grads (got epsilon={self.epsilon}, n={count})"
            )
        return honest_grads[self.epsilon]


class LabelFlipAttack:
    """scale times the gradient of the loss on false labels: num_classes - 1 - y, or mapping[y]."""

    def __init__(
        self,
        *,
        num_classes: Optional[int] = None,
        mapping: Optional[Dict[int, int]] = None,
        loss_fn: Any = None,
        scale: float = 1.0,
    ) -> None:
        if mapping is None and num_classes is None:
            raise InvalidArgument("Provide either `mapping` or `num_classes`.")
        self.num_classes, self.mapping = num_classes, mapping
        self.loss_fn, self.scale = loss_fn, float(scale)

    def apply(self, *, model: Any = None, x: Any = None, y: Any = None, **_: Any) -> Any:
        if model is None or x is None or y is None:
            raise InvalidArgument("LabelFlipAttack requires model, x, y")
        import torch

        labels = y.long()
        if self.mapping is not None:
            false = labels.clone()
            for right, wrong in self.mapping.items():
                false[labels == right] = wrong
        else:
            assert self.num_classes is not None
            false = self.num_classes - 1 - labels
        model.train(True)
        loss = (self.loss_fn or torch.nn.functional.cross_entropy)(model(x), false)
        parameters = [p for p in model.parameters() if p.requires_grad]
        gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
        flat = [
            torch.zeros_like(p).reshape(-1) if g is None else g.reshape(-1)
            for p, g in zip(parameters, gradients)
        ]
        return self.scale * torch.cat(flat)
