"""Rules: the same bits as the program's, any kind of array, no copy, and errors that teach."""

import array
import collections
import resource
import subprocess

import numpy as np
import pytest

import ballast

EXPRESSIONS = {
    "mean": ["mean"],
    "cwmed": ["cwmed"],
    "gm": ["gm", "gm(iterations=3, start=zero)"],
    "ctma": ["ctma(gm, 0.4)", "ctma(cwmed, 0.2)"],
    "cwtm": ["cwtm(0.2)"],
    "krum": ["krum(0.2)"],
    "multikrum": ["multikrum(0.2)"],
    "mda": ["mda(0.2)"],
    "distinct": ["distinct(ctma(gm, 0.4))", "distinct(cwmed, 0.3)"],
    "nnm": ["nnm(gm, 0.2)", "nnm(cwtm(0.2), 0.2)"],
    "bucketing": ["bucketing(cwmed, 2)", "bucketing(gm, 2, seed=7)"],
    "unweighted": ["unweighted(gm)"],
    "meamed": ["meamed(0.2)"],
    "bulyan": ["bulyan(0.1)"],
    "cge": ["cge(0.2)"],
    "monna": ["monna(0.2)", "monna(0.2, row=3)"],
    "smea": ["smea(0.2)"],
    "caf": ["caf(0.2)"],
    "dnc": ["dnc(0.2)", "dnc(0.2, iterations=2, coordinates=100)"],
    "cclip": ["cclip(cwmed, 10)", "cclip(gm, 3, steps=2)"],
    "previous": ["previous", "cclip(previous, 3, steps=2)"],
    "clip": ["clip(gm, 20)"],
    "arc": ["arc(cwtm(0.2), 0.2)"],
}
ALL = [text for texts in EXPRESSIONS.values() for text in texts]


def test_every_rule_is_compared():
    assert {entry.name for entry in ballast.rules()} == set(EXPRESSIONS)


@pytest.mark.parametrize("expression", ALL)
def test_results_have_the_bits_of_the_program(expression, program, rng, tmp_path):
    torch = pytest.importorskip("torch")
    for case in range(3):
        rows = rng.standard_normal((11, 1000 + case), dtype=np.float32) * 10.0 ** (case - 1)
        weights = rng.integers(1, 20, 11)
        np.save(tmp_path / "rows.npy", rows)
        np.save(tmp_path / "weights.npy", weights)
        command = [program, "aggregate", "--rule", expression, "--rows", tmp_path / "rows.npy"]
        command += ["--weights", tmp_path / "weights.npy", "--out", tmp_path / "out.npy"]
        subprocess.run(command, check=True, capture_output=True)
        expected = np.load(tmp_path / "out.npy")
        for result in (
            ballast.aggregate(expression, rows, weights),
            ballast.aggregate(expression, list(rows), weights, threads=1),
            ballast.aggregate(expression, torch.from_numpy(rows), torch.from_numpy(weights)),
        ):
            assert np.asarray(result).tobytes() == expected.tobytes()


def test_results_are_of_the_kind_and_type_of_the_rows(rng):
    torch = pytest.importorskip("torch")
    rows = rng.standard_normal((5, 7), dtype=np.float32)
    expected = ballast.aggregate("cwmed", rows)
    assert expected.dtype == np.float32 and type(expected) is np.ndarray
    for dtype in (np.float64, np.float16):
        result = ballast.aggregate("cwmed", rows.astype(dtype))
        assert result.dtype == dtype
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        result = ballast.aggregate("cwmed", torch.from_numpy(rows).to(dtype))
        assert isinstance(result, torch.Tensor) and result.dtype == dtype
    wide = ballast.aggregate("cwmed", rows.astype(np.float64))
    assert wide.astype(np.float32).tobytes() == expected.tobytes()


def test_rows_may_have_any_shape_and_lie_anywhere(rng):
    torch = pytest.importorskip("torch")
    block = rng.standard_normal((5, 2, 3, 4), dtype=np.float32)
    flat = ballast.aggregate("gm", block.reshape(5, 24))
    assert ballast.aggregate("gm", block).shape == (2, 3, 4)
    assert (ballast.aggregate("gm", block).ravel() == flat).all()
    assert (ballast.aggregate("gm", list(block)).ravel() == flat).all()
    rows = block.reshape(5, 24)
    wide = np.zeros((10, 40), np.float32)
    wide[::2, :24] = rows
    assert (ballast.aggregate("gm", wide[::2, :24]) == flat).all()
    assert (ballast.aggregate("gm", np.asfortranarray(rows)) == flat).all()
    assert (ballast.aggregate("gm", rows[::-1][::-1]) == flat).all()
    assert (ballast.aggregate("gm", np.ascontiguousarray(rows[:, ::-1])[:, ::-1]) == flat).all()
    parameters = [torch.from_numpy(row).clone().requires_grad_() for row in rows]
    assert (ballast.aggregate("gm", parameters).numpy() == flat).all()
    rows.setflags(write=False)
    assert (ballast.aggregate("gm", rows) == flat).all()
    assert (ballast.aggregate("gm", rows.astype(">f4")) == flat).all()
    buffers = [array.array("f", row) for row in rows]
    assert (ballast.aggregate("gm", buffers) == flat).all()
    assert (ballast.aggregate("gm", [memoryview(row) for row in rows]) == flat).all()
    assert ballast.aggregate("mean", [[1.0, 2.0], [3.0, 4.0]]).tolist() == [2.0, 3.0]


class Foreign:
    """An array of a framework that speaks DLPack and the array API, and nothing else."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()

    def __array_namespace__(self):
        return type("namespace", (), {"asarray": staticmethod(Foreign)})


def test_other_frameworks_come_and_go_by_dlpack(rng):
    rows = rng.standard_normal((5, 7), dtype=np.float32)
    result = ballast.aggregate("cwmed", Foreign(rows))
    assert isinstance(result, Foreign)
    assert (result.values == ballast.aggregate("cwmed", rows)).all()


def test_rows_of_a_device_are_refused_with_what_to_do():
    torch = pytest.importorskip("torch")

    class OnDevice(Foreign):
        def __dlpack_device__(self):
            return (2, 0)  # CUDA

    for rows in (torch.ones(3, 2, device="meta"), OnDevice(np.ones((3, 2), np.float32))):
        with pytest.raises(ballast.Unsupported, match="host memory"):
            ballast.aggregate("mean", rows)


def test_jax_arrays_come_back_as_jax_arrays(rng):
    jax = pytest.importorskip("jax")
    # In host memory: where there is a GPU, JAX puts its arrays there, and those are refused.
    with jax.default_device(jax.devices("cpu")[0]):
        check_jax(jax, rng)


def test_jax_arrays_without_a_namespace_come_back_too(rng, monkeypatch):
    """JAX before 0.4.32."""
    jax = pytest.importorskip("jax")
    with jax.default_device(jax.devices("cpu")[0]):
        kind = type(jax.numpy.ones(1))
        monkeypatch.setattr(kind, "__array_namespace__", None, raising=False)
        check_jax(jax, rng)


def check_jax(jax, rng):
    rows = rng.standard_normal((5, 7), dtype=np.float32)
    expected = ballast.aggregate("cwmed", rows)
    for dtype in (jax.numpy.float32, jax.numpy.float16, jax.numpy.bfloat16):
        given = jax.numpy.asarray(rows).astype(dtype)
        for result in (ballast.aggregate("cwmed", given), ballast.aggregate("cwmed", list(given))):
            assert isinstance(result, jax.Array) and result.dtype == dtype
            assert result.devices() == given.devices()
            assert np.asarray(result, np.float32) == pytest.approx(expected, abs=2e-2)
    states = [{"w": jax.numpy.asarray(row).astype("bfloat16")} for row in rows]
    named = ballast.aggregate_named("cwmed", states)["w"]
    assert named.dtype == jax.numpy.bfloat16
    assert np.asarray(named, np.float32) == pytest.approx(expected, abs=2e-2)


def test_files_mapped_into_memory_are_rows(rng, tmp_path):
    rows = rng.standard_normal((5, 7), dtype=np.float32)
    np.save(tmp_path / "rows.npy", rows)
    result = ballast.aggregate("cwmed", np.load(tmp_path / "rows.npy", mmap_mode="r"))
    assert (result == ballast.aggregate("cwmed", rows)).all() and type(result) is np.ndarray


def test_rows_are_not_copied(run_python):
    peak = run_python(
        "import resource, numpy as np, ballast\n"
        "rows = np.ones((20, 2_000_000), np.float32)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "ballast.aggregate('ctma(gm, 0.4)', rows)\n"
        "ballast.aggregate('cwmed', list(rows))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    # One result has 8 MB, the rows 160 MB.
    assert int(peak) < 60_000
    assert resource.getpagesize() > 0


def test_float64_beyond_float32_is_refused():
    rows = np.ones((3, 4))
    rows[2, 1] = 1e300
    with pytest.raises(ballast.InvalidArgument, match="row 2 holds 1e\\+300, which is beyond"):
        ballast.aggregate("mean", rows)
    with pytest.raises(ballast.InvalidArgument, match="row 2 holds 1e\\+300"):
        ballast.aggregate("mean", list(rows))


@pytest.mark.parametrize(
    "expression, rows, weights, error, words",
    [
        ("gn", np.ones((3, 2), np.float32), None, LookupError, "did you mean 'gm'"),
        ("ctma(gm, 0.7)", np.ones((3, 2), np.float32), None, ValueError, "below 1/2"),
        ("gm", np.float32([[1, 2], [np.nan, 2]]), None, ValueError, "row 1 holds a NaN"),
        ("gm", np.float32([[1, 2], [1, np.inf]]), None, ValueError, "row 1 holds a NaN"),
        ("gm", np.ones((3, 2), np.float32), [1, 2], ValueError, "3 rows but 2 weights"),
        ("gm", np.ones((3, 2), np.float32), [1, 2, -1], ValueError, "weight"),
        ("gm", np.ones((3, 2), np.float32), [[1, 2, 1]], ValueError, "one per row"),
        ("gm", np.ones((3, 2), np.float32), ["a", "b", "c"], ValueError, "must be numbers"),
        ("gm", np.ones((0, 2), np.float32), None, ValueError, "nothing to aggregate"),
        ("gm", np.ones((3, 0), np.float32), None, ValueError, "nothing to aggregate"),
        ("gm", np.ones(3, np.float32), None, ValueError, "m x d"),
        ("gm", [], None, ValueError, "nothing to aggregate"),
        ("gm", [1.0, 2.0], None, ValueError, "numbers, not rows"),
        ("gm", [np.ones(2, np.float32), np.ones(3, np.float32)], None, ValueError, "row 1 has"),
        ("gm", np.ones((3, 2), np.int64), None, ValueError, "whole numbers"),
        ("gm", np.array([["a"], ["b"]]), None, ValueError, "floating-point"),
        ("bucketing(gm, 0)", np.ones((3, 2), np.float32), None, ValueError, "size"),
        (None, np.ones((3, 2), np.float32), None, ValueError, "a rule is a text"),
    ],
)
def test_misuse_is_an_exception_with_the_text_of_the_library(
    expression, rows, weights, error, words
):
    with pytest.raises(error, match=words) as raised:
        ballast.aggregate(expression, rows, weights)
    assert isinstance(raised.value, ballast.BallastError)


def test_options_out_of_range_are_refused():
    rows = np.ones((3, 2), np.float32)
    for options in ({"threads": -1}, {"threads": 10**6}, {"draw": -1}, {"draw": 2**64}):
        with pytest.raises(ballast.InvalidArgument):
            ballast.aggregate("mean", rows, **options)


def test_threads_change_nothing_but_the_time(rng):
    rows = rng.standard_normal((9, 40_000), dtype=np.float32)
    expected = ballast.aggregate("ctma(gm, 0.4)", rows)
    for threads in (1, 3, 0):
        ballast.set_threads(threads)
        assert (ballast.aggregate("ctma(gm, 0.4)", rows) == expected).all()
    with pytest.raises(ValueError):
        ballast.set_threads(-1)


def test_the_report_tells_what_was_kept():
    rows = np.float32([[1, 1], [1, 2], [2, 1], [900, -900]])
    result, report = ballast.aggregate("ctma(gm, 0.3)", rows, [5, 4, 5, 6], return_report=True)
    assert report.kept == [1.0, 1.0, 1.0, 0.0]
    assert result == pytest.approx([19 / 14, 18 / 14])


def test_named_tensors_come_back_named():
    torch = pytest.importorskip("torch")
    states = []
    for seed in range(5):
        torch.manual_seed(seed)
        net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        states.append(net.state_dict())
    result = ballast.aggregate_named("cwmed", states, [1, 1, 1, 1, 1])
    assert list(result) == list(states[0])
    for name, value in result.items():
        assert value.dtype == states[0][name].dtype and value.shape == states[0][name].shape
    stacked = torch.stack([state["0.weight"] for state in states])
    assert torch.equal(result["0.weight"], stacked.median(dim=0).values)
    for odd in (np.ones(2, complex), torch.ones(2, dtype=torch.complex64), "x"):
        with pytest.raises(ValueError, match="a holds complex|a is a str"):
            ballast.aggregate_named("mean", [{"a": odd, "b": np.ones(2)}] * 2)
    with pytest.raises(ValueError, match="names of row 0"):
        ballast.aggregate_named("mean", [{"a": np.ones(2)}, {"b": np.ones(2)}])
    with pytest.raises(ValueError, match="shape"):
        ballast.aggregate_named("mean", [{"a": np.ones(2)}, {"a": np.ones(3)}])


def test_a_tree_of_tensors_comes_back_as_it_was(rng):
    Layer = collections.namedtuple("Layer", "weight bias")
    rows = rng.standard_normal((5, 3, 4), dtype=np.float32)
    states = [
        {"layers": [Layer(row, row[0]), (row[1],)], "n": np.array(i)} for i, row in enumerate(rows)
    ]
    result, report = ballast.aggregate_named("cwmed", states, return_report=True)
    median = np.median(rows, axis=0)
    layer, (last,) = result["layers"]
    assert isinstance(layer, Layer) and (layer.weight == median).all()
    assert (layer.bias == median[0]).all() and (last == median[1]).all()
    assert result["n"] == 0 and len(report.kept) == 5
    with pytest.raises(ValueError, match="two tensors are named a.b"):
        ballast.aggregate_named("mean", [{"a.b": np.ones(1), "a": {"b": np.ones(1)}}])
    with pytest.raises(ValueError, match="names of row 0"):
        ballast.aggregate_named("mean", [{"a": [np.ones(1)]}, {"a": np.ones(1)}])


# What begins at the result before depends on more than the rows.
@pytest.mark.parametrize("expression", [rule for rule in ALL if "previous" not in rule])
def test_a_table_agrees_with_the_rule_on_its_rows(expression, rng):
    table = ballast.Table(dim=300, workers=9, rule=expression)
    rows = np.zeros((9, 300), np.float32)
    weights = np.zeros(9)
    for step in range(30):
        worker = step % 9 if step < 9 else int(rng.integers(9))
        rows[worker] = rng.standard_normal(300, dtype=np.float32)
        weights[worker] += 1
        table.put(worker, rows[worker])
        if step >= 9:
            expected = ballast.aggregate(expression, rows, weights)
            assert np.abs(table.aggregate() - expected).max() < 1e-5
    assert table.counts == tuple(weights)
    assert len(table) == 9 and 3 in table
    table.remove(3)
    assert len(table) == 8 and 3 not in table and table.counts[3] == 0


def test_a_table_refuses_what_does_not_fit():
    torch = pytest.importorskip("torch")
    table = ballast.Table(2, 3)
    with pytest.raises(ValueError, match="no rows"):
        table.aggregate()
    for worker in (3, -1, "a", None):
        with pytest.raises(ValueError, match="there is no"):
            table.put(worker, np.ones(2, np.float32))
    for values in (np.ones(3), np.float32([1, np.nan]), np.float32(1), np.ones(2, int)):
        with pytest.raises(ValueError):
            table.put(0, values)
    with pytest.raises(ValueError):
        table.put(0, np.ones(2), weight=0)
    with pytest.raises(ValueError):
        table.set_weight(1, 2)
    assert table.counts == (0, 0, 0)
    table.put(0, torch.ones(2))
    assert torch.equal(table.aggregate(), torch.ones(2))
    for dim, workers in ((0, 3), (3, 0), (2**41, 1), (2**30, 2**15), (-1, 1)):
        with pytest.raises(ValueError):
            ballast.Table(dim, workers)


def test_help_teaches():
    assert "ctma(gm, 0.4)" in ballast.aggregate.__doc__
    texts = [str(entry) for entry in ballast.rules()]
    assert any("Dahan and Levy" in text for text in texts)
    assert {entry.name for entry in ballast.attacks()} >= {"sign-flip", "label-flip"}
    assert ballast.canonical("ctma( gm,2/5 )") == "ctma(gm, 0.4)"
    assert ballast.__version__
