"""Arrays in the memory of a CUDA device, as the library takes them: DLPack capsules and a stream.

Rows are used where they lie; nothing passes through host memory. Who waits for whom:

PyTorch   The library queues its work on PyTorch's current stream. What was queued there before is
          seen and what is queued afterwards sees the result, as with PyTorch's own functions; so
          the capsules are made with stream=-1, "no synchronisation".
others    The library queues its work on CUDA's default stream and asks for capsules with stream=1,
          which makes the owner let that stream wait for its own. The call returns when the result
          is there, because the library does not know on which stream it will be read.
"""

import contextlib
import sys
from typing import Any, Callable, ContextManager, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _core
from ._errors import InvalidArgument, Unsupported

_CUDA = (2, 13)  # DLPack's numbers: memory of a CUDA device, and memory that CUDA moves by itself
_HOST = (1, 3, 11)
_DEFAULT_STREAM = 1  # as DLPack numbers CUDA's own; 0 would be ambiguous


def device_of(value: Any) -> Optional[str]:
    """Names the device that an array is on, such as "cuda:0"; None: host memory."""
    if type(value) is np.ndarray:
        return None
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return None if value.device.type == "cpu" else str(value.device)
    ask = getattr(value, "__dlpack_device__", None)
    if ask is None:
        return None
    kind, number = ask()
    if kind in _HOST:
        return None
    return f"cuda:{number}" if kind in _CUDA else f"device {number} of DLPack's kind {kind}"


def device_of_rows(rows: Any) -> Optional[str]:
    """The one device of all rows; raises where they are on several."""
    if not isinstance(rows, (list, tuple)):
        return device_of(rows)
    if not rows:
        return None
    first = device_of(rows[0])
    for i, row in enumerate(rows):
        device = device_of(row)
        if device != first:
            raise InvalidArgument(
                f"row 0 is {_where(first)} but row {i} is {_where(device)}; bring them to one place"
            )
    return first


def _where(device: Optional[str]) -> str:
    return "in host memory" if device is None else f"on {device}"


def name_of(device: Any) -> str:
    """The library's name of a device that a caller has named: "cpu" or "cuda"."""
    name = str(device)
    if name in ("cpu", "cuda", "cuda:0"):
        return name.partition(":")[0]
    raise InvalidArgument(
        f"there is no device {name!r}; use 'cpu' or 'cuda', which is the first CUDA device"
    )


def check_device(device: str) -> None:
    """Raises, with the reason, unless the library can compute there."""
    kind, _, number = device.partition(":")
    if kind != "cuda":
        raise Unsupported(
            f"the rows are on {device}, where nothing can be computed; bring them to host memory "
            "or to a CUDA device"
        )
    if number not in ("", "0"):
        raise Unsupported(
            f"the rows are on {device}, but the library works on the first CUDA device; bring them "
            "to cuda:0, or choose which device is the first with CUDA_VISIBLE_DEVICES"
        )
    try:
        with first_device():
            _core.open_device("cuda")
    except Unsupported as error:
        raise Unsupported(f"{error}, and bring what is on {device} to host memory") from None


def first_device() -> ContextManager[Any]:
    """Makes the first device the current one of this thread, which PyTorch may have set to
    another: CUDA takes memory and streams of the current one."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized() or torch.cuda.current_device() == 0:
        return contextlib.nullcontext()
    device: ContextManager[Any] = torch.cuda.device(0)
    return device


class DeviceArray(NamedTuple):
    """float32 values on the device."""

    array: Any  # contiguous along the last axis
    export: Callable[[Any], Any]  # to a capsule
    empty: Callable[[int], Any]  # a vector for a result, of the same framework
    restore: Callable[[Any], Any]  # a result as the caller works with it
    stream_now: Callable[[], int]  # that the caller's work is queued on


def view_of(value: Any) -> DeviceArray:
    """Raises for other types and for devices that the library cannot use."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _view_of_torch(torch, value)
    return _view_of_foreign(value)


def _view_of_torch(torch: Any, tensor: Any) -> DeviceArray:
    dtype, device = tensor.dtype, tensor.device
    if not dtype.is_floating_point:
        raise InvalidArgument(f"the elements are {dtype}, but rows must be floating-point numbers")
    if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        raise Unsupported("the library waits for the device, which a CUDA graph cannot record")
    values = tensor.detach().resolve_neg()
    if dtype != torch.float32:
        values = _narrow(torch, values)
    return DeviceArray(
        values,
        lambda array: array.__dlpack__(stream=-1),
        lambda size: torch.empty(size, dtype=torch.float32, device=device),
        lambda result: result.to(dtype),
        lambda: torch_stream(torch, device),
    )


def torch_stream(torch: Any, device: Any) -> int:
    """PyTorch's current stream as DLPack numbers it."""
    if device.type != "cuda":
        return 0
    stream: int = torch.cuda.current_stream(device).cuda_stream
    return stream or _DEFAULT_STREAM


def _narrow(torch: Any, values: Any) -> Any:
    narrow = values.float()
    beyond = torch.isinf(narrow) & torch.isfinite(values)
    if bool(beyond.any()):
        raise InvalidArgument(
            "the rows hold values beyond float32; rows are aggregated as float32, so scale them"
        )
    return narrow


def _view_of_foreign(value: Any) -> DeviceArray:
    kind = type(value).__name__
    if not all(hasattr(value, name) for name in ("dtype", "shape", "ndim")):
        raise Unsupported(
            f"an array of type {kind} on a device does not say its type and shape; bring it to "
            "host memory"
        )
    if str(value.dtype) != "float32":
        raise InvalidArgument(
            f"the elements of type {kind} are {value.dtype}; on the device rows are float32, say "
            "what you mean with .astype('float32')"
        )
    namespace = _namespace_of(value)
    if namespace is None or not hasattr(namespace, "empty") or namespace.__name__ == "jax.numpy":
        raise Unsupported(
            f"there is no way to make a result of type {kind} in the memory of the device; give "
            "the library a tensor of PyTorch (torch.from_dlpack, without a copy) or of CuPy"
        )
    return DeviceArray(
        value,
        lambda array: array.__dlpack__(stream=_DEFAULT_STREAM),
        lambda size: namespace.empty(size, dtype=namespace.float32),
        lambda result: result,
        lambda: _DEFAULT_STREAM,
    )


def _namespace_of(value: Any) -> Any:
    """The module with the functions for such arrays."""
    standard = getattr(value, "__array_namespace__", None)
    return standard() if standard else sys.modules.get(type(value).__module__.split(".")[0])


def _flat(array: Any) -> Any:
    """One contiguous vector of its values in order."""
    return array.reshape(-1) if array.ndim != 1 or array.shape[0] < 2 else _contiguous(array)


def _contiguous(array: Any) -> Any:
    strides = array.stride() if callable(getattr(array, "stride", None)) else None
    if strides is not None:  # PyTorch counts values
        return array if strides[-1] == 1 else array.contiguous()
    if array.strides[-1] == array.itemsize:
        return array
    return _namespace_of(array).ascontiguousarray(array)


def aggregate(
    rule: str, rows: Any, weights: Optional[List[float]], draw: int, device: str
) -> Tuple[Any, List[float], int]:
    """_core.aggregate for rows on a device."""
    check_device(device)
    shape, views = _rows(rows)
    view = views[0]
    if isinstance(rows, (list, tuple)):
        arrays: Any = [_flat(each.array) for each in views]
        size = arrays[0].shape[0]
        given: Any = [each.export(array) for each, array in zip(views, arrays)]
    else:
        arrays = _matrix(view.array)
        size = arrays.shape[1]
        given = view.export(arrays)
    out = view.empty(size)
    with first_device():
        kept, iterations = _core.aggregate_on_device(
            rule, given, weights, view.export(out), draw, view.stream_now()
        )
    return view.restore(out.reshape(shape)), kept, iterations


def _rows(rows: Any) -> Tuple[Tuple[int, ...], Sequence[DeviceArray]]:
    """The shape of a result, and the rows as they are."""
    if not isinstance(rows, (list, tuple)):
        view = view_of(rows)
        if rows.ndim < 2:
            raise InvalidArgument(f"the shape is {tuple(rows.shape)}, but rows must be m x d")
        return tuple(rows.shape[1:]), [view]
    views = [view_of(row) for row in rows]
    shape = tuple(rows[0].shape)
    if not shape:
        raise InvalidArgument("rows must be m x d; these are numbers, not rows")
    for i, row in enumerate(rows):
        if tuple(row.shape) != shape:
            raise InvalidArgument(
                f"row 0 has the shape {shape} but row {i} has {tuple(row.shape)}; make them equal"
            )
    return shape, views


def _matrix(array: Any) -> Any:
    if array.ndim > 2:
        array = array.reshape(array.shape[0], -1)
    return array if array.shape[1] < 2 else _contiguous(array)


def vector_of(value: Any) -> Tuple[Any, DeviceArray]:
    """One contiguous vector, and what it was made from."""
    view = view_of(value)
    if view.array.ndim == 0:
        raise InvalidArgument("the values must be a vector")
    return _flat(view.array), view
