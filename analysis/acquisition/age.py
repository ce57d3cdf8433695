"""Age of acquisition: how many times the tokens the runs of one level of a factor need, over all phenomena.

It is of the times at which single runs come to an accuracy (``time_at``), which ratios of lines use too.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import log_ndtr
from scipy.stats import t as student

from ucurve.analysis.curves.mean import local_linear
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.analysis.shape.onset import last_crossing
from ucurve.analysis.shape.smoothing import SMOOTHING, Array
from ucurve.eval.metrics.sampling import CONFIDENCE
from ucurve.eval.metrics.significance import holm

LEAST_CHANGE = 0.05  # of accuracy; on a shorter stretch no level tells when runs pass it
COLUMNS = ("factor", "level", "against", "ratio", "low", "high", "p", "runs", "phenomena", "left", "right")
_ROUNDS = 300  # of the EM algorithm, whose estimates then change by less than 0.001 decades
_LEAST_SPREAD = 0.01  # decades: no time is read more exactly
_SHOWN = table_columns(
    "factor",
    "level",
    Column("ratio", "Times the tokens (95 %)", "number", ("low", "high")),
    Column("against", "Of"),
    "p_holm",
    "runs",
    Column("left", "Learned before", "count"),
    Column("right", "Not by the end", "count"),
)
_NOTE = (
    "How many times the training tokens the runs of a level need for what those of another level have, on average over "
    "phenomena and the other factors: until each run passes half way of a phenomenon, from the mean untrained accuracy "
    "to the mean of the lines' ends. Runs that are above it from the first checkpoint on (learned before) or never "
    "(not by the end) count as known to be so early or so late. Intervals are 95 % over seeds, on these pairs. No "
    "ratio: a run passes half way of no phenomenon. Tokens of two tokenizers are other amounts of text. "
)


class RunCurve(NamedTuple):
    """One run's curve."""

    run: str
    places: Array  # log10 of tokens, of trained checkpoints with a score
    smoothed: Array
    untrained: float  # the accuracy before training; of the first checkpoint where there is none


def read_curves(curves: pd.DataFrame) -> dict[str, dict[str, list[RunCurve]]]:
    """Smooth the curves of all runs (.15 decades), by phenomenon and line.

    ``curves`` has ``line``, ``run``, ``phenomenon``, ``tokens`` and ``accuracy``, a row per checkpoint.
    """
    found: dict[str, dict[str, list[RunCurve]]] = {}
    scored = curves.dropna(subset="accuracy")
    for (phenomenon, line, run), own in scored.groupby(["phenomenon", "line", "run"], sort=False, observed=True):
        tokens, accuracy = own.sort_values("tokens")[["tokens", "accuracy"]].to_numpy(np.float64).T
        places = np.log10(tokens[tokens > 0])
        if len(places) > 1:  # between checkpoints, as a single one has no time at which a level is passed
            smoothed = local_linear(places, accuracy[tokens > 0], SMOOTHING)
            one = RunCurve(str(run), places, smoothed, float(accuracy[0]))
            found.setdefault(str(phenomenon), {}).setdefault(str(line), []).append(one)
    return found


def starts_and_ends(lines: Sequence[Sequence[RunCurve]]) -> tuple[list[float], list[float]]:
    """Return the untrained and the last smoothed accuracy of each line, means over its runs."""
    starts = [float(np.mean([run.untrained for run in runs])) for runs in lines]
    return starts, [float(np.mean([run.smoothed[-1] for run in runs])) for runs in lines]


def time_at(run: RunCurve, level: float, *, rises: bool = True) -> float:
    """Return log10 of the tokens at which a run passes a level for good.

    Infinity where it does not, negative infinity where it is on the other side from its first trained checkpoint on.
    """
    height = run.smoothed - level if rises else level - run.smoothed
    return float(last_crossing(run.places, height[None])[0])


def age_of_acquisition(curves: pd.DataFrame, factors: pd.DataFrame) -> pd.DataFrame:
    """Compare every two levels of each factor: ``ratio`` is the tokens that ``level`` needs over those of ``against``.

    ``curves`` has ``line``, ``run``, ``phenomenon``, ``tokens`` and ``accuracy``, a row per checkpoint; ``factors`` a
    row for each run, by its label, and a column for each factor. The time of a run in a phenomenon is the tokens at
    which its smoothed curve passes half way of the mean rise of the lines, for good; phenomena that rise by less than 5
    points have none. Log times are the sum of the run's lateness, the phenomenon's and a normal error, known only to be
    early or late where a run passes before its first checkpoint (``left`` counts them, of both levels) or not by its
    end (``right``). Lateness is fitted to the factors, without interactions: ``low`` and ``high`` are the 95 % interval
    over runs, ``p`` is of a ratio of 1, and ``p_holm`` over the rows. Where a run of either level passes no level, or
    the runs do not tell two factors apart, there is no ratio.
    """
    times, ends = half_way_times(curves)
    known = np.isfinite(times.to_numpy())
    times = times.loc[:, known.any(axis=0).tolist()]
    if times.shape[1] < 2:
        return pd.DataFrame(columns=[*COLUMNS, "p_holm"])
    late = pd.Series(lateness(times.to_numpy(), ends.to_numpy()), times.index).where(known.any(axis=1))
    # To lack a factor is a level of it.
    levels = factors.where(factors.notna(), "none").astype(str).loc[times.index]
    table = pd.DataFrame(_compare_levels(late, times, levels), columns=list(COLUMNS))
    return table.assign(p_holm=holm(table["p"].to_numpy(np.float64)))


def half_way_times(curves: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return log10 of the tokens at which each run (row) passes half way of each phenomenon (column).

    Infinity where it does not, negative infinity where it is above from its first checkpoint on. With it come log10 of
    the tokens of the first and the last checkpoint of each run.
    """
    times: dict[str, dict[str, float]] = {}
    ends: dict[str, Array] = {}
    for phenomenon, lines in read_curves(curves).items():
        # One level for all lines: half way of its own rise would be passed early by a line that learns little.
        start, end = (float(np.mean(values)) for values in starts_and_ends(list(lines.values())))
        for run in chain(*lines.values()):
            ends[run.run] = run.places[[0, -1]]
            if end - start >= LEAST_CHANGE:
                times.setdefault(phenomenon, {})[run.run] = time_at(run, (start + end) / 2)
    bounds = pd.DataFrame.from_dict(ends, "index")
    # Lateness is by means over rows and columns, which only compare in a table without gaps.
    return pd.DataFrame(times, bounds.index).dropna(axis=1), bounds


def lateness(times: Array, ends: Array) -> Array:
    """Return how late each run is, float64[runs], in log10 of tokens, from times, float64[runs, phenomena].

    Times are run plus phenomenon plus a normal error; infinite ones lie before or after ``ends``, float64[runs, 2]. By
    maximum likelihood (EM: a time that is not known has the mean of those that are possible), but for the variance of
    the error, whose degrees of freedom are those of the residuals.
    """
    side = np.where(np.isinf(times), np.sign(times), 0)
    bound = np.where(side < 0, ends[:, :1], np.where(side > 0, ends[:, 1:], times))
    filled, spread = bound, 1.0
    for _ in range(_ROUNDS):
        expected = filled.mean(axis=1, keepdims=True) + filled.mean(axis=0) - filled.mean()
        beyond = side * (expected - bound) / spread
        # The ratio is taken of logarithms, because far out in the tail both the density and the probability are 0 in
        # floating point.
        hazard = np.exp(-(beyond**2) / 2 - log_ndtr(beyond)) / np.sqrt(2 * np.pi)
        # Mean and variance of a normal distribution that is cut off at the bound.
        filled = np.where(side, expected + side * spread * hazard, bound)
        squares = (filled - expected) ** 2 + np.where(side, 1 - beyond * hazard - hazard**2, 0) * spread**2
        # The spread stays above 0, because ``beyond`` is divided by it.
        spread = max(_LEAST_SPREAD, float(np.sqrt(squares.sum() / np.prod(np.array(times.shape) - 1))))
    return np.asarray(filled.mean(axis=1))


@questions.section(questions.MODELS, place=5, page="docs/shape.md")
def age_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Tabulate how much earlier or later levels of factors learn; nothing without two levels and two runs a line."""
    study, curves = scored.study, scored.curve_rows().astype({"run": str})
    factors = study.design.table[list(study.design.varying)]
    own = curves.assign(line=curves["run"].map({run.label: run.line for run in study.runs}))
    own = own[own["run"].isin(factors.index) & (own["phenomenon"] != "all")]
    if factors.empty or own["run"].nunique() < 2 * own["line"].nunique():
        return
    table = age_of_acquisition(own, factors)
    if table["ratio"].notna().any():
        view = TableView(
            f"{_NOTE}{scored.title}.", _SHOWN, table, {f"age_of_acquisition_{scored.file_name}": table}
        )
        yield ReportSection(f"Which factor makes learning earlier on {scored.heading}", (view,))


def _compare_levels(late: pd.Series, times: pd.DataFrame, factors: pd.DataFrame) -> Iterator[tuple[object, ...]]:
    """Fit lateness to the levels by least squares, and yield the rows of every two levels of each factor."""
    levels = pd.get_dummies(factors[late.notna()], prefix_sep="=", dtype=float)
    design, known = levels.to_numpy(), late.dropna().to_numpy()
    # With several factors the design lacks full rank, as the indicators of each factor sum to one. ``is_told`` says
    # which differences can be estimated all the same.
    inverse = np.linalg.pinv(design)
    freedom = len(known) - int(np.linalg.matrix_rank(design))
    variance = float(((known - design @ inverse @ known) ** 2).sum()) / freedom if freedom else np.nan
    for factor in factors:
        for level, against in combinations(factors[factor].unique(), 2):
            own = factors[factor].isin([level, against])
            weights = np.array(
                [float(name == f"{factor}={level}") - (name == f"{factor}={against}") for name in levels]
            )
            is_told = late[own].notna().all() and np.allclose(weights @ inverse @ design, weights)
            of_runs = weights @ inverse  # the weights of the runs' lateness in the difference of the levels
            error = float(np.sqrt(variance * (of_runs**2).sum())) if is_told else np.nan
            left, right = (int((times[own] == side).sum().sum()) for side in (-np.inf, np.inf))
            ratio = low = high = p = np.nan
            if error > 1e-9:  # decades, which rounding leaves of equal runs
                difference = float(of_runs @ known)
                half = float(student.ppf((1 + CONFIDENCE) / 2, freedom)) * error
                ratio, low, high = (10**one for one in (difference, difference - half, difference + half))
                p = float(2 * student.sf(abs(difference) / error, freedom))
            yield factor, level, against, ratio, low, high, p, int(own.sum()), times.shape[1], left, right
