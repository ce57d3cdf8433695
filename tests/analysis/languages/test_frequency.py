import numpy as np
import pandas as pd
import pytest

from ucurve.analysis.languages.section import fit_logistic, residual_table
from ucurve.analysis.scaling.laws import logistic_law


def test_a_planted_curve_is_found() -> None:
    frequency = np.geomspace(1e3, 1e10, 60)
    found = fit_logistic(
        frequency,
        logistic_law(frequency, np.array([0.97, 1.4, 6.0])) + np.random.default_rng(0).normal(0, 0.005, 60),
    )
    assert found is not None
    top, slope, middle = found
    assert top == pytest.approx(0.97, abs=0.01)
    assert [slope, middle] == pytest.approx([1.4, 6.0], abs=0.1)


def test_a_curve_is_half_way_up_at_its_middle() -> None:
    assert logistic_law(np.array([1000.0]), np.array([0.9, 2.0, 3.0])).tolist() == pytest.approx([0.7])


def test_too_few_languages_have_no_curve() -> None:
    assert fit_logistic(np.array([1.0, 10, 100, 1000]), np.array([0.5, 0.6, 0.7, 0.8])) is None
    assert fit_logistic(np.full(9, 10.0), np.linspace(0.5, 0.9, 9)) is None


def test_over_and_underperformers_are_named() -> None:
    frequency = np.geomspace(1e3, 1e9, 30)
    accuracy = logistic_law(frequency, np.array([0.95, 1.5, 6.0]))
    accuracy[5] += 0.25
    accuracy[25] -= 0.25
    points = pd.DataFrame({
        "model": "m", "language": [f"l{number}" for number in range(30)], "frequency": frequency, "n": 1000,
        "accuracy": accuracy,
    })  # fmt: skip
    gap = points.tail(1).assign(language="unknown", frequency=np.nan)
    table = residual_table(pd.concat([points, gap]))
    assert table.loc[table["verdict"] == "over", "language"].tolist() == ["l5"]
    assert table.loc[table["verdict"] == "under", "language"].tolist() == ["l25"]
    assert table["language"].tolist()[0] == "l5"
    assert table["language"].tolist()[-1] == "l25"
    assert "unknown" not in set(table["language"])


def test_a_language_of_few_pairs_is_neither() -> None:
    frequency = np.geomspace(1e3, 1e9, 30)
    accuracy = logistic_law(frequency, np.array([0.95, 1.5, 6.0]))
    accuracy[5] += 0.25
    points = pd.DataFrame(
        {"model": "m", "language": range(30), "frequency": frequency, "n": 8, "accuracy": accuracy}
    )
    assert (residual_table(points)["verdict"] == "").all()


def test_no_language_with_a_frequency_gives_no_rows() -> None:
    points = pd.DataFrame(
        {"model": ["m"], "language": ["l"], "frequency": [np.nan], "n": [10], "accuracy": [0.5]}
    )
    assert residual_table(points).empty
