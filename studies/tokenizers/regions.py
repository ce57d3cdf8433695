"""Which part of the margin each tokenizer has in the tokens in which the sentences of a pair differ."""

from collections.abc import Mapping

import pandas as pd

from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.lines.over_seeds import mean_over_seeds
from ucurve.analysis.tokens.table import region_rows

_PARTS = ("margin", "margin_critical", "margin_after")


def critical_regions(
    scored: BenchmarkScores, tokenizers: Mapping[str, str], last: Mapping[str, int]
) -> pd.DataFrame:
    """Split the margins at the last checkpoint into what lies in the critical region and what comes after it.

    Regions of two tokenizers are not the same characters, so their surprisals cannot be compared; margins can. They are
    in bits, means over pairs and runs, with 95 % intervals by Student's t over seeds. A tokenizer without stored log
    probabilities of its last checkpoint has no rows.
    """
    rows = region_rows(scored, steps=set(last.values()))
    table = []
    for (line, phenomenon), of_line in rows.groupby(["line", "phenomenon"], sort=False) if len(rows) else ():
        part = of_line[of_line["step"] == last.get(tokenizers[str(line)])]
        if part.empty:
            continue
        first = part.iloc[0]
        row = {"tokenizer": tokenizers[str(line)], "phenomenon": phenomenon, "step": first["step"]}
        row |= {"tokens": first["tokens"], "runs": len(part), "pairs": int(first["pairs"])}
        for name in _PARTS:
            row |= mean_over_seeds(part[name].tolist()).columns(name)
        table.append(row)
    return pd.DataFrame(table, columns=None if table else ["tokenizer", "phenomenon"])
