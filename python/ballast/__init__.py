"""Training and aggregation that survive workers which lie, break or race ahead.

    import ballast
    direction = ballast.aggregate("ctma(gm, 0.4)", rows, weights=counts)

ballast.rules() lists the rules; help(ballast.aggregate) says more. docs/python.md has the rest.
"""

import importlib
from typing import Any

from ._client import Client, Model, Pushed, Server, Tls
from ._core import version as __version__
from ._errors import (
    BallastError,
    Interrupted,
    InvalidArgument,
    IoError,
    NotFinite,
    NotFound,
    Unsupported,
)
from ._history import History
from ._named import aggregate_named
from ._rules import (
    Entry,
    Report,
    Table,
    aggregate,
    attacks,
    canonical,
    names,
    rules,
    set_threads,
)
from ._simulation import Simulation, compare, train


def __getattr__(name: str) -> Any:
    """ballast.torch, byzfl, byzpy and flower are imported when they are asked for."""
    if name in ("torch", "byzfl", "byzpy", "flower"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "BallastError",
    "Client",
    "Entry",
    "History",
    "Interrupted",
    "InvalidArgument",
    "IoError",
    "Model",
    "NotFinite",
    "NotFound",
    "Pushed",
    "Report",
    "Server",
    "Simulation",
    "Table",
    "Tls",
    "Unsupported",
    "__version__",
    "aggregate",
    "aggregate_named",
    "attacks",
    "canonical",
    "compare",
    "names",
    "rules",
    "set_threads",
    "train",
]
