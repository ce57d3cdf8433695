"""The loss beside the accuracies: whether it rises while text is repeated."""

from collections.abc import Sequence

import pandas as pd

from ucurve.analysis.data.runs import Run
from ucurve.analysis.lines.over_seeds import mean_over_seeds


def held_out_table(bits: pd.DataFrame, runs: Sequence[Run]) -> pd.DataFrame:
    """Average bits per byte of the runs of a line at each checkpoint, 95 % by Student's t over seeds.

    ``epochs`` are the passes over the training text until then.
    """
    corpus = {run.label: run.facts.corpus.tokens for run in runs if run.facts}
    table = []
    for (line, step), part in bits.groupby(["line", "step"], sort=False):
        first = part.iloc[0]
        estimate = mean_over_seeds(part["bits_per_byte"].tolist())
        table.append({
            "line": line, "step": step, "tokens": first["tokens"], "epochs": first["tokens"] / corpus[first["run"]],
            "runs": len(part), "loss": first["loss"], **estimate.columns("bits_per_byte"),
        })  # fmt: skip
    return pd.DataFrame(table)


def held_out_changes(bits: pd.DataFrame) -> pd.DataFrame:
    """Say by how much the loss at the end is above its lowest value (``rise``, bits per byte; 95 % over seeds).

    ``lowest`` is the mean over runs of the lowest value and ``lowest_at`` that of its tokens; ``rising`` counts the
    runs whose last checkpoint is not the lowest.
    """
    table = []
    for line, part in bits.groupby("line", sort=False):
        ordered = part.sort_values("step")
        lowest = ordered.loc[ordered.groupby("run")["bits_per_byte"].idxmin()].set_index("run")
        last = ordered.groupby("run")["bits_per_byte"].last()
        rise = (last - lowest["bits_per_byte"]).to_numpy()
        table.append({
            "line": line, "runs": len(rise), "lowest": lowest["bits_per_byte"].mean(),
            "lowest_at": lowest["tokens"].mean(), "end": last.mean(), **mean_over_seeds(rise.tolist()).columns("rise"),
            "rising": int((rise > 0).sum()),
        })  # fmt: skip
    return pd.DataFrame(table)
