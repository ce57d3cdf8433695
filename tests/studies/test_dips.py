"""Dips of lines and of single runs, from run folders of simulated learners, with what n-gram models account for."""

import pytest

from measurements.shapes.simulated_ngrams import FOLLOWERS, OTHERS
from studies.dips import ALL_RUNS, account_for_dips, dip_table, linking_shapes, named_orders
from tests.analysis.ngrams.ngram_runs import make_learners
from tests.analysis.studies import scored_of
from tests.analysis.synthetic import run_maker
from ucurve.analysis.ngrams.scores import read_beside_ngrams

RUNS = 3


@pytest.fixture
def scored(tmp_path):
    """Three runs with two dips: binding follows the bigram, agreement falls on other pairs."""
    learners = {"binding": FOLLOWERS[0], "agreement": OTHERS[0]}
    make_learners(run_maker(tmp_path), learners, seeds=RUNS, items=600, orders=(1, 2, 3), tokenizer="char")
    return scored_of(tmp_path)


def test_dips_of_all_runs_and_of_each_have_the_account_that_was_planted(scored) -> None:
    linking = scored.linking
    found = linking_shapes(scored, linking)
    runs = scored.study.runs
    of_line = {run.line: "char" for run in runs}
    dips = dip_table({linking: found}, of_line, {run.label: "char" for run in runs}).set_index("phenomenon")
    assert dips.loc[["binding", "agreement"], "runs_with_dip"].tolist() == [RUNS, RUNS]
    assert (dips["runs_with_dip_each"] >= dips["runs_with_dip"]).all()
    assert dips.loc[["binding", "agreement"], ["stands", "in_these_runs", "in_these_pairs"]].all(axis=None)
    assert dips.columns.is_unique
    assert (dips["p"] <= dips["p_holm"]).all()

    accounts = account_for_dips(found, list(read_beside_ngrams(scored)), of_line, "edit").assign(linking=linking)
    assert set(accounts["of"]) == {ALL_RUNS, *(run.label for run in runs)}
    assert set(accounts.loc[accounts["of"] == ALL_RUNS, "runs"]) == {RUNS}
    assert set(accounts.loc[accounts["of"] != ALL_RUNS, "runs"]) == {1}
    of_all = accounts[(accounts["of"] == ALL_RUNS) & accounts["named"]]
    assert of_all.loc[of_all["phenomenon"] == "binding", "order"].tolist() == [2]

    named = named_orders(accounts).set_index("phenomenon")
    assert named.loc["binding", ["dips", "named", "orders"]].tolist() == [RUNS, RUNS, f"2-gram {RUNS}"]
    assert named.loc["agreement", "named"] == 0


def test_without_ngram_scores_no_dip_is_accounted_for(scored) -> None:
    assert account_for_dips(linking_shapes(scored, scored.linking), [], {}, "edit").empty
