import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.synthetic import TOKENS_PER_STEP, MakeRun
from ucurve.analysis.curves.loss import draw_loss_curves, loss_table
from ucurve.analysis.data.frames import held_out_frame, metric_frame
from ucurve.analysis.data.runs import find_runs


def test_runs_are_averaged_step_by_step_while_bins_hold_one_step(make_run: MakeRun, tmp_path) -> None:
    make_run(bits={1: 8.0, 2: 7.0, 4: None}, seed=0)
    make_run(bits={1: 8.2, 2: 7.4}, seed=1)
    table = loss_table(metric_frame(find_runs([f"{tmp_path}/runs/*"])))
    assert table["tokens"].tolist() == [TOKENS_PER_STEP, 2 * TOKENS_PER_STEP]
    assert table["bits_per_byte"].tolist() == pytest.approx([8.1, 7.2])
    assert (table["high"] - table["low"]).tolist() == pytest.approx([2 * 0.02**0.5, 2 * 0.08**0.5])
    assert table["runs"].tolist() == [2, 2]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.5, 10), min_size=1, max_size=300))
def test_binning_loses_no_step_and_keeps_the_mean(values: list[float]) -> None:
    steps = range(1, len(values) + 1)
    metrics = pd.DataFrame({"line": "g", "run": "r", "step": steps, "tokens": [100.0 * step for step in steps]})
    table = loss_table(metrics.assign(bits_per_byte=values))
    assert table["steps"].sum() == len(values)
    assert (table["bits_per_byte"] * table["steps"]).sum() == pytest.approx(sum(values))
    assert table["tokens"].is_monotonic_increasing


def test_the_figure_says_whether_it_has_a_band(make_run: MakeRun, tmp_path) -> None:
    make_run(bits={1: 8.0, 2: 7.0}, seed=0)
    one = draw_loss_curves(loss_table(metric_frame(find_runs([f"{tmp_path}/runs/*"]))), "n")
    make_run(bits={1: 8.0, 2: 7.0}, seed=1)
    two = draw_loss_curves(loss_table(metric_frame(find_runs([f"{tmp_path}/runs/*"]))), "n")
    assert "No band" in one.note
    assert "sd over runs" in two.note
    assert "bits per byte" in " ".join(text.get_text() for text in one.figure.texts)


def test_held_out_loss_is_drawn_beside_training_loss(make_run: MakeRun, tmp_path) -> None:
    make_run(bits={1: 8.0, 2: 7.0}, held_out={0: 9.0, 2: 7.5})
    runs = find_runs([f"{tmp_path}/runs/*"])
    table = loss_table(metric_frame(runs), held_out_frame(runs))
    assert table[["loss", "tokens", "bits_per_byte"]].to_numpy().tolist() == [
        ["training", TOKENS_PER_STEP, 8.0], ["training", 2 * TOKENS_PER_STEP, 7.0], ["held-out", 2 * TOKENS_PER_STEP, 7.5],
    ]  # fmt: skip
    drawing = draw_loss_curves(table, "n")
    assert "Dots: loss on held-out text" in drawing.note
    drawn = [line.get_ydata().tolist() for line in drawing.figure.axes[0].lines]
    assert drawn == [[8.0, 7.0], [7.5]]


def test_no_metrics_give_an_empty_table(make_run: MakeRun, tmp_path) -> None:
    make_run(None)
    assert loss_table(metric_frame(find_runs([f"{tmp_path}/runs/*"]))).empty


def test_a_hybrid_run_has_its_held_out_loss_alone(make_run: MakeRun, tmp_path) -> None:
    make_run(bits={1: 8.0, 2: 7.0}, held_out={0: 9.0, 1: 8.5, 2: 7.5})
    runs = find_runs([f"{tmp_path}/runs/*"])
    table = loss_table(metric_frame([]), held_out_frame(runs))
    assert table["loss"].tolist() == ["held-out"] * 2
    drawing = draw_loss_curves(table, "n")
    assert [line.get_ydata().tolist() for line in drawing.figure.axes[0].lines if len(line.get_ydata())] == [
        [8.5, 7.5]
    ]
