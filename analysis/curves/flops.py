"""FLOPs curves: accuracy against training FLOPs by model size (ZhoBLiMP, section 5.2, Figure 3)."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.data.runs import Run
from analysis.plotting.figures import OVER_RUNS, Drawing, Sheet, overall_and_phenomena
from analysis.plotting.style import drawing_style, log_axis, percent_axis, power_label, readable, size_colours
from ucurve.counts import format_count

_MARKERS = "osD^vPX"
_DASHES: tuple[Any, ...] = ((0, (6, 2)), (0, (3, 1.5)), "-.", (0, (1, 1.5)))
_LEVEL = "Level lines: people, and models that were not trained here"
_NOTE = (
    f"Markers: finished runs (bars: ± {OVER_RUNS}); dotted: runs named alike but for the budget; pale: checkpoints on "
    "the way"
)


def flops_table(curves: pd.DataFrame, runs: Sequence[Run]) -> pd.DataFrame:
    """Say of every point of the learning curves which model it belongs to and whether it is a finished one.

    Args:
        curves: from ``learning_curves.curve_table``.

    Returns:
        The rows with FLOPs above 0 and a score, with ``model``, ``parameters``, ``variant`` (tokenizer and data),
        ``series`` (name without the budget) and ``final``: the end of a finished run. Only those are models of their
        own; on the way there the learning rate has not come down yet.
    """
    lines = pd.DataFrame([_line(run) for run in runs]).groupby("group", as_index=False).agg(
        model=("model", "first"), parameters=("parameters", "first"), variant=("variant", "first"),
        series=("series", "first"), ended=("ended", "any"),
    )  # fmt: skip
    last = curves.groupby("group")["step"].max()  # gaps included: the last checkpoint that was planned or saved
    table = curves[(curves["flops"] > 0) & curves["accuracy"].notna()].merge(lines, on="group")
    final = table["ended"] & (table["step"] == table["group"].map(last))
    return table.assign(final=final).drop(columns="ended").reset_index(drop=True)


def draw_flops_curves(
    table: pd.DataFrame, name: str, title: str, references: pd.DataFrame | None = None
) -> list[Drawing]:
    """Draw the overall figure and, where the benchmark has phenomena, one of a panel for each.

    Args:
        table: from ``flops_table``; must hold at least one row.
        name: start of the file names.
        title: benchmark and linking function, for people.
        references: what is drawn as a level line: ``reference`` (name), ``phenomenon`` and ``accuracy``, from
            ``references.reference_lines``. They join the rows of the table, without FLOPs.
    """
    note = (
        f"Accuracy against training FLOPs, {title}. Markers: finished runs, the mean over seeds, bars ± {OVER_RUNS} "
        "where there are several. A dotted line joins runs whose names are alike but for the budget; run.json does not "
        "tell whether other settings differ too. Pale lines: checkpoints on the way."
    )
    if references is None or references.empty:
        return overall_and_phenomena(table.assign(reference=""), name, "FLOPs curves", note, _draw)
    return overall_and_phenomena(_joined(table, references), name, "FLOPs curves", f"{note} {_LEVEL}.", _draw)


def _joined(table: pd.DataFrame, references: pd.DataFrame) -> pd.DataFrame:
    """Put references below the points, in panels that have points."""
    lines = references[references["phenomenon"].isin(set(table["phenomenon"]))]
    return pd.concat([table.assign(reference=""), lines.assign(final=False)], ignore_index=True)


def _line(run: Run) -> dict[str, object]:
    ended = run.status in ("finished", "unknown")
    return {
        "group": run.group, "model": run.model, "parameters": run.parameters, "variant": run.variant,
        "series": run.series, "ended": ended,
    }  # fmt: skip


def _draw(table: pd.DataFrame, phenomena: Sequence[str]) -> Figure:
    """Draw one panel for each phenomenon; ``all`` alone is the overall figure."""
    points, levels = table[table["reference"] == ""], table[table["reference"] != ""]
    colours, markers, single = _colours(points), _markers(points), len(phenomena) == 1
    dashes = _reference_dashes(levels["reference"])
    note = _NOTE if levels.empty else f"{_NOTE}; level lines: people, models not trained here"
    with drawing_style():
        sheet = Sheet(len(phenomena), _legend(points) | _reference_legend(dashes), note)
        for axes, phenomenon in zip(sheet.panels, phenomena, strict=True):
            _draw_panel(axes, points[points["phenomenon"] == phenomenon], colours, markers, size=4.0 if single else 2.8)
            own = levels[levels["phenomenon"] == phenomenon]
            for name, level in zip(own["reference"], own["accuracy"], strict=True):
                axes.axhline(level, color="0.25", linestyle=dashes[name], linewidth=0.8)
            percent_axis(axes, table["accuracy"].min())
            log_axis(axes, points["flops"], power_label, most_ticks=7 if single else 4, minor=single)
            axes.set_title("" if phenomenon == "all" else readable(phenomenon), pad=3, parse_math=False)
        return sheet.finish("Training FLOPs (6ND, log scale)", "Accuracy (%)")


def _draw_panel(axes: Axes, table: pd.DataFrame, colours: dict[str, str], markers: dict[str, str], size: float) -> None:
    for (model, _), rows in table.groupby(["model", "group"]):
        way = rows.sort_values("flops")
        axes.plot(way["flops"], way["accuracy"], color=colours[str(model)], linewidth=0.7, alpha=0.35)
    for (model, variant, _), rows in table[table["final"]].groupby(["model", "variant", "series"]):
        ends = rows.sort_values("flops")
        colour, marker = colours[str(model)], markers[str(variant)]
        bars = (ends["high"] - ends["accuracy"]).where(ends["band"] == OVER_RUNS)
        axes.errorbar(
            ends["flops"], ends["accuracy"], yerr=bars.to_numpy(), color=colour, marker=marker, markersize=size,
            linestyle=":", elinewidth=0.7, capsize=1.5,
        )  # fmt: skip


def _colours(table: pd.DataFrame) -> dict[str, str]:
    sizes = table.groupby("model")["parameters"].first().astype(float).sort_values(kind="stable", na_position="last")
    return size_colours([str(model) for model in sizes.index])


def _markers(table: pd.DataFrame) -> dict[str, str]:
    variants = sorted(set(table["variant"]))
    return {variant: _MARKERS[index % len(_MARKERS)] for index, variant in enumerate(variants)}


def _legend(table: pd.DataFrame) -> dict[str, Artist]:
    counts, markers = table.groupby("model")["parameters"].first(), _markers(table)
    legend: dict[str, Artist] = {
        _size_label(model, counts[model]): Line2D([], [], color=colour, linewidth=2)
        for model, colour in _colours(table).items()
    }
    if len(markers) > 1:
        shapes = {name: Line2D([], [], color="0.3", marker=mark, ls="", markersize=4) for name, mark in markers.items()}
        legend |= shapes
    return legend


def _reference_dashes(names: Iterable[str]) -> dict[str, Any]:
    return {name: _DASHES[place % len(_DASHES)] for place, name in enumerate(dict.fromkeys(names))}


def _reference_legend(dashes: dict[str, Any]) -> dict[str, Artist]:
    return {name: Line2D([], [], color="0.25", linestyle=style, linewidth=0.8) for name, style in dashes.items()}


def _size_label(model: str, parameters: float | None) -> str:
    if parameters is None or pd.isna(parameters):
        return model
    rounded = int(float(f"{parameters:.3g}"))
    return f"{model} ({format_count(rounded)} parameters)"


def has_points(curves: pd.DataFrame) -> bool:
    """Say whether any scored checkpoint has FLOPs above 0, so that there is a figure to draw."""
    return bool(((curves["flops"] > 0) & curves["accuracy"].notna()).any())
