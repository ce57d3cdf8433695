from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.analysis.item_runs import BENCHMARK, make_curve_runs, pair_table
from tests.analysis.studies import scored_of
from tests.analysis.synthetic import TOKENS_PER_STEP, MakeRun
from ucurve.analysis.acquisition.order import (
    FROM_START,
    LEARNED,
    NOT_LEARNED,
    TOO_FEW,
    Order,
    acquisition_sections,
    find_order,
    read_order,
    tell_tokens,
)
from ucurve.analysis.shape.section import read_shapes

STEPS = [0, *(2**power for power in range(12))]
FIRST, LAST = TOKENS_PER_STEP, TOKENS_PER_STEP * STEPS[-1]


def rise(middle: float, start: float = 0.5, end: float = 0.95):
    """A logistic rise whose middle is at a share of the log axis."""
    return lambda logs: start + (end - start) / (1 + np.exp(-((logs - logs[0]) / np.ptp(logs) - middle) / 0.03))


CURVES = {
    "late": rise(0.8), "early": rise(0.25), "earlier": rise(0.24), "had": rise(0.5, 0.8, 0.9),
    "none": rise(0.5, 0.4, 0.4), "few": rise(0.5, 0.4, 1.0),
}  # fmt: skip


@pytest.fixture
def order(make_run: MakeRun, tmp_path: Path) -> Order:
    pairs = [pair_table({name: name}, 2 if name == "few" else 200) for name in CURVES]
    make_curve_runs(make_run, pd.concat(pairs, ignore_index=True), CURVES, STEPS, 1, 5)
    found = read_order(scored_of(tmp_path))
    assert found is not None
    return found


def test_what_a_model_has_learned_has_not_or_had_already_are_told_apart(order: Order) -> None:
    states = order.table.set_index("phenomenon")["state"].to_dict()
    learned = dict.fromkeys(("early", "earlier", "late"), LEARNED)
    assert states == {**learned, "none": NOT_LEARNED, "had": FROM_START, "few": TOO_FEW}
    assert set(order.table["phenomenon"][:3]) == set(learned)
    assert order.table["phenomenon"][3] == "none"
    assert order.table["rank"].notna().tolist() == [True] * 4 + [False] * 2


def test_ranks_have_intervals_that_tell_apart_only_what_the_curves_do(order: Order) -> None:
    table = order.table.set_index("phenomenon")
    assert table.loc[["early", "earlier"], "rank_low"].tolist() == [1, 1]
    assert table.loc[["early", "earlier"], "rank_high"].tolist() == [2, 2]
    assert table.loc["late", ["rank_low", "rank_high"]].tolist() == [3, 3]
    assert table.loc["none", ["rank", "rank_low"]].tolist() == [4, 4]
    ranked = order.table["p_before_next"].iloc[:4].tolist()
    assert 0.05 < ranked[0] < 0.95
    assert ranked[1:3] == pytest.approx([1, 1], abs=0.01)
    assert np.isnan(ranked[3])


def test_the_matrix_has_every_two_phenomena_with_a_rank_once(order: Order) -> None:
    names = order.table["phenomenon"][:4].tolist()
    assert order.before["first"].tolist() == [names[0]] * 3 + [names[1]] * 2 + [names[2]]
    assert order.before["second"].tolist() == [*names[1:], *names[2:], names[3]]
    neighbors = order.before.groupby("first", sort=False)["p_before"].first()
    assert neighbors.tolist() == order.table["p_before_next"].iloc[:3].tolist()


def test_half_way_is_read_from_the_untrained_accuracy(order: Order) -> None:
    table = order.table.set_index("phenomenon")
    assert table.loc["late", "untrained"] == 0.5
    for name, middle in (("early", 0.25), ("late", 0.8)):
        truth = FIRST * (LAST / FIRST) ** middle
        assert table.loc[name, "half_way_low"] < truth < table.loc[name, "half_way_high"]
        assert table.loc[name, "half_way"] == pytest.approx(truth, rel=0.35)
    assert np.isnan(table.loc["none", "half_way"])  # it ends below its untrained accuracy


def test_an_onset_at_the_first_checkpoint_is_censored(order: Order) -> None:
    row = order.table.set_index("phenomenon").loc["had"]
    assert row[["onset", "onset_low", "onset_high"]].tolist() == pytest.approx([FIRST] * 3)
    assert row["onset_censored"] == "left"
    assert tell_tokens(row.to_dict(), "onset") == "at most 16,384"


@pytest.mark.parametrize(
    ("low", "high", "censored", "told"),
    [
        (2000, 5000, "", "3,000 (2,000 to 5,000)"),
        (1000, 5000, "left", "at most 5,000"),
        (2000, np.inf, "right", "3,000 (2,000 or more)"),
        (1000, np.inf, "left and right", "3,000"),
        (np.nan, np.nan, "", ""),
    ],
)
def test_a_milestone_is_written_with_what_is_known_of_it(
    low: float, high: float, censored: str, told: str
) -> None:
    row = {"onset": 3000.0, "onset_low": low, "onset_high": high, "onset_censored": censored}
    assert tell_tokens(row, "onset") == told


def test_an_untrained_accuracy_above_the_level_counts_unless_the_curve_was_surely_below(
    make_run: MakeRun, tmp_path: Path
) -> None:
    """Half of the pairs are right at step 0; the level that counts is set from there."""
    make_curve_runs(make_run, pair_table({"low": "low"}, 200), {"low": rise(0.5, 0.3)}, STEPS, 1, 5)
    shapes = read_shapes(scored_of(tmp_path))
    assert shapes is not None
    curves = shapes.curves.assign(accuracy=shapes.curves["accuracy"].where(shapes.curves["tokens"] > 0, 0.9))
    surely = find_order(replace(shapes, curves=curves))
    assert surely.table["state"].tolist() == [LEARNED]
    unsure = shapes.classes.assign(onset_low=FIRST)
    had = find_order(replace(shapes, curves=curves, classes=unsure))
    assert had.table["state"].tolist() == [FROM_START]


def test_the_table_of_the_report_tells_states_in_place_of_numbers(make_run: MakeRun, tmp_path: Path) -> None:
    curves = {
        "late": CURVES["late"],
        "had": CURVES["had"],
        **{f"at {place}": rise(place / 10) for place in (2, 4, 6)},
    }
    pairs = pd.concat([pair_table({name: name}, 200) for name in curves], ignore_index=True)
    make_curve_runs(make_run, pairs, curves, STEPS, 2, 5)
    (section,) = acquisition_sections(scored_of(tmp_path))
    view, _ = section.content
    shown = view.table.set_index("phenomenon")["learned"]
    assert shown["had"] == FROM_START
    assert " to " in shown["at 4"]
    assert set(section.tables) == {
        f"{name}_{BENCHMARK}" for name in ("acquisition", "order", "acquisition_agreement")
    }
    runs = section.tables[f"acquisition_agreement_{BENCHMARK}"]
    assert runs[["between", "phenomena", "tau"]].to_numpy().tolist() == [["runs", 4, 1.0]]  # without "had"
