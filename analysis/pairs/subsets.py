"""Stability over subsets of a benchmark: the hand-made pairs, random ones, all (Swe-BLiMP, section 6, Figure 1)."""

from itertools import combinations

import numpy as np
import pandas as pd

SUBSETS = ("FIRST-10", "RANDOM-10", "RANDOM-50", "ALL")
HANDMADE = "handmade"
_SMALL, _LARGE = 10, 50


def subset_masks(pairs: pd.DataFrame, seed: int = 0) -> dict[str, pd.Series]:
    """Choose the pairs of each subset, bool by pair, the same for every model.

    ``FIRST-10`` are the hand-made pairs, ``RANDOM-10`` ten of each category's others, ``RANDOM-50`` fifty of all of its
    pairs. A category with fewer pairs than a subset takes gives all it has.
    """
    draw = np.random.default_rng(seed)
    made = pairs[HANDMADE].astype(bool)
    small, large = _drawn(pairs[~made], _SMALL, draw), _drawn(pairs, _LARGE, draw)
    masks = made, made.index.isin(small), made.index.isin(large), np.ones(len(made), dtype=bool)
    return {name: pd.Series(mask, index=made.index) for name, mask in zip(SUBSETS, masks, strict=True)}


def subset_table(pairs: pd.DataFrame, credit: pd.DataFrame) -> pd.DataFrame:
    """Compute macro accuracies on every subset and ``mpad``, their mean pairwise absolute deviation (section 6)."""
    means = {
        name: credit[mask].groupby(pairs.loc[mask, "paradigm"].to_numpy()).mean().mean()
        for name, mask in subset_masks(pairs).items()
    }
    table = pd.DataFrame(means, columns=list(SUBSETS))
    apart = [(table[one] - table[other]).abs() for one, other in combinations(SUBSETS, 2)]
    return table.assign(mpad=pd.concat(apart, axis=1).mean(axis=1)).reset_index(names="model")


def _drawn(pairs: pd.DataFrame, size: int, draw: np.random.Generator) -> list[int]:
    return [
        int(place)
        for _, part in pairs.groupby("paradigm", sort=True)
        for place in draw.choice(part.index.to_numpy(), size=min(size, len(part)), replace=False)
    ]
