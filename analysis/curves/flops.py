"""FLOPs curves: accuracy against training FLOPs by model size (ZhoBLiMP, section 5.2, Figure 3)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.typing import LineStyleType

from ucurve.analysis.charts.flops import flops_chart, name_with_parameters
from ucurve.analysis.data.runs import Run
from ucurve.analysis.plotting.facets import OVER_RUNS, Panels, draw_panels, overall_and_phenomena
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import NUMBERED, LineStyle, LineStyles, log_axis, percent_axis, power_label

_DASHES: tuple[LineStyleType, ...] = ((0, (6, 2)), (0, (3, 1.5)), "-.", (0, (1, 1.5)))
_LEVEL = "Level lines: people, and models that were not trained here"
_NOTE = (
    f"Markers: finished runs (bars: ± {OVER_RUNS}); dotted: runs that differ in the budget alone; pale: checkpoints on "
    "the way"
)


def flops_table(curves: pd.DataFrame, runs: Sequence[Run]) -> pd.DataFrame:
    """Say of every point of the learning curves which model it belongs to and whether it is a finished one.

    The rows with FLOPs above 0 and a score get ``model``, ``parameters``, ``over_budgets`` (the label of the line with
    the budget left out) and ``final``: the end of a finished run. Only those are models of their own; on the way there
    the learning rate has not come down yet.
    """
    described = pd.DataFrame(
        [
            {
                "line": run.line,
                "model": run.model,
                "parameters": run.parameters,
                "over_budgets": run.line_without("budget"),
                "has_ended": run.has_ended,
            }
            for run in runs
        ]
    )
    first = dict.fromkeys(("model", "parameters", "over_budgets"), "first")
    lines = described.groupby("line", as_index=False).agg(first | {"has_ended": "any"})
    last = curves.groupby("line")["step"].max()  # gaps included: the last checkpoint that was planned or saved
    table = curves[(curves["flops"] > 0) & curves["accuracy"].notna()].merge(lines, on="line")
    final = table["has_ended"] & (table["step"] == table["line"].map(last))
    return table.assign(final=final).drop(columns="has_ended").reset_index(drop=True)


def draw_flops_curves(
    table: pd.DataFrame,
    name: str,
    title: str,
    references: pd.DataFrame | None = None,
    look: LineStyles = NUMBERED,
) -> list[Drawing]:
    """Draw the rows of ``flops_table``, at least one: overall and, where there are phenomena, with a panel for each.

    ``references`` are level lines, from ``human.reference_lines``; they join the rows of the table, without FLOPs.
    """
    note = (
        f"Accuracy against training FLOPs, {title}. Markers: finished runs, the mean over seeds, bars ± {OVER_RUNS} "
        "where there are several. A dotted line joins runs that differ in the budget alone. "
        "Pale lines: checkpoints on the way."
    )
    if references is not None and not references.empty:
        note = f"{note} {_LEVEL}."
    draw = partial(_draw_curves, look=look)
    drawn = overall_and_phenomena(with_references(table, references), name, "FLOPs curves", note, draw)
    return [replace(one, chart=flops_chart(one.table, one.title, note, look)) for one in drawn]


def with_references(table: pd.DataFrame, references: pd.DataFrame | None = None) -> pd.DataFrame:
    """Add what is drawn as a level line to the rows of ``flops_table``, which get an empty ``reference``."""
    points = table.assign(reference="")
    if references is None or references.empty:
        return points
    lines = references[references["phenomenon"].isin(set(table["phenomenon"]))]  # in panels that have points
    return pd.concat([points, lines.assign(final=False)], ignore_index=True)


def _draw_curves(table: pd.DataFrame, panels: Panels, look: LineStyles) -> Figure:
    points, levels = table[table["reference"] == ""], table[table["reference"] != ""]
    single, lowest = len(panels) == 1, table["accuracy"].min()
    labels = name_with_parameters(points)
    styles = look(labels)
    references = dict.fromkeys(levels["reference"])
    dashes = {name: _DASHES[place % len(_DASHES)] for place, name in enumerate(references)}

    def draw(axes: Axes, rows: pd.DataFrame) -> None:
        _draw_points(axes, rows[rows["reference"] == ""], styles, size=4.0 if single else 2.8)
        own = rows[rows["reference"] != ""]
        for name, level in zip(own["reference"], own["accuracy"], strict=True):
            axes.axhline(level, color="0.25", linestyle=dashes[name], linewidth=0.8)
        percent_axis(axes, lowest)
        log_axis(axes, points["flops"], power_label, most_ticks=7 if single else 4, minor=single)

    legend: dict[str, Artist] = {
        labels[name]: Line2D([], [], color=style.color, linestyle=style.dashes, marker=style.marker, markersize=4)
        for name, style in styles.items()
    }
    legend |= {
        name: Line2D([], [], color="0.25", linestyle=style, linewidth=0.8) for name, style in dashes.items()
    }
    note = _NOTE if levels.empty else f"{_NOTE}; level lines: people, models not trained here"
    return draw_panels(panels, draw, ("Training FLOPs (6ND, log scale)", "Accuracy (%)"), note, legend)


def _draw_points(axes: Axes, table: pd.DataFrame, styles: dict[str, LineStyle], size: float) -> None:
    for (name, _), rows in table.groupby(["over_budgets", "line"]):  # each budget has its own way, in one color
        way, style = rows.sort_values("flops"), styles[str(name)]
        axes.plot(
            way["flops"], way["accuracy"], color=style.color, linestyle=style.dashes, linewidth=0.7, alpha=0.35
        )
    for name, rows in table[table["final"]].groupby("over_budgets"):
        ends, style = rows.sort_values("flops"), styles[str(name)]
        # The interval of a single run is over pairs. A reader would take its bar for the spread over seeds.
        bars = (ends["high"] - ends["accuracy"]).where(ends["band"] == OVER_RUNS)
        axes.errorbar(
            ends["flops"],
            ends["accuracy"],
            yerr=bars.to_numpy(),
            color=style.color,
            marker=style.marker,
            markersize=size,
            linestyle=":",
            elinewidth=0.7,
            capsize=1.5,
        )
