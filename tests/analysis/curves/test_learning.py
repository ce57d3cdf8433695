import statistics

import numpy as np
import pytest

from tests.analysis.studies import frame_of
from tests.analysis.synthetic import TOKENS_PER_STEP, MakeRun, score_row, write_scores
from ucurve.analysis.curves.learning import OVER_PAIRS, band_note, curve_table, draw_learning_curves
from ucurve.analysis.plotting.facets import OVER_RUNS


@pytest.fixture
def table_of(tmp_path):
    return lambda: curve_table(*frame_of(tmp_path))


def test_line_is_the_mean_and_band_the_sample_deviation_over_seeds(make_run: MakeRun, table_of) -> None:
    finals = [0.70, 0.76, 0.85]
    for seed, final in enumerate(finals):
        make_run([score_row(0, 0.5), score_row(4, final)], seed=seed)
    table = table_of()
    assert table["step"].tolist() == [0, 4]
    assert table["tokens"].tolist() == [0, 4 * TOKENS_PER_STEP]
    end = table.iloc[1]
    mean, sd = statistics.mean(finals), statistics.stdev(finals)
    assert (end["runs"], end["band"], end["whole"]) == (3, OVER_RUNS, True)
    assert [end["accuracy"], end["low"], end["high"]] == pytest.approx([mean, mean - sd, mean + sd], abs=1e-12)
    assert table.iloc[0]["low"] == table.iloc[0]["high"] == 0.5  # three equal values deviate by nothing


def test_a_line_of_one_run_has_the_interval_over_pairs(make_run: MakeRun, table_of) -> None:
    make_run([score_row(0, 0.5), score_row(4, 0.8)])
    table = table_of()
    assert table["low"].tolist() == [0.4, 0.7]
    assert table["high"].tolist() == [0.6, 0.9]
    assert set(table["band"]) == {OVER_PAIRS}


def test_a_seed_behind_the_others_is_neither_filled_in_nor_hidden(make_run: MakeRun, table_of) -> None:
    make_run([score_row(0, 0.5), score_row(4, 0.8)], seed=0)
    make_run([score_row(0, 0.6)], seed=1, planned=[0, 2, 4], status="running")
    table = table_of().set_index("step")
    assert table.index.tolist() == [0, 2, 4]
    assert table.loc[4, "accuracy"] == 0.8
    assert table["runs"].tolist() == [2, 0, 1]
    assert table["whole"].tolist() == [True, False, False]
    assert np.isnan(table.loc[2, "accuracy"])
    assert np.isnan(table.loc[4, "low"])  # one run has no deviation
    assert "Open markers" in band_note(table.reset_index())


def test_scores_of_models_from_elsewhere_are_on_no_curve(make_run: MakeRun, table_of, tmp_path) -> None:
    make_run([score_row(0, 0.5)])
    write_scores(tmp_path / "runs" / "other", [score_row(-1, 0.9)])
    assert table_of()["accuracy"].tolist() == [0.5]


def test_one_panel_for_each_phenomenon_in_order_whatever_the_case(make_run: MakeRun, table_of) -> None:
    names = ["verb_phrase", "BA", "anaphor"]
    make_run([score_row(step, 0.6, phenomenon=name) for step in (0, 2) for name in ["all", *names]])
    overall, panels = draw_learning_curves(table_of(), "learning_curves_zho", "zho")
    assert [axes.get_title() for axes in panels.figure.axes] == ["anaphor", "BA", "verb phrase"]
    assert set(panels.table["phenomenon"]) == set(names)
    assert set(overall.table["phenomenon"]) == {"all"}
    assert (overall.name, panels.name) == ("learning_curves_zho_overall", "learning_curves_zho_phenomena")


def test_a_benchmark_without_phenomena_has_the_overall_figure_only(make_run: MakeRun, table_of) -> None:
    make_run([score_row(0, 0.5), score_row(0, 0.5, phenomenon="")])
    assert [drawing.name for drawing in draw_learning_curves(table_of(), "n", "t")] == ["n_overall"]


def test_the_figure_says_what_its_band_is(make_run: MakeRun, table_of) -> None:
    for seed in (0, 1):
        make_run([score_row(0, 0.5), score_row(2, 0.6 + seed / 10)], seed=seed)
    (only_groups,) = draw_learning_curves(table_of(), "n", "t")
    make_run([score_row(0, 0.5), score_row(2, 0.7)], tokenizer="word")
    (mixed,) = draw_learning_curves(table_of(), "n", "t")
    texts = [
        " ".join(text.get_text() for text in drawing.figure.texts).split() for drawing in (only_groups, mixed)
    ]
    assert OVER_RUNS in " ".join(texts[0])
    assert OVER_PAIRS not in " ".join(texts[0])
    assert OVER_RUNS in " ".join(texts[1])
    assert OVER_PAIRS in " ".join(texts[1])


def test_the_line_breaks_at_a_missing_checkpoint(make_run: MakeRun, table_of) -> None:
    make_run([score_row(step, 0.5 + step / 100) for step in (0, 1, 4)], planned=[0, 1, 2, 4])
    (drawing,) = draw_learning_curves(table_of(), "n", "t")
    drawn = np.asarray(drawing.figure.axes[0].lines[0].get_ydata(), dtype=float)
    assert np.isnan(drawn).tolist() == [False, False, True, False]


def test_the_axis_reaches_a_lone_seed_that_has_no_band(make_run: MakeRun, table_of) -> None:
    make_run([score_row(0, 0.5), score_row(2, 0.1)], seed=0)
    make_run([score_row(0, 0.5)], seed=1)
    (drawing,) = draw_learning_curves(table_of(), "n", "t")
    assert drawing.figure.axes[0].get_ylim()[0] <= 0.1
