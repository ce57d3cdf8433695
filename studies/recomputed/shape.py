"""The tests of shape a second time, by the rules of rules.md, with numpy, pandas and scipy alone.

Nothing of ``analysis`` is imported. Where a number can be computed in several ways, this file takes another one than
the program: pools of adjacent violators are kept in lists, one curve at a time, and the nearest curve is found by
largest and smallest means; errors are drawn from eigenvectors, with other random numbers. Two p values by Monte Carlo
are hardly ever equal: they agree if they are at most four standard errors of both estimates together apart. What
follows from p values, those adjusted by Holm's procedure and the classes, is computed for both ends of that interval.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
ENOUGH_CLUSTERS = 10  # of equal size, for several runs
DRAWS = 10_000
_BLOCK = 500
_UNDECIDED = 0.15  # p clearly above .1 needs no more draws
STANDARD_ERRORS = 4
_SEED = 20_260_101
_PROGRAM_DRAWS, _PROGRAM_BLOCK, _PROGRAM_BEYOND = 10_000, 500, 50  # of the program whose p values are compared
_ROUNDING = 1e-6
_NO_DISTANCE = 1e-12
_OTHER_THAN = "other than "
NOT_TESTED = "not tested"
_KEYS = ("line", "phenomenon", "linking")
_NUMBERS = {
    "p": "p of a dip beyond pairs and seeds", "p_holm": "the same after Holm",
    "runs_with_dip": "how many runs have a dip alone", "runs_with_dip_each": "the same by the p of each run",
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
    variance = p * max(1 - p, 1 / (1 + draws))  # where all draws are beyond, other ones may not be
    return Estimate(p, STANDARD_ERRORS * float(np.sqrt(variance * (1 / draws + 1 / theirs))) + 1 / theirs)


@dataclass(frozen=True, eq=False)
class Error:
    """What moves the mean curve of some runs over some pairs by chance, covariances over checkpoints [T, T]."""

    pairs: Array
    seeds: Array
    rest: Array  # what is peculiar to a cluster in one run: both others hold it
    runs: int  # one more than the degrees of freedom of seeds
    items: int
    freedom: float  # of pairs
    clusters: int
    effective: float  # how many clusters of equal size would weigh as these do

    @property
    def knows_pairs(self) -> bool:
        """Whether there are enough clusters to say anything of other pairs."""
        return self.clusters >= FEWEST_CLUSTERS and (self.runs == 1 or self.effective >= ENOUGH_CLUSTERS)


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


def error_of(credits_: Array, paradigms: Ids, clusters: Ids, sizes: Ids | None = None) -> Error:
    """Estimate the three components of a crossed design (Owen 2007) from credits, [S, T, I].

    ``clusters`` are numbered over all paradigms. Paradigms with one cluster are put together. ``sizes`` says of each
    run which of the sizes it has whose means are averaged.
    """
    _, steps, items = credits_.shape
    sizes = np.zeros(len(credits_), dtype=np.int64) if sizes is None else sizes
    runs_of = np.bincount(sizes)
    sizes_of = np.bincount(clusters)
    count, effective = len(sizes_of), float(sizes_of.sum() ** 2 / (sizes_of**2).sum())
    if count < FEWEST_CLUSTERS:  # each pair by itself tells what is noise of single pairs
        clusters = np.arange(items)
    stratum_of = strata_of(paradigms, clusters)
    strata = stratum_of[clusters]
    own = np.stack([credits_[sizes == size].mean(axis=0) for size in range(len(runs_of))])
    apart = deviations_of(own.mean(axis=0), strata, clusters)
    one_pair = np.eye(steps) / (2 * items**2)
    pairs = apart @ apart.T + one_pair
    none = np.zeros((steps, steps))
    freedom = _pair_freedom(apart, stratum_of, sizes_of)
    if (runs := 1 + len(credits_) - len(runs_of)) == 1:
        return Error(pairs, none, none, 1, items, freedom, count, effective)
    of_runs, of_sizes = (
        [each @ each.T for each in (deviations_of(c, strata, clusters) for c in many)] for many in (credits_, own)
    )
    of_means = sum(number * (one + one_pair) for number, one in zip(runs_of, of_sizes, strict=True))
    levels = credits_.mean(axis=2) - own.mean(axis=2)[sizes]
    of_a_run = (1 / runs_of).sum() / len(runs_of) ** 2 / (runs - 1)
    seeds, rest = of_a_run * levels.T @ levels, of_a_run * (sum(of_runs) - of_means)
    return Error(pairs, seeds, np.asarray(rest), runs, items, freedom, count, effective)


def strata_of(paradigms: Ids, clusters: Ids) -> Ids:
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


def deviations_of(credits_: Array, strata: Ids, clusters: Ids) -> Array:
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
        return _over_seeds(replace(error, rest=center @ error.rest @ center, seeds=center @ error.seeds @ center))
    return with_known_error(error)


def with_known_error(error: Error) -> Error:
    """Return what is known of the error: with few clusters of pairs that over seeds, with one run nothing."""
    if error.knows_pairs or error.runs == 1:
        return error
    return _over_seeds(error)


def _over_seeds(error: Error) -> Error:
    """Leave the pairs out; what a run does by itself in a cluster is not told apart from what it does elsewhere."""
    are_single = error.clusters == error.items or error.clusters < FEWEST_CLUSTERS
    rest = error.rest if are_single else np.zeros_like(error.rest)
    return replace(error, pairs=rest + _one_pair(error), rest=rest, clusters=FEWEST_CLUSTERS, effective=np.inf)


def _one_pair(error: Error) -> Array:
    return np.asarray(np.eye(len(error.pairs)) / (2 * error.items**2) * error.runs / (error.runs - 1))


def spread_of(error: Error, functions: Array) -> tuple[Array, float, Array]:
    """Return the variances of linear functions [J, T] of the curve, their degrees of freedom and its covariance.

    What runs do by themselves counts twice.
    """
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


def draw_normal(covariance: Array, draws: int, random: np.random.Generator) -> Array:
    """Draw from a normal distribution, [draws, T], by the eigenvectors of its covariance."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((random.standard_normal((draws, len(values))) * np.sqrt(values.clip(0))) @ vectors.T)


def draw_errors(covariance: Array, freedom: float, draws: int, random: np.random.Generator) -> Array:
    """Draw errors whose variance is known with some degrees of freedom only, [draws, T]."""
    normal = draw_normal(covariance, draws, random)
    return np.asarray(normal / np.sqrt(random.chisquare(freedom, (draws, 1)) / freedom))


def smoothing(tokens: Array, width: float = KERNEL) -> Array:
    """Return the weights of the normal kernel, [T, T]."""
    logs = np.log10(tokens)
    kernel = np.exp(-(np.subtract.outer(logs, logs) ** 2) / (2 * width**2))
    return np.asarray(kernel / kernel.sum(axis=1)[:, None])


def stretches(tokens: Array) -> list[tuple[int, int]]:
    """Return first and last checkpoint of every stretch that no longer one of its width holds."""
    logs = np.log10(tokens)
    found = set()
    for width in STRETCHES:
        last = [int(np.flatnonzero(logs <= start + width + 1e-9)[-1]) for start in logs]
        found |= {(at, end) for at, end in enumerate(last) if at == 0 or end > last[at - 1]}
    return sorted(found)


def rising_squares(curves: Array, weights: Array) -> Array:
    """Return the squares from curves, [D, T], to the nearest rising one of their first 0, 1, ..., T values, [D, T + 1].

    In the nearest rising curve, the last values that are alike begin where the mean from there to the end is largest;
    what is before them is the nearest rising curve of the values before them.
    """
    values = (curves - curves.mean(axis=1, keepdims=True)).T
    mass = np.concatenate([[0.0], np.cumsum(weights)])[:, None]
    sums, squares, found = (np.zeros((len(values) + 1, len(curves))) for _ in range(3))
    np.cumsum(values * weights[:, None], axis=0, out=sums[1:])
    np.cumsum(values**2 * weights[:, None], axis=0, out=squares[1:])
    every = np.arange(len(curves))
    for end in range(1, len(sums)):
        means = (sums[end] - sums[:end]) / (mass[end] - mass[:end])
        first = means.argmax(axis=0)
        alike = squares[end] - squares[first, every] - (mass[end] - mass[first, 0]) * means[first, every] ** 2
        found[end] = found[first, every] + alike
    return found.T


def squares_by_top(curves: Array, weights: Array) -> Array:
    """Return the squares to the nearest curve of which the first 0, 1, ..., T values rise and the others fall."""
    return rising_squares(curves, weights) + rising_squares(curves[:, ::-1], weights[::-1])[:, ::-1]


def distances_to_unimodal(curves: Array, weights: Array) -> Array:
    """Return the squares from curves, [D, T], to the nearest that rise and then fall."""
    return np.asarray(squares_by_top(curves, weights).min(axis=1))


def nearest_unimodal(curve: Array, weights: Array) -> Array:
    """Return that curve itself: between two bounds, the smallest mean of all that begin before and end after."""
    top = int(squares_by_top(curve[None], weights)[0].argmin())
    up = _rising(curve[:top], weights[:top])
    return np.concatenate([up, _rising(curve[top:][::-1], weights[top:][::-1])[::-1]])


def _rising(curve: Array, weights: Array) -> Array:
    """Fit by the formula of smallest and largest means (Barlow and others 1972, section 1.4)."""
    size = len(curve)
    mass, sums = (np.concatenate([[0.0], np.cumsum(values)]) for values in (weights, curve * weights))
    first, last = np.triu_indices(size)
    means = np.full((size, size), np.inf)  # from the first to the last value
    means[first, last] = (sums[last + 1] - sums[first]) / (mass[last + 1] - mass[first])
    # That end at or after it.
    least = np.array([means[:, at:].min(axis=1) for at in range(size)]).reshape(size, size)
    return np.array([least[at, : at + 1].max() for at in range(size)])


def dip_p(smooth: Array, variance: Array, covariance: Array, freedom: float) -> Estimate:
    """Test whether a smoothed curve is farther from every curve without a dip than its error explains."""
    weights = 1 / variance / (1 / variance).mean()
    (distance,) = distances_to_unimodal(smooth[None], weights)
    if distance < _NO_DISTANCE:
        return Estimate(1.0)
    fit = nearest_unimodal(smooth, weights)
    random = np.random.default_rng(_SEED)
    beyond = draws = 0
    while draws < DRAWS and beyond <= _UNDECIDED * draws:
        more = min(_BLOCK, DRAWS - draws)
        curves = fit + draw_errors(covariance, freedom, more, random)
        beyond += int((distances_to_unimodal(curves, weights) >= distance).sum())
        draws += more
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

    changes = {name: (sign * ratio).max() for name, sign in (("rise", -1), ("fall", 1)) if name in wanted}
    found |= _change_ps(changes, functions, covariance, freedom)

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


def _change_ps(
    changes: dict[str, float], functions: Array, covariance: Array, freedom: float
) -> dict[str, Estimate]:
    """Compare the largest differences with those of draws of a curve that does not change, or with their bound."""
    bounds = {name: len(functions) * float(student.sf(largest, freedom)) for name, largest in changes.items()}
    found = {name: Estimate(bound) for name, bound in bounds.items() if bound <= 1 / (1 + DRAWS)}
    left = {name: largest for name, largest in changes.items() if name not in found}
    values, vectors = np.linalg.eigh(covariance)
    loads = (vectors * np.sqrt(values.clip(0))).T @ functions.T
    loads /= np.sqrt((loads**2).sum(axis=0))
    random = np.random.default_rng(_SEED)
    beyond, draws = dict.fromkeys(left, 0), 0
    while draws < DRAWS and any(count <= _UNDECIDED * draws for count in beyond.values()):
        more = min(_BLOCK, DRAWS - draws)
        normal = random.standard_normal((more, len(loads)), dtype=np.float32) @ loads.astype(np.float32)
        by_chance = normal.max(axis=1) / np.sqrt(random.chisquare(freedom, more) / freedom)
        for name, largest in left.items():
            beyond[name] += int((by_chance >= largest).sum())
        draws += more
    for name, count in beyond.items():
        p = drawn(count, draws)
        found[name] = replace(p, p=min(p.p, bounds[name]))  # the program's own draws may be below the bound
    return found


def deepest(curve: Array) -> tuple[float, int]:
    """Return the largest of the smaller sides of all dips of a curve, and where it is."""
    sides = [min(curve[: at + 1].max(), curve[at:].max()) - value for at, value in enumerate(curve)]
    sides = [side if side >= 1e-9 else 0.0 for side in sides]
    place = int(np.argmax(sides))
    return float(sides[place]), place


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
    """Name the class by step 8 of rules.md from p after Holm and p; ``mean`` is the smoothed curve."""
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
    sizes: Ids | None = None  # of the runs, where the curve is a mean over sizes

    @cached_property
    def mean(self) -> Array:
        """The mean over pairs and runs; over sizes, each has equal weight."""
        curves = self.credits.mean(axis=2)
        if self.sizes is not None:
            curves = np.array([curves[self.sizes == size].mean(axis=0) for size in np.unique(self.sizes)])
        return np.asarray(curves.mean(axis=0))

    @cached_property
    def error(self) -> Error:
        """The error of the mean."""
        return error_of(self.credits, self.paradigms, self.clusters, self.sizes)


def scored_curves(
    line: str,
    pairs: pd.DataFrame,
    tokens: Array,
    credits_: Array,
    column: str = "phenomenon",
    sizes: Ids | None = None,
) -> Iterator[Scored]:
    """Yield the curve of all pairs of a line and that of each phenomenon, or of each paradigm; step 0 is left out."""
    edit = pd.Series(edits(pairs["good"].tolist(), pairs["bad"].tolist()), index=pairs.index)
    trained = tokens > 0
    names = pairs[column].to_numpy(dtype=object)
    for name in ("all", *dict.fromkeys(names)):
        chosen = (names == name) | (name == "all")
        kinds = pairs[chosen].assign(edit=edit[chosen]).groupby(["paradigm", "edit"]).ngroup().to_numpy(np.int64)
        paradigms = pd.factorize(pairs["paradigm"][chosen])[0].astype(np.int64)
        of_pairs = credits_[:, trained][:, :, chosen]
        yield Scored(line, str(name), tokens[trained], of_pairs, paradigms, kinds, sizes)


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
    means = [one.mean for one in curves]
    smooth = [smoothing(one.tokens) @ mean for one, mean in zip(curves, means, strict=True)]
    errors = [one.error for one in curves]
    for scope in scopes:
        found = [
            shape_tests(one.tokens, mean, in_scope(error, scope), wanted)
            if error.runs > 1 or scope == WIDEST
            else None
            for one, mean, error in zip(curves, means, errors, strict=True)
        ]
        if scope == WIDEST:
            widest = found
        else:  # what is shown for other pairs and seeds is shown for these too
            found = [
                {name: min(own[name], whole[name], key=lambda one: one.p) for name in TESTS}
                if own and whole and error.knows_pairs else own
                for own, whole, error in zip(found, widest, errors, strict=True)
            ]  # fmt: skip
        table = table.join(
            _columns(found, smooth, np.array([error.runs == 1 for error in errors], dtype=bool), scope)
        )
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
    both = (adjusted["u", 0] <= LEVEL) & (adjusted["inverted_u", 0] <= LEVEL)
    return pd.DataFrame({
        **{f"p{scope}{word}": p["u", end] for word, end in words.items()},
        **{f"p_holm{scope}{word}": adjusted["u", end] for word, end in words.items()},
        f"both{scope}": both, f"class{scope}": classes, f"possible{scope}": possible, f"close{scope}": close,
    })  # fmt: skip


def testable(curves: Iterable[Scored]) -> list[Scored]:
    """Choose the curves with four checkpoints or more over ten times the tokens."""
    return [
        one for one in curves if len(one.tokens) >= LEAST_CHECKPOINTS and one.tokens[-1] >= 10 * one.tokens[0]
    ]


def alone(curves: Iterable[Scored]) -> pd.DataFrame:
    """Test the dips of each run by itself, over pairs; ``run`` is its place among the runs of its line."""
    single = [(place, replace(one, credits=run[None])) for one in curves for place, run in enumerate(one.credits)]
    return classify([one for _, one in single], [WIDEST], ["u"]).assign(run=[place for place, _ in single])


def dips_of_runs(of_runs: pd.DataFrame) -> pd.DataFrame:
    """Count the runs of each curve that have a dip alone."""
    counts, ends = {"runs_with_dip": "p_holm", "runs_with_dip_each": "p"}, ("_low", "", "_high")
    dips = pd.DataFrame(
        {f"{name}{end}": of_runs[f"{p}{end}"] <= LEVEL for name, p in counts.items() for end in ends}
    )
    return dips.groupby([of_runs["line"], of_runs["phenomenon"]]).sum()


def tested_again(curves: Iterable[Scored]) -> pd.DataFrame:
    """Return the table of ``classify`` of all curves that can be tested, with how many runs have a dip alone."""
    tested = testable(curves)
    return classify(tested).join(dips_of_runs(alone(tested)), on=["line", "phenomenon"])


def report(again: pd.DataFrame, page: pd.DataFrame) -> tuple[int, int]:
    """Print how many numbers and classes of a page agree with those found again; return how many there are, and differ.

    ``page`` has line, phenomenon, perhaps linking, and some of p, p_holm, the numbers of runs and the classes; a class
    may be said by what it is not, as in ``other than U-shaped``.
    """
    keys = [name for name in _KEYS if name in page and name in again]
    names = [name for name in page if name not in keys]
    both = page.rename(columns={name: f"{name}_page" for name in names})
    both = both.merge(again, on=keys, validate="one_to_one")
    differ = missing = len(page) - len(both)
    sys.stdout.write(
        f"tests of shape: {len(both)} curves were tested again, {missing} of the page were not found\n"
    )
    for name in (one for one in _NUMBERS if one in page):
        differ += _report_numbers(both, name)
    for scope in SCOPES:
        if f"class{scope}" in page:
            differ += _report_classes(both, f"class{scope}", scope)
    return len(names) * len(both), differ


def _report_numbers(both: pd.DataFrame, name: str) -> int:
    theirs, ours = both[f"{name}_page"], both[name]
    ends = both[[f"{name}_low", f"{name}_high"]]  # a smaller p is more dips
    agree = theirs.between(ends.min(axis=1) - _ROUNDING, ends.max(axis=1) + _ROUNDING) | (
        theirs.isna() & ours.isna()
    )
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
        where = ", ".join(str(row[key]) for key in _KEYS if key in row)
        sys.stdout.write(f"    {where}: {row[f'{name}_page']} and {row[name]}{because}\n")
    return len(rows)
