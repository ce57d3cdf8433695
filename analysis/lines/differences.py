"""Differences between lines, where their runs are made equal in something: loss, tokens or bytes of text."""

from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from ucurve.analysis.lines.over_seeds import difference_over_seeds, p_of_difference
from ucurve.eval.metrics.significance import holm


def differences_between(found: pd.DataFrame, levels: Sequence[str], lines: str) -> pd.DataFrame:
    """Compare the accuracies of every two lines at each level (``of``: ``char - word``).

    ``found`` has the columns ``levels``, in which the runs of a row are equal, the column that names its line (such as
    ``tokenizer``), ``phenomenon`` and ``accuracy``, a row per run. ``low`` and ``high`` are Welch's 95 % interval over
    seeds, ``p`` is of Welch's t, and ``p_holm`` is over the phenomena and pairs of a level (Holm 1979); the pairs of
    ``all`` are a family apart.
    """
    names = list(dict.fromkeys(found[lines]))
    table = []
    for key, part in found.groupby([*levels, "phenomenon"], sort=False):
        sides = {name: part.loc[part[lines] == name, "accuracy"].tolist() for name in names}
        for one, other in combinations(names, 2):
            estimate = difference_over_seeds(sides[one], sides[other])
            p = p_of_difference(sides[one], sides[other])
            table.append((*key, f"{one} - {other}", *estimate, p))
    rows = pd.DataFrame(table, columns=[*levels, "phenomenon", "of", "difference", "low", "high", "p"])
    family = [*(rows[name] for name in levels), rows["phenomenon"] == "all"]
    return rows.assign(p_holm=rows.dropna(subset=["p"]).groupby(family)["p"].transform(lambda p: holm(p.to_numpy())))
