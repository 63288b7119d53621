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


def spread(rows):
    """The largest eigenvalue of the covariance, from inner products."""
    wide = rows.astype(np.float64) - rows.mean(0, dtype=np.float64)
    return np.linalg.eigvalsh(wide @ wide.T)[-1] / len(rows)


def brute_smea(rows, f):
    sets = itertools.combinations(range(len(rows)), len(rows) - f)
    return rows[list(min(sets, key=lambda chosen: spread(rows[list(chosen)])))].mean(0)


def brute_caf(rows, f):
    wide = rows.astype(np.float64)
    factors, best, smallest = np.ones(len(rows)), wide.mean(0), np.inf
    while factors.sum() > len(rows) - 2 * f:
        mean = factors @ wide / factors.sum()
        away = wide - mean
        values, vectors = np.linalg.eigh(away.T @ (factors[:, None] * away) / factors.sum())
        if values[-1] < smallest:
            best, smallest = mean, values[-1]
        scores = (away @ vectors[:, -1]) ** 2
        factors = factors * np.maximum(0, 1 - scores / scores[factors > 0].max())
    return best


def brute_meamed(rows, f):
    nearest = np.argsort(np.abs(rows - np.median(rows, axis=0)), axis=0, kind="stable")
    return np.take_along_axis(rows, nearest[: len(rows) - f], axis=0).mean(0, dtype=np.float64)


def brute_clipping(rows, start, radius, steps):
    for _ in range(steps):
        ways = rows.astype(np.float64) - start
        lengths = np.maximum(1e-30, np.sqrt((ways**2).sum(1)))
        start = start + (ways * np.minimum(1, radius / lengths)[:, None]).mean(0)
    return start


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


def test_spectral_and_clipping_rules_are_what_their_definitions_say():
    for rows, f in cases():
        near = {"rel": 1e-4, "abs": 1e-4}
        assert byzfl.SMEA(f)(rows) == pytest.approx(brute_smea(rows, f), **near)
        assert byzpy.SMEA(f).aggregate(list(rows)) == pytest.approx(brute_smea(rows, f), **near)
        assert byzfl.CAF(f)(rows) == pytest.approx(brute_caf(rows, f), **near)
        assert byzpy.CAF(f).aggregate(list(rows)) == pytest.approx(brute_caf(rows, f), **near)
        assert byzfl.Meamed(f)(rows) == pytest.approx(brute_meamed(rows, f), **near)
        row = f % len(rows)
        nearest = np.argsort(((rows - rows[row]) ** 2).sum(1), kind="stable")[: len(rows) - f]
        assert byzfl.MoNNA(f, row)(rows) == pytest.approx(rows[nearest].mean(0), **near)
        clipping, centre = byzfl.CenteredClipping(L=2, tau=1.5), np.zeros(rows.shape[1])
        for call in range(3):
            centre = brute_clipping(rows + call, centre, 1.5, 2)
            assert clipping(rows + call) == pytest.approx(centre, **near)
        centre = brute_clipping(rows, np.median(rows, axis=0), 1.5, 3)
        ours = byzpy.CenteredClipping(c_tau=1.5, M=3, init="median")
        assert ours.aggregate(list(rows)) == pytest.approx(centre, **near)


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
        lambda: byzfl.SMEA(2)(np.ones((4, 2), np.float32)),
        lambda: byzfl.MoNNA(1, 5)(np.ones((5, 2), np.float32)),
        lambda: byzfl.CenteredClipping(L=0),
        lambda: byzpy.MoNNA(1, reference_index=5).aggregate(np.ones((5, 2), np.float32)),
        lambda: byzpy.CenteredClipping(c_tau=1.0, init="elsewhere"),
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


def set_of(rows, mean, f):
    """Which n - f rows have this mean."""
    sets = itertools.combinations(range(len(rows)), len(rows) - f)
    return list(min(sets, key=lambda chosen: np.abs(rows[list(chosen)].mean(0) - mean).max()))


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
        for name, arguments in (("MoNNA", (f, 1)), ("Meamed", (f,))):
            theirs = getattr(real_byzfl, name)(*arguments)(rows)
            assert getattr(byzfl, name)(*arguments)(rows) == pytest.approx(theirs, **near)
        # One random step towards an eigenvector need not find the best set.
        if len(rows) < 9:
            theirs = set_of(rows, real_byzfl.SMEA(f)(rows), f)
            ours = set_of(rows, byzfl.SMEA(f)(rows), f)
            assert spread(rows[ours]) <= spread(rows[theirs]) * (1 + 1e-5)
        theirs, ours = real_byzfl.CenteredClipping(L=2), byzfl.CenteredClipping(L=2)
        for call in range(3):
            assert ours(rows + call) == pytest.approx(theirs(rows + call), rel=1e-4, abs=1e-4)
        assert f > 0 or real_byzfl.CAF(0)(rows) is None
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
    norms = importlib.import_module("byzpy.aggregators.norm_wise")
    for rows, f in cases(100):
        vectors = [torch.from_numpy(row) for row in rows]
        for theirs, ours in (
            (coordinates.CoordinateWiseTrimmedMean(f), byzpy.CoordinateWiseTrimmedMean(f)),
            (geometry.MinimumDiameterAveraging(f), byzpy.MinimumDiameterAveraging(f)),
            (geometry.SMEA(f), byzpy.SMEA(f)),
            (geometry.MoNNA(f), byzpy.MoNNA(f)),
            (norms.ComparativeGradientElimination(f), byzpy.ComparativeGradientElimination(f)),
            (norms.CenteredClipping(c_tau=2.0), byzpy.CenteredClipping(c_tau=2.0)),
        ):
            expected = theirs.aggregate(vectors).numpy()
            assert ours.aggregate(vectors).numpy() == pytest.approx(expected, rel=1e-5, abs=1e-5)
        # Theirs stops when a step is short, which may be far from the median: ours is nearer.
        best = objective(rows, byzpy.GeometricMedian().aggregate(vectors))
        assert best <= objective(rows, geometry.GeometricMedian().aggregate(vectors)) * (1 + 1e-6)
