"""SLLN-LP over a grid of alpha: accuracy, length bias, and which alpha is best (ZhoBLiMP, section 4.5, Fig. 2)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ucurve.eval.linking import linking_name, parse_linking
from ucurve.eval.metrics.accuracy import Split, TiesRule, delta_acc, items, pair_credits, split_masks
from ucurve.eval.metrics.bootstrap import SAMPLES, draw_sums, percentiles
from ucurve.eval.metrics.levels import MEANS, Array, levels_of
from ucurve.eval.metrics.sampling import clusters_of, deviations, spread_of

ALPHAS = tuple(round(step / 20, 2) for step in range(21))
_SIGNS = {"accuracy": 1, "accuracy_unequal": 1, "delta_acc": -1}  # -1: to be low
_SPLITS: tuple[Split, ...] = ("all", "equal", "good_longer", "bad_longer")


@dataclass(frozen=True)
class BestAlpha:
    """The alpha that does best by one criterion, on the very pairs it is chosen on."""

    criterion: str  # `accuracy`, `accuracy_unequal` (to be high) or `delta_acc` (to be low)
    alpha: float  # the best of the grid; the smallest of several, NaN without pairs of each length split
    low: float  # lower bound of a 95 % percentile interval over clusters of pairs, NaN without 4 in each length split
    high: float


def alpha_curve(
    pairs: pd.DataFrame, scores: pd.DataFrame, alphas: Sequence[float] = ALPHAS, ties_rule: TiesRule = "half"
) -> pd.DataFrame:
    """Compute accuracies and length bias of SLLN-LP by alpha; NaN for a split without pairs.

    ``accuracy_unequal``, the y axis of Fig. 2, is the mean of ``good_longer`` and ``bad_longer``.
    """
    merged = items(pairs, scores)
    credit, masks = _by_split(merged, alphas, ties_rule)
    return pd.DataFrame({"alpha": list(alphas), **_curves(credit @ masks, masks.sum(axis=0))})


def best_of_curve(curve: pd.DataFrame) -> dict[str, float]:
    """Return the alpha of a curve of ``alpha_curve`` that does best by each criterion of ``BestAlpha``."""
    curves = {name: curve[name].to_numpy(dtype=np.float64) for name in _SIGNS}
    return {name: float(alpha) for name, alpha in _best(curves, curve["alpha"].tolist()).items()}


def best_alpha(
    pairs: pd.DataFrame,
    scores: pd.DataFrame,
    alphas: Sequence[float] = ALPHAS,
    ties_rule: TiesRule = "half",
    samples: int = SAMPLES,
    seed: int = 0,
) -> list[BestAlpha]:
    """Find the best alpha by each criterion, with a bootstrap interval.

    It is an oracle, found on the pairs it is judged by, so that no accuracy should be reported with it.
    """
    merged = items(pairs, scores)
    credit, masks = _by_split(merged, alphas, ties_rule)
    clusters = clusters_of(merged, levels_of(merged))
    sums = np.stack([clusters.sums(row * mask) for row in credit for mask in masks.T])
    size = np.stack([clusters.sums(mask) for mask in masks.T])
    apart = deviations(clusters, sums, np.tile(size, (len(alphas), 1)))
    drawn = draw_sums(sums.sum(axis=1), apart @ apart.T, samples, seed).reshape(samples, len(alphas), -1)
    found, draws = (_best(_curves(each, masks.sum(axis=0)), alphas) for each in (credit @ masks, drawn))
    spread = spread_of(clusters, sums[: len(size)], size)
    freedom = np.where(spread.enough, spread.freedom, np.nan)[:, -1 - len(MEANS)]  # of the row over all pairs, by split
    best = []
    for name, alpha in found.items():
        of_splits = freedom[:1] if name == "accuracy" else freedom[1:]
        (low,), (high,) = percentiles(draws[name][:, None], of_splits.min(keepdims=True))
        bounds = (float(low), float(high)) if np.isfinite(alpha) else (np.nan, np.nan)
        best.append(BestAlpha(name, float(alpha), *bounds))
    return best


def _by_split(merged: pd.DataFrame, alphas: Sequence[float], rule: TiesRule) -> tuple[Array, Array]:
    """Return every pair's credit at each alpha, float64[alphas, pairs], and its splits, float64[pairs, splits]."""
    linkings = [parse_linking(linking_name("slln_lp", [alpha])) for alpha in alphas]
    masks = split_masks(merged["n_good"].to_numpy(), merged["n_bad"].to_numpy())
    credit = np.stack([pair_credits(merged, linking, rule) for linking in linkings])
    return credit, np.column_stack([masks[split] for split in _SPLITS]).astype(np.float64)


def _curves(credited: Array, n: Array) -> dict[str, Array]:
    """Turn credits, float64[..., alphas, splits], and pairs, float64[splits], into curves, float64[..., alphas]."""
    accuracy, equal, longer, shorter = np.moveaxis(np.where(n > 0, credited / np.maximum(n, 1), np.nan), -1, 0)
    return {
        "accuracy": accuracy,
        "equal": equal,
        "good_longer": longer,
        "bad_longer": shorter,
        "accuracy_unequal": (longer + shorter) / 2,
        "delta_acc": delta_acc(longer, shorter, equal),
    }


def _best(curves: dict[str, Array], alphas: Sequence[float]) -> dict[str, Array]:
    grid = np.asarray(alphas, dtype=np.float64)
    best = {}
    for name, sign in _SIGNS.items():
        curve = np.round(sign * curves[name], 9)  # alphas that decide alike are equal in draws, too
        defined = ~np.isnan(curve).any(axis=-1)
        best[name] = np.where(defined, grid[np.where(np.isnan(curve), -np.inf, curve).argmax(axis=-1)], np.nan)
    return best
