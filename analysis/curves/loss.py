"""Training curves: bits per byte against training tokens, the axis that runs of different tokenizers share."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ucurve.analysis.charts.curves import loss_chart
from ucurve.analysis.data.frames import BINS_PER_DECADE
from ucurve.analysis.plotting.facets import OVER_RUNS, draw_line, draw_panels, line_legend
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.line_styles import NUMBERED, LineStyle, LineStyles
from ucurve.analysis.plotting.style import log_axis, token_label


def loss_table(metrics: pd.DataFrame, held_out: pd.DataFrame | None = None) -> pd.DataFrame:
    """Average bits per byte over neighboring steps (``loss_by_run``), then over the runs of each line.

    The columns are ``loss`` (``training`` or ``held-out``), ``line``, ``tokens`` (mean over the steps of a bin),
    ``steps`` (how many), ``runs``, ``bits_per_byte`` (mean over runs), ``low`` and ``high`` (minus and plus one sample
    standard deviation over runs, NaN for a line of one run). A bin is 1/30 of a decade of tokens wide.
    """
    parts = {"training": metrics} | ({} if held_out is None or held_out.empty else {"held-out": held_out})
    return pd.concat([_average(rows).assign(loss=loss) for loss, rows in parts.items()], ignore_index=True)


def loss_by_run(losses: pd.DataFrame) -> pd.DataFrame:
    """Average bits per byte of each run over the steps of each ``bin``, 1/30 of a decade of tokens, without NaN."""
    rows = losses[losses["bits_per_byte"].notna() & (losses["tokens"] > 0)]
    bins = np.rint(np.log10(rows["tokens"].to_numpy(dtype=np.float64)) * BINS_PER_DECADE)
    return (
        rows.assign(bin=bins.astype(np.int64))
        .groupby(["line", "run", "bin"], as_index=False, observed=True)
        .agg(tokens=("tokens", "mean"), steps=("step", "count"), bits_per_byte=("bits_per_byte", "mean"))
    )


def _average(losses: pd.DataFrame) -> pd.DataFrame:
    table = loss_by_run(losses).groupby(["line", "bin"], as_index=False, observed=True).agg(
        tokens=("tokens", "mean"), steps=("steps", "max"), runs=("run", "count"),
        sd=("bits_per_byte", "std"), bits_per_byte=("bits_per_byte", "mean"),
    )  # fmt: skip
    table["low"], table["high"] = table["bits_per_byte"] - table["sd"], table["bits_per_byte"] + table["sd"]
    return table.drop(columns=["bin", "sd"]).astype({"line": str})


def draw_loss_curves(table: pd.DataFrame, name: str, look: LineStyles = NUMBERED) -> Drawing:
    """Draw bits per byte against training tokens, one for each line of runs."""
    several = bool((table["runs"] > 1).any())
    band = f"Band: ± {OVER_RUNS}" if several else "No band: one run for each line"
    held_out = table["loss"].eq("held-out").any()
    dots = "Dots: loss on held-out text at checkpoints. " if held_out else ""
    note = (
        "Training loss in bits per byte of the text, a unit that runs of different tokenizers share, against training "
        f"tokens. Each point is the mean over the steps within 1/{BINS_PER_DECADE} of a decade of tokens. {dots}{band}."
    )
    styles = look(table["line"])

    def draw(axes: Axes, rows: pd.DataFrame) -> None:
        draw_losses(axes, rows, styles, most_ticks=7)

    labels = ("Training tokens (log scale)", "Loss (bits per byte)" if held_out else "Training loss (bits per byte)")
    figure = draw_panels([("", table)], draw, labels, f"{dots}{band}", line_legend(styles, table))
    title = "Training curves"
    return Drawing(name, title, note, figure, table, loss_chart(table, title, note, look))


def draw_losses(axes: Axes, rows: pd.DataFrame, styles: Mapping[str, LineStyle], most_ticks: int) -> None:
    """Draw the rows of ``loss_table`` into a panel and set its axis of tokens."""
    for name, style in styles.items():
        line, dots = (rows[(rows["line"] == name) & (rows["loss"] == loss)] for loss in ("training", "held-out"))
        axes.plot(dots["tokens"], dots["bits_per_byte"], style.marker, color=style.color, markersize=1.8)
        draw_line(axes, style, line["tokens"], line["bits_per_byte"], (line["low"], line["high"]))
    log_axis(axes, rows["tokens"], token_label, most_ticks, minor=True)
