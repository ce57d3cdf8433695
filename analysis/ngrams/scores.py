"""What a run and the n-gram models of its training tokens gave to the pairs of a benchmark at each checkpoint."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd

from analysis.data.files import known_linking, scored_steps, stored_scores
from analysis.data.frames import NGRAM
from analysis.data.pair_scores import Items, read_runs
from analysis.data.runs import Run
from analysis.data.study import BenchmarkScores
from analysis.items.verdicts import Verdicts, verdicts_of
from analysis.ngrams.agreement import agreement_table
from analysis.shape.smoothing import Array
from eval.linking import Linking
from eval.metrics.accuracy import decisions
from eval.metrics.levels import Ids
from eval.scoring.ngram.inventory import ORDERS
from eval.store.scores import score_path
from ucurve.errors import UserError


@dataclass(frozen=True, eq=False)
class AtCheckpoint:
    """What n-gram models of the tokens seen at a checkpoint gave to the pairs of a run."""

    verdicts: dict[int, Verdicts]  # by order, uint8[items]
    agreement: pd.DataFrame  # run, group, step, tokens, order and those of agreement_table


@dataclass(frozen=True, eq=False)
class BesideNgrams:
    """A run with the n-gram models beside it; the scores of a checkpoint are read when they are first asked for."""

    run: Run
    items: Items  # the run's own credits at every checkpoint
    _read: Callable[[int], AtCheckpoint]
    _known: dict[int, AtCheckpoint] = field(default_factory=dict)

    def at(self, step: int) -> AtCheckpoint:
        """Return what the n-gram models gave at a checkpoint; empty where it has no n-gram scores."""
        if step not in self._known:
            self._known[step] = self._read(step)
        return self._known[step]

    @property
    def agreement(self) -> pd.DataFrame:
        """The agreement at all checkpoints of the run."""
        tables = [self.at(step).agreement for step in self.items.steps.tolist()]
        return pd.concat([table for table in tables if len(table)] or [pd.DataFrame()], ignore_index=True)


def read_beside_ngrams(scored: BenchmarkScores) -> Iterator[BesideNgrams]:
    """Read every run that has n-gram scores of a benchmark, one run at a time."""
    linking = known_linking(scored.linking)
    if linking is None:
        return
    runs = [run for run in scored.study.runs if _steps_by_order(run, scored.benchmark)]
    study = scored.study
    found = read_runs(
        runs, scored.curve_rows(), scored.benchmark, scored.scorer, scored.linking, scored.ties_rule,
        study.settings.cluster,
    )  # fmt: skip
    for run, items in found:
        if items is not None:
            reader = _Reader(run, scored.benchmark, items, linking)
            yield BesideNgrams(
                run, items, partial(_read_checkpoint, scored, reader, _steps_by_order(run, scored.benchmark))
            )


def _steps_by_order(run: Run, benchmark: str) -> dict[int, list[int]]:
    there = {order: scored_steps(run.folder, benchmark, f"{NGRAM}{order}") for order in ORDERS}
    return {order: steps for order, steps in there.items() if steps}


def _read_checkpoint(
    scored: BenchmarkScores, reader: "_Reader", steps_by_order: Mapping[int, Sequence[int]], step: int
) -> AtCheckpoint:
    run, items, linking = reader.run, reader.items, reader.linking
    orders = [order for order, steps in steps_by_order.items() if step in steps]
    own = reader.read(scored.scorer, step) if orders else None
    verdicts, rows = {}, []
    for order in orders:
        beside = reader.read(f"{NGRAM}{order}", step)
        if own is None or beside is None:
            continue
        verdicts[order] = verdicts_of(*decisions(beside, linking))
        both = (verdicts_of(*decisions(own, linking)), verdicts[order])
        margins = (_margins(own, linking), _margins(beside, linking))
        table = agreement_table(items.pairs["phenomenon"], both, margins, scored.ties_rule)
        tokens = items.tokens[np.searchsorted(items.steps, step)]
        where = {"run": run.label, "group": run.group, "step": step, "tokens": tokens, "order": order}
        rows.append(table.assign(**where)[[*where, *table.columns]])
    return AtCheckpoint(verdicts, pd.concat(rows, ignore_index=True) if rows else pd.DataFrame())


@dataclass(eq=False)
class _Reader:
    """Reads the score files of a run for its items; all files of a benchmark mostly have their pairs in one order."""

    run: Run
    benchmark: str
    items: Items
    linking: Linking
    _order: np.ndarray | None = None
    _places: Ids = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def read(self, scorer: str, step: int) -> pd.DataFrame | None:
        """Read the scores of one checkpoint; None where the linking function cannot be computed from them."""
        table = stored_scores(self.run.folder, self.benchmark, scorer, step)
        if table is None or self.linking.missing(table):
            return None
        order = table["pair"].to_numpy()
        if self._order is None or not np.array_equal(order, self._order):
            self._places = pd.Index(order).get_indexer(pd.Index(self.items.pairs["pair"])).astype(np.int64)
            self._order = order
        if (self._places < 0).any():
            path = score_path(self.run.folder, self.benchmark, scorer, step)
            raise UserError(f"{path}: its {len(table)} pairs are not those of the benchmark's table; score it again")
        return table.iloc[self._places]


def _margins(table: pd.DataFrame, linking: Linking) -> Array:
    """Return how far the good sentence is ahead in what the linking function decides by; its sign is the verdict."""
    apart = linking.compared_values(table, "good") - linking.compared_values(table, "bad")
    return np.asarray(-apart if linking.lower_is_better else apart, dtype=np.float64)
