"""Runs that are outliers among their seeds."""

import numpy as np
import pandas as pd
import pytest

from tests.analysis.item_runs import make_item_run, pair_table
from ucurve.analysis.api import open_study
from ucurve.analysis.curves.outliers import farthest_run, outlier_sections, outlier_table

PAIRS = pair_table({"p": "first", "q": "second"}, 100)
STEPS = (0, 1, 2, 4)


@pytest.fixture
def make_study(make_run, tmp_path):
    """Runs whose pairs are right in 60 % of cases, the last one in another share of the pairs of ``first``."""

    def make_study(runs: int, last: float = 0.6):
        draw = np.random.default_rng(2)
        for seed in range(runs):
            share = np.where(PAIRS["phenomenon"] == "first", last if seed == runs - 1 else 0.6, 0.6)
            rows = {step: 2 * (draw.random(len(PAIRS)) < share).astype(np.uint8) for step in STEPS}
            make_item_run(make_run, PAIRS, rows, seed=seed)
        return open_study(f"{tmp_path}/runs/*")

    return make_study


def test_the_farthest_run_has_the_p_value_of_grubbs_table():
    """Grubbs 1969, table 1: the critical value of ten observations at 2.5 % one-sided, so 5 % two-sided, is 2.290."""
    values = np.array([-1.5, -1.0, -0.6, -0.3, 0.0, 0.2, 0.5, 0.9, 1.3, 0.0])
    places = np.linspace(2, 6, 4001)
    largest = []
    for place in places:
        values[-1] = place
        largest.append((place - values.mean()) / values.std(ddof=1))
    values[-1] = places[int(np.abs(np.array(largest) - 2.290).argmin())]
    found = farthest_run(pd.Series(values, index=list("abcdefghij")))
    assert found["run"] == "j"
    assert found["p"] == pytest.approx(0.05, abs=0.001)


def test_equal_seeds_rarely_have_an_outlier():
    draw = np.random.default_rng(0)
    p = [farthest_run(pd.Series(draw.standard_normal(5)))["p"] for _ in range(1000)]
    assert 0.025 <= np.mean(np.array(p) <= 0.05) <= 0.075


def test_runs_that_are_all_equal_but_one_are_not_tested():
    assert farthest_run(pd.Series([0.5, 0.5, 0.5, 0.5, 0.9])) is None


def test_a_run_that_learned_less_of_one_phenomenon_is_named(make_study):
    study = make_study(6, last=0.05)
    (section,) = outlier_sections(study.scored())
    table = section.tables["seed_outliers_zho"]
    found = table[table["outlier"]]
    label = study.runs[-1].label
    assert set(found["run"]) == {label}
    assert "first" in set(found["phenomenon"])
    assert "second" not in set(found["phenomenon"])
    assert label in section.content[0]
    assert not section.left_out
    row = table[(table["measure"] == "accuracy over training") & (table["phenomenon"] == "first")].iloc[0]
    assert row["value"] < row["others"]
    assert row["runs"] == 6


def test_without_an_outlier_the_page_leaves_the_section_out(make_study):
    (section,) = outlier_sections(make_study(5).scored())
    assert section.left_out == "no run is an outlier among its seeds"
    assert "seed_outliers_zho" in section.tables


def test_three_runs_are_too_few(make_study):
    scored = make_study(3, last=0.05).scored()
    assert list(outlier_sections(scored)) == []
    assert outlier_table(scored.curve_rows(), scored.study).empty
