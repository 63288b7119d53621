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
    wide = rows.astype(np.float64)
    nearest = np.argsort(np.abs(wide - np.median(wide, axis=0)), axis=0, kind="stable")
    return np.take_along_axis(wide, nearest[: len(rows) - f], axis=0).mean(0)


def brute_kept(rows, distances, f):
    return rows.astype(np.float64)[np.argsort(distances, kind="stable")[: len(rows) - f]].mean(0)


def brute_clipped(rows, radius, start=0.0):
    ways = rows.astype(np.float64) - start
    norms = np.maximum(np.linalg.norm(ways, axis=1), 1e-300)
    return ways * np.minimum(1, radius / norms)[:, None]


def brute_centred(rows, start, radius, steps):
    for _ in range(steps):
        start = start + brute_clipped(rows, radius, start).mean(0)
    return start


def brute_adaptive(rows, f):
    norms = np.sort(np.linalg.norm(rows.astype(np.float64), axis=1))
    return brute_clipped(rows, norms[len(rows) - 2 * f * (len(rows) - f) // len(rows) - 1])


NEAR = {"rel": 1e-5, "abs": 1e-5}


def cases(count=100):
    rng = np.random.default_rng(11)
    for _ in range(count):
        n = int(rng.integers(5, 12))
        f = int(rng.integers(0, (n - 3) // 2 + 1))
        yield rng.standard_normal((n, int(rng.integers(1, 40))), dtype=np.float32), f


def test_rules_are_what_their_definitions_say():
    for rows, f in cases():
        assert byzfl.Average()(rows) == pytest.approx(rows.mean(0), **NEAR)
        assert byzfl.Median()(rows) == pytest.approx(np.median(rows, axis=0), **NEAR)
        assert byzfl.TrMean(f)(rows) == pytest.approx(brute_trimmed(rows, f), **NEAR)
        order = np.argsort(brute_krum_scores(rows, f), kind="stable")
        assert (byzfl.Krum(f)(rows) == rows[order[0]]).all()
        best = rows[order[: len(rows) - f]].mean(0)
        assert byzfl.MultiKrum(f)(rows) == pytest.approx(best, **NEAR)
        assert byzfl.MDA(f)(rows) == pytest.approx(brute_mda(rows, f), **NEAR)
        mixed = byzfl.NNM(f)(rows)
        plain = np.asarray(mixed)
        assert byzfl.TrMean(f)(mixed) == pytest.approx(brute_trimmed(plain, f), **NEAR)
        assert byzpy.CoordinateWiseTrimmedMean(f).aggregate(list(rows)) == pytest.approx(
            brute_trimmed(rows, f), **NEAR
        )


def test_later_rules_are_what_their_definitions_say():
    for rows, f in cases():
        wide = rows.astype(np.float64)
        idx, vectors = len(rows) // 2, list(rows)
        expected = pytest.approx(brute_meamed(rows, f), **NEAR)
        assert byzfl.Meamed(f)(rows) == expected
        assert byzpy.MeanOfMedians(f).aggregate(vectors) == expected
        nearest = np.linalg.norm(wide - wide[idx], axis=1)
        expected = pytest.approx(brute_kept(rows, nearest, f), **NEAR)
        assert byzfl.MoNNA(f, idx)(rows) == expected
        assert byzpy.MoNNA(f, reference_index=idx).aggregate(vectors) == expected
        shortest = brute_kept(rows, np.linalg.norm(wide, axis=1), f)
        result = byzpy.ComparativeGradientElimination(f).aggregate(vectors)
        assert result == pytest.approx(shortest, **NEAR)
        for init, start in (("mean", wide.mean(0)), ("median", np.median(wide, 0)), ("zero", 0.0)):
            rule = byzpy.CenteredClipping(c_tau=1.5, M=4, init=init)
            expected = brute_centred(rows, np.zeros(rows.shape[1]) + start, 1.5, 4)
            assert rule.aggregate(vectors) == pytest.approx(expected, **NEAR)
        remembers = byzfl.CenteredClipping(L=2, tau=1.0)
        remembers(rows)
        expected = brute_centred(rows, np.zeros(rows.shape[1]), 1.0, 4)
        assert remembers(rows) == pytest.approx(expected, **NEAR)
        short, adapted = brute_clipped(rows, 2.0), brute_adaptive(rows, f)
        for prepared, expected in (
            (byzfl.Clipping(2.0)(rows), short),
            (byzfl.ARC(f)(rows), adapted),
            (byzpy.Clipping(2.0).pre_aggregate(vectors), short),
            (byzpy.ARC(f).pre_aggregate(vectors), adapted),
        ):
            assert np.asarray(prepared) == pytest.approx(expected, **NEAR)
            assert prepared[1] == pytest.approx(expected[1], **NEAR)
            assert byzfl.TrMean(f)(prepared) == pytest.approx(brute_trimmed(expected, f), **NEAR)


def test_spectral_rules_are_what_their_definitions_say():
    for rows, f in cases():
        smea = pytest.approx(brute_smea(rows, f), rel=1e-4, abs=1e-4)
        assert byzfl.SMEA(f)(rows) == smea
        assert byzpy.SMEA(f).aggregate(list(rows)) == smea
        caf = pytest.approx(brute_caf(rows, f), rel=1e-4, abs=1e-4)
        assert byzfl.CAF(f)(rows) == caf
        assert byzpy.CAF(f).aggregate(list(rows)) == caf


def test_preparations_follow_one_another():
    for rows, f in cases(20):
        chain = byzfl.NNM(f)(byzfl.Clipping(3.0)(rows))
        by_hand = np.asarray(byzfl.NNM(f)(brute_clipped(rows, 3.0).astype(np.float32)))
        assert np.asarray(chain) == pytest.approx(by_hand, **NEAR)
        assert byzfl.TrMean(f)(chain) == pytest.approx(brute_trimmed(by_hand, f), **NEAR)


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
        lambda: byzfl.MoNNA(1, idx=4)(np.ones((4, 2), np.float32)),
        lambda: byzfl.Clipping(-1.0),
        lambda: byzfl.CenteredClipping(m=np.zeros(3))(np.ones((4, 2), np.float32)),
        lambda: byzfl.Optimal_ALittleIsEnough(ratio=0.2),
        lambda: byzpy.CenteredClipping(c_tau=1.0, init="first"),
        lambda: byzpy.Bucketing(2, perm=[0, 0]).pre_aggregate(np.ones((2, 2), np.float32)),
        lambda: byzpy.LabelFlipAttack(),
        lambda: byzpy.LittleAttack(1).apply(honest_grads=[]),
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


def set_of(rows, mean, f):
    """Which n - f rows have this mean."""
    sets = itertools.combinations(range(len(rows)), len(rows) - f)
    return list(min(sets, key=lambda chosen: np.abs(rows[list(chosen)].mean(0) - mean).max()))


def test_shared_rules_agree_with_byzfl(real_byzfl):
    """Cases of random rows have no ties, so that the kept sets are the same. The rows are copied
    for them, since ByzFL's Clipping and ARC write into what they are given."""
    exact = (
        ("Average", lambda f: ()),
        ("Median", lambda f: ()),
        ("TrMean", lambda f: (f,)),
        ("MDA", lambda f: (f,)),
        ("Meamed", lambda f: (f,)),
        ("MoNNA", lambda f: (f, f)),
        ("CenteredClipping", lambda f: (None, 1 + f, 2.0)),
    )
    count = 0
    for rows, f in cases(300):
        for name, arguments in exact:
            theirs = getattr(real_byzfl, name)(*arguments(f))(rows.copy())
            ours = getattr(byzfl, name)(*arguments(f))(rows)
            assert ours == pytest.approx(theirs, **NEAR), name
        for ours, theirs in (
            (byzfl.NNM(f), real_byzfl.NNM(f)),
            (byzfl.Clipping(2.0), real_byzfl.Clipping(2.0)),
            (byzfl.ARC(f), real_byzfl.ARC(f)),
        ):
            prepared = theirs(rows.copy())
            assert np.asarray(ours(rows)) == pytest.approx(prepared, **NEAR)
            expected = real_byzfl.TrMean(f)(prepared)
            assert byzfl.TrMean(f)(ours(rows)) == pytest.approx(expected, **NEAR)
        check_krum_beside(real_byzfl, rows, f)
        # One random step towards an eigenvector need not find the best set.
        if len(rows) < 9:
            theirs = set_of(rows, real_byzfl.SMEA(f)(rows.copy()), f)
            ours = set_of(rows, byzfl.SMEA(f)(rows), f)
            assert spread(rows[ours]) <= spread(rows[theirs]) * (1 + 1e-5)
        assert f > 0 or real_byzfl.CAF(0)(rows.copy()) is None
        # Three steps are not the median: its objective is never below that of the converged one.
        ours = objective(rows, byzfl.GeometricMedian()(rows))
        assert ours <= objective(rows, real_byzfl.GeometricMedian()(rows)) * (1 + 1e-6)
        count += 1
    assert count == 300


def test_arc_counts_exactly_where_byzfl_rounds(real_byzfl):
    """2 f (n - f) / n is 57 for f = 33 of n = 242, but 56.99... where the quotient is rounded
    first. It is the smallest n of which that is so."""
    n, f = 242, 33
    rows = np.arange(1, n + 1, dtype=np.float32)[:, None]
    assert np.count_nonzero(real_byzfl.ARC(f)(rows.copy()) != rows) == 56
    assert np.count_nonzero(np.asarray(byzfl.ARC(f)(rows)) != rows) == 57
    expected = np.minimum(rows, n - 57).mean(0)
    assert byzfl.Average()(byzfl.ARC(f)(rows)) == pytest.approx(expected, **NEAR)


def check_krum_beside(real, rows, f):
    """They take one neighbour more than the definition has, which brute force shows: with f = 0
    their last neighbour is the farthest row of all."""
    theirs = brute_krum_scores(rows, f - 1)
    chosen = real.Krum(f)(rows.copy())
    assert (chosen == rows[np.argmin(theirs)]).all()
    best = rows[np.argsort(theirs, kind="stable")[: len(rows) - f]].mean(0)
    assert real.MultiKrum(f)(rows.copy()) == pytest.approx(best, **NEAR)
    if f > 0:
        assert (chosen == byzfl.Krum(f - 1)(rows)).all()


def test_the_same_draws_make_the_buckets_of_byzfl(real_byzfl):
    for seed, (rows, f) in enumerate(cases(50)):
        np.random.seed(seed)
        theirs = real_byzfl.Bucketing(f + 1)(rows.copy())
        np.random.seed(seed)
        ours = byzfl.Bucketing(f + 1)(rows)
        assert np.stack(ours) == pytest.approx(theirs, **NEAR)


def np_mean(vectors):
    return np.mean(vectors, axis=0)


def damage(rows, lie):
    """What a lie of f = 1 does to the mean of vectors clipped to 2."""
    return np.linalg.norm(brute_clipped(np.vstack([rows, lie]), 2.0).mean(0) - rows.mean(0))


def test_the_best_attacks_do_the_damage_of_those_of_byzfl(real_byzfl):
    """Where the damage no longer grows, roundings decide on tau, and two of them are as good."""
    for rows, _ in cases(20):
        for name in ("Optimal_InnerProductManipulation", "Optimal_ALittleIsEnough"):
            ours = damage(rows, getattr(byzfl, name)()(rows))
            theirs = damage(rows, getattr(real_byzfl, name)()(rows.copy()))
            assert ours == pytest.approx(theirs, rel=1e-5), name


def test_attacks_agree_with_byzfl(real_byzfl):
    for rows, _ in cases(20):
        for name, arguments in (
            ("SignFlipping", ()),
            ("InnerProductManipulation", (3.0,)),
            ("ALittleIsEnough", (1.5,)),
            ("Mimic", (2,)),
            ("LabelFlipping", ()),
            ("Inf", ()),
            ("Optimal_InnerProductManipulation", (np_mean, [], 2, 6)),
            ("Optimal_ALittleIsEnough", (np_mean, [], 2, 6)),
        ):
            theirs = getattr(real_byzfl, name)(*arguments)(rows.copy())
            ours = getattr(byzfl, name)(*arguments)(rows)
            assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-5), name
        np.random.seed(3)
        theirs = real_byzfl.Gaussian(0.5, 2.0)(rows.copy())
        np.random.seed(3)
        assert byzfl.Gaussian(0.5, 2.0)(rows) == pytest.approx(theirs, **NEAR)


@pytest.fixture(scope="module")
def real_byzpy():
    if sys.version_info < (3, 10):
        pytest.skip("ByzPy 0.1.4 says Python 3.9, but its annotations need 3.10")
    pytest.importorskip("byzpy")
    pytest.importorskip("torch")
    modules = [f"aggregators.{kind}_wise" for kind in ("coordinate", "geometric", "norm")]
    names = {}
    for module in modules + ["pre_aggregators", "attacks"]:
        names.update(vars(importlib.import_module(f"byzpy.{module}")))
    return types.SimpleNamespace(**names)


def test_shared_rules_agree_with_byzpy(real_byzpy):
    import torch

    for rows, f in cases(100):
        vectors = [torch.from_numpy(row) for row in rows]
        odd = len(rows) % 2 == 1  # of an even number PyTorch's median is the lower one
        for name, options in (
            ("CoordinateWiseTrimmedMean", {"f": f}),
            ("MinimumDiameterAveraging", {"f": f}),
            ("SMEA", {"f": f}),
            ("MoNNA", {"f": f, "reference_index": f}),
            ("ComparativeGradientElimination", {"f": f}),
            ("CenteredClipping", {"c_tau": 1.5, "M": 3}),
            ("CenteredClipping", {"c_tau": 1.5, "M": 3, "init": "zero"}),
        ) + ((("CoordinateWiseMedian", {}), ("MeanOfMedians", {"f": f})) if odd else ()):
            expected = getattr(real_byzpy, name)(**options).aggregate(vectors).numpy()
            ours = getattr(byzpy, name)(**options).aggregate(vectors)
            assert ours.numpy() == pytest.approx(expected, **NEAR), name
        for name, options in (
            ("NearestNeighborMixing", {"f": f}),
            ("Clipping", {}),
            ("ARC", {"f": f}),
            ("Bucketing", {"bucket_size": 2, "perm": range(len(rows))[::-1]}),
        ):
            expected = getattr(real_byzpy, name)(**options).pre_aggregate(vectors)
            ours = getattr(byzpy, name)(**options).pre_aggregate(vectors)
            for i, row in enumerate(expected):
                assert ours[i].numpy() == pytest.approx(row.numpy(), **NEAR), name
        theirs = real_byzpy.Krum(f).aggregate(vectors).numpy()
        assert (theirs == rows[np.argmin(brute_krum_scores(rows, f - 1))]).all()
        # Theirs stops when a step is short, which may be far from the median: ours is nearer.
        best = objective(rows, byzpy.GeometricMedian().aggregate(vectors))
        theirs = real_byzpy.GeometricMedian().aggregate(vectors)
        assert best <= objective(rows, theirs) * (1 + 1e-6)


def test_attacks_agree_with_byzpy(real_byzpy):
    import torch

    net = torch.nn.Linear(4, 3)
    given = {"model": net, "x": torch.randn(8, 4), "y": torch.arange(8) % 3}
    for rows, f in cases(20):
        given["honest_grads"] = [torch.from_numpy(row) for row in rows]
        given["base_grad"] = given["honest_grads"][0]
        for name, options in (
            ("EmpireAttack", {"scale": -2.0}),
            ("SignFlipAttack", {}),
            ("LittleAttack", {"f": f}),
            ("GaussianAttack", {"sigma": 2.0, "seed": 4}),
            ("InfAttack", {}),
            ("MimicAttack", {"epsilon": 1}),
            ("LabelFlipAttack", {"num_classes": 3}),
            ("LabelFlipAttack", {"mapping": {0: 2}, "scale": 2.0}),
        ):
            theirs = getattr(real_byzpy, name)(**options).apply(**given).numpy()
            ours = getattr(byzpy, name)(**options).apply(**given).numpy()
            assert ours == pytest.approx(theirs, **NEAR), name
