"""The demo certifies a U-shaped curve, and figure, table and notebook give it the same class: after ``make demo``."""

import re

import pandas as pd
import pytest

from measurements.shapes.demo_u import PHENOMENON, certify
from tests.train.launching import ROOT
from ucurve.analysis.api import open_study, shape_sections

RUNS = f"{ROOT}/runs/demo/*"
FIGURES = ROOT / "figures" / "demo"


@pytest.mark.demo
def test_the_demo_has_a_curve_that_is_certified_as_u_shaped():
    found = certify(RUNS)
    assert found["class"] == "U-shaped"
    assert found["p_holm"] < 0.05
    assert found["lowest"] < 20
    assert 35 < found["start"] < 65
    assert found["end"] > 85


@pytest.mark.demo
def test_figure_table_and_notebook_give_the_same_class():
    table = pd.read_csv(FIGURES / "shapes_demo.csv").set_index("phenomenon")
    assert table.loc[PHENOMENON, "runs"] == 3
    assert table.loc[PHENOMENON, ["class", "shape", "class_these_runs"]].tolist() == ["U-shaped"] * 3
    [scored] = open_study(RUNS).benchmarks()
    shape, *_ = shape_sections(scored)
    assert shape.tables["shapes_demo"].set_index("phenomenon").loc[PHENOMENON, "shape"] == "U-shaped"
    texts = re.findall(r"<!-- (.*?) -->", (FIGURES / "shapes_demo_phenomena.svg").read_text(encoding="utf-8"))
    assert texts[texts.index("compound classifier") - 1] == "U"
