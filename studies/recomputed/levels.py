"""Where curves end: below chance, or above it for good; a second time, by rules.md, without the analysis."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import t as student

from studies.recomputed.shape import (
    FEWEST_CLUSTERS,
    LEVEL,
    STANDARD_ERRORS,
    Array,
    Scored,
    deviations_of,
    holm,
    smoothing,
    spread_of,
    strata_of,
)

CHANCE, ABOVE_CHANCE = 0.5, 0.05
ONSET_KERNEL = 0.05  # decades
_PROGRAM_DRAWS = 1_000
Row = dict[str, object]


def below_chance(curves: Sequence[Scored]) -> pd.DataFrame:
    """Test which curves end below chance; the curves are a family of Holm's procedure."""
    table = pd.DataFrame([_below(curve) for curve in curves])
    adjusted = {name: holm(table[f"p_{name}"].to_numpy(float)) for name in ("below", "these_runs")}
    stable = np.where(table["below_share"] <= 0.5, "stable and wrong", "ends below chance")
    of_these = np.where(adjusted["these_runs"] <= LEVEL, np.char.add("these runs: ", stable), "")
    named = np.where(adjusted["below"] <= LEVEL, stable, of_these)
    return table.assign(holm_below=adjusted["below"], below=named)


def _below(curve: Scored) -> Row:
    weights = smoothing(curve.tokens)
    smooth = weights @ curve.mean
    last_above = max(np.flatnonzero(smooth >= CHANCE), default=-1)
    since = curve.tokens[last_above + 1] if last_above + 1 < len(smooth) else np.nan
    row: Row = {
        "line": curve.line, "phenomenon": curve.phenomenon, "end": smooth[-1], "below_from": since,
        "below_share": since / curve.tokens[-1],
    }  # fmt: skip
    over_both, over_pairs = _ps_below(np.tensordot(weights[-1], curve.credits, (0, 1)), curve)
    return {**row, "p_below": over_both, "p_these_runs": over_pairs}


def _ps_below(ends: Array, curve: Scored) -> tuple[float, float]:
    """Test the mean of credits at the end, [S, I], over pairs and seeds, and over pairs alone."""
    runs, items = ends.shape
    sizes = np.bincount(curve.clusters)
    if len(sizes) < FEWEST_CLUSTERS:
        return np.nan, np.nan
    effective = sizes.sum() ** 2 / (sizes**2).sum()
    stratum_of = strata_of(curve.paradigms, curve.clusters)
    strata = stratum_of[curve.clusters]
    of_pairs = float((deviations_of(ends.mean(axis=0)[None], strata, curve.clusters) ** 2).sum()) + 1 / (
        2 * items**2
    )
    within = float((deviations_of(ends, strata, curve.clusters) ** 2).sum()) / runs
    of_runs = float(ends.mean(axis=1).var(ddof=1)) / runs
    between = max(0.0, of_runs - (within - of_pairs) / (runs - 1))
    freedom_of_pairs = max(1.0, float(effective - len(np.unique(stratum_of))))
    freedom = freedom_of_pairs
    if between:
        freedom = (of_pairs + between) ** 2 / (of_runs**2 / (runs - 1) + of_pairs**2 / freedom_of_pairs)
    tests = ((of_pairs + between, freedom), (of_pairs, freedom_of_pairs))
    over_both, over_pairs = (
        max(0.5**effective, float(student.cdf((ends.mean() - CHANCE) / np.sqrt(variance), degrees)))
        for variance, degrees in tests
    )
    return over_both, over_pairs


def onset(curve: Scored) -> tuple[float, bool]:
    """Return the tokens from which the curve of one run stays above 55 %, and whether chance decides that it does.

    NaN where the curve does not end above that level. The program's test is of 1,000 draws; here it is Student's t.
    """
    logs, weights = np.log10(curve.tokens), smoothing(curve.tokens, ONSET_KERNEL)
    height = weights @ curve.mean - CHANCE - ABOVE_CHANCE
    variance, freedom, _ = spread_of(curve.error, weights)
    p = float(student.sf(height[-1] / np.sqrt(variance[-1]), freedom))
    is_open = abs(p - LEVEL) <= STANDARD_ERRORS * np.sqrt(LEVEL * (1 - LEVEL) / _PROGRAM_DRAWS)
    if height[-1] <= 0 or (p > LEVEL and not is_open):
        return np.nan, False
    below = np.flatnonzero(height < 0)
    if not len(below):
        return float(curve.tokens[0]), is_open
    last = below[-1]
    crossing = np.interp(0.0, height[last : last + 2], logs[last : last + 2])
    return float(10**crossing), is_open
