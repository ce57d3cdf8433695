"""The verdict and the margin of every pair at every scored checkpoint of a run, from its stored scores.

A tie is not right. Nothing is known of a pair before the first checkpoint: it counts as not right then, so that a pair
that is right at the first checkpoint is learned there; but its verdict there is no flip, which needs two verdicts.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.data.files import PAIR_COLUMNS
from ucurve.analysis.data.groups import Ids, Mask, Pairs
from ucurve.analysis.data.pair_scores import ScoreFiles, find_stored
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.eval.metrics.accuracy import decisions

WRONG, TIE, RIGHT = 0, 1, 2
VERDICT_NAMES = {WRONG: "wrong", TIE: "tied", RIGHT: "right"}
NEVER = -1  # in place of a checkpoint, where there is no such event
_SENTENCES = ["pair", "good", "bad"]

Verdicts = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Events:
    """What happens to pairs at each checkpoint, bool[steps, pairs]."""

    became_right: Mask  # right here, and not at the checkpoint before
    became_not_right: Mask  # right at the checkpoint before, and not here
    flipped: Mask  # another verdict than at the checkpoint before; a tie is a verdict of its own
    learned: Mask  # right from here on to the last checkpoint, and not at the one before: right for good
    forgotten: Mask  # right at the checkpoint before, and not here or at any later one: lost for good


def verdicts_of(right: Mask, ties: Mask) -> Verdicts:
    """Return the verdicts on pairs from which of them are right and which are ties."""
    return (RIGHT * right + TIE * ties).astype(np.uint8)


def find_events(verdicts: Verdicts) -> Events:
    """Find the events of pairs from uint8[steps, pairs] with at least one step."""
    right = verdicts == RIGHT
    before = np.zeros_like(right)  # nothing is known of a pair before the first checkpoint
    before[1:] = right[:-1]
    flipped = np.zeros_like(right)
    flipped[1:] = verdicts[1:] != verdicts[:-1]
    stays_right = np.logical_and.accumulate(right[::-1], axis=0)[::-1]
    stays_not_right = np.logical_and.accumulate(~right[::-1], axis=0)[::-1]
    return Events(
        became_right=right & ~before,
        became_not_right=before & ~right,
        flipped=flipped,
        learned=stays_right & ~before,
        forgotten=before & stays_not_right,
    )


def first_place(events: Mask) -> Ids:
    """Return the place of the first checkpoint at which each pair has an event, int64[pairs], or ``NEVER``."""
    return np.where(events.any(axis=0), events.argmax(axis=0), NEVER).astype(np.int64)


@dataclass(frozen=True, eq=False)
class History:
    """What became of the pairs of a benchmark in one run.

    The items are the pairs that accuracies are over. A set of several bad sentences is one item: it has the verdict of
    the set, and as its margin that of the bad sentence that comes nearest to the good one or beats it most.
    """

    run: Run
    checkpoints: pd.DataFrame  # step, tokens and flops, ascending, of those with a score file
    shared: Pairs  # all pairs of the benchmark, the same object for the runs that have the same
    items: Ids  # int64[items], the rows of shared.table that they are
    verdicts: Verdicts  # uint8[steps, items]: WRONG, TIE or RIGHT
    # float64[steps, items], linked value of the good sentence less the bad one's, positive for right
    margins: Floats

    @property
    def pairs(self) -> pd.DataFrame:
        """The items with all that is published of them, one row each."""
        return self.shared.table.iloc[self.items]

    def parts(self) -> Iterator[tuple[str, Ids]]:
        """Yield ``all`` and every phenomenon with the places of its items."""
        phenomena = self.pairs["phenomenon"].astype(str).to_numpy(dtype=object)
        yield "all", np.arange(len(phenomena), dtype=np.int64)
        for name in sorted(set(phenomena) - {"", "all"}, key=str.casefold):
            yield name, np.flatnonzero(phenomena == name).astype(np.int64)

    def changes(self, before: int, now: int) -> pd.DataFrame:
        """List the pairs whose verdicts differ between two of ``checkpoints``, most wrong at the later one first.

        To what names a pair come ``before`` and ``now`` (the verdicts) with ``margin_before`` and ``margin``.
        """
        changed = self.verdicts[before] != self.verdicts[now]
        table: pd.DataFrame = self.pairs.loc[changed, list(PAIR_COLUMNS)].assign(
            before=[VERDICT_NAMES[verdict] for verdict in self.verdicts[before, changed].tolist()],
            now=[VERDICT_NAMES[verdict] for verdict in self.verdicts[now, changed].tolist()],
            margin_before=self.margins[before, changed],
            margin=self.margins[now, changed],
        )
        return table.sort_values("margin", ignore_index=True)


@lru_cache(maxsize=1)  # several sections need them, one benchmark after the other
def read_histories(scored: BenchmarkScores) -> list[History]:
    """Read the verdicts of all runs with scores of single pairs, under the linking function of the study.

    Raises:
        UserError: when a file is broken, or its scores are not of the pairs beside them.
        DamagedError: when a file is not what was written.
    """
    # Runs with equal pairs share the table of the study, and so what is computed of it.
    study, tables = scored.study, dict[int, Pairs]()
    found = find_stored(study.runs, scored.curve_rows(), scored.benchmark, scored.linking)
    histories = []
    for run, stored in found:
        pairs = None if stored is None else study.pairs(run, scored.benchmark)
        if stored is not None and pairs is not None:
            histories.append(_read_history(run, stored, tables.setdefault(id(pairs), Pairs(pairs))))
    return histories


def same_pairs(histories: Iterable[History]) -> tuple[list[History], list[str]]:
    """Return those that are about the pairs that most (or else the first) are about, and the labels of the others."""
    sets: list[list[History]] = []
    for one in histories:
        for found in sets:
            there, own = found[0].shared, one.shared
            # The numbers alone may be those of another version of the benchmark.
            if there is own or there.table[_SENTENCES].equals(own.table[_SENTENCES]):
                found.append(one)
                break
        else:
            sets.append([one])
    most = max(sets, key=len)
    return most, [one.run.label for found in sets if found is not most for one in found]


def _read_history(run: Run, stored: ScoreFiles, pairs: Pairs) -> History:
    """Read verdicts and margins of one run from its score files, one after the other."""
    items = np.flatnonzero(pairs.counted).astype(np.int64)
    shape, linking, of_set = (len(stored.files), len(items)), stored.linking, pairs.sets.of
    verdicts, margins = np.empty(shape, dtype=np.uint8), np.empty(shape)
    for place in range(len(stored.files)):
        scores = stored.read(place, pairs.table)
        verdicts[place] = verdicts_of(*pairs.sets.judge(*decisions(scores, linking)))[items]
        # By how much the good sentence leads its set, in the unit of the linking function.
        difference = np.asarray(linking.values(scores, "good") - linking.values(scores, "bad"), dtype=np.float64)
        least = np.full(int(of_set.max(initial=-1)) + 1, np.inf)
        np.minimum.at(least, of_set, -difference if linking.lower_is_better else difference)
        margins[place] = least[of_set[items]]
    return History(
        run=run,
        checkpoints=stored.checkpoints,
        shared=pairs,
        items=items,
        verdicts=verdicts,
        margins=margins,
    )
