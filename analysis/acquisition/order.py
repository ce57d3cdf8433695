"""The order in which phenomena are learned, and how sure it is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from ucurve.analysis.data.frames import stack
from ucurve.analysis.shape.classify import NOT_TESTED, Row
from ucurve.analysis.shape.onset import ONSET_ABOVE_CHANCE, draw_onsets, ends_below, half_way
from ucurve.analysis.shape.smoothing import DRAWS, Array, Curve, with_known_error
from ucurve.analysis.shape.tables import Shapes
from ucurve.eval.metrics.sampling import TAIL
from ucurve.eval.metrics.significance import CHANCE

LEVEL = CHANCE + ONSET_ABOVE_CHANCE
LEARNED, NOT_LEARNED, TOO_FEW = "learned", "not learned at the end", "too few pairs to say"
FROM_START = f"above {100 * LEVEL:.0f} % from the start"
BEFORE_COLUMNS = ("line", "first", "second", "p_before")


@dataclass(frozen=True)
class Order:
    """When each line learned the phenomena."""

    table: pd.DataFrame  # see find_order
    before: pd.DataFrame  # BEFORE_COLUMNS, a row for every two phenomena that have a rank, the one of the lower first


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
    tested = shapes.classes[(shapes.classes["phenomenon"] != "all") & (shapes.classes["class"] != NOT_TESTED)]
    tables, before = [], []
    for line, rows in tested.groupby("line", sort=False):
        curves = {name: with_known_error(shapes.estimates[str(line), name]) for name in rows["phenomenon"].astype(str)}
        first = shapes.curves[shapes.curves["line"] == line].groupby("phenomenon")["accuracy"].first()
        own = acquisition_order(pd.DataFrame(list(_milestones(rows, curves, first))))
        ranked = own.loc[own["rank"].notna(), "phenomenon"]
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


def _milestones(rows: pd.DataFrame, curves: Mapping[str, Curve], untrained: pd.Series) -> Iterator[dict[str, object]]:
    for row in rows.to_dict("records"):
        curve, start = curves[row["phenomenon"]], untrained[row["phenomenon"]]
        first, middle = curve.tokens[0], half_way(curve, start)
        bounds = (middle.low, middle.high) if curve.has_error else (np.nan, np.nan)
        yield {
            "name": row["line"], "phenomenon": row["phenomenon"], "state": _state(row, curve, start),
            **_lay_out("onset", first, row["onset"], row["onset_low"], row["onset_high"]),
            **_lay_out("half_way", first, middle.tokens, *bounds), "untrained": start, "first_checkpoint": first,
        }  # fmt: skip


def _lay_out(name: str, first: float, tokens: float, low: float, high: float) -> dict[str, object]:
    """Return the columns of a milestone, of which ``_censored`` says where its interval leaves the checkpoints."""
    outside = {"left": is_first(low, first), "right": np.isinf(high)}
    return {
        name: tokens, f"{name}_low": low, f"{name}_high": high,
        f"{name}_censored": " and ".join(side for side, is_outside in outside.items() if is_outside),
    }  # fmt: skip


def _state(row: Row, curve: Curve, untrained: float) -> str:
    if not curve.has_error:
        return TOO_FEW
    if np.isnan(row["onset"]):
        return NOT_LEARNED if ends_below(curve) else TOO_FEW
    at_start = is_first(row["onset_low" if untrained > LEVEL else "onset"], curve.tokens[0])
    return FROM_START if at_start else LEARNED


def _before(one: Array, other: Array) -> float:
    """Return how often one draw is before the other; equal ones count one half."""
    return float(np.mean(one < other) + np.mean(one == other) / 2)
