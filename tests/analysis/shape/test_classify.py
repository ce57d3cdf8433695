import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurements.shapes.simulated_curves import (
    DRIFTING,
    INDEPENDENT,
    LASTING,
    NOISES,
    SLOW,
    Noise,
    dip,
    dip_then_rise,
    flat,
    rising,
    simulate,
    token_axis,
)  # fmt: skip
from ucurve.analysis.shape.classify import TEST_OF, classify, shape_test
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.smoothing import smoothing_weights
from ucurve.analysis.shape.tables import SCOPES, shape_table

TOKENS = token_axis(20, 3.0)
DRAWS = 500
NARROWER = [f"p_{name}_{scope}" for scope in SCOPES for name in TEST_OF.values()]
NO_TURN = {
    f"{turn}_{part}": 1.0
    for turn in ("dip", "bump")
    for part in ("start", "end", "depth_low", "depth_high", "place", "place_low", "place_high")
}


def row(test: dict[str, float]) -> dict[str, float]:
    return {"runs": 3, **test}


def class_of(test: dict[str, float]) -> str:
    return classify(pd.DataFrame([row(test)]))["shape"].iloc[0]


def exact(levels: np.ndarray, items: int = 2000) -> np.ndarray:
    """One seed whose items become right in turn: every checkpoint has its level, changes are sure."""
    counts = np.round(np.asarray(levels) * items).astype(int)
    return (2 * (np.arange(items) < counts[:, None])).astype(np.uint8)[None]


def outcome(half_points: np.ndarray, tokens: np.ndarray = TOKENS, seed: int = 0) -> dict[str, float]:
    return shape_test(
        estimate_curve(tokens, half_points, np.zeros(half_points.shape[2], dtype=np.int64)), DRAWS, seed
    )


def called(curve, noise: Noise, n: int, tokens: np.ndarray = TOKENS) -> pd.Series:
    draw = np.random.default_rng(7)
    return pd.Series([class_of(outcome(simulate(curve, tokens, noise, draw), tokens, k)) for k in range(n)])


@pytest.mark.parametrize(
    ("curve", "shape"),
    [
        (flat(0.7), "flat"),
        (rising(0.5, 0.9), "rising"),
        (rising(0.9, 0.5), "falling"),
        (dip(0.7, 0.2), "U-shaped"),
        (dip(0.7, -0.2), "inverted-U"),
        (dip_then_rise(0.5, 0.9, 0.1), "U-shaped"),
    ],
)
def test_plain_shapes_are_named(curve, shape: str) -> None:
    assert class_of(outcome(exact(curve(np.log10(TOKENS))))) == shape


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
def test_flat_curves_are_rarely_called_u_shaped(noise: Noise) -> None:
    """The reduced form of measurements/shapes/curve_shapes.py; more than 4 of 40 has p = 0.05 where 5 % are."""
    shapes = called(flat(0.7), noise, 40)
    assert (shapes == "U-shaped").sum() <= 4
    assert shapes.isin(["flat", "undetermined"]).mean() > 0.8


@pytest.mark.parametrize(("noise", "least"), [(INDEPENDENT, 0.8), (LASTING, 0.8), (SLOW, 0.6), (DRIFTING, 0.3)])
def test_dips_of_5_points_are_found(noise: Noise, least: float) -> None:
    """300 items, 3 seeds, 47 checkpoints; docs/shape.md has the full size."""
    assert (called(dip(0.7), noise, 30, token_axis(47, 5.26)) == "U-shaped").mean() >= least


def test_rising_curves_are_not_called_u_shaped() -> None:
    shapes = called(rising(0.5, 0.7), SLOW, 40)
    assert (shapes == "U-shaped").sum() <= 4
    assert (shapes == "rising").mean() > 0.9


@given(st.lists(st.integers(0, 20), min_size=8, max_size=8))
@settings(max_examples=25, deadline=None)
def test_reversal_swaps_rising_and_falling_and_keeps_the_turns(levels: list[int]) -> None:
    tokens = token_axis(8, 2.0)
    half_points = exact(np.array(levels) / 20, 400)
    forth, back = outcome(half_points, tokens), outcome(half_points[:, ::-1], tokens)
    assert (forth["dip"], forth["bump"]) == pytest.approx((back["dip"], back["bump"]), abs=1e-9)
    for one, other in (
        (forth["p_rise"], back["p_fall"]),
        (forth["p_u"], back["p_u"]),
        (forth["p_inverted_u"], back["p_inverted_u"]),
    ):
        assert (one < 0.01) == (other < 0.01) or max(one, other) < 0.03  # draws differ


@given(st.lists(st.integers(0, 20), min_size=8, max_size=8))
@settings(max_examples=25, deadline=None)
def test_upside_down_swaps_the_turns(levels: list[int]) -> None:
    tokens = token_axis(8, 2.0)
    half_points = exact(np.array(levels) / 20, 400)
    upright, flipped = outcome(half_points, tokens), outcome(2 - half_points, tokens)
    assert (upright["p_rise"], upright["p_u"]) == pytest.approx((flipped["p_fall"], flipped["p_inverted_u"]))
    assert upright["dip"] == pytest.approx(flipped["bump"])
    assert upright["dip_place"] == pytest.approx(flipped["bump_place"])


@given(st.lists(st.integers(0, 20), min_size=8, max_size=8))
@settings(max_examples=25, deadline=None)
def test_a_turn_is_no_deeper_than_the_curve_is_high_and_lies_on_it(levels: list[int]) -> None:
    tokens = token_axis(8, 2.0)
    test = outcome(exact(np.array(levels) / 20, 400), tokens)
    for turn in ("dip", "bump"):
        assert 0 <= test[f"{turn}_depth_low"] <= test[turn] <= test[f"{turn}_depth_high"] <= 1
        assert test[turn] <= np.ptp(levels) / 20 + 1e-9
        assert test[f"{turn}_start"] <= test[f"{turn}_end"]
        low, place, high = (test[f"{turn}_{part}"] for part in ("place_low", "place", "place_high"))
        assert tokens[0] - 1e-6 <= low <= place <= high <= tokens[-1] * (1 + 1e-9)


def test_relabelled_items_and_more_items_that_never_change_do_not_turn_the_class() -> None:
    draw = np.random.default_rng(2)
    half_points = simulate(dip(0.6, 0.15), TOKENS, SLOW, draw)
    mixed = half_points[:, :, draw.permutation(half_points.shape[2])]
    assert row(outcome(half_points)) == pytest.approx(row(outcome(mixed)))
    constant = np.concatenate([half_points, np.full((3, len(TOKENS), 300), 2, dtype=np.uint8)], axis=2)
    assert class_of(outcome(half_points)) == class_of(outcome(constant)) == "U-shaped"
    assert outcome(constant)["dip"] == pytest.approx(outcome(half_points)["dip"] / 2)


def test_constant_credits_are_flat() -> None:
    for value in (0, 1, 2):
        test = outcome(np.full((3, len(TOKENS), 50), value, dtype=np.uint8))
        assert (class_of(test), test["dip"], test["p_u"]) == ("flat", 0, 1)


def test_one_item_that_changes_is_no_shape() -> None:
    half_points = np.full((1, len(TOKENS), 50), 2, dtype=np.uint8)
    half_points[0, 10, 0] = 0
    assert class_of(outcome(half_points)) == "undetermined"


def test_depth_and_place_of_a_planted_dip() -> None:
    curve = dip(0.7, 0.2)
    test = outcome(exact(curve(np.log10(TOKENS))))
    smooth = smoothing_weights(np.log10(TOKENS)) @ curve(np.log10(TOKENS))
    middle = np.sqrt(TOKENS[0] * TOKENS[-1])
    assert test["dip"] == pytest.approx(np.min(smooth[[0, -1]]) - smooth.min(), abs=2e-3)
    assert test["dip_place"] == pytest.approx(middle, rel=0.03)
    assert test["dip_place_low"] < middle * 1.03
    assert test["dip_place_high"] > middle / 1.03


def classes_of(*rows: dict[str, float]) -> pd.DataFrame:
    usual = {"runs": 3, "p_rise": 1.0, "p_fall": 1.0, "p_u": 1.0, "p_inverted_u": 1.0, "p_flat": 1.0, "dip": 0.0,
             "bump": 0.0, "dip_place": 1.0, "bump_place": 1.0}  # fmt: skip
    return classify(pd.DataFrame([usual | row for row in rows]))


def test_p_values_are_adjusted_over_all_curves_by_holm() -> None:
    """Holm: .01 x 3, .02 x 2, 1."""
    table = classes_of({"p_rise": 0.02}, {"p_rise": 0.01}, {"p_rise": 1.0})
    assert table["holm_rise"].tolist() == pytest.approx([0.04, 0.03, 1.0])
    assert table["shape"].tolist() == ["rising", "rising", "undetermined"]


def test_a_dip_has_a_q_value_over_the_curves_with_p_and_as_many_runs() -> None:
    """Benjamini and Hochberg of 3 curves: .01 x 3 / 1, .02 x 3 / 2, .5; of one curve its p."""
    unknown, alone = {"p_u": np.nan}, {"p_u": 0.04, "runs": 1}
    table = classes_of({"p_u": 0.02}, unknown, {"p_u": 0.01}, alone, {"p_u": 0.5})
    assert table["q_u"].tolist() == pytest.approx([0.03, np.nan, 0.03, 0.04, 0.5], nan_ok=True)
    assert table["holm_u"].tolist() == pytest.approx([0.04, np.nan, 0.03, 0.04, 0.5], nan_ok=True)


def test_a_class_is_named_only_by_a_test_that_is_significant_after_holm() -> None:
    """Fifteen curves fall for sure; the last one's rise has the smaller p, but only its fall survives Holm."""
    table = classes_of(*[{"p_fall": 1e-6}] * 15, {"p_rise": 0.04, "p_fall": 0.045})
    last = table.iloc[-1]
    assert last[["holm_rise", "holm_fall"]].tolist() == pytest.approx([0.64, 0.045])
    assert last["shape"] == "falling"
    assert shape_table(table.assign(variation="items and seeds", **NO_TURN, **dict.fromkeys(NARROWER, 1.0)))[
        "p"
    ].iloc[-1] == pytest.approx(0.045)


@given(
    st.lists(st.tuples(*[st.sampled_from([1e-6, 1e-3, 0.01, 0.03, 0.04, 0.2, 1.0])] * 5), min_size=1, max_size=20)
)
@settings(max_examples=50, deadline=None)
def test_the_test_that_names_a_class_is_significant(rows: list[tuple[float, ...]]) -> None:
    names = ("p_rise", "p_fall", "p_u", "p_inverted_u", "p_flat")
    table = classes_of(*[dict(zip(names, row, strict=True)) for row in rows])
    for row in table.to_dict("records"):
        if row["shape"] == "undetermined":
            assert min(row[f"holm_{name}"] for name in TEST_OF.values()) > 0.05
        else:
            assert row[f"holm_{TEST_OF[row['shape']]}"] <= 0.05


def test_single_runs_are_a_family_of_their_own() -> None:
    table = classes_of({"p_rise": 0.03, "runs": 1}, {"p_rise": 0.03, "runs": 3}, {"p_rise": 0.02, "runs": 3})
    assert table["holm_rise"].tolist() == pytest.approx([0.03, 0.04, 0.04])


def test_flat_needs_all_differences_within_the_margin() -> None:
    """A thousand pairs that change by chance alone, and a fall of as much as the margin, just below and far below."""

    def p_flat(fall: float, margin: float = 0.03) -> float:
        levels = np.where(np.arange(len(TOKENS)) < 10, 0.7, 0.7 - fall)
        curve = estimate_curve(TOKENS, exact(levels, 1000), np.zeros(1000, dtype=np.int64))
        return shape_test(curve, DRAWS, margin=margin)["p_flat"]

    assert p_flat(0.0) < 1e-6
    assert p_flat(0.015) < 0.05
    assert p_flat(0.03) > 0.05
    assert p_flat(0.05) > 0.99
    assert p_flat(0.05, margin=0.08) < 0.05


def test_a_fall_of_the_margin_is_rarely_called_flat() -> None:
    """The level of the equivalence test at its edge; more than 6 of 60 has p = 0.03 where 5 % are."""
    logs = np.log10(TOKENS)
    curve = lambda logs: 0.7 - 0.03 * (logs > logs.mean())  # noqa: E731 - a shape like the others
    assert np.ptp(smoothing_weights(logs) @ curve(logs)) > 0.029
    draw = np.random.default_rng(3)
    tests = [outcome(simulate(curve, TOKENS, LASTING, draw, items=1500), seed=k) for k in range(60)]
    assert sum(test["p_flat"] <= 0.05 for test in tests) <= 6


def test_curves_that_were_not_tested_are_in_no_family() -> None:
    table = classes_of(
        {"p_rise": 0.03}, dict.fromkeys(["p_rise", "p_fall", "p_u", "p_inverted_u", "dip"], np.nan)
    )
    assert table["shape"].tolist() == ["rising", "not tested"]
    assert table["holm_rise"].iloc[0] == 0.03


def test_curves_whose_error_is_not_known_are_undetermined_and_in_no_family() -> None:
    table = classes_of({"p_rise": 0.03}, dict.fromkeys(["p_rise", "p_fall", "p_u", "p_inverted_u"], np.nan))
    assert table["shape"].tolist() == ["rising", "undetermined"]
    assert table["holm_rise"].iloc[0] == 0.03


def test_where_both_turns_are_significant_the_deeper_one_names_the_class() -> None:
    sure = dict.fromkeys(["p_rise", "p_fall", "p_u", "p_inverted_u"], 0.001)
    shapes = classes_of(
        sure | {"dip": 0.2, "bump": 0.1},
        sure | {"dip": 0.1, "bump": 0.2},
        sure | {"dip": 0.1, "bump": 0.1, "bump_place": 1.0, "dip_place": 2.0},  # up, a dip, up again
        sure | {"dip": 0.1, "bump": 0.1, "bump_place": 2.0, "dip_place": 1.0},  # down, a bump, down again
    )
    assert shapes["shape"].tolist() == ["U-shaped", "inverted-U", "U-shaped", "inverted-U"]
    assert shapes["both"].all()


def test_p_of_many_curves_can_be_small() -> None:
    """A family of hundreds of curves needs p values below one over the number of draws."""
    assert outcome(exact(dip(0.7, 0.2)(np.log10(TOKENS))))["p_u"] < 1e-6
