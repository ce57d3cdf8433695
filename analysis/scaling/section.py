"""Sections of the report about scaling: fits over FLOPs, and accuracy against bits per byte.

Their points are checkpoints with their FLOPs, bits per byte and accuracy.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from ucurve.analysis.data.frames import BINS_PER_DECADE, stack, with_gaps
from ucurve.analysis.data.look import describe_unknown, mark_unknown, unknown_mark
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.figures.described import ACCURACY, FLOPS, Across, LineFigure, Up
from ucurve.analysis.figures.drawings import overall_and_phenomena, picture
from ucurve.analysis.plotting.facets import OVER_RUNS
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import NUMBERED, LineStyles
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView
from ucurve.analysis.scaling.laws import (
    FEWEST_FOR_INTERVALS,
    FEWEST_POINTS,
    LOGISTIC_LAW,
    POWER_LAW,
    SAMPLES,
    Law,
    fit_tables,
)

FINISHED = "finished runs"
ON_THE_WAY = "checkpoints of one line"
_WINDOW = 10 ** (-1 / BINS_PER_DECADE)
_FITS = (
    Column("fitted_to", "Fitted to"),
    Column("line", "Line"),
    Column("points", "Points", "count"),
    Column("parameter", "Parameter"),
    Column("value", "Value (95 % interval)", "number", ("low", "high")),
    Column("rmse", "Root mean square error", "number"),
)
_NAMES = {FINISHED: "finished", ON_THE_WAY: "training"}


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
    # What was planned counts, so that a run whose last checkpoint is not scored has no point, and no earlier one.
    last = {run.label: max(run.planned or run.saved, default=None) for run in runs if run.has_ended}
    kept = points[points["step"] == points["run"].astype(str).map(last)]
    return kept.assign(
        line=kept["run"].astype(str).map({run.label: run.line_without("size", "budget") for run in runs})
    )


def accuracy_points(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep the points that the law of accuracy is fitted to: the overall rows with FLOPs above 0."""
    # The untrained model has no FLOPs, so it has no place on a log axis.
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
    # Both means have to be over the same runs. Otherwise a point could lie where no run is.
    whole[both] = whole[both].where(whole[both].notna().all(axis=1))
    table = whole.groupby(["line", "phenomenon", "step"], as_index=False, sort=False).agg(
        tokens=("tokens", "mean"),
        runs=("accuracy", "count"),
        bits_per_byte=("bits_per_byte", "mean"),
        sd=("accuracy", "std"),
        accuracy=("accuracy", "mean"),
    )
    table["low"], table["high"] = table["accuracy"] - table["sd"], table["accuracy"] + table["sd"]
    table = table.assign(loss=bits["loss"].iloc[0])
    return table.drop(columns="sd").sort_values(["line", "phenomenon", "step"], ignore_index=True)


def _bits_at_checkpoints(metrics: pd.DataFrame, run: Run) -> pd.DataFrame:
    """Return the training loss of one run at each of its checkpoints (``checkpoint_bits``)."""
    rows = metrics[metrics["bits_per_byte"].notna() & (metrics["tokens"] > 0)].sort_values("step")
    checkpoints = rows[rows["step"].isin({*run.planned, *run.saved})]
    tokens = checkpoints["tokens"].to_numpy(np.float64)
    # The mean over the steps in the window of tokens that ends at each checkpoint, which is one of the steps.
    every = rows["tokens"].to_numpy(np.float64)
    sums = np.concatenate([[0.0], np.cumsum(rows["bits_per_byte"].to_numpy())])
    # What follows a checkpoint was not yet learned there, so the window does not reach beyond it.
    first = np.searchsorted(every, tokens * _WINDOW, side="right")
    after = np.searchsorted(every, tokens, side="right")
    means = np.asarray((sums[after] - sums[first]) / (after - first))
    flops = 6.0 * (run.parameters or 0) * tokens
    return checkpoints[["step"]].assign(
        run=run.label, line=run.line, tokens=tokens, flops=flops, bits_per_byte=means
    )


@questions.section(questions.COST, place=2)
def loss_scaling_sections(study: Study) -> Iterable[ReportSection]:
    """Fit bits per byte over FLOPs; nothing where no line has enough points."""
    points = checkpoint_bits(study.metrics, study.held_out, study.runs).rename(columns={"bits_per_byte": "value"})
    if points.empty:
        return
    heading, loss = "Scaling of bits per byte", points["loss"].iloc[0]
    label, title = f"{loss.capitalize()} loss (bits per byte)", f"{heading} ({loss} loss)"
    marks = {run.label: unknown_mark(run) for run in study.runs}
    drawings, fits = _fit(points, study, POWER_LAW, "scaling_bits_per_byte", title, label, marks)
    if drawings:
        notes = describe_unknown(study.runs)
        yield ReportSection(heading, (*notes, *drawings, fits), left_out=_why_no_law(fits.table))


@questions.section(questions.MODELS, place=6)
def accuracy_scaling_sections(scored: BenchmarkScores) -> Iterable[ReportSection]:
    """Fit accuracy over FLOPs; nothing where no line has enough points."""
    points = accuracy_points(scored.curve_rows())
    name, title = f"scaling_{scored.file_name}", f"Scaling of accuracy, {scored.curve_title}"
    drawings, fits = _fit(points, scored.study, LOGISTIC_LAW, name, title, "Accuracy (%)")
    if drawings:
        heading = f"Scaling of accuracy on {scored.heading}"
        yield ReportSection(heading, (*drawings, fits), left_out=_why_no_law(fits.table))


@questions.section(questions.MODELS, place=7)
def accuracy_by_bits_sections(scored: BenchmarkScores) -> Iterable[ReportSection]:
    """Set accuracy against bits per byte; nothing where the runs hold no training metrics."""
    bits = checkpoint_bits(scored.study.metrics, scored.study.held_out, scored.study.runs)
    table = accuracy_against_bits(scored.curve_rows(), bits, scored.study.runs)
    if not table.empty and table["accuracy"].notna().any():
        marked, name = mark_unknown(table, scored.study.runs), f"accuracy_by_bits_{scored.file_name}"
        drawings = draw_accuracy_against_bits(marked, name, scored.curve_title, scored.study.look)
        left_out = "one model: there is nothing to compare it with" if table["line"].nunique() == 1 else ""
        heading = f"Accuracy at equal bits per byte on {scored.heading}"
        yield ReportSection(heading, (*describe_unknown(scored.study.runs), *drawings), left_out=left_out)


def _why_no_law(fits: pd.DataFrame) -> str:
    """Say why fits over the checkpoints of one line alone are not shown; otherwise nothing."""
    is_law = (fits["fitted_to"] == FINISHED).any()
    return "" if is_law else "too few sizes and budgets: a fit over checkpoints of one line is no law over models"


def draw_scaling(curves: pd.DataFrame, name: str, title: str, note: str, label: str, look: LineStyles) -> Drawing:
    """Draw fitted curves through their points; values are fractions shown in percent where the label has ``%``."""
    fits, is_percent = curves[curves["source"] == "fit"], "%" in label
    banded = fits["low"].notna().groupby(fits["line"].astype(str)).any()
    marks = "Dots: runs at their checkpoints; line: fit"
    if banded.any():
        some = "" if banded.all() else f" of lines with {FEWEST_FOR_INTERVALS} or more different FLOPs"
        marks += f"; band: 95 % bootstrap interval of the fit{some}"
    y = Up("value", label, 0.5 if is_percent else None, is_percent=is_percent)
    figure = LineFigure(curves, FLOPS, y, marks, look, dots=("source", "observed"), counted=())
    return picture(figure, name, title, f"{note} {marks}.", curves)


def draw_accuracy_against_bits(
    table: pd.DataFrame, name: str, title: str, look: LineStyles = NUMBERED
) -> list[Drawing]:
    """Draw the overall figure and, where the benchmark has phenomena, one of a panel for each."""
    loss = table["loss"].iloc[0]
    measured = {
        "held-out": "Bits per byte are measured at each checkpoint after step 0, on text that is not trained on",
        "training": "Bits per byte are the mean over the steps of the last 1/30 of a decade of tokens before a "
        "checkpoint; step 0 has none",
    }
    note = (
        f"Accuracy against {loss} loss in bits per byte, {title}. {_against_bits_note(table)} {measured[loss]}."
    )
    describe = partial(_describe_against_bits, look=look)
    return overall_and_phenomena(table, name, "Accuracy against bits per byte", note, describe)


def _fit(
    points: pd.DataFrame,
    study: Study,
    law: Law,
    name: str,
    title: str,
    label: str,
    marks: Mapping[str, str] | None = None,
) -> tuple[list[Drawing], TableView]:
    """Fit the ends of finished runs, and the checkpoints of runs that differ in the seed only.

    ``marks`` are put behind the names of the lines, by the label of a run.
    """
    found, drawings = [], []
    seeds = points.assign(line=points["line"].astype(str))
    for kind, rows in ((FINISHED, finished_points(points, study.runs)), (ON_THE_WAY, seeds)):
        names = zip(rows["line"], rows["run"], strict=True)
        marked = rows.assign(line=[f"{line}{(marks or {}).get(str(run), '')}" for line, run in names])
        parameters, curves = fit_tables(marked, law, SAMPLES if kind == FINISHED else 0)
        if not parameters.empty:
            found.append(parameters.assign(fitted_to=kind))
            file = f"{name}_{_NAMES[kind]}"
            drawings.append(
                draw_scaling(curves, file, f"{title}, {kind}", _fit_note(law, kind), label, study.look)
            )
    table = stack(found)
    table_note = (
        f"{law.formula}, C in FLOPs. Intervals: 95 % percentile, {SAMPLES} draws with replacement of a line's "
        "cells, which are the points of equal FLOPs (the seeds of one size and budget). A line with fewer than "
        f"{FEWEST_FOR_INTERVALS} different FLOPs has no interval: draws of so few repeat each other, and the interval "
        "would be far too narrow. Checkpoints of one run depend on each other, so that fits to them have no interval "
        "(docs/analysis.md), and neither has a parameter at the end of its range, which the points do not determine. "
        f"Lines with fewer than {FEWEST_POINTS} "
        f"different FLOPs are not fitted."
    )
    return drawings, TableView(table_note, _FITS, table, {f"{name}_fits": table})


def _fit_note(law: Law, kind: str) -> str:
    """Say what a fit is to, and why it may have no band."""
    what = {
        FINISHED: "one point for every finished run; runs that differ only in size, budget and seed are one line, "
        f"which has no band with fewer than {FEWEST_FOR_INTERVALS} different FLOPs",
        ON_THE_WAY: "the checkpoints of the runs that differ in the seed only, whose learning rate has not come down "
        "yet: the course of one training, no law over models. It has no band, because checkpoints of one run depend on "
        "each other",
    }
    return f"Fit of {law.formula}, C in FLOPs, to {what[kind]}."


def _describe_against_bits(table: pd.DataFrame, look: LineStyles) -> LineFigure:
    loss = table["loss"].iloc[0].capitalize()
    x = Across("bits_per_byte", f"{loss} loss (bits per byte, falling to the right)", "falling")
    return LineFigure(table, x, ACCURACY, _against_bits_note(table), look, has_points=True)


def _against_bits_note(table: pd.DataFrame) -> str:
    several = bool((table["runs"] > 1).any())
    band = f"; band: ± {OVER_RUNS} where there are several" if several else ""
    return f"Dots: checkpoints, joined in the order of training{band}."
