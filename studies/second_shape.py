"""The tests of shape a second time, by the rules of docs/shape.md, with numpy, pandas and scipy alone.

Nothing of ``analysis`` is imported. Where a number can be computed in several ways, this file takes another one than
the program: pools of adjacent violators are kept in lists, one curve at a time, and the nearest curve is found by
largest and smallest means; errors are drawn from eigenvectors, with other random numbers. Two p values by Monte Carlo
are hardly ever equal: they agree if they are at most four standard errors of both estimates together apart. What
follows from p values, those adjusted by Holm's procedure and the classes, is computed for both ends of that interval.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array
from scipy.stats import t as student

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
TESTS = ("rise", "fall", "u", "inverted_u", "flat")
WIDEST = ""
SCOPES = {
    WIDEST: "other pairs and seeds", "_these_pairs": "these pairs, other seeds",
    "_these_runs": "these runs, other pairs",
}  # fmt: skip
LEVEL = 0.05
MARGIN = 0.03  # of flatness
KERNEL = 0.15  # decades
STRETCHES = (0.3, 0.6)  # decades
FEWEST_CLUSTERS = LEAST_CHECKPOINTS = 4
DRAWS = 10_000
_FIRST_DRAWS = 1_000  # p clearly above .1 needs no more
STANDARD_ERRORS = 4
_SEED = 20_260_101
_PROGRAM_DRAWS, _PROGRAM_BLOCK, _PROGRAM_BEYOND = 10_000, 500, 50  # of the program whose p values are compared
_ROUNDING = 1e-6
_OTHER_THAN = "other than "
NOT_TESTED = "not tested"
_NUMBERS = {
    "p": "p of a dip beyond pairs and seeds", "p_holm": "the same after Holm",
    "runs_with_dip": "how many runs have a dip alone",
}  # fmt: skip


@dataclass(frozen=True)
class Estimate:
    """A p value, and how far one of another Monte Carlo run may be from it; 0 where nothing was drawn."""

    p: float
    apart: float = 0.0


def drawn(beyond: int, draws: int, ends_early: bool = False) -> Estimate:
    """Return the p value of a number of draws that are as far as the curve or farther.

    The program draws 10,000 times, or for dips and bumps until 50 draws are beyond, in blocks of 500.
    """
    p = (1 + beyond) / (1 + draws)
    theirs = min(_PROGRAM_DRAWS, max(_PROGRAM_BLOCK, _PROGRAM_BEYOND / p)) if ends_early else _PROGRAM_DRAWS
    return Estimate(p, STANDARD_ERRORS * float(np.sqrt(p * (1 - p) * (1 / draws + 1 / theirs))) + 1 / theirs)


@dataclass(frozen=True, eq=False)
class Error:
    """What moves the mean curve of some runs over some pairs by chance, covariances over checkpoints [T, T]."""

    pairs: Array
    seeds: Array
    rest: Array  # what is peculiar to a cluster in one run: both others hold it
    runs: int
    items: int
    freedom: float  # of pairs
    clusters: int

    @property
    def knows_pairs(self) -> bool:
        """Whether there are enough clusters to say anything of other pairs."""
        return self.clusters >= FEWEST_CLUSTERS


def edits(good: Sequence[str], bad: Sequence[str]) -> list[str]:
    """Return what the sentences of each pair differ in, without their common beginning and end."""
    return [_edit(one, other) for one, other in zip(good, bad, strict=True)]


def _edit(good: str, bad: str) -> str:
    is_spaced = " " in good or " " in bad
    one, other = (text.split() if is_spaced else list(text) for text in (good, bad))
    while one and other and one[0] == other[0]:
        one, other = one[1:], other[1:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return f"{' '.join(one)}|{' '.join(other)}"


def error_of(credits_: Array, paradigms: Ids, clusters: Ids) -> Error:
    """Estimate the three components of a crossed design (Owen 2007) from credits, [S, T, I].

    ``clusters`` are numbered over all paradigms. Paradigms with one cluster are put together.
    """
    runs, steps, items = credits_.shape
    count = int(clusters.max()) + 1
    if count < FEWEST_CLUSTERS:  # each pair by itself tells what is noise of single pairs
        clusters = np.arange(items)
    stratum_of = _strata(paradigms, clusters)
    means = credits_.mean(axis=0)
    apart = _deviations(means, stratum_of[clusters], clusters)
    pairs = apart @ apart.T + np.eye(steps) / (2 * items**2)
    none = np.zeros((steps, steps))
    freedom = _pair_freedom(apart, stratum_of, np.bincount(clusters))
    if runs == 1:
        return Error(pairs, none, none, runs, items, freedom, count)
    within = np.mean([each @ each.T for each in (_deviations(c, stratum_of[clusters], clusters) for c in credits_)], 0)
    seeds = np.cov(credits_.mean(axis=2), rowvar=False) / runs
    return Error(pairs, seeds, (within - pairs) / (runs - 1), runs, items, freedom, count)


def _strata(paradigms: Ids, clusters: Ids) -> Ids:
    """Return the stratum of each cluster."""
    first = np.unique(clusters, return_index=True)[1]
    of_cluster = paradigms[first].copy()
    names, counts = np.unique(of_cluster, return_counts=True)
    lonely, others = names[counts == 1], names[counts > 1]
    if len(lonely) == 1 and len(others):
        of_cluster[of_cluster == lonely[0]] = others[np.argmin(counts[counts > 1])]
    elif len(lonely):
        of_cluster[np.isin(of_cluster, lonely)] = lonely[0]
    return np.unique(of_cluster, return_inverse=True)[1].astype(np.int64)


def _deviations(credits_: Array, strata: Ids, clusters: Ids) -> Array:
    """Return what each cluster adds to the error of the mean, [T, C]: G / (G - 1) times its squares, G in a stratum."""
    items = credits_.shape[1]
    ones = np.ones(items)
    in_stratum = csr_array((ones, (np.arange(items), strata)))
    in_cluster = csr_array((ones, (np.arange(items), clusters)))
    means = np.asarray(credits_ @ in_stratum) / np.bincount(strata)
    groups = np.array([len(np.unique(clusters[strata == one])) for one in range(strata.max() + 1)])
    correction = np.sqrt(groups / np.maximum(1, groups - 1)) / items
    return np.asarray(((credits_ - means[:, strata]) * correction[strata]) @ in_cluster)


def _pair_freedom(apart: Array, stratum_of: Ids, sizes: Ids) -> float:
    """Count the clusters that contribute evenly, by Satterthwaite's formula in each paradigm and over paradigms."""
    changes = (apart - apart.mean(axis=0)) ** 2
    squares = changes.sum(axis=0)
    if not squares.any():
        return max(1.0, float(sizes.sum() ** 2 / (sizes**2).sum()) - 1)
    own = [squares[stratum_of == one] for one in range(stratum_of.max() + 1)]
    sums = [(part.sum(), max(1.0, part.sum() ** 2 / (part**2).sum() - 1)) for part in own if part.any()]
    return float(squares.sum() ** 2 / sum(total**2 / freedom for total, freedom in sums))


def in_scope(error: Error, scope: str) -> Error:
    """Keep the part of the error that a claim is about."""
    nothing = np.zeros_like(error.pairs)
    if scope == "_these_runs":
        return replace(error, runs=1, seeds=nothing, rest=nothing)
    if scope == "_these_pairs":
        steps = len(nothing)
        center = np.eye(steps) - np.full((steps, steps), 1 / steps)
        are_single = error.clusters == error.items or not error.knows_pairs
        rest = center @ error.rest @ center if are_single else nothing
        one_pair = np.eye(steps) / (2 * error.items**2) * error.runs / (error.runs - 1)
        seeds = center @ error.seeds @ center
        return replace(error, pairs=rest + one_pair, seeds=seeds, rest=rest, clusters=FEWEST_CLUSTERS)
    return error


def spread_of(error: Error, functions: Array) -> tuple[Array, float, Array]:
    """Return the variances of linear functions [J, T] of the curve, their degrees of freedom and its covariance."""
    of_pairs, of_seeds, of_rest = (
        np.einsum("jt,tu,ju->j", functions, part, functions, optimize=True).clip(0)
        for part in (error.pairs, error.seeds, error.rest)
    )
    pairs, seeds = of_pairs.mean(), of_seeds.mean()
    if seeds == 0:
        return of_pairs, error.freedom, error.pairs
    common = min(seeds, of_rest.mean())
    own = seeds - common
    products = functions.T @ functions @ error.rest
    squares = (products * products.T).sum()
    independent = np.trace(products) ** 2 / squares if squares else 1.0
    of_mean_square = (own / np.sqrt(2) + common / np.sqrt(independent)) ** 2 / (error.runs - 1)
    freedom = (own + pairs) ** 2 / (of_mean_square + pairs**2 / error.freedom)
    return of_pairs + own, float(freedom), error.pairs + own / seeds * error.seeds


def _draw(covariance: Array, freedom: float, draws: int, random: np.random.Generator) -> Array:
    values, vectors = np.linalg.eigh(covariance)
    normal = random.standard_normal((draws, len(values))) * np.sqrt(values.clip(0))
    return np.asarray(normal @ vectors.T / np.sqrt(random.chisquare(freedom, (draws, 1)) / freedom))


def smoothing(tokens: Array) -> Array:
    """Return the weights of the normal kernel, [T, T]."""
    logs = np.log10(tokens)
    kernel = np.exp(-(np.subtract.outer(logs, logs) ** 2) / (2 * KERNEL**2))
    return np.asarray(kernel / kernel.sum(axis=1)[:, None])


def stretches(tokens: Array) -> list[tuple[int, int]]:
    """Return first and last checkpoint of every stretch that no longer one of its width holds."""
    logs = np.log10(tokens)
    found = set()
    for width in STRETCHES:
        last = [int(np.flatnonzero(logs <= start + width + 1e-9)[-1]) for start in logs]
        found |= {(at, end) for at, end in enumerate(last) if at == 0 or end > last[at - 1]}
    return sorted(found)


def rising_squares(curve: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the squares to the nearest rising curve of the first 0, 1, ..., T values."""
    pools: list[tuple[float, float, float]] = []  # mean, weight, squares
    total, sums = 0.0, [0.0]
    for value, weight in zip(curve, weights, strict=True):
        mean, heavy, squares = value, weight, 0.0
        while pools and pools[-1][0] > mean:
            before, weigh, left = pools.pop()
            both = heavy + weigh
            total -= left
            squares += left + heavy * weigh / both * (before - mean) ** 2
            mean, heavy = (mean * heavy + before * weigh) / both, both
        pools.append((mean, heavy, squares))
        total += squares
        sums.append(total)
    return sums


def distance_to_unimodal(curve: Sequence[float], weights: Sequence[float]) -> tuple[float, int]:
    """Return the squares to the nearest curve that rises and then falls, and how many values of it rise."""
    up = rising_squares(curve, weights)
    down = rising_squares(curve[::-1], weights[::-1])[::-1]
    sums = [one + other for one, other in zip(up, down, strict=True)]
    nearest = min(sums)
    return nearest, sums.index(nearest)


def nearest_unimodal(curve: Array, weights: Array) -> Array:
    """Return that curve itself: between two bounds, the smallest mean of all that begin before and end after."""
    _, top = distance_to_unimodal(curve.tolist(), weights.tolist())
    up = _rising(curve[:top], weights[:top])
    return np.concatenate([up, _rising(curve[top:][::-1], weights[top:][::-1])[::-1]])


def _rising(curve: Array, weights: Array) -> Array:
    """Fit by the formula of smallest and largest means (Barlow and others 1972, section 1.4)."""
    size = len(curve)
    means = np.array([
        [np.average(curve[a : b + 1], weights=weights[a : b + 1]) if a <= b else np.nan for b in range(size)]
        for a in range(size)
    ]).reshape(size, size)  # fmt: skip
    return np.array([max(means[a, at:].min() for a in range(at + 1)) for at in range(size)])


def dip_p(smooth: Array, variance: Array, covariance: Array, freedom: float) -> Estimate:
    """Test whether a smoothed curve is farther from every curve without a dip than its error explains."""
    weights = (1 / variance / (1 / variance).mean()).tolist()
    distance, _ = distance_to_unimodal(smooth.tolist(), weights)
    if distance < 1e-12:
        return Estimate(1.0)
    fit = nearest_unimodal(smooth, np.array(weights))
    random = np.random.default_rng(_SEED)
    beyond = draws = 0
    for wanted in (_FIRST_DRAWS, DRAWS):
        curves = (fit + _draw(covariance, freedom, wanted - draws, random)).tolist()
        beyond += sum(distance_to_unimodal(curve, weights)[0] >= distance for curve in curves)
        draws = wanted
        if beyond > 0.15 * draws:
            break
    return drawn(beyond, draws, ends_early=True)


def shape_tests(tokens: Array, mean: Array, error: Error, wanted: Sequence[str] = TESTS) -> dict[str, Estimate]:
    """Return the p values of a curve, NaN where there are too few clusters or a test is not wanted."""
    found = dict.fromkeys(TESTS, Estimate(np.nan))
    if not error.knows_pairs:
        return found
    weights = smoothing(tokens)
    ends = stretches(tokens)
    heights = np.array([weights[first : last + 1].mean(axis=0) for first, last in ends])
    two = [(i, k) for i, (_, last) in enumerate(ends) for k, (first, _) in enumerate(ends) if last < first]
    before, after = np.array(two).T
    functions = heights[before] - heights[after]
    variance, freedom, covariance = spread_of(error, functions)
    ratio = functions @ mean / np.sqrt(variance)

    changes = {name: sign for name, sign in (("rise", -1), ("fall", 1)) if name in wanted}
    largest = _largest_by_chance(functions, covariance, freedom) if changes else np.empty(0)
    for name, sign in changes.items():
        beyond = int((largest >= (sign * ratio).max()).sum())
        bound = len(ratio) * float(student.sf((sign * ratio).max(), freedom))
        p = drawn(beyond, len(largest))
        found[name] = Estimate(bound) if bound < p.p else p

    above = weights - weights.mean(axis=0)
    variance_above, freedom_above, covariance_above = spread_of(error, above)
    covariance_smooth = weights @ covariance_above @ weights.T
    for name, sign in (("u", 1), ("inverted_u", -1)):
        if name not in wanted:
            continue
        p = dip_p(sign * weights @ mean, variance_above, covariance_smooth, freedom_above)
        if p.p <= 1 / (1 + DRAWS):
            to = np.array([max((sign * ratio)[after == k], default=-np.inf) for k in range(len(ends))])
            since = np.array([max((-sign * ratio)[before == k], default=-np.inf) for k in range(len(ends))])
            bound = len(ratio) * float(student.sf(np.minimum(to, since).max(), freedom))
            p = replace(p, p=min(p.p, bound))  # the program's own draws may have been beyond
        found[name] = p
    nearest = ((MARGIN - abs(functions @ mean)) / np.sqrt(variance)).min()
    return {**found, "flat": Estimate(float(student.sf(nearest, freedom)))}


def _largest_by_chance(functions: Array, covariance: Array, freedom: float) -> Array:
    """Draw the largest of all studentized differences of a curve that does not change."""
    random = np.random.default_rng(_SEED)
    of_draws = np.sqrt(np.einsum("jt,tu,ju->j", functions, covariance, functions, optimize=True))
    scaled = functions / of_draws[:, None]
    blocks = (_draw(covariance, freedom, 500, random) @ scaled.T for _ in range(DRAWS // 500))
    return np.concatenate([block.max(axis=1) for block in blocks])


def deepest(curve: Array) -> tuple[float, int]:
    """Return the largest of the smaller sides of all dips of a curve, and where it is."""
    sides = [min(curve[: at + 1].max(), curve[at:].max()) - value for at, value in enumerate(curve)]
    place = int(np.argmax(np.round(sides, 9)))
    return (float(sides[place]) if sides[place] >= 1e-9 else 0.0), place


def holm(p: Array) -> Array:
    """Adjust the p values that are not NaN by Holm's procedure."""
    adjusted = np.full(len(p), np.nan)
    known = [int(at) for at in np.argsort(p, kind="stable") if not np.isnan(p[at])]
    so_far = 0.0
    for rank, at in enumerate(known):
        so_far = max(so_far, min(1.0, p[at] * (len(known) - rank)))
        adjusted[at] = so_far
    return adjusted


def class_of(tests: dict[str, tuple[float, float]], mean: Array) -> str:
    """Name the class by step 8 of docs/shape.md from p after Holm and p; ``mean`` is the smoothed curve."""
    rise, fall, dip, bump, flat = (tests[name][0] <= LEVEL for name in TESTS)
    if dip and bump:
        (down, bottom), (up, peak) = deepest(mean), deepest(-mean)
        if abs(down - up) < 1e-9:
            return "inverted-U" if bottom < peak else "U-shaped"
        return "U-shaped" if down > up else "inverted-U"
    if dip or bump:
        return "U-shaped" if dip else "inverted-U"
    if rise and fall:
        return "rising" if tests["rise"][1] <= tests["fall"][1] else "falling"
    if rise or fall:
        return "rising" if rise else "falling"
    return "flat" if flat else "undetermined"


@dataclass(frozen=True, eq=False)
class Scored:
    """The curve of one phenomenon of one line of runs."""

    line: str
    phenomenon: str
    tokens: Array  # of the checkpoints after step 0
    credits: Array  # [runs, checkpoints, pairs]
    paradigms: Ids
    clusters: Ids


def scored_curves(line: str, pairs: pd.DataFrame, tokens: Array, credits_: Array) -> Iterator[Scored]:
    """Yield the curve of all pairs of a line and that of each phenomenon; checkpoints of step 0 are left out."""
    edit = pd.Series(edits(pairs["good"].tolist(), pairs["bad"].tolist()), index=pairs.index)
    trained = tokens > 0
    names = pairs["phenomenon"].to_numpy(dtype=object)
    for phenomenon in ("all", *dict.fromkeys(names)):
        chosen = (names == phenomenon) | (phenomenon == "all")
        kinds = pairs[chosen].assign(edit=edit[chosen]).groupby(["paradigm", "edit"]).ngroup().to_numpy(np.int64)
        paradigms = pd.factorize(pairs["paradigm"][chosen])[0].astype(np.int64)
        of_pairs = credits_[:, trained][:, :, chosen]
        yield Scored(line, str(phenomenon), tokens[trained], of_pairs, paradigms, kinds)


def classify(
    curves: Sequence[Scored], scopes: Sequence[str] = tuple(SCOPES), wanted: Sequence[str] = TESTS
) -> pd.DataFrame:
    """Test all curves of a table in some scopes: p of the dip, p after Holm, classes, and what chance may change.

    ``*_low`` and ``*_high`` are the ends of the interval of Monte Carlo error. ``possible*`` has the classes that p
    values within it give, and ``close*`` the tests for which it holds the level of 5 %, with both ends after Holm.
    """
    table = pd.DataFrame(
        [{"line": one.line, "phenomenon": one.phenomenon, "runs": len(one.credits)} for one in curves],
        columns=["line", "phenomenon", "runs"],
    )
    means = [one.credits.mean(axis=(0, 2)) for one in curves]
    smooth = [smoothing(one.tokens) @ mean for one, mean in zip(curves, means, strict=True)]
    errors = [error_of(one.credits, one.paradigms, one.clusters) for one in curves]
    for scope in scopes:
        found = [
            shape_tests(one.tokens, mean, in_scope(error, scope), wanted)
            if len(one.credits) > 1 or scope == WIDEST
            else None
            for one, mean, error in zip(curves, means, errors, strict=True)
        ]
        table = table.join(_columns(found, smooth, table["runs"].to_numpy() == 1, scope))
    return table


def _columns(
    found: Sequence[dict[str, Estimate] | None], smooth: Sequence[Array], alone: npt.NDArray[np.bool_], scope: str
) -> pd.DataFrame:
    """Adjust over the lines of several runs, and over those of one run, and name the classes."""
    unknown = dict.fromkeys(TESTS, Estimate(np.nan))
    known = [one or unknown for one in found]
    p: dict[tuple[str, int], Array] = {}
    adjusted: dict[tuple[str, int], Array] = {}
    for name in TESTS:
        for end in (-1, 0, 1):
            p[name, end] = np.array([np.clip(one[name].p + end * one[name].apart, 0, 1) for one in known])
            adjusted[name, end] = np.empty(len(known))
            for family in (alone, ~alone):
                adjusted[name, end][family] = holm(p[name, end][family])
    classes, possible, close = [], [], []
    for at, curve in enumerate(smooth):
        of_ends = {
            end: {name: (float(adjusted[name, end][at]), float(p[name, end][at])) for name in TESTS}
            for end in (-1, 0, 1)
        }  # fmt: skip
        is_close = [name for name in TESTS if of_ends[-1][name][0] <= LEVEL < of_ends[1][name][0]]
        chosen = (dict(zip(is_close, ends, strict=True)) for ends in product((-1, 1), repeat=len(is_close)))
        choices = [{name: of_ends[own.get(name, 0)][name] for name in TESTS} for own in chosen]
        classes.append(class_of(of_ends[0], curve) if found[at] is not None else NOT_TESTED)
        possible.append({class_of(one, curve) for one in choices} if found[at] is not None else {NOT_TESTED})
        close.append(", ".join(f"{n} {of_ends[-1][n][0]:.3f} to {of_ends[1][n][0]:.3f}" for n in is_close))
    words = {"_low": -1, "": 0, "_high": 1}
    return pd.DataFrame({
        **{f"p{scope}{word}": p["u", end] for word, end in words.items()},
        **{f"p_holm{scope}{word}": adjusted["u", end] for word, end in words.items()},
        f"class{scope}": classes, f"possible{scope}": possible, f"close{scope}": close,
    })  # fmt: skip


def tested_again(curves: Iterable[Scored]) -> pd.DataFrame:
    """Return the table of ``classify`` of all curves that can be tested, with how many runs have a dip alone."""
    testable = [one for one in curves if len(one.tokens) >= LEAST_CHECKPOINTS and one.tokens[-1] >= 10 * one.tokens[0]]
    single = [replace(one, credits=run[None]) for one in testable for run in one.credits]
    alone = classify(single, [WIDEST], ["u"])
    counts = {
        f"runs_with_dip{end}": (alone[f"p_holm{end}"] <= LEVEL).groupby([alone["line"], alone["phenomenon"]]).sum()
        for end in ("_low", "", "_high")
    }  # fmt: skip
    return classify(testable).join(pd.DataFrame(counts), on=["line", "phenomenon"])


def report(again: pd.DataFrame, page: pd.DataFrame) -> tuple[int, int]:
    """Print how many numbers and classes of a page agree with those found again; return how many there are, and differ.

    ``page`` has line, phenomenon, and some of p, p_holm, runs_with_dip and the classes; a class may be said by
    what it is not, as in ``other than U-shaped``.
    """
    names = [name for name in page if name not in ("line", "phenomenon")]
    both = page.rename(columns={name: f"{name}_page" for name in names})
    both = both.merge(again, on=["line", "phenomenon"], validate="one_to_one")
    differ = missing = len(page) - len(both)
    sys.stdout.write(f"tests of shape: {len(both)} curves were tested again, {missing} of the page were not found\n")
    for name in (one for one in _NUMBERS if one in page):
        differ += _report_numbers(both, name)
    for scope in SCOPES:
        if f"class{scope}" in page:
            differ += _report_classes(both, f"class{scope}", scope)
    return len(names) * len(both), differ


def _report_numbers(both: pd.DataFrame, name: str) -> int:
    theirs, ours = both[f"{name}_page"], both[name]
    ends = both[[f"{name}_low", f"{name}_high"]]  # a smaller p is more dips
    agree = theirs.between(ends.min(axis=1) - _ROUNDING, ends.max(axis=1) + _ROUNDING) | (theirs.isna() & ours.isna())
    sys.stdout.write(
        f"  {_NUMBERS[name]} ({name}): {agree.sum()} of {len(both)} agree within Monte Carlo error, largest difference "
        f"{(theirs - ours).abs().max():.3f}\n"
    )
    return _print_rows(both[~agree], name)


def _report_classes(both: pd.DataFrame, name: str, scope: str) -> int:
    page, possible_classes = both[f"{name}_page"].tolist(), both[f"possible{scope}"].tolist()
    agree = np.array([_says(*two) for two in zip(page, both[name], strict=True)], dtype=bool)
    possible = np.array(
        [any(_says(said, one) for one in classes) for said, classes in zip(page, possible_classes, strict=True)],
        dtype=bool,
    )
    open_ = sum(len(classes) > 1 for classes in possible_classes)
    sys.stdout.write(
        f"  {name}, for {SCOPES[scope]}: {agree.sum()} of {len(both)} agree, {(~agree & possible).sum()} differ within "
        f"Monte Carlo error, {(~agree & ~possible).sum()} differ beyond it; it leaves {open_} classes open\n"
    )
    _print_rows(both[~agree & possible], name, f"close{scope}")
    return _print_rows(both[~agree & ~possible], name)


def _says(page: str, own: str) -> bool:
    return page == own or (page.startswith(_OTHER_THAN) and page != _OTHER_THAN + own)


def _print_rows(rows: pd.DataFrame, name: str, reason: str = "") -> int:
    for row in rows.to_dict("records"):
        because = f" ({row[reason]} after Holm)" if reason else ""
        sys.stdout.write(f"    {row['line']}, {row['phenomenon']}: {row[f'{name}_page']} and {row[name]}{because}\n")
    return len(rows)
