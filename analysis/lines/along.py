"""Where along the curve the levels of a factor differ: the difference of smoothed curves with a simultaneous band."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.curves.mean import local_linear
from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.lines.over_seeds import LEAST_SLOPE, level_pairs, moderate, weigh
from ucurve.analysis.plotting.style import readable, rounded_count
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.analysis.shape.smoothing import SMOOTHING
from ucurve.eval.metrics.sampling import CONFIDENCE
from ucurve.eval.metrics.significance import holm
from ucurve.gather import gather

CURVE_COLUMNS = ("factor", "level", "other", "phenomenon", "tokens", "difference", "low", "high")
COLUMNS = (
    "factor", "level", "other", "phenomenon", "pairs", "higher", "lower", "largest", "largest_low", "largest_high",
    "largest_at", "p", "p_holm",
)  # fmt: skip
FEWEST_CHECKPOINTS = 4
# With so many draws the standard error of the 95 % quantile is one or two percent of it.
_DRAWS = 4000
_TURNS = 2  # independent differences in what a run does by itself, which is smooth: no more is known of variances
_LEAST_ERROR = 1e-9  # of accuracy
_SHOWN = table_columns(
    Column("of", "Difference"),
    "phenomenon",
    Column("higher", "Higher (tokens)"),
    Column("lower", "Lower (tokens)"),
    Column("largest", "Largest, points (band)", "percent", ("largest_low", "largest_high")),
    Column("largest_at", "At tokens", "count"),
    "p_holm",
)
_NOTE = (
    "Where along the whole curve the levels of a factor differ, on average of the pairs of lines that differ in it "
    "alone: the amounts of tokens at which the 95 % band of the difference, which holds all of it at once, is above or "
    "below 0, and the difference that is largest in its band. Over seeds, on these pairs. "
)
_NOWHERE = "Nowhere along the curves is a difference shown."
Array = npt.NDArray[np.float64]
_Curves = list[Array]  # the curve of each run, float64[2, checkpoints]: tokens and accuracies


def differences_along(curves: pd.DataFrame, runs: Sequence[Run]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compare every two levels of each factor along the whole curve, over all pairs and by phenomenon.

    ``curves`` has ``run``, ``phenomenon``, ``tokens`` and ``accuracy``. The difference is the mean over the pairs of
    lines that differ in the factor alone (``pairs``), of curves smoothed on the log axis (.15 decades), at the
    checkpoints of their first run. Its band holds the whole difference in other seeds with 95 %: at each checkpoint it
    is the same number of standard errors wide. Their variances are those of the runs about their lines, moderated over
    the checkpoints (at most 4 degrees of freedom more), and the number is the 95 % quantile of the largest of all
    checkpoints, for errors as far apart as the smoothing leaves them (max-t; Montiel Olea and Plagborg-Moeller 2019).

    The first table has a row per checkpoint, ``CURVE_COLUMNS``. The second one has a row for each difference: the
    ranges of tokens in which the band is above 0 (``higher``) and below (``lower``), the ``largest`` difference in
    standard errors with its band and place, and ``p`` of no difference anywhere, Holm's over the rows of all pairs and
    of phenomena (``p_holm``). Levels without two runs of some line have no row.
    """
    rows, differences = [], []
    by_phenomenon = curves_of_lines(curves, {run.label: run.line for run in runs})
    for factor in runs[0].design.varying if runs else ():
        for (level, other), pairs in level_pairs(runs, factor).items():
            for phenomenon, lines in by_phenomenon.items():
                known = [(lines[one], lines[two]) for one, two in pairs if one in lines and two in lines]
                if known and (found := compare_along(known)):
                    named = {"factor": factor, "level": level, "other": other, "phenomenon": phenomenon}
                    tokens, band, p = found
                    along = pd.DataFrame({**named, "tokens": tokens, **band})
                    differences.append(along)
                    rows.append((*named.values(), len(known), *tell_along(along), p))
    table = pd.DataFrame(rows, columns=list(COLUMNS[:-1]))
    adjusted = table.groupby(table["phenomenon"] == "all")["p"].transform(lambda p: holm(p.to_numpy()))
    return stack(differences, CURVE_COLUMNS), table.assign(p_holm=adjusted)


def curves_of_lines(curves: pd.DataFrame, line_of: Mapping[str, str]) -> dict[str, dict[str, _Curves]]:
    """Return the curves of the runs, by phenomenon and line."""
    scored = curves[curves["tokens"] > 0].dropna(subset="accuracy").sort_values("tokens", kind="stable")
    of_phenomena = gather(
        (str(phenomenon), (line_of[str(label)], own[["tokens", "accuracy"]].to_numpy(np.float64).T))
        for (phenomenon, label), own in scored.groupby(["phenomenon", "run"], sort=False)
        if len(own) >= FEWEST_CHECKPOINTS
    )
    return {phenomenon: gather(lines) for phenomenon, lines in of_phenomena.items()}


def compare_along(pairs: Sequence[tuple[_Curves, _Curves]]) -> tuple[Array, dict[str, Array], float] | None:
    """Compare pairs of lines, each the curves of its runs, float64[2, checkpoints] (tokens above 0 and accuracies).

    Returned are the tokens at which they are compared, ``difference`` with its band ``low`` to ``high``, and p; None
    with fewer than four common checkpoints or one run of a line.
    """
    lines = [line for side in zip(*pairs, strict=True) for line in side]
    weights = [weight / len(pairs) for weight in (1.0, -1.0) for _ in pairs]
    spans = np.array([run[0, [0, -1]] for line in lines for run in line])
    tokens = lines[0][0][0]
    tokens = tokens[(tokens >= spans[:, 0].max()) & (tokens <= spans[:, 1].min())]  # where every run has a curve
    if len(tokens) < FEWEST_CHECKPOINTS or min(map(len, lines)) < 2:
        return None
    places = np.log10(tokens)
    # Every run is read at the same tokens before it is smoothed, so that its own checkpoints do not matter.
    read = [
        np.array([local_linear(places, np.interp(places, np.log10(run[0]), run[1]), SMOOTHING) for run in line])
        for line in lines
    ]
    # Where curves are steep, seeds that are a little earlier or later differ more.
    slopes = np.concatenate([np.gradient(own.mean(axis=0), places) for own in read])
    cells = moderate([at.tolist() for own in read for at in own.T], np.log(slopes**2 + LEAST_SLOPE**2)[:, None])
    weighed = [weigh(cells[place :: len(tokens)], weights) for place in range(len(tokens))]
    value, error, freedom = np.array(weighed).T
    independent = _TURNS * sum(len(line) - 1 for line in lines)
    # Draws of the largest of all checkpoints' t, for errors that only the smoothing makes alike.
    least = min(float(freedom.min()), independent)
    correlation = np.exp(-((places[:, None] - places) ** 2) / (4 * SMOOTHING**2))
    # Near checkpoints are so alike that rounding makes eigenvalues negative, and a Cholesky root fails.
    values, vectors = np.linalg.eigh(correlation)
    random = np.random.default_rng(0)
    normal = random.standard_normal((_DRAWS, len(places))) @ (vectors * np.sqrt(np.maximum(values, 0))).T
    spread = np.sqrt(random.chisquare(least, _DRAWS) / least)
    largest = np.asarray(np.abs(normal).max(axis=1) / spread)
    half = np.quantile(largest, CONFIDENCE) * error
    seen = (np.abs(value) / np.maximum(error, _LEAST_ERROR)).max()
    p = float((1 + (largest >= seen).sum()) / (1 + len(largest)))
    return tokens, {"difference": value, "low": value - half, "high": value + half}, p


def tell_along(along: pd.DataFrame) -> tuple[object, ...]:
    """Return the ranges in which the band is on one side of 0, and the difference that is largest in its band."""
    # The difference is measured by the width of its band, because the largest difference is often where curves are
    # steep and seeds differ most.
    widths = np.maximum(along["high"] - along["low"], _LEAST_ERROR)  # 0 where all runs of both lines are equal
    first = along.iloc[int((along["difference"] / widths).abs().argmax())]
    return (
        _ranges(along["tokens"], along["low"] > 0),
        _ranges(along["tokens"], along["high"] < 0),
        *first[["difference", "low", "high", "tokens"]],
    )


def _ranges(tokens: pd.Series, holds: pd.Series) -> str:
    """Name the stretches of checkpoints at which something holds: ``from 25K to 98K, at 1.5M``."""
    stretches = tokens[holds].groupby((holds != holds.shift()).cumsum()[holds])
    ends = [list(map(rounded_count, own.iloc[[0, -1]])) for _, own in stretches]
    return ", ".join(f"from {first} to {last}" if first != last else f"at {first}" for first, last in ends)


@lru_cache(maxsize=16)
def read_along(scored: BenchmarkScores) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compare the levels of each factor along the curves of a benchmark (``differences_along``)."""
    return differences_along(scored.curve_rows(), scored.study.runs)


def describe_along(table: pd.DataFrame, factor: str, better: str, worse: str) -> str:
    """Say at which tokens a level of a factor is above another over all pairs; empty where it was not compared."""
    rows = table[(table["factor"] == factor) & (table["phenomenon"] == "all")]
    for row in rows.to_dict("records"):
        if {row["level"], row["other"]} == {better, worse}:
            sides = ("higher", "lower") if row["level"] == better else ("lower", "higher")
            told = [
                f"{one} is higher {row[side]}"
                for one, side in zip((better, worse), sides, strict=True)
                if row[side]
            ]
            low, high = sorted(abs(100 * row[bound]) for bound in ("largest_low", "largest_high"))
            most = f"most clearly by {abs(100 * row['largest']):.1f} points (band: {low:.1f} to {high:.1f}) at "
            most += rounded_count(row["largest_at"])
            return f"Along the curves, {' and '.join(told)} tokens, {most}." if told else _NOWHERE
    return ""


@questions.section(questions.MODELS, place=4)
def along_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Tabulate where along the curves the levels of each factor differ; nothing without two levels of two seeds."""
    curves, table = read_along(scored)
    if table.empty:
        return
    names = table["factor"].str.capitalize() + ": " + table["level"] + " - " + table["other"]
    shown = table.assign(of=names, phenomenon=table["phenomenon"].map(readable))
    files = {f"differences_along_{scored.file_name}": table, f"difference_curves_{scored.file_name}": curves}
    view = TableView(f"{_NOTE}{scored.title}.", _SHOWN, shown, files, "p_holm")
    yield ReportSection(f"Where along the curves lines differ on {scored.heading}", (view,))
