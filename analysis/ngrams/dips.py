"""The dips that the test of shape finds, each with what n-gram models account for of it, and in words."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.pair_scores import HALVES
from ucurve.analysis.items.verdicts import RIGHT
from ucurve.analysis.ngrams.account import SAME_FIT, Dip, account_of_dip
from ucurve.analysis.ngrams.scores import AtCheckpoint, BesideNgrams
from ucurve.analysis.plotting.style import readable
from ucurve.analysis.shape.classify import LEVEL, Row
from ucurve.analysis.shape.smoothing import Array, drawn_together, smoothing_weights
from ucurve.eval.metrics.sampling import CONFIDENCE
from ucurve.fields import format_count

_SURE = 0.95  # share of resamples from which on no other order is named beside the one that fits best


def significant_dips(classes: pd.DataFrame) -> pd.DataFrame:
    """Choose the curves of ``shape_table`` that have a dip by the test of shape; the table may be empty."""
    return classes[classes["holm_u"] <= LEVEL] if len(classes) else classes.reindex(columns=["line", "phenomenon"])


def account_table(dips: pd.DataFrame, lines: Mapping[str, Sequence[BesideNgrams]], cluster: str) -> pd.DataFrame:
    """Say of each dip how much of it the errors of each order account for: a row per dip and order.

    ``start``, ``bottom`` and ``end`` are tokens, ``fall`` is smoothed accuracy at the start less that at the bottom, a
    fraction, and ``kappa_start`` and ``kappa_bottom`` are means over runs at these checkpoints; the columns of
    ``account_of_dip`` follow.
    """
    return stack(
        table
        for row in dips.to_dict("records")
        if (members := lines.get(row["line"])) and len(members) == row["runs"]
        for table in _account_of(row, members, cluster)
    )


def _account_of(row: Row, members: Sequence[BesideNgrams], cluster: str) -> Iterator[pd.DataFrame]:
    items = [one.items for one in members]
    steps = np.array(sorted(set.intersection(*(set(one.steps[one.tokens > 0].tolist()) for one in items))))
    tokens = items[0].tokens[np.searchsorted(items[0].steps, steps)]
    phenomena = items[0].pairs["phenomenon"].to_numpy()
    chosen = np.ones(len(phenomena), dtype=bool) if row["phenomenon"] == "all" else phenomena == row["phenomenon"]
    credit = np.mean([one.half_points[np.searchsorted(one.steps, steps)][:, chosen] for one in items], axis=0) / HALVES
    start, bottom = dip_places(tokens, credit.mean(axis=1), row["dip_start"], row["dip_end"])
    at_start, at_bottom = ([one.at(int(steps[place])) for one in members] for place in (start, bottom))
    orders = sorted(set.intersection(*(set(one.verdicts) for one in at_bottom)))
    if not orders:
        return
    # A verdict as a share of RIGHT is 1, or one half for a tie.
    wrong = [1 - np.mean([one.verdicts[order][chosen] for one in at_bottom], axis=0) / RIGHT for order in orders]
    weights = smoothing_weights(np.log10(tokens))[[start, bottom]]
    before, after = weights @ credit
    paradigms = pd.factorize(items[0].pairs["paradigm"][chosen])[0].astype(np.int64)
    clusters = items[0].pairs["cluster"][chosen].to_numpy(np.int64)
    strata, clusters, _ = drawn_together(paradigms, clusters, cluster)
    table = account_of_dip(orders, Dip(before - after, after, np.stack(wrong), strata, clusters))
    where = {
        "line": row["line"], "phenomenon": row["phenomenon"], "runs": len(members), "items": int(chosen.sum()),
        "start": tokens[start], "bottom": tokens[bottom], "end": row["dip_end"],
        "fall": float((before - after).mean()),
        "kappa_start": _kappas(at_start, row["phenomenon"], orders),
        "kappa_bottom": _kappas(at_bottom, row["phenomenon"], orders),
    }  # fmt: skip
    yield table.assign(**where)[[*where, *table.columns]]


def dip_places(tokens: Array, mean: Array, start: float, end: float) -> tuple[int, int]:
    """Return the checkpoints nearest to the start of a dip and at the bottom of the smoothed curve in it."""
    smooth = smoothing_weights(np.log10(tokens)) @ mean
    first, last = (int(np.abs(tokens - one).argmin()) for one in (start, end))
    return first, first + int(smooth[first : last + 1].argmin())


def _kappas(members: Sequence[AtCheckpoint], phenomenon: str, orders: Sequence[int]) -> list[float]:
    table = stack((one.agreement for one in members if len(one.agreement)), ["phenomenon", "order", "kappa"])
    kappas = table[table["phenomenon"] == phenomenon].groupby("order")["kappa"].mean()
    return [float(kappas.get(order, np.nan)) for order in orders]


def describe_dips(accounts: pd.DataFrame) -> list[str]:
    """Say in a sentence of each dip which order accounts for it, or that none does."""
    if accounts.empty:
        return []
    dips = accounts.groupby(["line", "phenomenon"], sort=False)
    return [_describe(rows, several=accounts["line"].nunique() > 1) for _, rows in dips]


def _describe(rows: pd.DataFrame, several: bool) -> str:
    first = rows.iloc[0]
    what = "all pairs" if first["phenomenon"] == "all" else readable(str(first["phenomenon"]))
    line = f" of {first['line']}" if several else ""
    dip = (
        f"The dip of {what}{line} between {_tokens(first['start'])} and "
        f"{_tokens(first['end'])} tokens (a fall of {100 * first['fall']:.1f} points, lowest at "
        f"{_tokens(first['bottom'])}" + (", in this run): " if first["runs"] == 1 else "): ")
    )
    if rows["named"].any():
        return dip + _describe_named(rows)
    shares = rows.dropna(subset=["share"])
    if shares.empty:
        return dip + "no n-gram model can account for it, because each is right or wrong on all of its pairs."
    most = shares.sort_values("share").iloc[-1]
    return (
        f"{dip}no n-gram model accounts for it; the largest share is that of {most['order']}-gram errors, "
        f"{_share(most)}{_p(most)}."
    )


def _describe_named(rows: pd.DataFrame) -> str:
    named = rows[rows["named"]].iloc[0]
    text = f"{named['order']}-gram errors account for {_share(named)}{_p(named)}"
    if named["share"] > 1:
        text += "; this is more than all of it, because pairs that the n-gram model gets right gained"
    others = rows[rows["accounts"] & ~rows["named"]]
    alike = others["fit"] >= named["fit"] - SAME_FIT
    if alike.any():
        text += f"; {_orders(others[alike])} errors fit it just as well"
    if named["fits_best"] >= _SURE or alike.all():
        return f"{text}."
    also, sure = _orders(others[~alike]), f"only {100 * named['fits_best']:.0f} % of resamples"
    return f"{text}; {also} errors would account for it too, and the choice among these orders is the same in {sure}."


def _orders(rows: pd.DataFrame) -> str:
    return ", ".join(f"{order}-gram" for order in rows["order"])


def _tokens(count: float) -> str:
    return format_count(int(float(f"{count:.2g}")))


def _share(row: pd.Series) -> str:
    low, high = 100 * row["share_low"], 100 * row["share_high"]
    return f"{100 * row['share']:.0f} % of it ({100 * CONFIDENCE:g} % interval {low:.0f} to {high:.0f} %)"


def _p(row: pd.Series) -> str:
    return "" if np.isnan(row["p"]) else f", p = {row['p']:.2g} (Holm over orders)"
