"""Curves over FLOPs, from run folders to the section of the report and the table of a notebook."""

import numpy as np
import pytest

from tests.analysis.item_runs import BENCHMARK, make_item_run, pair_table
from tests.analysis.studies import scored_of
from tests.analysis.synthetic import PARAMETERS, TOKENS_PER_STEP, MakeRun
from ucurve.analysis.api import open_study
from ucurve.analysis.shape.over_flops import (
    EQUAL_TOKENS,
    FINISHED,
    SCATTER,
    flops_shape_sections,
    read_flops_shapes,
)
from ucurve.errors import UserError

PAIRS = pair_table({"down_1": "down", "dip_1": "dip"}, 150)
SIZES = ("14m", "70m", "160m", "410m", "1.4b")
STEPS = [1, 8, 64]
HEIGHTS = {"down": (0.85, 0.8, 0.74, 0.66, 0.6), "dip": (0.85, 0.72, 0.6, 0.72, 0.85)}


@pytest.fixture(autouse=True)
def parameters(monkeypatch) -> None:
    for size, count in zip(SIZES, (14e6, 70e6, 160e6, 410e6, 1.4e9), strict=True):
        monkeypatch.setitem(PARAMETERS, size, int(count))


def make_runs(
    make_run: MakeRun, budget: str = "10M", steps=STEPS, extra: float = 0.0, seeds: int = 2, **settings
) -> None:
    """Write seeds of five sizes that end with these heights, and before that are at 90 %."""
    draw = np.random.default_rng(2)
    difficulty = draw.random(len(PAIRS))
    phenomena = PAIRS["phenomenon"].to_numpy()
    for place, size in enumerate(SIZES):
        for seed in range(seeds):
            ends = np.array([HEIGHTS[name][place] for name in phenomena]) + extra + 0.005 * seed
            heights = [np.full(len(PAIRS), 0.9)] * (len(steps) - 1) + [ends]
            half_points = {
                step: (2 * (difficulty + 0.1 * draw.normal(size=len(PAIRS)) < height)).astype(np.uint8)
                for step, height in zip(steps, heights, strict=True)
            }
            make_item_run(make_run, PAIRS, half_points, seed=seed, model=size, tokens=budget, **settings)


def test_a_fall_and_a_dip_over_flops_are_found_at_the_end_of_finished_runs(make_run: MakeRun, tmp_path) -> None:
    make_runs(make_run)
    (section,) = flops_shape_sections(scored_of(tmp_path))
    classes = section.tables[f"shapes_flops_{BENCHMARK}"]
    assert classes["at"].tolist() == [FINISHED] * 3  # at equal tokens it is the same curve
    table = classes.set_index("phenomenon")
    assert table["class"][["down", "dip"]].tolist() == ["falling", "U-shaped"]
    assert set(table["cells"]) == {5}
    assert set(table["runs"]) == {10}
    assert set(table["tokens"]) == {64.0 * TOKENS_PER_STEP}
    assert 6 * 70e6 < table.loc["dip", "place"] / (64 * TOKENS_PER_STEP) < 6 * 410e6
    points = section.drawings[0].table
    assert points["model"].tolist() == list(SIZES)
    assert points["flops"].iloc[0] == pytest.approx(6 * 14e6 * 64 * TOKENS_PER_STEP)


def test_the_words_in_brackets_are_explained_below_a_figure_of_one_line(make_run: MakeRun, tmp_path) -> None:
    make_runs(make_run, seeds=1)
    (section,) = flops_shape_sections(scored_of(tmp_path))
    assert section.tables[f"shapes_flops_{BENCHMARK}"]["shape"].str.contains("(these runs", regex=False).any()
    for drawing in section.drawings:
        below = " ".join(text.get_text() for text in drawing.figure.texts).replace("\n", " ")
        assert "These runs: shown for these runs on other pairs, not for other seeds." in below


def test_budgets_are_one_curve_of_finished_runs_and_each_has_one_at_equal_tokens(
    make_run: MakeRun, tmp_path
) -> None:
    make_runs(make_run)
    make_runs(make_run, "20M", steps=[1, 8, 64, 640], extra=0.05)
    (section,) = flops_shape_sections(scored_of(tmp_path))
    lines = section.tables[f"shapes_flops_{BENCHMARK}"].drop_duplicates("line").set_index("line")
    assert lines["at"].to_dict() == {
        "gpt_neox, char, demo": FINISHED, "10M tokens": EQUAL_TOKENS, "20M tokens": EQUAL_TOKENS,
    }  # fmt: skip
    assert lines.loc["gpt_neox, char, demo", "cells"] == 10
    assert np.isnan(lines.loc["gpt_neox, char, demo", "tokens"])
    assert lines["variation"].to_dict() == {
        "gpt_neox, char, demo": SCATTER, "10M tokens": "items and seeds", "20M tokens": "items and seeds",
    }  # fmt: skip


def test_runs_that_have_not_ended_are_compared_at_the_last_tokens_that_all_have_reached(
    make_run: MakeRun, tmp_path
) -> None:
    make_runs(make_run, status="interrupted", planned=[*STEPS, 128])
    (section,) = flops_shape_sections(scored_of(tmp_path))
    table = section.tables[f"shapes_flops_{BENCHMARK}"]
    assert set(table["at"]) == {EQUAL_TOKENS}
    assert set(table["line"]) == {"gpt_neox, char, 10M tokens, demo"}


def test_sizes_of_equal_flops_are_no_curve(make_run: MakeRun, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(PARAMETERS, "160m", PARAMETERS["70m"])  # as models that differ in their heads alone
    make_runs(make_run)
    found = read_flops_shapes(scored_of(tmp_path))
    assert found.classes.empty
    assert "several of its sizes have the same FLOPs" in found.notes[0]


def test_a_notebook_has_the_shapes_over_flops(make_run: MakeRun, tmp_path) -> None:
    make_runs(make_run)
    found = open_study(f"{tmp_path}/runs/*").shapes(over="flops").set_index("phenomenon")
    assert found.loc["dip", "shape"] == "U-shaped"
    assert found.loc["dip", "dip_flops"] > 1e14
    assert found["points"].tolist() == [5, 5, 5]


def test_nothing_is_shown_of_one_size(make_run: MakeRun, tmp_path) -> None:
    make_item_run(make_run, PAIRS, {step: np.full(len(PAIRS), 2, np.uint8) for step in STEPS})
    assert not [*flops_shape_sections(scored_of(tmp_path))]
    with pytest.raises(UserError, match="four sizes"):
        open_study(f"{tmp_path}/runs/*").shapes(over="flops")
