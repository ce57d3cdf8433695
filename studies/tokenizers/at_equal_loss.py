"""Tokenizers at equal loss: accuracy at the same bits per byte, and the bits per byte at which a phenomenon is learned.

Tokens of two tokenizers are different amounts of text, so neither tokens nor the loss per token are an axis that they
share; bits per byte of the same held-out text are.
"""

from collections.abc import Mapping, Sequence
from math import comb

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.data.runs import Run
from ucurve.analysis.lines.over_seeds import contrast, differences_between, moderate_table
from ucurve.analysis.lines.table import shared_levels, tokens_at_bits

Array = npt.NDArray[np.float64]
_SETTING = ["bits_per_byte", "phenomenon", "tokenizer"]


def runs_at_levels(rows: pd.DataFrame, bits: pd.DataFrame, runs: Sequence[Run]) -> pd.DataFrame:
    """Read the accuracies of each run at levels of bits per byte, the highest first.

    ``tokens`` and ``accuracy`` are NaN of a run that was below the level from its first checkpoint on, and ``accuracy``
    where no checkpoint before or after the level has a score.
    """
    tokenizers, curves = tokenizer_of(runs), dict(_curves(bits))
    found = []
    for level in shared_levels(bits):
        for run in (one for one in runs if one.label in curves):
            own = rows[(rows["run"] == run.label) & (rows["tokens"] > 0)]
            tokens = tokens_at_bits(*curves[run.label], level)
            for phenomenon, curve in own.sort_values("tokens").groupby("phenomenon", observed=True):
                places = np.log(curve["tokens"])
                accuracy = np.interp(np.log(tokens), places, curve["accuracy"], left=np.nan, right=np.nan)
                found.append((level, str(phenomenon), tokenizers[run.label], run.label, tokens, float(accuracy)))
    return pd.DataFrame(found, columns=["bits_per_byte", "phenomenon", "tokenizer", "run", "tokens", "accuracy"])


def accuracy_at_levels(found: pd.DataFrame) -> pd.DataFrame:
    """Average ``runs_at_levels`` over the ``runs`` of a tokenizer that reach a level; ``sd`` is that of these runs."""
    reached = found[found["accuracy"].notna()]
    return reached.groupby(_SETTING, as_index=False, sort=False).agg(
        runs=("accuracy", "size"),
        tokens=("tokens", "mean"),
        accuracy=("accuracy", "mean"),
        sd=("accuracy", "std"),
    )


def compare_at_levels(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Add 95 % over seeds to ``accuracy_at_levels``, and compare the tokenizers (``differences_between``).

    Both are made of the mean and the standard deviation of the runs, which is all that a t says of them, so that they
    can be made again where the runs are not at hand.
    """
    means = tables["accuracy_at_equal_loss"]
    seeds = means.loc[means.index.repeat(means["runs"])].assign(
        accuracy=np.concatenate(
            [_alike(*row) for row in means[["runs", "accuracy", "sd"]].itertuples(index=False)]
        )
    )
    cells = moderate_table(seeds, _SETTING)
    bounds = [contrast([cells[key]], [1.0])[1:] for key in means[_SETTING].itertuples(index=False, name=None)]
    low, high = np.clip(np.array(bounds).T, 0, 1)
    return {
        "accuracy_at_equal_loss": means.assign(low=low, high=high),
        "differences_at_equal_loss": differences_between(seeds, _SETTING[:1], "tokenizer"),
    }


def _alike(runs: int, mean: float, sd: float) -> Array:
    """Return as many numbers as there are runs, with their mean and their standard deviation."""
    places = np.arange(runs, dtype=np.float64) - (runs - 1) / 2
    return mean + sd * places / places.std(ddof=1) if runs > 1 else np.array([mean])


def onsets_in_bits(
    onsets: pd.DataFrame, rows: pd.DataFrame, bits: pd.DataFrame, runs: Sequence[Run]
) -> pd.DataFrame:
    """Say at which bits per byte of the held-out text each run learned each phenomenon (``Shapes.run_onsets``).

    ``from_start`` says that the onset is the first trained checkpoint with a score, so that nothing says when it was
    learned; ``bits_per_byte`` is then NaN, as where there is no onset.
    """
    tokenizers, curves = tokenizer_of(runs), dict(_curves(bits))
    first = rows[rows["tokens"] > 0].groupby("run", observed=True)["tokens"].min()
    found = []
    for name, phenomenon, onset in onsets[["name", "phenomenon", "onset"]].itertuples(index=False):
        tokens, loss = curves[name]
        from_start = bool(onset <= first[name])
        learned = onset > 0 and not from_start
        at = float(np.interp(np.log(onset), np.log(tokens), loss)) if learned else float("nan")
        found.append((name, tokenizers[name], phenomenon, onset, from_start, at))
    return pd.DataFrame(found, columns=["run", "tokenizer", "phenomenon", "onset", "from_start", "bits_per_byte"])


def first_learners(onsets: pd.DataFrame, tokenizers: Sequence[str]) -> pd.DataFrame:
    """Say which tokenizer learns each phenomenon first, at equal loss: with the most bits per byte left.

    A run without an onset, which may only be too uncertain, comes after all that have one. For each tokenizer there is
    the mean over its runs with an onset, ``_runs`` (how many) and ``_from_start`` (how many are above the threshold
    from the first checkpoint on). ``first`` is the tokenizer whose least early seed is before every seed of the others,
    empty where there is none, a run is above the threshold from the start, or a tokenizer has no curve; ``chance`` is
    how often one of them is so when the order of the runs says nothing (NaN where one has no curve).
    """
    table: list[dict[str, object]] = []
    for phenomenon, part in onsets.groupby("phenomenon", sort=False):
        sides = {
            name: part.loc[part["tokenizer"] == name, "bits_per_byte"].to_numpy(np.float64) for name in tokenizers
        }
        row: dict[str, object] = {"phenomenon": phenomenon}
        for name, values in sides.items():
            known = values[~np.isnan(values)]
            from_start = part.loc[part["tokenizer"] == name, "from_start"].sum()
            mean = known.mean() if len(known) else np.nan
            row |= {name: mean, f"{name}_runs": len(known), f"{name}_from_start": int(from_start)}
        counts = [len(values) for values in sides.values()]
        chance = sum(1 / comb(sum(counts), count) for count in counts) if all(counts) else np.nan
        first = _before_all(sides) if all(counts) and not part["from_start"].any() else ""
        table.append({**row, "first": first, "chance": chance})
    return pd.DataFrame(table, columns=None if table else ["phenomenon", "first", "chance"])


def tokenizer_of(runs: Sequence[Run]) -> dict[str, str]:
    """Name the tokenizer of each run, by the run's label."""
    return {run.label: run.facts.tokenizer if run.facts else run.label for run in runs}


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
        found.append(
            (str(label), (rows["tokens"].to_numpy(np.float64), rows["bits_per_byte"].to_numpy(np.float64)))
        )
    return found
