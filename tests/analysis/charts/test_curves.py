"""Charts hold the numbers of the tables and are what Vega-Lite allows; ``test_charts_browser`` draws them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import altair
import pandas as pd
import pytest

from tests.analysis.studies import scored_of, study_of
from tests.analysis.synthetic import MakeRun, score_row
from ucurve.analysis.charts.flops import flops_chart
from ucurve.analysis.charts.offline import OfflineChart
from ucurve.analysis.charts.parts import nest
from ucurve.analysis.curves import learning
from ucurve.analysis.curves.flops import flops_table, with_references
from ucurve.analysis.curves.learning import curve_table, curve_tables, learning_figure, value_figure
from ucurve.analysis.curves.loss import loss_figure, loss_table
from ucurve.analysis.figures.page import draw, draw_layout, lay_out
from ucurve.analysis.plotting.style import NUMBERED

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


Spec = dict[str, Any]


def _spec(chart: OfflineChart) -> Spec:
    """What the page gets; reading it back checks it against the schema of Vega-Lite."""
    spec = chart.to_dict(validate=False)
    altair.LayerChart.from_dict(spec)
    return spec


def _drawn(chart: Spec, **names: str) -> pd.DataFrame:
    """The numbers of the lines of these names."""
    (line,) = [one for one in chart["datasets"]["curves"] if names.items() <= one.items()]
    return pd.DataFrame({name: values for name, values in line.items() if isinstance(values, list)})


def _levels(chart: Spec) -> list[str]:
    drawn = any(layer.get("data") == {"name": "levels"} for layer in chart["layer"])
    return [row["reference"] for row in chart["datasets"]["levels"]] if drawn else []


def _menus(chart: Spec) -> dict[str, list[str]]:
    return {one["name"]: one["bind"]["options"] for one in chart["params"] if "input" in one.get("bind", ())}


def _scale(chart: Spec, channel: str) -> Spec:
    (scale,) = {
        json.dumps(layer["encoding"][channel]["scale"])
        for layer in chart["layer"]
        if channel in layer["encoding"]
    }
    read: Spec = json.loads(scale)
    return read


def test_a_chart_has_the_numbers_of_its_table_for_every_linking_function(root: Path) -> None:
    scored = scored_of(root)
    chart = _spec(draw(value_figure(curve_tables(scored), "phenomenon"), "Learning curves", "How to read them."))
    assert _menus(chart)["linking"] == ["slln_lp", "lp"]
    for linking in ("slln_lp", "lp"):
        rows = scored.rows[scored.rows["linking"] == linking]
        table = curve_table(rows, scored.study.runs)
        table = table[(table["phenomenon"] == "a_passive") & (table["line"] == "14m")]
        drawn = _drawn(chart, linking=linking, phenomenon="a passive")
        assert drawn["accuracy"].tolist() == pytest.approx((100 * table["accuracy"]).tolist(), rel=1e-4)
        assert drawn["low"].tolist() == pytest.approx((100 * table["low"]).tolist(), rel=1e-4)
        assert drawn[["step", "tokens", "runs"]].to_numpy().tolist() == [
            [step, 16_384 * step, 2] for step in STEPS
        ]


def test_lines_have_the_colors_of_the_figures_and_a_menu_for_each_other_name(root: Path) -> None:
    chart = _spec(draw(learning_figure(curve_tables(scored_of(root))), "t", "n"))
    names = ["14m (2 runs)", "70m"]
    scale = _scale(chart, "color")
    assert len(scale["domain"]) == 2
    assert scale["range"] == [style.color for style in NUMBERED(names).values()]
    assert _menus(chart) == {
        "linking": ["slln_lp", "lp"], "phenomenon": ["all phenomena", "a passive", "BA"],
        "alone": [None, *scale["domain"]],
    }  # fmt: skip
    assert "14m (2 runs)" in scale["domain"]


def test_a_checkpoint_without_a_score_is_a_gap(root: Path) -> None:
    chart = _spec(draw(learning_figure(curve_tables(scored_of(root))), "t", "n"))
    line = next(one for one in chart["datasets"]["curves"] if one["line"].startswith("70m"))
    assert line["step"] == [0, 1, 4, 8, 16]
    assert line["accuracy"][3] is None
    assert json.dumps(chart, allow_nan=False)


def test_with_too_many_rows_only_the_linking_function_of_the_figures_is_in_the_chart(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "MOST_ROWS", 10)
    scored = scored_of(root)
    assert set(curve_tables(scored)["linking"]) == {"slln_lp"}


def test_every_chart_is_what_vega_lite_allows(root: Path) -> None:
    references = pd.DataFrame({"reference": ["People"], "phenomenon": "all", "accuracy": 0.95})
    study, scored = study_of(root), scored_of(root)
    table = curve_table(scored.curve_rows(), study.runs)
    points = flops_table(table, study.runs)
    assert _spec(draw(value_figure(table, "phenomenon"), "t", "n"))["layer"]
    loss = _spec(draw(loss_figure(loss_table(study.metrics, study.held_out)), "t", "n"))
    both = [flops_chart(with_references(points, levels), "t", "n") for levels in (references, None)]
    assert [_levels(_spec(chart)) for chart in both] == [["People"], []]
    assert {one["loss"] for one in loss["datasets"]["curves"]} == {"training", "held-out"}


def test_charts_of_the_same_names_differ_in_their_data_only(root: Path) -> None:
    table = curve_table(scored_of(root).curve_rows(), study_of(root).runs)
    moved = table.assign(accuracy=table["accuracy"] + 0.01)
    one, other, wider = (learning_figure(rows) for rows in (table, moved, table.assign(low=0.1)))
    assert lay_out(one) == lay_out(other)
    assert lay_out(one) != lay_out(wider)
    charts = [_spec(draw(figure, "t", "n")) for figure in (one, other)]
    data = [chart.pop("datasets")["curves"] for chart in charts]
    assert charts[0] == charts[1]
    assert data[0] != data[1]


def test_more_than_six_phenomena_have_a_panel_each(root: Path) -> None:
    table = curve_table(scored_of(root).curve_rows(), study_of(root).runs)
    one = table[table["phenomenon"] == "BA"]
    many = pd.concat([one.assign(phenomenon=f"p{number}") for number in range(7)])
    chart = draw(value_figure(many, "phenomenon"), "t", "n").to_dict(validate=False)
    altair.FacetChart.from_dict(chart)
    assert chart["facet"]["field"] == "phenomenon"
    assert {line["phenomenon"] for line in chart["datasets"]["curves"]} == {f"p{number}" for number in range(7)}
    scales = [layer["encoding"]["color"]["scale"]["domain"] for layer in chart["spec"]["layer"]
              if "color" in layer.get("encoding", {})]  # fmt: skip
    assert scales[0] == ["14m (2 runs)"]
    few = draw(value_figure(many[many["phenomenon"] < "p6"], "phenomenon"), "t", "n").to_dict(validate=False)
    assert "layer" in few


def test_level_lines_have_colors_of_their_own_and_a_place_on_the_axis(root: Path) -> None:
    table = curve_table(scored_of(root).curve_rows(), study_of(root).runs).rename(columns={"line": "curve"})
    levels = pd.DataFrame({"curve": ["a model"], "accuracy": [0.3], "low": [0.22]})
    layout = lay_out(replace(learning_figure(table), line="curve", counted=()), levels, clickable=True)
    chart = draw_layout(layout).to_dict()
    scale = _scale(chart, "color")
    assert scale["domain"] == [*dict.fromkeys(table["curve"]), "a model"]
    assert len(set(scale["range"])) == len(scale["domain"])
    assert layout.bottom == pytest.approx(0.2)
    assert [one["select"]["fields"] for one in chart["params"] if one["name"] == "clicked"] == [["curve", "step"]]


def test_numbers_are_written_short_and_names_once() -> None:
    table = pd.DataFrame(
        {"line": "a", "x": [1, 123_456_789], "y": [100 / 3, float("nan")], "whole": [True, False]}
    )
    assert nest(table, ["line"], ["x", "y", "whole"]) == [
        {"line": "a", "x": [1, 123_456_789], "y": [33.333, None], "whole": [True, False]}
    ]
