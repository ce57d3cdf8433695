"""The figure of a model card: bits per byte, and the accuracies of each benchmark, against training tokens."""

import math
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.style import (
    TWO_COLUMNS,
    TokenAxis,
    drawing_style,
    line_styles,
    log_axis,
    percent_axis,
    readable,
    token_label,
)

_COLUMNS, _PANEL_HEIGHT, _DPI = 2, 2.1, 150  # the height in inches


def draw_curves(path: Path, metrics: pd.DataFrame, accuracy: pd.DataFrame) -> None:
    """Draw the learning curve of a run into a PNG file.

    Args:
        path: the file.
        metrics: ``metrics.jsonl``.
        accuracy: rows of ``eval/accuracy.csv``, one for each step, benchmark, scorer and linking function.
    """
    benchmarks = list(accuracy.groupby(["benchmark", "scorer"], sort=True))
    rows = math.ceil((1 + len(benchmarks)) / _COLUMNS)
    with drawing_style():
        figure = Figure(figsize=(TWO_COLUMNS, _PANEL_HEIGHT * rows), layout="constrained")
        panels = figure.subplots(rows, _COLUMNS, squeeze=False).flatten()
        _draw_bits(panels[0], metrics)
        for axes, ((benchmark, scorer), table) in zip(panels[1:], benchmarks, strict=False):
            _draw_accuracy(axes, table, f"{readable(str(benchmark))} ({scorer})")
        for axes in panels[1 + len(benchmarks) :]:
            axes.set_axis_off()
        figure.savefig(path, dpi=_DPI, metadata={"Software": None})


def _draw_bits(axes: Axes, metrics: pd.DataFrame) -> None:
    axes.plot(metrics["tokens"], metrics["bits_per_byte"], linewidth=0.8)
    log_axis(axes, metrics["tokens"], token_label, most_ticks=4, minor=True)
    axes.set(title="Training loss", xlabel="Training tokens", ylabel="Bits per byte")


def _draw_accuracy(axes: Axes, table: pd.DataFrame, title: str) -> None:
    axis = TokenAxis(table["tokens"])
    for linking, style in line_styles(table["linking"]).items():
        rows = table[table["linking"] == linking].sort_values("tokens")
        places = axis.places(rows["tokens"])
        axes.plot(
            places,
            rows["accuracy"],
            marker="o",
            markersize=2,
            color=style.colour,
            linestyle=style.dashes,
            label=linking,
        )
    axis.apply(axes, most_ticks=4, minor=True)
    percent_axis(axes, float(table["accuracy"].min()))
    axes.set_title(title, parse_math=False)
    axes.set(xlabel="Training tokens", ylabel="Accuracy (%)")
    axes.legend()
