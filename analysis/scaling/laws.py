"""Scaling fits: how a measure grows with training FLOPs, by a stated law, with bootstrap intervals.

Bits per byte follow a power law with an irreducible part, L = E + A C^-b (Hoffmann et al. 2022, section 3.3), accuracy
a logistic curve in the logarithm of C that leaves chance and ends at a ceiling of its own (a sigmoid for downstream
accuracy, as in Ruan et al. 2024; the choice of parameters is ours).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import least_squares
from scipy.special import expit, logit

from ucurve.analysis.data.frames import stack
from ucurve.eval.metrics.significance import CHANCE

Array = npt.NDArray[np.float64]
FEWEST_POINTS = 4  # of different FLOPs: one more than a law has parameters
# of different FLOPs: draws of fewer repeat each other, and the interval is far too narrow
FEWEST_FOR_INTERVALS = 8
SAMPLES = 200
_HUBER = 1e-3  # Hoffmann et al. 2022: residuals of log loss beyond it count linearly
_CLOSE = 1e-6  # relative change at which a fit ends
_FARTHEST = 30.0  # a free parameter beyond it is at its bound to 13 digits
_GRID = 60  # points along a drawn curve
_LEVELS = (2.5, 97.5)
_PARAMETERS = ["line", "points", "rmse", "parameter", "value", "low", "high"]
_CURVES = ["line", "source", "flops", "value", "low", "high"]


@dataclass(frozen=True)
class Law:
    """A curve with three parameters, and how it is fitted."""

    formula: str  # for people; C is FLOPs
    parameters: tuple[str, str, str]
    curve: Callable[[Array, Array], Array]  # FLOPs float64[n], parameters float64[..., 3] -> float64[..., n]
    fit: Callable[[Array, Array, Array | None], Array]  # parameters from FLOPs, values and, if given, a start


def power_law(flops: Array, parameters: Array) -> Array:
    """Return E + A C^-b."""
    irreducible, scale, exponent = (parameters[..., place, None] for place in range(3))
    return np.asarray(irreducible + scale * flops**-exponent)


def logistic_law(flops: Array, parameters: Array) -> Array:
    """Return 0.5 + (top - 0.5) / (1 + exp(-slope (log10 C - middle)))."""
    top, slope, middle = (parameters[..., place, None] for place in range(3))
    return np.asarray(CHANCE + (top - CHANCE) * expit(slope * (np.log10(flops) - middle)))


def fit_power_law(flops: Array, values: Array, start: Array | None = None) -> Array:
    """Fit E, A (above 0) and b (0.001 to 3) by Huber's loss of the logarithms (Hoffmann et al. 2022, section 3.3).

    Without ``start`` it begins at the best of a grid of exponents by median absolute residual.
    """
    center = float(np.log(flops).mean())  # FLOPs are counted from there: A at C = 1 is far from the data
    places, target = np.log(flops) - center, np.log(values)

    def model(work: Array) -> tuple[Array, Array]:
        reducible = work[1] - work[2] * places
        share = expit(reducible - work[0])  # of the reducible part in the whole
        errors = np.logaddexp(work[0], reducible) - target
        # Returned are numbers whose squares are Huber's loss of the errors, as squares are what is minimized.
        size = np.abs(errors)
        far = size > _HUBER
        root = np.where(far, np.sqrt(np.maximum(2 * _HUBER * size - _HUBER**2, _HUBER**2)), size)
        scale = np.where(far, _HUBER / root.clip(_HUBER), 1.0)
        slopes = np.stack([1 - share, share, -places * share], 1)
        return np.copysign(root, errors), slopes * scale[:, None]

    if start is None:
        begin = _power_start(places, values)
    else:
        begin = np.array([np.log(start[0]), np.log(start[1]) - start[2] * center, start[2]])
    low = np.array([target.min() - 10, target.min() - 20, 1e-3])
    high = np.array([target.max(), target.max() + 5, 3.0])
    found = _fit_within(model, begin, low, high)
    return np.array([np.exp(found[0]), np.exp(found[1] + found[2] * center), found[2]])


def fit_logistic_law(flops: Array, values: Array, start: Array | None = None) -> Array:
    """Fit top, slope and middle by least squares, from ``start`` or the best of a grid of slopes and middles.

    The top is from 0 to 1 (below 0.5 the curve falls), the slope per decade from 0.05 to 20, and the middle, log10 of
    the FLOPs half way between chance and top, at most 3 decades outside the data.
    """
    places = np.log10(flops)

    def model(work: Array) -> tuple[Array, Array]:
        top, slope, middle = work
        rise = expit(slope * (places - middle))
        steep = (top - CHANCE) * rise * (1 - rise)
        slopes = np.stack([rise, steep * (places - middle), -steep * slope], 1)
        return CHANCE + (top - CHANCE) * rise - values, slopes

    begin = _logistic_start(places, values) if start is None else start
    low, high = np.array([0.0, 0.05, places.min() - 3]), np.array([1.0, 20.0, places.max() + 3])
    return _fit_within(model, begin, low, high)


POWER_LAW = Law("E + A·C^-b", ("E", "A", "b"), power_law, fit_power_law)
LOGISTIC_LAW = Law(
    "0.5 + (top - 0.5) / (1 + exp(-slope·(log10 C - middle)))",
    ("top", "slope", "middle"),
    logistic_law,
    fit_logistic_law,
)


def fit_tables(points: pd.DataFrame, law: Law, samples: int = SAMPLES, seed: int = 0) -> tuple[pd.DataFrame, ...]:
    """Fit each line of points (``line``, ``flops`` above 0, ``value``) with at least 4 different FLOPs by a law.

    The bootstrap draws cells, which are the points of equal FLOPs: the seeds of one size and budget share what sets it
    off the law. A draw with fewer than 4 different FLOPs is passed over. Checkpoints of one run are not independent of
    each other: intervals over them hold far less often than 95 %, so ask for none, ``samples=0`` (docs/analysis.md).

    The first table has a row per line and parameter: ``rmse`` in units of the value, and ``low`` and ``high``, the 95 %
    percentile interval, NaN for a line with fewer than 8 different FLOPs and for a parameter at the end of its range,
    which the points do not determine. The second has the curves: ``source`` is
    ``observed`` or ``fit``, which alone has ``low`` and ``high``.
    """
    parameters: list[pd.DataFrame] = []
    curves: list[pd.DataFrame] = []
    for line, rows in points.groupby("line", sort=False, observed=True):
        if rows["flops"].nunique() >= FEWEST_POINTS:
            flops, values = (rows[name].to_numpy(np.float64) for name in ("flops", "value"))
            fitted = law.fit(flops, values, None)
            draws = [*_bootstrap_fits(law, flops, values, fitted, samples, seed)]
            drawn = np.reshape(draws, (len(draws), len(fitted)))
            parameters.append(_parameter_table(law, flops, values, fitted, drawn).assign(line=line))
            grid = np.geomspace(flops.min(), flops.max(), _GRID)
            low, high = _percentile_bounds(law.curve(grid, drawn))
            fit = pd.DataFrame({"flops": grid, "value": law.curve(grid, fitted), "low": low, "high": high})
            observed = rows[["line", "flops", "value"]].assign(source="observed")
            curves += [observed, fit.assign(line=line, source="fit")]
    return stack(parameters, _PARAMETERS)[_PARAMETERS], stack(curves, _CURVES)[_CURVES]


def _bootstrap_fits(
    law: Law, flops: Array, values: Array, fitted: Array, samples: int, seed: int
) -> Iterator[Array]:
    """Yield the parameters of draws of cells, float64[3] each; none of few different FLOPs."""
    different, cell = np.unique(flops, return_inverse=True)
    if len(different) < FEWEST_FOR_INTERVALS:
        return
    members = [np.flatnonzero(cell == number) for number in range(len(different))]
    random = np.random.default_rng(seed)
    for chosen in random.integers(0, len(different), (samples, len(different))):
        # A law has three parameters, so it goes through three different points exactly, whatever their noise.
        if len(np.unique(chosen)) >= FEWEST_POINTS:
            places = np.concatenate([members[number] for number in chosen])
            yield law.fit(flops[places], values[places], fitted)


def _parameter_table(law: Law, flops: Array, values: Array, fitted: Array, drawn: Array) -> pd.DataFrame:
    """Return the rows of one line's parameters, without an interval where it is at the end of its range."""
    low, high = _percentile_bounds(drawn)
    error = float(np.sqrt(np.mean((law.curve(flops, fitted) - values) ** 2)))
    table = pd.DataFrame({"parameter": law.parameters, "value": fitted, "low": low, "high": high})
    at_its_end = np.isclose(fitted, low, rtol=1e-6) | np.isclose(fitted, high, rtol=1e-6)
    table.loc[at_its_end, ["low", "high"]] = np.nan
    return table.assign(points=len(flops), rmse=error)


def _percentile_bounds(drawn: Array) -> Array:
    """Return the ends of 95 % of draws, float64[2, n]; NaN without draws."""
    if not len(drawn):
        return np.full((2, drawn.shape[-1]), np.nan)
    return np.asarray(np.percentile(drawn, _LEVELS, axis=0))


def _fit_within(model: Callable[[Array], tuple[Array, Array]], begin: Array, low: Array, high: Array) -> Array:
    """Minimize the squares of what ``model`` returns (values, and their slopes float64[n, 3]) between bounds.

    Each parameter is a logistic function of a free one, so that MINPACK, which knows no bounds, can be used: it takes a
    tenth of the time of scipy's bounded method, and a bootstrap fits hundreds of times.
    """
    span = high - low

    def to_share(free: Array) -> Array:
        # A free parameter that belongs at its bound runs off to infinity, its slope becomes 0 and MINPACK's step NaN.
        return np.asarray(expit(np.clip(free, -_FARTHEST, _FARTHEST)))

    def inside(free: Array) -> Array:
        return np.asarray(low + span * to_share(free))

    def values(free: Array) -> Array:
        return model(inside(free))[0]

    def slopes(free: Array) -> Array:
        share = to_share(free)
        return model(inside(free))[1] * (span * share * (1 - share))

    start = logit(np.clip((begin - low) / span, 1e-4, 1 - 1e-4))  # at a bound the slope would be 0
    found = least_squares(values, start, slopes, method="lm", ftol=_CLOSE, xtol=_CLOSE)
    return inside(found.x)


def _power_start(places: Array, values: Array) -> Array:
    """Return logarithms of floor and scale, and the exponent, that are best on a grid of exponents."""
    best, least = np.zeros(3), np.inf
    for exponent in np.geomspace(0.02, 2, 25):
        falling = np.exp(-exponent * places)
        design = np.column_stack([np.ones_like(places), falling])
        floor, scale = np.linalg.lstsq(design, values, rcond=None)[0]
        # The floor is fitted as a logarithm, so it has to be above 0.
        floor = max(float(floor), 0.01 * float(values.min()))
        scale = max(float(scale), 1e-6)
        error = float(np.median(np.abs(np.log(floor + scale * falling) - np.log(values))))
        if error < least:
            best, least = np.array([np.log(floor), np.log(scale), exponent]), error
    return best


def _logistic_start(places: Array, values: Array) -> Array:
    """Return top, slope and middle that are best on a grid of slopes and middles."""
    slopes, middles = np.geomspace(0.2, 10, 12), np.linspace(places.min() - 1, places.max(), 25)
    grid = np.stack(np.meshgrid(slopes, middles, indexing="ij"), axis=-1).reshape(-1, 2)
    rises = expit(grid[:, :1] * (places - grid[:, 1:]))
    # For a given slope and middle the height is a linear parameter, so it needs no grid.
    heights = np.clip((rises @ (values - CHANCE)) / (rises**2).sum(axis=1), -CHANCE, 1 - CHANCE)
    best = int(np.argmin(((CHANCE + heights[:, None] * rises - values) ** 2).sum(axis=1)))
    return np.array([CHANCE + heights[best], *grid[best]])
