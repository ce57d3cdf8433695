"""Means, differences and other contrasts over seeds, whose few values borrow their spread from other settings.

Two or three seeds say little about how much seeds vary: their variance may be near 0 or far too large by accident. The
seeds of many settings (curves, lines, amounts of tokens) say it together. ``moderate`` gives each setting the mean of
its own variance and of what the others expect of it, weighed by their degrees of freedom (Smyth 2004, "Linear models
and empirical Bayes methods for assessing differential expression in microarray experiments", section 3). What is
expected may depend on the curves, such as on how rough they are (Law et al. 2014, "voom", section on limma-trend).
"""

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import t as student

from ucurve.analysis.data.runs import Run
from ucurve.eval.metrics.moderated import moderate_variances
from ucurve.eval.metrics.sampling import CONFIDENCE
from ucurve.eval.metrics.significance import holm
from ucurve.gather import gather

Array = npt.NDArray[np.float64]
ROUGHNESS, SLOPE = "roughness", "slope"  # columns of a run's value that its seeds' variance may go with
FEWEST_SETTINGS = 4  # with several seeds, from which on they are moderated
_SETTINGS_FOR_CURVES = 12  # from which on their variances are also expected by how rough and steep curves are
_LEAST = 0.25  # of the median variance, which no variance is below: half the median width of an interval
_WINDOW, _STEP, _NEAR = 1.2, 0.3, 0.15  # decades of tokens: in which roughness is measured, slope, and a level
_LEAST_ROUGHNESS, LEAST_SLOPE = 0.001, 0.02  # accuracy, and accuracy a decade, below which curves are alike
DIFFERENCE = (1.0, -1.0)  # the weights of two sides


class Estimate(NamedTuple):
    """A number with its 95 % interval; the bounds are NaN where there are too few seeds to have one."""

    value: float
    low: float
    high: float

    def columns(self, name: str) -> dict[str, float]:
        """Lay it out as ``<name>``, ``<name>_low`` and ``<name>_high``."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


class Seeds(NamedTuple):
    """What the seeds of a setting say of its mean."""

    mean: float  # NaN without a seed
    error: float  # the variance of the mean; NaN with one seed
    freedom: float  # degrees of freedom of this variance
    are_equal: bool  # all seeds have one value


def seeds_alone(values: Sequence[float]) -> Seeds:
    """Read the seeds of one setting by themselves; missing values are left out."""
    return moderate([values])[0]


def moderate(settings: Sequence[Sequence[float]], curves: Array | None = None) -> list[Seeds]:
    """Read the seeds of settings whose variances are alike, or alike where their ``curves`` are.

    ``curves`` are the logarithms of what variances may go with, float64[settings, covariates]. Fewer than four settings
    with several seeds are read by themselves. Missing values are left out.
    """
    known = [np.asarray(values, dtype=np.float64) for values in settings]
    known = [values[~np.isnan(values)] for values in known]
    several = np.array([len(values) > 1 for values in known], dtype=bool)
    variance, freedom = np.full(len(known), np.nan), np.zeros(len(known))
    variance[several] = [values.var(ddof=1) for values in known if len(values) > 1]
    freedom[several] = [len(values) - 1 for values in known if len(values) > 1]
    if several.sum() >= FEWEST_SETTINGS and np.nanmedian(variance) > 0:
        of_curves = np.empty((several.sum(), 0))
        if curves is not None and several.sum() >= _SETTINGS_FOR_CURVES:
            of_curves = curves[several]
        # Both before and after it is moderated no variance is near 0, whose logarithm would decide all others.
        own = np.maximum(variance[several], _LEAST * np.median(variance[several]))
        moderated, prior = moderate_variances(own, freedom[several], of_curves)
        variance[several] = np.maximum(moderated, _LEAST * np.median(moderated))
        freedom[several] += prior
    found = []
    for values, one, degrees in zip(known, variance.tolist(), freedom.tolist(), strict=True):
        # Means of equal accuracies differ by rounding.
        are_equal = len(values) and np.ptp(values) <= 1e-9 * max(1.0, float(np.abs(values).max()))
        mean = values.mean() if len(values) else np.nan
        found.append(Seeds(mean, one / max(len(values), 1), degrees, bool(are_equal)))
    return found


def moderate_table(
    found: pd.DataFrame, keys: Sequence[str], value: str = "accuracy"
) -> dict[tuple[Hashable, ...], Seeds]:
    """Read the seeds of each setting of a table, a row for each run; by the values of ``keys``, in their order.

    The mean over all pairs (phenomenon ``all``) varies less than phenomena do, and is moderated apart. Columns
    ``ROUGHNESS`` and ``SLOPE`` (``of_curve``) are taken into account where the table has them.
    """
    of_all = found["phenomenon"].eq("all") if "phenomenon" in found else pd.Series(False, found.index)
    cells: dict[tuple[Hashable, ...], Seeds] = {}
    for _, part in found.groupby(of_all, sort=False):
        groups = list(part.groupby(list(keys), sort=False))
        curves = None
        if ROUGHNESS in part:
            curves = np.log([[own[ROUGHNESS].mean(), own[SLOPE].mean()] for _, own in groups])
        read = moderate([own[value].tolist() for _, own in groups], curves)
        cells |= {key: one for (key, _), one in zip(groups, read, strict=True)}
    return {key: cells[key] for key in dict.fromkeys(found[list(keys)].itertuples(index=False, name=None))}


def of_curve(tokens: Array, accuracy: Array, at: Array) -> dict[str, Array]:
    """Say how rough and steep a run's curve is around numbers of tokens ``at``: ``ROUGHNESS`` and ``SLOPE``, squared.

    ``tokens`` are above 0 and ascend, float64[checkpoints] like ``accuracy``. Roughness is the mean square of how far a
    checkpoint lies from the middle of its neighbors, over the 1.2 decades around, slope that of the change over .3.
    """
    places, there = np.log10(tokens), np.log10(at)
    # At an end of the curve the window is moved inside, so that it is as wide as elsewhere.
    half = min(_WINDOW, places[-1] - places[0]) / 2
    centers = np.clip(there, places[0] + half, places[-1] - half)
    off = np.zeros(len(places))
    off[1:-1] = (accuracy[1:-1] - (accuracy[:-2] + accuracy[2:]) / 2) ** 2
    near = np.abs(places - centers[:, None]) <= half + 1e-9
    # The first and the last checkpoint have only one neighbor, so they have no roughness of their own.
    near[:, [0, -1]] = False
    change = np.interp(there + _STEP / 2, places, accuracy) - np.interp(there - _STEP / 2, places, accuracy)
    return {
        ROUGHNESS: near @ off / np.maximum(near.sum(axis=1), 1) + _LEAST_ROUGHNESS**2,
        SLOPE: (change / _STEP) ** 2 + LEAST_SLOPE**2,
    }


def level_at(tokens: Array, accuracy: Array, at: Array) -> Array:
    """Read a curve at numbers of tokens: the mean of the checkpoints within .15 decades, float64[at].

    A single checkpoint may lie several points off its neighbors. Where none is near, it is read between two.
    """
    near = np.abs(np.log10(tokens / at[:, None])) <= _NEAR
    between = np.interp(np.log10(at), np.log10(tokens), accuracy, left=np.nan, right=np.nan)
    return np.where(near.any(axis=1), near @ accuracy / np.maximum(near.sum(axis=1), 1), between)


def weigh(sides: Sequence[Seeds], weights: Sequence[float]) -> tuple[float, float, float]:
    """Return the weighed mean of settings, its standard error and degrees of freedom, 0 where one has too few seeds."""
    value = float(sum(weight * side.mean for weight, side in zip(weights, sides, strict=True)))
    # Where the error of one setting is not known, an interval with the errors of the others alone would be too narrow.
    if not all(side.freedom > 0 for side in sides):
        return value, np.nan, 0.0
    parts = np.array([weight**2 * side.error for weight, side in zip(weights, sides, strict=True)])
    spread = (parts**2 / np.array([side.freedom for side in sides])).sum()
    # The degrees of freedom are Welch's, because the variances of the settings need not be equal.
    freedom = parts.sum() ** 2 / spread if spread > 0 else 1.0
    return value, float(np.sqrt(parts.sum())), float(freedom)


def contrast(sides: Sequence[Seeds], weights: Sequence[float]) -> Estimate:
    """Weigh the means of several settings (Student's t, degrees of freedom by Welch and Satterthwaite)."""
    value, error, freedom = weigh(sides, weights)
    half = student.ppf((1 + CONFIDENCE) / 2, freedom) * error if freedom > 0 else np.nan
    return Estimate(value, float(value - half), float(value + half))


def p_of_contrast(sides: Sequence[Seeds], weights: Sequence[float]) -> float:
    """Test that the weighed means of settings sum to 0, two-sided.

    NaN without two seeds of each setting, and where the seeds of none vary.
    """
    value, error, freedom = weigh(sides, weights)
    # Where all seeds agree, as they can with few pairs, t would be infinite and p would be 0.
    if not freedom > 0 or all(side.are_equal for side in sides):
        return float("nan")
    return float(2 * student.sf(abs(value) / error, freedom))


def mean_over_seeds(values: Sequence[float]) -> Estimate:
    """Average one number of each seed, with Student's t of these seeds alone; missing values are left out."""
    return contrast([seeds_alone(values)], [1.0])


def level_pairs(runs: Sequence[Run], factor: str) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return the lines that differ in a factor alone, in pairs, by the two levels in which they differ."""
    alike: dict[str, dict[str, str]] = {}
    for run in runs:
        if (level := run.design.level(run.label, factor)) is not None:
            alike.setdefault(run.line_without(factor), {}).setdefault(str(level), run.line)
    # Every pair has its levels in the order of the study, so that all differences are in the same direction.
    order = {level: place for place, level in enumerate(runs[0].design.levels(factor))} if runs else {}
    return gather(
        ((one, other), (lines[one], lines[other]))
        for lines in alike.values()
        for one, other in combinations(sorted(lines, key=order.__getitem__), 2)
    )


def differences_between(found: pd.DataFrame, levels: Sequence[str], lines: str) -> pd.DataFrame:
    """Compare the accuracies of every two lines at each level (``of``: ``char - word``).

    ``found`` has the columns ``levels``, in which the runs of a row are equal, the column that names its line (such as
    ``tokenizer``), ``phenomenon`` and ``accuracy``, a row per run, and where curves are known those of
    ``over_seeds.of_curve``. ``low`` and ``high`` are the 95 % interval over seeds, ``p`` is of the same t, both with
    variances moderated over the table (``over_seeds``), and ``p_holm`` is over the phenomena and pairs of a level (Holm
    1979); the pairs of ``all`` are a family apart.
    """
    names = list(dict.fromkeys(found[lines]))
    cells = moderate_table(found, [*levels, "phenomenon", lines])
    nothing, table = seeds_alone([]), []
    for key in dict.fromkeys(key[:-1] for key in cells):
        for one, other in combinations(names, 2):
            sides = [cells.get((*key, name), nothing) for name in (one, other)]
            table.append(
                (*key, f"{one} - {other}", *contrast(sides, DIFFERENCE), p_of_contrast(sides, DIFFERENCE))
            )
    rows = pd.DataFrame(table, columns=[*levels, "phenomenon", "of", "difference", "low", "high", "p"])
    family = [*(rows[name] for name in levels), rows["phenomenon"] == "all"]
    tested = rows.dropna(subset=["p"]).groupby(family)["p"]
    return rows.assign(p_holm=tested.transform(lambda p: holm(p.to_numpy())))
