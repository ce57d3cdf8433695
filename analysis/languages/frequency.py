"""Accuracy per language against how frequent it is, with a fitted logistic curve (MultiBLiMP, Figure 1)."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.data.frames import stack
from ucurve.analysis.scaling.laws import logistic_law
from ucurve.eval.metrics.sampling import exact_interval
from ucurve.eval.metrics.significance import CHANCE

Array = npt.NDArray[np.float64]
FEWEST = 5  # languages; the curve has three parameters
OVER, UNDER = "over", "under"


def fit_logistic(covariate: Array, accuracy: Array) -> Array | None:
    """Fit ``scaling.laws.logistic_law`` to accuracies over a covariate above 0, by least squares.

    MultiBLiMP names the curve and not its form (Figure 1, section 7.3); here it rises from chance, one half, since a
    model that knows nothing guesses. The parameters are the ceiling (a fraction from chance to 1), the slope per decade
    and log10 of the covariate half way up; None for fewer than five points, a covariate that does not vary, or where no
    fit is found.
    """
    from scipy.optimize import curve_fit

    def curve(x: Array, *parameters: float) -> Array:
        return logistic_law(x, np.array(parameters))

    if len(covariate) < FEWEST or np.ptp(covariate) == 0:
        return None
    x = np.log10(covariate)
    start = (min(max(0.9, float(accuracy.max()) - 0.01), 0.999), 1.0, float(np.median(x)))
    bounds = ([CHANCE, 0.0, float(x.min()) - 10], [1.0, 20.0, float(x.max()) + 10])
    try:
        found, _ = curve_fit(curve, covariate, accuracy, p0=start, bounds=bounds, max_nfev=5000)
    except RuntimeError:
        return None
    return np.asarray(found)


def residual_table(points: pd.DataFrame) -> pd.DataFrame:
    """Say how far each language with a frequency is from the curve of its model; models without a fit have no rows.

    The ``verdict`` is ``over`` or ``under`` for a language that is more than one standard deviation of the residuals
    from the curve and whose 95 % interval does not reach it, else empty. The interval is that of as many independent
    pairs as ``effective`` says, or ``n`` without this column.
    """
    rows = points.dropna(subset=["frequency", "accuracy"])
    parts = (_residuals_of_model(part) for _, part in rows.groupby("model", sort=False, observed=True))
    columns = ["model", "language", "frequency", "n", "accuracy", "fitted", "residual", "verdict"]
    return stack((part for part in parts if part is not None), columns)[columns]


def _residuals_of_model(part: pd.DataFrame) -> pd.DataFrame | None:
    frequency, accuracy, n = (part[name].to_numpy(dtype=np.float64) for name in ("frequency", "accuracy", "n"))
    curve = fit_logistic(frequency, accuracy)
    if curve is None:
        return None
    fitted = logistic_law(frequency, curve)
    residual = accuracy - fitted
    size = part["effective"].to_numpy(dtype=np.float64) if "effective" in part else n
    low, high = exact_interval(accuracy * size, size)
    far = np.abs(residual) > residual.std(ddof=1)
    verdict = np.where(far & (low > fitted), OVER, np.where(far & (high < fitted), UNDER, ""))
    table = part.assign(fitted=fitted, residual=residual, verdict=verdict)
    return table.sort_values("residual", ascending=False, kind="stable")
