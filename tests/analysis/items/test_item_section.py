"""Item dynamics in the report."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from tests.analysis.item_runs import make_item_run, pair_table
from tests.analysis.synthetic import score_row
from tests.facts import change_run
from ucurve.analysis.api import open_study
from ucurve.analysis.items.section import item_sections, line_summary
from ucurve.analysis.report.html import TableView

PAIRS = pair_table({"p": "first", "q": "second"}, 10)
STEPS = (0, 1, 2, 4)


@pytest.fixture
def parts_of(make_run, tmp_path):
    def parts_of(runs, **settings):
        draw = np.random.default_rng(11)
        for seed in range(runs):
            verdicts = draw.integers(0, 3, (len(STEPS), len(PAIRS))).astype(np.uint8)
            make_item_run(make_run, PAIRS, dict(zip(STEPS, verdicts, strict=True)), seed=seed)
        scored = open_study(f"{tmp_path}/runs/*", **settings).benchmarks()[0]
        return list(item_sections(scored))

    return parts_of


def test_the_table_is_the_mean_of_the_runs_and_the_csv_has_each(parts_of):
    items, _ = parts_of(2)
    (view,) = items.content
    summary = items.tables["items_summary_zho"]
    assert len(summary) == 2 * (1 + 2 + 2)
    assert view.table["phenomenon"].tolist() == ["all", "first", "second"]
    assert view.table["runs"].tolist() == [2, 2, 2]
    overall = summary[(summary["phenomenon"] == "all") & (summary["paradigm"] == "all")]
    assert view.table["lost"].iloc[0] == pytest.approx(overall["lost"].mean())


def test_the_tokens_of_a_model_are_missing_where_one_of_its_runs_has_none():
    summary = pd.DataFrame({
        "line": ["x", "x", "y", "y"], "phenomenon": "all", "paradigm": "all",
        "right_for_good_tokens": [1e6, np.nan, 1e6, 3e6],
    })  # fmt: skip
    assert line_summary(summary)["right_for_good_tokens"].tolist() == pytest.approx([np.nan, 2e6], nan_ok=True)


def test_a_row_for_each_pair_is_written_when_asked_for(parts_of):
    assert len(parts_of(1, items=True)[0].tables["items_zho"]) == len(PAIRS)


def test_without_the_key_the_note_says_how_to_have_it(parts_of):
    (items,) = parts_of(1)
    assert set(items.tables) == {"items_summary_zho"}
    assert "items=true writes a row for each pair and run too" in items.content[0].note


def test_agreement_has_figures_and_says_why_seeds_cannot_be_told_apart(parts_of):
    _, agreement = parts_of(3)
    assert [one.name for one in agreement.drawings] == [
        "seed_agreement_zho_overall",
        "seed_agreement_zho_phenomena",
    ]
    told, text = [one for one in agreement.content if isinstance(one, str)]
    table = agreement.tables["seed_agreement_zho"]
    (last,) = table[(table["phenomenon"] == "all") & (table["step"] == table["step"].max())].to_dict("records")
    assert (
        f"agree on {100 * last['agreement']:.1f} % of all pairs, with a kappa of {last['kappa']:.2f}, and" in told
    )
    assert (
        f"their margins correlate by {last['margin_correlation']:.2f}. Where nearly all answers are alike" in told
    )
    assert "Train seeds.init=0 seeds.data=1, seeds.init=1 seeds.data=0 too" in text
    (view,) = [one for one in agreement.content if isinstance(one, TableView)]
    assert set(view.table["tokens"]) == {agreement.tables["seed_agreement_zho"]["tokens"].max()}


@pytest.mark.parametrize("count", [2, 3])
def test_crossed_seeds_have_a_table_of_their_shares(count, make_run, parts_of, tmp_path):
    draw = np.random.default_rng(12)
    for number, (init, data) in enumerate(product(range(count), range(count))):
        rows = {step: draw.integers(0, 3, len(PAIRS)).astype(np.uint8) for step in STEPS}
        change_run(make_item_run(make_run, PAIRS, rows, seed=10 + number), seeds={"init": init, "data": data})
    _, agreement = parts_of(0)
    kappas, shares = [one for one in agreement.content if isinstance(one, TableView)]
    assert set(kappas.table["between"]) == {"all runs", "same init", "same data order", "both differ"}
    assert shares.table["measure"].tolist() == ["right"] * 3 + ["margin"] * 3
    total = 1 if count == 3 else 0  # two inits and orders tell no shares
    assert shares.table[["init_share", "order_share", "rest_share"]].sum(axis=1).to_numpy() == pytest.approx(
        total
    )
    assert len(agreement.tables["seed_components_zho"]) == 2 * 3 * len(STEPS)
    assert len([one for one in agreement.content if isinstance(one, str)]) == 1  # how far seeds agree


def test_without_scores_of_single_pairs_there_is_no_section(make_run, tmp_path):
    make_run([score_row(step, 0.5) for step in STEPS])
    scored = open_study(f"{tmp_path}/runs/*").benchmarks()[0]
    assert not list(item_sections(scored))
