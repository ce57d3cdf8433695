import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.papers import printed, tse_figure1
from ucurve.analysis.models.sizes import slope_table, slopes_by_suite


def test_every_slope_and_average_of_tse_table_1() -> None:
    """80 slopes and 20 averages, to the rounding of accuracies and slopes; XGLM-4.5B belongs to no line."""
    models = tse_figure1()
    found = slopes_by_suite(slope_table(models[models["model"] != "human"])).set_index("suite")
    table = printed("tse_table1").set_index("suite")
    assert found.shape == table.shape == (20, 5)
    difference = (found[list(table.columns)] - table).abs().to_numpy()
    assert difference.max() <= 0.0005 + 1e-9


def test_signs_of_slopes_as_section_5_2_says() -> None:
    models = tse_figure1()
    found = slopes_by_suite(slope_table(models[models["model"] != "human"])).set_index("suite")
    assert (found > 0).sum().to_dict() == {"mGPT": 12, "BLOOM": 20, "XGLM": 19, "XLM-R": 17, "average": 19}
    assert found.index[found["average"] < 0].tolist() == ["basque-S-S_V_AUX"]


def test_a_line_through_two_models_joins_them() -> None:
    points = pd.DataFrame({
        "line": ["f", "f", None, "g"], "suite": "s", "parameters": [1e9, 3e9, 2e9, 1e9], "accuracy": [0.5, 0.9, 0, 1],
    })  # fmt: skip
    table = slope_table(points)
    assert table.to_dict("records") == [{"line": "f", "suite": "s", "models": 2, "slope": pytest.approx(20.0)}]


def test_suites_without_a_slope_stay_gaps() -> None:
    points = pd.DataFrame({
        "line": ["f", "f", "g", "g", "f", "f"], "suite": ["a", "a", "a", "a", "b", "b"],
        "parameters": [1e9, 2e9] * 3, "accuracy": [0.5, 0.6, 0.5, 0.7, 0.5, 0.8],
    })  # fmt: skip
    table = slopes_by_suite(slope_table(points))
    assert table["average"].tolist() == pytest.approx([15.0, 30.0])
    assert np.isnan(table.loc[1, "g"])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=3, max_size=8), st.floats(-0.2, 0.2), st.floats(0.1, 5))
def test_slopes_add_up_and_scale(accuracies: list[float], shift: float, scale: float) -> None:
    """Shifting accuracies changes nothing; models ``scale`` times as large have a slope as much smaller."""
    sizes = 1e9 * np.arange(1, len(accuracies) + 1)
    frames = {
        "plain": (sizes, np.array(accuracies)), "moved": (sizes, np.array(accuracies) + shift),
        "larger": (sizes * scale, np.array(accuracies)),
    }  # fmt: skip
    points = pd.concat(
        [
            pd.DataFrame({"line": "f", "suite": name, "parameters": x, "accuracy": y})
            for name, (x, y) in frames.items()
        ]
    )
    slope = slope_table(points).set_index("suite")["slope"]
    assert slope["moved"] == pytest.approx(slope["plain"], abs=1e-9)
    assert slope["larger"] * scale == pytest.approx(slope["plain"], abs=1e-9)
