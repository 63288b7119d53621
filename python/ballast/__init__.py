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

__all__ = [
    "BallastError",
    "Entry",
    "Interrupted",
    "InvalidArgument",
    "IoError",
    "NotFinite",
    "NotFound",
    "Report",
    "Table",
    "Unsupported",
    "__version__",
    "aggregate",
    "aggregate_named",
    "attacks",
    "canonical",
    "names",
    "rules",
]
