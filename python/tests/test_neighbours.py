"""Other libraries' names over our rules: by brute force, and beside the real ones."""

import importlib
import importlib.util
import itertools
import sys
import types

import numpy as np
import pytest

from ballast import byzfl, byzpy


def brute_krum_scores(rows, f):
    wide = rows.astype(np.float64)
    distances = ((wide[:, None] - wide[None]) ** 2).sum(2)
    return np.sort(distances, axis=1)[:, 1 : len(rows) - f - 1].sum(1)


def brute_mda(rows, f):
    wide = rows.astype(np.float64)
    distances = np.sqrt(((wide[:, None] - wide[None]) ** 2).sum(2))
    sets = itertools.combinations(range(len(rows)), len(rows) - f)
    best = min(sets, key=lambda chosen: distances[np.ix_(chosen, chosen)].max())
    return wide[list(best)].mean(0)


def brute_trimmed(rows, f):
    return np.sort(rows.astype(np.float64), axis=0)[f : len(rows) - f].mean(0)


def cases(count=100):
    rng = np.random.default_rng(11)
    for _ in range(count):
        n = int(rng.integers(5, 12))
        f = int(rng.integers(0, (n - 3) // 2 + 1))
        yield rng.standard_normal((n, int(rng.integers(1, 40))), dtype=np.float32), f


def test_rules_are_what_their_definitions_say():
    for rows, f in cases():
        near = {"rel": 1e-5, "abs": 1e-5}
        assert byzfl.Average()(rows) == pytest.approx(rows.mean(0), **near)
        assert byzfl.Median()(rows) == pytest.approx(np.median(rows, axis=0), **near)
        assert byzfl.TrMean(f)(rows) == pytest.approx(brute_trimmed(rows, f), **near)
        order = np.argsort(brute_krum_scores(rows, f), kind="stable")
        assert (byzfl.Krum(f)(rows) == rows[order[0]]).all()
        best = rows[order[: len(rows) - f]].mean(0)
        assert byzfl.MultiKrum(f)(rows) == pytest.approx(best, **near)
        assert byzfl.MDA(f)(rows) == pytest.approx(brute_mda(rows, f), **near)
        mixed = byzfl.NNM(f)(rows)
        plain = np.asarray(mixed)
        assert byzfl.TrMean(f)(mixed) == pytest.approx(brute_trimmed(plain, f), **near)
        assert byzpy.CoordinateWiseTrimmedMean(f).aggregate(list(rows)) == pytest.approx(
            brute_trimmed(rows, f), **near
        )


def test_buckets_hold_every_vector_once():
    rows = np.eye(7, dtype=np.float32)
    made = byzfl.Bucketing(3)(rows)
    assert [np.count_nonzero(row) for row in made] == [3, 3, 1]
    total = 3 * made[0] + 3 * made[1] + made[2]
    assert total == pytest.approx(np.ones(7))


def test_misuse_says_what_they_say():
    for call in (
        lambda: byzfl.TrMean(-1),
        lambda: byzfl.TrMean(1.5),
        lambda: byzfl.TrMean(2)(np.ones((4, 2), np.float32)),
        lambda: byzfl.NNM(3)(np.ones((4, 2), np.float32)),
        lambda: byzfl.Mimic(4)(np.ones((4, 2), np.float32)),
        lambda: byzfl.Median()(byzfl.Inf()(np.ones((4, 2)))[None]),
        lambda: byzpy.MultiKrum(1, q=1).aggregate(np.ones((5, 2), np.float32)),
        lambda: byzpy.EmpireAttack().apply(),
    ):
        with pytest.raises(ValueError):
            call()


@pytest.fixture(scope="module")
def real_byzfl():
    """ByzFL's rules and attacks; its training framework needs torchvision, which is left out."""
    spec = importlib.util.find_spec("byzfl")
    if spec is None:
        pytest.skip("ByzFL is not installed")
    package = types.ModuleType("byzfl")
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules["byzfl"] = package
    names = dict(vars(importlib.import_module("byzfl.aggregators")))
    names.update(vars(importlib.import_module("byzfl.attacks")))
    return types.SimpleNamespace(**names)


def objective(rows, point):
    """What the geometric median makes smallest."""
    return np.sqrt(((rows.astype(np.float64) - np.asarray(point)) ** 2).sum(1)).sum()


def test_shared_rules_agree_with_byzfl(real_byzfl):
    count = 0
    for rows, f in cases(300):
        near = {"rel": 1e-5, "abs": 1e-5}
        for name, arguments in (("Average", ()), ("Median", ()), ("TrMean", (f,)), ("MDA", (f,))):
            theirs = getattr(real_byzfl, name)(*arguments)(rows)
            assert getattr(byzfl, name)(*arguments)(rows) == pytest.approx(theirs, **near)
        mixed = real_byzfl.NNM(f)(rows)
        assert np.asarray(byzfl.NNM(f)(rows)) == pytest.approx(mixed, **near)
        theirs = real_byzfl.TrMean(f)(mixed)
        assert byzfl.TrMean(f)(byzfl.NNM(f)(rows)) == pytest.approx(theirs, **near)
        # One neighbour more than Krum's definition has: their f is ours plus one.
        if f > 0:
            assert (real_byzfl.Krum(f)(rows) == byzfl.Krum(f - 1)(rows)).all()
        # Three steps are not the median: its objective is never below that of the converged one.
        ours = objective(rows, byzfl.GeometricMedian()(rows))
        assert ours <= objective(rows, real_byzfl.GeometricMedian()(rows)) * (1 + 1e-6)
        count += 1
    assert count == 300


def test_attacks_agree_with_byzfl(real_byzfl):
    for rows, _ in cases(20):
        for name, arguments in (
            ("SignFlipping", ()),
            ("InnerProductManipulation", (3.0,)),
            ("ALittleIsEnough", (1.5,)),
            ("Mimic", (2,)),
        ):
            theirs = getattr(real_byzfl, name)(*arguments)(rows)
            ours = getattr(byzfl, name)(*arguments)(rows)
            assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-5)


def test_shared_rules_agree_with_byzpy():
    pytest.importorskip("byzpy")
    torch = pytest.importorskip("torch")
    coordinates = importlib.import_module("byzpy.aggregators.coordinate_wise")
    geometry = importlib.import_module("byzpy.aggregators.geometric_wise")
    for rows, f in cases(100):
        vectors = [torch.from_numpy(row) for row in rows]
        for theirs, ours in (
            (coordinates.CoordinateWiseTrimmedMean(f), byzpy.CoordinateWiseTrimmedMean(f)),
            (geometry.MinimumDiameterAveraging(f), byzpy.MinimumDiameterAveraging(f)),
        ):
            expected = theirs.aggregate(vectors).numpy()
            assert ours.aggregate(vectors).numpy() == pytest.approx(expected, rel=1e-5, abs=1e-5)
        # Theirs stops when a step is short, which may be far from the median: ours is nearer.
        best = objective(rows, byzpy.GeometricMedian().aggregate(vectors))
        assert best <= objective(rows, geometry.GeometricMedian().aggregate(vectors)) * (1 + 1e-6)
