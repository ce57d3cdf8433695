"""The p values of the mean over the lines of the study of 100 million tokens, from its published curves."""

import pytest

from measurements.pooled_lines import ALL_RUNS, line_tests, read_curves
from ucurve.eval.metrics.significance import holm


@pytest.mark.long
def test_the_mean_of_the_published_lines_rises_in_13_of_15_phenomena() -> None:
    table = line_tests(read_curves())
    pooled = table[(table["line"] == ALL_RUNS) & (table["phenomenon"] != "all")].set_index("phenomenon")
    assert (holm(pooled["rise"].to_numpy()) <= 0.05).sum() == 13
    assert set(pooled.index[holm(pooled["fall"].to_numpy()) <= 0.05]) == {"ellipsis", "quantifiers"}
    assert pooled.loc["fci_licensing", "rise"] < 0.001
    assert pooled.loc["npi_licensing", "rise"] == pytest.approx(0.0005, abs=0.0003)
    assert pooled.loc["quantifiers", "rise"] == pytest.approx(0.002, abs=0.001)
    assert pooled.loc["classifier", "bump"] == pytest.approx(0.0013, abs=0.0006)
    assert pooled.loc[["classifier", "quantifiers"], "dip"].tolist() == pytest.approx([0.004, 0.005], abs=0.0015)
    assert pooled.loc["fci_licensing", ["dip", "depth"]].tolist() == pytest.approx([0.35, 0.046], abs=0.03)
    assert pooled.loc["quantifiers", ["depth", "at"]].tolist() == pytest.approx([0.248, 1.39e6], rel=0.01)
