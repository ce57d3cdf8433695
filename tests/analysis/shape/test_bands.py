import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import t as student

from ucurve.analysis.shape.bands import curve_bands
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.smoothing import Curve, smoothing_weights, with_known_error

LOGS = np.linspace(4, 8, 24)
ITEMS = 300


def rising(end: float, times: tuple[float, ...], clusters: int = ITEMS) -> Curve:
    """Make runs that rise from 50 % to ``end`` at these places, 10 to the power of so many tokens."""
    draw = np.random.default_rng(5)
    levels = np.array([0.5 + (end - 0.5) * expit((LOGS - time) / 0.1) for time in times])
    half_points = 2 * (draw.random((len(times), len(LOGS), ITEMS)) < levels[:, :, None])
    together = np.arange(ITEMS) % clusters
    return estimate_curve(10**LOGS, half_points.astype(np.uint8), np.zeros(ITEMS, dtype=np.int64), together)


def test_a_band_is_narrow_where_all_seeds_are_right_and_wide_where_they_learn_at_other_times() -> None:
    bands = curve_bands(
        [rising(1.0, (5.7, 6, 6.3)), rising(1.0, (5.4, 5.9, 6.2)), rising(0.7, (6.1, 6, 5.8))], [False] * 3
    )
    width = bands[0]["band_high"] - bands[0]["band_low"]
    assert width.iloc[-3:].max() < 0.06
    assert width.max() > 0.3
    assert LOGS[width.to_numpy().argmax()] == pytest.approx(6, abs=0.5)
    early = bands[0].iloc[2]
    assert early["band_low"] < 0.5 < early["band_high"]


def test_what_a_band_is_like_depends_on_the_curves_beside_it() -> None:
    """Two seeds that agree by chance borrow the spread of curves whose seeds do not."""
    agreeing = rising(0.9, (6.0, 6.0))
    alone, *_ = curve_bands([agreeing, *[rising(0.9, (6.0, 6.0))] * 3], [False] * 4)
    beside, *_ = curve_bands(
        [agreeing, *(rising(0.9, times) for times in ((5, 7), (5.5, 6.8), (6.9, 5.2)))], [False] * 4
    )
    widths = [(rows["band_high"] - rows["band_low"]).max() for rows in (alone, beside)]
    assert widths[1] > 1.3 * widths[0]


def test_the_interval_of_one_run_is_that_of_its_pairs() -> None:
    curve = rising(0.8, (6.0,))
    (rows,) = curve_bands([curve], [False])
    weights = smoothing_weights(LOGS)
    error = np.sqrt(np.diag(weights @ curve.item_cov @ weights.T))
    half = student.ppf(0.975, curve.item_freedom) * error
    assert (rows["high"] - rows["smoothed"]).to_numpy() == pytest.approx(half)
    assert (rows["smoothed"] - rows["low"]).to_numpy() == pytest.approx(half)


def test_with_few_edits_bands_are_of_these_pairs_and_with_one_run_there_is_none() -> None:
    few = rising(0.9, (5.9, 6.0, 6.2), clusters=5)
    assert not few.has_error
    pd.testing.assert_frame_equal(
        curve_bands([few], [False])[0], curve_bands([with_known_error(few)], [False])[0]
    )
    (rows,) = curve_bands([rising(0.9, (6.0,), clusters=3)], [False])
    assert rows.drop(columns="smoothed").isna().all(axis=None)
    assert rows["smoothed"].notna().all()


def test_no_curve_has_no_band() -> None:
    assert curve_bands([], []) == []
