import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from measurements.intervals.curve_intervals import population
from measurements.shapes.dip_levels import Cell, simulate
from ucurve.analysis.shape.bands import curve_bands
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.smoothing import Curve
from ucurve.analysis.shape.tables import lay_out_curve


def laid_out(curve: Curve, untrained: float = np.nan) -> pd.DataFrame:
    return lay_out_curve("line", "all", curve, curve_bands([curve], [True])[0], untrained)


def test_the_band_of_checkpoints_that_vary_by_themselves_is_wide_enough_for_all_of_them() -> None:
    """Far apart checkpoints of independent pairs: the quantile is that of the largest of ten normal numbers."""
    right = np.random.default_rng(0).random((1, 10, 4000)) < 0.7
    curve = estimate_curve(np.logspace(0, 20, 10), (2 * right).astype(np.uint8), np.zeros(4000, dtype=np.int64))
    rows = laid_out(curve)
    quantile = ((rows["band_high"] - rows["smoothed"]) / np.sqrt(0.7 * 0.3 / 4000)).median()
    assert quantile == pytest.approx(norm.ppf(0.5 + 0.95**0.1 / 2), rel=0.05)
    assert (
        (rows["high"] - rows["smoothed"]) / (rows["band_high"] - rows["smoothed"])
    ).to_numpy() == pytest.approx(1.96 / quantile, rel=0.05)


def test_step_0_has_an_accuracy_and_no_band() -> None:
    half_points = np.random.default_rng(1).integers(0, 3, (2, 5, 40)).astype(np.uint8)
    rows = laid_out(estimate_curve(np.logspace(4, 6, 5), half_points, np.zeros(40, int)), 0.5)
    assert list(rows) == [
        "line", "phenomenon", "tokens", "accuracy", "smoothed", "low", "high", "band_low", "band_high",
    ]  # fmt: skip
    assert rows.iloc[0][["tokens", "accuracy"]].tolist() == [0, 0.5]
    assert rows.iloc[0][["smoothed", "low", "band_low"]].isna().all()
    assert (rows["band_low"][1:] <= rows["low"][1:]).all()
    assert (rows["high"][1:] <= rows["band_high"][1:]).all()


def test_the_band_holds_the_whole_curve_and_the_intervals_do_not() -> None:
    """The reduced form of ``measurements.intervals.curve_intervals``; fewer than 33 of 40 has p = .004 where 95 % hold."""
    cell = Cell("flat", "ar1", 300, 15, 3)
    truth = population(cell, np.linspace(0, 1, 15))
    held = np.zeros(2)
    for number in range(40):
        curve = estimate_curve(*simulate(cell, np.random.default_rng(number)))
        rows = laid_out(curve)
        for kind, name in enumerate(("band_", "")):
            held[kind] += ((rows[f"{name}low"] <= truth) & (truth <= rows[f"{name}high"])).all()
    assert held[0] >= 33
    assert held[1] <= held[0]
