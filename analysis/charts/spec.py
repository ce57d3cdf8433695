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

_HEIGHT = 340  # CSS pixels of the panel
_PICKED, _ALONE, _HOVER = "picked", "alone", "hover"  # the names of what a reader chooses
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
    "legend": {"labelColor": "#1b1b1b", "labelFontSize": 12, "layout": {"expr": "{bottom: {direction: 'vertical'}}"}},
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
    groups = table.groupby(list(names), sort=False, observed=True, dropna=False)
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


def chart(
    title: str, note: str, data: list[Spec], layers: Sequence[Spec], params: Sequence[Spec], transform: Sequence[Spec]
) -> Spec:
    """Return a whole chart, as wide as the page.

    Args:
        title: what it shows; screen readers say it with the note.
        layers: its marks, the lowest first. What a reader chooses in one (``params``) is lifted to the chart, with the
            name of the layer, which is how Altair writes it too.
        params: the menus.
        transform: what is done to the data.
    """
    marks = [{"name": f"marks{place}", **layer} for place, layer in enumerate(layers)]
    choices = [{**one, "views": [mark["name"]]} for mark in marks for one in mark.pop("params", [])]
    return {
        "description": f"{title}. {note}", "width": "container", "height": _HEIGHT,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "datasets": {"curves": data}, "data": {"name": "curves"}, "params": [*params, *choices],
        "transform": list(transform), "layer": marks, "config": _CONFIG,
    }  # fmt: skip


def menu(column: Column) -> Spec:
    """Return a menu above the chart that chooses one name of a column, at first its first."""
    options = list(column.values)
    bind = {"input": "select", "name": f"{column.title} ", "options": options}
    return {"name": column.name, "value": options[0], "bind": bind}


def has_menus(chart: Mapping[str, Any]) -> bool:
    """Say whether a reader can choose something else than a chart shows at first."""
    return any("value" in one for one in chart["params"])


def keep_chosen(column: Column) -> Spec:
    """Return the transform that keeps what a menu chose."""
    return {"filter": f"datum.{column.name} === {column.name}"}


def alone_menu(lines: Column) -> list[Spec]:
    """Return the menu that isolates one of several lines, for readers who use no pointer: a legend takes no keys."""
    options, labels = [None, *lines.values], ["all", *lines.values]
    bind = {"input": "select", "name": f"Only {lines.title.lower()} ", "options": options, "labels": labels}
    return [{"name": _ALONE, "value": None, "bind": bind}] if _are_several(lines) else []


def legend_choice(lines: Column) -> list[Spec]:
    """Return the choice among several lines by clicks on the legend.

    With the shift key a click adds or takes away a line; a second click on the only one shows all again, and so does a
    double click anywhere.
    """
    store = f"data('{_PICKED}_store')"
    only = f"length({store}) === 1 && datum && {store}[0].values[0] === datum.value"
    select = {
        "type": "point", "fields": [lines.name], "on": "click", "clear": "dblclick",
        "toggle": f"event.shiftKey || {only}",
    }  # fmt: skip
    choice = {"name": _PICKED, "select": select, "bind": {"legend": "click"}}
    return [choice] if _are_several(lines) else []


def keep_picked(lines: Column) -> list[Spec]:
    """Return the transform that keeps the lines picked by legend and menu."""
    return [{"filter": _picked(lines)}] if _are_several(lines) else []


def opacity(lines: Column, value: float = 1) -> Spec:
    """Return the opacity of a mark: ``value`` while its line is picked, else pale."""
    if not _are_several(lines):
        return {"value": value}
    return {"condition": {"test": _picked(lines), "value": value}, "value": value * _PALE}


def band_opacity(lines: Column) -> Spec:
    """Return the opacity of bands: among many lines they are faint until a line is picked."""
    if len(lines.values) <= _FEW:
        return opacity(lines, _BAND)
    one = {"or": [{"param": _PICKED, "empty": False}, f"datum.{lines.name} === {_ALONE}"]}
    return {"condition": {"test": {"and": [one, _picked(lines)]}, "value": _BAND}, "value": _BAND * _PALE}


def zoom() -> Spec:
    """Return zoom and pan: the control key with the wheel, and a drag; a double click resets.

    The wheel alone belongs to the page, which would otherwise not scroll past a chart.
    """
    select = {"type": "interval", "zoom": "wheel![event.ctrlKey || event.metaKey]"}
    return {"name": "zoom", "bind": "scales", "select": select}


def hover(fields: Sequence[str]) -> Spec:
    """Return the choice of the point under the pointer; the fields tell it from all others."""
    select = {"type": "point", "fields": list(fields), "on": "pointerover", "clear": "pointerout"}
    return {"name": _HOVER, "select": select}


def hovered() -> Spec:
    """Return the opacity of what only the point under the pointer has."""
    return {"condition": {"param": _HOVER, "empty": False, "value": 1}, "value": 0}


def colors(lines: Column, styles: Mapping[str, LineStyle]) -> Spec:
    """Return a scale that gives every line its color."""
    return {"domain": list(lines.values), "range": [styles[line].color for line in lines.values]}


def dashes(lines: Column, styles: Mapping[str, LineStyle]) -> Spec:
    """Return a scale that gives every line its dashes."""
    return {"domain": list(lines.values), "range": [_DASHES[styles[line].dashes] for line in lines.values]}


def legend(names: Iterable[str], *, shapes: bool = False) -> Spec:
    """Return a legend of lines, or of shapes, below the chart, in as many columns as the page has room for."""
    # The panel's own width is not asked for: it follows from the layout, after the height of the legend is taken.
    room = f"((containerSize()[0] || width + {_BESIDE}) - {_BESIDE})"
    columns = {"expr": f"max(1, floor({room} / {_SYMBOL + _LETTER * max(map(len, names)):g}))"}
    look = {"symbolSize": 55} if shapes else {"symbolType": "stroke", "symbolSize": 300, "symbolStrokeWidth": 2.5}
    return look | {
        "orient": "bottom", "direction": "horizontal", "columns": columns, "title": None, "symbolOpacity": 1,
        "labelLimit": {"expr": f"max(120, {room} - 30)"},
    }  # fmt: skip


def quantity(field: str, title: str, **more: Any) -> Spec:
    """Return the encoding of a field of numbers."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def name(field: str, **more: Any) -> Spec:
    """Return the encoding of a field of names."""
    return {"field": field, "type": "nominal", **more}


def _picked(lines: Column) -> Spec:
    return {"and": [{"param": _PICKED}, f"{_ALONE} === null || datum.{lines.name} === {_ALONE}"]}


def _are_several(lines: Column) -> bool:
    return len(lines.values) > 1
