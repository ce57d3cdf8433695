"""Accuracy before and after MIN-K% filtering of a pool of pairs (RuBLiMP, sections 2.4 and 4, Figure 3)."""

import numpy as np
import pandas as pd

DRAWS = 100


def keep_unseen(good: pd.DataFrame, mink: pd.DataFrame, size: int) -> pd.Series:
    """Choose in each paradigm ``size`` pairs whose good sentence no model seems to have seen (RuBLiMP, section 2.4).

    ``mink`` is MIN-K% PROB of the good sentences, a column per model. A paradigm with fewer different sentences keeps
    them all.
    """
    ranked = good.assign(most=mink.max(axis=1)).sort_values("most", kind="stable")
    kept = ranked.drop_duplicates(["paradigm", "good"]).groupby("paradigm", sort=False).head(size)
    return pd.Series(good.index.isin(kept.index), index=good.index)


def reference_accuracies(
    paradigm: pd.Series, credit: pd.DataFrame, size: int, draws: int = DRAWS, seed: int = 0
) -> pd.Series:
    """Average the accuracy of each model over random samples of the pool (RuBLiMP, section 4).

    ``size`` pairs are drawn of each paradigm, without replacement; a smaller paradigm gives all it has.
    """
    draw = np.random.default_rng(seed)
    values, total, pairs = credit.to_numpy(dtype=np.float64), np.zeros(credit.shape[1]), 0
    for _, places in pd.Series(range(len(credit))).groupby(paradigm.to_numpy(), sort=True):
        here, wanted = places.to_numpy(), min(size, len(places))
        times = np.zeros(len(here))
        for _ in range(draws):
            times[draw.permutation(len(here))[:wanted]] += 1
        total += times @ values[here]
        pairs += wanted
    return pd.Series(total / (draws * pairs), index=credit.columns)


def filtering_table(good: pd.DataFrame, mink: dict[int, pd.DataFrame], credit: pd.DataFrame, size: int) -> pd.DataFrame:
    """Compare filtered pairs with random ones for each K (RuBLiMP, Figure 3); ``delta`` is filtered less reference."""
    reference = reference_accuracies(good["paradigm"], credit, size)
    parts = []
    for k, values in mink.items():
        kept = keep_unseen(good, values, size).to_numpy()
        filtered = credit[kept].mean()
        table = pd.DataFrame({"k": k, "pairs": int(kept.sum()), "reference": reference, "filtered": filtered})
        parts.append(table.assign(delta=filtered - reference).reset_index(names="model"))
    return pd.concat(parts, ignore_index=True)
