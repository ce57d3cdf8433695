"""The order in which the phenomena of each line are learned, how sure it is, and whether lines and runs agree on it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, rankdata

from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.plotting.style import readable
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.analysis.shape.classify import NOT_TESTED, Row
from ucurve.analysis.shape.onset import ONSET_ABOVE_CHANCE, draw_onsets, ends_below, half_way
from ucurve.analysis.shape.section import read_shapes
from ucurve.analysis.shape.smoothing import DRAWS, Array, Curve, with_known_error
from ucurve.analysis.shape.tables import Shapes
from ucurve.eval.metrics.sampling import TAIL
from ucurve.eval.metrics.significance import CHANCE

LEVEL = CHANCE + ONSET_ABOVE_CHANCE
LEARNED, NOT_LEARNED, TOO_FEW = "learned", "not learned at the end", "too few pairs to say"
FROM_START = f"above {100 * LEVEL:.0f} % from the start"
BEFORE_COLUMNS = ("line", "first", "second", "p_before")
AGREEMENT_COLUMNS = ("between", "first", "second", "differs_in", "phenomena", "reached_by_both", "tau", "p")
# Three phenomena have the same order by chance in one of six cases.
FEWEST_PHENOMENA = 4  # of which an order can be told; two have one of two orders by chance
_ORDER = table_columns(
    Column("name", "Model"),
    Column("rank", "Rank (95 %)", "number", ("rank_low", "rank_high")),
    "phenomenon",
    Column("learned", "Learned at (tokens)"),
    Column("p_before_next", "Before the next", "number"),
    Column("half", "Half way (tokens)"),
    Column("untrained", "Untrained (%)", "percent"),
)
_NOTE = (
    f"Learned at: the tokens at which the accuracy comes above {100 * LEVEL:.0f} % to stay, with its 95 % interval; "
    '"at most" where the interval reaches the first checkpoint. Half way: the tokens at which it comes half way from '
    "the untrained accuracy to the last one. Before the next: the probability that a phenomenon is learned before the "
    "one below it; like the intervals of ranks it takes phenomena to vary independently of each other. Phenomena that "
    f"are {FROM_START} have no rank, as an untrained model may have them, nor those of {TOO_FEW}. A model is the mean "
    "of its runs that differ in the seed only. "
)
_MEANS = table_columns(
    Column("between", "Between"),
    Column("differs_in", "Differ in"),
    "pairs",
    Column("tau", "Mean tau-b", "number"),
    Column("range", "Range of the pairs"),
)
_AGREEMENT = (
    "Agreement of these orders: Kendall's tau-b between every two models (lines) and every two runs, over the "
    "phenomena that have a rank in both, mean by what the two differ in; 1 is the same order, 0 none. The range is "
    "from the lowest to the highest of the pairs, and no interval. The CSV has every pair."
)


@dataclass(frozen=True)
class Order:
    """When each line learned the phenomena."""

    table: pd.DataFrame  # see find_order
    # BEFORE_COLUMNS, a row for every two phenomena that have a rank, the one of the lower first
    before: pd.DataFrame


def find_order(shapes: Shapes) -> Order:
    """Order the phenomena of each line by their onsets.

    The table has ``name`` (the line), ``phenomenon`` and a ``state``: learned; not learned at the end, where the curve
    ends below 55 % by a one-sided test at 5 %; too few pairs to say, where neither that nor the opposite is shown; or
    above 55 % from the start, where the onset is the first checkpoint, or the untrained accuracy is above 55 % and the
    interval of the onset reaches the first checkpoint. Then ``rank``, of what is learned and what is not, with its 95 %
    interval and ``p_before_next``, the probability that it is learned before the next one; ``onset`` and ``half_way``
    (tokens) with their intervals, and ``_censored``: ``left`` where the interval reaches the first checkpoint,
    ``right`` where it goes beyond the last; ``untrained``, the accuracy before training (of the first checkpoint where
    there is none); and ``first_checkpoint`` (tokens).

    Ranks and probabilities are of draws of the curves' errors, over pairs and seeds. Phenomena have other pairs but the
    same seeds: they are drawn independently of each other, as if their seeds were not the same.
    """
    # The curve of all pairs is left out, because it is the mean of the pairs of the phenomena that are ordered.
    tested = shapes.classes[(shapes.classes["phenomenon"] != "all") & (shapes.classes["class"] != NOT_TESTED)]
    tables, before = [], []
    for line, rows in tested.groupby("line", sort=False):
        # With few edits only the error over seeds is known. It is used, because without any error an order would look
        # certain.
        curves = {
            name: with_known_error(shapes.estimates[str(line), name]) for name in rows["phenomenon"].astype(str)
        }
        first = shapes.curves[shapes.curves["line"] == line].groupby("phenomenon")["accuracy"].first()
        own = acquisition_order(pd.DataFrame(list(_milestones(rows, curves, first))))
        ranked = own.loc[own["rank"].notna(), "phenomenon"]
        # The empty first part is for a line in which nothing has a rank.
        draws = np.column_stack(
            [np.empty((DRAWS, 0)), *(draw_onsets(curves[name], place) for place, name in enumerate(ranked))]
        )
        # The 95 % interval of each rank, and the probability that a phenomenon is learned before the next one.
        has_rank = own["rank"].notna()
        low, high = np.quantile(rankdata(draws, axis=1), (TAIL, 1 - TAIL), axis=0)
        following = [_before(draws[:, place], draws[:, place + 1]) for place in range(has_rank.sum() - 1)]
        certainty = {"rank_low": low, "rank_high": high, "p_before_next": [*following, np.nan][: has_rank.sum()]}
        tables.append(own.join(pd.DataFrame(certainty, own.index[has_rank])))
        for one, other in combinations(range(len(ranked)), 2):
            names = ranked.iloc[[one, other]].tolist()
            before.append((line, *names, _before(draws[:, one], draws[:, other])))
    return Order(stack(tables, ("name", "state")), pd.DataFrame(before, columns=list(BEFORE_COLUMNS)))


def acquisition_order(onsets: pd.DataFrame) -> pd.DataFrame:
    """Rank the phenomena of each ``name`` (a line or a run) by ``onset`` (tokens, NaN when not reached).

    Phenomena at equal onsets share the mean of their ranks, and so do those that were never reached, which come last.
    Those whose ``state`` is neither learned nor not learned have no rank, and stand below the others.
    """
    late = onsets["onset"].fillna(np.inf).where(onsets["state"].isin((LEARNED, NOT_LEARNED)))
    ranks = late.groupby(onsets["name"], sort=False).rank(method="average")
    place = pd.factorize(onsets["name"])[0]
    columns = ["place", "rank", "state", "phenomenon"]
    return onsets.assign(rank=ranks, place=place).sort_values(columns, ignore_index=True).drop(columns="place")


def is_first(tokens: float, first: float) -> bool:
    """Return whether a milestone is at the first checkpoint."""
    return bool(np.isclose(tokens, first))


def _milestones(
    rows: pd.DataFrame, curves: Mapping[str, Curve], untrained: pd.Series
) -> Iterator[dict[str, object]]:
    """Yield the rows of the phenomena of a line, without ranks, for ``find_order``."""
    for row in rows.to_dict("records"):
        curve, start = curves[row["phenomenon"]], untrained[row["phenomenon"]]
        first, middle = curve.tokens[0], half_way(curve, start)
        bounds = (middle.low, middle.high) if curve.has_error else (np.nan, np.nan)
        yield {
            "name": row["line"],
            "phenomenon": row["phenomenon"],
            "state": _state(row, curve, start),
            **_with_bounds("onset", first, row["onset"], row["onset_low"], row["onset_high"]),
            **_with_bounds("half_way", first, middle.tokens, *bounds),
            # An untrained model may already prefer the good sentences, for example where they are shorter. The table
            # shows it.
            "untrained": start,
            "first_checkpoint": first,
        }


def _with_bounds(name: str, first: float, tokens: float, low: float, high: float) -> dict[str, object]:
    """Return the columns of a milestone, of which ``_censored`` says where its interval leaves the checkpoints."""
    outside = {"left": is_first(low, first), "right": np.isinf(high)}
    return {
        name: tokens,
        f"{name}_low": low,
        f"{name}_high": high,
        f"{name}_censored": " and ".join(side for side, is_outside in outside.items() if is_outside),
    }


def _state(row: Row, curve: Curve, untrained: float) -> str:
    """Return the state of a phenomenon (``find_order``)."""
    if not curve.has_error:
        return TOO_FEW
    if np.isnan(row["onset"]):
        return NOT_LEARNED if ends_below(curve) else TOO_FEW
    at_start = is_first(row["onset_low" if untrained > LEVEL else "onset"], curve.tokens[0])
    return FROM_START if at_start else LEARNED


def _before(one: Array, other: Array) -> float:
    """Return how often one draw is before the other; equal ones count one half."""
    return float(np.mean(one < other) + np.mean(one == other) / 2)


# Seeds of the initialization and of the data order are not distinguished here; run.json gives both.


def order_agreement(order: pd.DataFrame, between: str, differs: Callable[[str, str], str]) -> pd.DataFrame:
    """Compare every two orders by Kendall's tau-b, with its two-sided p.

    Both are NaN of fewer than four phenomena that have a rank in both, and without two different ranks.
    """
    ranks = order.pivot_table(index="phenomenon", columns="name", values="rank", sort=False)
    onsets = order.pivot(index="phenomenon", columns="name", values="onset")
    rows = []
    for first, second in combinations(ranks.columns, 2):
        shared = ranks[[first, second]].dropna()
        both = int(onsets.loc[shared.index, [first, second]].notna().all(axis=1).sum())
        tau = p = np.nan
        if len(shared) >= FEWEST_PHENOMENA and shared.nunique().min() > 1:
            tau, p = kendalltau(shared[first].to_numpy(), shared[second].to_numpy(), variant="b")
        rows.append((between, first, second, differs(first, second), len(shared), both, tau, p))
    return pd.DataFrame(rows, columns=list(AGREEMENT_COLUMNS))


def mean_agreement(pairs: pd.DataFrame) -> pd.DataFrame:
    """Average the agreement by what the two differ in; ``range`` has the smallest and the largest of several pairs."""
    known = pairs[pairs["tau"].notna()]
    return known.groupby(["between", "differs_in"], sort=False, as_index=False).agg(
        pairs=("tau", "count"), tau=("tau", "mean"), range=("tau", _format_range)
    )


def differences(runs: Sequence[Run], *, by_line: bool) -> Callable[[str, str], str]:
    """Return a function that names what two runs or lines differ in: ``size and tokenizer``, ``seed``, ..."""
    of_name, design = {run.line if by_line else run.label: run for run in runs}, runs[0].design

    def differs(first: str, second: str) -> str:
        one, other = of_name[first], of_name[second]
        if one.line == other.line:
            return "seed"
        differ = [
            name for name in design.varying if design.level(one.label, name) != design.level(other.label, name)
        ]
        return " and ".join(differ) or "other settings"

    return differs


def _format_range(taus: pd.Series) -> str:
    return f"{taus.min():.2f} to {taus.max():.2f}" if len(taus) > 1 else ""


@lru_cache(maxsize=1)  # the first screen tells it too
def read_order(scored: BenchmarkScores) -> Order | None:
    """Find the order in which the lines of a study learned the phenomena of a benchmark; None where none was tested."""
    shapes = read_shapes(scored)
    return None if shapes is None or shapes.classes.empty else find_order(shapes)


@questions.section(questions.LEARNED, place=2, page="docs/shape.md")
def acquisition_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Report the order in which the phenomena of a benchmark were learned; nothing where none was tested."""
    order, shapes = read_order(scored), read_shapes(scored)
    if order is None or shapes is None or order.table.empty:
        return
    files = {f"acquisition_{scored.file_name}": order.table, f"order_{scored.file_name}": order.before}
    rows = order.table.to_dict("records")
    texts = {
        "learned": [tell_tokens(row, "onset") if row["state"] == LEARNED else row["state"] for row in rows],
        "half": [tell_tokens(row, "half_way") for row in rows],
    }
    told = order.table.assign(phenomenon=order.table["phenomenon"].map(readable), **texts)
    views = [TableView(f"{_NOTE}{scored.title}.", _ORDER, told, files)]
    pairs = _agreements(scored, order.table, shapes.run_onsets)
    if len(pairs):
        name = f"acquisition_agreement_{scored.file_name}"
        views.append(TableView(_AGREEMENT, _MEANS, mean_agreement(pairs), {name: pairs}))
    yield ReportSection(f"Order of acquisition on {scored.heading}", tuple(views))


def tell_tokens(row: Row, name: str) -> str:
    """Write a milestone of a row of ``Order.table`` with its interval; nothing where it has none."""
    tokens, low, high = (f"{row[column]:,.0f}" for column in (name, f"{name}_low", f"{name}_high"))
    if np.isnan(row[f"{name}_low"]):
        return ""
    told = {"left": f"at most {high}", "right": f"{tokens} ({low} or more)", "left and right": tokens}
    return told.get(row[f"{name}_censored"], f"{tokens} ({low} to {high})")


def _agreements(scored: BenchmarkScores, order: pd.DataFrame, onsets: pd.DataFrame) -> pd.DataFrame:
    """Compare lines, and runs too where there are more of them than lines."""
    runs = scored.study.runs
    tables = [order_agreement(order, "lines", differences(runs, by_line=True))]
    if onsets["name"].nunique() > order["name"].nunique():  # else each run is a line, compared above
        # Order the phenomena of each run that have a rank in its line, but those that it has from the start.
        of_line = order.set_index(["name", "phenomenon"])[["state", "first_checkpoint"]]
        lines = onsets["name"].map({run.label: run.line for run in runs})
        found = onsets.assign(line=lines).join(of_line, on=["line", "phenomenon"])
        at_first = np.array(
            [is_first(*pair) for pair in zip(found["onset"], found["first_checkpoint"], strict=True)]
        )
        own = acquisition_order(found.assign(state=found["state"].mask(at_first, FROM_START)))
        tables.append(order_agreement(own, "runs", differences(runs, by_line=False)))
    return stack([table for table in tables if len(table)], AGREEMENT_COLUMNS)
