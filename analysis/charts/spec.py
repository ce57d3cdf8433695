"""The parts that all charts share, as Vega-Lite: data written small, colors, menus, zoom and the choice of a line.

A chart is a plain dict, so that making one needs neither Altair nor a browser. Its names (of runs, phenomena, linking
functions) stand in data, domains and options alone, where Vega-Lite takes them as text, never in an expression.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.plotting.style import DASHES, LineStyle

Spec = dict[str, Any]

HEIGHT = 340  # CSS pixels of the panel
PICKED, ALONE, HOVER = "picked", "alone", "hover"  # the names of what a reader chooses
_DIGITS = 5  # significant ones of the numbers in a chart
_PALE = 0.08  # opacity of the lines that were not picked
_BAND, _FEW = 0.18, 4  # opacity of a band; lines whose bands can be told apart
_BESIDE = 60  # CSS pixels beside the panel: labels and title of the vertical axis
_LETTER, _SYMBOL = 6.4, 44  # CSS pixels of a letter of the legend, and of a line's sample with its margins
_DASHES: Mapping[Any, list[float]] = dict(
    zip(DASHES, ([1, 0], [6, 3], [7, 2.5, 1.5, 2.5], [1.5, 1.5]), strict=True)
)  # matplotlib's dashes in CSS pixels
_CONFIG: Spec = {
    "font": "system-ui, 'Noto Sans CJK SC', 'WenQuanYi Zen Hei', sans-serif",
    "view": {"stroke": None},
    "axis": {"labelColor": "#333", "titleColor": "#1b1b1b", "labelFontSize": 11.5, "titleFontSize": 12.5,
             "titleFontWeight": "normal", "gridColor": "#e6e6e6", "domainColor": "#666", "tickColor": "#666"},
    "legend": {"labelColor": "#1b1b1b", "labelFontSize": 12, "titleColor": "#1b1b1b", "titleFontSize": 12},
    "title": {"anchor": "start", "fontSize": 14, "fontWeight": "normal", "color": "#1b1b1b"},
}  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A column of names of a chart, such as the phenomenon: lines, or a menu that chooses one of them."""

    name: str
    title: str
    values: tuple[str, ...]


def nest(table: pd.DataFrame, names: Sequence[str], numbers: Sequence[str]) -> list[Spec]:
    """Write a table with its names once for each line: a row holds the names and a list for each column of numbers.

    ``flatten`` makes rows of them again, in the browser. Numbers have 5 significant digits, whole ones and truth values
    are exact, and what is missing is null.
    """
    groups = table.groupby(list(names), sort=False, observed=True)
    return [
        {name: str(value) for name, value in zip(names, key, strict=True)}
        | {name: [_short(value) for value in rows[name].tolist()] for name in numbers}
        for key, rows in groups
    ]


def _short(value: object) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    number = float(str(value))
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else float(f"{number:.{_DIGITS}g}")


def flatten(numbers: Sequence[str]) -> Spec:
    """Return the transform that makes rows of what ``nest`` wrote."""
    return {"flatten": list(numbers)}


def chart(title: str, note: str, data: list[Spec], layers: Sequence[Spec], **parts: Any) -> Spec:
    """Return a whole chart, as wide as the page.

    Args:
        title: what it shows; screen readers say it with the note.
        layers: its marks, the lowest first.
        parts: further members of the chart: ``params`` and ``transform``.
    """
    return {
        "description": f"{title}. {note}", "width": "container", "height": HEIGHT,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "datasets": {"curves": data}, "data": {"name": "curves"}, **parts, "layer": list(layers), "config": _CONFIG,
    }  # fmt: skip


def menu(column: Column, value: str) -> Spec:
    """Return a menu above the chart that chooses one name of a column."""
    options = list(column.values)
    return {"name": column.name, "value": value, "bind": {"input": "select", "name": f"{column.title} ", "options": options}}


def keep_chosen(column: Column) -> Spec:
    """Return the transform that keeps what a menu chose."""
    return {"filter": f"datum.{column.name} === {column.name}"}


def alone_menu(lines: Column) -> Spec:
    """Return the menu that isolates one line, for readers who use no pointer: a legend has no keys."""
    bind = {"input": "select", "name": f"Only {lines.title.lower()} ", "options": [None, *lines.values],
            "labels": ["all", *lines.values]}  # fmt: skip
    return {"name": ALONE, "value": None, "bind": bind}


def legend_choice(lines: Column) -> Spec:
    """Return the choice of lines by clicks on the legend; with the shift key a click adds a line."""
    return {"name": PICKED, "select": {"type": "point", "fields": [lines.name]}, "bind": "legend"}


def chosen(lines: Column) -> Spec:
    """Return the test whether a row's line is picked, by legend and menu."""
    return {"and": [{"param": PICKED}, f"{ALONE} === null || datum.{lines.name} === {ALONE}"]}


def opacity(lines: Column, value: float) -> Spec:
    """Return the opacity of a mark: full while its line is picked, else pale."""
    if len(lines.values) == 1:
        return {"value": value}
    return {"condition": {"test": chosen(lines), "value": value}, "value": value * _PALE}


def band_opacity(lines: Column) -> Spec:
    """Return the opacity of bands: among many lines they are faint until a line is picked."""
    if len(lines.values) <= _FEW:
        return opacity(lines, _BAND)
    picked = {"or": [{"param": PICKED, "empty": False}, f"datum.{lines.name} === {ALONE}"]}
    return {"condition": {"test": {"and": [picked, chosen(lines)]}, "value": _BAND}, "value": _BAND * _PALE}


def zoom() -> Spec:
    """Return zoom and pan: the control key with the wheel, or a drag; a double click resets.

    The wheel alone belongs to the page, which would not scroll past a chart otherwise.
    """
    return {
        "name": "zoom", "bind": "scales", "select": {"type": "interval", "zoom": "wheel![event.ctrlKey || event.metaKey]"},
    }  # fmt: skip


def hover(fields: Sequence[str]) -> Spec:
    """Return the choice of the point under the pointer; the fields tell it from all others."""
    select = {"type": "point", "fields": list(fields), "on": "pointerover", "clear": "pointerout"}
    return {"name": HOVER, "select": select}


def colors(lines: Column, styles: Mapping[str, LineStyle]) -> Spec:
    """Return a scale that gives every line its color."""
    return {"domain": list(lines.values), "range": [styles[name].color for name in lines.values]}


def dashes(lines: Column, styles: Mapping[str, LineStyle]) -> Spec:
    """Return a scale that gives every line its dashes."""
    return {"domain": list(lines.values), "range": [_DASHES[styles[name].dashes] for name in lines.values]}


def legend(names: Iterable[str], **more: Any) -> Spec:
    """Return a legend below the chart, in as many columns as the page has room for."""
    # The panel's own width is not asked for: it follows from the layout, after the height of the legend is taken.
    room = f"((containerSize()[0] || width + {_BESIDE}) - {_BESIDE})"
    columns = {"expr": f"max(1, floor({room} / {_SYMBOL + _LETTER * max(map(len, names)):g}))"}
    return {
        "orient": "bottom", "direction": "horizontal", "columns": columns, "title": None, "symbolType": "stroke",
        "symbolSize": 300, "symbolStrokeWidth": 2.5, "symbolOpacity": 1, "labelLimit": {"expr": f"max(120, {room} - 30)"}, **more,
    }  # fmt: skip


def quantity(field: str, title: str, **more: Any) -> Spec:
    """Return the encoding of numbers of a field."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def name(field: str, **more: Any) -> Spec:
    """Return the encoding of names of a field."""
    return {"field": field, "type": "nominal", **more}
