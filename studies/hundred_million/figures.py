"""The figures of the study's page, drawn from its CSV files."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from studies.hundred_million.courses import PAPER
from ucurve.analysis.plotting.facets import Panels, draw_line, draw_over_tokens, line_legend, panels_by
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import NUMBERED, TokenAxis, readable

_CURVES = (
    "Line: mean over the seeds of a size with a tokenizer, smoothed on the log axis (sd 0.15 decades); band: 95 % at "
    "each checkpoint by itself, over pairs and seeds. ZhoBLiMP reports a decline around 100M tokens, the right end."
)
_RUNS = "Thin lines: the single runs, not smoothed. Thick line: their mean, smoothed on the log axis (sd 0.15 decades)."
_LINKINGS = "Mean over the seeds, not smoothed, under each linking function that the runs were scored with."
_LOSS = "Line: mean over the seeds; band: 95 % interval (Student's t)."


def draw_study(tables: Mapping[str, pd.DataFrame]) -> list[Drawing]:
    """Draw the curves, the runs of the phenomena that the paper names, linking functions, and the held-out loss."""
    return [draw_curves(tables), draw_named_runs(tables), draw_linking_functions(tables), draw_held_out(tables)]


def draw_curves(tables: Mapping[str, pd.DataFrame]) -> Drawing:
    """Draw the smoothed curves of all phenomena, a line for each size and tokenizer."""
    table = tables["smoothed"]
    trained = table[table["tokens"] > 0]
    styles = NUMBERED(tables["runs"]["line"])

    def draw(axes: Axes, rows: pd.DataFrame, axis: TokenAxis) -> None:
        for name, style in styles.items():
            line = rows[rows["line"] == name]
            draw_line(axes, style, axis.places(line["tokens"]), line["smoothed"], (line["low"], line["high"]))

    legend = line_legend(styles, tables["runs"], "line")
    figure = draw_over_tokens(trained, panels_by(trained, "phenomenon"), draw, _CURVES, legend)
    return Drawing("hundred_million_curves", "The curves of all phenomena", _CURVES, figure, trained)


def draw_named_runs(tables: Mapping[str, pd.DataFrame]) -> Drawing:
    """Draw every run of the phenomena that the paper names, a panel for each of them and each size and tokenizer."""
    runs, smoothed = tables["run_curves"], tables["smoothed"]
    trained = runs[runs["tokens"] > 0].assign(low=float("nan"))  # without a band
    lines = list(tables["runs"]["line"])
    styles = NUMBERED(lines)
    panels: Panels = [
        (f"{readable(phenomenon)}, {line}", trained[(trained["line"] == line) & (trained["phenomenon"] == phenomenon)])
        for phenomenon in _named(trained) for line in lines
    ]  # fmt: skip

    def draw(axes: Axes, rows: pd.DataFrame, axis: TokenAxis) -> None:
        if rows.empty:
            return
        line, phenomenon = rows[["line", "phenomenon"]].iloc[0]
        color = styles[line].color
        for _, run in rows.groupby("run"):
            axes.plot(axis.places(run["tokens"]), run["accuracy"], color=color, linewidth=0.5, alpha=0.6)
        mean = smoothed[
            (smoothed["line"] == line) & (smoothed["phenomenon"] == phenomenon) & (smoothed["tokens"] > 0)
        ]
        axes.plot(axis.places(mean["tokens"]), mean["smoothed"], color=color, linewidth=1.6)

    across = min(len(lines), 4)
    figure = draw_over_tokens(trained, panels, draw, _RUNS, {}, across=across)
    return Drawing("hundred_million_named", "The phenomena that the paper names", _RUNS, figure, trained)


def draw_linking_functions(tables: Mapping[str, pd.DataFrame]) -> Drawing:
    """Draw the phenomena that the paper names, and all pairs, under each linking function."""
    table = tables["linking_curves"]
    trained = table[table["tokens"] > 0].assign(low=float("nan"))  # without a band
    styles = NUMBERED(trained["linking"])
    lines = list(tables["runs"]["line"])
    panels: Panels = [
        (f"{readable(phenomenon)}, {line}", trained[(trained["line"] == line) & (trained["phenomenon"] == phenomenon)])
        for phenomenon in [*_named(trained), "all"] for line in lines
    ]  # fmt: skip

    def draw(axes: Axes, rows: pd.DataFrame, axis: TokenAxis) -> None:
        for name, style in styles.items():
            line = rows[rows["linking"] == name]
            places = axis.places(line["tokens"])
            axes.plot(places, line["accuracy"], color=style.color, linestyle=style.dashes, linewidth=0.9)

    legend = line_legend(styles)
    figure = draw_over_tokens(trained, panels, draw, _LINKINGS, legend, across=min(len(lines), 4))
    return Drawing("hundred_million_linking", "Linking functions", _LINKINGS, figure, trained)


def draw_held_out(tables: Mapping[str, pd.DataFrame]) -> Drawing:
    """Draw the loss of each size and tokenizer over tokens."""
    table = tables["held_out"]
    styles = NUMBERED(tables["runs"]["line"])

    def draw(axes: Axes, rows: pd.DataFrame, axis: TokenAxis) -> None:
        for name, style in styles.items():
            line = rows[rows["line"] == name]
            band = line["bits_per_byte_low"], line["bits_per_byte_high"]
            draw_line(axes, style, axis.places(line["tokens"]), line["bits_per_byte"], band)

    legend = line_legend(styles, table, "line")
    label = f"{str(table['loss'].iloc[0]).capitalize()} loss (bits per byte)"
    figure = draw_over_tokens(table, [("", table)], draw, _LOSS, legend, label)
    return Drawing("hundred_million_loss", "The loss", _LOSS, figure, table)


def _named(table: pd.DataFrame) -> list[str]:
    return [name for name in PAPER if (table["phenomenon"] == name).any()]
