from pathlib import Path

from tests.analysis.report.page import Page
from tests.analysis.studies import paradigm_rows, study_of, write_pairs
from tests.analysis.synthetic import MakeRun, score_row, write_scores
from ucurve.analysis.report.html import report_html
from ucurve.analysis.sections import make_report

PARADIGMS = {("anaphor", "a1"): 0.6, ("anaphor", "a2"): 0.8, ("BA", "b1"): 0.9}
EXCLUDED = {("BA", "x1"): 0.6}
VALUES = [(-1.0, -2.0, 2, 2), (-8.0, -4.0, 4, 1), (-4.0, -8.0, 1, 4)]


def _suite(make_run: MakeRun) -> None:
    for model, tokenizer in (("14m", "char"), ("70m", "char"), ("14m", "word")):
        rows = []
        for benchmark, paradigms in (("zhoblimp", PARADIGMS), ("zhoblimp-excluded", EXCLUDED)):
            for step in (0, 2, 8):
                for split in ("all", "equal", "good_longer", "bad_longer"):
                    rows += paradigm_rows(step, paradigms, benchmark=benchmark, split=split)
        folder = make_run(rows, model=model, tokenizer=tokenizer)
        write_pairs(folder, "zhoblimp", 8, VALUES)
        write_pairs(
            folder, "ratings-01234567", 8, [(lp, lp, n, n) for lp, _, n, _ in VALUES], sentences=("a", "b", "c")
        )


def test_every_table_and_figure_is_made_and_in_the_report(make_run: MakeRun, tmp_path: Path) -> None:
    _suite(make_run)
    human, ratings = tmp_path / "human.csv", tmp_path / "ratings.csv"
    human.write_text("UID,correct,total\na1,19,20\na2,20,20\nb1,9,10\nx1,5,10\n")
    ratings.write_text("sentence,r1\na,1\nb,2\nc,4\n")
    study = study_of(tmp_path, human=human, ratings=ratings)
    parts = list(make_report(study)[1])
    tables = {name: table for part in parts for name, table in part.tables.items()}
    assert set(tables) >= {
        "tokenizers", "linking_tokenizers_zhoblimp", "length_pairs_zhoblimp", "phenomena_zhoblimp",
        "phenomena_zhoblimp_models", "rating_correlations", "excluded_zhoblimp", "best_alpha", "best_alpha_of_means",
        "human_agreement",
    }  # fmt: skip
    assert all(len(table) for table in tables.values())
    drawings = [drawing for part in parts for drawing in part.drawings]
    assert {drawing.name for drawing in drawings} >= {
        "length_bias_accuracy_unequal", "length_bias_delta_acc", "mean_curves_zhoblimp_overall",
    }  # fmt: skip
    images = {drawing.name: b"" for drawing in drawings}
    page = Page(report_html("t", parts, images))
    for heading in (
        "Phenomena of zhoblimp", "Mean learning curves on zhoblimp", "Linking functions over tokenizers on zhoblimp",
        "Length bias by alpha", "Excluded paradigms of zhoblimp", "Agreement of people",
        "Correlation with human ratings", "Tokenizers",
    ):  # fmt: skip
        assert heading in page.text
    assert "nan" not in page.text


def test_runs_that_hold_nothing_of_it_have_the_sections_of_all_reports(tmp_path: Path) -> None:
    write_scores(tmp_path / "runs" / "qwen", [score_row(-1, 0.5)])
    assert [part.heading for part in make_report(study_of(tmp_path))[1]] == [
        "Curves on zho", "Linking functions and length on zho", "Overall accuracy",
        "The runs, and what is missing",
    ]  # fmt: skip
