"""Charts hold the numbers of the tables and are what Vega-Lite allows; ``test_charts_browser`` draws them."""

import json
from pathlib import Path

import altair
import pandas as pd
import pytest

from analysis.charts.curves import flops_chart, learning_chart, loss_chart
from analysis.charts.spec import Spec, nest
from analysis.curves import charts
from analysis.curves.charts import curve_tables
from analysis.curves.flops import flops_table, with_references
from analysis.curves.learning import curve_table
from analysis.curves.loss import loss_table
from analysis.plotting.style import line_styles
from tests.analysis.studies import scored_of, study_of
from tests.analysis.synthetic import MakeRun, score_row

STEPS = (0, 1, 4, 16)


@pytest.fixture
def root(make_run: MakeRun, tmp_path: Path) -> Path:
    for seed in (0, 1):
        rows = [
            score_row(step, 0.5 + step / 50 + seed / 100, phenomenon=name, linking=linking)
            for step in STEPS for name in ("all", "BA", "a_passive") for linking in ("slln_lp", "lp")
        ]  # fmt: skip
        make_run(rows, seed=seed, bits={1: 8.0, 4: 7.5, 16: 7.0}, held_out={4: 7.6, 16: 7.1})
    make_run([score_row(step, 0.6, phenomenon="all") for step in STEPS], model="70m", saved=(*STEPS, 8))
    return tmp_path


def _drawn(chart: Spec, **names: str) -> pd.DataFrame:
    """The numbers of the lines of these names."""
    (line,) = [one for one in chart["datasets"]["curves"] if names.items() <= one.items()]
    return pd.DataFrame({name: values for name, values in line.items() if isinstance(values, list)})


def _levels(chart: Spec) -> list[str]:
    layers = [layer["data"]["values"] for layer in chart["layer"] if "strokeDash" in layer["encoding"]]
    return [row["reference"] for rows in layers for row in rows]


def _menus(chart: Spec) -> dict[str, list[str]]:
    return {one["name"]: one["bind"]["options"] for one in chart["params"] if "input" in one.get("bind", ())}


def _scale(chart: Spec, channel: str) -> Spec:
    (scale,) = {
        json.dumps(layer["encoding"][channel]["scale"]) for layer in chart["layer"] if channel in layer["encoding"]
    }
    read: Spec = json.loads(scale)
    return read


def test_a_chart_has_the_numbers_of_its_table_for_every_linking_function(root: Path) -> None:
    scored = scored_of(root)
    chart = learning_chart(curve_tables(scored), "Learning curves", "How to read them.", "phenomenon")
    assert _menus(chart)["linking"] == ["slln_lp", "lp"]
    for linking in ("slln_lp", "lp"):
        rows = scored.rows[scored.rows["linking"] == linking]
        table = curve_table(rows, scored.study.runs)
        table = table[(table["phenomenon"] == "a_passive") & (table["group"] == "14m-10M-char-demo")]
        drawn = _drawn(chart, linking=linking, phenomenon="a passive")
        assert drawn["accuracy"].tolist() == pytest.approx((100 * table["accuracy"]).tolist(), rel=1e-4)
        assert drawn["low"].tolist() == pytest.approx((100 * table["low"]).tolist(), rel=1e-4)
        assert drawn[["step", "tokens", "runs"]].to_numpy().tolist() == [[step, 16_384 * step, 2] for step in STEPS]


def test_lines_have_the_colors_of_the_figures_and_a_menu_for_each_other_name(root: Path) -> None:
    chart = learning_chart(curve_tables(scored_of(root)), "t", "n")
    names = ["14m-10M-char-demo (2 runs)", "70m-10M-char-demo-s0"]
    scale = _scale(chart, "color")
    assert len(scale["domain"]) == 2
    assert scale["range"] == [style.color for style in line_styles(names).values()]
    assert _menus(chart) == {
        "linking": ["slln_lp", "lp"], "phenomenon": ["all phenomena", "a passive", "BA"],
        "alone": [None, *scale["domain"]],
    }  # fmt: skip
    assert "14m-10M-char-demo (2 runs)" in scale["domain"]


def test_a_checkpoint_without_a_score_is_a_gap(root: Path) -> None:
    chart = learning_chart(curve_tables(scored_of(root)), "t", "n")
    line = next(one for one in chart["datasets"]["curves"] if one["group"].startswith("70m"))
    assert line["step"] == [0, 1, 4, 8, 16]
    assert line["accuracy"][3] is None
    assert json.dumps(chart, allow_nan=False)


def test_with_too_many_rows_only_the_linking_function_of_the_figures_is_in_the_chart(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "MOST_ROWS", 10)
    scored = scored_of(root)
    assert set(curve_tables(scored)["linking"]) == {"slln_lp"}


def test_every_chart_is_what_vega_lite_allows(root: Path) -> None:
    references = pd.DataFrame({"reference": ["People"], "phenomenon": "all", "accuracy": 0.95})
    study, scored = study_of(root), scored_of(root)
    table = curve_table(scored.curve_rows(), study.runs)
    points = flops_table(table, study.runs)
    flops = flops_chart(with_references(points, references), "t", "n")
    loss = loss_chart(loss_table(study.metrics, study.held_out), "t", "n")
    for chart in (learning_chart(table, "t", "n", "phenomenon"), flops, loss):
        assert altair.LayerChart.from_dict(chart).to_dict()["layer"]  # from_dict checks it against the schema
    assert [_levels(chart) for chart in (flops, flops_chart(with_references(points), "t", "n"))] == [["People"], []]
    assert {one["loss"] for one in loss["datasets"]["curves"]} == {"training", "held-out"}


def test_numbers_are_written_short_and_names_once() -> None:
    table = pd.DataFrame({"line": "a", "x": [1, 123_456_789], "y": [100 / 3, float("nan")], "whole": [True, False]})
    assert nest(table, ["line"], ["x", "y", "whole"]) == [
        {"line": "a", "x": [1, 123_456_789], "y": [33.333, None], "whole": [True, False]}
    ]
