"""The mean over sizes and over all lines, from run folders to the section of the report and the table of a notebook."""

import numpy as np
import pandas as pd
import pytest

from tests.analysis.item_runs import BENCHMARK, make_item_run, pair_table
from tests.analysis.studies import scored_of
from tests.analysis.synthetic import TOKENS_PER_STEP, MakeRun
from ucurve.analysis.api import open_study
from ucurve.analysis.data.pair_scores import Items
from ucurve.analysis.shape.over_lines import line_shape_sections, size_shape_sections
from ucurve.analysis.shape.pooled import common_tokens, credits_of
from ucurve.errors import UserError

STEPS = [2**power for power in range(12)]
PAIRS = pair_table({"up_1": "up", "dip_1": "dip"}, 100)
DEPTHS = {"14m": 0.3, "70m": 0.3, "160m": 0.05}


def make_sizes(
    make_run: MakeRun, seeds: int = 2, steps_of: dict[str, list[int]] | None = None, draw: int = 5, **settings
) -> None:
    """Write runs of three sizes: one phenomenon rises, the other one dips, in the largest size less."""
    draw = np.random.default_rng(draw)
    difficulty = draw.random(len(PAIRS))
    is_dip = (PAIRS["phenomenon"] == "dip").to_numpy()
    for size, depth in DEPTHS.items():
        for seed in range(seeds):
            half_points = {}
            for step in (steps_of or {}).get(size, STEPS):
                place = np.log2(step) / 11
                up, dip = 0.5 + 0.4 * place, 0.8 - depth * np.exp(-(((place - 0.5) / 0.15) ** 2))
                right = difficulty + 0.1 * draw.normal(size=len(PAIRS)) < np.where(is_dip, dip, up)
                half_points[step] = (2 * right).astype(np.uint8)
            make_item_run(make_run, PAIRS, half_points, seed=seed, model=size, **settings)


def test_the_mean_dips_and_the_sizes_differ_in_it(make_run: MakeRun, tmp_path) -> None:
    make_sizes(make_run)
    (section,) = size_shape_sections(scored_of(tmp_path))
    table = section.tables[f"shapes_sizes_{BENCHMARK}"].set_index("phenomenon")
    assert table["class"][["up", "dip"]].tolist() == ["rising", "U-shaped"]
    assert set(table["sizes"]) == {3}
    assert set(table["runs"]) == {6}
    assert set(table["variation"]) == {"items and seeds"}
    assert table.loc["dip", "holm_sizes"] < 0.01
    assert np.isnan(table.loc["up", "holm_sizes"])
    by_size = section.tables[f"dips_by_size_{BENCHMARK}"]
    depths = by_size[by_size["phenomenon"] == "dip"].set_index("model")["depth"]
    assert depths["14m"] > 0.15
    assert depths["160m"] < 0.1
    assert depths.mean() == pytest.approx(table.loc["dip", "depth"])
    names = [drawing.name for drawing in section.drawings]
    assert names == [f"shapes_sizes_{BENCHMARK}_overall", f"shapes_sizes_{BENCHMARK}_phenomena"]
    rows = section.drawings[1].table
    assert (rows["low"] <= rows["smoothed"]).all()


def test_a_notebook_has_the_shapes_of_the_mean_over_sizes(make_run: MakeRun, tmp_path) -> None:
    make_sizes(make_run)
    study = open_study(f"{tmp_path}/runs/*")
    found = study.shapes(over="sizes").set_index("phenomenon")
    assert found.loc["dip", "shape"] == "U-shaped"
    assert found.loc["dip", "p_sizes_differ"] < 0.01
    assert len(study.shapes()) == 9
    with pytest.raises(UserError, match="allowed: flops, lines, sizes, tokens"):
        study.shapes(over="size")


def test_nothing_is_shown_of_one_size(make_run: MakeRun, tmp_path) -> None:
    make_item_run(make_run, PAIRS, {step: np.full(len(PAIRS), 2, np.uint8) for step in STEPS})
    assert not [*size_shape_sections(scored_of(tmp_path))]
    with pytest.raises(UserError, match="two sizes or more"):
        open_study(f"{tmp_path}/runs/*").shapes(over="sizes")


def test_of_one_run_of_each_size_the_claim_is_about_these_runs(make_run: MakeRun, tmp_path) -> None:
    make_sizes(make_run, seeds=1)
    (section,) = size_shape_sections(scored_of(tmp_path))
    table = section.tables[f"shapes_sizes_{BENCHMARK}"].set_index("phenomenon")
    assert table.loc["dip", "shape"] == "U-shaped (these runs)"
    assert set(table["variation"]) == {"items"}
    assert table["holm_sizes"].isna().all()


def test_a_run_that_ends_early_ends_the_mean_and_is_named(make_run: MakeRun, tmp_path) -> None:
    make_sizes(make_run)
    (whole,) = size_shape_sections(scored_of(tmp_path))
    assert not any("the mean over its sizes ends" in str(part) for part in whole.content)
    shorter = {step: np.full(len(PAIRS), 2, np.uint8) for step in STEPS[:-2]}
    make_item_run(make_run, PAIRS, shorter, seed=7, model="14m")
    (section,) = size_shape_sections(scored_of(tmp_path))
    assert any(
        "ends at 8,388,608 tokens, where 14m-10M-char-demo-s7 ends." in str(part) for part in section.content
    )


def test_sizes_that_share_no_checkpoints_are_compared_at_those_of_one(make_run: MakeRun, tmp_path) -> None:
    make_sizes(make_run, steps_of={"70m": [3 * 2**power for power in range(10)]})
    (section,) = size_shape_sections(scored_of(tmp_path))
    assert set(section.tables[f"shapes_sizes_{BENCHMARK}"]["checkpoints"]) == {9}
    tokens = section.drawings[0].table["tokens"]
    assert tokens.iloc[0] == 4 * TOKENS_PER_STEP  # the first one of 14m that 70m has reached


def test_the_mean_over_all_lines_dips_and_the_lines_differ_in_it(make_run: MakeRun, tmp_path) -> None:
    make_sizes(make_run)
    make_sizes(make_run, seeds=1, draw=6, tokenizer="bpe")  # one run of each, which say nothing about seeds
    scored = scored_of(tmp_path)
    (section,) = line_shape_sections(scored)
    assert section.heading == f"The shape of the mean over lines on {BENCHMARK}"
    table = section.tables[f"shapes_lines_{BENCHMARK}"].set_index("phenomenon")
    assert table["class"][["up", "dip"]].tolist() == ["rising", "U-shaped"]
    assert set(table["lines"]) == {6}
    assert set(table["runs"]) == {9}
    assert set(table["variation"]) == {"items and seeds"}
    assert table.loc["dip", "holm_lines"] < 0.01
    assert any("The lines differ in the turn of: " in str(part) for part in section.content)
    depths = section.tables[f"dips_by_line_{BENCHMARK}"].query("phenomenon == 'dip'").set_index("model")["depth"]
    assert depths["14m, char"] > depths["160m, char"] + 0.1
    found = open_study(f"{tmp_path}/runs/*").shapes(over="lines").set_index("phenomenon")
    assert found.loc["dip", "p_lines_differ"] == table.loc["dip", "holm_lines"]


def test_the_mean_over_lines_of_other_tokenizers_is_that_of_the_lines_with_equal_weight(
    make_run: MakeRun, tmp_path
) -> None:
    for tokenizer, share in {"char": 0.2, "bpe": 0.8}.items():
        right = (2 * (np.arange(len(PAIRS)) < share * len(PAIRS))).astype(np.uint8)
        for seed in range(2 if tokenizer == "char" else 1):
            make_item_run(make_run, PAIRS, dict.fromkeys(STEPS, right), seed=seed, tokenizer=tokenizer)
    (section,) = line_shape_sections(scored_of(tmp_path))
    table = section.tables[f"shapes_lines_{BENCHMARK}"].set_index("phenomenon")
    assert table.loc["all", "end"] == pytest.approx(0.5)


def test_sizes_alone_have_no_mean_over_lines_beside_that_over_sizes(make_run: MakeRun, tmp_path) -> None:
    make_sizes(make_run)  # its mean over sizes is that of all lines
    assert not [*line_shape_sections(scored_of(tmp_path))]
    with pytest.raises(UserError, match="several lines, not of one model in several sizes"):
        open_study(f"{tmp_path}/runs/*").shapes(over="lines")


def test_lines_of_one_run_each_have_no_mean(make_run: MakeRun, tmp_path) -> None:
    for tokenizer in ("char", "bpe"):
        make_sizes(make_run, seeds=1, tokenizer=tokenizer)
    assert not [*line_shape_sections(scored_of(tmp_path))]


def items_at(tokens: list[float], half_points: list[list[int]]) -> Items:
    nothing = pd.DataFrame()
    return Items("r", np.arange(len(tokens)), np.array(tokens), np.array(half_points, dtype=np.uint8), nothing)


def test_runs_are_compared_where_all_have_checkpoints_and_otherwise_by_interpolation() -> None:
    one, other = items_at([0, 1, 10, 100], [[2], [0], [2], [2]]), items_at([1, 10, 1000], [[0], [0], [2]])
    assert common_tokens([one, other]).tolist() == [1, 10]
    third = items_at([2, 20, 50], [[0], [2], [2]])
    assert common_tokens([one, third]).tolist() == [10]
    assert credits_of(third, np.array([20 / 10**0.5, 50]), np.array([True])).ravel() == pytest.approx(
        [1 - 0.5, 1]
    )  # half way on the log axis between 2 and 20
    assert not len(common_tokens([one, items_at([0], [[2]])]))
    assert not len(common_tokens([one, items_at([200, 300], [[2], [2]])]))
