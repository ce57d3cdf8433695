"""What a run and the n-gram models of its training tokens gave to pairs at each checkpoint, and how far they agree.

They agree in margins, in verdicts beyond chance, and in errors.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.data.files import known_linking, scored_steps, stored_scores
from ucurve.analysis.data.frames import NGRAM, stack
from ucurve.analysis.data.pair_scores import Items, read_runs
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.items.histories import RIGHT, TIE, WRONG, Verdicts, verdicts_of
from ucurve.analysis.shape.smoothing import Array
from ucurve.errors import UserError
from ucurve.eval.linking import Linking
from ucurve.eval.metrics.accuracy import TIES_CREDIT, TiesRule, decisions
from ucurve.eval.metrics.levels import Ids, cohens_kappa
from ucurve.eval.scoring.ngrams import ORDERS
from ucurve.eval.store.scores import score_path

_NO_VARIANCE = 1e-20  # of the sum of squares: what rounding leaves


def ngram_agreement(
    phenomena: pd.Series, verdicts: tuple[Verdicts, Verdicts], margins: tuple[Array, Array], rule: TiesRule
) -> pd.DataFrame:
    """Compare a model with an n-gram model, over all pairs and by phenomenon; of two values the model's is first.

    Margins are what the linking function decides by, good less bad sentence; ``rule`` is what a tie counts in the
    accuracies, and nowhere else. ``pearson`` is the product-moment correlation of the margins; ``kappa`` (Cohen 1960)
    is of right and not right, where a tie is not right; ``ngram_wrong`` are the pairs on which the n-gram model prefers
    the bad sentence, and ``accuracy_where_wrong`` is the model's accuracy on them. NaN where there is no such pair, and
    where a correlation or kappa is not defined because nothing varies.
    """
    names = sorted(set(phenomena.unique()) - {"", "all"}, key=str.casefold)
    groups = pd.Index(names).get_indexer(pd.Index(phenomena)).astype(np.int64)
    kept = groups >= 0
    parts = [_at_level(np.zeros_like(groups), ["all"], verdicts, margins, rule)]
    if kept.any():
        of_named = ((verdicts[0][kept], verdicts[1][kept]), (margins[0][kept], margins[1][kept]))
        parts.append(_at_level(groups[kept], names, *of_named, rule))
    return pd.concat(parts, ignore_index=True)


def _at_level(
    groups: Ids,
    names: list[str],
    verdicts: tuple[Verdicts, Verdicts],
    margins: tuple[Array, Array],
    rule: TiesRule,
) -> pd.DataFrame:
    """Return the rows of ``ngram_agreement`` for numbered groups of pairs."""
    ours, theirs = verdicts
    credit, of_ngram = ((given == RIGHT) + TIES_CREDIT[rule] * (given == TIE) for given in verdicts)
    pairs = np.bincount(groups, minlength=len(names)).astype(np.float64)
    wrong = theirs == WRONG
    n_wrong = np.bincount(groups[wrong], minlength=len(names))
    of_wrong = np.bincount(groups[wrong], credit[wrong], minlength=len(names))
    return pd.DataFrame(
        {
            "phenomenon": names,
            "pairs": pairs.astype(np.int64),
            "accuracy": ratio(np.bincount(groups, credit, len(names)), pairs),
            "ngram_accuracy": ratio(np.bincount(groups, of_ngram, len(names)), pairs),
            "pearson": pearson(groups, *margins, len(names)),
            "kappa": group_kappa(groups, ours == RIGHT, theirs == RIGHT, len(names)),
            "ngram_wrong": n_wrong,
            "accuracy_where_wrong": ratio(of_wrong, n_wrong),
        }
    )


def pearson(groups: Ids, one: Array, other: Array, count: int) -> Array:
    """Return the correlation of two numbers of each pair within each of ``count`` groups, float64[count]."""
    size = np.maximum(1, np.bincount(groups, minlength=count))
    centered, squares = [], []
    for values in (one, other):
        apart = values - (np.bincount(groups, values, count) / size)[groups]
        square = np.bincount(groups, apart**2, count)
        squares.append(np.where(square > _NO_VARIANCE * np.bincount(groups, values**2, count), square, 0))
        centered.append(apart)
    return ratio(np.bincount(groups, centered[0] * centered[1], count), np.sqrt(squares[0] * squares[1]))


def group_kappa(groups: Ids, one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_], count: int) -> Array:
    """Return Cohen's kappa of two truth values of each pair within each of ``count`` groups, float64[count].

    Agreement beyond that of two raters who say yes as often as these but independently of each other, as a share of the
    most that it could be (Cohen 1960). NaN where both say the same of all pairs.
    """
    size = np.bincount(groups, minlength=count)
    first, second, both = (ratio(np.bincount(groups, said, count), size) for said in (one, other, one == other))
    return cohens_kappa(first, second, both)


def ratio(above: Array | Ids, below: Array | Ids) -> Array:
    """Divide; NaN where the divisor is 0."""
    return np.asarray(np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below != 0))


@dataclass(frozen=True, eq=False)
class AtCheckpoint:
    """What n-gram models of the tokens seen at a checkpoint gave to the pairs of a run."""

    verdicts: dict[int, Verdicts]  # by order, uint8[items]
    agreement: pd.DataFrame  # run, line, step, tokens, order and those of ngram_agreement


@dataclass(eq=False)
class BesideNgrams:
    """A run with the n-gram models beside it; the scores of a checkpoint are read when they are first asked for."""

    run: Run
    items: Items  # the run's own credits at every checkpoint
    scored: BenchmarkScores
    linking: Linking
    steps_by_order: dict[int, list[int]]  # at which scores of each order are stored
    _known: dict[int, AtCheckpoint] = field(default_factory=dict)
    # the pairs of the file that was read last: mostly the same in all of a benchmark
    _order: np.ndarray | None = None
    _places: Ids = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def at(self, step: int) -> AtCheckpoint:
        """Return what the n-gram models gave at a checkpoint; empty where it has no n-gram scores.

        Raises:
            UserError: when a file is broken, or its pairs are not those of the benchmark.
            DamagedError: when a file is not what was written.
        """
        if step in self._known:
            return self._known[step]
        orders = [order for order, steps in self.steps_by_order.items() if step in steps]
        own = self._read_scores(self.scored.scorer_of(self.run), step) if orders else None
        verdicts, rows = {}, []
        for order in orders:
            beside = self._read_scores(f"{NGRAM}{order}", step)
            if own is None or beside is None:
                continue
            both = verdicts_of(*decisions(own, self.linking)), verdicts_of(*decisions(beside, self.linking))
            margins = _margins(own, self.linking), _margins(beside, self.linking)
            verdicts[order] = both[1]
            table = ngram_agreement(self.items.pairs["phenomenon"], both, margins, self.scored.ties_rule)
            tokens = self.items.tokens[np.searchsorted(self.items.steps, step)]
            where = {"run": self.run.label, "line": self.run.line, "step": step, "tokens": tokens, "order": order}
            rows.append(table.assign(**where)[[*where, *table.columns]])
        self._known[step] = AtCheckpoint(verdicts, stack(rows))
        return self._known[step]

    @property
    def agreement(self) -> pd.DataFrame:
        """The agreement at all checkpoints of the run."""
        tables = (self.at(step).agreement for step in self.items.steps.tolist())
        return stack(table for table in tables if len(table))

    def _read_scores(self, scorer: str, step: int) -> pd.DataFrame | None:
        """Read the scores of the items; None where the linking function cannot be computed from them."""
        table = stored_scores(self.run.folder, self.scored.benchmark, scorer, step)
        if table is None or self.linking.missing(table):
            return None
        order = table["pair"].to_numpy()
        if self._order is None or not np.array_equal(order, self._order):
            self._places = pd.Index(order).get_indexer(pd.Index(self.items.pairs["pair"])).astype(np.int64)
            self._order = order
        if (self._places < 0).any():
            path = score_path(self.run.folder, self.scored.benchmark, scorer, step)
            raise UserError(
                f"{path}: its {len(table)} pairs are not those of the benchmark's table; score it again"
            )
        return table.iloc[self._places]


def read_beside_ngrams(scored: BenchmarkScores) -> Iterator[BesideNgrams]:
    """Read every run that has n-gram scores of a benchmark, one run at a time."""
    linking = known_linking(scored.linking)
    if linking is None:
        return
    stored: dict[str, dict[int, list[int]]] = {}
    for run in scored.study.runs:
        steps = {order: scored_steps(run.folder, scored.benchmark, f"{NGRAM}{order}") for order in ORDERS}
        stored[run.label] = {order: found for order, found in steps.items() if found}
    found = read_runs(
        [run for run in scored.study.runs if stored[run.label]],
        scored.curve_rows(),
        scored.benchmark,
        scored.linking,
        scored.ties_rule,
        scored.study.settings.cluster,
    )
    for run, items in found:
        if items is not None:
            yield BesideNgrams(run, items, scored, linking, stored[run.label])


def _margins(table: pd.DataFrame, linking: Linking) -> Array:
    """Return how far the good sentence is ahead in what the linking function decides by; its sign is the verdict."""
    apart = linking.compared_values(table, "good") - linking.compared_values(table, "bad")
    return np.asarray(-apart if linking.lower_is_better else apart, dtype=np.float64)
