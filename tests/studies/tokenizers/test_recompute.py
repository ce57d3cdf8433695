"""The second computation of the study's numbers: it shares no code with the first and finds a number that differs."""

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from studies.tokenizers import recompute


def test_it_imports_nothing_of_the_project():
    tree = ast.parse(Path(recompute.__file__).read_text(encoding="utf-8"))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported -= {"studies.second_shape"}  # which imports nothing of it either
    assert not {name.split(".")[0] for name in imported} & {"analysis", "eval", "train", "ucurve", "studies"}


@pytest.mark.parametrize(("found", "expected"), [(0.5, 0.0), (0.75, 0.25), (np.nan, np.inf)])
def test_the_largest_difference_is_found_where_the_page_shows_a_number(found, expected):
    page = pd.DataFrame({"tokenizer": ["char", "word"], "accuracy": [0.5, np.nan]})
    again = [{"tokenizer": "char", "accuracy": found}, {"tokenizer": "word", "accuracy": 0.9}]
    worst, _, compared = recompute.largest_difference(page, again, ["tokenizer"])
    assert (worst, compared) == (expected, 1)


def test_linking_functions_ties_and_intervals_are_those_of_the_definitions():
    lp, n, unigram = (np.array([value]) for value in (-12.0, 4.0, -20.0))
    values = {name: recompute.linked(name, lp, n, unigram)[0] for name in ("lp", "mean_lp", "slln_lp", "slor")}
    assert values == {"lp": -12, "mean_lp": -3, "slln_lp": -6, "slor": 2}
    sides = (np.array([-1.0, -1.0, -1.0]), np.array([-2.0, -1.0, 0.0]))
    ones = (np.ones(3), np.ones(3))
    assert recompute.Checkpoint(1, 1.0, sides, ones, ones).credit("lp").tolist() == [1, 0.5, 0]
    bounds = recompute.interval([0.0, 1.0, 2.0], "a")
    assert bounds["a_high"] - bounds["a"] == pytest.approx(4.302653 / np.sqrt(3))
