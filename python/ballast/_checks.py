"""Arguments of users, looked at before the library is called, so that errors say what is wrong."""

import operator
from typing import Any

from ._errors import InvalidArgument


def text(value: Any, what: str, example: str = "") -> str:
    if not isinstance(value, str):
        such = f" such as {example!r}" if example else ""
        raise InvalidArgument(f"{what} is a text{such}, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{what} is {value!r}, which is no Unicode text") from error
    return value


def whole(value: Any, what: str, least: int, limit: int) -> int:
    """A whole number of Python's, NumPy's or PyTorch's, below the limit."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if least <= number < limit:
        return number
    raise InvalidArgument(f"{what} is a whole number from {least} to {limit - 1}, not {value!r}")


def number(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{what} is a number, not {value!r}") from None


def threads(value: Any) -> int:
    return whole(value, "threads", 0, 1025)
