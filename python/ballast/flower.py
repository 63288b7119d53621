"""A Strategy for Flower: robust aggregation of a round.

    from ballast.flower import RobustStrategy
    strategy = RobustStrategy("ctma(gm, 0.2)", fraction_train=1.0, min_train_nodes=10)
    strategy.start(grid=grid, initial_arrays=ArrayRecord(model.state_dict()), num_rounds=20)

Each reply is one row, weighed by how many of its node's replies were accepted so far, which the
server has counted itself. What clients claim, num-examples above all, is not looked at. A reply
whose arrays have other names or shapes than the model, or hold a NaN, is refused and counted.

Limits: a round is a barrier, so a node is heard once a round and a slow one is waited for; who a
node is, is what Flower says it is; arrays of whole numbers are those of the model that was sent.
"""

from logging import WARNING
from typing import Any, Dict, Iterable, List, Optional, Tuple

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.common.logger import log
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg

from ._core import check_rule
from ._named import aggregate_named

__all__ = ["RobustStrategy"]

State = Dict[str, np.ndarray]


class RobustStrategy(FedAvg):  # type: ignore[misc]
    """FedAvg with a rule in place of the average.

    rule     an expression, see ballast.rules()
    options  of FedAvg: fraction_train, min_train_nodes, ...
    """

    def __init__(self, rule: str = "ctma(gm, 0.2)", **options: Any) -> None:
        super().__init__(**options)
        self.rule = check_rule(rule)
        self.counts: Dict[int, int] = {}  # accepted replies, by node
        self.refused: Dict[int, int] = {}
        self._model: State = {}

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        self.begin(arrays)
        messages: Iterable[Message] = super().configure_train(server_round, arrays, config, grid)
        return messages

    def begin(self, arrays: ArrayRecord) -> None:
        """The model that replies are compared with."""
        self._model = _state_of(arrays)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> Tuple[Optional[ArrayRecord], Optional[MetricRecord]]:
        states: List[State] = []
        nodes: List[int] = []
        refused = 0
        for reply in replies:
            if reply.has_error():
                continue
            node = int(reply.metadata.src_node_id)
            state = None if node in nodes else self._accept(reply)
            if state is None:
                refused += 1
                self.refused[node] = self.refused.get(node, 0) + 1
                log(WARNING, "round %s: the reply of node %s is refused", server_round, node)
                continue
            self.counts[node] = self.counts.get(node, 0) + 1
            states.append(state)
            nodes.append(node)
        if not states:
            return None, None
        weights = [self.counts[node] for node in nodes]
        result, report = aggregate_named(self.rule, states, weights, True)
        kept = sum(report.kept) / len(report.kept)
        metrics = {
            "ballast-accepted": len(states),
            "ballast-refused": refused,
            "ballast-kept": kept,
        }
        return ArrayRecord({name: Array(value) for name, value in result.items()}), MetricRecord(
            metrics
        )

    def _accept(self, reply: Message) -> Optional[State]:
        """The reply's arrays, if they are a model; whatever is wrong with them is the client's."""
        try:
            records = list(reply.content.array_records.values())
            if len(records) != 1:
                return None
            state = _state_of(records[0])
        except Exception:  # what a client sends may break anything
            return None
        if list(state) != list(self._model):
            return None
        for name, expected in self._model.items():
            value = state[name]
            if value.shape != expected.shape or value.dtype != expected.dtype:
                return None
            if value.dtype.kind != "f":
                state[name] = expected
            elif not _is_finite(value):
                return None
        return state

    def summary(self) -> None:
        super().summary()


def _is_finite(value: np.ndarray) -> bool:
    """As float32, in which rows are aggregated."""
    with np.errstate(over="ignore"):
        return bool(np.isfinite(value.astype(np.float32)).all())


def _state_of(arrays: ArrayRecord) -> State:
    return {name: array.numpy() for name, array in arrays.items()}
