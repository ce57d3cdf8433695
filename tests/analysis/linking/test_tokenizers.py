import math
from pathlib import Path

import pandas as pd
import pytest

from tests.analysis.studies import scored_of
from tests.analysis.synthetic import MakeRun, Row, score_row
from ucurve.analysis.linking.section import linking_by_run, with_overall
from ucurve.analysis.linking.tokenizers import average_by_tokenizer, over_tokenizers, tokenizer_sections


def _splits(equal: float, longer: float, shorter: float, step: int = 8, **changes) -> list[Row]:
    parts = {"equal": (equal, 60), "good_longer": (longer, 25), "bad_longer": (shorter, 15)}
    rows = [score_row(step, value, split=split, n=n, **changes) for split, (value, n) in parts.items()]
    overall = sum(value * n for value, n in parts.values()) / 100
    return [*rows, score_row(step, round(overall, 9), **changes)]


def _table(tmp_path: Path) -> pd.DataFrame:
    scored = scored_of(tmp_path)
    return over_tokenizers(average_by_tokenizer(linking_by_run(scored.rows), scored.study.runs))


def test_the_last_columns_are_means_over_tokenizers_of_means_over_seeds(
    make_run: MakeRun, tmp_path: Path
) -> None:
    make_run(_splits(0.8, 0.6, 0.9), tokenizer="char", seed=0)
    make_run(_splits(0.8, 0.7, 0.8), tokenizer="char", seed=1)
    make_run(_splits(0.7, 0.7, 0.7), tokenizer="word")
    (row,) = _table(tmp_path).to_dict("records")
    char = ((0.48 + 0.15 + 0.135) + (0.48 + 0.175 + 0.12)) / 2
    assert row["accuracy"] == pytest.approx((char + 0.7) / 2)
    assert row["delta_acc"] == pytest.approx(((0.15 + 0.05) / 2 + 0) / 2)
    assert (row["tokenizers"], row["setting"]) == (2, "14m")
    assert (row["char_good_longer"], row["word_equal"]) == pytest.approx((0.65, 0.7))


def test_runs_that_differ_otherwise_are_not_compared(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(_splits(0.8, 0.6, 0.9), tokenizer="char")
    make_run(_splits(0.8, 0.6, 0.9), tokenizer="word", tokens="20M")
    make_run(_splits(0.8, 0.6, 0.9), tokenizer="bpe", suffix="-slow", cell="slow")
    make_run(_splits(0.8, 0.6, 0.9, step=4), tokenizer="cllama")  # another step
    assert _table(tmp_path).empty
    assert list(tokenizer_sections(scored_of(tmp_path))) == []


def test_the_report_has_a_row_of_pairs_for_each_tokenizer(make_run: MakeRun, tmp_path: Path) -> None:
    for tokenizer in ("char", "word"):
        make_run(_splits(0.8, 0.6, 0.9) + _splits(0.8, 0.7, 0.8, linking="slln_lp:0.3"), tokenizer=tokenizer)
    (part,) = tokenizer_sections(scored_of(tmp_path))
    assert part.tables["linking_tokenizers_zho"]["linking"].tolist() == ["slln_lp:0.3", "slln_lp"]
    counts = part.tables["length_pairs_zho"].set_index("tokenizer")
    assert counts.loc["word", ["equal", "good_longer", "bad_longer", "all"]].tolist() == [60, 25, 15, 100]
    for view in part.content:
        assert {column.name for column in view.columns} <= set(view.table.columns)


def test_a_split_without_pairs_counts_for_nothing() -> None:
    row = {"equal": 0.8, "good_longer": 0.5, "bad_longer": math.nan, "n_equal": 30, "n_good_longer": 10}
    (found,) = with_overall(pd.DataFrame([row | {"n_bad_longer": math.nan}])).to_dict("records")
    assert found["accuracy"] == pytest.approx(0.725)
    assert math.isnan(found["delta_acc"])


def test_parameters_of_ones_own_are_compared_only_where_each_tokenizer_has_one(
    make_run: MakeRun, tmp_path
) -> None:
    functions = {"char": ["morcela:0.1:12"], "word": ["morcela:0.7:12"]}
    for tokenizer, names in functions.items():
        make_run([row for name in names for row in _splits(0.8, 0.6, 0.9, linking=name)], tokenizer=tokenizer)
    make_run(_splits(0.8, 0.6, 0.9, linking="morcela:0.1:12"), tokenizer="char", model="70m")
    both = [row for name in ("morcela:0.1:12", "morcela:0.7:12") for row in _splits(0.8, 0.6, 0.9, linking=name)]
    make_run(both, tokenizer="word", model="70m")
    scored = scored_of(tmp_path, linking="morcela:0.1:12")
    table = over_tokenizers(average_by_tokenizer(linking_by_run(scored.rows), scored.study.runs))
    assert table[["setting", "linking"]].values.tolist() == [
        ["14m", "morcela:own"],
        ["70m", "morcela:0.1:12"],
    ]
