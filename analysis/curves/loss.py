"""Training curves: bits per byte against training tokens, the axis that runs of different tokenizers share."""

import numpy as np
import pandas as pd

from ucurve.analysis.data.frames import BINS_PER_DECADE, stack
from ucurve.analysis.figures.described import TRAINED, LineFigure, Up
from ucurve.analysis.figures.drawings import picture
from ucurve.analysis.plotting.facets import OVER_RUNS
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import NUMBERED, LineStyles

HELD_OUT = "held-out"
_COLUMNS = ("line", "tokens", "steps", "runs", "bits_per_byte", "low", "high", "loss")


def loss_table(metrics: pd.DataFrame, held_out: pd.DataFrame | None = None) -> pd.DataFrame:
    """Average bits per byte over neighboring steps (``loss_by_run``), then over the runs of each line.

    The columns are ``loss`` (``training`` or ``held-out``), ``line``, ``tokens`` (mean over the steps of a bin),
    ``steps`` (how many), ``runs``, ``bits_per_byte`` (mean over runs), ``low`` and ``high`` (minus and plus one sample
    standard deviation over runs, NaN for a line of one run). A bin is 1/30 of a decade of tokens wide.
    """
    # A hybrid run has held-out losses of next tokens alone.
    parts = {"training": metrics, HELD_OUT: held_out}
    tables = (_average(rows).assign(loss=loss) for loss, rows in parts.items() if rows is not None and len(rows))
    return stack(tables, _COLUMNS)


def loss_by_run(losses: pd.DataFrame) -> pd.DataFrame:
    """Average bits per byte of each run over the steps of each ``bin``, 1/30 of a decade of tokens, without NaN."""
    rows = losses[losses["bits_per_byte"].notna() & (losses["tokens"] > 0)]
    bins = np.rint(np.log10(rows["tokens"].to_numpy(np.float64)) * BINS_PER_DECADE)
    return (
        rows.assign(bin=bins.astype(np.int64))
        .groupby(["line", "run", "bin"], as_index=False, observed=True)
        .agg(tokens=("tokens", "mean"), steps=("step", "count"), bits_per_byte=("bits_per_byte", "mean"))
    )


def _average(losses: pd.DataFrame) -> pd.DataFrame:
    """Average one kind of loss over the runs of each line."""
    table = (
        loss_by_run(losses)
        .groupby(["line", "bin"], as_index=False, observed=True)
        .agg(
            tokens=("tokens", "mean"),
            steps=("steps", "max"),
            runs=("run", "count"),
            sd=("bits_per_byte", "std"),
            bits_per_byte=("bits_per_byte", "mean"),
        )
    )
    table["low"], table["high"] = table["bits_per_byte"] - table["sd"], table["bits_per_byte"] + table["sd"]
    return table.drop(columns=["bin", "sd"]).astype({"line": str})


def draw_loss_curves(table: pd.DataFrame, name: str, look: LineStyles = NUMBERED) -> Drawing:
    """Draw bits per byte against training tokens, one for each line of runs."""
    note = (
        "Training loss in bits per byte of the text, a unit that runs of different tokenizers share, against training "
        f"tokens. Each point is the mean over the steps within 1/{BINS_PER_DECADE} of a decade of tokens. "
        f"{_describe_marks(table)}"
    )
    return picture(loss_figure(table, look), name, "Training curves", note, table)


def loss_figure(table: pd.DataFrame, look: LineStyles = NUMBERED) -> LineFigure:
    """Describe bits per byte against training tokens, for the rows of ``loss_table``; held-out losses are dots."""
    held_out = table["loss"].eq(HELD_OUT).any()
    y = Up("bits_per_byte", "Loss (bits per byte)" if held_out else "Training loss (bits per byte)")
    dots = ("loss", HELD_OUT) if held_out else None
    return LineFigure(table, TRAINED, y, _describe_marks(table), look, dots=dots)


def _describe_marks(table: pd.DataFrame) -> str:
    band = f"Band: ± {OVER_RUNS}" if (table["runs"] > 1).any() else "No band: one run for each line"
    return f"{'Dots: loss on held-out text at checkpoints. ' if table['loss'].eq(HELD_OUT).any() else ''}{band}."
