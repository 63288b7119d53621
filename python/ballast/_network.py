"""A PyTorch module as the library sees it: a vector of parameters, and one of running statistics.

Like the library's own engine for TorchScript: parameters that require a gradient, in the order of
their names; statistics are the buffers of float32 (BatchNorm's mean and variance); other buffers
(counters) are put back before every evaluation. A gradient is a function of the model, the sample,
the seed and the statistics it is given, so that the second gradient of mu^2 sees the same dropout
mask and moves no statistics.
"""

import contextlib
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import numpy as np

from ._device import check_device
from ._errors import InvalidArgument

Slots = List[Tuple[str, Tuple[int, ...]]]
Flat = Any  # a vector: a NumPy array, or a tensor on the network's device


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
        self.device = named[0][1].device
        for name, tensor in named + buffers:
            if tensor.device != self.device:
                raise InvalidArgument(
                    f"'{named[0][0]}' is on {self.device}, but '{name}' on {tensor.device}; bring "
                    "the model to one device"
                )
        if self.device.type != "cpu":
            check_device(str(self.device))
        for name, parameter in named:
            if parameter.dtype != torch.float32:
                raise InvalidArgument(f"parameter '{name}' is {parameter.dtype}, not float32")
        self.parameters = [parameter for _, parameter in named]
        self.statistics = [b for _, b in buffers if b.dtype == torch.float32]
        self._others = [b for _, b in buffers if b.dtype != torch.float32]
        self._start_others = [buffer.detach().clone() for buffer in self._others]
        self.parameter_slots: Slots = [(name, tuple(p.shape)) for name, p in named]
        self.statistic_slots: Slots = [
            (name, tuple(b.shape)) for name, b in buffers if b.dtype == torch.float32
        ]
        self._joined: Dict[int, Any] = {}  # see joined()
        self._is_in_run = self._trains = False
        self._start_statistics = self.flat(self.statistics).clone()
        self._flat_start_others: Any = None  # while they are joined

    @property
    def dim(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters)

    @contextlib.contextmanager
    def joined(self) -> Iterator[None]:
        """For a run on a device, which waits for Python between two gradients. Meanwhile the
        parameters lie in one piece of memory, and so do the statistics and the counters: to load a
        model is then one copy of each, and not one for each tensor, of which a device takes longer
        to begin one than to make it. Afterwards each tensor has memory of its own again. The mode
        of training, which is set module by module, is set anew only after evaluate()."""
        groups = [group for group in (self.parameters, self.statistics) if self._may_join(group)]
        if {(buffer.dtype, buffer.numel()) for buffer in self._others} == {(self.torch.int64, 1)}:
            groups.append(self._others)
            self._flat_start_others = self.flat(self._start_others)
        self._is_in_run, self._trains = True, False
        try:
            for group in groups:
                whole = self.flat(group)
                self._point(group, whole)
                self._joined[id(group)] = whole
            yield
        finally:
            self._is_in_run = False
            for group in groups:
                whole = self._joined.pop(id(group), None)
                if whole is not None:
                    for tensor in group:
                        tensor.data = tensor.data.clone()

    def _may_join(self, tensors: List[Any]) -> bool:
        """Not the weights of recurrent layers, which are in one piece already, in an order of their
        own; and not where a tensor would begin between two groups of four values, from which
        convolutions and products are slow."""
        if any(isinstance(module, self.torch.nn.RNNBase) for module in self.module.modules()):
            return False
        return bool(tensors) and all(tensor.numel() % 4 == 0 for tensor in tensors[:-1])

    def _point(self, tensors: List[Any], whole: Any) -> None:
        parts = whole.split([tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts):
            tensor.data = part.view(tensor.shape)

    def flat(self, tensors: List[Any]) -> Any:
        """One vector of their values, on their device."""
        whole = self._joined.get(id(tensors))
        if whole is not None:
            return whole.clone()
        if not tensors:
            return self.torch.empty(0, dtype=self.torch.float32, device=self.device)
        return self.torch.cat([tensor.detach().reshape(-1) for tensor in tensors])

    def read(self, tensors: List[Any]) -> np.ndarray:
        values: np.ndarray = self.flat(tensors).cpu().numpy().copy()
        return values

    def read_parameters(self) -> np.ndarray:
        return self.read(self.parameters)

    def read_statistics(self) -> np.ndarray:
        return self.read(self.statistics)

    def _write(self, flat: Flat, tensors: List[Any]) -> None:
        values = self.torch.from_numpy(flat) if isinstance(flat, np.ndarray) else flat
        whole = self._joined.get(id(tensors))
        if whole is not None:
            whole.copy_(values)
            return
        parts = values.to(self.device).split([tensor.numel() for tensor in tensors])
        self._copy(tensors, [part.view(t.shape) for part, t in zip(parts, tensors)])

    def _copy(self, targets: List[Any], values: List[Any]) -> None:
        with self.torch.no_grad():
            # Many small copies take a device longer to begin than to make.
            if targets and self.device.type != "cpu" and hasattr(self.torch, "_foreach_copy_"):
                self.torch._foreach_copy_(targets, values)
                return
            for target, value in zip(targets, values):
                target.copy_(value)

    def load(self, parameters: Flat, statistics: Optional[Flat] = None) -> None:
        """Leaves nothing of the calls before; without statistics those of the beginning."""
        self._write(parameters, self.parameters)
        if statistics is None or len(statistics) == 0:
            statistics = self._start_statistics
        self._write(statistics, self.statistics)
        whole = self._joined.get(id(self._others))
        if whole is None:
            self._copy(self._others, self._start_others)
        else:
            whole.copy_(self._flat_start_others)

    def evaluate(self) -> None:
        self._trains = False
        self.module.eval()

    def _prepare(self, parameters: Flat, seed: Optional[int], statistics: Optional[Flat]) -> None:
        """For the loss of this model and sample, and for its gradient."""
        self.load(parameters, statistics)
        if not (self._is_in_run and self._trains):
            self.module.train()
            self._trains = True
        for parameter in self.parameters:
            parameter.grad = None
        if seed is not None:
            self._seed(seed)

    def _seed(self, seed: int) -> None:
        """What torch.manual_seed() does to the generators of the host and of this device; it goes
        through all devices and kinds of them, which takes a large part of a millisecond."""
        self.torch.default_generator.manual_seed(seed)
        if self.device.type == "cuda":
            self.torch.cuda.default_generators[self.device.index or 0].manual_seed(seed)

    def _gradients(self) -> List[Any]:
        """What backward() left, zeros where it left nothing. To be read without a graph."""
        zeros = self.torch.zeros_like
        return [zeros(p) if p.grad is None else p.grad for p in self.parameters]

    def write_gradient(self, out: np.ndarray) -> None:
        values = self.torch.from_numpy(out)
        with self.torch.no_grad():
            if self.device.type != "cpu":
                values.copy_(self.flat(self._gradients()))
                return
            parts = values.split([parameter.numel() for parameter in self.parameters])
            for part, gradient in zip(parts, self._gradients()):
                part.copy_(gradient.reshape(-1))

    def gradient(
        self,
        parameters: np.ndarray,
        seed: Optional[int],
        out: np.ndarray,
        statistics: Optional[np.ndarray],
        loss_of: Callable[[], Any],
    ) -> float:
        """Loads the model, takes the loss and its gradient; statistics None do not move."""
        self._prepare(parameters, seed, statistics)
        loss = loss_of()
        self.write_gradient(out)
        if statistics is not None:
            statistics[:] = self.read_statistics()
        return float(loss.detach())

    def gradient_in_place(
        self, parameters: Any, seed: int, statistics: Optional[Any], loss_of: Callable[[], Any]
    ) -> Tuple[Any, Any, Any]:
        """gradient() on tensors of the device: the loss, the gradient and the moved statistics, all
        of them there."""
        self._prepare(parameters, seed, statistics)
        loss = loss_of().detach()
        with self.torch.no_grad():
            # One call for all tensors, where cat() would need one to flatten each.
            gradient = self.torch._C._nn.flatten_dense_tensors(self._gradients())
        return loss, gradient, None if statistics is None else self.flat(self.statistics)

    def state(self, parameters: Flat, statistics: Flat) -> Dict[str, Any]:
        """Named tensors, as state_dict() has them, of a flat model."""
        self.load(parameters, statistics)
        return {name: value.clone() for name, value in self.module.state_dict().items()}
