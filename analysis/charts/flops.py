"""The interactive chart of accuracy against FLOPs, whose points on the way and at the end look different."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from ucurve.analysis.charts import axes, parts
from ucurve.analysis.charts.offline import LayeredChart
from ucurve.analysis.charts.parts import CURVES, LEVELS, TITLES, NameColumn
from ucurve.analysis.plotting.facets import OVER_RUNS, line_names
from ucurve.analysis.plotting.style import (
    NUMBERED,
    LineStyles,
    lowest_of,
    percent_bottom,
    phenomenon_name,
    phenomenon_order,
    rounded_count,
)

_LEVEL_DASHES = ([6, 2], [3, 1.5], [7, 2.5, 1.5, 2.5], [1, 1.5])


def flops_chart(table: pd.DataFrame, title: str, note: str, look: LineStyles = NUMBERED) -> LayeredChart:
    """Return the chart of accuracy against training FLOPs for ``flops_table``; several phenomena have a menu.

    The column ``reference`` of the table is empty but for level lines: a name, with accuracies.
    """
    own = line_names(table["line"].dropna().unique(), table)
    phenomenon = table["phenomenon"].astype(str).map(phenomenon_name)
    named = table.assign(line=table["line"].map(own), phenomenon=phenomenon)
    is_point = named["reference"] == ""
    points, levels = named[is_point], named[~is_point]
    labels = name_with_parameters(points)
    lines = NameColumn("over_budgets", TITLES["line"], tuple(labels.values()), tuple(look(labels).values()))
    phenomena = NameColumn(
        "phenomenon", TITLES["phenomenon"], tuple(sorted(set(phenomenon), key=phenomenon_order))
    )
    menus = [phenomena] if phenomena.has_several else []
    points = points.assign(over_budgets=points["over_budgets"].map(labels), several=points["band"].eq(OVER_RUNS))
    names = ["line", "model", "over_budgets", "phenomenon"]
    numbers = ["step", "flops", "tokens", "runs", "accuracy", "low", "high", "final", "several"]
    bottom = percent_bottom(lowest_of(table))
    ends = (points["flops"].min(), points["flops"].max())
    across = axes.log_axis("flops", "Training FLOPs (6ND, log scale)", ends)
    base = alt.Chart().encode(x=across, y=axes.percent_axis(bottom))
    tips = parts.tips(["line", "model", "phenomenon", "accuracy", "band", "flops", "runs", "step", "tokens"])
    marks = [
        axes.level_line(50),
        *([] if levels.empty else [_reference_lines(levels, menus)]),
        *_flops_lines(base, lines),
        parts.rings(base, lines, tips),
    ]
    chart = parts.with_band_text(parts.layered(marks, menus, lines, numbers), ".2f")
    data = {CURVES: parts.nest(_in_percent(points), names, numbers)}
    if not levels.empty:
        data[LEVELS] = parts.nest(_in_percent(levels), ["reference", "phenomenon"], ["accuracy"])
    return parts.filled(chart, title, note, data)


def name_with_parameters(points: pd.DataFrame) -> dict[str, str]:
    """Name the lines in the column ``over_budgets`` with their ``parameters``, smallest first."""
    parameters = points.groupby("over_budgets")["parameters"].first().astype(float).sort_values(kind="stable")
    counts = {str(name): rounded_count(size) for name, size in parameters.dropna().items()}
    names = parameters.index.astype(str)
    return {name: f"{name} ({counts[name]} parameters)" if name in counts else name for name in names}


def _in_percent(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(**{name: 100 * table[name].astype(float) for name in ("accuracy", "low", "high")})


def _flops_lines(base: alt.Chart, lines: NameColumn) -> list[alt.Chart]:
    """Return checkpoints on the way as pale lines, and finished runs as markers with bars and dotted lines."""
    colored = base.encode(color=parts.color(lines), opacity=parts.opacity(lines))
    way = colored.mark_line(clip=True, strokeWidth=1.2, aria=False).add_params(*parts.zoom_and_legend(lines))
    finished = colored.transform_filter("datum.final")
    bars = finished.transform_filter("datum.several && isValid(datum.low)").mark_rule(clip=True, aria=False)
    return [
        way.encode(detail="line:N", strokeDash=parts.dashes(lines), opacity=parts.opacity(lines, 0.45)),
        finished.mark_line(clip=True, strokeDash=[1.5, 2], aria=False),
        bars.encode(y="low:Q", y2="high"),
        parts.with_markers(finished.mark_point(clip=True, filled=True, size=55, aria=False), lines),
    ]


def _reference_lines(levels: pd.DataFrame, menus: Sequence[NameColumn]) -> alt.Chart:
    """Return level lines with a legend, chosen by the same menus as the points."""
    names = list(dict.fromkeys(levels["reference"].astype(str)))
    scale = alt.Scale(
        domain=names, range=[_LEVEL_DASHES[place % len(_LEVEL_DASHES)] for place in range(len(names))]
    )
    dash = alt.StrokeDash("reference:N", scale=scale, legend=parts.legend(names))
    rule: alt.Chart = alt.Chart(alt.NamedData(LEVELS)).mark_rule(style="level", clip=True)
    rule = rule.encode(
        y="accuracy:Q", tooltip=parts.tips(["reference", "phenomenon", "accuracy"]), strokeDash=dash
    )
    for menu in menus:
        rule = rule.transform_filter(parts.keep_chosen(menu))
    return rule.transform_flatten(["accuracy"])
