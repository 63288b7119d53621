"""Training and aggregation that survive workers which lie, break or race ahead.

    import ballast
    direction = ballast.aggregate("ctma(gm, 0.4)", rows, weights=counts)

ballast.rules() lists the rules; help(ballast.aggregate) says more. docs/python.md has the rest.
"""

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
from ._rules import (
    Entry,
    Report,
    Table,
    aggregate,
    aggregate_named,
    attacks,
    canonical,
    names,
    rules,
)
from ._simulation import Simulation, compare, train

__all__ = [
    "BallastError",
    "Entry",
    "History",
    "Interrupted",
    "InvalidArgument",
    "IoError",
    "NotFinite",
    "NotFound",
    "Report",
    "Simulation",
    "Table",
    "Unsupported",
    "__version__",
    "aggregate",
    "aggregate_named",
    "attacks",
    "canonical",
    "compare",
    "names",
    "rules",
    "train",
]
