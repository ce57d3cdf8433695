"""Item tables against a count by hand, in plain Python, of the stored scores."""

import math
import statistics

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.analysis.item_runs import make_item_run, pair_table
from tests.analysis.synthetic import TOKENS_PER_STEP
from ucurve.analysis.api import open_study
from ucurve.analysis.items.histories import RIGHT, find_events, first_place, read_histories
from ucurve.analysis.items.section import ITEM_COLUMNS, item_summary, item_table
from ucurve.eval.store.scores import pairs_path, score_path

MATRICES = arrays.arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 6)), elements=st.integers(0, 2))


def count_by_hand(trace, steps):
    """What the item table says of one pair, from its verdicts one after the other."""
    right = [verdict == 2 for verdict in trace]
    first = next((step for step, now in zip(steps, right, strict=True) if now), None)
    good = lost = None
    for place, step in enumerate(steps):
        if all(right[place:]) and good is None:
            good = step
        if place and right[place - 1] and not any(right[place:]):
            lost = step
    flips = learned = forgotten = relearned = 0
    for place in range(len(trace)):
        if place and trace[place] != trace[place - 1]:
            flips += 1
        if right[place] and not (place and right[place - 1]):
            learned += 1
            relearned += learned > 1
        if place and right[place - 1] and not right[place]:
            forgotten += 1
    return {
        "first_right_step": first, "right_for_good_step": good, "lost_for_good_step": lost, "flips": flips,
        "times_learned": learned, "times_forgotten": forgotten, "times_relearned": relearned,
        "times_right": sum(right), "last": ["wrong", "tied", "right"][trace[-1]], "checkpoints": len(trace),
    }  # fmt: skip


def verdict(good, bad):
    """The verdict on a pair by the stated tolerance."""
    if abs(good - bad) <= 1e-6 * max(1, abs(good), abs(bad)):
        return 1
    return 2 if good > bad else 0


def check_rows(table, traces, steps):
    for (_, row), trace in zip(table.iterrows(), traces, strict=True):
        for name, value in count_by_hand(trace, steps).items():
            assert pd.isna(row[name]) if value is None else row[name] == value, (name, trace)
        for name in ("first_right", "right_for_good", "lost_for_good"):
            step, tokens = row[f"{name}_step"], row[f"{name}_tokens"]
            assert pd.isna(tokens) if pd.isna(step) else tokens == step * TOKENS_PER_STEP


@settings(max_examples=150, deadline=None)
@given(MATRICES)
def test_events_equal_a_count_by_hand(verdicts):
    events = find_events(verdicts)
    places = {"first_right_step": verdicts == RIGHT, "right_for_good_step": events.learned,
              "lost_for_good_step": events.forgotten}  # fmt: skip
    sums = {
        "flips": events.flipped,
        "times_learned": events.became_right,
        "times_forgotten": events.became_not_right,
    }
    for item in range(verdicts.shape[1]):
        expected = count_by_hand(verdicts[:, item].tolist(), range(len(verdicts)))
        for name, mask in places.items():
            assert first_place(mask)[item] == (-1 if expected[name] is None else expected[name])
        assert {name: int(mask[:, item].sum()) for name, mask in sums.items()} == {
            name: expected[name] for name in sums
        }


@settings(max_examples=150, deadline=None)
@given(MATRICES)
def test_for_good_happens_once_at_most_and_agrees_with_the_last_verdict(verdicts):
    events, last = find_events(verdicts), verdicts[-1] == RIGHT
    assert (events.learned.sum(axis=0) == last).all()
    assert (events.forgotten.sum(axis=0) == (~last & (verdicts == RIGHT).any(axis=0))).all()
    assert (events.became_right.sum(axis=0) - events.became_not_right.sum(axis=0) == last).all()


@pytest.fixture
def made(make_run):
    """Two runs of 24 pairs of two paradigms with random verdicts at six checkpoints."""
    pairs, draw = pair_table({"p": "first", "q": "second"}, 12), np.random.default_rng(3)
    steps = (0, 1, 2, 4, 8, 16)
    verdicts = [{step: draw.integers(0, 3, len(pairs)).astype(np.uint8) for step in steps} for _ in range(2)]
    folders = [make_item_run(make_run, pairs, one, seed=seed) for seed, one in enumerate(verdicts)]
    return pairs, steps, verdicts, folders


def stored_values(folder, step):
    """Values of both members of each pair under slln_lp, from the stored file."""
    file = pd.read_parquet(score_path(folder, "zho", "sentence", step))
    return [(one.lp_good / math.sqrt(one.n_good), one.lp_bad / math.sqrt(one.n_bad)) for one in file.itertuples()]


def test_item_table_equals_a_direct_count_from_the_stored_scores(made):
    _, steps, _, folders = made
    (scored,) = open_study([str(folder) for folder in folders]).benchmarks()
    table = item_table(read_histories(scored))
    assert list(table.columns) == list(ITEM_COLUMNS)
    assert len(table) == 2 * 24
    for folder in folders:
        values = [stored_values(folder, step) for step in steps]
        own = table[table["run"] == folder.name]
        check_rows(own, [[verdict(*one[item]) for one in values] for item in range(24)], steps)
        for (_, row), item in zip(own.iterrows(), range(24), strict=True):
            margins = [good - bad for good, bad in (one[item] for one in values)]
            assert row["margin_last"] == pytest.approx(margins[-1])
            assert row["margin_mean"] == pytest.approx(statistics.mean(margins))
            assert row["margin_sd"] == pytest.approx(statistics.stdev(margins))


def test_a_set_is_one_item_and_pairs_that_do_not_count_are_none(made):
    pairs, steps, _, folders = made
    marked = pairs.assign(
        counted=[number not in (3, 4) for number in range(24)],
        set=[number // 3 if 12 <= number < 18 else None for number in range(24)],
        bad=["same" if number == 7 else bad for number, bad in enumerate(pairs["bad"])],
        good=["same" if number == 7 else good for number, good in enumerate(pairs["good"])],
    )
    marked.to_parquet(pairs_path(folders[0], "zho"), index=False)
    (scored,) = open_study(str(folders[0])).benchmarks()
    table = item_table(read_histories(scored))
    left_out = {3, 4, 7, 13, 14, 16, 17}
    assert list(table["pair"]) == [name for number, name in enumerate(pairs["pair"]) if number not in left_out]
    values = [stored_values(folders[0], step) for step in steps]
    for first in (12, 15):
        row = table[table["pair"] == pairs["pair"][first]].iloc[0]
        margins = [min(good - bad for good, bad in one[first : first + 3]) for one in values]
        judged = []
        for one in values:
            verdicts = [verdict(*pair) for pair in one[first : first + 3]]
            judged.append(min(verdicts))  # right beats all, wrong loses to one, else a tie
        check_rows(pd.DataFrame([row]), [judged], steps)
        assert row["margin_last"] == pytest.approx(margins[-1])


def test_lower_values_that_are_better_have_positive_margins_where_the_pair_is_right(made):
    folders = made[3]
    rows = pd.read_csv(folders[0] / "eval" / "accuracy.csv").assign(linking="nll")
    rows.to_csv(folders[0] / "eval" / "accuracy.csv", index=False)
    (scored,) = open_study(str(folders[0]), linking="nll").benchmarks()
    table = item_table(read_histories(scored))
    assert (np.sign(table["margin_last"]).map({-1: "wrong", 0: "tied", 1: "right"}) == table["last"]).all()


def test_summary_is_the_mean_of_its_items(made):
    (scored,) = open_study([str(folder) for folder in made[3]]).benchmarks()
    items = item_table(read_histories(scored))
    summary = item_summary(items)
    assert len(summary) == 2 * (1 + 2 + 2)
    for row in summary.to_dict("records"):
        own = items[items["run"] == row["run"]]
        for column in ("phenomenon", "paradigm"):
            own = own if row[column] == "all" else own[own[column] == row[column]]
        records = own.to_dict("records")
        assert row["n"] == len(records)
        assert row["right_for_good"] == pytest.approx(sum(one["last"] == "right" for one in records) / row["n"])
        assert row["ever_right"] == pytest.approx(sum(one["times_right"] > 0 for one in records) / row["n"])
        lost = sum(one["times_right"] > 0 and one["last"] != "right" for one in records)
        assert row["lost"] == pytest.approx(lost / row["n"])
        assert row["always_right"] == pytest.approx(sum(one["times_right"] == 6 for one in records) / row["n"])
        assert row["relearned"] == pytest.approx(sum(one["times_learned"] > 1 for one in records) / row["n"])
        assert row["flips"] == pytest.approx(statistics.mean(one["flips"] for one in records))
