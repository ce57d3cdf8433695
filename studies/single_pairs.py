"""What becomes of single pairs under each tokenizer, and how far its seeds agree on them."""

from collections.abc import Mapping, Sequence

import pandas as pd

from ucurve.analysis.items.histories import History
from ucurve.analysis.items.section import SHARES, item_summary, item_table
from ucurve.analysis.items.seeds import ALL_RUNS, agreement_table, lines_of
from ucurve.analysis.lines.over_seeds import mean_over_seeds

_AGREEMENT = ("phenomenon", "step", "tokens", "runs", "n", "kappa", "kappa_low", "kappa_high", "agreement")


def pair_table(histories: Sequence[History], tokenizers: Mapping[str, str]) -> pd.DataFrame:
    """Say which share of pairs is learned, lost and relearned, with 95 % intervals by Student's t over seeds."""
    if not histories:
        return pd.DataFrame(columns=["tokenizer", "phenomenon"])
    summary = item_summary(item_table(histories))
    summary = summary[summary["paradigm"] == "all"]
    table = []
    for (line, phenomenon), part in summary.groupby(["line", "phenomenon"], sort=False):
        row = {
            "tokenizer": tokenizers[str(line)],
            "phenomenon": phenomenon,
            "runs": len(part),
            "n": part["n"].max(),
        }
        for name in SHARES:
            row |= mean_over_seeds(part[name].tolist()).columns(name)
        table.append(row)
    return pd.DataFrame(table)


def seed_agreement(histories: Sequence[History], tokenizers: Mapping[str, str]) -> pd.DataFrame:
    """Say how far the seeds of each tokenizer agree on pairs, at every checkpoint."""
    table = agreement_table(lines_of(histories))
    kept = table[table["between"] == ALL_RUNS]
    kept = kept.assign(tokenizer=kept["line"].map(dict(tokenizers)))
    return kept[["tokenizer", *_AGREEMENT]].reset_index(drop=True)
