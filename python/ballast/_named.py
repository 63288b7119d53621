"""Rules on named tensors: the states of models, and trees of arrays."""

from typing import Any, Dict, Iterable, Iterator, List, Mapping

import numpy as np

from ._arrays import is_floating, view_of
from ._errors import InvalidArgument
from ._rules import aggregate


def aggregate_named(
    expression: str,
    states: Iterable[Any],
    weights: Any = None,
    return_report: bool = False,
    **options: Any,
) -> Any:
    """aggregate() for named tensors: as many states as rows, all of one structure, in; one state of
    the same structure out. A state is a dictionary of tensors, such as the state_dict() of PyTorch,
    or a tree of dictionaries, lists and tuples, such as the parameters of a model in JAX.

    All tensors of a state make one row, so that a rule judges a worker as a whole. Tensors of whole
    numbers (BatchNorm's num_batches_tracked) have no part in it; the result has those of the first
    state. The rows are joined, which takes one copy.

    >>> states = [net.state_dict() for net in nets]
    >>> net.load_state_dict(ballast.aggregate_named("ctma(gm, 0.4)", states))
    """
    if isinstance(states, Mapping):
        raise InvalidArgument("states are a list of states, and this is one of them")
    states = list(states)
    if not states:
        raise InvalidArgument("there is nothing to aggregate: no rows, or rows of length 0")
    leaves: List[Dict[str, Any]] = [{} for _ in states]
    for i, state in enumerate(states):
        _flatten(state, "", leaves[i])
        if list(leaves[i]) != list(leaves[0]):
            raise InvalidArgument(f"row {i} does not have the names of row 0 in the same order")
    first = leaves[0]
    floating = [name for name in first if _takes_part(name, first[name])]
    if not floating:
        raise InvalidArgument("there are no floating-point tensors")
    views = [[view_of(leaf[name], i)[0] for name in floating] for i, leaf in enumerate(leaves)]
    for i, row in enumerate(views):
        for name, view, expected in zip(floating, row, views[0]):
            if view.shape != expected.shape:
                raise InvalidArgument(
                    f"{name} has the shape {expected.shape} in row 0 but {view.shape} in row {i}"
                )
    joined = [np.concatenate([view.reshape(-1) for view in row]) for row in views]
    flat, report = aggregate(expression, joined, weights, True, **options)
    made = dict(first)
    start = 0
    for name, view in zip(floating, views[0]):
        part = flat[start : start + view.size].reshape(view.shape).copy()
        made[name] = view_of(first[name])[1](part)
        start += view.size
    result = _rebuild(states[0], iter(made.values()))
    return (result, report) if return_report else result


def _flatten(tree: Any, name: str, leaves: Dict[str, Any]) -> None:
    """Names a tree's leaves by the way to them: "layers.0.weight"."""
    if isinstance(tree, Mapping):
        branches: Any = tree.items()
    elif isinstance(tree, (list, tuple)):
        branches = enumerate(tree)
    else:
        leaves[name or "the state"] = tree
        return
    for key, branch in branches:
        way = f"{name}.{key}" if name else str(key)
        if way in leaves:
            raise InvalidArgument(f"two tensors are named {way}")
        _flatten(branch, way, leaves)


def _rebuild(tree: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(tree, Mapping):
        return {key: _rebuild(branch, leaves) for key, branch in tree.items()}
    if isinstance(tree, (list, tuple)):
        branches = [_rebuild(branch, leaves) for branch in tree]
        if isinstance(tree, list):
            return branches
        return type(tree)(*branches) if hasattr(tree, "_fields") else tuple(branches)
    return next(leaves)


def _takes_part(name: str, value: Any) -> bool:
    """Whether it is aggregated: floating-point tensors are, whole numbers are not."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        raise InvalidArgument(f"{name} is a {type(value).__name__}, not an array or a tensor")
    if hasattr(dtype, "is_floating_point"):  # PyTorch's
        is_complex, floats = dtype.is_complex, bool(dtype.is_floating_point)
    else:
        is_complex, floats = np.dtype(dtype).kind == "c", is_floating(np.dtype(dtype))
    if is_complex:
        raise InvalidArgument(f"{name} holds complex numbers, which no rule takes")
    return floats
