"""Learning curves averaged over model sizes and seeds (ZhoBLiMP, section 5.3, Figure 4)."""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ucurve.analysis.data.frames import with_gaps
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.figures.described import ACCURACY, TOKENS, LineFigure
from ucurve.analysis.figures.drawings import overall_and_phenomena
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import NUMBERED, LineStyles
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import ReportSection

Array = NDArray[np.float64]
WIDTH = 0.1  # of the smoother, in decades of tokens
_BAND = "± 1 sample sd over runs (sizes and seeds)"
_SMOOTHER = f"local linear regression on log tokens, Gaussian weights of {WIDTH:g} decades"


def mean_curves(scores: pd.DataFrame, runs: Sequence[Run]) -> pd.DataFrame:
    """Average the curves of runs that differ only in size and seed at equal tokens.

    A run's accuracy between two of its checkpoints is interpolated linearly on log tokens; never outside its own range,
    never across a checkpoint that is missing or not scored, and not between step 0 and the first step.

    The columns are ``line`` (label of the runs without size and seed), ``phenomenon``, ``tokens`` (every count at
    which some run has a checkpoint), ``runs``, ``models`` (sizes), ``accuracy`` and ``sd`` (mean and sample standard
    deviation over the runs, NaN where one of them has no value, so that no change of the runs that are averaged looks
    like learning); then ``smoothed``, ``low`` and ``high``: mean, and mean minus and plus the standard deviation, each
    smoothed by ``local_linear``. A line of one size is left out.
    """
    rows = with_gaps(scores[scores["step"] >= 0], runs)
    lines = {run.label: run.line_without("size") for run in runs}
    sizes = {run.label: run.size for run in runs}
    rows = rows.assign(line=rows["run"].map(lines), model=rows["run"].map(sizes))
    parts = [
        _average_line(part).assign(line=str(line), phenomenon=str(phenomenon))
        for (line, phenomenon), part in rows.groupby(["line", "phenomenon"], sort=False)
        if part["model"].nunique() > 1
    ]
    columns = ["line", "phenomenon", "tokens", "runs", "models", "accuracy", "sd", "smoothed", "low", "high"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def local_linear(x: Array, y: Array, width: float = WIDTH) -> Array:
    """Smooth by local linear regression with Gaussian weights (Fan and Gijbels 1996); a straight line stays as it is.

    ``x`` increases, ``y`` has no NaN, and ``width`` is the standard deviation of the weights in the units of ``x``.
    """
    distance = x[None, :] - x[:, None]
    weights = np.exp(-0.5 * (distance / width) ** 2)
    s0, s1, s2 = ((weights * distance**power).sum(axis=1) for power in range(3))
    t0, t1 = (weights * y).sum(axis=1), (weights * distance * y).sum(axis=1)
    spread = s0 * s2 - s1**2
    alone = spread <= 1e-9 * (s0 * width) ** 2  # no neighbor within reach: nothing to fit a slope to
    return np.asarray(np.where(alone, t0 / s0, (s2 * t0 - s1 * t1) / np.where(alone, 1, spread)))


def draw_mean_curves(table: pd.DataFrame, name: str, title: str, look: LineStyles = NUMBERED) -> list[Drawing]:
    """Draw the rows of ``mean_curves``, at least one: overall and, where there are phenomena, a panel for each."""
    note = (
        f"Accuracy against training tokens, {title}: mean over the runs that differ only in size and seed, at equal "
        f"tokens, where every run has a value. Dots: means; line: smoothed ({_SMOOTHER}). Band: {_BAND}, smoothed in "
        "the same way; it is not a confidence interval of the mean."
    )
    return overall_and_phenomena(table, name, "Mean learning curves", note, partial(_mean_figure, look=look))


@questions.section(questions.LEARNED, place=5)
def mean_curve_sections(scored: BenchmarkScores) -> Iterable[ReportSection]:
    """Make the mean curves of one benchmark; none where no runs differ in size alone."""
    rows = scored.curve_rows()
    table = rows if rows.empty else mean_curves(rows, scored.study.runs)
    if not table.empty:
        drawings = draw_mean_curves(
            table, f"mean_curves_{scored.file_name}", scored.curve_title, scored.study.look
        )
        yield ReportSection(f"Mean learning curves on {scored.heading}", tuple(drawings))


def _average_line(rows: pd.DataFrame) -> pd.DataFrame:
    """Average the runs of one line and phenomenon at every count of tokens that one of them has."""
    grid = np.unique(rows.loc[rows["accuracy"].notna(), "tokens"].to_numpy(np.float64))
    values = np.array([interpolate_run(part, grid) for _, part in rows.groupby("run", sort=False)])
    mean, sd = values.mean(axis=0), values.std(axis=0, ddof=1)  # NaN where a run has none
    smoothed, spread = (_smooth_stretches(grid, one) for one in (mean, sd))
    return pd.DataFrame(
        {
            "tokens": grid,
            "runs": len(values),
            "models": rows["model"].nunique(),
            "accuracy": mean,
            "sd": sd,
            "smoothed": smoothed,
            "low": smoothed - spread,
            "high": smoothed + spread,
        }
    )


def interpolate_run(rows: pd.DataFrame, grid: Array) -> Array:
    """Read one run's ``accuracy`` at these tokens; NaN outside its range and, as NaN spreads, within a gap."""
    curve = rows.sort_values("tokens")
    tokens, accuracy = (curve[name].to_numpy(np.float64) for name in ("tokens", "accuracy"))
    trained, start = tokens > 0, accuracy[tokens == 0]
    values = np.full(len(grid), np.nan)
    values[grid == 0] = start[0] if len(start) else np.nan
    if trained.any():
        later = grid > 0
        places = np.log10(tokens[trained])
        values[later] = np.interp(np.log10(grid[later]), places, accuracy[trained], left=np.nan, right=np.nan)
    return values


def _smooth_stretches(grid: Array, values: Array) -> Array:
    """Smooth every stretch without a gap by itself; step 0 has no place on a log axis and stays as it is."""
    result = values.copy()
    some = ~np.isnan(values) & (grid > 0)
    for stretch in np.split(np.arange(len(grid)), np.flatnonzero(np.diff(some.astype(int))) + 1):
        if len(stretch) and some[stretch[0]]:
            result[stretch] = local_linear(np.log10(grid[stretch]), values[stretch])
    return result


def _mean_figure(table: pd.DataFrame, look: LineStyles) -> LineFigure:
    """Describe smoothed means as lines, and the means themselves as dots."""
    smoothed = table.assign(mark="smoothed", accuracy=table["smoothed"], sizes=table["models"])
    dots = table.assign(mark="mean", low=np.nan, high=np.nan)
    return LineFigure(
        pd.concat([smoothed, dots], ignore_index=True),
        TOKENS,
        ACCURACY,
        f"Line: smoothed mean; band: {_BAND}",
        look,
        dots=("mark", "mean"),
        counted=("sizes", "runs"),
    )
