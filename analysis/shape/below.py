"""Curves that end below chance: is the wrong member of the pairs preferred, significantly and lastingly.

The accuracy at the end is that of the smoothed curve at its last checkpoint. It is tested one-sided against 50 %, by
Student's t with the cluster-robust variance of a level over pairs within paradigms and, with several runs, over seeds.
A curve is *stable and wrong* when this is significant after Holm and the smoothed curve stayed below 50 % from half of
the training tokens on, or earlier. The question is that of Manna, Snyder and Tabor (2026, arXiv 2603.00359).
"""

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import t as student

from ucurve.analysis.data.pair_scores import HALVES
from ucurve.analysis.shape.classify import LEVEL, Row, adjust_by_runs
from ucurve.analysis.shape.smoothing import Array, estimate_level, smoothing_weights
from ucurve.eval.metrics.levels import Ids
from ucurve.eval.metrics.sampling import FEWEST_CLUSTERS
from ucurve.eval.metrics.significance import CHANCE

STABLE, AT_THE_END = "stable and wrong", "ends below chance"
LATEST = 0.5  # of the training tokens: a curve that came below chance after them is not stable
_RESERVATIONS = {1: " (this run)", 2: " (2 runs: indicative)"}  # as those of a turn: measured in docs/shape.md
BELOW_NUMBERS = ("p_below", "p_below_these_runs", "below_from", "below_share")


def below_chance(tokens: Array, half_points: npt.NDArray[np.uint8], strata: Ids, clusters: Ids) -> dict[str, float]:
    """Test whether a curve ends below chance; the arguments are those of ``estimate_curve``.

    ``p_below`` is over pairs and, with several seeds, seeds, ``p_below_these_runs`` over pairs only; ``below_from`` are
    the tokens of the checkpoint from which on the smoothed curve lies below 50 %, NaN where it does not end there, and
    ``below_share`` these tokens as a share of the last ones. With fewer than 4 clusters of pairs both p are NaN.
    """
    weights = smoothing_weights(np.log10(tokens))
    level = estimate_level(np.einsum("t,sti->si", weights[-1], half_points) / HALVES, strata, clusters)
    # Of a sign test over as many independent draws: a few clusters that are all wrong do not vary, but prove little.
    least = 0.5**level.effective_items

    def p(variance: float, freedom: float) -> float:
        if level.clusters < FEWEST_CLUSTERS:
            return np.nan
        beyond = float(student.sf((CHANCE - level.mean) / np.sqrt(variance), freedom))
        return max(float(least), beyond)

    smooth = weights @ half_points.mean(axis=(0, 2)) / HALVES
    not_below = np.flatnonzero(smooth >= CHANCE)
    first = 0 if not len(not_below) else int(not_below[-1]) + 1
    since = float(tokens[first]) if first < len(tokens) else np.nan
    return {
        "p_below": p(level.variance, level.freedom), "p_below_these_runs": p(level.item_variance, level.item_freedom),
        "below_from": since, "below_share": since / float(tokens[-1]),
    }  # fmt: skip


def name_below(tests: pd.DataFrame) -> pd.DataFrame:
    """Adjust the tests of curves by Holm, and name those that end below chance.

    ``tests`` has a row per curve, with ``runs`` and ``BELOW_NUMBERS``, NaN for a curve that was not tested. ``below``
    is ``stable and wrong`` or ``ends below chance``, of one run with ``(this run)`` behind it, of two with ``(2 runs:
    indicative)``; ``these runs: ...`` where it holds of the mean of these runs over pairs, but not of other seeds;
    otherwise empty.
    """
    adjusted = tests.assign(
        holm_below=adjust_by_runs(tests["p_below"], tests["runs"]),
        _these_runs=adjust_by_runs(tests["p_below_these_runs"], tests["runs"]),
    )
    named = adjusted.assign(below=[_name(row) for row in adjusted.to_dict("records")])
    return named.drop(columns="_these_runs")


def _name(row: Row) -> str:
    name = STABLE if row["below_share"] <= LATEST else AT_THE_END
    if row["holm_below"] <= LEVEL:
        return name + _RESERVATIONS.get(row["runs"], "")
    return f"these runs: {name}" if row["_these_runs"] <= LEVEL else ""
