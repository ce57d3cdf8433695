import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.analysis.studies import scored_of, study_of, write_pairs
from tests.analysis.synthetic import MakeRun, score_row
from ucurve.analysis.data.files import scored_steps, stored_scores
from ucurve.analysis.linking.length_bias import (
    alpha_bands,
    alpha_tables,
    best_of_means,
    length_bias_sections,
    sign_flips,
)
from ucurve.errors import UserError

# Good member of 4 tokens against a bad one of 1: right from alpha 0.5 on. Bad one longer: right up to alpha 0.5.
LONGER, SHORTER = (-8.0, -4.0, 4, 1), (-4.0, -8.0, 1, 4)
PAIRS = [(-1.0, -2.0, 2, 2)] * 4 + [LONGER] * 3 + [SHORTER] * 3


@pytest.fixture
def run(make_run: MakeRun):
    def make(values=PAIRS, unigram=math.nan, steps=(4, 8), benchmark="zho", **options) -> Path:
        folder = make_run([score_row(step, 0.6, benchmark=benchmark) for step in steps], **options)
        write_pairs(folder, benchmark, steps[-1], values, unigram)
        return folder

    return make


def test_the_curve_is_the_mean_of_the_two_unequal_splits(run, tmp_path: Path) -> None:
    run()
    curves, best = alpha_tables(scored_of(tmp_path))
    at = curves.set_index("alpha")
    assert at.loc[0.0, ["equal", "good_longer", "bad_longer"]].tolist() == [1, 0, 1]
    assert at.loc[1.0, ["equal", "good_longer", "bad_longer"]].tolist() == [1, 1, 0]
    assert at["accuracy_unequal"].tolist() == [0.5] * len(at)  # a tie at 0.5 counts one half, in both
    assert at.loc[0.0, "delta_acc"] == at.loc[1.0, "delta_acc"] == 0.5
    assert set(best["step"]) == {8}


def test_the_line_is_the_mean_over_models_and_the_band_their_deviation() -> None:
    values = {("m1", "s0"): 0.5, ("m1", "s1"): 0.7, ("m2", "s0"): 0.8}
    rows = [
        {"benchmark": "zho", "line": "char", "model": model, "run": seed, "alpha": 0.5, "accuracy": value,
         "accuracy_unequal": value, "delta_acc": 1 - value}
        for (model, seed), value in values.items()
    ]  # fmt: skip
    (band,) = alpha_bands(pd.DataFrame(rows)).to_dict("records")
    assert band["models"] == 2
    assert band["accuracy_unequal"] == pytest.approx(0.7)  # of 0.6, the mean over the seeds of m1, and 0.8
    assert band["accuracy_unequal_sd"] == pytest.approx(np.std([0.6, 0.8], ddof=1))
    assert band["delta_acc"] == pytest.approx(0.3)


def test_the_best_alpha_of_each_run_has_an_interval_and_its_settings(run, tmp_path: Path) -> None:
    run([(-1.0, -2.0, 2, 2)] * 9 + [LONGER] * 9, model="14m")  # no pair whose bad member is longer
    run([(-1.0, -2.0, 2, 2)] * 9 + [(-8.0, -4.1, 4, 1)] * 9 + [(-4.0, -7.9, 1, 4)] * 9, model="70m")
    _, best = alpha_tables(scored_of(tmp_path))
    first, second = best.set_index("model").loc["14m"], best.set_index("model").loc["70m"]
    assert math.isnan(first["delta_acc_alpha"])
    assert (first["accuracy_alpha"], first["accuracy_low"], first["accuracy_high"]) == (0.55, 0.55, 0.55)
    assert (second["delta_acc_alpha"], second["accuracy_alpha"]) == (0.0, 0.0)
    assert (second["tokenizer"], second["budget"], second["step"]) == ("char", 10_000_000, 8)


def test_the_mean_curve_has_a_best_alpha_too() -> None:
    bands = pd.DataFrame({
        "benchmark": "zho", "line": "char", "models": 2, "alpha": [0.0, 0.5, 1.0], "accuracy": [0.6, 0.8, 0.7],
        "accuracy_unequal": [math.nan] * 3, "delta_acc": [0.3, 0.2, 0.1],
    })  # fmt: skip
    (row,) = best_of_means(bands).to_dict("records")
    assert (row["accuracy_alpha"], row["delta_acc_alpha"]) == (0.5, 1.0)
    assert math.isnan(row["accuracy_unequal_alpha"])


def test_slor_turns_the_sign_of_sentences_more_probable_than_their_words(run, tmp_path: Path) -> None:
    run([(-1.0, -9.0, 2, 2), (-5.0, -7.0, 3, 3)], unigram=-2.0)  # U is -4 and -6 for both members
    _, best = alpha_tables(scored_of(tmp_path))
    assert best["sign_flipped"].tolist() == [0.5]  # of -1 > -4, -9, -5 > -6, -7


def test_without_unigrams_nothing_is_said_of_signs(run, tmp_path: Path) -> None:
    run()
    scored = scored_of(tmp_path)
    _, best = alpha_tables(scored)
    assert best["sign_flipped"].isna().all()
    empty = pd.DataFrame({name: [] for name in ("pair", "phenomenon", "paradigm", "good", "bad")})
    assert math.isnan(sign_flips(empty, pd.DataFrame({"pair": []})))


def test_figures_have_a_panel_for_each_benchmark_and_say_what_the_band_is(run, tmp_path: Path) -> None:
    run(model="14m")
    run(model="70m")
    run(model="14m", benchmark="blimp", tokenizer="word")
    (part,) = length_bias_sections(study_of(tmp_path))
    assert [drawing.name for drawing in part.drawings] == [
        "length_bias_accuracy_unequal",
        "length_bias_delta_acc",
    ]
    first = part.drawings[0]
    assert [axes.get_title() for axes in first.figure.axes] == ["blimp", "zho"]
    assert "± 1 sample sd over models" in first.note
    assert "± 1 sample sd over models" in " ".join(text.get_text() for text in first.figure.texts).replace(
        "\n", " "
    )
    assert len(part.tables["best_alpha"]) == 3
    assert part.tables["best_alpha_of_means"]["models"].tolist() == [1, 2]


def test_one_model_has_no_band(run, tmp_path: Path) -> None:
    run()
    (part,) = length_bias_sections(study_of(tmp_path))
    assert all("No band: one model for each line" in drawing.note for drawing in part.drawings)


def test_runs_without_stored_scores_have_no_part(make_run: MakeRun, tmp_path: Path) -> None:
    make_run([score_row(8, 0.6)])
    assert list(length_bias_sections(study_of(tmp_path))) == []


def test_scores_that_do_not_read_are_named(run, tmp_path: Path) -> None:
    folder = run()
    assert scored_steps(folder, "zho", "sentence") == [8]
    path = folder / "eval" / "zho" / "sentence" / "step00000008.parquet"
    path.write_bytes(b"no parquet")
    with pytest.raises(UserError, match=r"step00000008\.parquet: broken Parquet: .*; score it again"):
        stored_scores(folder, "zho", "sentence", 8)
    pd.DataFrame({"lp_good": [1.0]}).to_parquet(path)
    with pytest.raises(UserError, match=r"step00000008\.parquet: no column pair; score"):
        stored_scores(folder, "zho", "sentence", 8)
