"""A dictionary as the TOML text of a specification."""

import json
import math
import os
from typing import Any, List, Mapping

from ._checks import text
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
        return _quoted(text(value, key))
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
            tables.append(f"[{key}]\n" + _lines(key, value))
        elif is_table(value):
            tables += [f"[[{key}]]\n" + _lines(key, item) for item in value]
        else:
            lines.append(f"{_key(key)} = {_value(key, value)}\n")
    return "".join(lines) + "".join(tables)


def is_table(value: Any) -> bool:
    """Whether it is written as a table, or several of one name."""
    is_list = isinstance(value, (list, tuple)) and len(value) > 0
    return isinstance(value[0] if is_list else value, Mapping)


def _key(key: str) -> str:
    is_bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if is_bare else _quoted(key)


def _quoted(value: str) -> str:
    """As JSON has it, but for what TOML does not take: surrogates in pairs, a bare DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _lines(name: str, table: Any) -> str:
    if not isinstance(table, Mapping):
        raise InvalidArgument(f"{name} is a list of tables, with a {type(table).__name__} in it")
    return "".join(f"{_key(key)} = {_value(key, value)}\n" for key, value in table.items())
