"""The critical region of a pair: the tokens in which its members differ, between what both begin and end with."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.eval.store.tokens import StoredSentences

SIDES = ("good", "bad")
Ids = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Regions:
    """Where the parts of a pair's members lie among the tokens of all sentences, each int64[pairs]."""

    start: Ids  # first token of the member
    critical: Ids  # first token after those that both members begin with
    after: Ids  # first token after the region; the same tokens follow in both members
    end: Ids  # end of the member


def find_regions(sentences: StoredSentences, members: pd.DataFrame) -> dict[str, Regions]:
    """Find the critical regions of the ``good`` and the ``bad`` members of pairs.

    The tokens that both members begin with are the longest such part; those that both end with are the longest part of
    what is left. Where one member only lacks tokens of the other, its region is empty.
    """
    numbers = {side: members[side].to_numpy() for side in SIDES}
    starts = {side: sentences.starts[each] for side, each in numbers.items()}
    ends = {side: sentences.starts[each + 1] for side, each in numbers.items()}
    shortest = np.minimum(*(ends[side] - starts[side] for side in SIDES))
    width = int(shortest.max(initial=0))
    offsets = np.arange(width)
    inside = offsets < shortest[:, None]
    last = len(sentences.tokens) - 1

    def equal(places: dict[str, Ids]) -> Ids:
        good, bad = (sentences.tokens[np.clip(places[side], 0, last)] for side in SIDES)
        same: Ids = np.logical_and.accumulate((good == bad) & inside, axis=1).sum(axis=1)
        return same

    before = equal({side: starts[side][:, None] + offsets for side in SIDES})
    after = equal({side: ends[side][:, None] - 1 - offsets for side in SIDES})
    after = np.minimum(after, shortest - before)
    return {side: Regions(starts[side], starts[side] + before, ends[side] - after, ends[side]) for side in SIDES}


def sum_regions(regions: dict[str, Regions], surprisal: Values) -> pd.DataFrame:
    """Add up the surprisal of the parts of each pair's members, in its unit; tokens with NaN add nothing.

    ``critical``, ``first`` (the first token that differs; NaN if it has no score, and for a member that ends before
    it), ``after`` (what follows the region) and ``length`` (tokens of the region) are there for ``_good`` and ``_bad``;
    ``margin`` is by how much the bad member is less probable, the sum of ``margin_before``, ``margin_critical`` and
    ``margin_after``.
    """
    scored, columns, before = np.nan_to_num(surprisal), dict[str, Values | Ids](), dict[str, Values]()
    for side, region in regions.items():
        first = surprisal[np.minimum(region.critical, len(surprisal) - 1)]
        before[side] = _sums(scored, region.start, region.critical)
        columns |= {
            f"critical_{side}": _sums(scored, region.critical, region.after),
            f"first_{side}": np.where(region.critical < region.end, first, np.nan),
            f"after_{side}": _sums(scored, region.after, region.end),
            f"length_{side}": region.after - region.critical,
        }
    margins = {
        "margin_before": before["bad"] - before["good"],
        **{f"margin_{part}": columns[f"{part}_bad"] - columns[f"{part}_good"] for part in ("critical", "after")},
    }
    return pd.DataFrame({**columns, "margin": sum(margins.values()), **margins})


def _sums(values: Values, first: Ids, end: Ids) -> Values:
    """Sum values from one place to another, each sum by itself, so that equal values have equal sums."""
    places = np.stack([first, end], axis=1).ravel()
    sums = np.add.reduceat(np.append(values, 0.0), places)[::2]
    return np.where(first < end, sums, 0.0)
