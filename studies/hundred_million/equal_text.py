"""Two tokenizers at equal tokens and at equal bytes of text."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ucurve.analysis.data.runs import Run
from ucurve.analysis.lines.over_seeds import differences_between, of_curve

_FIRST = 1e6  # the smallest amount of tokens, and of bytes, at which tokenizers are compared


def differences_at_equal_text(curves: pd.DataFrame, runs: Sequence[Run]) -> pd.DataFrame:
    """Compare the tokenizers of each size at equal ``tokens`` and equal ``bytes`` (``unit``), from 1 million on.

    The amounts are 1, 3, 10, 30 and so on millions, and the largest that every tokenizer has; bytes are tokens times
    the bytes of a token of the held-out text. Accuracies are between checkpoints on the log axis. The rest is of
    ``differences_between``.
    """
    model = {run.label: run.model for run in runs}
    tokenizer = {run.label: run.facts.tokenizer for run in runs if run.facts}
    bytes_in = {
        run.label: run.facts.held_out.bytes / run.facts.held_out.tokens
        for run in runs if run.facts and run.facts.held_out
    }  # fmt: skip
    rows = curves[curves["tokens"] > 0]
    rows = rows.assign(model=rows["run"].map(model), tokenizer=rows["run"].map(tokenizer))
    tables = []
    for unit, size_of in (("tokens", 1.0), ("bytes", rows["run"].map(bytes_in))):
        read = rows.assign(unit=unit, amount=rows["tokens"] * size_of).dropna(subset=["amount"])
        for _, of_size in read.groupby("model", sort=False):
            if of_size["tokenizer"].nunique() > 1:
                tables.append(_at_amounts(of_size))
    columns = ["model", "unit", "amount"]
    found = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=[*columns, "phenomenon"])
    return differences_between(found, columns, "tokenizer") if len(found) else found


def _at_amounts(rows: pd.DataFrame) -> pd.DataFrame:
    largest = float(rows.groupby("run")["amount"].max().min())
    amounts = [first * 10**power for power in range(6, 13) for first in (1, 3)]
    amounts = [amount for amount in amounts if _FIRST <= amount < largest] + [largest]
    parts = []
    for _, own in rows.groupby(["run", "phenomenon"], sort=False):
        size, values = own.sort_values("amount")[["amount", "accuracy"]].to_numpy(np.float64).T
        accuracy = np.interp(np.log(amounts), np.log(size), values, left=np.nan)
        names = own[["model", "unit", "phenomenon", "tokenizer", "run"]].iloc[[0] * len(amounts)]
        parts.append(names.assign(amount=amounts, accuracy=accuracy, **of_curve(size, values, np.array(amounts))))
    return pd.concat(parts, ignore_index=True)
