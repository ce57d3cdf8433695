from itertools import product
from pathlib import Path

import pytest

from tests.analysis.report.page import Page
from tests.analysis.studies import study_of
from tests.analysis.synthetic import MakeRun, score_row
from ucurve.analysis.api import open_study
from ucurve.analysis.lines.ends import compare_levels, describe_ends, line_ends, line_sections, lines_view
from ucurve.analysis.lines.over_seeds import contrast, moderate
from ucurve.analysis.report.html import report_html
from ucurve.analysis.sections import make_report
from ucurve.errors import UserError


@pytest.fixture
def grid(make_run: MakeRun, tmp_path: Path):
    """Two architectures, two tokenizers, two seeds; the masked one is scored in a way of its own."""
    ends = {
        ("14m", "char"): (0.70, 0.74), ("14m", "word"): (0.80, 0.84),
        ("bert-14m", "char"): (0.60, 0.62), ("bert-14m", "word"): (0.90, 0.92),
    }  # fmt: skip
    for (model, tokenizer), accuracies in ends.items():
        for seed, accuracy in enumerate(accuracies):
            scorer = "pll_l2r" if model.startswith("bert") else "sentence"
            rows = [score_row(step, value, scorer=scorer) for step, value in ((0, 0.5), (8, accuracy))]
            make_run(rows, model=model, tokenizer=tokenizer, seed=seed)
    return study_of(tmp_path)


def test_lines_come_with_their_factors_the_highest_first(grid) -> None:
    table = line_ends(grid).table
    assert table["line"].tolist() == ["bert, word", "gpt_neox, word", "gpt_neox, char", "bert, char"]
    assert table[["architecture", "tokenizer"]].iloc[0].tolist() == ["bert", "word"]
    assert table["accuracy"].tolist() == pytest.approx([0.91, 0.82, 0.72, 0.61])
    known = contrast([moderate([[0.80, 0.84], [0.70, 0.74], [0.60, 0.62], [0.90, 0.92]])[0]], [1.0])
    assert table[["low", "high"]].iloc[1].tolist() == pytest.approx([known.low, known.high])
    assert known.high - known.low < 0.13  # of these two seeds alone it is .51
    assert table["runs"].tolist() == [2] * 4


def test_one_seed_has_the_interval_over_its_pairs(make_run: MakeRun, tmp_path: Path) -> None:
    for tokenizer, accuracy in (("char", 0.6), ("word", 0.9)):
        run = make_run(
            [score_row(8, accuracy)], tokenizer=tokenizer, held_out={4: 2.5, 8: 2.0}, bits={4: 2, 8: 2}
        )
        (run / "metrics.jsonl").write_text('{"step": 1, "tokens": 3600, "tokens_per_second": 2}\n')
    study = study_of(tmp_path)
    ends = line_ends(study)
    table = ends.table
    assert table[["low", "high"]].to_numpy().tolist() == [pytest.approx([0.8, 1.0]), pytest.approx([0.5, 0.7])]
    assert table["bits_per_byte"].tolist() == [2.0, 2.0]
    assert table["hours"].tolist() == [0.5, 0.5]
    assert table["flops"].tolist() == pytest.approx([1e6 * 8 * 16_384] * 2)
    assert list(describe_ends(study, ends)) == [
        "On zho, word ends highest, at 90.0 % (95 %: 80.0 to 100.0).",
        "Tokenizer: word ends 30.0 points above char, in two lines that differ in it alone.",
    ]


def test_a_run_that_is_still_training_does_not_pull_its_line_down(make_run: MakeRun, tmp_path: Path) -> None:
    for tokenizer, seed, last in (("char", 0, 8), ("char", 1, 8), ("word", 0, 8), ("word", 1, 2)):
        end = {"char": 0.7, "word": 0.8}[tokenizer]
        rows = [score_row(step, end if step == 8 else 0.5) for step in (0, 2, 8) if step <= last]
        make_run(rows, tokenizer=tokenizer, seed=seed)
    study = study_of(tmp_path)
    table = line_ends(study).table
    assert table[["line", "accuracy", "runs"]].to_numpy().tolist() == [["word", 0.8, 1], ["char", 0.7, 2]]
    assert table["flops"].nunique() == 1


def test_bits_per_byte_are_of_the_checkpoint_whose_accuracy_stands_beside_them(
    make_run: MakeRun, tmp_path: Path
) -> None:
    for tokenizer in ("char", "word"):
        make_run([score_row(4, 0.7)], tokenizer=tokenizer, held_out={4: 2.5, 8: 2.0})
    assert line_ends(study_of(tmp_path)).table["bits_per_byte"].tolist() == [2.5, 2.5]


def test_a_factor_is_compared_among_lines_that_are_equal_in_all_others(grid) -> None:
    found = compare_levels(grid, line_ends(grid), "tokenizer").set_index("among")
    assert found["difference"].to_dict() == pytest.approx({"gpt_neox": -0.1, "bert": -0.3, "mean of 2": -0.2})
    assert found[["level", "other"]].drop_duplicates().to_numpy().tolist() == [["char", "word"]]
    assert (found["p"] < 0.05).all()
    assert (
        found.loc["mean of 2", "high"] - found.loc["mean of 2", "low"] < found["high"].max() - found["low"].min()
    )
    highest, *_, sentence = describe_ends(grid, line_ends(grid))
    assert highest.endswith("Lower, in other seeds too: gpt_neox, word; gpt_neox, char; bert, char.")
    assert sentence.startswith(
        "Tokenizer: word ends 20.0 points above char on average of 2 pairs of lines that differ in it alone (+10.0 to "
        "+30.0 in them), which is shown: 95 % over seeds 1"
    )


def test_a_line_that_is_scored_in_two_ways_has_two_names_and_is_compared_as_a_causal_one(
    make_run: MakeRun, tmp_path: Path
) -> None:
    for tokenizer, accuracy in (("char", 0.6), ("word", 0.7)):
        rows = [
            score_row(8, accuracy + more, scorer=scorer) for scorer, more in (("pll", 0.2), ("sentence", 0.0))
        ]
        make_run(rows, tokenizer=tokenizer)
    study = study_of(tmp_path)
    ends = line_ends(study)
    assert ends.table["line"].tolist() == [
        "word, by pll",
        "char, by pll",
        "word, by sentence",
        "char, by sentence",
    ]
    assert compare_levels(study, ends, "tokenizer")["difference"].tolist() == pytest.approx([-0.1])
    shown = [column.name for column in lines_view(ends.table, study.design).columns]
    assert shown[:2] == ["line", "accuracy"]  # more columns than a page holds leave out the last ones
    of_masked = "Masked models are scored by pll, a pseudo-log-likelihood, the others by sentence"
    assert of_masked not in str([*line_sections(study)])
    make_run([score_row(8, 0.9, scorer="pll")], model="bert-14m")
    assert of_masked in str([*line_sections(study_of(tmp_path))])


def test_a_key_of_a_group_is_a_factor_by_itself(make_run: MakeRun, tmp_path: Path) -> None:
    for attention, accuracy in (("stream", 0.6), ("document", 0.7)):
        make_run([score_row(8, accuracy)], suffix=f"-data.attention={attention}")
    found = compare_levels(study_of(tmp_path), line_ends(study_of(tmp_path)), "data.attention")
    assert found[["level", "other"]].iloc[0].tolist() == ["document", "stream"]
    assert found["difference"].tolist() == pytest.approx([0.1])


def test_lines_that_are_not_told_apart_from_the_best_are_named(make_run: MakeRun, tmp_path: Path) -> None:
    ends = {"char": (0.9, 0.8, 0.88), "word": (0.85, 0.9, 0.8), "bpe": (0.6, 0.55, 0.5), "sp": (0.5, 0.52, 0.51)}
    for tokenizer, accuracies in ends.items():
        for seed, accuracy in enumerate(accuracies):
            make_run([score_row(8, accuracy)], tokenizer=tokenizer, seed=seed)
    study = study_of(tmp_path)
    found = line_ends(study)
    assert found.table["against_best"].tolist() == ["best", "not told apart", "lower", "lower"]
    said = list(describe_ends(study, found))
    assert "Lower, in other seeds too: bpe; sp. Not told apart from it: word." in said[0]
    chance = compare_levels(study, found, "tokenizer").set_index(["level", "other"]).loc[("char", "word")]
    assert chance["p"] > 0.2
    assert chance["low"] < 0 < chance["high"]


def test_equal_lines_have_no_winner(make_run: MakeRun, tmp_path: Path) -> None:
    for tokenizer in ("char", "word"):
        make_run([score_row(8, 0.8)], tokenizer=tokenizer)
    study = study_of(tmp_path)
    assert next(describe_ends(study, line_ends(study))).startswith("On zho, char; word end highest, at 80.0 %")


def test_the_first_screen_of_a_grid_has_the_table_and_the_design(grid) -> None:
    first, sections = make_report(grid)
    assert sections[0].heading == "The lines at the end"
    assert sections[0].question is None
    assert sections[0].tables.keys() == {"lines"}
    [(heading, (design,)), *_] = first.facts
    assert (heading, design) == (
        "What was trained",
        "8 runs in 4 lines, 2 seeds each, on 10M tokens of demo: they differ in architecture (bert, gpt_neox) and "
        "tokenizer (char, word), every level of one with every level of the others.",
    )


def test_the_table_of_three_factors_has_all_that_is_told_of_a_line(make_run: MakeRun, tmp_path: Path) -> None:
    for place, (model, tokenizer, tokens) in enumerate(
        product(("14m", "llama-14m"), ("char", "word"), ("10M", "20M"))
    ):
        step = 8 + place
        rows = [score_row(step, 0.6 + place / 100, benchmark=name) for name in ("zho",)]
        bits = {step: 3 - place / 10}
        run = make_run(rows, model=model, tokenizer=tokenizer, tokens=tokens, held_out=bits, bits=bits)
        (run / "metrics.jsonl").write_text(f'{{"step": 1, "tokens": {place + 1}, "tokens_per_second": 2}}\n')
    page = Page(report_html("t", list(line_sections(study_of(tmp_path))), {}))
    assert page.tables[0][0] == [
        "Architecture", "Tokenizer", "Budget", "At the end, % (95 % interval)", "Against the best", "Bits per byte",
        "FLOPs", "Hours",
    ]  # fmt: skip


def test_one_line_has_no_such_table(make_run: MakeRun, tmp_path: Path) -> None:
    make_run([score_row(8, 0.8)])
    assert list(line_sections(study_of(tmp_path))) == []


def test_a_notebook_compares_levels(grid, tmp_path: Path) -> None:
    study = open_study(f"{tmp_path}/runs/*")
    assert study.lines().equals(line_ends(grid).table)
    assert study.compare("tokenizer")["difference"].tolist() == pytest.approx([-0.3, -0.1, -0.2])
    with pytest.raises(UserError, match=r"factor 'tokeniser'.*tokenizer"):
        study.compare("tokeniser")
