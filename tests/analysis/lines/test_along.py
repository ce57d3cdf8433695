from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.studies import scored_of
from tests.analysis.synthetic import MakeRun, score_row
from ucurve.analysis.lines.along import along_sections, describe_along, differences_along
from ucurve.analysis.lines.ends import describe_ends, line_ends

STEPS = (0, *(2**power for power in range(12)))
TOKENS = 16_384


@pytest.fixture
def make_line(make_run: MakeRun):
    """Write three runs of a line whose accuracies rise around a step, with some noise."""

    def make(middle: float, *, model: str = "14m", tokenizer: str = "char", seeds: int = 3, above: float = 0.0):
        for seed in range(seeds):
            draw = np.random.default_rng([len(model), len(tokenizer), ord(tokenizer[0]), seed])
            rows = [
                score_row(step, value, phenomenon=name)
                for step in STEPS for name in ("all", "passive")
                for value in [0.5 + above + 0.3 / (1 + (max(step, 1e-9) / middle) ** -3) + draw.normal(0, 0.01)]
            ]  # fmt: skip
            make_run(rows, model=model, tokenizer=tokenizer, seed=seed)

    return make


def test_a_line_that_learns_later_is_lower_where_it_does(make_line, tmp_path: Path) -> None:
    make_line(16, model="14m")
    make_line(128, model="llama-14m")
    scored = scored_of(tmp_path)
    curves, table = differences_along(scored.curve_rows(), scored.study.runs)
    [row] = table[table["phenomenon"] == "all"].to_dict("records")
    sign = 1 if row["level"] == "gpt_neox" else -1
    assert (row["factor"], {row["level"], row["other"]}, row["pairs"]) == (
        "architecture",
        {"gpt_neox", "llama"},
        1,
    )
    assert 32 * TOKENS <= row["largest_at"] <= 128 * TOKENS, "half way between both"
    assert sign * row["largest"] > 0.15
    assert row["largest_low"] < row["largest"] < row["largest_high"]
    assert row["p"] == row["p_holm"] < 0.01
    said = describe_along(table, "architecture", "gpt_neox", "llama")
    assert said.startswith("Along the curves, gpt_neox is higher from ")
    assert " tokens, most clearly by 2" in said
    own = curves[(curves["phenomenon"] == "all")].set_index("tokens")
    assert own.loc[[TOKENS, 2048 * TOKENS], "low"].lt(0).all()
    assert own.loc[[TOKENS, 2048 * TOKENS], "high"].gt(0).all(), "neither before nor after"


def test_lines_that_learn_alike_differ_nowhere(make_line, tmp_path: Path) -> None:
    make_line(64, tokenizer="char")
    make_line(64, tokenizer="word")
    scored = scored_of(tmp_path)
    _, table = differences_along(scored.curve_rows(), scored.study.runs)
    assert table[["higher", "lower"]].eq("").all(axis=None)
    assert (table["p"] > 0.05).all()
    assert describe_along(table, "tokenizer", "word", "char") == "Nowhere along the curves is a difference shown."


def test_a_factor_is_compared_on_average_of_the_pairs_of_lines(make_line, tmp_path: Path) -> None:
    for model, middle in (("14m", 16), ("llama-14m", 128)):
        for tokenizer, above in (("char", 0.0), ("word", 0.06)):
            make_line(middle, model=model, tokenizer=tokenizer, above=above)
    scored = scored_of(tmp_path)
    curves, table = differences_along(scored.curve_rows(), scored.study.runs)
    [row] = table[(table["factor"] == "tokenizer") & (table["phenomenon"] == "all")].to_dict("records")
    assert (row["level"], row["other"], row["pairs"]) == ("char", "word", 2)
    own = curves[(curves["factor"] == "tokenizer") & (curves["phenomenon"] == "all")]
    assert own["difference"].to_numpy() == pytest.approx(-0.06, abs=0.025)
    assert row["lower"].startswith("from ")
    assert row["higher"] == ""
    sentence = list(describe_ends(scored.study, line_ends(scored.study)))[-1]
    assert "on these sentence pairs. Along the curves, word is higher from " in sentence


def test_curves_without_any_spread_have_a_largest_difference(make_run: MakeRun, tmp_path: Path) -> None:
    for tokenizer, seed in product(("char", "word"), (0, 1)):
        make_run([score_row(step, 1.0) for step in (1, 2, 4, 8)], tokenizer=tokenizer, seed=seed)
    scored = scored_of(tmp_path)
    table = differences_along(scored.curve_rows(), scored.study.runs)[1]
    assert table["largest"].tolist() == pytest.approx([0.0], abs=1e-9)


def test_levels_of_one_run_are_not_compared(make_line, tmp_path: Path) -> None:
    make_line(16, tokenizer="char", seeds=1)
    make_line(128, tokenizer="word", seeds=1)
    assert list(along_sections(scored_of(tmp_path))) == []


def test_the_report_has_the_curves_and_the_table(make_line, tmp_path: Path) -> None:
    make_line(16, tokenizer="char")
    make_line(128, tokenizer="word")
    [section] = along_sections(scored_of(tmp_path))
    [view] = section.content
    assert view.table["of"].unique().tolist() == ["Tokenizer: char - word"]
    assert sorted(name.rsplit("_", 1)[0] for name in section.tables) == ["difference_curves", "differences_along"]
