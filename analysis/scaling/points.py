"""The points of the scaling fits: checkpoints with their FLOPs, bits per byte and accuracy."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.data.frames import BINS_PER_DECADE, stack, with_gaps
from ucurve.analysis.data.runs import Run

FINISHED = "finished runs"
ON_THE_WAY = "checkpoints of one line"
_WINDOW = 10 ** (-1 / BINS_PER_DECADE)


def checkpoint_bits(metrics: pd.DataFrame, held_out: pd.DataFrame, runs: Sequence[Run]) -> pd.DataFrame:
    """Return the loss of one kind at every checkpoint after step 0: on held-out text where all runs have it.

    ``flops`` are 6ND; ``loss`` is ``held-out``, or ``training`` for the mean over the steps in the last 1/30 of a
    decade of tokens up to the checkpoint, the width of a point of ``loss_table``. A checkpoint without its loss has no
    row, a run without parameters in its run.json has none.
    """
    columns = ["run", "line", "step", "tokens", "flops", "bits_per_byte", "loss"]
    by_run = {str(run): rows for run, rows in metrics.groupby("run", observed=True)} if len(metrics) else {}
    trained = [run for run in runs if run.label in by_run and run.parameters]
    if trained and {run.label for run in trained} <= set(held_out["run"].astype(str)):
        rows = held_out[held_out["run"].isin([run.label for run in trained]) & (held_out["step"] > 0)]
        return rows.astype({"run": str, "line": str}).assign(loss="held-out")[columns].reset_index(drop=True)
    tables = (_bits_at_checkpoints(by_run[run.label], run).assign(loss="training") for run in trained)
    return stack(tables, columns)[columns]


def finished_points(points: pd.DataFrame, runs: Sequence[Run]) -> pd.DataFrame:
    """Keep the end of every finished run; a ``line`` has the runs that differ only in size, budget and seed."""
    last = {run.label: max(run.planned or run.saved, default=None) for run in runs if run.has_ended}
    kept = points[points["step"] == points["run"].astype(str).map(last)]
    return kept.assign(
        line=kept["run"].astype(str).map({run.label: run.line_without("size", "budget") for run in runs})
    )


def accuracy_points(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep the points that the law of accuracy is fitted to: the overall rows with FLOPs above 0."""
    kept = rows[(rows["phenomenon"] == "all") & (rows["flops"] > 0)]
    return kept[["run", "line", "step", "flops", "accuracy"]].rename(columns={"accuracy": "value"})


def accuracy_against_bits(rows: pd.DataFrame, bits: pd.DataFrame, runs: Sequence[Run]) -> pd.DataFrame:
    """Join accuracies with bits per byte at equal steps and average the runs of each line.

    ``runs`` is how many have both, ``bits_per_byte`` and ``accuracy`` are means over those, ``low`` and ``high`` the
    accuracy minus and plus one sample standard deviation over runs, NaN for one run. Runs without training metrics are
    left out; any other checkpoint after step 0 keeps its row, with NaN where it lacks a score or its loss.
    """
    scored = rows[rows["run"].isin(set(bits["run"])) & (rows["step"] >= 0)]
    if scored.empty:
        return pd.DataFrame()
    measured = bits[["run", "step", "bits_per_byte"]].astype({"run": str})
    whole = with_gaps(scored, runs).query("step > 0").merge(measured, on=["run", "step"], how="left")
    both = ["accuracy", "bits_per_byte"]
    whole[both] = whole[both].where(whole[both].notna().all(axis=1))
    table = whole.groupby(["line", "phenomenon", "step"], as_index=False, sort=False).agg(
        tokens=("tokens", "mean"), runs=("accuracy", "count"), bits_per_byte=("bits_per_byte", "mean"),
        sd=("accuracy", "std"), accuracy=("accuracy", "mean"),
    )  # fmt: skip
    table["low"], table["high"] = table["accuracy"] - table["sd"], table["accuracy"] + table["sd"]
    table = table.assign(loss=bits["loss"].iloc[0])
    return table.drop(columns="sd").sort_values(["line", "phenomenon", "step"], ignore_index=True)


def _bits_at_checkpoints(metrics: pd.DataFrame, run: Run) -> pd.DataFrame:
    rows = metrics[metrics["bits_per_byte"].notna() & (metrics["tokens"] > 0)].sort_values("step")
    checkpoints = rows[rows["step"].isin({*run.planned, *run.saved})]
    tokens = checkpoints["tokens"].to_numpy(dtype=np.float64)
    means = _trailing_means(rows["tokens"].to_numpy(dtype=np.float64), rows["bits_per_byte"].to_numpy(), tokens)
    flops = 6.0 * (run.parameters or 0) * tokens
    return checkpoints[["step"]].assign(run=run.label, line=run.line, tokens=tokens, flops=flops, bits_per_byte=means)


def _trailing_means(
    tokens: npt.NDArray[np.float64], values: npt.NDArray[np.float64], ends: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the mean of the values whose tokens lie in the window up to each end; ends are among the tokens."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    first = np.searchsorted(tokens, ends * _WINDOW, side="right")
    after = np.searchsorted(tokens, ends, side="right")
    return np.asarray((sums[after] - sums[first]) / (after - first))
