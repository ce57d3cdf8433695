import csv
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucurve.analysis.pairs.section import length_groups, length_table, paradigm_differences, words


def test_words_and_signs() -> None:
    assert words("Петер был когда-то в Москве, да?") == 8


def test_groups_of_rublimp_s_lengths() -> None:
    """RuBLiMP's files fall into seven groups that end at 7, 8, 9, 10, 13 and 16 tokens (inventory R19)."""
    shared = (
        Path(os.environ.get("UCURVE_SHARED", Path(__file__).parents[4] / "shared")) / "benchmarks" / "rublimp"
    )
    if not shared.is_dir():
        pytest.skip("the published benchmark files are not here (../shared or $UCURVE_SHARED)")
    lengths = []
    for file in sorted(shared.glob("*.csv")):
        with file.open(encoding="utf-8", newline="") as opened:
            lengths += [words(row["source_sentence"]) for row in csv.DictReader(opened)]
    groups = length_groups(lengths)
    assert [int(name.rpartition("-")[2]) for name in groups.cat.categories][:-1] == [7, 8, 9, 10, 13, 16]


def test_groups_of_lengths_that_divide_evenly() -> None:
    groups = length_groups(list(range(1, 15)))
    assert list(groups.cat.categories) == ["1-2", "3-4", "5-6", "7-8", "9-10", "11-12", "13-14"]
    assert groups.value_counts().tolist() == [2] * 7


@given(st.lists(st.integers(1, 12), min_size=1, max_size=80))
def test_sentences_of_one_length_stay_together_and_groups_are_in_order(lengths: list[int]) -> None:
    groups = length_groups(lengths)
    table = pd.DataFrame({"length": lengths, "group": groups.cat.codes})
    assert (table.groupby("length")["group"].nunique() == 1).all()
    assert table.groupby("length")["group"].first().is_monotonic_increasing
    assert table["group"].nunique() <= 7
    assert set(table["group"]) == set(range(table["group"].nunique()))


def test_accuracy_by_length_and_domain() -> None:
    about = pd.DataFrame({
        "good": ["a b"] * 40 + ["a b c d"] * 40, "domain": ["books"] * 20 + ["news"] * 40 + ["books"] * 20,
    })  # fmt: skip
    credit = pd.DataFrame({"m": [1.0] * 40 + [0.0] * 30 + [1.0] * 10})
    table = length_table(about, credit, groups=2).set_index(["domain", "group"])
    assert list(table.index[:2]) == [("all", "2"), ("all", "4")]
    assert table.loc[("all", "2"), ["n", "accuracy"]].tolist() == [40, 1.0]
    assert table.loc[("all", "4"), ["n", "accuracy"]].tolist() == [40, 0.25]
    assert table.loc[("books", "4"), ["n", "accuracy"]].tolist() == [20, 0.5]
    assert table.loc[("news", "4"), "accuracy"] == 0
    assert table.loc[("news", "4"), "ci_high"] == pytest.approx(1 - 0.025 ** (1 / 20))


def test_the_difference_of_two_paradigms_has_newcombe_s_interval() -> None:
    """Newcombe 1998, the paper's example (a) for method 10: 56/70 against 48/80 gives 0.0524 to 0.3339."""
    points = pd.DataFrame({
        "model": ["m", "m", "k"], "suite": ["with", "without", "with"], "n": [70, 80, 70], "accuracy": [0.8, 0.6, 0.5],
    })  # fmt: skip
    (row,) = paradigm_differences(points, {"number": ("without", "with")}).to_dict("records")
    assert (row["model"], row["without"], row["with_it"]) == ("m", 0.6, 0.8)
    assert row["difference"] == pytest.approx(0.2)
    assert (row["low"], row["high"]) == (pytest.approx(0.0524, abs=1e-4), pytest.approx(0.3339, abs=1e-4))


def test_a_model_without_one_of_the_paradigms_has_no_difference() -> None:
    points = pd.DataFrame({"model": ["m"], "suite": ["with"], "n": [10], "accuracy": [0.5]})
    assert paradigm_differences(points, {"number": ("without", "with")}).empty


def test_lengths_that_are_all_the_same_are_one_group() -> None:
    assert list(length_groups(np.array([5, 5, 5])).cat.categories) == ["5"]


def test_groups_stand_in_the_order_of_their_lengths() -> None:
    about = pd.DataFrame({"good": [" ".join("w" * length) for length in range(8, 15) for _ in range(3)]})
    table = length_table(about, pd.DataFrame({"m": np.ones(21)}))
    assert table["group"].tolist() == ["8", "9", "10", "11", "12", "13", "14"]


def test_differences_are_over_as_many_pairs_as_edits_are_worth() -> None:
    points = pd.DataFrame({"model": "m", "suite": ["a", "b"], "accuracy": [0.8, 0.7], "n": [100, 100]})
    wide, narrow = (
        paradigm_differences(points.assign(effective=effective), {"x": ("a", "b")}).iloc[0]
        for effective in ([10.0, 10.0], [100.0, 100.0])
    )
    plain = paradigm_differences(points, {"x": ("a", "b")}).iloc[0]
    assert (narrow["low"], narrow["high"]) == (plain["low"], plain["high"])
    assert wide["low"] < plain["low"] < plain["high"] < wide["high"]
    unknown = paradigm_differences(points.assign(effective=[np.nan, 100.0]), {"x": ("a", "b")}).iloc[0]
    assert np.isnan([unknown["low"], unknown["high"]]).all()
    assert unknown["difference"] == pytest.approx(-0.1)
