"""How far the runs of a line agree on single pairs at each checkpoint, beyond what their accuracies alone make them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.groups import Ids, Mask
from ucurve.analysis.data.runs import Run
from ucurve.analysis.items.histories import Floats, History, same_pairs
from ucurve.analysis.items.verdicts import RIGHT
from ucurve.eval.metrics.kappa import cohens_kappa

ALL_RUNS, SAME_INIT, SAME_ORDER, BOTH_DIFFER = "all runs", "same init", "same data order", "both differ"
AGREEMENT_COLUMNS = (
    "line", "phenomenon", "between", "step", "tokens", "runs", "run_pairs", "n", "kappa", "kappa_low", "kappa_high",
    "margin_correlation", "agreement",
)  # fmt: skip


class Seeds(NamedTuple):
    """What a run's numbers were drawn with."""

    init: int
    data: int


@dataclass(frozen=True, eq=False)
class Line:
    """The runs of a line, in the order of the study, at the checkpoints that all of them have, on the same items."""

    line: str
    histories: Sequence[History]
    checkpoints: pd.DataFrame  # step and tokens

    @property
    def runs(self) -> list[Run]:
        """The runs, in the order of the study."""
        return [history.run for history in self.histories]

    @cached_property
    def right(self) -> Mask:
        """Which items are right, bool[runs, steps, items]."""
        return np.stack([history.verdicts[self._shared(history)] == RIGHT for history in self.histories])

    def margins(self, places: Iterable[int]) -> Floats:
        """Return the margins of the runs at some places, float64[places, steps, items]."""
        chosen = [self.histories[place] for place in places]
        return np.stack([history.margins[self._shared(history)] for history in chosen])

    def _shared(self, history: History) -> Mask:
        return history.checkpoints["step"].isin(self.checkpoints["step"]).to_numpy(dtype=bool)

    def parts(self) -> Iterator[tuple[str, Ids]]:
        """Yield ``all`` and every phenomenon with the places of its items."""
        return self.histories[0].parts()


def lines_of(histories: Iterable[History]) -> list[Line]:
    """Put together the runs of a line that were scored on the same pairs, where two or more share a checkpoint."""
    lines = [_line(line, same_pairs(found)[0]) for line, found in _by_line(histories).items()]
    return [line for line in lines if len(line.runs) > 1 and len(line.checkpoints)]


def describe_left_out(histories: Iterable[History]) -> str:
    """Name the runs that were scored on other pairs than most runs of their line; empty where there are none."""
    labels = [label for found in _by_line(histories).values() for label in same_pairs(found)[1]]
    return f"Scored on other pairs than most runs of their model, and left out: {', '.join(labels)}." if labels else ""


def seeds_of(run: Run) -> Seeds | None:
    """Return the seeds of a run; None for a model that was not trained here."""
    return Seeds(run.facts.seeds.init, run.facts.seeds.data) if run.facts else None


def agreement_table(lines: Iterable[Line]) -> pd.DataFrame:
    """Compare every two runs of each line on which pairs are right.

    There is a row per line, phenomenon (``all`` for all pairs), ``between`` and checkpoint: Cohen's kappa (1960; mean,
    smallest and largest over every two runs; missing where two are right on all items, or on none), the mean
    correlation of the margins of two runs (Pearson; missing where margins do not vary), and the mean share of items on
    which two agree. ``between`` is ``all runs``, and where some runs share one seed, rows of these.
    """
    rows = (row for line in lines for name, items in line.parts() for row in _compare(line, name, items))
    return stack(rows, AGREEMENT_COLUMNS)


def kappa(first: Mask, second: Mask) -> tuple[Floats, Floats]:
    """Return Cohen's kappa of two raters, bool[steps, items], and the share on which they agree, float64[steps]."""
    observed = (first == second).mean(axis=1)
    return cohens_kappa(first.mean(axis=1), second.mean(axis=1), observed), observed


def _by_line(histories: Iterable[History]) -> dict[str, list[History]]:
    members: dict[str, list[History]] = defaultdict(list)
    for history in histories:
        members[history.run.line].append(history)
    return members


def _line(line: str, histories: Sequence[History]) -> Line:
    steps = set.intersection(*(set(one.checkpoints["step"].tolist()) for one in histories))
    places = histories[0].checkpoints
    checkpoints = places.loc[places["step"].isin(steps), ["step", "tokens"]].reset_index(drop=True)
    return Line(line, histories, checkpoints)


def _compare(line: Line, phenomenon: str, items: Ids) -> Iterator[pd.DataFrame]:
    right = line.right[:, :, items]
    # Of each run and step the items have the mean 0 and the variance 1; NaN where they do not vary.
    values = line.margins(range(len(line.runs)))[:, :, items]
    apart = values - values.mean(axis=-1, keepdims=True)
    sd = apart.std(axis=-1, keepdims=True)
    varies = sd > 1e-12 * np.abs(values).max(initial=1)
    margins = np.asarray(np.divide(apart, sd, out=np.full_like(apart, np.nan), where=varies))
    kinds: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for first, second in combinations(range(len(line.runs)), 2):
        kinds[ALL_RUNS].append((first, second))
        kinds[_between(line.runs[first], line.runs[second])].append((first, second))
    some_share = SAME_INIT in kinds or SAME_ORDER in kinds
    for between, compared in kinds.items():
        if between == ALL_RUNS or some_share:
            found = [kappa(right[first], right[second]) for first, second in compared]
            kappas, agreed = (np.stack(part) for part in zip(*found, strict=True))
            alike = pd.DataFrame([(margins[first] * margins[second]).mean(axis=1) for first, second in compared])
            known = pd.DataFrame(kappas)  # whose mean, smallest and largest pass over missing values
            yield line.checkpoints.assign(
                line=line.line, phenomenon=phenomenon, between=between, n=len(items),
                runs=len({run for two in compared for run in two}), run_pairs=len(compared),
                kappa=known.mean(), kappa_low=known.min(), kappa_high=known.max(),
                margin_correlation=alike.mean(), agreement=agreed.mean(axis=0),
            )[list(AGREEMENT_COLUMNS)]  # fmt: skip


def _between(first: Run, second: Run) -> str:
    one, other = seeds_of(first), seeds_of(second)
    if one is None or other is None or (one.init != other.init and one.data != other.data):
        return BOTH_DIFFER
    return SAME_INIT if one.init == other.init else SAME_ORDER
