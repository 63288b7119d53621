"""From arrays of any framework to NumPy views of the same memory, and back.

For rows in host memory; _device.py has the same for those on a CUDA device. The library computes in
float32. A view of float32 values costs no copy. float64 and float16 (bfloat16 too) are converted,
which is a copy, and the result is converted back.
"""

import sys
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._errors import InvalidArgument, Unsupported

Array = np.ndarray
Restore = Callable[[Array], Any]


class Rows(NamedTuple):
    """Rows ready for the library, and how a result becomes what the caller works with."""

    values: Union[Array, List[Array]]  # m x d, or m vectors; float32, each row contiguous
    dim: int
    restore: Restore


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _view_of_torch(tensor: Any) -> Tuple[Array, Restore]:
    import torch

    if tensor.device.type != "cpu":
        raise Unsupported(f"{tensor.device} is not host memory, where this is done; give it .cpu()")
    dtype = tensor.dtype
    if not dtype.is_floating_point:
        raise InvalidArgument(f"the elements are {dtype}, but rows must be floating-point numbers")
    if tensor.layout != torch.strided or tensor.is_nested:
        raise InvalidArgument("the tensor is sparse or nested; make it one with .to_dense()")
    values = tensor.detach()
    if dtype not in (torch.float32, torch.float64):
        values = values.float()
    # resolve_neg() and the like are for views that NumPy cannot have.
    view = values.resolve_neg().numpy()

    def restore(result: Array) -> Any:
        return torch.from_numpy(result).to(dtype)

    return view, restore


_HOST = (1, 3, 11)  # DLPack's numbers of host memory: plain, pinned by CUDA, pinned by ROCm


def _view_of_foreign(value: Any) -> Tuple[Array, Restore]:
    """Anything with DLPack, or else with the buffer protocol or NumPy's own."""
    kind = type(value).__name__
    if isinstance(value, (memoryview, bytes, bytearray)) or not hasattr(value, "__dlpack__"):
        view = numbers_of(value)
        if view.dtype == object:
            raise InvalidArgument(
                f"rows are one array, or a list of arrays, of floating-point numbers, and a {kind} "
                "is neither"
            )
        return view, _same
    if hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] not in _HOST:
        raise Unsupported(
            f"an array of type {kind} is in the memory of a device, but this is done in host "
            "memory; bring it there first"
        )
    try:
        view = np.from_dlpack(value)
    except (RuntimeError, BufferError, TypeError) as error:
        if not hasattr(value, "__array__"):
            raise Unsupported(
                f"the rows of type {kind} cannot be read in host memory ({error}); "
                "bring them there first"
            ) from error
        view = np.asarray(value)  # types that NumPy's DLPack does not have, such as bfloat16
    namespace = getattr(value, "__array_namespace__", None)
    if namespace is None:
        return view, _restore_to_jax(value)

    def restore(result: Array) -> Any:
        try:
            return namespace().asarray(result, device=value.device)
        except (AttributeError, TypeError):  # not every framework names its devices
            return namespace().asarray(result)

    return view, restore


def numbers_of(value: Any, dtype: Any = None) -> Array:
    """Lists and the like as NumPy sees them."""
    try:
        return np.asarray(value, dtype)
    except Exception as error:  # whatever the value's own methods raise
        raise InvalidArgument(f"these are no rows of numbers: {error}") from error


def _restore_to_jax(value: Any) -> Restore:
    """Arrays of JAX before 0.4.32, as those for Python 3.9 are, name no namespace. What others have
    that name none comes back as NumPy's."""
    jax = sys.modules.get("jax")
    if jax is None or not isinstance(value, jax.Array):
        return _same
    return lambda result: jax.device_put(result, next(iter(value.devices())))


def is_floating(dtype: Any) -> bool:
    """Also of types that NumPy does not know itself, whose kind is that of raw bytes."""
    name: str = dtype.name
    return dtype.kind == "f" or name.startswith(("bfloat", "float"))


def view_of(value: Any, row: Optional[int] = None) -> Tuple[Array, Restore]:
    """The view, and how a result becomes what the value is; `row` is its number in errors."""
    view: Array
    restore: Restore
    if type(value) is np.ndarray:
        view, restore = value, _same
    elif isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray) and value.mask.any():
            raise InvalidArgument("values of the array are masked; fill them, or leave rows out")
        view, restore = np.asarray(value), _same
    elif is_torch(value):
        view, restore = _view_of_torch(value)
    else:
        view, restore = _view_of_foreign(value)
    if view.dtype == np.float32:
        is_ready = view.dtype.isnative and view.flags.aligned
        return (view if is_ready else view.astype(np.float32)), restore
    return _to_float32(view, restore, row)


def _same(result: Array) -> Array:
    return result


def _to_float32(view: Array, restore: Restore, row: Optional[int]) -> Tuple[Array, Restore]:
    if view.dtype.kind in "iu":
        raise InvalidArgument(
            f"the elements are {view.dtype}, whole numbers; say what you mean with "
            ".astype('float32')"
        )
    if not is_floating(view.dtype):
        raise InvalidArgument(
            f"the elements are {view.dtype}, but rows must be floating-point numbers"
        )
    dtype = view.dtype
    with np.errstate(over="ignore"):
        narrow = view.astype(np.float32)
    beyond = np.isinf(narrow) & np.isfinite(view)
    if beyond.any():
        at = np.argwhere(beyond)[0]
        number = at[0] if row is None else row
        raise InvalidArgument(
            f"row {number} holds {view[tuple(at)]}, which is beyond float32; rows are aggregated "
            "as float32, so scale them"
        )
    return narrow, lambda result: restore(result.astype(dtype))


def _flat(view: Array) -> Array:
    return view if view.ndim == 1 else view.reshape(-1)


def _is_contiguous(row: Array) -> bool:
    return bool(row.flags.c_contiguous)


def rows_of(rows: Any) -> Rows:
    """Rows in one array (the first axis numbers them), or a list of arrays of one shape."""
    if isinstance(rows, (list, tuple)):
        if not rows:
            raise InvalidArgument("there is nothing to aggregate: no rows, or rows of length 0")
        if all(isinstance(value, (int, float)) for value in rows):
            raise InvalidArgument("rows must be m x d; these are numbers, not rows")
        return _rows_of_list(rows)
    view, restore = view_of(rows)
    if view.ndim < 2:
        raise InvalidArgument(f"the shape is {view.shape}, but rows must be m x d")
    shape = view.shape[1:]
    if view.ndim > 2:
        view = view.reshape(view.shape[0], -1)
    if view.shape[1] > 1 and view.strides[1] != view.itemsize:
        view = np.ascontiguousarray(view)
    elif view.strides[0] % view.itemsize:
        view = np.ascontiguousarray(view)
    return Rows(view, view.shape[1], _shaped(shape, restore))


def _shaped(shape: Tuple[int, ...], restore: Restore) -> Restore:
    if len(shape) == 1:
        return restore
    return lambda result: restore(result.reshape(shape))


def _rows_of_list(rows: Sequence[Any]) -> Rows:
    views: List[Array] = []
    restore: Optional[Restore] = None
    shape: Tuple[int, ...] = ()
    for i, row in enumerate(rows):
        if isinstance(row, (list, tuple)):
            row = numbers_of(row, np.float64)
        view, restore_this = view_of(row, i)
        if restore is None:
            restore, shape = restore_this, view.shape
        if view.shape != shape:
            raise InvalidArgument(
                f"row 0 has the shape {shape} but row {i} has {view.shape}; make them equal"
            )
        if view.ndim == 0:
            raise InvalidArgument("rows must be m x d; these are numbers, not rows")
        views.append(_flat(view) if _is_contiguous(view) else np.ascontiguousarray(view).ravel())
    assert restore is not None
    return Rows(views, views[0].size, _shaped(shape, restore))


def vector_of(values: Any, what: str = "the values") -> Array:
    """One contiguous float32 vector; of a tensor of any shape its values in order."""
    view, _ = view_of(values)
    if view.ndim == 0:
        raise InvalidArgument(f"{what} must be a vector")
    return _flat(view) if _is_contiguous(view) else np.ascontiguousarray(view).ravel()


def weights_of(weights: Any) -> Optional[List[float]]:
    if weights is None:
        return None
    try:
        if is_torch(weights):
            weights = weights.detach().cpu().numpy()
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidArgument(f"weights must be numbers: {error}") from None
    if values.ndim != 1:
        raise InvalidArgument(f"the weights have the shape {values.shape}; give one per row")
    result: List[float] = values.tolist()
    return result
