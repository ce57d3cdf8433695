"""Tokenizers at equal loss: accuracy at the same bits per byte, and the bits per byte at which a phenomenon is learned.

Tokens of two tokenizers are different amounts of text, so neither tokens nor the loss per token are an axis that they
share; bits per byte of the same held-out text are.
"""

from collections.abc import Sequence
from math import comb

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.data.runs import Run
from analysis.tokenizer_study.seeds import mean_over_seeds

Array = npt.NDArray[np.float64]
LEVEL_STEP = 0.25  # bits per byte between the levels at which accuracies are compared
LEVELS = 3


def tokens_at_bits(tokens: Array, bits: Array, level: float) -> float:
    """Return the tokens at which a loss curve first comes down to a level, between checkpoints on the log axis.

    Args:
        tokens: float64[checkpoints], ascending, all above 0.
        bits: float64[checkpoints], bits per byte.

    Returns:
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


def accuracy_at_levels(rows: pd.DataFrame, bits: pd.DataFrame, runs: Sequence[Run]) -> pd.DataFrame:
    """Compare the tokenizers at equal bits per byte.

    Args:
        rows: accuracies of checkpoints, ``run, phenomenon, tokens, accuracy`` (``BenchmarkScores.curve_rows``).
        bits: from ``checkpoint_bits``.

    Returns:
        One row per ``bits_per_byte`` (the level), ``phenomenon`` and ``tokenizer``: ``runs`` (that reached it),
        ``tokens`` (their mean), ``accuracy`` with ``low`` and ``high`` (95 %, Student's t over seeds).
    """
    tokenizers = tokenizer_of(runs)
    found = []
    for label, loss in _curves(bits):
        own = rows[(rows["run"] == label) & (rows["tokens"] > 0)]
        for level in shared_levels(bits):
            tokens = tokens_at_bits(*loss, level)
            for phenomenon, curve in own.sort_values("tokens").groupby("phenomenon", observed=True):
                accuracy = np.interp(np.log(tokens), np.log(curve["tokens"]), curve["accuracy"], left=np.nan)
                found.append((level, str(phenomenon), tokenizers[label], tokens, float(accuracy)))
    names = ["bits_per_byte", "phenomenon", "tokenizer", "tokens", "accuracy"]
    keys = names[:3]
    table = []
    for key, part in pd.DataFrame(found, columns=names).groupby(keys, sort=False):
        reached = part[part["accuracy"].notna()]
        estimate = mean_over_seeds(reached["accuracy"].tolist())
        table.append((*key, len(reached), reached["tokens"].mean(), estimate.value, *np.clip(estimate[1:], 0, 1)))
    return pd.DataFrame(table, columns=[*keys, "runs", "tokens", "accuracy", "low", "high"])


def onsets_in_bits(onsets: pd.DataFrame, bits: pd.DataFrame, runs: Sequence[Run]) -> pd.DataFrame:
    """Say at which bits per byte each run learned each phenomenon.

    Args:
        onsets: ``name`` (of the run), ``phenomenon``, ``onset`` in tokens, NaN where it is not reached
            (``Shapes.run_onsets``).

    Returns:
        ``run, tokenizer, phenomenon, onset`` and ``bits_per_byte``, that of the held-out text at the onset (NaN where
        it is not reached).
    """
    tokenizers, curves = tokenizer_of(runs), dict(_curves(bits))
    found = []
    for name, phenomenon, onset in onsets[["name", "phenomenon", "onset"]].itertuples(index=False):
        tokens, loss = curves[name]
        at = float(np.interp(np.log(onset), np.log(tokens), loss)) if onset > 0 else float("nan")
        found.append((name, tokenizers[name], phenomenon, onset, at))
    return pd.DataFrame(found, columns=["run", "tokenizer", "phenomenon", "onset", "bits_per_byte"])


def first_learners(onsets: pd.DataFrame) -> pd.DataFrame:
    """Say which tokenizer learns each phenomenon first, at equal loss: with the most bits per byte left.

    Args:
        onsets: from ``onsets_in_bits``; a run that never learns a phenomenon learns it after all that do.

    Returns:
        One row per phenomenon: for each tokenizer ``<tokenizer>`` (mean bits per byte at the onset over the runs that
        have one) and ``<tokenizer>_runs`` (how many have); ``first``, the tokenizer whose least early seed is before
        every seed of the others, empty where there is none; ``chance``, how often one of the tokenizers is so by
        chance, when the order of the runs says nothing.
    """
    names = list(dict.fromkeys(onsets["tokenizer"]))
    table = []
    for phenomenon, part in onsets.groupby("phenomenon", sort=False):
        sides = {name: part.loc[part["tokenizer"] == name, "bits_per_byte"].to_numpy(np.float64) for name in names}
        row = {"phenomenon": phenomenon}
        for name, values in sides.items():
            known = values[~np.isnan(values)]
            row |= {name: known.mean() if len(known) else np.nan, f"{name}_runs": len(known)}
        counts = [len(values) for values in sides.values()]
        chance = sum(1 / comb(sum(counts), count) for count in counts)
        table.append({**row, "first": _before_all(sides), "chance": chance})
    return pd.DataFrame(table)


def tokenizer_of(runs: Sequence[Run]) -> dict[str, str]:
    """Name the tokenizer of each run, by the run's label."""
    return {run.label: str(run.record.get("tokenizer") or run.label) for run in runs}


def _before_all(sides: dict[str, Array]) -> str:
    if len(sides) == 1:
        return ""
    for name, values in sides.items():
        others = np.concatenate([other for key, other in sides.items() if key != name])
        latest = others[~np.isnan(others)].max(initial=-np.inf)
        if not np.isnan(values).any() and values.min() > latest:
            return name
    return ""


def _curves(bits: pd.DataFrame) -> list[tuple[str, tuple[Array, Array]]]:
    found = []
    trained = bits[bits["tokens"] > 0].sort_values("tokens")
    for label, rows in trained.groupby("run", observed=True):
        found.append((str(label), (rows["tokens"].to_numpy(np.float64), rows["bits_per_byte"].to_numpy(np.float64))))
    return found
