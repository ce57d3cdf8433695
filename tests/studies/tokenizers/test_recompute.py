"""The second computation of the study's numbers: it shares no code with the first and finds a number that differs."""

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind

from studies.tokenizers import recompute


def test_it_imports_nothing_of_the_project():
    tree = ast.parse(Path(recompute.__file__).read_text(encoding="utf-8"))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    # These import nothing of it either.
    imported = {name for name in imported if not name.startswith("studies.recomputed")}
    assert not {name.split(".")[0] for name in imported} & {"analysis", "eval", "train", "ucurve", "studies"}


def test_linking_functions_ties_and_intervals_are_those_of_the_definitions():
    lp, n, unigram = (np.array([value]) for value in (-12.0, 4.0, -20.0))
    values = {name: recompute.linked(name, lp, n, unigram)[0] for name in ("lp", "mean_lp", "slln_lp", "slor")}
    assert values == {"lp": -12, "mean_lp": -3, "slln_lp": -6, "slor": 2}
    sides = (np.array([-1.0, -1.0, -1.0]), np.array([-2.0, -1.0, 0.0]))
    ones = (np.ones(3), np.ones(3))
    assert recompute.Checkpoint(1, 1.0, sides, ones, ones).credit("lp").tolist() == [1, 0.5, 0]
    bounds = recompute.interval([0.0, 1.0, 2.0], "a")
    assert bounds["a_high"] - bounds["a"] == pytest.approx(4.302653 / np.sqrt(3))


def test_differences_of_tokenizers_have_welchs_interval():
    sides = [0.1, 0.2, 0.4], [0.3, 0.5, 0.9]
    expected = ttest_ind(*sides, equal_var=False).confidence_interval(0.95)
    bounds = recompute.contrast(sides, (1, -1), "d")
    assert (bounds["d_low"], bounds["d_high"]) == pytest.approx((expected.low, expected.high))
    assert "d_low" not in recompute.contrast(([0.1], [0.2]), (1, -1), "d")


def test_the_committed_tables_at_equal_loss_are_computed_again_from_means_and_deviations():
    data = Path(__file__).parents[3] / "docs" / "data"
    means, page = (pd.read_csv(data / f"study_{name}_at_equal_loss.csv") for name in ("accuracy", "differences"))
    keys = means[["bits_per_byte", "phenomenon", "tokenizer"]].itertuples(index=False, name=None)
    values = means[["accuracy", "sd"]].itertuples(index=False, name=None)
    assert set(means["runs"]) == {3}
    seeds = {key: [mean - sd, mean, mean + sd] for key, (mean, sd) in zip(keys, values, strict=True)}
    again = recompute.with_intervals(means[["bits_per_byte", "phenomenon", "tokenizer"]], seeds)
    assert again[["low", "high"]].to_numpy() == pytest.approx(
        means[["low", "high"]].to_numpy(), rel=2e-5, abs=1e-6
    )
    both = page.merge(recompute.differences_of(seeds), on=["bits_per_byte", "phenomenon", "of"], validate="1:1")
    assert len(both) == len(page)
    for name in ("difference", "low", "high", "p", "p_holm"):
        found, again = both[f"{name}_x"].to_numpy(), both[f"{name}_y"].to_numpy()
        assert found == pytest.approx(again, rel=1e-4, abs=1e-6, nan_ok=True), name


@pytest.mark.parametrize(
    ("good", "bad", "split"),
    [
        ([1, 2, 3, 4], [1, 5, 3, 4], (1, 2)),
        ([1, 2], [1, 2, 2], (2, 0)),
        ([1, 2, 1], [1, 1], (1, 1)),
        ([3], [4], (0, 0)),
    ],
)
def test_the_critical_region_is_between_the_common_beginning_and_end(good, bad, split):
    assert recompute.split_regions(good, bad) == split


def test_a_tokenizer_is_first_where_every_seed_is_before_all_others():
    rows = [("a", 3.0), ("a", 2.9), ("a", 2.8), ("b", 2.7), ("b", np.nan), ("b", 2.5)]
    onsets = pd.DataFrame(rows, columns=["tokenizer", "bits_per_byte"]).assign(phenomenon="x", from_start=False)
    (row,) = recompute.learned_first(onsets)
    assert (row["first"], row["chance"], row["b_runs"]) == ("a", 2 / 20, 2)
    (row,) = recompute.learned_first(onsets.assign(from_start=[True] + [False] * 5))
    assert row["first"] == ""
