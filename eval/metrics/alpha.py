"""SLLN-LP over a grid of alpha: accuracy, length bias, and which alpha is best (ZhoBLiMP, section 4.5, Fig. 2)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from eval.linking import linking_name, parse_linking
from eval.metrics.accuracy import TAIL, Split, TiesRule, delta_acc, items, pair_credits, split_masks
from eval.metrics.bootstrap import SAMPLES, bootstrap_sums
from eval.metrics.levels import Array, levels_of

ALPHAS = tuple(round(step / 20, 2) for step in range(21))
_SIGNS = {"accuracy": 1, "accuracy_unequal": 1, "delta_acc": -1}  # -1: to be low
_SPLITS: tuple[Split, ...] = ("all", "equal", "good_longer", "bad_longer")


@dataclass(frozen=True)
class BestAlpha:
    """The alpha that does best by one criterion, on the very pairs it is chosen on."""

    criterion: str  # `accuracy`, `accuracy_unequal` (to be high) or `delta_acc` (to be low)
    alpha: float  # the best of the grid; the smallest of several, NaN without pairs of each length split
    low: float  # lower bound of a 95 % percentile interval, pairs drawn again within their paradigm
    high: float


def alpha_curve(
    pairs: pd.DataFrame, scores: pd.DataFrame, alphas: Sequence[float] = ALPHAS, ties_rule: TiesRule = "half"
) -> pd.DataFrame:
    """Compute accuracies and length bias of SLLN-LP by alpha; NaN for a split without pairs.

    ``accuracy_unequal``, the y axis of Fig. 2, is the mean of ``good_longer`` and ``bad_longer``.
    """
    merged = items(pairs, scores)
    _, values = _by_split(merged, alphas, ties_rule)
    curve = _curves(values.sum(axis=0), len(alphas))
    return pd.DataFrame({"alpha": list(alphas), **curve})


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
    strata, values = _by_split(items(pairs, scores), alphas, ties_rule)
    found = _best(_curves(values.sum(axis=0), len(alphas)), alphas)
    drawn = _best(_curves(bootstrap_sums(strata, values, samples, seed).sum(axis=1), len(alphas)), alphas)
    return [
        BestAlpha(name, float(alpha), *map(float, np.nanquantile(drawn[name], [TAIL, 1 - TAIL])))
        if np.isfinite(alpha)
        else BestAlpha(name, np.nan, np.nan, np.nan)
        for name, alpha in found.items()
    ]


def _by_split(merged: pd.DataFrame, alphas: Sequence[float], rule: TiesRule) -> tuple[np.ndarray, Array]:
    """Return the paradigm of every pair and, for each split, its membership and its credit at every alpha."""
    linkings = [parse_linking(linking_name("slln_lp", [alpha])) for alpha in alphas]
    credit = np.column_stack([np.ones(len(merged)), *(pair_credits(merged, linking, rule) for linking in linkings)])
    masks = split_masks(merged["n_good"].to_numpy(), merged["n_bad"].to_numpy())
    return levels_of(merged).paradigm_of, np.concatenate([credit * masks[split][:, None] for split in _SPLITS], axis=1)


def _curves(sums: Array, size: int) -> dict[str, Array]:
    """Turn sums over pairs, float64[..., 4 * (1 + alphas)], into curves, float64[..., alphas]."""
    parts = sums.reshape(*sums.shape[:-1], len(_SPLITS), 1 + size)
    with np.errstate(invalid="ignore"):
        accuracy, equal, longer, shorter = np.moveaxis(parts[..., 1:] / parts[..., :1], -2, 0)
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
        curve = sign * curves[name]
        defined = ~np.isnan(curve).any(axis=-1)
        best[name] = np.where(defined, grid[np.where(np.isnan(curve), -np.inf, curve).argmax(axis=-1)], np.nan)
    return best
