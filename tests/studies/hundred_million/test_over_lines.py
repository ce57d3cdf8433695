"""The mean over the lines of the study: what it shows on the page, and that a second computation finds it too."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from studies.hundred_million.over_lines import mean_over_lines
from studies.hundred_million.page import PAGE
from studies.recomputed import shape
from studies.recomputed.compare import Comparison
from studies.recomputed.lines import compare_lines

DOCS = Path(__file__).parents[3] / "docs"
LEVEL = 0.05
TOKENS = 10.0 ** np.linspace(4, 8, 13)


def made_up_tables(seeds: dict[str, int]) -> dict[str, pd.DataFrame]:
    """Make lines of so many runs, of which one phenomenon rises from .4 to .8 and another one stays."""
    random, rows = np.random.default_rng(0), []
    for line, runs in seeds.items():
        for run in range(runs):
            for name, end in (("rises", 0.8), ("stays", 0.4)):
                accuracies = np.linspace(0.4, end, len(TOKENS)) + random.normal(0, 0.01, len(TOKENS))
                where = {"line": line, "run": f"{line}-{run}", "phenomenon": name}
                rows += [{**where, "tokens": 0.0, "accuracy": 0.5}]
                rows += [
                    {**where, "tokens": at, "accuracy": one} for at, one in zip(TOKENS, accuracies, strict=True)
                ]
    shapes = pd.DataFrame({"phenomenon": ["rises", "stays"], "items": [300, 600]})
    return {"run_curves": pd.DataFrame(rows), "shapes": shapes}


def test_the_mean_is_tested_with_the_runs_of_all_lines() -> None:
    table = mean_over_lines(made_up_tables({"a": 2, "b": 1, "c": 1}))["over_lines"].set_index("phenomenon")
    assert table.loc["rises", ["lines", "runs", "items"]].tolist() == [3, 4, 300]
    assert table.loc["rises", "p_rise_holm"] <= LEVEL < table.loc["stays", "p_rise_holm"]
    assert table.loc["rises", ["start", "end"]].tolist() == pytest.approx([0.4, 0.8], abs=0.03)


def test_lines_of_one_run_each_have_no_error_over_seeds() -> None:
    assert mean_over_lines(made_up_tables({"a": 1, "b": 1}))["over_lines"].empty


def test_a_second_computation_agrees_and_finds_what_was_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape, "DRAWS", 2_000)
    tables = made_up_tables({"a": 3, "b": 2})
    tables |= mean_over_lines(tables)
    agreeing, differing = Comparison(), Comparison()
    compare_lines(tables, agreeing)
    tables["over_lines"].loc[0, ["p_fall", "dip", "bottom"]] = 0.01, 0.5, 1.0
    compare_lines(tables, differing)
    assert (agreeing.differ, differing.differ) == (0, 3)


def test_the_published_mean_rises_in_13_of_15_phenomena() -> None:
    table = PAGE.read_tables(DOCS)["over_lines"].set_index("phenomenon").drop("all")
    shown = {name: set(table.index[table[f"p_{name}_holm"] <= LEVEL]) for name in ("rise", "fall", "dip", "bump")}
    assert set(table.index) - shown["rise"] == {"anaphor", "ellipsis"}
    assert (shown["fall"], shown["dip"], shown["bump"]) == ({"ellipsis", "quantifiers"}, set(), {"classifier"})
    assert set(table.index[table["q_dip"] <= LEVEL]) == {"classifier", "quantifiers"}
    assert table.loc["fci_licensing", ["dip", "p_dip"]].tolist() == pytest.approx([0.046, 0.33], abs=0.03)
    assert table.loc["quantifiers", ["dip", "bottom"]].tolist() == pytest.approx([0.248, 1.39e6], rel=0.01)


@pytest.mark.long
def test_the_published_table_is_made_of_the_published_accuracies() -> None:
    tables = PAGE.read_tables(DOCS)
    again = mean_over_lines(tables)["over_lines"]
    pd.testing.assert_frame_equal(again, tables["over_lines"], check_dtype=False, rtol=1e-3, atol=0.01)
