import shutil

import numpy as np
import pandas as pd
import pytest

from measurements.shapes.simulated_ngrams import FOLLOWERS, OTHERS
from tests.analysis.item_runs import BENCHMARK
from tests.analysis.ngrams.ngram_runs import STEPS, make_learners
from tests.analysis.studies import scored_of, study_of
from ucurve.analysis.ngrams.section import ngram_sections
from ucurve.analysis.report.html import ReportSection
from ucurve.analysis.sections import make_report
from ucurve.errors import UserError
from ucurve.eval.store.scores import score_path

BIGRAM, OTHER = FOLLOWERS[0], OTHERS[0]


def section_of(root, **settings) -> ReportSection:
    (section,) = ngram_sections(scored_of(root, **settings))
    return section


def test_the_report_names_the_order_that_a_learner_follows(make_run, tmp_path) -> None:
    make_learners(make_run, {"binding": BIGRAM, "agreement": OTHER}, items=600, orders=(1, 2, 3))
    section = section_of(tmp_path)
    sentences = [text for text in section.content if isinstance(text, str)]
    (binding,) = [text for text in sentences if text.startswith("The dip of binding between ")]
    (agreement,) = [text for text in sentences if text.startswith("The dip of agreement between ")]
    assert "2-gram errors account for " in binding
    assert "95 % interval" in binding
    assert "no n-gram model accounts for it" in agreement
    dips = section.tables[f"ngram_dips_{BENCHMARK}"]
    rows = dips[dips["phenomenon"] == "binding"].set_index("order")
    assert rows.index[rows["named"]].tolist() == [2]
    assert rows.loc[2, "kappa_bottom"] > rows.loc[2, "kappa_start"] + 0.2
    assert (rows["share_low"] < rows["share"]).all()
    assert (rows["share"] < rows["share_high"]).all()
    assert not dips.loc[dips["phenomenon"] == "agreement", "named"].any()


@pytest.mark.parametrize("linking", ["slln_lp", "ppl"])
def test_agreement_has_a_row_of_each_run_phenomenon_checkpoint_and_order(
    make_run, tmp_path, linking: str
) -> None:
    for folder in make_learners(make_run, {"binding": BIGRAM}, seeds=2, items=60, orders=(1, 3)):
        file = folder / "eval" / "accuracy.csv"
        file.write_text(file.read_text().replace("slln_lp", linking))
    section = section_of(tmp_path, linking=linking)
    table = section.tables[f"ngrams_{BENCHMARK}"]
    assert len(table) == 2 * 2 * len(STEPS) * 2
    assert table["run"].nunique() == 2
    folder = tmp_path / "runs" / str(table["run"].iloc[0])
    row = table[(table["step"] == 64) & (table["order"] == 3) & (table["phenomenon"] == "all")].iloc[0]
    model, ngram = (
        pd.read_parquet(score_path(folder, BENCHMARK, scorer, 64)).eval("lp_good - lp_bad")  # all have 4 tokens
        for scorer in ("sentence", "ngram-3")
    )
    assert row["pearson"] == pytest.approx(np.corrcoef(model, ngram)[0, 1])
    assert row["ngram_accuracy"] == pytest.approx((ngram > 0).mean())
    assert row["accuracy_where_wrong"] == pytest.approx((model > 0)[ngram < 0].mean())


def test_ties_of_an_ngram_model_are_no_errors_whatever_they_count_in_accuracies(make_run, tmp_path) -> None:
    for folder in make_learners(make_run, {"binding": BIGRAM}, orders=(1, 2)):
        file = folder / "eval" / "accuracy.csv"
        file.write_text(file.read_text().replace(",half,", ",wrong,"))
        for step in STEPS:
            path = score_path(folder, BENCHMARK, "ngram-1", step)
            pd.read_parquet(path).assign(lp_good=-9.0).to_parquet(path, index=False)
    tables = section_of(tmp_path).tables
    agreement, dips = (tables[f"{name}_{BENCHMARK}"] for name in ("ngrams", "ngram_dips"))
    tied = agreement[agreement["order"] == 1]
    assert set(tied["ngram_wrong"]) == set(tied["ngram_accuracy"]) == {0}
    assert set(dips.loc[dips["order"] == 1, "wrong"]) == {0.5}


def test_the_figure_has_a_line_of_each_order_and_a_chart(make_run, tmp_path) -> None:
    make_learners(make_run, {"binding": BIGRAM}, seeds=1, items=60, orders=(1, 2))
    overall, phenomena = section_of(tmp_path).drawings
    assert (overall.name, phenomena.name) == (
        f"ngram_curves_{BENCHMARK}_overall",
        f"ngram_curves_{BENCHMARK}_phenomena",
    )
    assert [text.get_text() for text in overall.figure.legends[0].get_texts()] == ["model", "1-gram", "2-gram"]
    assert overall.chart is not None
    assert set(overall.table["curve"]) == {"model", "1-gram", "2-gram"}


def test_two_lines_of_runs_have_figures_of_their_own(make_run, tmp_path) -> None:
    make_learners(make_run, {"binding": BIGRAM}, seeds=1, items=60, orders=(2,))
    make_learners(make_run, {"binding": BIGRAM}, seeds=1, items=60, orders=(2,), tokenizer="bpe")
    names = [drawing.name for drawing in section_of(tmp_path).drawings]
    assert names == [
        f"ngram_curves_{BENCHMARK}_line{line}_{part}" for line in (1, 2) for part in ("overall", "phenomena")
    ]


def test_without_ngrams_there_is_no_section(make_run, tmp_path) -> None:
    make_learners(make_run, {"binding": BIGRAM}, seeds=1, items=60, orders=())
    assert list(ngram_sections(scored_of(tmp_path))) == []


def test_ngram_models_are_no_models_of_their_own(make_run, tmp_path) -> None:
    (folder,) = make_learners(make_run, {"binding": BIGRAM}, seeds=1, items=60, orders=(2,))
    file = folder / "eval" / "accuracy.csv"
    rows = pd.read_csv(file)
    pd.concat([rows, rows.assign(scorer="ngram-2")]).to_csv(file, index=False)
    study = study_of(tmp_path)
    assert [(one.benchmark, one.scorer) for one in study.benchmarks()] == [(BENCHMARK, "sentence")]
    headings = [section.heading for section in make_report(study)[1]]
    assert f"n-gram models beside the model on {BENCHMARK}" in headings
    assert not any("ngram-" in heading for heading in headings)


def test_a_checkpoint_without_ngram_scores_is_left_out(make_run, tmp_path) -> None:
    (folder,) = make_learners(make_run, {"binding": BIGRAM}, seeds=1, items=60, orders=(2,))
    score_path(folder, BENCHMARK, "ngram-2", STEPS[3]).unlink()
    table = section_of(tmp_path).tables[f"ngrams_{BENCHMARK}"]
    assert sorted(set(STEPS) - set(table["step"])) == [STEPS[3]]


def test_ngram_scores_of_other_pairs_are_refused(make_run, tmp_path) -> None:
    (folder,) = make_learners(make_run, {"binding": BIGRAM}, seeds=1, items=60, orders=(2,))
    path = score_path(folder, BENCHMARK, "ngram-2", STEPS[3])
    pd.read_parquet(path).iloc[1:].to_parquet(path)
    with pytest.raises(UserError, match=rf"ngram-2/{path.name}: its 59 pairs are not those of the benchmark"):
        section_of(tmp_path)


def test_a_line_of_which_some_runs_have_no_ngrams_is_named(make_run, tmp_path) -> None:
    _, second = make_learners(make_run, {"binding": BIGRAM}, seeds=2, items=60, orders=(2,))
    shutil.rmtree(score_path(second, BENCHMARK, "ngram-2", 1).parent)
    texts = [text for text in section_of(tmp_path).content if isinstance(text, str)]
    assert any("1 of its 2 runs have n-gram scores, so its dips are not compared" in text for text in texts)
