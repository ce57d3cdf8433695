import numpy as np
import pandas as pd
import pytest

from ucurve.analysis.models.categories import box_table, certainty_correlations, confidence_table


def test_a_box_by_hand() -> None:
    """Quartiles of 0, 1, 2, 3, 4, 20: 1.25 and 3.75; the whiskers end at 0 and 4, and 20 lies beyond."""
    points = pd.DataFrame({"suite": "s", "model": list("abcdef"), "delta_nll": [0, 1, 2, 3, 4, 20.0]})
    (box,) = box_table(points).to_dict("records")
    assert [box[name] for name in ("q1", "median", "q3", "whisker_low", "whisker_high")] == [
        1.25,
        2.5,
        3.75,
        0,
        4,
    ]
    assert (box["models"], box["outliers"]) == (6, "f")


def test_boxes_stand_by_median_and_leave_out_what_is_missing() -> None:
    points = pd.DataFrame({
        "suite": ["a", "a", "b", "b"], "model": ["x", "y", "x", "y"], "delta_nll": [0.1, np.nan, 0.5, 0.7],
    })  # fmt: skip
    table = box_table(points)
    assert table["category"].tolist() == ["b", "a"]
    assert table["models"].tolist() == [2, 1]


def test_certainty_stands_against_accuracy_over_categories() -> None:
    points = pd.DataFrame({
        "suite": ["a", "a", "b", "b", "c", "c"], "model": ["x", "y"] * 3,
        "delta_nll": [0.0, 0.2, 0.3, 0.5, np.nan, 0.9], "accuracy": [0.5, 0.5, 0.7, 0.9, 0.1, 1.0],
    })  # fmt: skip
    table = confidence_table(points)
    assert table["delta_nll"].tolist() == pytest.approx([0.1, 0.4, 0.9])
    assert table["accuracy"].tolist() == pytest.approx([0.5, 0.8, 1.0])
    assert table["models"].tolist() == [2, 2, 1]
    r, rho = certainty_correlations(table)
    assert r == pytest.approx(np.corrcoef([0.1, 0.4, 0.9], [0.5, 0.8, 1.0])[0, 1])
    assert rho == pytest.approx(1)


def test_two_categories_or_one_level_have_no_correlation() -> None:
    table = pd.DataFrame({"delta_nll": [0.1, 0.2, 0.3], "accuracy": [0.5, 0.5, 0.5]})
    assert np.isnan(certainty_correlations(table)).all()
    assert np.isnan(certainty_correlations(table.assign(accuracy=[0.1, 0.2, 0.3]).head(2))).all()
