"""Agreement of two raters beyond chance."""

import numpy as np

from ucurve.eval.metrics.levels import Array


def cohens_kappa(first: Array, second: Array, agreed: Array) -> Array:
    """Return Cohen's kappa of two raters who say yes or no (Cohen 1960); NaN where both always say the same one thing.

    ``first`` and ``second`` are the shares of yes, ``agreed`` that of the answers on which they agree.
    """
    expected = np.asarray(first * second + (1 - first) * (1 - second), dtype=np.float64)
    most = 1 - expected
    defined = most > 1e-12  # what rounding leaves of 0
    return np.asarray(np.divide(agreed - expected, most, out=np.full(expected.shape, np.nan), where=defined))
