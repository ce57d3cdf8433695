"""Where runs are equal: in training tokens, in FLOPs, or in the loss in bits per byte."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.data.runs import Run

Array = npt.NDArray[np.float64]
TOKENS, FLOPS, LOSS = "tokens", "FLOPs", "bits per byte"
LEVEL_STEP = 0.25  # bits per byte between the levels at which accuracies are compared
LEVELS = 3
_SAME_COST = 1.001  # runs whose FLOPs per token differ less are equal in FLOPs where they are equal in tokens
Levels = list[tuple[float, dict[str, float]]]  # each with the tokens of every run there, by its label


def equal_in_tokens(spans: Mapping[str, tuple[float, float]]) -> Levels:
    """Choose numbers of tokens that every run has, from its first to its last tokens: 1, 3, 10, ... and the largest."""
    return [(level, dict.fromkeys(spans, level)) for level in _amounts(spans.values())]


def equal_in_flops(spans: Mapping[str, tuple[float, float]], runs: Sequence[Run]) -> Levels:
    """Choose numbers of FLOPs that every run has; none where the runs need the same FLOPs for a token.

    FLOPs are those of matrix products (``flops_per_token``) or, where a run lacks its checkpoints, 6ND.
    """
    exact = all(run.flops_per_token for run in runs)
    cost = {run.label: (run.flops_per_token if exact else 6.0 * (run.parameters or 0)) or np.nan for run in runs}
    per_token = np.array(list(cost.values()))
    if not per_token.max() > _SAME_COST * per_token.min():  # also where parameters are not known
        return []
    of_run = {label: (first * cost[label], last * cost[label]) for label, (first, last) in spans.items()}
    return [
        (level, {label: min(level / cost[label], last) for label, (_, last) in spans.items()})
        for level in _amounts(of_run.values())
    ]


def equal_in_loss(bits: pd.DataFrame) -> Levels:
    """Choose levels of bits per byte (``shared_levels``), with the tokens at which each run comes down to them."""
    curves = {
        str(label): (rows["tokens"].to_numpy(np.float64), rows["bits_per_byte"].to_numpy(np.float64))
        for label, rows in bits.sort_values("tokens").groupby("run", observed=True)
    }
    return [
        (level, {label: tokens_at_bits(*curve, level) for label, curve in curves.items()})
        for level in shared_levels(bits)
    ]


def _amounts(spans: Iterable[tuple[float, float]]) -> list[float]:
    """Return 1, 3, 10, ... within all spans, and the largest amount that all of them reach; none where they part."""
    firsts, lasts = zip(*spans, strict=True)
    first, last = max(firsts), min(lasts)
    rounded = [digit * 10.0**power for power in range(30) for digit in (1, 3)]
    return [*(amount for amount in rounded if first <= amount < last), *([last] if last >= first else [])]


def tokens_at_bits(tokens: Array, bits: Array, level: float) -> float:
    """Return the tokens at which a loss curve first comes down to a level, between checkpoints on the log axis.

    NaN where the curve does not come down to it, or is below it from the first checkpoint on.
    """
    below = np.flatnonzero(bits <= level)
    if not len(below) or below[0] == 0:
        return float("nan")
    after = below[0]
    share = (bits[after - 1] - level) / (bits[after - 1] - bits[after])
    left, right = np.log(tokens[after - 1 : after + 1])
    return float(np.exp(left + share * (right - left)))


def shared_levels(bits: pd.DataFrame) -> list[float]:
    """Choose levels of bits per byte that every run reaches: the lowest such level, and two above it."""
    lowest = bits.groupby("run", observed=True)["bits_per_byte"].min().max()
    first = np.ceil(lowest * 100) / 100
    return [round(first + place * LEVEL_STEP, 2) for place in reversed(range(LEVELS))]
