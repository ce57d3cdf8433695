"""Agreement between runs, and what initialization and data order contribute, against other ways to compute them."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.metrics import cohen_kappa_score

from tests.analysis.item_runs import make_item_run, pair_table
from tests.facts import change_run
from ucurve.analysis.api import open_study
from ucurve.analysis.items.histories import read_histories
from ucurve.analysis.items.section import item_sections
from ucurve.analysis.items.seeds import (
    agreement_table,
    components,
    kappa,
    lines_of,
    mean_squares,
    shares_with_intervals,
)
from ucurve.errors import UserError

PAIRS = pair_table({"p": "first", "q": "second"}, 10)
STEPS = (0, 1, 2, 4)


def make_runs(make_run, cells, draw=None):
    """A run for each (init, data); returns its verdicts by cell, uint8[steps, pairs]."""
    draw = draw or np.random.default_rng(11)
    verdicts = {}
    for number, (init, data) in enumerate(cells):
        verdicts[init, data] = draw.integers(0, 3, (len(STEPS), len(PAIRS))).astype(np.uint8)
        rows = dict(zip(STEPS, verdicts[init, data], strict=True))
        change_run(make_item_run(make_run, PAIRS, rows, seed=number), seeds={"init": init, "data": data})
    return verdicts


@pytest.fixture
def study_of(tmp_path):
    return lambda: open_study(f"{tmp_path}/runs/*")


@settings(max_examples=60, deadline=None)
@given(arrays.arrays(bool, st.tuples(st.just(2), st.integers(1, 12))))
def test_kappa_is_that_of_scikit_learn(both):
    found, agreed = kappa(both[0][None], both[1][None])
    assert agreed[0] == np.mean(both[0] == both[1])
    if len(np.unique(both)) < 2:
        assert np.isnan(found[0])
    else:
        assert found[0] == pytest.approx(cohen_kappa_score(both[0], both[1]))


def test_agreement_is_the_mean_over_every_two_runs(make_run, study_of):
    verdicts = list(make_runs(make_run, [(0, 0), (1, 1), (2, 2)]).values())
    table = study_of().agreement()
    assert set(table["between"]) == {"all runs"}
    assert len(table) == 3 * len(STEPS)
    for row in table.to_dict("records"):
        items = (
            slice(None)
            if row["phenomenon"] == "all"
            else slice(0, 10)
            if row["phenomenon"] == "first"
            else slice(10, 20)
        )
        right = [one[STEPS.index(row["step"]), items] == 2 for one in verdicts]
        kappas = [cohen_kappa_score(right[one], right[other]) for one, other in ((0, 1), (0, 2), (1, 2))]
        assert row["kappa"] == pytest.approx(np.mean(kappas))
        assert (row["kappa_low"], row["kappa_high"]) == pytest.approx((min(kappas), max(kappas)))
        assert (row["runs"], row["run_pairs"], row["n"]) == (3, 3, len(right[0]))


def test_margins_correlate_where_kappa_has_nothing_to_compare(make_run, study_of):
    right = {step: np.full(len(PAIRS), 2, dtype=np.uint8) for step in STEPS}
    for seed in range(3):
        make_item_run(make_run, PAIRS, right, seed=seed)
    histories = read_histories(study_of().benchmarks()[0])
    draw = np.random.default_rng(7)
    margins = 1 + draw.random((3, len(STEPS), len(PAIRS)))
    margins[:, 1] = 1.0
    histories = [replace(history, margins=own) for history, own in zip(histories, margins, strict=True)]
    table = agreement_table(lines_of(histories)).query("phenomenon == 'all'").set_index("step")
    assert table["kappa"].isna().all()
    assert (table["agreement"] == 1).all()
    assert np.isnan(table.loc[1, "margin_correlation"])  # they do not vary
    two = [np.corrcoef(margins[one, 2], margins[other, 2])[0, 1] for one, other in ((0, 1), (0, 2), (1, 2))]
    assert table.loc[2, "margin_correlation"] == pytest.approx(np.mean(two))


def test_runs_that_share_a_seed_are_compared_apart(make_run, study_of):
    make_runs(make_run, [(0, 0), (0, 1), (1, 0)])
    table = study_of().agreement()
    overall = table[(table["phenomenon"] == "all") & (table["step"] == 4)].set_index("between")
    assert overall["run_pairs"].to_dict() == {
        "all runs": 3,
        "same init": 1,
        "same data order": 1,
        "both differ": 1,
    }


def test_components_are_those_of_the_textbooks_table():
    """One item: mean squares by statsmodels' analysis of variance, and their expectations solved by hand."""
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    values = np.random.default_rng(2).normal(size=(3, 4))
    frame = pd.DataFrame([{"init": i, "order": d, "y": values[i, d]} for i, d in product(range(3), range(4))])
    table = anova_lm(ols("y ~ C(init) + C(order)", frame).fit())
    squares = (table["sum_sq"] / table["df"]).to_dict()
    found = components(mean_squares(values[:, :, None, None]), 3, 4)
    assert found["rest"][0] == pytest.approx(squares["Residual"])
    assert found["init"][0] == pytest.approx((squares["C(init)"] - squares["Residual"]) / 4)
    assert found["order"][0] == pytest.approx((squares["C(order)"] - squares["Residual"]) / 3)


def test_components_are_right_on_average():
    draw = np.random.default_rng(3)
    init, order, rest = 2.0, 0.5, 1.0
    shape = (3, 2, 1, 20_000)
    values = (
        np.sqrt(init) * draw.standard_normal((3, 1, 1, shape[3])) + np.sqrt(rest) * draw.standard_normal(shape)
        + np.sqrt(order) * draw.standard_normal((1, 2, 1, shape[3]))
    )  # fmt: skip
    found = components(mean_squares(values), 3, 2)
    assert [found[part][0] for part in ("init", "order", "rest")] == pytest.approx([init, order, rest], rel=0.06)


def test_verdicts_that_follow_the_initialization_are_all_of_it(make_run, study_of):
    make_crossing(make_run, 3)
    table = study_of().seed_components()
    assert set(table["measure"]) == {"right", "margin"}
    assert table["init_share"].to_numpy() == pytest.approx(1)
    assert table["init_share_low"].to_numpy() == pytest.approx(1)
    assert set(table["inits"]) == set(table["orders"]) == {3}


def test_two_inits_and_two_orders_have_variances_and_no_shares(make_run, study_of):
    make_crossing(make_run, 2)
    table = study_of().seed_components()
    assert set(table["inits"]) == set(table["orders"]) == {2}
    assert (table["init"] > 0).all()
    assert table["rest"].to_numpy() == pytest.approx(0)
    assert table.filter(like="_share").isna().all(axis=None)


def make_crossing(make_run, count: int) -> None:
    """Runs of as many inits as orders, whose verdicts are those of the init."""
    draw = np.random.default_rng(4)
    of_init = {init: draw.integers(0, 2, (len(STEPS), len(PAIRS))) * 2 for init in range(count)}
    for number, (init, data) in enumerate(product(range(count), range(5, 5 + count))):
        rows = dict(zip(STEPS, of_init[init].astype(np.uint8), strict=True))
        change_run(make_item_run(make_run, PAIRS, rows, seed=number), seeds={"init": init, "data": data})


def test_the_interval_of_a_share_holds_it_where_a_seed_does_the_same_to_all_pairs():
    """Of 100 draws of a share of .57, at most 8 outside has p = .94 for an interval of 95 %."""
    draw = np.random.default_rng(5)
    held = []
    for _ in range(100):
        values = np.sqrt(0.57) * draw.standard_normal((4, 1, 1, 1)) + np.sqrt(0.14) * draw.standard_normal(
            (1, 4, 1, 1)
        )
        values = values + np.sqrt(0.29) * draw.standard_normal((4, 4, 1, 30))
        found = shares_with_intervals(mean_squares(values), 4, 4)
        assert found["init_share_low"] <= found["init_share"] <= found["init_share_high"]
        held.append(found["init_share_low"][0] <= 0.57 <= found["init_share_high"][0])
    assert np.mean(held) >= 0.92


def test_a_crossing_among_more_runs_is_found(make_run, study_of):
    make_runs(make_run, [(0, 0), (1, 1), (2, 2), (0, 1), (1, 0)])
    table = study_of().seed_components()
    assert set(table["inits"]) == set(table["orders"]) == {2}


@pytest.mark.parametrize(
    ("cells", "needed"),
    [
        ([(0, 0), (1, 1), (2, 2)], "Train seeds.init=0 seeds.data=1, seeds.init=1 seeds.data=0 too"),
        ([(0, 0), (0, 1)], "Train seeds.init=1 seeds.data=0, seeds.init=1 seeds.data=1 too"),
        ([(0, 0), (1, 0), (1, 1)], "Train seeds.init=0 seeds.data=1 too"),
    ],
)
def test_without_a_crossing_the_runs_that_are_missing_are_named(make_run, study_of, cells, needed):
    make_runs(make_run, cells)
    with pytest.raises(UserError, match="cannot be told apart") as error:
        study_of().seed_components()
    assert needed in str(error.value)


def test_one_run_has_nothing_to_agree_with(make_run, study_of, capsys):
    make_runs(make_run, [(0, 0)])
    assert study_of().agreement().empty
    assert "no two runs on the same pairs differ in the seed only" in capsys.readouterr().err


@pytest.mark.parametrize("other", [0, 1, 2])
def test_a_run_on_other_pairs_is_left_out_and_named_wherever_it_stands(make_run, study_of, capsys, other):
    draw = np.random.default_rng(12)
    for seed in range(3):
        pairs = PAIRS.assign(good=PAIRS["good"] + "!") if seed == other else PAIRS
        rows = {step: draw.integers(0, 3, len(PAIRS)).astype(np.uint8) for step in STEPS}
        make_item_run(make_run, pairs, rows, seed=seed)
    study = study_of()
    assert set(study.agreement()["runs"]) == {2}
    assert capsys.readouterr().err.endswith(f"and left out: 14m-10M-char-demo-s{other}.\n")
    (section,) = (one for one in item_sections(study.scored()) if one.heading.startswith("Agreement"))
    assert section.content[0].endswith(f"and left out: 14m-10M-char-demo-s{other}.")


def test_a_line_that_has_one_run_left_is_named_too(make_run, study_of, capsys):
    rows = dict.fromkeys(STEPS, np.full(len(PAIRS), 2, np.uint8))
    for seed, pairs in enumerate((PAIRS, PAIRS.assign(good=PAIRS["good"] + "!"))):
        make_item_run(make_run, pairs, rows, seed=seed)
    study = study_of()
    _, section = item_sections(study.scored())
    assert section.content == (
        "Scored on other pairs than most runs of their model, and left out: 14m-10M-char-demo-s1.",
    )
    assert study.agreement().empty
    said = capsys.readouterr().err
    assert re.search(r"so there is no agreement of seeds\. Scored on .* 14m-10M-char-demo-s1\.", said)
