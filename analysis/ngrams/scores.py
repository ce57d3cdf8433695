"""What a run and the n-gram models of its training tokens gave to the pairs of a benchmark at each checkpoint."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.data.files import known_linking, scored_steps, stored_scores
from analysis.data.frames import NGRAM
from analysis.data.pair_scores import HALVES, Items, read_runs
from analysis.data.runs import Run
from analysis.data.study import BenchmarkScores
from analysis.ngrams.agreement import Verdicts, agreement_table
from analysis.shape.smoothing import Array
from eval.linking import Linking
from eval.metrics.accuracy import TiesRule, pair_credits
from eval.store.scores import score_path
from ucurve.errors import UserError

ORDERS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, eq=False)
class BesideNgrams:
    """A run with the n-gram models beside it.

    Attributes:
        items: the run's own credits at every checkpoint.
        agreement: ``run``, ``group``, ``step``, ``tokens``, ``order`` and the columns of ``agreement_table``.
        verdicts: half points of the n-gram models, uint8[items], by order and step.
    """

    run: Run
    items: Items
    agreement: pd.DataFrame
    verdicts: dict[tuple[int, int], Verdicts]


def read_beside_ngrams(scored: BenchmarkScores) -> Iterator[BesideNgrams]:
    """Read every run that has n-gram scores of a benchmark, one run at a time.

    Raises:
        UserError: when a file is broken, or its pairs are not those of the benchmark.
        DamagedError: when a file is not what was written.
    """
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
            yield _read_run(run, items, scored, linking)


def _steps_by_order(run: Run, benchmark: str) -> dict[int, list[int]]:
    there = {order: scored_steps(run.folder, benchmark, f"{NGRAM}{order}") for order in ORDERS}
    return {order: steps for order, steps in there.items() if steps}


def _read_run(run: Run, items: Items, scored: BenchmarkScores, linking: Linking) -> BesideNgrams:
    steps_by_order = _steps_by_order(run, scored.benchmark)
    verdicts, rows = {}, []
    for place, (step, tokens) in enumerate(zip(items.steps.tolist(), items.tokens.tolist(), strict=True)):
        orders = [order for order, steps in steps_by_order.items() if step in steps]
        own = _read(run, scored, scored.scorer, step, items, linking) if orders else None
        for order in orders:
            beside = _read(run, scored, f"{NGRAM}{order}", step, items, linking)
            if own is None or beside is None:
                continue
            verdicts[order, step] = _half_points(beside, linking, scored.ties_rule)
            both = (items.half_points[place], verdicts[order, step])
            table = agreement_table(
                items.pairs["phenomenon"], both, (_margins(own, linking), _margins(beside, linking))
            )
            where = {"run": run.label, "group": run.group, "step": step, "tokens": tokens, "order": order}
            rows.append(table.assign(**where)[[*where, *table.columns]])
    return BesideNgrams(run, items, pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(), verdicts)


def _read(
    run: Run, scored: BenchmarkScores, scorer: str, step: int, items: Items, linking: Linking
) -> pd.DataFrame | None:
    """Read the scores of one checkpoint for the items of a run; None where the linking function cannot be computed."""
    table = stored_scores(run.folder, scored.benchmark, scorer, step)
    if table is None:
        return None
    known = table.set_index("pair")
    if not items.pairs["pair"].isin(known.index).all():
        path = score_path(run.folder, scored.benchmark, scorer, step)
        raise UserError(f"{path}: its {len(table)} pairs are not those of the benchmark's table; score it again")
    chosen = known.loc[items.pairs["pair"]].reset_index()
    return None if linking.missing(chosen) else chosen


def _half_points(table: pd.DataFrame, linking: Linking, rule: TiesRule) -> Verdicts:
    return np.asarray(HALVES * pair_credits(table, linking, rule)).astype(np.uint8)


def _margins(table: pd.DataFrame, linking: Linking) -> Array:
    """Return how far the good sentence is ahead in what the linking function decides by; its sign is the verdict."""
    apart = linking.compared_values(table, "good") - linking.compared_values(table, "bad")
    return np.asarray(-apart if linking.lower_is_better else apart, dtype=np.float64)
