import math
from pathlib import Path

import pandas as pd
import pytest

from tests.analysis.synthetic import TOKENS_PER_STEP, MakeRun, score_row
from ucurve.analysis.data.frames import held_out_frame, metric_frame, score_frame
from ucurve.analysis.data.runs import Run, find_runs
from ucurve.analysis.scaling.section import (
    accuracy_against_bits,
    accuracy_points,
    checkpoint_bits,
    finished_points,
)
from ucurve.errors import DamagedError


def _runs(folder: Path) -> list[Run]:
    return find_runs([f"{folder}/runs/*"])


def _bits(folder: Path) -> pd.DataFrame:
    runs = _runs(folder)
    return checkpoint_bits(metric_frame(runs), held_out_frame(runs), runs)


def test_bits_at_a_checkpoint_are_the_mean_of_the_last_steps(make_run: MakeRun, tmp_path: Path) -> None:
    # 10 ** (-1/30) is 0.926: the window of step 100 begins after 92.6 steps, that of step 2 holds step 2 alone.
    make_run(planned=[0, 2, 100], bits={step: 200.0 - step for step in range(1, 121)})
    table = _bits(tmp_path)
    assert table["step"].tolist() == [2, 100]
    assert table["bits_per_byte"].tolist() == pytest.approx([198.0, 200 - (93 + 100) / 2])
    assert table["flops"].tolist() == pytest.approx(
        [6 * 14e6 * 2 * TOKENS_PER_STEP, 6 * 14e6 * 100 * TOKENS_PER_STEP]
    )


def test_held_out_loss_is_taken_where_all_runs_have_it(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(bits={1: 8.0, 2: 7.0}, held_out={0: 9.5, 1: 8.5, 2: 7.5})
    table = _bits(tmp_path)
    assert table["bits_per_byte"].tolist() == [8.5, 7.5], "not of step 0, which has no FLOPs"
    assert table["flops"].tolist() == pytest.approx([6 * 14e6 * TOKENS_PER_STEP, 6 * 14e6 * 2 * TOKENS_PER_STEP])
    assert set(table["loss"]) == {"held-out"}
    make_run(seed=1, planned=[0, 1, 2], bits={1: 8.0, 2: 7.0})
    assert set(_bits(tmp_path)["loss"]) == {"training"}


def test_changed_held_out_losses_are_refused(make_run: MakeRun, tmp_path: Path) -> None:
    path = make_run(bits={1: 8.0}, held_out={1: 8.5}) / "held_out.csv"
    path.write_text(path.read_text().replace("8.5", "8.4"))
    with pytest.raises(DamagedError, match=r"held_out\.csv: its hash is not run\.json's; restore it"):
        _bits(tmp_path)


def test_a_checkpoint_without_metrics_has_no_row(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(planned=[0, 1, 2, 4], bits={1: 8.0, 2: None})
    make_run(None, seed=1, planned=[0, 1])
    assert _bits(tmp_path)["step"].tolist() == [1]


def test_no_metrics_give_an_empty_frame(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(None)
    table = _bits(tmp_path)
    assert table.empty
    assert "bits_per_byte" in table.columns


def test_finished_points_are_the_ends_of_finished_runs_by_tokenizer(make_run: MakeRun, tmp_path: Path) -> None:
    rows = [score_row(step, 0.5 + step / 10) for step in (0, 1, 2)]
    make_run(rows)
    make_run(rows, model="70m")
    make_run(rows, tokenizer="word")
    make_run(rows[:2], seed=1, status="running", planned=[0, 1, 2])
    runs = _runs(tmp_path)
    points = finished_points(accuracy_points(score_frame(runs)), runs)
    assert points["value"].tolist() == [0.7] * 3
    assert sorted(points["line"]) == ["char", "char", "word"]


def test_points_on_the_way_are_all_checkpoints_after_step_0_by_line(make_run: MakeRun, tmp_path: Path) -> None:
    for seed in (0, 1):
        make_run([score_row(step, 0.6) for step in (0, 1, 2)], seed=seed)
    points = accuracy_points(score_frame(_runs(tmp_path)))
    assert points["line"].tolist() == ["14m"] * 4


def test_accuracy_meets_bits_at_equal_steps_and_seeds_are_averaged(make_run: MakeRun, tmp_path: Path) -> None:
    for seed, (accuracy, bits) in enumerate([(0.6, 3.0), (0.8, 2.0)]):
        rows = [score_row(step, accuracy, phenomenon=name) for step in (0, 1, 2) for name in ("all", "BA")]
        make_run(rows, seed=seed, bits={1: bits})
    runs = _runs(tmp_path)
    table = accuracy_against_bits(
        score_frame(runs), checkpoint_bits(metric_frame(runs), held_out_frame(runs), runs), runs
    )
    assert table[["phenomenon", "step", "runs"]].to_numpy().tolist() == [
        ["BA", 1, 2], ["BA", 2, 0], ["all", 1, 2], ["all", 2, 0],
    ]  # fmt: skip
    # Step 2 has no metrics: a gap.
    assert table["accuracy"].tolist() == pytest.approx([0.7, math.nan] * 2, nan_ok=True)
    assert table["bits_per_byte"].tolist() == pytest.approx([2.5, math.nan] * 2, nan_ok=True)
    assert (table["high"] - table["low"])[0] == pytest.approx(2 * 0.02**0.5)


def test_a_run_without_training_metrics_takes_no_part(make_run: MakeRun, tmp_path: Path) -> None:
    make_run([score_row(step, 0.6) for step in (0, 1, 2)])
    runs = _runs(tmp_path)
    assert accuracy_against_bits(
        score_frame(runs), checkpoint_bits(metric_frame(runs), held_out_frame(runs), runs), runs
    ).empty
