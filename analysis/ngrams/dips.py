"""How much of each dip falls on the pairs that an n-gram model gets wrong, and whether that is more than chance.

The dips are those that the test of shape finds. A dip is the fall of a smoothed curve from the checkpoint before it
that stands highest (the start) to its lowest one (the bottom). Smoothing is linear, so each pair has a loss, its
smoothed credit at the start less that at the bottom, and the mean loss is the fall. For an n-gram model that gets the
share E of the pairs wrong, with R the share of all losses that lies on these pairs, the share that its errors account
for is

    A = (R - E) / (1 - E) = E (L1 - L0) / L

with L the fall, and L1 and L0 the mean loss of the pairs that it gets wrong and right: what would be left out of the
fall if the pairs that it gets wrong had lost no more than those it gets right. This is the attributable fraction of
epidemiology (Levin 1953), corrected for chance in the same way as kappa (Cohen 1960): 0 where losses do not depend on
the n-gram model, 1 where the pairs that it gets right lose nothing on balance, above 1 where they gain.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.pair_scores import HALVES
from ucurve.analysis.items.histories import RIGHT
from ucurve.analysis.ngrams.scores import AtCheckpoint, BesideNgrams, ratio
from ucurve.analysis.plotting.style import readable, rounded_count
from ucurve.analysis.shape.classify import LEVEL, Row
from ucurve.analysis.shape.smoothing import (
    Array,
    Design,
    design_of,
    drawn_together,
    smoothing_weights,
    strata_of_clusters,
)
from ucurve.eval.metrics.levels import Ids
from ucurve.eval.metrics.sampling import CONFIDENCE, TAIL
from ucurve.eval.metrics.significance import holm

LEAST_SHARE = 0.5  # of a dip, from which on errors are said to account for it
# what Cohen (1988) calls a small correlation; signs alone could be those of losses of a millionth
LEAST_FIT = 0.1
SAME_FIT = 1e-9  # what rounding leaves between orders that are wrong on the same pairs
_FLIPS = 2000
_RESAMPLES = 1000
_BLOCK = 100  # draws at once: those of all pairs of a benchmark would take too much memory
_SURE = 0.95  # share of resamples from which on no other order is named beside the one that fits best


@dataclass(frozen=True, eq=False)
class Dip:
    """What the pairs of one curve did in a dip, mean over the runs of the line."""

    loss: Array  # float64[I], smoothed credit at the start less that at the bottom
    bottom: Array  # float64[I], smoothed credit at the bottom
    # float64[K, I], whether the n-gram model of each order is wrong at the bottom; one half for a tie
    wrong: Array
    strata: Ids  # int64[I], the paradigm of each pair
    clusters: Ids  # int64[I], pairs that are drawn together


def account_of_dip(orders: Sequence[int], dip: Dip, seed: int = 0) -> pd.DataFrame:
    """Say for each order how much of a dip its errors account for.

    ``wrong`` (E), ``raw_share`` (R) and ``share`` (A) are fractions, the last with a 95 % bootstrap interval over
    clusters of pairs; ``fit`` is the correlation of losses and errors within paradigms, and ``fits_best`` the share of
    resamples in which no other is higher; ``p_loss`` and ``p_follows`` are of ``_p_above_chance``, and ``p`` is the
    larger one, adjusted by Holm over the orders; ``accounts``: the share is at least ``LEAST_SHARE``, the fit at least
    ``LEAST_FIT`` and p at most the level; ``named``: of the orders that account for the dip, the one that fits best,
    and of several that fit alike the lowest. NaN where an order is right or wrong on all pairs alike.
    """
    design = design_of(dip.strata, dip.clusters)
    loss, bottom, wrong = (_centered(values, design) for values in (dip.loss, dip.bottom, dip.wrong))
    p_loss, p_follows = (_p_above_chance(wrong * values, design, seed) for values in (loss, -bottom))
    shares, fits = _resample(dip, loss, wrong, design, seed)
    # An order that does not vary in a resample has no fit there, so it cannot be the one that fits best.
    fits = np.where(np.isnan(fits), -np.inf, fits)
    raw, share = _shares(dip.loss.sum(), dip.wrong.sum(axis=1), dip.wrong @ dip.loss, len(dip.loss))
    low, high = np.array([_interval(drawn) for drawn in shares.T]).T
    table = pd.DataFrame(
        {
            "order": orders,
            "wrong": dip.wrong.mean(axis=1),
            "raw_share": raw,
            "share": share,
            "share_low": low,
            "share_high": high,
            "fit": _correlation(wrong @ loss, (wrong**2).sum(axis=1), (loss**2).sum()),
            "fits_best": np.mean(fits == fits.max(axis=1, keepdims=True), axis=0),
            "p_loss": p_loss,
            "p_follows": p_follows,
            "p": holm(np.maximum(p_loss, p_follows)),
        }
    )
    is_large = (table["share"] >= LEAST_SHARE) & (table["fit"] >= LEAST_FIT)
    table["accounts"] = is_large & (table["p"] <= LEVEL)
    fit = table["fit"].where(table["accounts"])
    # Of orders that fit alike the lowest is the simplest explanation.
    best = fit >= fit.max() - SAME_FIT
    return table.assign(named=best & (best.cumsum() == 1))


def _shares(lost: Array, wrong: Array, lost_on_wrong: Array, pairs: Array | int) -> tuple[Array, Array]:
    """Return R and A from sums over pairs; NaN where the n-gram model is wrong on all of them."""
    raw = ratio(lost_on_wrong, np.broadcast_to(lost, np.shape(lost_on_wrong)))
    expected = wrong / pairs
    return raw, ratio(raw - expected, 1 - expected)


def _centered(values: Array, design: Design) -> Array:
    """Take from each pair the mean of its stratum, float64[..., I]."""
    rows = np.atleast_2d(values)
    size = np.bincount(design.strata)
    means = np.stack([np.bincount(design.strata, row) / np.maximum(1, size) for row in rows])
    return np.asarray((rows - means[:, design.strata]).reshape(values.shape))


def _by_cluster(values: Array, design: Design) -> Array:
    """Sum over the pairs of each cluster, float64[K, C]."""
    return np.stack([np.bincount(design.clusters, row) for row in values])


def _p_above_chance(products: Array, design: Design, seed: int) -> Array:
    """Test one-sidedly whether the total of each row is above 0, by flipping the signs of the sums of clusters.

    With losses times errors this says that losses fall on the errors of the n-gram model: that the model comes nearer
    to it from start to bottom. With the negative of credits times errors it says that at the bottom the model is right
    where the n-gram model is right. Both are within paradigms, so that a paradigm in which the model dips and the
    n-gram model is wrong is by itself no evidence. Flips of whole clusters are the wild cluster bootstrap of a score
    (Kline and Santos 2012; Cameron, Gelbach and Miller 2008). The mean of a stratum of G clusters was taken from both
    factors, so sums are flipped G / (G - 1) times as large, as for a jackknife (Cameron and Miller 2015, section VI.B).
    """
    sums = _by_cluster(products, design)
    near = 1e-9 * np.abs(sums).sum(axis=1)
    flipped = _by_cluster(products * (design.scale * len(design.scale)) ** 2, design)
    flipped = flipped[:, (flipped != 0).any(axis=0)]  # the sign of 0 changes nothing
    beyond = np.ones(len(sums))  # the totals themselves are one of the flips, so that p is never 0
    random = np.random.default_rng(seed)
    for _ in range(_FLIPS // _BLOCK):
        signs = 1 - 2.0 * random.integers(0, 2, (_BLOCK, flipped.shape[1]), dtype=np.int8)
        beyond += (signs @ flipped.T >= sums.sum(axis=1) - near).sum(axis=0)
    return np.where(near > 0, beyond / (1 + _FLIPS), np.nan)


def _resample(dip: Dip, loss: Array, wrong: Array, design: Design, seed: int) -> tuple[Array, Array]:
    """Draw clusters within strata with replacement; return A and the fit of each order, float64[draws, K] each."""
    one, lost = np.ones_like(dip.loss)[None], dip.loss[None]
    parts = (one, lost, loss[None] ** 2, dip.wrong, dip.wrong * lost, wrong * loss, wrong**2)
    sums = np.concatenate([_by_cluster(part, design) for part in parts])
    of_cluster = strata_of_clusters(design.strata, design.clusters)
    strata = [np.flatnonzero(of_cluster == stratum) for stratum in np.unique(of_cluster)]
    random, blocks = np.random.default_rng(seed), []
    for _ in range(_RESAMPLES // _BLOCK):
        weights = np.empty((_BLOCK, len(of_cluster)))  # how often each cluster is drawn
        for members in strata:
            chances = np.full(len(members), 1 / len(members))
            weights[:, members] = random.multinomial(len(members), chances, _BLOCK)
        blocks.append(weights @ sums.T)
    places = np.cumsum([len(part) for part in parts])[:-1]
    pairs, lost, of_loss, errors, both, products, squares = np.split(np.concatenate(blocks), places, axis=1)
    return _shares(lost, errors, both, pairs)[1], _correlation(products, squares, of_loss)


def _correlation(products: Array, squares: Array, of_loss: Array) -> Array:
    """Return correlations from sums of products and of squares; NaN where one of the two does not vary."""
    scale = np.sqrt(squares * of_loss)
    return ratio(products, np.where(scale > 1e-9, scale, 0))  # below is what rounding leaves of no variance


def _interval(drawn: Array) -> Array:
    finite = drawn[np.isfinite(drawn)]
    return np.quantile(finite, (TAIL, 1 - TAIL)) if len(finite) else np.full(2, np.nan)


def significant_dips(classes: pd.DataFrame) -> pd.DataFrame:
    """Choose the curves of ``shape_table`` that have a dip by the test of shape; the table may be empty."""
    return (
        classes[classes["holm_u"] <= LEVEL] if len(classes) else classes.reindex(columns=["line", "phenomenon"])
    )


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
    """Yield the rows of one dip (``account_table``); none where its runs share no order at the bottom."""
    items = [one.items for one in members]
    trained = (set(one.steps[one.tokens > 0].tolist()) for one in items)
    steps = np.array(sorted(set.intersection(*trained)))
    tokens = items[0].tokens[np.searchsorted(items[0].steps, steps)]
    phenomena = items[0].pairs["phenomenon"].to_numpy()
    chosen = np.ones(len(phenomena), dtype=bool) if row["phenomenon"] == "all" else phenomena == row["phenomenon"]
    of_runs = [one.half_points[np.searchsorted(one.steps, steps)][:, chosen] for one in items]
    credit = np.mean(of_runs, axis=0) / HALVES
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
        "line": row["line"],
        "phenomenon": row["phenomenon"],
        "runs": len(members),
        "items": int(chosen.sum()),
        "start": tokens[start],
        "bottom": tokens[bottom],
        "end": row["dip_end"],
        "fall": float((before - after).mean()),
        "kappa_start": _kappas(at_start, row["phenomenon"], orders),
        "kappa_bottom": _kappas(at_bottom, row["phenomenon"], orders),
    }
    yield table.assign(**where)[[*where, *table.columns]]


def dip_places(tokens: Array, mean: Array, start: float, end: float) -> tuple[int, int]:
    """Return the checkpoints nearest to the start of a dip and at the bottom of the smoothed curve in it.

    ``tokens`` of the trained checkpoints and their ``mean`` accuracy are float64[T]; ``start`` and ``end`` are tokens.
    """
    smooth = smoothing_weights(np.log10(tokens)) @ mean
    first, last = (int(np.abs(tokens - one).argmin()) for one in (start, end))
    return first, first + int(smooth[first : last + 1].argmin())


def _kappas(members: Sequence[AtCheckpoint], phenomenon: str, orders: Sequence[int]) -> list[float]:
    """Return the kappa of each order, mean over the runs; NaN where none has one."""
    table = stack((one.agreement for one in members if len(one.agreement)), ["phenomenon", "order", "kappa"])
    kappas = table[table["phenomenon"] == phenomenon].groupby("order")["kappa"].mean()
    return [float(kappas.get(order, np.nan)) for order in orders]


def describe_dips(accounts: pd.DataFrame) -> list[str]:
    """Say in a sentence of each dip which order accounts for it, or that none does."""
    if accounts.empty:
        return []
    dips = accounts.groupby(["line", "phenomenon"], sort=False)
    return [_describe_dip(rows, several=accounts["line"].nunique() > 1) for _, rows in dips]


def _describe_dip(rows: pd.DataFrame, several: bool) -> str:
    """Say which order accounts for a dip, or which comes nearest, from the rows of all its orders."""
    first = rows.iloc[0]
    what = "all pairs" if first["phenomenon"] == "all" else readable(str(first["phenomenon"]))
    line = f" of {first['line']}" if several else ""
    dip = (
        f"The dip of {what}{line} between {rounded_count(first['start'], 2)} and "
        f"{rounded_count(first['end'], 2)} tokens (a fall of {100 * first['fall']:.1f} points, lowest at "
        f"{rounded_count(first['bottom'], 2)}" + (", in this run): " if first["runs"] == 1 else "): ")
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
    """Say how much the named order accounts for, and which other orders would do as well."""
    named = rows[rows["named"]].iloc[0]
    text = f"{named['order']}-gram errors account for {_share(named)}{_p(named)}"
    if named["share"] > 1:
        text += "; this is more than all of it, because pairs that the n-gram model gets right gained"
    others = rows[rows["accounts"] & ~rows["named"]]
    named_orders = others["order"].astype(str) + "-gram"
    alike = others["fit"] >= named["fit"] - SAME_FIT
    if alike.any():
        text += f"; {', '.join(named_orders[alike])} errors fit it just as well"
    if named["fits_best"] >= _SURE or alike.all():
        return f"{text}."
    also, sure = ", ".join(named_orders[~alike]), f"only {100 * named['fits_best']:.0f} % of resamples"
    return f"{text}; {also} errors would account for it too, and the choice among these orders is the same in {sure}."


def _share(row: pd.Series) -> str:
    low, high = 100 * row["share_low"], 100 * row["share_high"]
    return f"{100 * row['share']:.0f} % of it ({100 * CONFIDENCE:g} % interval {low:.0f} to {high:.0f} %)"


def _p(row: pd.Series) -> str:
    return "" if np.isnan(row["p"]) else f", p = {row['p']:.2g} (Holm over orders)"
