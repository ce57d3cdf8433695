"""Variances of a few values each, which borrow strength from one another.

Two or three values say little about how much they vary: their variance may be near 0 or far too large by accident. The
values of many settings say it together. Each setting gets the mean of its own variance and of what the others expect of
it, weighed by their degrees of freedom (Smyth 2004, "Linear models and empirical Bayes methods for assessing
differential expression in microarray experiments", section 3). What is expected may depend on what variances go with
(Law et al. 2014, "voom", section on limma-trend).
"""

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, polygamma

Array = npt.NDArray[np.float64]
MOST_PRIOR = 4.0  # degrees of freedom that the other settings are believed to have, at most


def moderate_variances(variance: Array, freedom: Array, goes_with: Array) -> tuple[Array, float]:
    """Moderate variances above 0, float64[settings], by what they go with, float64[settings, covariates].

    With them come the degrees of freedom that each gains.
    """
    logs = np.log(variance) - digamma(freedom / 2) + np.log(freedom / 2)
    design = np.column_stack([np.ones(len(logs)), goes_with])
    expected = design @ np.linalg.lstsq(design, logs, rcond=None)[0]
    spread = ((logs - expected) ** 2).sum() / max(len(logs) - design.shape[1], 1)
    # What log variances vary beyond their own freedom is trigamma of half the prior's.
    excess = float(spread - polygamma(1, freedom / 2).mean())
    prior = MOST_PRIOR
    if excess > polygamma(1, MOST_PRIOR / 2):
        half = 0.5 + 1 / excess
        for _ in range(20):  # Newton's method on the inverse, which converges from here (Smyth 2004, appendix)
            of_half = polygamma(1, half)
            half += of_half * (1 - of_half / excess) / polygamma(2, half)
        prior = float(2 * half)
    expected = np.exp(expected + digamma(prior / 2) - np.log(prior / 2))
    return np.asarray((prior * expected + freedom * variance) / (prior + freedom)), prior
