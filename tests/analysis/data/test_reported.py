"""What the card of a benchmark, or a preset, says is what the report shows first."""

import pytest

from tests.analysis.studies import scored_of, study_of
from tests.analysis.synthetic import MakeRun, Row, score_row
from ucurve.analysis.models.benchmarks import benchmark_sections
from ucurve.analysis.summary import headline, headline_lines, headline_sections, missing
from ucurve.errors import UserError
from ucurve.eval.store.reported import Reported, keep_reported

VALUES = {
    ("lp", "wrong", "macro"): 0.71, ("lp", "wrong", "all"): 0.72, ("lp", "half", "macro"): 0.73,
    ("lp", "half", "all"): 0.74, ("slln_lp", "half", "all"): 0.75, ("slln_lp", "wrong", "all"): 0.76,
    ("slln_lp", "wrong", "macro"): 0.77, ("slln_lp", "half", "macro"): 0.78,
}  # fmt: skip


def rows(benchmark: str, steps=(0, 1, 2, 4), **changes) -> list[Row]:
    """Overall rows of which each has a value of its own, and one phenomenon."""
    found = []
    for step in steps:
        for (linking, rule, paradigm), value in VALUES.items():
            given = {"benchmark": benchmark, "linking": linking, "ties_rule": rule, **changes}
            found.append(score_row(step, value, paradigm=paradigm, **given))
            if paradigm == "all":
                found.append(score_row(step, value + 0.1, phenomenon="agreement", **given))
    return found


def overall_of(scored) -> set[float]:
    table = scored.curve_rows()
    return set(table[table["phenomenon"] == "all"]["accuracy"])


def test_a_published_card_decides(make_run: MakeRun, tmp_path) -> None:
    make_run(rows("turblimp"))
    scored = scored_of(tmp_path, "turblimp")
    assert (scored.linking, scored.ties_rule, scored.overall) == ("lp", "wrong", "macro")
    assert overall_of(scored) == {0.71}
    phenomena = scored.curve_rows()["phenomenon"] == "agreement"
    assert set(scored.curve_rows()[phenomena]["accuracy"]) == {0.82}
    assert scored.curve_title == "turblimp, lp, ties counted wrong, overall: mean over paradigms"


def test_what_is_asked_comes_before_the_card(make_run: MakeRun, tmp_path) -> None:
    make_run(rows("turblimp"))
    scored = scored_of(tmp_path, "turblimp", linking="slln_lp")
    assert scored.linking == "slln_lp"
    assert overall_of(scored) == {0.77}
    with pytest.raises(UserError, match=r"unknown linking function 'slr' in linking; allowed: lp, slln_lp"):
        study_of(tmp_path, linking="slr")


def test_a_benchmark_without_a_card_is_shown_as_usual(make_run: MakeRun, tmp_path) -> None:
    make_run(rows("own"))
    scored = scored_of(tmp_path, "own")
    assert (scored.linking, scored.ties_rule, scored.overall) == ("slln_lp", "half", "all")
    assert overall_of(scored) == {0.75}
    assert scored.curve_title == scored.title == "own, slln_lp, ties counted half"


def test_what_was_kept_at_scoring_decides_before_a_card(make_run: MakeRun, tmp_path) -> None:
    kept = {"own": Reported(linking="lp"), "turblimp": Reported(linking="slln_lp", aggregate="all")}
    for benchmark, reported in kept.items():
        folder = make_run(rows(benchmark), suffix=benchmark)
        (folder / "eval" / benchmark).mkdir()
        keep_reported(folder, benchmark, reported)
    own, turkish = scored_of(tmp_path, "own"), scored_of(tmp_path, "turblimp")
    assert (own.linking, own.ties_rule, own.overall) == ("lp", "half", "all")
    assert (turkish.linking, turkish.ties_rule, turkish.overall) == ("slln_lp", "half", "all")


def test_scores_that_lack_what_the_card_names_are_shown_as_they_are(make_run: MakeRun, tmp_path) -> None:
    """An older run was scored under one rule, without the means and without the card's linking function."""
    only = [row for row in rows("turblimp") if (row["ties_rule"], row["paradigm"]) == ("half", "all")]
    make_run([row for row in only if row["linking"] != "lp"])
    scored = scored_of(tmp_path, "turblimp")
    assert (scored.linking, scored.ties_rule, scored.overall) == ("slln_lp", "half", "all")


def test_scores_without_the_usual_functions_are_shown_by_what_there_is(make_run: MakeRun, tmp_path) -> None:
    make_run([score_row(step, 0.6, linking="grammaticality", scorer="prompt") for step in (0, 1)])
    assert scored_of(tmp_path).linking == "grammaticality"


def test_benchmarks_of_one_report_are_each_shown_as_their_card_says(make_run: MakeRun, tmp_path) -> None:
    make_run(rows("turblimp") + rows("own"))
    study = study_of(tmp_path)
    table = headline(study).set_index("benchmark")
    assert table[["linking", "overall", "ties_rule", "accuracy"]].to_dict("index") == {
        "turblimp": {"linking": "lp", "overall": "macro", "ties_rule": "wrong", "accuracy": 0.71},
        "own": {"linking": "slln_lp", "overall": "all", "ties_rule": "half", "accuracy": 0.75},
    }
    [models] = benchmark_sections(study)
    assert "own: slln_lp; turblimp: lp; over pairs on own, paradigms on turblimp" in models.content[0].note
    said = [line.split()[1:4] + line.split()[7:9] for line in headline_lines(table.reset_index())[1:]]
    assert said == [
        ["own", "75.0", "75.0", "slln_lp,", "pairs"], ["turblimp", "71.0", "71.0", "lp,", "paradigms"],
    ]  # fmt: skip
    [section] = headline_sections(study)
    shown = section.content[1].table
    assert shown[["linking", "over"]].values.tolist() == [["slln_lp", "pairs"], ["lp", "paradigms"]]
    assert missing(study)["detail"].tolist() == ["no metrics.jsonl"]


def test_a_model_without_a_first_step_has_one_number(make_run: MakeRun, tmp_path) -> None:
    make_run([score_row(4, 0.51)])
    study = study_of(tmp_path)
    [_, line] = headline_lines(headline(study))
    assert line.split()[1:3] == ["zho", "51.0"]
