"""A PyTorch module as the library sees it: a vector of parameters, and one of running statistics.

Like the library's own engine for TorchScript: parameters that require a gradient, in the order of
their names; statistics are the buffers of float32 (BatchNorm's mean and variance); other buffers
(counters) are put back before every evaluation. A gradient is a function of the model, the sample,
the seed and the statistics it is given, so that the second gradient of mu^2 sees the same dropout
mask and moves no statistics.
"""

from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from ._errors import InvalidArgument, Unsupported

Slots = List[Tuple[str, Tuple[int, ...]]]


class Network:
    def __init__(self, module: Any) -> None:
        import torch

        if not isinstance(module, torch.nn.Module):
            raise InvalidArgument(f"the model is a {type(module).__name__}, not a torch.nn.Module")
        self.torch = torch
        self.module = module
        named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        if not named:
            raise InvalidArgument("the model has no parameters that require a gradient")
        buffers = list(module.named_buffers())
        for name, tensor in named + buffers:
            if tensor.device.type != "cpu":
                raise Unsupported(f"'{name}' is on {tensor.device}; this build trains on the CPU")
        for name, parameter in named:
            if parameter.dtype != torch.float32:
                raise InvalidArgument(f"parameter '{name}' is {parameter.dtype}, not float32")
        self.parameters = [parameter for _, parameter in named]
        self.statistics = [b for _, b in buffers if b.dtype == torch.float32]
        self._others = [(b, b.detach().clone()) for _, b in buffers if b.dtype != torch.float32]
        self.parameter_slots: Slots = [(name, tuple(p.shape)) for name, p in named]
        self.statistic_slots: Slots = [
            (name, tuple(b.shape)) for name, b in buffers if b.dtype == torch.float32
        ]
        self._start_statistics = self.read(self.statistics)

    @property
    def dim(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters)

    def read(self, tensors: List[Any]) -> np.ndarray:
        flat = [tensor.detach().reshape(-1) for tensor in tensors]
        if not flat:
            return np.empty(0, np.float32)
        values: np.ndarray = self.torch.cat(flat).numpy().copy()
        return values

    def read_parameters(self) -> np.ndarray:
        return self.read(self.parameters)

    def read_statistics(self) -> np.ndarray:
        return self.read(self.statistics)

    def _write(self, flat: np.ndarray, tensors: List[Any]) -> None:
        values = self.torch.from_numpy(flat)
        start = 0
        with self.torch.no_grad():
            for tensor in tensors:
                size = tensor.numel()
                tensor.copy_(values[start : start + size].view(tensor.shape))
                start += size

    def load(self, parameters: np.ndarray, statistics: Optional[np.ndarray] = None) -> None:
        """Leaves nothing of the calls before; without statistics those of the beginning."""
        self._write(parameters, self.parameters)
        if statistics is None or statistics.size == 0:
            statistics = self._start_statistics
        self._write(statistics, self.statistics)
        with self.torch.no_grad():
            for buffer, value in self._others:
                buffer.copy_(value)

    def write_gradient(self, out: np.ndarray) -> None:
        """What backward() left, zeros where it left nothing."""
        values = self.torch.from_numpy(out)
        start = 0
        for parameter in self.parameters:
            part = values[start : start + parameter.numel()]
            if parameter.grad is None:
                part.zero_()
            else:
                part.copy_(parameter.grad.detach().reshape(-1))
            start += parameter.numel()

    def gradient(
        self,
        parameters: np.ndarray,
        seed: Optional[int],
        out: np.ndarray,
        statistics: Optional[np.ndarray],
        loss_of: Callable[[], Any],
    ) -> float:
        """Loads the model, takes the loss and its gradient; statistics None do not move."""
        self.load(parameters, statistics)
        self.module.train()
        for parameter in self.parameters:
            parameter.grad = None
        if seed is not None:
            self.torch.manual_seed(seed)
        loss = loss_of()
        self.write_gradient(out)
        if statistics is not None:
            statistics[:] = self.read_statistics()
        return float(loss.detach())

    def state(self, parameters: np.ndarray, statistics: np.ndarray) -> Dict[str, Any]:
        """Named tensors, as state_dict() has them, of a flat model."""
        self.load(parameters, statistics)
        return {name: value.clone() for name, value in self.module.state_dict().items()}
