"""Differences between tokenizers, where their runs are made equal in something: loss, tokens or bytes of text."""

from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from eval.metrics.significance import holm
from studies.seeds import difference_over_seeds, p_of_difference


def differences_between(found: pd.DataFrame, levels: Sequence[str]) -> pd.DataFrame:
    """Compare the accuracies of every two tokenizers at each level (``of``: ``char - word``).

    ``found`` has the columns ``levels``, in which the runs of a row are equal, and ``phenomenon``, ``tokenizer`` and
    ``accuracy``, a row per run. ``low`` and ``high`` are Welch's 95 % interval over seeds, ``p`` is of Welch's t, and
    ``p_holm`` is over the phenomena and pairs of a level (Holm 1979); the pairs of ``all`` are a family apart.
    """
    tokenizers = list(dict.fromkeys(found["tokenizer"]))
    table = []
    for key, part in found.groupby([*levels, "phenomenon"], sort=False):
        sides = {name: part.loc[part["tokenizer"] == name, "accuracy"].tolist() for name in tokenizers}
        for one, other in combinations(tokenizers, 2):
            estimate = difference_over_seeds(sides[one], sides[other])
            p = p_of_difference(sides[one], sides[other])
            table.append((*key, f"{one} - {other}", *estimate, p))
    rows = pd.DataFrame(table, columns=[*levels, "phenomenon", "of", "difference", "low", "high", "p"])
    family = [*(rows[name] for name in levels), rows["phenomenon"] == "all"]
    return rows.assign(p_holm=rows.dropna(subset=["p"]).groupby(family)["p"].transform(lambda p: holm(p.to_numpy())))
