import numpy as np
import pandas as pd
import pytest

from tests.analysis.item_runs import BENCHMARK, make_item_run, pair_table, score_table
from tests.analysis.synthetic import TOKENS_PER_STEP, MakeRun, score_row
from ucurve.analysis.data.frames import score_frame
from ucurve.analysis.data.pair_scores import read_runs
from ucurve.analysis.data.runs import find_runs
from ucurve.errors import UserError
from ucurve.eval.store.scores import pairs_path, score_path

PAIRS = pair_table({"p1": "x", "p2": "y"}, 2)
CREDITS = {0: np.array([0, 1, 2, 2]), 2: np.array([2, 2, 0, 1]), 4: np.array([2, 2, 2, 2])}


@pytest.fixture
def read(tmp_path):
    def read(linking: str = "slln_lp", rule: str = "half"):
        runs = find_runs([f"{tmp_path}/runs/*"])
        return [items for _, items in read_runs(runs, score_frame(runs), BENCHMARK, linking, rule)]

    return read


def test_credits_are_half_points_by_checkpoint_and_pair(make_run: MakeRun, read) -> None:
    make_item_run(make_run, PAIRS, CREDITS)
    (items,) = read()
    assert items.steps.tolist() == [0, 2, 4]
    assert items.tokens.tolist() == [0, 2 * TOKENS_PER_STEP, 4 * TOKENS_PER_STEP]
    assert items.half_points.tolist() == [list(row) for row in CREDITS.values()]
    assert items.pairs["paradigm"].tolist() == ["p1", "p1", "p2", "p2"]


def test_a_tie_counts_what_the_rule_says(make_run: MakeRun, read) -> None:
    make_item_run(make_run, PAIRS, CREDITS)
    assert [read(rule=rule)[0].half_points[0, 1] for rule in ("half", "wrong", "right")] == [1, 0, 2]


def test_a_checkpoint_without_a_score_file_is_absent(make_run: MakeRun, read) -> None:
    folder = make_item_run(make_run, PAIRS, CREDITS)
    score_path(folder, BENCHMARK, "sentence", 2).unlink()
    (items,) = read()
    assert items.steps.tolist() == [0, 4]
    assert items.half_points.shape == (2, 4)


def test_pairs_of_two_identical_sentences_are_left_out(make_run: MakeRun, read) -> None:
    pairs = PAIRS.assign(bad=["b", "b", PAIRS["good"][2], "b"])
    make_item_run(make_run, pairs, CREDITS)
    (items,) = read()
    assert items.pairs["pair"].tolist() == ["p1-0", "p1-1", "p2-1"]
    assert items.half_points[2].tolist() == [2, 2, 2]
    assert items.half_points[0].tolist() == [0, 1, 2]


def test_scores_in_another_order_are_brought_into_that_of_the_pairs(make_run: MakeRun, read) -> None:
    folder = make_item_run(make_run, PAIRS, CREDITS)
    path = score_path(folder, BENCHMARK, "sentence", 2)
    pd.read_parquet(path).iloc[::-1].to_parquet(path, index=False)
    assert read()[0].half_points[1].tolist() == CREDITS[2].tolist()


def test_runs_without_the_scores_of_each_pair_have_no_items(make_run: MakeRun, read) -> None:
    make_run([score_row(0, 0.5), score_row(2, 0.6)])
    assert read() == [None]


def test_scores_that_lack_what_the_linking_function_reads_are_no_items(make_run: MakeRun, read) -> None:
    make_item_run(make_run, PAIRS, CREDITS)
    assert read(linking="slor") == [None]
    assert read(linking="registered_elsewhere") == [None]


def test_a_torn_file_is_named(make_run: MakeRun, read) -> None:
    folder = make_item_run(make_run, PAIRS, CREDITS)
    path = score_path(folder, BENCHMARK, "sentence", 4)
    path.write_bytes(path.read_bytes()[:100])
    message = r"step00000004\.parquet: broken Parquet: .*delete it and its key to leave a gap"
    with pytest.raises(UserError, match=message):
        read()


def test_a_pair_table_without_its_columns_is_named(make_run: MakeRun, read) -> None:
    folder = make_item_run(make_run, PAIRS, CREDITS)
    PAIRS.drop(columns="paradigm").to_parquet(pairs_path(folder, BENCHMARK))
    with pytest.raises(UserError, match=r"pairs\.parquet: no column paradigm"):
        read()


def test_scores_of_other_pairs_are_refused(make_run: MakeRun, read) -> None:
    folder = make_item_run(make_run, PAIRS, CREDITS)
    other = score_table(pair_table({"p3": "x"}, 3), np.array([0, 1, 2]))
    other.to_parquet(score_path(folder, BENCHMARK, "sentence", 4), index=False)
    with pytest.raises(UserError, match=r"step00000004\.parquet: its 3 pairs are not the 4 of"):
        read()


def test_a_missing_value_at_one_checkpoint_is_named(make_run: MakeRun, read) -> None:
    folder = make_item_run(make_run, PAIRS, CREDITS)
    path = score_path(folder, BENCHMARK, "sentence", 4)
    pd.read_parquet(path).assign(lp_bad=[np.nan, 1, 1, 1]).to_parquet(path, index=False)
    with pytest.raises(UserError, match=r"step00000004\.parquet: slln_lp reads lp_bad, .* a missing value"):
        read()
