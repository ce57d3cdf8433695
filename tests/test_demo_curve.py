"""The demo certifies a U-shaped curve, and figure, table and notebook give it the same class."""

import re
import subprocess
import sys

import pandas as pd
import pytest

from measurements.demo_u import PHENOMENON, certify
from tests.train.launching import ROOT, environment
from ucurve.analysis.api import open_study, shape_sections


def run(*arguments):
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The three runs of the demo, scored and analyzed."""
    folder = tmp_path_factory.mktemp("demo")
    run("train.py", "experiment=demo", *(f"paths.{name}={folder / name}" for name in ("runs", "cache", "tokenizers")))
    run("analyze.py", f"runs={folder}/runs/*", f"out={folder}/figures")
    return folder


@pytest.mark.long
def test_the_demo_has_a_curve_that_is_certified_as_u_shaped(folder):
    found = certify(f"{folder}/runs/*")
    assert found["class"] == "U-shaped"
    assert found["p_holm"] < 0.05
    assert found["lowest"] < 20
    assert 35 < found["start"] < 65
    assert found["end"] > 85


@pytest.mark.long
def test_figure_table_and_notebook_give_the_same_class(folder):
    table = pd.read_csv(folder / "figures/shapes_demo.csv").set_index("phenomenon")
    assert table.loc[PHENOMENON, "runs"] == 3
    assert table.loc[PHENOMENON, ["class", "shape", "class_these_runs"]].tolist() == ["U-shaped"] * 3
    [scored] = open_study(f"{folder}/runs/*").benchmarks()
    shape, *_ = shape_sections(scored)
    assert shape.tables["shapes_demo"].set_index("phenomenon").loc[PHENOMENON, "shape"] == "U-shaped"
    texts = re.findall(r"<!-- (.*?) -->", (folder / "figures/shapes_demo_phenomena.svg").read_text(encoding="utf-8"))
    assert texts[texts.index("compound classifier") - 1] == "U"
