from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from measurements.shapes.simulated_curves import flat
from tests.analysis.item_runs import BENCHMARK, make_curve_runs, make_item_run, pair_table
from tests.analysis.studies import scored_of, study_of
from tests.analysis.synthetic import TOKENS_PER_STEP, MakeRun
from ucurve.analysis.change_points.bends import MOST_CHANGES
from ucurve.analysis.change_points.section import (
    ACCURACY,
    HELD_OUT_LOSS,
    TRAINING_LOSS,
    bent_line,
    change_sections,
    change_table,
    loss_curves,
    name_changes,
    within_axis,
)
from ucurve.analysis.report.html import ReportSection
from ucurve.analysis.sections import make_report
from ucurve.analysis.shape.smoothing import Curve

STEPS = [0, *(2**power for power in range(12))]
TOKENS = TOKENS_PER_STEP * np.array(STEPS[1:], dtype=float)
LOGS = np.log10(TOKENS)
PAIRS = pair_table({"late_1": "late", "late_2": "late", "none": "none"}, 120)


def late(logs: np.ndarray) -> np.ndarray:
    return 0.5 + 0.25 * np.maximum(0, logs - LOGS[6])


def make_line(make_run: MakeRun, seeds: int = 3) -> None:
    make_curve_runs(make_run, PAIRS, {"late": late, "none": flat(0.6)}, STEPS, seeds, 3)


def section_of(root: Path) -> ReportSection:
    (section,) = change_sections(scored_of(root))
    return section


def exact(heights: np.ndarray, seeds: int = 1, error: float = 0.003) -> Curve:
    nothing = np.zeros((12, 12))
    return Curve(TOKENS, heights, seeds, 0, np.eye(12) * error**2, nothing, nothing, 1e6)


def test_the_report_places_the_changes_of_each_phenomenon(make_run: MakeRun, tmp_path) -> None:
    make_line(make_run)
    section = section_of(tmp_path)
    table = section.tables[f"change_points_{BENCHMARK}"].set_index("phenomenon")
    rise = table.loc["late"]
    assert rise["change"] == 1
    assert rise["tokens_low"] <= TOKENS[6] <= rise["tokens_high"]
    assert rise["slope_after"] > 0.15
    assert abs(rise["slope_before"]) < 0.05
    assert table.loc["none", "change"] == 0
    assert np.isnan(table.loc["none", "tokens"])
    assert not table.loc["none", "significant"]
    assert section.content[0] == (
        "2 of 3 curves of accuracy change their slope. Tested are curves of at least 8 trained checkpoints."
    )
    assert [drawing.name for drawing in section.drawings] == [
        f"change_points_{BENCHMARK}_overall", f"change_points_{BENCHMARK}_phenomena"
    ]  # fmt: skip


def test_changes_say_whether_there_may_be_more_and_whether_they_are_of_a_single_run() -> None:
    zigzag = 0.5 + sum(
        turn * np.maximum(0, LOGS - LOGS[at]) for at, turn in ((2, 0.3), (4, -0.6), (6, 0.6), (8, -0.6), (9, 0.6))
    )
    rise = 0.5 + 0.3 * np.maximum(0, LOGS - LOGS[8])
    table = change_table({("g", "all"): exact(zigzag, error=1e-4), ("h", "all"): exact(rise, seeds=3)}, {})
    assert name_changes(table).tolist() == [
        "1 of 3 or more (this run)", "2 of 3 or more (this run)", "3 of 3 or more (this run)", "1 of 1"
    ]  # fmt: skip
    assert table["may_be_more"].tolist() == [True, True, True, False]


def test_the_count_says_how_many_curves_are_of_a_single_run(make_run: MakeRun, tmp_path) -> None:
    make_line(make_run, seeds=1)
    assert "Of these curves, 2 are of a single run" in str(section_of(tmp_path).content[0])


def test_the_section_stands_in_the_report_after_the_shapes(make_run: MakeRun, tmp_path) -> None:
    make_line(make_run, seeds=1)
    headings = [section.heading for section in make_report(study_of(tmp_path))[1]]
    assert headings.index("Change points on zho") > headings.index("The shape of learning on zho")


def test_a_line_without_any_change_is_counted(make_run: MakeRun, tmp_path) -> None:
    half = np.tile([0, 2], len(PAIRS) // 2)
    make_item_run(make_run, PAIRS, dict.fromkeys(STEPS, half))
    section = section_of(tmp_path)
    table = section.tables[f"change_points_{BENCHMARK}"]
    assert (table["change"] == 0).all()
    assert section.left_out == "no curve of accuracy changes its slope significantly"


def test_few_checkpoints_have_no_section(make_run: MakeRun, tmp_path) -> None:
    make_item_run(make_run, PAIRS, {step: np.full(len(PAIRS), 2) for step in STEPS[:6]})
    assert list(change_sections(scored_of(tmp_path))) == []


def test_changes_of_accuracy_are_told_apart_from_those_of_the_loss() -> None:
    loss = 3 - 1.0 * (LOGS - LOGS[0]) + 0.9 * np.maximum(0, LOGS - LOGS[3])
    rise = 0.5 + 0.3 * np.maximum(0, LOGS - LOGS[8])
    table = change_table(
        {("g", "all"): exact(rise), ("g", "with"): exact(4 - loss), ("h", "all"): exact(rise)},
        {"g": (HELD_OUT_LOSS, exact(loss))},
    )
    rows = table.set_index(["line", "measure", "phenomenon"])
    assert rows.loc[("g", HELD_OUT_LOSS, ""), "tokens"] == TOKENS[3]
    assert rows.loc[("g", ACCURACY, "all"), "beside_loss"] == "after 1"
    assert rows.loc[("g", ACCURACY, "with"), "beside_loss"] == "not told apart"
    assert rows.loc[("h", ACCURACY, "all"), "beside_loss"] == ""
    assert table["tokens"].tolist() == [TOKENS[3], TOKENS[3], TOKENS[8], TOKENS[8]]


def test_p_values_are_adjusted_over_the_curves_of_several_runs_and_of_one() -> None:
    wavering = 0.5 + 0.012 * np.array([0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 1, 1.0])
    alone = change_table({("g", "all"): exact(wavering, error=0.01)}, {})
    family = change_table({("g", name): exact(wavering, error=0.01) for name in "abcdefgh"}, {})
    others = change_table(
        {("g", "all"): exact(wavering, error=0.01)}
        | {("h", name): exact(wavering, 3, 0.01) for name in "abcdefgh"},
        {},
    )
    p = alone["p"].iloc[0]
    assert alone["p_holm"].iloc[0] == p
    assert family["p_holm"].iloc[0] == pytest.approx(min(1, 8 * p))
    assert others["p_holm"].iloc[0] == p


def test_the_loss_is_the_held_out_one_where_it_was_measured(make_run: MakeRun, tmp_path) -> None:
    make_line(make_run, seeds=2)
    study = study_of(tmp_path)
    line = study.runs[0].line
    rows = [
        {"run": run.label, "line": line, "step": step, "tokens": step * TOKENS_PER_STEP, "bits_per_byte": value}
        for run in study.runs
        for step, value in zip(STEPS[1:], np.linspace(3, 2, 12), strict=True)
    ]
    frame = pd.DataFrame(rows)
    nothing = frame.iloc[:0]
    kinds = {}
    for held_out, metrics in ((frame, frame), (nothing, frame), (nothing, nothing)):
        object.__setattr__(study, "held_out", held_out)
        object.__setattr__(study, "metrics", metrics)
        kinds[len(held_out), len(metrics)] = [(kind, curve.seeds) for kind, curve in loss_curves(study).values()]
    assert kinds == {(24, 24): [(HELD_OUT_LOSS, 2)], (0, 24): [(TRAINING_LOSS, 2)], (0, 0): []}


def test_the_bent_line_goes_through_its_changes() -> None:
    heights = (
        0.5 + 0.1 * (LOGS - LOGS[0]) + 0.3 * np.maximum(0, LOGS - LOGS[4]) - 0.35 * np.maximum(0, LOGS - LOGS[8])
    )
    table = change_table({("g", "all"): exact(heights, error=1e-4)}, {})
    tokens, levels = bent_line(table, TOKENS[0], TOKENS[-1])
    assert len(table) == 2 < MOST_CHANGES
    assert np.interp(LOGS, np.log10(tokens), levels) == pytest.approx(heights)


def test_a_bent_line_that_leaves_the_axis_follows_its_edge() -> None:
    tokens, levels = within_axis([10, 100, 10_000, 100_000], [0.5, 0.5, -0.5, 1.5])
    assert np.log10(tokens) == pytest.approx([1, 2, 3, 4, 4.25, 4.75, 5])
    assert levels == pytest.approx([0.5, 0.5, 0, 0, 0, 1, 1])
