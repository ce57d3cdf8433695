import math
from pathlib import Path

import pytest

from tests.analysis.studies import paradigm_rows, scored_of
from tests.analysis.synthetic import MakeRun, score_row, write_scores
from ucurve.analysis.paradigms.phenomena import (
    by_level,
    last_paradigm_rows,
    line_means,
    phenomenon_sections,
    phenomenon_table,
    with_gap,
)

NAMES = [("B", "b1"), ("a", "a1"), ("a", "a2"), ("a", "a3")]


def _accuracies(*values: float) -> dict[tuple[str, str], float]:
    return dict(zip(NAMES, values, strict=True))


def _rows(step: int, *values: float, functions=("slln_lp", "lp", "mean_lp"), **changes):
    return [
        row
        for place, linking in enumerate(functions)
        for row in paradigm_rows(
            step, _accuracies(*(one - place / 100 for one in values)), linking=linking, **changes
        )
    ]


def test_phenomena_come_first_then_named_overall_rows(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(_rows(4, 0.5, 0.5, 0.5, 0.5) + _rows(8, 0.9, 0.5, 0.6, 0.7))
    (part,) = phenomenon_sections(scored_of(tmp_path))
    table = part.tables["phenomena_zho"]
    model = "14m"
    assert table["phenomenon"].tolist() == ["a", "B", "all", "all", "all", "all", "all"]
    assert table["linking"].tolist()[2:] == ["slln_lp", "lp", "mean_lp", "slln_lp", "slln_lp"]
    assert table["aggregate"].tolist()[2:] == ["paradigms"] * 3 + ["pairs", "phenomena"]
    assert table["paradigms"].tolist()[:3] == [3, 1, 4]
    assert table[model].tolist() == pytest.approx([0.6, 0.9, 0.675, 0.665, 0.655, 0.675, 0.75])
    assert set(table["best"]) == {model}
    assert "gap" not in table


def test_levels_equal_those_of_accuracy_csv(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(_rows(8, 0.9, 0.5, 0.6, 0.7))
    scored = scored_of(tmp_path)
    levels = by_level(line_means(last_paradigm_rows(scored, ["slln_lp"])))
    stored = scored.rows[scored.rows["linking"] == "slln_lp"].set_index("phenomenon")["accuracy"]
    found = levels[levels["aggregate"] == "pairs"].set_index("phenomenon")["accuracy"]
    assert found.to_dict() == pytest.approx(stored.to_dict())


def test_paradigms_of_different_size_make_the_aggregates_differ(make_run: MakeRun, tmp_path: Path) -> None:
    make_run([
        score_row(1, 0.2, phenomenon="A", paradigm="a1", n=30), score_row(1, 0.8, phenomenon="A", paradigm="a2", n=10),
        score_row(1, 1.0, phenomenon="B", paradigm="b1", n=40), score_row(1, 0.675, n=80),
    ])  # fmt: skip
    levels = by_level(line_means(last_paradigm_rows(scored_of(tmp_path), ["slln_lp"])))
    overall = levels[levels["phenomenon"] == "all"].set_index("aggregate")["accuracy"].to_dict()
    pairs = (30 * 0.2 + 10 * 0.8 + 40) / 80
    assert overall == pytest.approx({"pairs": pairs, "paradigms": 2 / 3, "phenomena": (0.35 + 1) / 2})


def test_seeds_are_averaged_and_one_that_lags_behind_is_left_out(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(_rows(8, 0.9, 0.5, 0.6, 0.7), seed=0)
    make_run(_rows(8, 0.7, 0.5, 0.6, 0.7), seed=1)
    make_run(_rows(4, 0.1, 0.1, 0.1, 0.1), seed=2)
    (part,) = phenomenon_sections(scored_of(tmp_path))
    table = part.tables["phenomena_zho"].set_index("phenomenon")
    assert table.loc["B", "14m"] == pytest.approx(0.8)
    (line,) = part.tables["phenomena_zho_models"].to_dict("records")
    assert (line["model"], line["runs"], line["step"]) == ("14m", 2, 8)


def test_models_from_elsewhere_stand_beside_runs_and_people_beside_both(
    make_run: MakeRun, tmp_path: Path
) -> None:
    make_run(_rows(8, 0.9, 0.5, 0.6, 0.7))
    write_scores(tmp_path / "runs" / "qwen", _rows(-1, 0.8, 0.6, 0.7, 0.8))
    human = tmp_path / "human.csv"
    human.write_text("UID,correct,total\nb1,19,20\na1,10,10\na2,10,10\na3,4,10\n")
    (part,) = phenomenon_sections(scored_of(tmp_path, human=human))
    table = part.tables["phenomena_zho"].set_index(["phenomenon", "aggregate", "linking"])
    first, second = table.loc[("a", "pairs", "slln_lp")], table.loc[("B", "pairs", "slln_lp")]
    assert (first["best"], second["best"]) == ("qwen", "14m")
    assert (first["human"], first["gap"]) == pytest.approx((0.8, 0.1))
    assert (second["human"], second["gap"]) == pytest.approx((0.95, 0.05))
    overall = table.loc[("all", "paradigms", "slln_lp")]
    assert (overall["human"], overall["human_pooled"]) == pytest.approx(((0.95 + 2.4) / 4, 43 / 50))
    assert table.loc[("all", "phenomena", "slln_lp")][["human", "gap"]].isna().all()


def test_a_function_that_was_not_scored_has_no_row_and_a_model_without_it_a_gap(
    make_run: MakeRun, tmp_path
) -> None:
    make_run(_rows(8, 0.9, 0.5, 0.6, 0.7, functions=("slln_lp", "lp")))
    make_run(_rows(8, 0.9, 0.5, 0.6, 0.7, functions=("slln_lp",)), model="70m")
    (part,) = phenomenon_sections(scored_of(tmp_path))
    table = part.tables["phenomena_zho"].set_index(["aggregate", "linking"])
    assert ("paradigms", "mean_lp") not in table.index
    row = table.loc[("paradigms", "lp")]
    assert math.isnan(row["70m"])
    assert row["best"] == "14m"


def test_a_benchmark_without_phenomena_has_no_such_table(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(paradigm_rows(8, {("unnamed", "p"): 0.7}))
    assert list(phenomenon_sections(scored_of(tmp_path))) == []


def test_a_row_without_any_accuracy_has_no_best_model(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(_rows(8, 0.9, 0.5, 0.6, 0.7))
    levels = by_level(line_means(last_paradigm_rows(scored_of(tmp_path), ["slln_lp"])))
    table = phenomenon_table(levels, "slln_lp").assign(human=0.9)
    empty = with_gap(table.assign(**{"14m": float("nan")}), ["14m"])
    assert set(empty["best"]) == {""}
    assert empty["gap"].isna().all()


def test_a_function_scored_at_an_earlier_checkpoint_only_is_not_set_beside_the_last(
    make_run: MakeRun, tmp_path
) -> None:
    make_run(_rows(4, 0.5, 0.5, 0.5, 0.5) + _rows(8, 0.9, 0.5, 0.6, 0.7, functions=("slln_lp",)))
    (part,) = phenomenon_sections(scored_of(tmp_path))
    assert set(part.tables["phenomena_zho"]["linking"]) == {"slln_lp"}
