"""Intervals, bands, ends, onsets, change points and smallest dips: those of the program for the same credits."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from studies.recomputed import changes, intervals, levels, power, shape
from tests.studies.recomputed_curves import TOKENS, scored, some_credits
from ucurve.analysis.change_points.bends import find_changes
from ucurve.analysis.change_points.section import loss_curve
from ucurve.analysis.shape.bands import curve_bands
from ucurve.analysis.shape.classify import shape_test
from ucurve.analysis.shape.onset import onset
from ucurve.analysis.shape.over_tokens import below_chance, name_below
from ucurve.analysis.shape.pooled import estimate_curve, group_runs, mean_curve
from ucurve.analysis.shape.power import dip_power

DESIGNS = pytest.mark.parametrize("too_few", [False, True])


def credits_of(too_few):
    half_points, paradigms, clusters = some_credits(1)
    return (
        (half_points, paradigms * 0, np.minimum(clusters, 1)) if too_few else (half_points, paradigms, clusters)
    )


def inside(row, name, value):
    return row[f"{name}_least"] - 1e-9 <= value <= row[f"{name}_most"] + 1e-9


@DESIGNS
def test_intervals_of_dips_are_those_of_the_program(too_few):
    credits_ = credits_of(too_few)
    row = intervals.of_turns(scored(*credits_))
    test = shape_test(estimate_curve(TOKENS, *credits_))
    assert (row["dip"], row["bump"], row["peak"]) == pytest.approx(
        (test["dip"], test["bump"], test["bump_place"])
    )
    expected = {
        "dip_low": test["dip_depth_low"], "dip_high": test["dip_depth_high"], "bottom_low": test["dip_place_low"],
        "bottom_high": test["dip_place_high"],
    }  # fmt: skip
    assert all(inside(row, name, value) for name, value in expected.items())
    assert row["these_pairs"] is too_few


def test_parabolas_have_their_vertex_between_the_outer_checkpoints():
    logs = np.array([0.0, 1.0, 3.0])
    heights = (logs - 1.4) ** 2
    assert intervals.vertices(logs, np.array([heights]), np.array([1])) == pytest.approx([1.4])
    assert intervals.vertices(logs, np.array([logs]), np.array([0])) == pytest.approx([0.0])


@DESIGNS
def test_bands_are_those_of_the_program(too_few):
    credits_ = credits_of(too_few)
    numbers = np.unique(credits_[2][::2], return_inverse=True)[1].astype(np.int64)
    fewer = (credits_[0][:, :, ::2], credits_[1][::2], numbers)  # a phenomenon beside all pairs
    again = intervals.of_bands([scored(*credits_), replace(scored(*fewer), phenomenon="some")])
    curves = [estimate_curve(TOKENS, *one) for one in (credits_, fewer)]
    page = pd.concat(curve_bands(curves, [True, False])).to_dict("records")
    for row, expected in zip(again, page, strict=True):
        assert (row["low"], row["high"]) == pytest.approx((expected["low"], expected["high"]))
        assert inside(row, "band_low", expected["band_low"])
        assert inside(row, "band_high", expected["band_high"])


def test_ends_below_chance_are_those_of_the_program():
    credits_ = credits_of(False)
    low = (credits_[0] * (np.arange(len(credits_[1])) % 4 > 1), *credits_[1:])
    (again,) = levels.below_chance([scored(*low)]).to_dict("records")
    expected = name_below(pd.DataFrame([{"runs": 3, **below_chance(TOKENS, *low)}])).to_dict("records")[0]
    assert again["below_from"] == expected["below_from"]
    assert (again["p_below"], again["p_these_runs"]) == pytest.approx(
        (expected["p_below"], expected["p_below_these_runs"])
    )
    assert again["below"] == expected["below"] == "stable and wrong"


def test_onsets_of_single_runs_are_those_of_the_program():
    random = np.random.default_rng(5)
    rises = np.repeat([0.3, 0.4, 0.9], [3, 3, 4])
    half_points = 2 * random.binomial(1, np.repeat(rises, 200).reshape(1, 10, 200)).astype(np.uint8)
    curve = half_points, np.zeros(200, dtype=np.int64), np.arange(200)
    assert levels.onset(scored(*curve)) == pytest.approx((onset(estimate_curve(TOKENS, *curve)).tokens, False))
    assert np.isnan(levels.onset(scored(half_points[:, ::-1], *curve[1:]))[0])


def test_the_error_of_a_mean_over_sizes_is_that_of_the_program():
    half_points, paradigms, clusters = some_credits(1, runs=5)
    sizes = np.array([0, 0, 0, 1, 1])
    runs = [(str(size), one / 2) for size, one in zip(sizes, half_points, strict=True)]
    expected = mean_curve(group_runs(runs, paradigms, clusters), TOKENS)
    curve = shape.Scored("a", "all", TOKENS, half_points / 2, paradigms, clusters, sizes)
    assert curve.mean == pytest.approx(expected.mean)
    assert curve.error.runs == expected.seeds == 4
    assert curve.error.pairs == pytest.approx(expected.item_cov)
    assert curve.error.seeds == pytest.approx(expected.seed_cov)
    assert curve.error.rest == pytest.approx(expected.rest_cov)
    assert curve.error.freedom == pytest.approx(expected.item_freedom)


def test_change_points_of_a_loss_are_those_of_the_program(monkeypatch):
    monkeypatch.setattr(changes, "DRAWS", 2_000)
    tokens, random = 10 ** np.linspace(4, 7, 16), np.random.default_rng(7)
    logs = np.log10(tokens)
    losses = 4 - 0.3 * (logs - 4) - 0.6 * np.maximum(0, logs - 5.4) + random.normal(0, 0.01, (3, 16))
    again = changes.changes_of([changes.of_loss("a", tokens, losses)])
    expected = find_changes(loss_curve(tokens, losses), draws=2_000)
    assert again["significant"].all()
    assert again["tokens"].tolist() == pytest.approx(expected.tokens.tolist())
    assert again["level"].tolist() == pytest.approx(expected.levels.tolist())
    assert [*again["slope_before"], again["slope_after"].iloc[-1]] == pytest.approx(expected.slopes.tolist())
    for row, low, high in zip(again.to_dict("records"), expected.low, expected.high, strict=True):
        assert inside(row, "tokens_low", low)
        assert inside(row, "tokens_high", high)
        assert inside(row, "p", expected.p)


def test_the_smallest_dip_is_that_of_the_program_within_the_error_of_its_draws():
    half_points, paradigms, _ = some_credits(1)
    clusters = np.arange(len(paradigms))
    row = power.limits(scored(half_points, paradigms, clusters), 0.2)
    assert inside(
        row, "detectable_dip", dip_power(estimate_curve(TOKENS, half_points, paradigms)).smallest_dip(0.2)
    )
    assert row["detectable_dip_most"] / row["detectable_dip_least"] < 4
