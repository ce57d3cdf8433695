"""The parts that all charts share: data written small, colors, menus, zoom and the choice of a line.

Names of runs, phenomena and linking functions stand in data, domains and options only, where Vega-Lite takes them as
text, never in an expression.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import altair as alt
import pandas as pd
from matplotlib.typing import LineStyleType

from ucurve.analysis.charts.offline import LayeredChart, PanelChart
from ucurve.analysis.plotting.style import DASHES, MARKERS, MOST_BANDS, NUMBERED, LineStyle

CURVES, LEVELS = "curves", "levels"  # the names of the data
Rows = list[dict[str, object]]
Chart = TypeVar("Chart", LayeredChart, PanelChart)
TITLES = {
    "linking": "Linking function", "line": "Line", "model": "Model", "phenomenon": "Phenomenon", "value": "Value",
    "curve": "Curve", "panel": "Panel", "loss": "Loss", "reference": "Level", "accuracy": "Accuracy (%)",
    "band": "Band (%)", "bits_per_byte": "Bits per byte", "number": "Value", "flops": "FLOPs",
    "runs": "Number of runs", "step": "Step", "steps": "Mean over steps", "tokens": "Tokens", "n": "Pairs",
}  # fmt: skip
_FORMATS = {"accuracy": ".2f", "bits_per_byte": ".4~f", "flops": ".3~e", "number": ".4f"} | dict.fromkeys(
    ("runs", "step", "steps", "tokens", "n"), ","
)  # of d3, of the fields that are numbers

_HEIGHT = 340  # CSS pixels of the panel
PANEL, _ACROSS = (165, 105), 5  # CSS pixels of a small panel; panels beside each other
_LARGE_PANEL, _FEW_ACROSS, _FEW_PANELS = (290, 200), 3, 6  # of a few panels
_PICKED, _ALONE, _HOVER, _OVER = "picked", "alone", "hover", "over"  # the names of what a reader chooses
_CLICKED, _AT = "clicked", "at"
_DIGITS = 5  # significant ones of the numbers in a chart
_PALE = 0.08  # opacity of the lines that were not picked
BAND = 0.18  # opacity of a band
_BESIDE = 60  # CSS pixels beside the panel: labels and title of the vertical axis
_LETTER, _SYMBOL = 6.4, 44  # CSS pixels of a letter of the legend, and of a line's sample with its margins
_DASHES: dict[LineStyleType, list[float]] = dict(
    zip(DASHES, ([1, 0], [6, 3], [7, 2.5, 1.5, 2.5], [1.5, 1.5]), strict=True)
)  # in CSS pixels
_SHAPES = dict(
    zip(MARKERS, ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross"), strict=True)
)
# Colors that depend on the page stand here and in no mark, so that a dark page can give others.
_CONFIG = {
    "font": "system-ui, 'Noto Sans CJK SC', 'WenQuanYi Zen Hei', sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "#333",
        "titleColor": "#1b1b1b",
        "labelFontSize": 11.5,
        "titleFontSize": 12.5,
        "titleFontWeight": "normal",
        "gridColor": "#e6e6e6",
        "domainColor": "#666",
        "tickColor": "#666",
    },
    "legend": {
        "labelColor": "#1b1b1b",
        "labelFontSize": 12,
        "layout": {"expr": "{bottom: {direction: 'vertical'}}"},
    },
    "title": {"anchor": "start", "fontSize": 14, "fontWeight": "normal", "color": "#1b1b1b"},
    "header": {
        "labelColor": "#1b1b1b",
        "labelFontSize": 12,
        "labelAnchor": "start",
        "titleOrient": "bottom",
        "titleColor": "#1b1b1b",
        "titleFontSize": 12.5,
        "titleFontWeight": "normal",
    },
    "style": {
        "chance": {"color": "#767676"},
        "untrained": {"color": "#999"},
        "ring": {"color": "#1b1b1b"},
        "untrained-label": {"color": "#333", "fontSize": 11.5},
        "partial": {"fill": "white"},
        "level": {"color": "#404040"},
        "chosen": {"color": "#1b1b1b"},
    },
}


@dataclass(frozen=True)
class NameColumn:
    """A column of names of a chart, such as the phenomenon: lines, or a menu that chooses one of them."""

    name: str
    title: str
    values: tuple[str, ...]
    styles: tuple[LineStyle, ...] = ()  # of lines; numbered where there are none

    @property
    def look(self) -> dict[str, LineStyle]:
        """The style of each value."""
        return dict(zip(self.values, self.styles, strict=True)) if self.styles else NUMBERED(self.values)

    @property
    def has_several(self) -> bool:
        """Whether there is something to choose."""
        return len(self.values) > 1


def nest(table: pd.DataFrame, names: Sequence[str], numbers: Sequence[str]) -> Rows:
    """Write a table with its names once for each line, and a list for each column of numbers, which the chart flattens.

    Numbers have 5 significant digits, whole ones and truth values are exact, and what is missing is null.
    """
    values = {name: [_short(value) for value in table[name].tolist()] for name in numbers}
    groups = table.reset_index(drop=True).groupby(list(names), sort=False, observed=True, dropna=False)
    return [
        {name: str(value) for name, value in zip(names, key, strict=True)}
        | {name: [values[name][place] for place in rows.index] for name in numbers}
        for key, rows in groups
    ]


def _short(value: object) -> object:
    """Return a number in as few digits as a chart needs; None for a missing one, and for infinity."""
    if value is None or isinstance(value, bool | int):
        return value
    number = float(str(value))
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else float(f"{number:.{_DIGITS}g}")


def layered(
    layers: Sequence[alt.Chart], menus: Sequence[NameColumn], lines: NameColumn, numbers: Sequence[str]
) -> LayeredChart:
    """Put marks, the lowest first, into one chart as wide as the page, which has no data yet (``filled``).

    Each menu above it chooses one name of a column; another isolates one of several lines, because a legend takes no
    keys. ``numbers`` are the columns that ``nest`` writes as lists.
    """
    choices = [
        alt.param(
            one.name, value=one.values[0], bind=alt.binding_select(options=list(one.values), name=f"{one.title} ")
        )
        for one in menus
    ]
    if lines.has_several:
        options, labels = [None, *lines.values], ["all", *lines.values]
        only = alt.binding_select(options=options, labels=labels, name=f"Only {lines.title.lower()} ")
        choices.append(alt.param(_ALONE, value=None, bind=only))
    marks = [layers[0].add_params(*choices), *layers[1:]]
    for place, mark in enumerate(marks):
        mark.name = f"marks{place}"
    return _chart_of(marks, _HEIGHT, menus, numbers)


def _chart_of(
    marks: list[alt.Chart], height: int, menus: Sequence[NameColumn], numbers: Sequence[str]
) -> LayeredChart:
    """Put marks into one panel, with the filters of its menus."""
    # Given at once: each of Altair's methods for one of them makes all layers anew.
    chosen = [alt.FilterTransform(filter=keep_chosen(column)) for column in menus]
    return LayeredChart(
        data=alt.NamedData(CURVES),
        layer=marks,
        width="container",
        height=height,
        config=_CONFIG,
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        transform=[*chosen, alt.FlattenTransform(flatten=list(numbers))],
    )


def small(layers: Sequence[alt.Chart], numbers: Sequence[str]) -> LayeredChart:
    """Put marks into one small panel without legend; the page sets the parameters ``at`` and ``alone``."""
    marks = [layers[0].add_params(alt.param(_AT, value=None), alt.param(_ALONE, value=None)), *layers[1:]]
    return _chart_of(marks, PANEL[1], (), numbers)


def panel_size(panels: NameColumn) -> tuple[int, int]:
    """Return width and height of each panel in CSS pixels; a few panels are larger."""
    return _LARGE_PANEL if len(panels.values) <= _FEW_PANELS else PANEL


def in_panels(chart: LayeredChart, panels: NameColumn, title: str) -> PanelChart:
    """Give each value of a column a small panel of a chart; the title stands below."""
    one = chart.copy(deep=False)
    one.data, one.config, one.autosize = alt.Undefined, alt.Undefined, alt.Undefined
    one.width, one.height = panel_size(panels)
    return PanelChart(
        data=alt.NamedData(CURVES),
        spec=one,
        facet=alt.Facet(field=panels.name, type="nominal", sort=list(panels.values), title=title),
        columns=_FEW_ACROSS if panel_size(panels) == _LARGE_PANEL else _ACROSS,
        spacing={"row": 14, "column": 14},
        config=_CONFIG,
    )


def filled(chart: Chart, title: str, note: str, data: Mapping[str, Rows]) -> Chart:
    """Return a chart with its data; screen readers say title and note."""
    copy = chart.copy(deep=False)
    copy.description, copy.datasets = f"{title}. {note}", dict(data)
    return copy


def has_menus(chart: alt.LayerChart | alt.FacetChart) -> bool:
    """Return whether a chart has menus that choose what it shows."""
    return isinstance(chart.params, list) and any(isinstance(one, alt.VariableParameter) for one in chart.params)


def keep_chosen(column: NameColumn) -> str:
    """Return the filter that keeps what a menu chose."""
    return f"datum.{column.name} === {column.name}"


def zoom_and_legend(lines: NameColumn, *, by_line: bool = True, zoom: bool = True) -> list[alt.Parameter]:
    """Return what a reader does with pointer and keys; one mark of a chart has it (``add_params``).

    A drag moves, a double click resets. A click on the legend (``by_line``: on the line too) isolates one of several
    lines, with the shift key it adds or takes away one; a second click on the only one shows all again.
    """
    wheel = "wheel![event.ctrlKey || event.metaKey]"  # the wheel alone scrolls the page
    zooms = [alt.selection_interval(name="zoom", bind="scales", zoom=wheel)] if zoom else []
    if not lines.has_several:
        return zooms
    store = f"data('{_PICKED}_store')"
    only = f"length({store}) === 1 && datum && {store}[0].values[0] === datum.value"
    picked = alt.selection_point(
        name=_PICKED,
        fields=[lines.name],
        toggle=f"event.shiftKey || {only}",
        bind="legend",
        on="click" if by_line else alt.Undefined,
        clear="dblclick" if by_line else alt.Undefined,  # fails to compile without ``on``
    )
    return [*zooms, picked]


def _in_menu(lines: NameColumn) -> str:
    return f"{_ALONE} === null || datum.{lines.name} === {_ALONE}"


def opacity_alone(lines: NameColumn) -> alt.OpacityValue:
    """Return the opacity of a mark of a small panel, where no legend picks lines."""
    return alt.OpacityValue(_PALE, condition={"test": _in_menu(lines), "value": 1})


def opacity(lines: NameColumn, value: float = 1, *, of_band: bool = False) -> alt.OpacityValue:
    """Return the opacity of a mark, pale where its line is not picked.

    Of many bands those of lines are seen that are picked, or under the pointer (``rings``).
    """
    if not lines.has_several:
        return alt.OpacityValue(value)
    one = {"or": [{"param": _PICKED, "empty": False}, f"datum.{lines.name} === {_ALONE}"]}
    picked = {"and": [{"param": _PICKED}, _in_menu(lines)]}  # by both legend and menu
    if of_band and len(lines.values) > MOST_BANDS:
        seen = {"or": [{"and": [one, picked]}, {"param": _OVER, "empty": False}]}
        return alt.OpacityValue(0, condition={"test": seen, "value": value})
    return alt.OpacityValue(value * _PALE, condition={"test": picked, "value": value})


def rings(
    base: alt.Chart, lines: NameColumn, tips: Sequence[alt.Tooltip], clicked_by: Sequence[str] | None = None
) -> alt.Chart:
    """Return rings around the points: seen under the pointer, with the values, which screen readers say too.

    In a page that listens to the signal ``clicked``, the ring of a point that was clicked stays.
    """
    facts = {str(tip["field"]): tip["title"] for tip in tips}
    said = " + '; ' + ".join(f"{json.dumps(f'{title}: ')} + datum.{field}" for field, title in facts.items())
    fields = [field for field in facts if not field.endswith("band")]
    choices = [alt.selection_point(name=_HOVER, fields=fields, on="pointerover", clear="pointerout")]
    if clicked_by:
        choices.append(alt.selection_point(name=_CLICKED, fields=list(clicked_by), on="click", clear=False))
    shown = [{"param": choice.name, "empty": False, "value": 1} for choice in choices]
    over = alt.selection_point(name=_OVER, fields=[lines.name], on="pointerover", clear="pointerout")
    look: alt.Chart = base.mark_point(
        clip=True,
        size=150,
        fill="transparent",
        style="ring",
        strokeWidth=1.4,
        opacity=1,
        description=alt.ExprRef(said),
        cursor="pointer" if clicked_by else alt.Undefined,
    ).encode(strokeOpacity=alt.StrokeOpacityValue(0, condition=shown), tooltip=list(tips))
    if lines.has_several:  # a line that is not picked has no rings, else its values would be shown all the same
        look = look.transform_filter(alt.ParameterPredicate(param=_PICKED)).transform_filter(_in_menu(lines))
    return look.add_params(*choices, over)


def color(lines: NameColumn, *, has_legend: bool = True) -> alt.Color:
    """Return the colors of lines, with a legend."""
    scale = alt.Scale(domain=list(lines.values), range=[style.color for style in lines.look.values()])
    shown = legend(lines.values) if has_legend else None
    return alt.Color(field=lines.name, type="nominal", scale=scale, legend=shown)


def dashes(lines: NameColumn, *, has_legend: bool = True) -> alt.StrokeDash:
    """Return the dashes of lines, in the same legend."""
    scale = alt.Scale(domain=list(lines.values), range=[dash_array(style) for style in lines.look.values()])
    shown = legend(lines.values) if has_legend else None
    return alt.StrokeDash(field=lines.name, type="nominal", scale=scale, legend=shown)


def widths(names: Mapping[str, float]) -> alt.StrokeWidth:
    """Return the widths of the values of ``part``, with a legend of their own; those on paper are in points."""
    scale = alt.Scale(domain=list(names), range=[1.6 * width for width in names.values()])
    return alt.StrokeWidth(
        field="part", type="ordinal", sort=list(names), scale=scale, legend=legend(list(names))
    )


def with_markers(points: alt.Chart, lines: NameColumn) -> alt.Chart:
    """Give points the marker of their line, in the legend too, where lines have several."""
    markers = [_SHAPES[style.marker] for style in lines.look.values()]
    if len(set(markers)) < 2:
        return points
    scale = alt.Scale(domain=list(lines.values), range=markers)
    marked: alt.Chart = points.encode(
        shape=alt.Shape(field=lines.name, type="nominal", scale=scale, legend=legend(lines.values))
    )
    return marked


def dash_array(style: LineStyle) -> list[float]:
    """Return the dashes of a line in CSS pixels, for a legend outside of the chart."""
    return _DASHES[style.dashes]


def legend(names: Sequence[str], *, shapes: bool = False) -> alt.Legend:
    """Return a legend of lines, or of shapes, below the chart, in as many columns as the page has room for."""
    # The panel's own width is not asked for: it follows from the layout, after the height of the legend is taken.
    room = f"((containerSize()[0] || width + {_BESIDE}) - {_BESIDE})"
    letters = max(map(len, names), default=0)
    look = {"symbolSize": 55} if shapes else {"symbolType": "stroke", "symbolSize": 300, "symbolStrokeWidth": 2.5}
    return alt.Legend(
        orient="bottom",
        direction="horizontal",
        title=None,
        symbolOpacity=1,
        columns=alt.ExprRef(f"max(1, floor({room} / {_SYMBOL + _LETTER * letters:g}))"),
        labelLimit=alt.ExprRef(f"max(120, {room} - 30)"),
        **look,
    )


def tips(fields: Iterable[str]) -> list[alt.Tooltip]:
    """Return the values of a point that are shown under the pointer: numbers, and names for all other fields."""
    return [
        alt.Tooltip(
            field=field,
            type="quantitative" if field in _FORMATS else "nominal",
            title=TITLES.get(field, field.capitalize()),
            format=_FORMATS.get(field, alt.Undefined),
        )
        for field in fields
    ]


def with_band_text(chart: LayeredChart, form: str) -> LayeredChart:
    """Write the ends of each point's band as a text."""
    text = f"format(datum.low, '{form}') + ' to ' + format(datum.high, '{form}')"
    return chart.transform_calculate(band=f"isValid(datum.low) && isValid(datum.high) ? {text} : '–'")
