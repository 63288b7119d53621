"""The Strategy for Flower, with Flower's own records."""

from types import SimpleNamespace

import numpy as np
import pytest

flwr_app = pytest.importorskip("flwr.app")

import ballast  # noqa: E402
from ballast.flower import RobustStrategy  # noqa: E402


def record(values):
    arrays = {"w": flwr_app.Array(values), "n": flwr_app.Array(np.array([1, 2]))}
    return flwr_app.ArrayRecord(arrays)


def reply(node, arrays, examples=1):
    content = flwr_app.RecordDict(
        {"arrays": arrays, "metrics": flwr_app.MetricRecord({"num-examples": examples})}
    )
    return SimpleNamespace(
        has_error=lambda: False, content=content, metadata=SimpleNamespace(src_node_id=node)
    )


def test_a_round_is_the_rule_over_the_replies():
    rng = np.random.default_rng(2)
    strategy = RobustStrategy("ctma(gm, 0.3)")
    strategy.begin(record(np.zeros((3, 2), np.float32)))
    rows = rng.standard_normal((6, 3, 2)).astype(np.float32)
    rows[5] = 1e6
    # The liar claims to have seen everything; nobody listens.
    replies = [reply(i, record(row), 10**9 if i == 5 else 1) for i, row in enumerate(rows)]
    arrays, metrics = strategy.aggregate_train(1, replies)
    expected = ballast.aggregate("ctma(gm, 0.3)", rows, [1] * 6)
    assert (arrays["w"].numpy() == expected).all()
    assert arrays["n"].numpy().tolist() == [1, 2]
    assert metrics["ballast-accepted"] == 6 and metrics["ballast-refused"] == 0
    arrays, _ = strategy.aggregate_train(2, replies[:5])
    arrays, _ = strategy.aggregate_train(3, replies)
    expected = ballast.aggregate("ctma(gm, 0.3)", rows, [3, 3, 3, 3, 3, 2])
    assert (arrays["w"].numpy() == expected).all()


def test_replies_that_are_no_models_are_refused():
    strategy = RobustStrategy("cwmed")
    strategy.begin(record(np.zeros(4, np.float32)))
    nothing = flwr_app.RecordDict()
    bad = [
        reply(1, record(np.full(4, np.nan, np.float32))),
        reply(2, record(np.zeros(5, np.float32))),
        reply(3, record(np.zeros(4, np.float64))),
        reply(4, flwr_app.ArrayRecord({"v": flwr_app.Array(np.zeros(4, np.float32))})),
        SimpleNamespace(
            has_error=lambda: False, content=nothing, metadata=SimpleNamespace(src_node_id=5)
        ),
        reply(0, record(np.full(4, 99, np.float32))),  # a second one of the same node
    ]
    good = reply(0, record(np.ones(4, np.float32)))
    arrays, metrics = strategy.aggregate_train(1, [good] + bad)
    assert arrays["w"].numpy().tolist() == [1, 1, 1, 1]
    assert metrics["ballast-accepted"] == 1 and metrics["ballast-refused"] == 6
    assert strategy.counts == {0: 1} and set(strategy.refused) == {0, 1, 2, 3, 4, 5}
    assert strategy.aggregate_train(2, []) == (None, None)
    with pytest.raises(ballast.BallastError):
        RobustStrategy("gn")
