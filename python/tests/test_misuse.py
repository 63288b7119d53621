"""Whatever is handed over by mistake is refused with words that help, and ends no process."""

import copy
import pickle

import numpy as np
import pytest

import ballast

ROWS = np.arange(15, dtype=np.float32).reshape(5, 3)


def refused(words):
    return pytest.raises(ballast.InvalidArgument, match=words)


@pytest.mark.parametrize(
    "rows, words",
    [
        ((row for row in ROWS), "a list of arrays.* a generator is neither"),
        ({"a": ROWS}, "a dict is neither"),
        (None, "a NoneType is neither"),
        ([None, None], "a NoneType is neither"),
        ([["a"], ["b"]], "no rows of numbers"),
        ([[[1.0], [2.0, 3.0]]] * 2, "no rows of numbers"),
        (np.ma.masked_greater(ROWS, 7), "masked"),
        (ROWS.astype(object), "an ndarray|floating-point"),
    ],
)
def test_what_is_no_rows_is_refused_as_what_it_is(rows, words):
    with refused(words):
        ballast.aggregate("gm", rows)


def test_masked_arrays_without_a_masked_value_are_rows():
    result = ballast.aggregate("gm", np.ma.masked_array(ROWS))
    assert (result == ballast.aggregate("gm", ROWS)).all()


def test_tensors_that_have_no_rows_in_memory_are_refused():
    torch = pytest.importorskip("torch")
    rows = torch.from_numpy(ROWS)
    for other in (rows.to_sparse(), rows.to_sparse_csr(), torch.nested.nested_tensor(list(rows))):
        with refused("to_dense"):
            ballast.aggregate("gm", other)
    with refused("weights must be numbers"):
        ballast.aggregate("gm", rows, torch.ones(5).to_sparse())


def test_rows_that_are_not_aligned_are_read_all_the_same():
    shifted = np.ndarray(ROWS.shape, np.float32, b"\0" + ROWS.tobytes(), 1)
    assert not shifted.flags.aligned
    for rows in (shifted, list(shifted)):
        assert (ballast.aggregate("gm", rows) == ballast.aggregate("gm", ROWS)).all()


def test_numbers_of_numpy_are_numbers():
    one = np.int64(1)
    expected = ballast.aggregate("bucketing(gm, 2)", ROWS, draw=1)
    assert (ballast.aggregate("bucketing(gm, 2)", ROWS, draw=one, threads=one) == expected).all()
    ballast.set_threads(np.int32(0))
    assert ballast.Table(one * 3, one).dim == 3


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: ballast.aggregate("gm", ROWS, draw=1.5), "draw is a whole number.* not 1.5"),
        (lambda: ballast.aggregate("gm", ROWS, threads=-1), "threads is a whole number.* not -1"),
        (lambda: ballast.aggregate("\udcff", ROWS), "no Unicode text"),
        (lambda: ballast.canonical(3), "a rule is a text such as 'ctma"),
        (lambda: ballast.names(3), "the kind is a text"),
        (lambda: ballast.set_threads("x"), "threads is a whole number"),
        (lambda: ballast.Table(3, 2).put(0, ROWS[0], weight="x"), "the weight is a number"),
        (lambda: ballast.Table(3, 2).set_weight(0, None), "the weight is a number"),
        (lambda: ballast.train({"updates": 1}, threads="x"), "threads is a whole number"),
        (lambda: ballast.train({}, grid={"rule": ["gm"]}), "grid is a table, which belongs into"),
        (lambda: ballast.train({"curve": [{"rule": "gm"}, 3]}), "curve is a list of tables"),
        (lambda: ballast.train({"name": "\udcff"}), "no Unicode text"),
    ],
)
def test_arguments_of_another_type_are_named(call, words):
    with refused(words):
        call()


def test_the_row_of_a_wrong_state_is_told():
    with refused("row 1 holds 1e\\+300"):
        ballast.aggregate_named("mean", [{"a": np.ones(1)}, {"a": np.full(1, 1e300)}])
    with refused("states are a list"):
        ballast.aggregate_named("mean", {"a": np.ones(1)})
    states = ({"a": row} for row in ROWS)
    named = ballast.aggregate_named("mean", states)
    assert (named["a"] == ballast.aggregate("mean", ROWS)).all()


def test_what_stands_for_the_librarys_memory_is_neither_copied_nor_pickled():
    table = ballast.Table(3, 2)
    for attempt in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="pickle"):
            attempt(table)
    kind = type(table._table)
    with pytest.warns(RuntimeWarning, match="uninitialized"), pytest.raises(TypeError):
        kind.__new__(kind).dim  # noqa: B018
