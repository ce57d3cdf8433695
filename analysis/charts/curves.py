"""Interactive curves: accuracy against training tokens and against FLOPs, and the training loss.

The tables are those that the figures for papers are drawn of (``analysis.curves``), and colors and dashes are the same.
"""

import math
from collections.abc import Sequence
from typing import Literal

import pandas as pd

from analysis.charts import axes, spec
from analysis.charts.spec import Column, Spec
from analysis.plotting.facets import OVER_RUNS, line_names
from analysis.plotting.style import TokenAxis, line_styles, readable, size_colors
from ucurve.fields import format_count

Lines = Literal["group", "phenomenon", "value"]

ALL = "all phenomena"
_TITLES = {"linking": "Linking function", "group": "Runs", "phenomenon": "Phenomenon", "value": "Value", "loss": "Loss"}
_SHAPES = ("circle", "square", "diamond", "triangle-down", "triangle-up", "cross", "triangle-left")
_LEVEL_DASHES = ([6, 2], [3, 1.5], [7, 2.5, 1.5, 2.5], [1, 1.5])


def learning_chart(table: pd.DataFrame, title: str, note: str, lines: Lines = "group") -> Spec:
    """Return the chart of accuracy against training tokens.

    Args:
        table: rows of ``curve_table``, where wanted of several linking functions, named in a column ``linking``.
        lines: what the lines are. Of the other columns of names, those with several values have a menu, which begins
            with the first.
    """
    named, axis = _with_names(table), TokenAxis(table["tokens"])
    columns = {name: _column(named, name) for name in _TITLES if name in named}
    line = columns[lines]
    menus = [column for column in columns.values() if column != line and len(column.values) > 1]
    numbers = ["step", "tokens", "runs", "accuracy", "low", "high", "whole"]
    where = {"x": axes.token_axis(axis), "y": axes.percent_axis(table)}
    marks = [
        axes.chance_line(), *axes.untrained_place(axis, table["tokens"]), *_band_and_line(line, where, table),
        *_points(line, where, partial=not table["whole"].all()),
        _rings(line, where, [*_name_values(columns), *_accuracy_values(), *_counts("runs", "step", "tokens")]),
    ]  # fmt: skip
    return spec.chart(
        title, note, spec.nest(_in_percent(named), list(columns), numbers), marks,
        params=[*map(spec.menu, menus), *spec.alone_menu(line)],
        transform=[*map(spec.keep_chosen, menus), spec.flatten(numbers), axes.token_place(axis), _band_text(".2f")],
    )  # fmt: skip


def flops_chart(table: pd.DataFrame, title: str, note: str) -> Spec:
    """Return the chart of accuracy against training FLOPs; several phenomena have a menu.

    Args:
        table: rows of ``flops_table`` with ``reference``, which is empty but for level lines: a name, with accuracies.
    """
    named = _with_names(table)
    is_point = named["reference"] == ""
    points, levels = named[is_point], named[~is_point]
    labels = _model_labels(points)
    models = Column("model", "Model", tuple(labels.values()))
    phenomena = _column(named, "phenomenon")
    menus = [phenomena] if len(phenomena.values) > 1 else []
    points = points.assign(model=points["model"].astype(str).map(labels), several=points["band"].eq(OVER_RUNS))
    names = ["group", "model", "variant", "series", "phenomenon"]
    numbers = ["step", "flops", "tokens", "runs", "accuracy", "low", "high", "final", "several"]
    where = {"x": axes.flops_axis(points["flops"]), "y": axes.percent_axis(table)}
    columns = {"group": _column(points, "group"), "model": models, "phenomenon": phenomena}
    flops = spec.quantity("flops", "FLOPs", format=".3~e")
    marks = [
        axes.chance_line(), *_level_lines(levels, menus), *_model_lines(models, list(labels), where, points),
        _rings(models, where, [*_name_values(columns), *_accuracy_values(), flops, *_counts("runs", "step", "tokens")]),
    ]  # fmt: skip
    return spec.chart(
        title, note, spec.nest(_in_percent(points), names, numbers), marks,
        params=[*map(spec.menu, menus), *spec.alone_menu(models)],
        transform=[*map(spec.keep_chosen, menus), spec.flatten(numbers), _band_text(".2f")],
    )  # fmt: skip


def loss_chart(table: pd.DataFrame, title: str, note: str) -> Spec:
    """Return the chart of bits per byte against training tokens, for the rows of ``loss_table``."""
    named = _with_names(table)
    columns = {name: _column(named, name) for name in ("group", "loss")}
    line, kinds = columns["group"], columns["loss"].values
    numbers = ["tokens", "steps", "runs", "bits_per_byte", "low", "high"]
    y = spec.quantity("bits_per_byte", "Loss (bits per byte)", scale={"zero": False})
    where = {"x": axes.trained_axis(table["tokens"]), "y": y}
    value = spec.quantity("bits_per_byte", "Bits per byte", format=".4~f")
    training = {"transform": [{"filter": "datum.loss === 'training'"}]}
    held_out = {"transform": [{"filter": "datum.loss !== 'training'"}]}
    marks = [
        *(mark | training for mark in _band_and_line(line, where, table)),
        *(mark | held_out for mark in _points(line, where) if len(kinds) > 1),
        _rings(line, where, [*_name_values(columns), value, spec.name("band", title="Band"),
                             *_counts("runs", "steps", "tokens")]),
    ]  # fmt: skip
    return spec.chart(
        title, note, spec.nest(named, list(columns), numbers), marks,
        params=spec.alone_menu(line), transform=[spec.flatten(numbers), _band_text(".4~f")],
    )  # fmt: skip


def _with_names(table: pd.DataFrame) -> pd.DataFrame:
    """Name runs and phenomena as the figures do."""
    groups = table["group"].map(line_names(table["group"].dropna().unique(), table))
    if "phenomenon" not in table:
        return table.assign(group=groups)
    phenomena = [ALL if name == "all" else readable(name) for name in table["phenomenon"].astype(str)]
    return table.assign(group=groups, phenomenon=phenomena)


def _column(table: pd.DataFrame, name: str) -> Column:
    values = [str(value) for value in table[name].dropna().unique()]
    if name == "phenomenon":
        values.sort(key=lambda value: (value != ALL, value.casefold()))
    return Column(name, _TITLES[name], tuple(values))


def _in_percent(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(**{name: 100 * table[name].astype(float) for name in ("accuracy", "low", "high")})


def _model_labels(points: pd.DataFrame) -> dict[str, str]:
    """Name every model with its parameters, smallest first."""
    parameters = points.groupby("model")["parameters"].first().astype(float).sort_values(kind="stable")
    return {str(model): _model_label(str(model), size) for model, size in parameters.items()}


def _model_label(model: str, parameters: float) -> str:
    counted = "" if math.isnan(parameters) else f" ({format_count(int(float(f'{parameters:.3g}')))} parameters)"
    return model + counted


def _color(line: Column) -> Spec:
    scale = spec.colors(line, line_styles(line.values))
    return spec.name(line.name, scale=scale, legend=spec.legend(line.values))


def _band_and_line(line: Column, where: Spec, table: pd.DataFrame) -> list[Spec]:
    around = {"y": {**where["y"], "field": "low"}, "y2": {"field": "high"}, "opacity": spec.band_opacity(line)}
    band = {
        "mark": {"type": "area", "clip": True, "aria": False},
        "encoding": where | {"color": _color(line)} | around,
    }
    dashes = _color(line) | {"scale": spec.dashes(line, line_styles(line.values))}
    mean = {
        "mark": {"type": "line", "clip": True, "aria": False}, "params": [spec.zoom(), *spec.legend_choice(line)],
        "encoding": where | {"color": _color(line), "strokeDash": dashes, "opacity": spec.opacity(line)},
    }  # fmt: skip
    return [band, mean] if table["low"].notna().any() else [mean]


def _points(line: Column, where: Spec, *, partial: bool = False) -> list[Spec]:
    """Return the points; open ones, where there are ``partial`` ones, stand for only some of a line's runs."""
    encoding = where | {"color": _color(line), "opacity": spec.opacity(line)}
    mark = {"type": "point", "clip": True, "aria": False}
    filled = {"mark": mark | {"filled": True, "size": 26}, "encoding": encoding}
    some = {"mark": mark | {"fill": "white", "size": 20, "strokeWidth": 1}, "encoding": encoding}
    return [filled, some | {"transform": [{"filter": "!datum.whole"}]}] if partial else [filled]


def _rings(line: Column, where: Spec, values: Sequence[Spec]) -> Spec:
    """Return rings around the points: seen under the pointer, with the values, which screen readers say too."""
    fields = [value["field"] for value in values if value["field"] != "band"]
    said = " + '; ' + ".join(f"'{value['title']}: ' + datum.{value['field']}" for value in values)
    look = {"fill": "transparent", "stroke": "#1b1b1b", "strokeWidth": 1.4, "opacity": 1}
    mark = {"type": "point", "clip": True, "size": 150, "description": {"expr": said}}
    return {
        "mark": mark | look, "params": [spec.hover(fields)], "transform": spec.keep_picked(line),
        "encoding": where | {"strokeOpacity": spec.hovered(), "tooltip": list(values)},
    }  # fmt: skip


def _model_lines(models: Column, names: Sequence[str], where: Spec, points: pd.DataFrame) -> list[Spec]:
    """Return checkpoints on the way as pale lines, and finished runs as markers with bars and dotted lines."""
    variants = sorted(set(points["variant"].astype(str)))
    shapes = {"domain": variants, "range": [_SHAPES[place % len(_SHAPES)] for place in range(len(variants))]}
    shape = spec.name("variant", scale=shapes, legend=spec.legend(variants, shapes=True) if len(variants) > 1 else None)
    colors = {"domain": list(models.values), "range": list(size_colors(names).values())}
    color = {"color": spec.name("model", scale=colors, legend=spec.legend(models.values))}
    full, finished = where | color | {"opacity": spec.opacity(models)}, {"filter": "datum.final"}
    bar = full | {"y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}}
    series = [{"field": "series"}, {"field": "variant"}]
    return [
        {"mark": {"type": "line", "clip": True, "strokeWidth": 1.2, "aria": False},
         "params": [spec.zoom(), *spec.legend_choice(models)],
         "encoding": full | {"detail": {"field": "group"}, "opacity": spec.opacity(models, 0.45)}},
        {"mark": {"type": "line", "clip": True, "strokeDash": [1.5, 2], "aria": False}, "transform": [finished],
         "encoding": full | {"detail": series}},
        {"mark": {"type": "rule", "clip": True, "aria": False},
         "transform": [finished, {"filter": "datum.several && isValid(datum.low)"}], "encoding": bar},
        {"mark": {"type": "point", "clip": True, "filled": True, "size": 55, "aria": False}, "transform": [finished],
         "encoding": full | {"shape": shape}},
    ]  # fmt: skip


def _level_lines(levels: pd.DataFrame, menus: Sequence[Column]) -> list[Spec]:
    if levels.empty:
        return []
    names = list(dict.fromkeys(levels["reference"].astype(str)))
    scale = {"domain": names, "range": [_LEVEL_DASHES[place % len(_LEVEL_DASHES)] for place in range(len(names))]}
    values = [spec.name("reference", title="Level"), spec.name("phenomenon", title="Phenomenon"), _accuracy_values()[0]]
    return [{
        "data": {"values": spec.nest(_in_percent(levels), ["reference", "phenomenon"], ["accuracy"])},
        "transform": [*map(spec.keep_chosen, menus), spec.flatten(["accuracy"])],
        "mark": {"type": "rule", "color": "#404040", "clip": True},
        "encoding": {"y": {"field": "accuracy", "type": "quantitative"}, "tooltip": values,
                     "strokeDash": spec.name("reference", scale=scale, legend=spec.legend(names))},
    }]  # fmt: skip


def _name_values(columns: dict[str, Column]) -> list[Spec]:
    return [spec.name(column.name, title=column.title) for column in columns.values()]


def _accuracy_values() -> list[Spec]:
    return [spec.quantity("accuracy", "Accuracy (%)", format=".2f"), spec.name("band", title="Band (%)")]


def _counts(*fields: str) -> list[Spec]:
    titles = {"runs": "Number of runs", "step": "Step", "steps": "Mean over steps", "tokens": "Tokens"}
    return [spec.quantity(field, titles[field], format=",") for field in fields]


def _band_text(form: str) -> Spec:
    text = f"format(datum.low, '{form}') + ' to ' + format(datum.high, '{form}')"
    return {"calculate": f"isValid(datum.low) && isValid(datum.high) ? {text} : '–'", "as": "band"}
