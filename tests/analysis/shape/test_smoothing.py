from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.smoothing import (
    Curve,
    curve_draws,
    drawn_together,
    errors,
    smoothing_weights,
    with_known_error,
    without_pair_error,
)
from ucurve.eval.metrics.levels import levels_of
from ucurve.eval.metrics.sampling import clusters_of, row_intervals

LOGS = np.linspace(4, 7, 12)
ONE_STRATUM = np.zeros(4, dtype=np.int64)


def test_the_curve_is_the_mean_over_seeds_and_items() -> None:
    half_points = np.array([[[0, 2, 2, 2], [2, 2, 2, 2]], [[0, 0, 1, 1], [0, 0, 0, 2]]], dtype=np.uint8)
    curve = estimate_curve(np.array([1.0, 10.0]), half_points, ONE_STRATUM)
    assert curve.mean == pytest.approx([(0.75 + 0.25) / 2, (1 + 0.25) / 2])


def test_item_variance_of_one_seed_is_the_textbook_variance_of_a_mean() -> None:
    half_points = np.array([0, 0, 2, 2, 2, 1, 0, 2], dtype=np.uint8)
    curve = estimate_curve(np.array([1.0]), half_points[None, None, :], np.zeros(8, dtype=np.int64))
    one_item_more = 1 / (2 * 8**2)
    assert curve.item_cov[0, 0] - one_item_more == pytest.approx(np.var(half_points / 2, ddof=1) / 8)


def test_strata_take_their_differences_out_of_the_variance() -> None:
    half_points = np.array([0, 0, 0, 0, 2, 2, 2, 2], dtype=np.uint8)[None, None, :]
    strata = np.repeat([0, 1], 4)
    assert estimate_curve(np.array([1.0]), half_points, strata).item_cov[0, 0] == pytest.approx(1 / (2 * 8**2))


def test_seed_and_rest_variance_are_those_of_a_crossed_design() -> None:
    """Mean squares of a two-way layout with one observation a cell: seeds 3, items 5."""
    cells = np.array([[2, 0, 2, 1, 0], [2, 2, 2, 0, 0], [1, 0, 2, 0, 0]], dtype=np.uint8)
    shares = cells / 2
    curve = estimate_curve(np.array([1.0]), cells[:, None, :], np.zeros(5, dtype=np.int64))
    rest = shares - shares.mean(axis=0) - shares.mean(axis=1, keepdims=True) + shares.mean()
    mean_square = (rest**2).sum() / (2 * 4)
    assert curve.seed_cov[0, 0] == pytest.approx(np.var(shares.mean(axis=1), ddof=1) / 3)
    pad = 1 / (2 * 5**2) / 2  # what one item more adds, over seeds - 1
    assert curve.rest_cov[0, 0] + pad == pytest.approx(mean_square / (3 * 5))


def clustered(rng: np.random.Generator, sizes: list[int], steps: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Pairs that are wholly alike within their cluster: half points of one run, and the clusters."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    right = rng.random((steps, len(sizes))) < 0.6
    return (2 * right[:, clusters]).astype(np.uint8)[None], clusters


def test_the_variance_over_clusters_is_that_of_their_means() -> None:
    """Clusters of one size that are alike within are as many items: the textbook variance of their mean."""
    half_points, clusters = clustered(np.random.default_rng(0), [5] * 8, steps=1)
    curve = estimate_curve(np.array([1.0]), half_points, np.zeros(40, dtype=np.int64), clusters)
    means = half_points[0, 0, ::5] / 2
    assert curve.item_cov[0, 0] - 1 / (2 * 40**2) == pytest.approx(np.var(means, ddof=1) / 8)
    assert curve.effective_items == pytest.approx(8)


def test_clusters_of_unequal_sizes_are_weighed_as_cluster_robust_errors_are() -> None:
    """The variance of an intercept in statsmodels, clustered, with its correction for few clusters taken out."""
    half_points, clusters = clustered(np.random.default_rng(1), [1, 2, 3, 4, 30], steps=1)
    share = half_points[0, 0] / 2
    curve = estimate_curve(np.array([1.0]), half_points, np.zeros(40, dtype=np.int64), clusters)
    fitted = sm.OLS(share, np.ones(40)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}
    )
    assert curve.item_cov[0, 0] - 1 / (2 * 40**2) == pytest.approx(fitted.cov_params()[0, 0] * 5 / 4)
    assert curve.effective_items == pytest.approx(40**2 / (1 + 4 + 9 + 16 + 900))


@given(st.permutations(range(12)))
@settings(max_examples=20, deadline=None)
def test_the_order_of_items_and_the_names_of_clusters_are_nothing(order: list[int]) -> None:
    rng = np.random.default_rng(2)
    half_points = rng.integers(0, 3, (2, 5, 12)).astype(np.uint8)
    strata, clusters = np.repeat([0, 1, 2], 4), np.array([0, 0, 1, 2, 3, 3, 4, 4, 9, 8, 8, 7])
    tokens = np.logspace(4, 6, 5)
    one = estimate_curve(tokens, half_points, strata, clusters)
    other = estimate_curve(tokens, half_points[:, :, order], strata[order], 5 - clusters[order])
    for name in ("item_cov", "seed_cov", "rest_cov", "item_freedom", "effective_items"):
        assert getattr(one, name) == pytest.approx(getattr(other, name))


def test_a_stratum_of_one_cluster_is_not_without_error() -> None:
    """Four paradigms with one edit each are drawn as clusters of one stratum."""
    half_points, clusters = clustered(np.random.default_rng(4), [10, 10, 10, 10])
    tokens = np.logspace(4, 6, 4)
    apart = estimate_curve(tokens, half_points, clusters, clusters)
    together = estimate_curve(tokens, half_points, np.zeros(40, dtype=np.int64), clusters)
    assert apart.item_cov == pytest.approx(together.item_cov)
    assert np.trace(apart.item_cov) > 0.05


def test_a_lone_cluster_has_its_items_drawn_and_no_known_error() -> None:
    half_points = np.array([[0, 2, 2, 0], [2, 2, 0, 0]], dtype=np.uint8)[None]
    tokens, one = np.array([1.0, 10.0]), np.zeros(4, dtype=np.int64)
    alone = estimate_curve(tokens, half_points, one, one)
    assert alone.item_cov == pytest.approx(estimate_curve(tokens, half_points, one).item_cov)
    assert (alone.effective_items, alone.clusters, alone.has_error) == (1, 1, False)


@given(st.integers(1, 12), st.integers(1, 4))
def test_the_error_is_known_where_accuracies_have_an_interval(count: int, seeds: int) -> None:
    """One run: from four clusters on. Several: from ten on; with fewer, what is known is the error over seeds."""
    half_points, clusters = clustered(np.random.default_rng(count), [5] * count)
    half_points = np.concatenate([np.roll(half_points, place, axis=2) for place in range(seeds)])
    paradigms, tokens = np.zeros(5 * count, dtype=np.int64), np.logspace(4, 6, half_points.shape[1])
    curve = estimate_curve(tokens, half_points, paradigms, clusters)
    pairs = pd.DataFrame(
        {"phenomenon": "p", "paradigm": "a", "good": [f"{one} a" for one in clusters], "bad": "b a"}
    )
    every = clusters_of(pairs, levels_of(pairs))
    low, _ = row_intervals(every, every.sums(half_points[0, 0] / 2), every.sums(np.ones(len(pairs))))
    assert np.isfinite(low[0]) == (count >= 4)
    assert curve.has_error == (count >= (4 if seeds == 1 else 10))
    assert with_known_error(curve).has_error == (seeds > 1 or count >= 4)


def test_one_large_cluster_leaves_few_degrees_of_freedom() -> None:
    rng = np.random.default_rng(5)
    sizes = [50, *[1] * 50]
    half_points, clusters = clustered(rng, sizes, steps=12)
    tokens, strata = np.logspace(4, 6, 12), np.zeros(100, dtype=np.int64)
    assert estimate_curve(tokens, half_points, strata, clusters).item_freedom < 2
    assert estimate_curve(tokens, half_points, strata).item_freedom > 50


def test_the_seeds_of_few_runs_leave_the_freedom_of_their_mean_square() -> None:
    """Satterthwaite by hand: all of the error is between two runs, so that freedom is twice S - 1, also at a share of .9."""
    rng = np.random.default_rng(6)
    levels = 0.5 + np.array([[0.3], [-0.3]]) * np.linspace(-1, 1, 6)
    half_points = (2 * (rng.random((2, 6, 2000)) < levels[:, :, None])).astype(np.uint8)
    curve = estimate_curve(np.logspace(4, 6, 6), half_points, np.zeros(2000, dtype=np.int64))
    found = errors(curve, np.array([[1.0, 0, 0, 0, 0, -1.0]]))
    assert found.seed_share > 0.99
    assert found.freedom == pytest.approx(2, rel=0.02)


def curve_of_parts(between: float, rest: float, items: float, seeds: int = 3) -> Curve:
    """A curve at 6 checkpoints whose errors are the same and independent at each: variances over seeds, rest, items."""
    one = np.eye(6)
    return Curve(
        np.logspace(4, 6, 6), np.full(6, 0.7), seeds, 300, (items + rest) * one, (between + rest) * one, rest * one,
        item_freedom=294.0, effective_items=300.0,
    )  # fmt: skip


def freedom_of_parts(between: float, rest: float, items: float, seeds: int = 3) -> float:
    return errors(curve_of_parts(between, rest, items, seeds), np.eye(6)).freedom


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_degrees_of_freedom_go_from_those_of_the_items_to_those_of_the_seeds(seeds: int) -> None:
    assert freedom_of_parts(0, 0, 1, seeds) == 294
    assert freedom_of_parts(1, 0, 0, seeds) == pytest.approx(2 * (seeds - 1))
    of_rest = 1 / (1 / (6 * (seeds - 1)) + 1 / 294)  # six independent differences, each with seeds - 1
    assert freedom_of_parts(0, 1, 0, seeds) == pytest.approx(of_rest)


@pytest.mark.parametrize("rest", [0.1, 0.5, 1.0])
def test_degrees_of_freedom_fall_without_a_jump_as_the_share_of_the_seeds_grows(rest: float) -> None:
    """From runs that differ less than their pairs would make them (a negative part) to runs that differ only."""

    def freedom_at(share: float) -> float:
        return freedom_of_parts(share * rest / (1 - share), rest, 1 - rest)

    assert (np.diff([freedom_at(share) for share in np.linspace(-0.9, 0.99, 400)]) < 0).all()
    assert freedom_at(-1e-6) == pytest.approx(freedom_at(1e-6), rel=1e-4)
    assert errors(curve_of_parts(-1e-9, rest, 0), np.eye(6)).seed_share == 0


def test_offsets_of_seeds_are_no_error_of_differences() -> None:
    """Two seeds with a level of their own and nothing else: levels are uncertain, differences are not."""
    half_points = np.zeros((2, 3, 100), dtype=np.uint8)
    half_points[0, :, :60], half_points[1, :, :80] = 2, 2
    curve = estimate_curve(np.array([1.0, 10.0, 100.0]), half_points, np.zeros(100, dtype=np.int64))
    assert errors(curve, np.array([[1.0, 0, -1.0]])).seed_share == 0
    assert errors(curve, np.eye(3)).seed_share > 0.8


def test_over_seeds_alone_the_error_is_how_the_runs_differ() -> None:
    """The mean, over functions, of the textbook variance of the runs' own differences; their levels are no error."""
    rng = np.random.default_rng(9)
    levels = 0.6 + 0.2 * rng.standard_normal((3, 1, 1)) * 0.3 + 0.05 * rng.standard_normal((3, 6, 1))
    half_points = (2 * (rng.random((3, 6, 400)) < levels)).astype(np.uint8)
    curve = estimate_curve(np.logspace(4, 6, 6), half_points, np.zeros(400, dtype=np.int64))
    contrasts = np.eye(6)[:-1] - np.eye(6)[1:]
    own = half_points.mean(axis=2) / 2 @ contrasts.T
    found = errors(without_pair_error(curve), contrasts)
    assert found.variance.mean() == pytest.approx(own.var(axis=0, ddof=1).mean() / 3, rel=0.02)
    level = np.array([0.3, -0.2, -0.1])
    apart = replace(curve, seed_cov=curve.seed_cov + (level**2).sum() / 6)
    assert errors(without_pair_error(apart), contrasts).variance == pytest.approx(found.variance)


def test_draws_have_the_variance_of_the_error() -> None:
    rng = np.random.default_rng(1)
    half_points = (2 * (rng.random((1, 6, 200)) < 0.7)).astype(np.uint8)
    curve = estimate_curve(np.logspace(4, 6, 6), half_points, np.zeros(200, dtype=np.int64))
    functions = smoothing_weights(curve.log_tokens)
    drawn = curve_draws(curve, functions, draws=20_000)
    assert drawn.var(axis=0) == pytest.approx(errors(curve, functions).variance, rel=0.05)


def test_few_seeds_give_heavy_tails() -> None:
    rng = np.random.default_rng(3)
    levels = np.clip(0.6 + 0.1 * rng.standard_normal((3, 6, 1)), 0.1, 0.9)
    half_points = (2 * (rng.random((3, 6, 200)) < levels)).astype(np.uint8)
    curve = estimate_curve(np.logspace(4, 6, 6), half_points, np.zeros(200, dtype=np.int64))
    assert 4 < errors(curve, np.eye(6)).freedom < 5  # twice the seeds but one, and a little for the items


@given(hnp.arrays(np.float64, 12, elements=st.floats(0, 1)))
@settings(max_examples=50, deadline=None)
def test_smoothing_keeps_the_range_and_the_order(values: np.ndarray) -> None:
    weights = smoothing_weights(LOGS)
    assert weights.sum(axis=1) == pytest.approx(np.ones(12))
    smooth = weights @ values
    assert values.min() - 1e-12 <= smooth.min() <= smooth.max() <= values.max() + 1e-12
    assert np.all(np.diff(weights @ np.sort(values)) >= -1e-12)  # a rising curve stays one


@given(hnp.arrays(np.float64, 12, elements=st.floats(0, 1)))
@settings(max_examples=50, deadline=None)
def test_smoothing_adds_no_turn(values: np.ndarray) -> None:
    def turns(curve: np.ndarray) -> int:
        steps = np.diff(curve)
        signs = np.sign(steps[np.abs(steps) > 1e-9])
        return int((signs[1:] != signs[:-1]).sum())

    raw = np.diff(values)
    signs = np.sign(raw[raw != 0])
    assert turns(smoothing_weights(LOGS) @ values) <= int((signs[1:] != signs[:-1]).sum())


def test_clusters_across_paradigms_are_drawn_from_all_pairs() -> None:
    paradigms, clusters = np.repeat([0, 1], 20), np.tile(np.arange(10), 4)
    strata, kept, drawn = drawn_together(paradigms, clusters, "lemma")
    assert (set(strata), drawn) == ({0}, "lemma")
    assert kept.tolist() == clusters.tolist()


def test_edits_are_drawn_however_few_they_are() -> None:
    paradigms, clusters = np.zeros(50, dtype=np.int64), np.repeat(np.arange(2), 25)
    _, kept, drawn = drawn_together(paradigms, clusters, "edit")
    assert (kept.tolist(), drawn) == (clusters.tolist(), "edits")


def test_over_seeds_alone_clusters_of_pairs_take_no_degrees_of_freedom() -> None:
    """Six edits that each run learns by itself: the mean square of the seeds is all of the error, worth 2 (S - 1)."""
    rng = np.random.default_rng(11)
    levels = 0.6 + 0.2 * rng.standard_normal((3, 6, 6))[:, :, np.repeat(np.arange(6), 20)]
    half_points = (2 * (rng.random((3, 6, 120)) < levels)).astype(np.uint8)
    one, clusters = np.zeros(120, dtype=np.int64), np.repeat(np.arange(6), 20)
    contrasts = np.eye(6)[:-1] - np.eye(6)[1:]
    found = errors(
        without_pair_error(estimate_curve(np.logspace(4, 6, 6), half_points, one, clusters)), contrasts
    )
    own = half_points.mean(axis=2) / 2 @ contrasts.T
    assert found.variance.mean() == pytest.approx(own.var(axis=0, ddof=1).mean() / 3, rel=0.05)
    assert found.freedom == pytest.approx(2 * (3 - 1), rel=0.05)
