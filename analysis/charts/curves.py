"""Interactive curves: accuracy against training tokens and against FLOPs, and the training loss.

The tables are those that the figures for papers are drawn of (``analysis.curves``), and colors and dashes are the same.
"""

import math
from collections.abc import Sequence
from typing import Literal

import pandas as pd

from analysis.charts import spec
from analysis.charts.spec import Column, Spec
from analysis.plotting.facets import OVER_RUNS, line_names
from analysis.plotting.style import TokenAxis, line_styles, percent_bottom, readable, size_colors
from ucurve.fields import format_count

Lines = Literal["group", "phenomenon"]

_TITLES = {"group": "Runs", "phenomenon": "Phenomenon", "linking": "Linking function", "model": "Model"}
_MARGIN = 1.1  # between the marks and the end of a log axis, as a factor
_TOKENS = "replace(replace(format(datum.value, '~s'), 'G', 'B'), 'k', 'K')"
_EXPONENT = "floor(log(datum.value) / LN10 + 1e-9)"
_DIGIT = f"round(datum.value / pow(10, {_EXPONENT}))"
_DECADE = "(width * LN10 / log(domain('x')[1] / domain('x')[0]))"  # pixels
_HAS_ROOM = f"{_DECADE} > 420 || {_DIGIT} === 1 || {_DECADE} > 110 && ({_DIGIT} === 2 || {_DIGIT} === 5)"
_RAISED = "['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹']"
_POWER = (
    f"({_DIGIT} === 1 ? '' : format({_DIGIT}, 'd') + '×') + '10' + "
    f"({_EXPONENT} < 10 ? '' : {_RAISED}[floor({_EXPONENT} / 10)]) + {_RAISED}[{_EXPONENT} % 10]"
)
_SHAPES = ("circle", "square", "diamond", "triangle-down", "triangle-up", "cross", "stroke")
_LEVELS = ([6, 2], [3, 1.5], [7, 2.5, 1.5, 2.5], [1, 1.5])


def learning_chart(
    table: pd.DataFrame, title: str, note: str, lines: Lines = "group", linking: str | None = None
) -> Spec:
    """Return the chart of accuracy against training tokens.

    Args:
        table: rows of ``curve_table``, where wanted of several linking functions, named in a column ``linking``.
        lines: what the lines are. Of the other columns of names, those with several values have a menu.
        linking: the linking function that the menu begins with.
    """
    drawn = _named(table)
    axis, lowest = TokenAxis(drawn["tokens"]), float(drawn[["low", "accuracy"]].min().min())
    names = [name for name in ("linking", "group", "phenomenon") if name in drawn]
    numbers = ["step", "tokens", "runs", "accuracy", "low", "high", "whole"]
    columns = {name: _column(drawn, name) for name in names}
    line = columns.pop(lines)
    menus = [column for column in columns.values() if len(column.values) > 1]
    begin = {"linking": linking} if linking in columns.get("linking", line).values else {}
    data = spec.nest(_in_percent(drawn), names, numbers)
    x = spec.quantity("place", "Training tokens (log scale)", **_token_axis(axis))
    y = _percent_axis(lowest)
    transform = [
        *(spec.keep_chosen(column) for column in menus), spec.flatten(numbers),
        {"calculate": f"datum.tokens > 0 ? datum.tokens : {axis.zero:.5g}", "as": "place"}, _band_text(),
    ]  # fmt: skip
    tooltip = [
        *(spec.name(name, title=_TITLES[name]) for name in names), *_values_of_accuracy(),
        spec.quantity("runs", "Number of runs", format=","), spec.quantity("step", "Step", format=","),
        spec.quantity("tokens", "Tokens", format=","),
    ]  # fmt: skip
    marks = [_chance(), *_untrained(axis, drawn), *_line_marks(line, x, y, tooltip, drawn)]
    params = [spec.menu(column, begin.get(column.name, column.values[0])) for column in menus]
    return spec.chart(title, note, data, marks, params=[*params, *_line_menu(line)], transform=transform)


def flops_chart(table: pd.DataFrame, title: str, note: str) -> Spec:
    """Return the chart of accuracy against training FLOPs.

    Args:
        table: rows of ``flops_table``; level lines, where there are some, are rows whose column ``reference`` is not
            empty (``analysis.curves.flops.with_references``). Several phenomena have a menu.
    """
    drawn = _in_percent(_named(table))
    points, levels = (drawn[drawn["reference"].ne("") == level] for level in (False, True))
    parameters = points.groupby("model")["parameters"].first().astype(float).sort_values(kind="stable")
    labels = {str(model): _model_label(str(model), size) for model, size in parameters.items()}
    line = Column("model", _TITLES["model"], tuple(labels.values()))
    colors = {"domain": list(line.values), "range": list(size_colors(list(labels)).values())}
    phenomena = _column(drawn, "phenomenon")
    menus = [phenomena] if len(phenomena.values) > 1 else []
    numbers = ["step", "flops", "tokens", "runs", "accuracy", "low", "high", "final", "over_runs"]
    points = points.assign(model=points["model"].astype(str).map(labels), over_runs=points["band"].eq(OVER_RUNS))
    data = spec.nest(points, ["group", "model", "variant", "series", "phenomenon"], numbers)
    low, high = float(points["flops"].min()), float(points["flops"].max())
    x = spec.quantity("flops", "Training FLOPs (6ND, log scale)", scale=_log_scale(low, high),
                      axis=_log_axis(_POWER))
    y = _percent_axis(float(drawn[["low", "accuracy"]].min().min()) / 100)
    transform = [*map(spec.keep_chosen, menus), spec.flatten(numbers), _band_text()]
    tooltip = [
        spec.name("group", title="Runs"), line_field := spec.name("model", title="Model"),
        spec.name("phenomenon", title="Phenomenon"), *_values_of_accuracy(), spec.quantity("runs", "Number of runs", format=","),
        spec.quantity("flops", "FLOPs", format=".3~e"), spec.quantity("tokens", "Tokens", format=","),
        spec.quantity("step", "Step", format=","),
    ]  # fmt: skip
    color = {**line_field, "scale": colors, "legend": spec.legend(line.values)}
    variants = sorted(set(points["variant"].astype(str)))
    shape = spec.name("variant", scale={"domain": variants, "range": [_SHAPES[i % 7] for i in range(len(variants))]},
                      legend=spec.legend(variants) if len(variants) > 1 else None)  # fmt: skip
    where = {"x": x, "y": y}
    final: list[Spec] = [{"filter": "datum.final"}]
    marks = [
        _chance(), *_level_lines(levels, menus),
        {"mark": {"type": "line", "strokeWidth": 1.2},
         "params": [spec.zoom(), *([spec.legend_choice(line)] if len(line.values) > 1 else [])],
         "encoding": where | {"color": color, "detail": {"field": "group"}, "opacity": spec.opacity(line, 0.4)}},
        {"mark": {"type": "line", "strokeDash": [1.5, 2]}, "transform": final,
         "encoding": where | {"color": color, "detail": [{"field": "series"}, {"field": "variant"}],
                              "opacity": spec.opacity(line, 1)}},
        {"mark": {"type": "rule"}, "transform": [{"filter": "datum.final && datum.over_runs && isValid(datum.low)"}],
         "encoding": where | {"y": spec.quantity("low", y["title"]), "y2": {"field": "high"}, "color": color,
                              "opacity": spec.opacity(line, 1)}},
        {"mark": {"type": "point", "filled": True, "size": 55}, "transform": final,
         "encoding": where | {"color": color, "shape": shape, "opacity": spec.opacity(line, 1)}},
        _hover_mark(line, where, tooltip),
    ]  # fmt: skip
    params = [*(spec.menu(column, column.values[0]) for column in menus), *_line_menu(line)]
    return spec.chart(title, note, data, marks, params=params, transform=transform)


def loss_chart(table: pd.DataFrame, title: str, note: str) -> Spec:
    """Return the chart of bits per byte against training tokens, for the rows of ``loss_table``."""
    drawn = _named(table)
    line = _column(drawn, "group")
    numbers = ["tokens", "steps", "runs", "bits_per_byte", "low", "high"]
    low, high = float(drawn["tokens"].min()), float(drawn["tokens"].max())
    x = spec.quantity("tokens", "Training tokens (log scale)", scale=_log_scale(low, high), axis=_log_axis(_TOKENS))
    y = spec.quantity("bits_per_byte", "Loss (bits per byte)", scale={"zero": False})
    tooltip = [
        spec.name("group", title="Runs"), spec.name("loss", title="Loss"),
        spec.quantity("bits_per_byte", "Bits per byte", format=".4~f"), spec.name("band", title="Band"),
        spec.quantity("runs", "Number of runs", format=","), spec.quantity("steps", "Mean over steps", format=","),
        spec.quantity("tokens", "Tokens", format=","),
    ]  # fmt: skip
    held_out = {"mark": {"type": "point", "filled": True, "size": 22}, "transform": [{"filter": "datum.loss === 'held-out'"}],
                "encoding": {"x": x, "y": y, "color": _color(line), "opacity": spec.opacity(line, 1)}}  # fmt: skip
    training = {"filter": "datum.loss === 'training'"}
    marks = [
        *({**mark, "transform": [training]} for mark in _band_and_line(line, x, y, drawn)),
        *([held_out] if drawn["loss"].eq("held-out").any() else []), _hover_mark(line, {"x": x, "y": y}, tooltip),
    ]  # fmt: skip
    transform = [spec.flatten(numbers), _band_text(".4~f")]
    data = spec.nest(drawn, ["loss", "group"], numbers)
    return spec.chart(title, note, data, marks, params=_line_menu(line), transform=transform)


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """Name runs and phenomena as the figures do; without a score a column of phenomena says ``all phenomena``."""
    names: dict[str, pd.Series] = {}
    if "group" in table:
        names["group"] = table["group"].map(line_names(table["group"].dropna().unique(), table)).fillna("")
    if "phenomenon" in table:
        names["phenomenon"] = table["phenomenon"].astype(str).map(
            lambda name: "all phenomena" if name == "all" else readable(name)
        )
    return table.assign(**names)


def _column(table: pd.DataFrame, name: str) -> Column:
    values = [str(value) for value in table[name].unique() if value != ""]
    return Column(name, _TITLES[name], tuple(sorted(values, key=_phenomenon_order) if name == "phenomenon" else values))


def _phenomenon_order(name: str) -> tuple[bool, str]:
    return name != "all phenomena", name.casefold()


def _in_percent(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(**{name: 100 * table[name].astype(float) for name in ("accuracy", "low", "high")})


def _model_label(model: str, parameters: float) -> str:
    counted = "" if math.isnan(parameters) else f" ({format_count(int(float(f'{parameters:.3g}')))} parameters)"
    return model + counted


def _line_menu(line: Column) -> list[Spec]:
    return [spec.alone_menu(line)] if len(line.values) > 1 else []


def _color(line: Column) -> Spec:
    scale = spec.colors(line, line_styles(line.values))
    return spec.name(line.name, scale=scale, legend=spec.legend(line.values))


def _band_and_line(line: Column, x: Spec, y: Spec, table: pd.DataFrame) -> list[Spec]:
    dash = _color(line) | {"scale": spec.dashes(line, line_styles(line.values))}
    params = [spec.zoom(), *([spec.legend_choice(line)] if len(line.values) > 1 else [])]
    band = {
        "mark": {"type": "area", "clip": True, "aria": False},
        "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": _color(line),
                     "opacity": spec.band_opacity(line)},
    }  # fmt: skip
    mean = {
        "mark": {"type": "line", "clip": True}, "params": params,
        "encoding": {"x": x, "y": y, "color": _color(line), "strokeDash": dash, "opacity": spec.opacity(line, 1)},
    }  # fmt: skip
    return [band, mean] if table["low"].notna().any() else [mean]


def _line_marks(line: Column, x: Spec, y: Spec, tooltip: Sequence[Spec], table: pd.DataFrame) -> list[Spec]:
    encoding = {"x": x, "y": y, "color": _color(line), "opacity": spec.opacity(line, 1)}
    mark = {"type": "point", "clip": True, "aria": False}
    points: list[Spec] = [{"mark": mark | {"filled": True, "size": 26}, "encoding": encoding}]
    if not table["whole"].all():
        some = {"mark": mark | {"fill": "white", "size": 20, "strokeWidth": 1}, "encoding": encoding}
        points.append(some | {"transform": [{"filter": "!datum.whole"}]})
    return [*_band_and_line(line, x, y, table), *points, _hover_mark(line, {"x": x, "y": y}, tooltip)]


def _hover_mark(line: Column, where: Spec, tooltip: Sequence[Spec]) -> Spec:
    """Return the rings around points: seen under the pointer, with what the point stands for, and said by readers."""
    ring = {"condition": {"param": spec.HOVER, "empty": False, "value": 1}, "value": 0}
    transform = [{"filter": spec.chosen(line)}] if len(line.values) > 1 else []
    fields = [one["field"] for one in tooltip if one["field"] != "band"]
    mark = {"type": "point", "clip": True, "size": 150, "fill": "transparent", "stroke": "#1b1b1b", "strokeWidth": 1.4}
    return {
        "mark": mark | {"opacity": 1}, "params": [spec.hover(fields)], "transform": transform,
        "encoding": {**where, "strokeOpacity": ring, "tooltip": list(tooltip)},
    }  # fmt: skip


def _values_of_accuracy() -> list[Spec]:
    return [spec.quantity("accuracy", "Accuracy (%)", format=".2f"), spec.name("band", title="Band (%)")]


def _band_text(form: str = ".2f") -> Spec:
    text = f"format(datum.low, '{form}') + ' to ' + format(datum.high, '{form}')"
    return {"calculate": f"isValid(datum.low) && isValid(datum.high) ? {text} : '–'", "as": "band"}


def _percent_axis(lowest: float) -> Spec:
    scale = {"domain": [100 * percent_bottom(lowest), 101], "nice": False, "zero": False}
    return spec.quantity("accuracy", "Accuracy (%)", scale=scale, axis={"grid": True})


def _log_scale(low: float, high: float) -> Spec:
    return {"type": "log", "domain": [low / _MARGIN, high * _MARGIN], "nice": False}


def _token_axis(axis: TokenAxis) -> Spec:
    """Return scale and axis of training tokens; left of the first tokens, where only 0 has a place, are no labels."""
    before = f"datum.value < {axis.first * 0.999:.5g}"
    return {
        "scale": _log_scale(axis.zero, axis.last),
        "axis": _log_axis(_TOKENS, before)
        | {"tickOpacity": {"condition": {"test": before, "value": 0}, "value": 1}},
    }


def _log_axis(label: str, never: str = "false") -> Spec:
    """Return a log axis with labels and grid lines where there is room for them: at 1, at 1, 2 and 5, or everywhere."""
    return {
        "labelExpr": f"{never} || !({_HAS_ROOM}) ? '' : {label}", "labelOverlap": True,
        "gridOpacity": {"condition": {"test": f"{never} || {_DIGIT} !== 1", "value": 0}, "value": 1},
    }  # fmt: skip


def _chance() -> Spec:
    return {
        "data": {"values": [{}]}, "mark": {"type": "rule", "color": "#767676", "strokeDash": [1, 3], "clip": True, "aria": False},
        "encoding": {"y": {"datum": 50}},
    }  # fmt: skip


def _untrained(axis: TokenAxis, table: pd.DataFrame) -> list[Spec]:
    """Return the label of the place of models before training, which stays with it under zoom and pan."""
    if not table["tokens"].eq(0).any():
        return []
    inside = {"condition": {"test": "inrange(datum.place, domain('x'))", "value": 1}, "value": 0}
    at = {"field": "place", "type": "quantitative"}
    data = {"values": [{"place": float(f"{axis.zero:.5g}")}]}
    return [
        {"data": data, "mark": {"type": "rule", "color": "#999", "strokeDash": [4, 3], "clip": True, "aria": False},
         "encoding": {"x": at}},
        {"data": data, "mark": {"type": "text", "text": "untrained", "clip": False, "y": {"expr": "height + 13"}, "fontSize": 11.5,
                                "color": "#333", "aria": False},
         "encoding": {"x": at, "opacity": inside}},
    ]  # fmt: skip


def _level_lines(levels: pd.DataFrame, menus: Sequence[Column]) -> list[Spec]:
    if levels.empty:
        return []
    names = list(dict.fromkeys(levels["reference"].astype(str)))
    dash = spec.name("reference", legend=spec.legend(names, symbolType="stroke"),
                     scale={"domain": names, "range": [_LEVELS[i % len(_LEVELS)] for i in range(len(names))]})  # fmt: skip
    return [{
        "data": {"values": spec.nest(levels, ["reference", "phenomenon"], ["accuracy"])},
        "transform": [*map(spec.keep_chosen, menus), spec.flatten(["accuracy"])],
        "mark": {"type": "rule", "color": "#404040"},
        "encoding": {"y": spec.quantity("accuracy", "Accuracy (%)"), "strokeDash": dash,
                     "tooltip": [spec.name("reference", title="Level"), *_values_of_accuracy()[:1]]},
    }]  # fmt: skip
