"""What a run leaves behind."""

from typing import Any, Dict, List, Optional

import numpy as np


class History(Dict[str, np.ndarray]):
    """One run: columns of what was measured at each evaluation, and the last model.

    history["test_accuracy"] is a column, history.t their x axis; pandas.DataFrame(history) is the
    table, history.plot() the curve. The columns are t, test_accuracy, test_loss, train_loss,
    byzantine_updates, staleness_mean, staleness_max and seconds, and with explain=True those of
    `ballast train --why`; with the attack "back-door", back_door.

    run, panel, curve, seed, settings  which run it was
    status          "finished" or "diverged"
    parameters      the last model as one vector; statistics: those of BatchNorm
    total_seconds, gradient_seconds
    """

    def __init__(self, run: Dict[str, Any]) -> None:
        self.run: str = run["run"]
        self.panel: str = run["panel"]
        self.curve: str = run["curve"]
        self.seed: int = run["seed"]
        self.settings: Dict[str, str] = run["settings"]
        self.status: str = run["status"]
        self.total_seconds: float = run["total_seconds"]
        self.gradient_seconds: float = run["gradient_seconds"]
        self.parameters: Optional[np.ndarray] = run.get("model")
        self.statistics: Optional[np.ndarray] = run.get("statistics")
        rows: List[Dict[str, Any]] = run["evaluations"]
        names = list(rows[0]) if rows else []
        # A dictionary, for pandas makes no columns of other mappings.
        super().__init__((name, np.array([row[name] for row in rows])) for name in names)

    def __getattr__(self, name: str) -> np.ndarray:
        if name in self:
            return self[name]
        raise AttributeError(f"{name} is neither an attribute nor a column of the history")

    @property
    def accuracy(self) -> float:
        """On the test set, at the end, from 0 to 1."""
        return float(self["test_accuracy"][-1]) if self else float("nan")

    def to_pandas(self) -> Any:
        import pandas

        return pandas.DataFrame(self)

    def plot(self, column: str = "test_accuracy", ax: Any = None, **options: Any) -> Any:
        """Draws a column against the number of updates; returns matplotlib's axes."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.gca()
        label = options.pop("label", self.curve or self.run)
        ax.plot(self["t"], self[column], label=label, **options)
        ax.set_xlabel("updates")
        ax.set_ylabel(column.replace("_", " "))
        return ax

    def __repr__(self) -> str:
        return (
            f"<History of {self.run!r}, seed {self.seed}: {self.status}, "
            f"accuracy {self.accuracy:.4f}>"
        )
