"""The data sets of a simulation, as the user has them."""

from typing import Any, Callable, Optional, Tuple

import numpy as np

from ._arrays import is_torch
from ._errors import InvalidArgument


class Samples:
    """A data set of the user's: a pair of tensors or arrays, or a map-style Dataset."""

    def __init__(self, given: Any, what: str, device: Any) -> None:
        import torch

        self._torch = torch
        self._device = device
        self._pair: Optional[Tuple[Any, Any]] = None
        tensors = getattr(given, "tensors", given)
        if isinstance(tensors, (tuple, list)) and len(tensors) == 2:
            inputs, targets = (_tensor(torch, part) for part in tensors)
            if len(inputs) != len(targets):
                raise InvalidArgument(f"{what} has {len(inputs)} inputs but {len(targets)} targets")
            self._pair = (inputs.to(device), targets.to(device))
            self.size = len(inputs)
        elif hasattr(given, "__getitem__") and hasattr(given, "__len__"):
            self.size = len(given)
        else:
            raise InvalidArgument(
                f"{what} is a {type(given).__name__}; give (inputs, targets) or a Dataset"
            )
        if self.size == 0:
            raise InvalidArgument(f"{what} is empty")
        self._given = given

    def batch(self, indices: np.ndarray) -> Tuple[Any, Any]:
        return self.chosen(indices, None)()

    def chosen(
        self, indices: np.ndarray, classes: Optional[np.ndarray]
    ) -> Callable[[], Tuple[Any, Any]]:
        """These samples, new ones each time, for a model may change its inputs; with other classes
        than their own where such are given."""
        if self._pair is None:
            there = None if classes is None else self._bring(classes)
            return lambda: self._collated(indices, there)
        inputs, targets = self._pair
        if classes is None:
            where = self._bring(indices)
            return lambda: (inputs[where], targets[where])
        where, there = self._bring(np.stack((indices, classes)))
        return lambda: (inputs[where], there.clone())

    def _collated(self, indices: np.ndarray, classes: Any) -> Tuple[Any, Any]:
        samples = [self._given[int(i)] for i in indices]
        inputs, targets = self._torch.utils.data.default_collate(samples)
        if classes is not None:
            return inputs.to(self._device), classes.clone()
        return inputs.to(self._device), targets.to(self._device)

    def _bring(self, numbers: np.ndarray) -> Any:
        """To the device. A copy from memory that is not pinned would wait for all of its work."""
        there = self._torch.from_numpy(numbers.astype(np.int64))
        if self._device.type == "cuda":
            there = there.pin_memory()
        return there.to(self._device, non_blocking=True)

    def labels(self) -> Optional[np.ndarray]:
        """Classes, or None where targets are not whole numbers."""
        if self._pair is not None:
            targets = self._pair[1]
        else:
            targets = getattr(self._given, "targets", None)
            if targets is None:
                targets = [self._given[i][1] for i in range(self.size)]
            targets = self._torch.as_tensor(targets)
        if targets.ndim != 1 or targets.dtype.is_floating_point:
            return None
        labels: np.ndarray = targets.cpu().numpy().astype(np.int64)
        if labels.min() < 0:
            raise InvalidArgument(f"the classes begin at 0, but there is {labels.min()}")
        return labels


def _tensor(torch: Any, part: Any) -> Any:
    return part if is_torch(part) else torch.as_tensor(np.asarray(part))
