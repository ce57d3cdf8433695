"""Sets of one good sentence and several bad ones: each is judged as a whole and counts once."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.eval.pairs import SET

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Sets:
    """The sets of a table of pairs."""

    of: npt.NDArray[np.int64]  # int64[pairs], the number of each pair's set, from 0 on

    @property
    def first(self) -> Mask:
        """Mark the first pair of each set, bool[pairs]; sums over these count a set once."""
        mask = np.zeros(len(self.of), dtype=bool)
        mask[np.unique(self.of, return_index=True)[1]] = True
        return mask

    def whole(self, mask: Mask) -> Mask:
        """Mark the pairs of the sets whose pairs are all marked, bool[pairs]."""
        return np.asarray(np.bincount(self.of, ~mask)[self.of] == 0)

    def judge(self, right: Mask, ties: Mask) -> tuple[Mask, Mask]:
        """Return which pairs are of a set whose good sentence beats all bad ones, and which of a tied one."""
        all_right = self.whole(right)
        return all_right, self.whole(right | ties) & ~all_right


def sets_of(pairs: pd.DataFrame) -> Sets:
    """Find the sets of a table of pairs, within their paradigms; a pair without a set forms its own."""
    alone = np.arange(len(pairs))
    if SET not in pairs:
        return Sets(alone)
    of = pairs.groupby(["phenomenon", "paradigm", SET], sort=False).ngroup().to_numpy()  # -1 without a set
    numbers = np.where(pairs[SET].notna(), of, len(pairs) + alone)
    return Sets(np.unique(numbers, return_inverse=True)[1])
