"""What is said once of a figure is in both of its pictures."""

from dataclasses import replace
from typing import Any

import altair
import numpy as np
import pandas as pd
import pytest

from ucurve.analysis.figures.described import ACCURACY, TOKENS, Across, LineFigure, Up
from ucurve.analysis.figures.drawings import overall_and_phenomena, picture
from ucurve.analysis.plotting.figures import Drawing, render
from ucurve.analysis.plotting.style import LineStyle, LineStyles

STYLES = {"a": LineStyle("#0072B2", "-", "o"), "b": LineStyle("#0072B2", "-", "s")}
LOOK = LineStyles(STYLES)


def rows_of(*lines: str, width: float = 0.1, runs: int = 2, **more: object) -> pd.DataFrame:
    """Curves that rise by the tokens, each line a little above the one before."""
    tables = [
        pd.DataFrame({"line": line, "step": [0, 1, 2], "tokens": [0, 100, 200], "runs": runs, "accuracy": height})
        for line, height in zip(
            lines, (np.array([0.5, 0.6, 0.7]) + 0.05 * place for place in range(9)), strict=False
        )
    ]
    table = pd.concat(tables, ignore_index=True)
    return table.assign(low=table["accuracy"] - width / 2, high=table["accuracy"] + width / 2, **more)


def figure_of(rows: pd.DataFrame, **more: Any) -> LineFigure:
    return LineFigure(rows, **({"x": TOKENS, "y": ACCURACY, "note": "Band: an interval.", "look": LOOK} | more))


def drawn(figure: LineFigure) -> Drawing:
    return picture(figure, "name", "Title", "A note.", figure.rows)


def spec_of(drawing: Drawing) -> dict[str, Any]:
    """What a page gets; reading it back checks it against the schema of Vega-Lite."""
    assert drawing.chart is not None
    spec: dict[str, Any] = drawing.chart.to_dict(validate=False)
    (altair.FacetChart if "facet" in spec else altair.LayerChart).from_dict(spec)
    return spec


def layers(spec: dict[str, Any], mark: str) -> list[dict[str, Any]]:
    return [one for one in spec.get("spec", spec)["layer"] if one["mark"]["type"] == mark]


def text_of(drawing: Drawing) -> str:
    return " ".join(" ".join(text.get_text() for text in drawing.figure.texts).split())


def test_lines_have_the_names_and_styles_of_each_other_in_both_pictures() -> None:
    drawing = drawn(figure_of(rows_of("b", "a")))
    names = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    colors = [line.get_color() for line in drawing.figure.legends[0].get_lines()]
    scale = layers(spec_of(drawing), "line")[0]["encoding"]["color"]["scale"]
    assert (names, colors) == (scale["domain"], scale["range"])
    assert names == ["a (2 runs)", "b (2 runs)"]  # in the order of the study, not in that of the rows


def test_a_band_that_would_be_the_whole_axis_is_left_out_with_the_reason() -> None:
    rows = pd.concat([rows_of("a", width=0.9), rows_of("b", width=0.2)], ignore_index=True)
    drawing = drawn(figure_of(rows))
    assert [len(band.get_paths()) for band in drawing.figure.axes[0].collections] == [0, 1]
    for text in (drawing.note, text_of(drawing)):
        assert "Bands wider than 80 points at most checkpoints are left out" in text
    bands = {row["line"]: row["low"] for row in spec_of(drawing)["datasets"]["curves"]}
    assert bands == {"a (2 runs)": [None] * 3, "b (2 runs)": [40, 50, 60]}
    assert drawing.table["low"].notna().all()


def test_bands_that_say_something_stay_and_no_reason_is_given() -> None:
    rows = rows_of("a", width=0.2)
    rows.loc[0, ["low", "high"]] = [0, 1]  # one of three checkpoints
    drawing = drawn(figure_of(rows))
    assert "left out" not in drawing.note + text_of(drawing)
    assert spec_of(drawing)["datasets"]["curves"][0]["low"] == [0, 50, 60]


def test_lines_that_differ_in_the_marker_alone_have_it_where_points_have_none() -> None:
    margins = figure_of(rows_of("a", "b"), y=Up("accuracy", "Margin", level=0))
    drawing = drawn(margins)
    assert {line.get_marker() for line in drawing.figure.axes[0].lines} >= {"o", "s"}
    assert layers(spec_of(drawing), "point")[0]["encoding"]["shape"]["scale"]["range"] == ["circle", "square"]
    alike = drawn(replace(margins, rows=rows_of("a")))
    assert {line.get_marker() for line in alike.figure.axes[0].lines} == {"None"}
    assert len(layers(spec_of(alike), "point")) == 1  # rings under the pointer


def test_one_panel_of_lines_becomes_a_panel_for_each_level_of_a_factor() -> None:
    look = LineStyles(STYLES, {"a": "char", "b": "bpe"})
    drawing = drawn(figure_of(rows_of("b", "a"), look=look, y=Up("accuracy", "Margin", level=0)))
    assert [axes.get_title() for axes in drawing.figure.axes] == ["char", "bpe"]
    assert spec_of(drawing)["facet"]["sort"] == ["char", "bpe"]
    highest = [
        line.get_ydata()[-1] for axes in drawing.figure.axes for line in axes.lines if len(line.get_ydata()) == 3
    ]
    assert all(axes.get_ylim()[1] > max(highest) for axes in drawing.figure.axes)


def test_panels_by_phenomenon_stay_whatever_the_factor_and_others_are_not_divided() -> None:
    look = LineStyles(STYLES, {"a": "char", "b": "bpe"})
    rows = pd.concat([rows_of("a", "b", phenomenon=name) for name in ("all", "b_x", "A")], ignore_index=True)
    overall, phenomena = overall_and_phenomena(
        rows, "n", "What", "A note.", lambda own: figure_of(own, look=look)
    )
    assert [axes.get_title() for axes in overall.figure.axes] == ["char", "bpe"]
    assert [axes.get_title() for axes in phenomena.figure.axes] == ["A", "b x"]
    other = drawn(figure_of(rows_of("a", "elsewhere"), look=look))
    assert [axes.get_title() for axes in other.figure.axes] == [""]


def test_parts_of_a_line_are_told_apart_by_their_width() -> None:
    rows = pd.concat([rows_of("a", part=part) for part in ("good", "bad")], ignore_index=True)
    drawing = drawn(figure_of(rows, widths={"good": 1.5, "bad": 0.6}))
    assert [line.get_linewidth() for line in drawing.figure.axes[0].lines if len(line.get_xdata()) == 3] == [
        1.5,
        0.6,
    ]
    assert [text.get_text() for text in drawing.figure.legends[0].get_texts()] == ["a (2 runs)", "good", "bad"]
    assert layers(spec_of(drawing), "line")[0]["encoding"]["strokeWidth"]["scale"]["domain"] == ["good", "bad"]


def test_dots_are_not_joined() -> None:
    rows = pd.concat(
        [rows_of("a", source="fit"), rows_of("a", source="observed", width=np.nan)], ignore_index=True
    )
    drawing = drawn(figure_of(rows, dots=("source", "observed")))
    line, dots = (one for one in drawing.figure.axes[0].lines if len(one.get_xdata()) == 3)
    assert (line.get_linestyle(), dots.get_linestyle()) == ("-", "None")
    filters = [layers(spec_of(drawing), mark)[0]["transform"][0]["filter"] for mark in ("line", "point")]
    assert filters == ["datum.source !== 'observed'", "datum.source === 'observed'"]


def test_of_many_lines_the_band_under_the_pointer_is_seen() -> None:
    spec = spec_of(drawn(figure_of(rows_of(*"abcd"))))
    (band,) = layers(spec, "area")
    assert '"over"' in str(band["encoding"]["opacity"]["condition"]).replace("'", '"')
    over = next(one for one in spec["params"] if one["name"] == "over")
    assert (over["select"]["fields"], over["select"]["on"]) == (["line"], "pointerover")


@pytest.mark.parametrize("scale", ["linear", "falling", "log"])
def test_every_axis_is_drawn_in_both_pictures(scale: str) -> None:
    column = "flops" if scale == "log" else "bits"
    rows = rows_of("a").assign(**{column: [3.0, 2.0, 1.5]})
    drawing = drawn(figure_of(rows, x=Across(column, "Label's", scale)))
    left, right = drawing.figure.axes[0].get_xlim()
    assert (left > right) == (scale == "falling")
    x = layers(spec_of(drawing), "line")[0]["encoding"]["x"]
    assert x["title"] == "Label's"
    assert x["scale"].get("reverse", False) == (scale == "falling")
    assert render(drawing, "png") == render(drawn(figure_of(rows, x=Across(column, "Label's", scale))), "png")
