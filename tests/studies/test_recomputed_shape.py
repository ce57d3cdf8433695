"""The tests of shape a second time: hand-made curves, and the same errors as those of the program for the same credits."""

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from studies.recomputed import (
    changes,
    compare,
    intervals,
    levels,
    ngrams,
    power,
    shape,
    words,
)
from studies.recomputed.shape import Estimate
from tests.studies.recomputed_curves import TOKENS, some_credits
from ucurve.analysis.shape.classify import change_tests
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.smoothing import (
    errors,
    smoothing_weights,
    with_known_error,
    without_pair_error,
    without_seed_error,
)

SECOND = (changes, compare, intervals, levels, ngrams, power, shape, words)
NARROWED = {"": with_known_error, "_these_pairs": without_pair_error, "_these_runs": without_seed_error}


def imported_by(module):
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    names = {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return names | {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}


@pytest.mark.parametrize("module", SECOND, ids=lambda module: module.__name__)
def test_it_imports_nothing_of_the_suite(module):
    own = {name for name in imported_by(module) if not name.startswith("studies.recomputed")}
    assert not {name.split(".")[0] for name in own} & {"analysis", "eval", "train", "ucurve", "studies"}


@pytest.mark.parametrize(
    ("curve", "squares", "fit"),
    [
        ([0.0, 1.0, 1.0, 0.5], 0.0, [0.0, 1.0, 1.0, 0.5]),
        ([0.0, 2.0, 0.0, 1.0], 0.5, [0.0, 2.0, 0.5, 0.5]),
        ([3.0, 2.0, 4.0, 9.0], 0.5, [2.5, 2.5, 4.0, 9.0]),
    ],
)
def test_the_distance_is_that_to_the_nearest_curve_that_rises_and_then_falls(curve, squares, fit):
    assert shape.distances_to_unimodal(np.array([curve]), np.ones(4)) == pytest.approx([squares])
    assert shape.nearest_unimodal(np.array(curve), np.ones(4)) == pytest.approx(fit)


def test_fit_and_distance_which_are_found_in_different_ways_agree_with_weights():
    random = np.random.default_rng(1)
    for curve, weights in zip(random.normal(size=(20, 8)), random.uniform(0.5, 2, (20, 8)), strict=True):
        fit = shape.nearest_unimodal(curve, weights)
        (distance,) = shape.distances_to_unimodal(curve[None], weights)
        assert (weights * (fit - curve) ** 2).sum() == pytest.approx(distance)


def test_edits_are_what_is_between_the_common_beginning_and_end():
    assert shape.edits(["a b c", "他去了"], ["a d e c", "他了"]) == ["b|d e", "去|"]


@pytest.mark.parametrize("scope", shape.SCOPES)
@pytest.mark.parametrize("clusters_of_last", [0, 1])
@pytest.mark.parametrize("design", ["edits", "pairs", "too few edits"])
def test_errors_are_those_of_the_program(scope, clusters_of_last, design):
    half_points, paradigms, clusters = some_credits(clusters_of_last)
    if design == "pairs":
        clusters = np.arange(len(clusters))
    if design == "too few edits":
        paradigms, clusters = np.zeros_like(paradigms), np.minimum(clusters, 1)
    curve = NARROWED[scope](estimate_curve(TOKENS, half_points, paradigms, clusters))
    error = shape.in_scope(shape.error_of(half_points / 2, paradigms, clusters), scope)
    weights = smoothing_weights(curve.log_tokens)
    assert shape.smoothing(TOKENS) == pytest.approx(weights)
    functions = weights - weights.mean(axis=0)
    variance, freedom, _ = shape.spread_of(error, functions)
    expected = errors(curve, functions)
    assert error.knows_pairs == curve.has_error
    assert variance == pytest.approx(expected.variance)
    assert freedom == pytest.approx(expected.freedom)


@pytest.mark.parametrize("edits", [1, 40])
def test_where_nothing_changes_the_edits_give_the_degrees_of_freedom(edits):
    half_points, clusters = np.full((3, 10, 40), 2, dtype=np.uint8), np.arange(40) % edits
    expected = estimate_curve(TOKENS, half_points, 0 * clusters, clusters).item_freedom
    assert shape.error_of(half_points / 2, 0 * clusters, clusters).freedom == expected == max(1, edits - 1)


def test_of_dips_that_are_nearly_alike_the_deeper_one_counts():
    assert shape.deepest(np.array([1.0, 0.5, 0.8, 0.5 - 1e-11, 1.0]))[1] == 3
    assert shape.deepest(np.array([0.5, 0.5 - 1e-11, 0.5])) == (0, 0)


def credits_of(accuracies, pairs=200):
    random = np.random.default_rng(3)
    return random.binomial(1, np.repeat(accuracies, pairs).reshape(1, -1, pairs).repeat(3, axis=0)).astype(float)


@pytest.mark.parametrize(
    ("accuracies", "name"),
    [
        ([0.8] * 3 + [0.4] * 4 + [0.8] * 3, "U-shaped"),
        ([0.4] * 3 + [0.8] * 4 + [0.4] * 3, "inverted-U"),
        ([0.5] * 5 + [0.9] * 5, "rising"),
        ([0.9] * 5 + [0.5] * 5, "falling"),
        ([0.7] * 10, "undetermined"),
    ],
)
def test_planted_curves_get_their_class_in_each_scope(accuracies, name, monkeypatch):
    monkeypatch.setattr(shape, "DRAWS", 1_000)
    credits_ = credits_of(accuracies)
    pairs = np.arange(credits_.shape[2])
    curve = shape.Scored("a", "all", TOKENS, credits_, np.zeros_like(pairs), pairs)
    (row,) = shape.tested_again([curve]).to_dict("records")
    assert row["class"] == name
    assert {row["class_these_pairs"], row["class_these_runs"]} == {name}
    assert row["runs_with_dip"] == row["runs_with_dip_each"] == (3 if name == "U-shaped" else 0)


def test_p_values_are_those_of_the_program_within_monte_carlo_error():
    half_points, paradigms, clusters = some_credits(1)
    curve = estimate_curve(TOKENS, half_points, paradigms, clusters)
    found = shape.shape_tests(
        TOKENS, curve.mean, shape.error_of(half_points / 2, paradigms, clusters)
    )  # fmt: skip
    for estimate, p in zip(found.values(), change_tests(curve), strict=True):
        assert abs(estimate.p - p) <= estimate.apart + 1e-9


def test_holm_leaves_out_what_has_no_p():
    assert shape.holm(np.array([0.04, np.nan, 0.01, 0.03])) == pytest.approx(
        [0.06, np.nan, 0.03, 0.06], nan_ok=True
    )


def test_the_error_of_two_estimates_is_four_standard_errors_of_both():
    found = shape.drawn(499, 9_999)
    assert found.p == 0.05
    assert found.apart == pytest.approx(4 * np.sqrt(0.05 * 0.95 * (1 / 9_999 + 1 / 10_000)) + 1 / 10_000)
    assert shape.drawn(499, 9_999, ends_early=True).apart > found.apart  # the program may have made 1,000
    assert 1 - shape.drawn(500, 500).apart < 0.998  # of other draws, some may not be beyond


def table_with(p_of_rises):
    found = [dict.fromkeys(shape.TESTS, Estimate(0.9)) | {"rise": p} for p in p_of_rises]
    count = len(found)
    table = shape._columns(found, [np.linspace(0.5, 0.9, 10)] * count, np.zeros(count, dtype=bool), "")
    return pd.DataFrame({"line": "a", "phenomenon": [f"p{place}" for place in range(count)]}).join(table)


@pytest.mark.parametrize(
    ("column", "values", "differ"),
    [
        ("p", [0.9, 0.9], 0),
        ("p", [0.9, 0.5], 1),
        ("p", [np.nan, 0.9], 1),
        ("class", ["rising", "rising"], 0),  # the second one has a p near .05 here
        ("class", ["rising", "undetermined"], 0),
        ("class", ["undetermined", "rising"], 1),
        ("class", ["rising", "U-shaped"], 1),  # the rise is near .05, the dip is not
        ("class", ["other than U-shaped", "rising"], 0),
        ("class", ["other than rising", "rising"], 1),
    ],
)
def test_a_number_or_class_that_chance_does_not_explain_is_counted(column, values, differ, capsys):
    again = table_with([Estimate(0.001, 0.001), Estimate(0.048, 0.01)])
    page = again[["line", "phenomenon"]].assign(**{column: values})
    assert shape.report(again, page) == (2, differ)
    assert ("a, p1" in capsys.readouterr().out) == (values[1] in (0.5, "undetermined", "U-shaped"))


def test_a_curve_that_is_not_found_is_counted():
    again = table_with([Estimate(0.001, 0.001)])
    page = pd.DataFrame({"line": "b", "phenomenon": ["p0"], "p": [0.9]})
    assert shape.report(again, page) == (0, 1)
