"""What n-gram models account for of dips, a second time, by the rules of rules.md, without the analysis.

Shares are computed in their second form, from mean losses; clusters are drawn one by one and signs with other random
numbers. What is drawn is compared as in ``intervals.py``: within four standard errors of both estimates.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from studies.recomputed.compare import Comparison
from studies.recomputed.shape import (
    FEWEST_CLUSTERS,
    LEVEL,
    STANDARD_ERRORS,
    Array,
    Ids,
    deepest,
    holm,
    smoothing,
    strata_of,
)

Mask = npt.NDArray[np.bool_]
Row = dict[str, object]
ORDERS = (1, 2, 3, 4, 5)
ALL_RUNS = "all runs"
LEAST_SHARE, LEAST_FIT = 0.5, 0.1
FLIPS, RESAMPLES = 5_000, 4_000
_PROGRAM_FLIPS, _PROGRAM_RESAMPLES = 2_000, 1_000
_TAIL = 0.025
_NEAR = 1e-9
_SEED = 20_260_103
DIP = ["line", "of", "phenomenon", "linking"]


def kappa(one: Mask, other: Mask) -> float:
    """Return Cohen's kappa of two truth values of each pair; NaN where both say the same of all."""
    chance = one.mean() * other.mean() + (1 - one.mean()) * (1 - other.mean())
    return float(((one == other).mean() - chance) / (1 - chance)) if chance < 1 else np.nan


def agreement(credits_: tuple[Array, Array], margins: tuple[Array, Array]) -> dict[str, float]:
    """Compare a model, which is first, with an n-gram model on all pairs."""
    ours, theirs = credits_
    wrong = theirs == 0
    return {
        "accuracy": ours.mean(), "ngram_accuracy": theirs.mean(), "pearson": np.corrcoef(*margins)[0, 1],
        "kappa": kappa(ours == 1, theirs == 1), "accuracy_where_wrong": ours[wrong].mean() if wrong.any() else np.nan,
    }  # fmt: skip


def account(
    tokens: Array, credits_: Array, beside: Callable[[int, int, int], Array], paradigms: Ids, clusters: Ids
) -> pd.DataFrame:
    """Say what the errors of each order account for of the deepest dip of the mean of runs, a row for each order.

    ``credits_`` are [S, T, I] at the trained checkpoints; ``beside`` returns those of the n-gram model of a run, by its
    place, of an order, at a checkpoint, [I].
    """
    start, bottom, end = dip_places(tokens, credits_.mean(axis=(0, 2)))
    before, after = smoothing(tokens)[[start, bottom]] @ credits_.mean(axis=0)
    loss = before - after
    runs = range(len(credits_))
    theirs = {
        place: [[beside(run, order, place) for run in runs] for order in ORDERS] for place in (start, bottom)
    }
    wrong = 1 - np.mean(theirs[bottom], axis=1)
    where = {
        "runs": len(credits_), "items": len(loss), "start": tokens[start], "bottom": tokens[bottom],
        "end": tokens[end], "fall": loss.mean(),
    }  # fmt: skip
    table = pd.DataFrame({"order": ORDERS, **where})
    for name, place in (("kappa_start", start), ("kappa_bottom", bottom)):
        kappas = [
            [kappa(own[place] == 1, one == 1) for own, one in zip(credits_, of_runs, strict=True)]
            for of_runs in theirs[place]
        ]
        table[name] = pd.DataFrame(kappas).mean(axis=1)
    return table.join(_shares_and_tests(loss, after, wrong, paradigms, clusters))


def dip_places(tokens: Array, mean: Array) -> tuple[int, int, int]:
    """Return start, bottom and end of the deepest dip of a smoothed curve."""
    smooth = smoothing(tokens) @ mean
    _, place = deepest(smooth)
    start, end = int(smooth[: place + 1].argmax()), place + int(smooth[place:].argmax())
    return start, start + int(smooth[start : end + 1].argmin()), end


def _shares_and_tests(loss: Array, after: Array, wrong: Array, paradigms: Ids, clusters: Ids) -> pd.DataFrame:
    if clusters.max() + 1 < FEWEST_CLUSTERS:
        clusters = np.arange(len(clusters))
    stratum_of = strata_of(paradigms, clusters)
    strata = stratum_of[clusters]
    centered = [_centered(one, strata) for one in wrong]
    from_losses = [one * _centered(loss, strata) for one in centered]
    from_credits = [-one * _centered(after, strata) for one in centered]
    p_loss = [_by_flips(one, clusters, stratum_of) for one in from_losses]
    p_follows = [_by_flips(one, clusters, stratum_of) for one in from_credits]
    shares, fits = _resampled(loss, wrong, np.array(from_losses), np.array(centered), clusters, stratum_of)
    best = fits >= np.nanmax(np.where(np.isnan(fits), -np.inf, fits), axis=1, keepdims=True) - 1e-12
    rows: list[Row] = []
    for at in range(len(wrong)):
        row: Row = {"wrong": wrong[at].mean(), "raw_share": (wrong[at] @ loss) / loss.sum()}
        row |= {"share": share_of(loss, wrong[at]), "fit": _fit(centered[at], _centered(loss, strata))}
        row |= _quantile("share_low", shares[:, at], _TAIL) | _quantile("share_high", shares[:, at], 1 - _TAIL)
        row |= _proportion("fits_best", best[:, at].mean(), RESAMPLES, _PROGRAM_RESAMPLES)
        row |= p_loss[at].columns("p_loss") | p_follows[at].columns("p_follows")
        rows.append(row)
    return _named(pd.DataFrame(rows))


def share_of(loss: Array, wrong: Array) -> float:
    """Return the attributable fraction: E (L1 - L0) / L; NaN where the n-gram model is wrong on all pairs."""
    right = 1 - wrong
    if right.sum() == 0:
        return np.nan
    if wrong.sum() == 0:
        return 0.0
    apart = (wrong @ loss) / wrong.sum() - (right @ loss) / right.sum()
    return float(wrong.mean() * apart / loss.mean())


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """Add Holm's p over the orders, which orders account for the dip, and which is named, as far as draws tell."""
    for end in ("_least", "", "_most"):
        table[f"p{end}"] = holm(
            table[[f"p_loss{end}", f"p_follows{end}"]].max(axis=1, skipna=False).to_numpy(float)
        )
    is_large = (table["share"] >= LEAST_SHARE) & (table["fit"] >= LEAST_FIT)
    table["accounts"] = is_large & (table["p"] <= LEVEL)
    table["is_open"] = bool((is_large & (table["p_least"] <= LEVEL) & (table["p_most"] > LEVEL)).any())
    fit = table["fit"].where(table["accounts"])
    first = table.index[fit >= fit.max() - _NEAR]
    return table.assign(named=[len(first) > 0 and at == first[0] for at in table.index])


def _centered(values: Array, strata: Ids) -> Array:
    means = pd.Series(values).groupby(strata).transform("mean").to_numpy()
    apart = values - means
    return np.where(abs(apart) < 1e-13, 0.0, apart)


def _fit(wrong: Array, loss: Array) -> float:
    length = float(np.linalg.norm(wrong) * np.linalg.norm(loss))
    return float(wrong @ loss) / length if length > _NEAR else np.nan


class _Share:
    """A share of draws, with what that of other draws may be."""

    def __init__(self, share: float, own: int, theirs: int) -> None:
        apart = STANDARD_ERRORS * float(np.sqrt(share * (1 - share) * (1 / own + 1 / theirs))) + 2 / theirs
        self.share, self.apart = share, apart

    def columns(self, name: str) -> dict[str, float]:
        low, high = np.clip([self.share - self.apart, self.share + self.apart], 0, 1)
        return {name: self.share, f"{name}_least": float(low), f"{name}_most": float(high)}


def _proportion(name: str, share: float, own: int, theirs: int) -> dict[str, float]:
    return _Share(share, own, theirs).columns(name)


def _by_flips(products: Array, clusters: Ids, stratum_of: Ids) -> _Share:
    """Flip the signs of the sums of clusters, G / (G - 1) times as large with G clusters in the paradigm."""
    sums = np.bincount(clusters, products)
    if abs(sums).sum() < _NEAR:
        return _Share(np.nan, FLIPS, _PROGRAM_FLIPS)
    groups = np.bincount(stratum_of)[stratum_of]
    flipped = sums * groups / np.maximum(1, groups - 1)
    flipped = flipped[flipped != 0]
    random = np.random.default_rng(_SEED)
    beyond = 0
    for _ in range(FLIPS // 1_000):
        kept = random.random((1_000, len(flipped))) < 0.5  # those that stay as they are
        totals = 2 * kept @ flipped - flipped.sum()
        beyond += int((totals >= sums.sum() - _NEAR * abs(sums).sum()).sum())
    return _Share((1 + beyond) / (1 + FLIPS), FLIPS, _PROGRAM_FLIPS)


def _resampled(
    loss: Array, wrong: Array, products: Array, centered: Array, clusters: Ids, stratum_of: Ids
) -> tuple[Array, Array]:
    """Draw clusters within paradigms with replacement; return share and fit of each order, [draws, K]."""
    random = np.random.default_rng(_SEED)
    members = [np.flatnonzero(stratum_of == one) for one in np.unique(stratum_of)]
    times = np.zeros((RESAMPLES, len(stratum_of)))
    for of_stratum in members:
        chosen = of_stratum[random.integers(0, len(of_stratum), (RESAMPLES, len(of_stratum)))]
        np.add.at(times, (np.arange(RESAMPLES)[:, None], chosen), 1)
    strata = stratum_of[clusters]
    of_loss = times @ np.bincount(clusters, _centered(loss, strata) ** 2)
    pairs, lost = times @ np.bincount(clusters), times @ np.bincount(clusters, loss)
    shares, fits = [], []
    for own, product, apart in zip(wrong, products, centered, strict=True):
        errors, both = times @ np.bincount(clusters, own), times @ np.bincount(clusters, own * loss)
        length = np.sqrt(of_loss * (times @ np.bincount(clusters, apart**2)))
        with np.errstate(divide="ignore", invalid="ignore"):
            apart_means = both / errors - (lost - both) / (pairs - errors)
            shares.append(np.where(errors > 0, errors / pairs * apart_means / (lost / pairs), 0.0))
            fits.append(np.where(length > _NEAR, times @ np.bincount(clusters, product) / length, np.nan))
    return np.array(shares).T, np.array(fits).T


def _quantile(name: str, drawn: Array, level: float) -> dict[str, float]:
    known = drawn[np.isfinite(drawn)]
    if not len(known):
        return {name: np.nan}
    apart = STANDARD_ERRORS * np.sqrt(level * (1 - level) * (1 / RESAMPLES + 1 / _PROGRAM_RESAMPLES))
    least, middle, most = np.quantile(known, np.clip([level - apart, level, level + apart], 0, 1))
    return {name: float(middle), f"{name}_least": float(least), f"{name}_most": float(most)}


def one_order_of_each(accounts: pd.DataFrame) -> pd.DataFrame:
    """Choose of each dip the order that is named, or else the first of those with the largest share."""
    chosen = []
    for _, part in accounts.groupby(DIP, sort=False):
        named = part[part["named"]]
        chosen.append(named.iloc[0] if len(named) else part.iloc[int(np.nanargmax(part["share"]))])
    return pd.DataFrame(chosen).reset_index(drop=True)


def counts_of_named(accounts: pd.DataFrame) -> pd.DataFrame:
    """Count the dips of single runs for which an order is named, and which, by line and phenomenon."""
    rows: list[Row] = []
    single = one_order_of_each(accounts[accounts["of"] != ALL_RUNS])
    for (line, phenomenon), part in single.groupby(["line", "phenomenon"], sort=False):
        orders = sorted(int(one) for one in part.loc[part["named"], "order"])
        counted = [f"{order}-gram {orders.count(order)}" for order in dict.fromkeys(orders)]
        rows.append({
            "line": line, "phenomenon": phenomenon, "dips": len(part), "runs": part["of"].nunique(),
            "linking_functions": part["linking"].nunique(), "named": len(orders), "orders": ", ".join(counted),
            "share": float(np.median(part["share"])),
        })  # fmt: skip
    return pd.DataFrame(rows)


def found_dips(lines: pd.DataFrame, of_runs: pd.DataFrame, runs: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """List the dips of the mean of runs and of single runs: which can be, and which must be, by the tests.

    ``lines`` and ``of_runs`` are tables of ``classify`` with ``linking``, ``runs`` names those of each line that
    n-gram models were compared with.
    """
    turns = lines["possible_these_runs"]
    mean = lines.assign(
        of=ALL_RUNS, can_be=(lines["p_holm_low"] <= LEVEL) | turns.map(lambda one: "U-shaped" in one),
        must_be=(lines["p_holm_high"] <= LEVEL) | turns.map(lambda one: one == {"U-shaped"}),
    )  # fmt: skip
    single = of_runs[of_runs["line"].isin(runs)]
    names = [runs[line][at] for line, at in zip(single["line"], single["run"], strict=True)]
    single = single.assign(
        of=names, can_be=single["p_holm_low"] <= LEVEL, must_be=single["p_holm_high"] <= LEVEL
    )  # fmt: skip
    both = pd.concat([mean[mean["line"].isin(runs)], single], ignore_index=True)
    return both[[*DIP, "can_be", "must_be"]]


def check_dips(found: pd.DataFrame, page: Iterable[tuple[str, ...]]) -> list[str]:
    """Say which dips of a page are none by the tests, and which are missing there."""
    shown = set(page)
    rows = list(found.itertuples(index=False, name=None))
    wrong = [f"{key} is no dip" for *key, can_be, _ in rows if tuple(key) in shown and not can_be]
    return wrong + [f"{key} is missing" for *key, _, must_be in rows if tuple(key) not in shown and must_be]


def compare_accounts(
    comparison: Comparison, name: str, again: pd.DataFrame, page: pd.DataFrame, keys: Sequence[str]
) -> None:
    """Compare accounts with those of a page; what the draws leave open, which order accounts for a dip, is printed."""
    again, decided = again.set_index(list(keys)), page.set_index(list(keys))
    left_open = again.index[again["is_open"]].intersection(decided.index)
    for column in ("accounts", "named"):
        differs = again.loc[left_open, column].astype(bool) != decided.loc[left_open, column].astype(bool)
        for key in left_open[differs.to_numpy()]:
            sys.stdout.write(f"  {name}: {column} of {key} differs within Monte Carlo error\n")
        again.loc[left_open, column] = decided.loc[left_open, column]
    comparison.tables(name, again.drop(columns="is_open").reset_index(), page, keys)
