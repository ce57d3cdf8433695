import numpy as np
import pandas as pd
import pytest

from tests.analysis.synthetic import MakeRun, score_row
from ucurve.analysis.acquisition.order import (
    FROM_START,
    LEARNED,
    acquisition_order,
    differences,
    mean_agreement,
    order_agreement,
)
from ucurve.analysis.data.runs import find_runs


def onsets(**of_name: list[float]) -> pd.DataFrame:
    rows = [(name, f"p{place}", value) for name, values in of_name.items() for place, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["name", "phenomenon", "onset"]).assign(state=LEARNED)


def compare(**of_name: list[float]) -> pd.DataFrame:
    return order_agreement(acquisition_order(onsets(**of_name)), "lines", lambda *_: "size")


def test_phenomena_are_ranked_by_onset_and_those_never_reached_are_tied_last() -> None:
    order = acquisition_order(onsets(a=[3e6, np.nan, 1e6, np.nan, 2e6]))
    assert order["phenomenon"].tolist() == ["p2", "p4", "p0", "p1", "p3"]
    assert order["rank"].tolist() == [1, 2, 3, 4.5, 4.5]


def test_what_a_model_has_from_the_start_has_no_rank_and_stands_below() -> None:
    found = onsets(a=[1e3, 3e6, np.nan, 1e6])
    order = acquisition_order(found.assign(state=[FROM_START, *found["state"][1:]]))
    assert order["phenomenon"].tolist() == ["p3", "p1", "p2", "p0"]
    assert order["rank"].fillna(0).tolist() == [1, 2, 3, 0]


def test_equal_orders_agree_fully_and_reversed_ones_not_at_all() -> None:
    table = compare(a=[1, 2, 3, 4], b=[10, 20, 30, 40], c=[4, 3, 2, 1]).set_index(["first", "second"])
    assert table["tau"].tolist() == pytest.approx([1, -1, -1])
    assert table["p"].iloc[0] == pytest.approx(2 / 24)  # 4 phenomena: 1 of 24 orders each way


def test_tau_takes_account_of_ties() -> None:
    """tau-b by hand: 4 concordant pairs, 1 discordant; one tie in the first order: 4-1 over the root of 5 x 6."""
    table = compare(a=[1, 2, np.nan, np.nan], b=[2, 1, 3, 4])
    assert table["tau"].iloc[0] == pytest.approx(3 / np.sqrt(5 * 6))
    assert table["reached_by_both"].iloc[0] == 2


def test_only_phenomena_of_both_are_compared() -> None:
    both = onsets(a=[1, 2, 3], b=[1, 2, 3])
    table = order_agreement(acquisition_order(both.drop(index=5)), "lines", lambda *_: "size")
    assert table["phenomena"].tolist() == [2]
    assert table["tau"].isna().all()  # two are no order


@pytest.mark.parametrize(("phenomena", "known"), [(3, False), (4, True)])
def test_an_order_has_at_least_four_phenomena(phenomena: int, known: bool) -> None:
    assert compare(a=list(range(phenomena)), b=list(range(phenomena)))["tau"].notna().tolist() == [known]


def test_an_order_of_ties_only_has_no_agreement() -> None:
    table = compare(a=[np.nan] * 4, b=[1, 2, 3, 4])
    assert table["tau"].isna().all()
    assert mean_agreement(table).empty


def test_means_are_by_what_two_models_differ_in() -> None:
    table = compare(a=[1, 2, 3, 4], b=[1, 2, 3, 4], c=[4, 3, 2, 1])
    mean = mean_agreement(table)
    assert mean["pairs"].tolist() == [3]
    assert mean["tau"].tolist() == pytest.approx([-1 / 3])
    assert mean["range"].tolist() == ["-1.00 to 1.00"]
    assert mean_agreement(table[:1])["range"].tolist() == [""]  # one pair has no range


def test_what_two_runs_or_lines_differ_in_is_read_from_their_records(make_run: MakeRun, tmp_path) -> None:
    rows = [score_row(0, 0.5)]
    make_run(rows, seed=0)
    make_run(rows, seed=1)
    make_run(rows, model="70m")
    make_run(rows, model="70m", tokenizer="word")
    runs = find_runs([f"{tmp_path}/runs/*"])
    names = {(run.model, run.facts.tokenizer, run.facts.seeds.init): run for run in runs}
    small, same, large = names["14m", "char", 0], names["14m", "char", 1], names["70m", "char", 0]
    words = names["70m", "word", 0]
    by_run = differences(runs, by_line=False)
    assert by_run(small.label, same.label) == "seed"
    assert by_run(small.label, large.label) == "size"
    assert by_run(small.label, words.label) == "size and tokenizer"
    assert differences(runs, by_line=True)(large.line, words.line) == "tokenizer"
