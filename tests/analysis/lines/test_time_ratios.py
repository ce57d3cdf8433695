from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.analysis.studies import scored_of
from tests.analysis.synthetic import MakeRun, score_row
from ucurve.analysis.lines.time_ratios import time_ratio_sections, time_ratios

TOKENS = np.array([0, *10.0 ** np.arange(3, 7.01, 0.1)])


def curve(middle, *, start=0.5, end=0.9):
    """A logistic rise, or fall, with its middle at a number of tokens."""
    places = np.log10(np.maximum(TOKENS, 1e-3))
    return start + (end - start) / (1 + np.exp(-(places - np.log10(middle)) / 0.15))


def table_of(lines, phenomenon="all"):
    return pd.DataFrame([
        (line, f"{line}{seed}", phenomenon, tokens, accuracy)
        for line, runs in lines.items() for seed, run in enumerate(runs)
        for tokens, accuracy in zip(TOKENS, run, strict=True)
    ], columns=["line", "run", "phenomenon", "tokens", "accuracy"])  # fmt: skip


def test_a_line_that_learns_at_twice_the_tokens_has_the_ratio_two():
    times = {"a": (1.8e5, 2e5, 2.2e5), "b": (0.9e5, 1e5, 1.1e5)}
    [row] = time_ratios(table_of({name: map(curve, own) for name, own in times.items()})).to_dict("records")
    assert (row["line"], row["other"]) == ("a", "b")
    assert row["ratio"] == pytest.approx(2, rel=0.02)
    assert row["level"] == pytest.approx(0.7, abs=0.005)
    assert row["tokens"] == pytest.approx(2e5, rel=0.05)
    assert 1.5 < row["low"] < 2 < row["high"] < 2.7
    assert row["p"] == row["p_holm"] < 0.01


def test_the_level_is_on_what_both_lines_pass():
    lines = {"high": [curve(1e5, start=0.6, end=0.8)] * 2, "low": [curve(1e5, start=0.4, end=0.7)] * 2}
    assert time_ratios(table_of(lines))["level"].tolist() == pytest.approx([0.65], abs=0.002)
    falling = {"a": [curve(1e5, start=0.6, end=0.1)] * 2, "b": [curve(3e5, start=0.5, end=0.2)] * 2}
    row = time_ratios(table_of(falling)).iloc[0]
    assert row["level"] == pytest.approx(0.35, abs=0.003)
    assert row["ratio"] < 1


@pytest.mark.parametrize(
    "other", [{"start": 0.9, "end": 0.5}, {"start": 0.5, "end": 0.54}, {"start": 0.95, "end": 0.99}]
)
def test_lines_without_a_common_stretch_have_no_row(other):
    assert time_ratios(table_of({"a": [curve(1e5)] * 2, "b": [curve(1e5, **other)] * 2})).empty


def test_a_run_that_does_not_get_there_leaves_the_pair_without_ratio():
    lines = {"a": [curve(1e5), curve(1e5)], "b": [curve(1e5, end=0.95), curve(1e5, end=0.6)]}
    row = time_ratios(table_of(lines)).iloc[0]
    assert row[["runs", "passed", "runs_other", "passed_other"]].tolist() == [2, 2, 2, 1]
    assert np.isnan(row["ratio"])
    at_once = {"a": [curve(1e5)] * 2, "b": [curve(1e1)] * 2}  # above the level at the first checkpoint
    assert time_ratios(table_of(at_once)).iloc[0]["passed_other"] == 0


def test_a_line_of_one_run_has_a_ratio_without_interval():
    row = time_ratios(table_of({"a": [curve(1e5)], "b": [curve(1e6), curve(9e5)]})).iloc[0]
    assert row["ratio"] == pytest.approx(0.105, rel=0.1)
    assert row[["low", "high", "p", "p_holm"]].isna().all()


def test_the_report_names_the_slower_line_first(make_run: MakeRun, tmp_path: Path) -> None:
    steps = (0, 1, 2, 4, 8, 16, 32, 64, 128)
    for model, middle in (("14m", 3e5), ("llama-14m", 6e5)):
        for seed, shift in enumerate((0.95, 1.05)):
            rows = [
                score_row(step, 0.5 + 0.4 / (1 + (max(step, 1e-9) * 16_384 / (middle * shift)) ** -3), phenomenon=name)
                for step in steps for name in ("all", "passive")
            ]  # fmt: skip
            make_run(rows, model=model, seed=seed)
    [section] = time_ratio_sections(scored_of(tmp_path))
    [view] = section.content
    assert view.table[["line", "other"]].to_numpy().tolist() == [["llama", "gpt_neox"]]
    assert view.table["ratio"].tolist() == pytest.approx([2], rel=0.05)
    [(name, table)] = view.files.items()
    assert name.startswith("time_ratios_")
    assert set(table["phenomenon"]) == {"all", "passive"}
    assert table[["line", "other"]].drop_duplicates().to_numpy().tolist() == [["llama", "gpt_neox"]]


def test_one_line_has_no_section(make_run: MakeRun, tmp_path: Path) -> None:
    make_run([score_row(step, 0.5 + step / 40) for step in (0, 1, 8)])
    assert list(time_ratio_sections(scored_of(tmp_path))) == []
