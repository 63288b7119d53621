"""A dictionary as the TOML text of a specification."""

import json
import math
import os
from typing import Any, List, Mapping

from ._errors import InvalidArgument


def _value(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if hasattr(value, "item"):  # a number of NumPy's or PyTorch's
        value = value.item()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidArgument(f"{key} is {value}, which no key of a specification can be")
        return repr(value)
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(key, item) for item in value) + "]"
    raise InvalidArgument(f"{key} is a {type(value).__name__}, which no key of a specification is")


def to_toml(spec: Mapping[str, Any]) -> str:
    """Keys first, then tables: {"workers": 9, "grid": {...}, "curve": [{...}, ...]}."""
    lines: List[str] = []
    tables: List[str] = []
    for key, value in spec.items():
        if not isinstance(key, str):
            raise InvalidArgument(f"the keys of a specification are texts, not {key!r}")
        if isinstance(value, Mapping):
            tables.append(f"[{key}]\n" + _lines(value))
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
            tables += [f"[[{key}]]\n" + _lines(item) for item in value]
        else:
            lines.append(f"{_key(key)} = {_value(key, value)}\n")
    return "".join(lines) + "".join(tables)


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() else json.dumps(key)


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{_key(key)} = {_value(key, value)}\n" for key, value in table.items())
