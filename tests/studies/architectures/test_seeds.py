"""Comparisons of architectures over seeds, from tables with planted differences."""

import ast
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from studies.architectures.seeds import comparisons, differences_along_curves, mean_at_equal
from studies.recomputed import architectures

TOKENS = np.geomspace(1e4, 4e6, 14)
DOCS = Path(__file__).parents[3] / "docs"


def curves_of(middles, phenomena=("all", "passive", "BA", "question"), seeds=3, scorer="sentence"):
    """Runs that rise from 50 to 90 % around the tokens of their architecture, each a little earlier or later."""
    random, rows = np.random.default_rng(0), []
    for line, middle in middles.items():
        for seed in range(seeds):
            for phenomenon in phenomena:
                place = np.log10(middle) + random.normal(0, 0.02)
                accuracy = 0.5 + 0.4 / (1 + np.exp(-6 * (np.log10(TOKENS) - place)))
                one = pd.DataFrame({"tokens": [0.0, *TOKENS], "accuracy": [0.5, *accuracy]})
                rows.append(one.assign(line=line, run=f"{line}-{seed}", phenomenon=phenomenon, scorer=scorer))
    return pd.concat(rows, ignore_index=True)


def tables_of(curves):
    at = curves[curves["tokens"] == TOKENS[-1]].assign(equal_in="tokens", level=TOKENS[-1], last=True)
    return {"run_curves": curves, "runs_at_equal": at.drop(columns="scorer").reset_index(drop=True)}


def test_architectures_that_learn_at_other_times_have_the_ratio_that_was_planted():
    found = comparisons(tables_of(curves_of({"gpt_neox": 2e5, "llama": 4e5})))
    ratios = found["time_ratios"]
    assert set(ratios["phenomenon"]) == {"all", "passive", "BA", "question"}
    assert ratios["ratio"].to_numpy() == pytest.approx(0.5, rel=0.15)
    assert (ratios["high"] < 1).all()
    assert (ratios["p_holm"] < 0.05).all()
    along = found["along"].set_index("phenomenon").loc["all"]
    assert along["of"] == "gpt_neox - llama"
    assert along["higher"].startswith("from ")
    assert along["lower"] == ""
    assert 1.5e5 < along["at"] < 6e5
    assert along["low"] < along["largest"] < along["high"]
    at_end = found["differences"].set_index("phenomenon").loc["all"]
    assert abs(at_end["difference"]) < 0.01  # at the end both know all


def test_a_masked_architecture_has_no_place_along_the_curves():
    few = curves_of({"bert": 2e5}, scorer="pll")
    found = comparisons(
        tables_of(pd.concat([curves_of({"gpt_neox": 2e5, "llama": 2e5}), few], ignore_index=True))
    )
    assert set(found["along"]["of"]) == set(found["time_ratios"]["line"] + " - " + found["time_ratios"]["other"])
    assert set(found["along"]["of"]) == {"gpt_neox - llama"}
    assert set(found["at_equal"]["line"]) == {"gpt_neox", "llama", "bert"}


def test_few_settings_have_students_interval_and_one_seed_has_none():
    """Fewer than four settings with several seeds are not moderated."""
    rows = pd.DataFrame({"line": ["a", "a", "a", "b"], "accuracy": [0.5, 0.6, 0.7, 0.8], "tokens": 1e6})
    rows = rows.assign(equal_in="tokens", level=1e6, last=True, phenomenon="all")
    found = mean_at_equal(rows).set_index("line")
    half = student.ppf(0.975, 2) * 0.1 / np.sqrt(3)
    assert found.loc["a", ["accuracy", "low", "high"]].tolist() == pytest.approx([0.6, 0.6 - half, 0.6 + half])
    assert found.loc["b", ["low", "high"]].isna().all()
    assert found["runs"].to_dict() == {"a": 3, "b": 1}


def test_curves_of_few_checkpoints_are_not_compared():
    curves = curves_of({"gpt_neox": 2e5, "llama": 4e5})
    assert differences_along_curves(curves[curves["tokens"].isin([0.0, *TOKENS[:3]])]).empty


def test_the_second_computation_imports_nothing_of_the_suite():
    tree = ast.parse(Path(architectures.__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    of_studies = {name for name in modules if name.split(".")[0] == "studies"}
    assert of_studies <= {"studies.recomputed", "studies.recomputed.compare"}
    assert not {name.split(".")[0] for name in modules} & {"analysis", "eval", "ucurve", "train"}


@pytest.mark.long
@pytest.mark.parametrize("changed", [(), ("differences", "time_ratios", "along")])
def test_every_comparison_of_the_committed_page_is_computed_again(changed, tmp_path, monkeypatch, capsys):
    data = tmp_path / "data" / "architectures"
    data.mkdir(parents=True)
    for path in (DOCS / "data" / "architectures").glob("*.csv"):
        table = pd.read_csv(path)
        if path.stem in changed:
            table.loc[0, "high"] += 0.01
        table.to_csv(data / path.name, index=False)
    monkeypatch.setattr(sys, "argv", ["architectures", "--docs", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        architectures.main()
    assert ended.value.code == (1 if changed else 0)
    assert f" {len(changed)} differ" in capsys.readouterr().out.splitlines()[-1]
