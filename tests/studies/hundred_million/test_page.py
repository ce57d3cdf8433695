"""The page of a study: made of its CSV files alone, from runs with planted curves, and computed again without analysis."""

import ast
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from studies.hundred_million import recompute
from studies.hundred_million.__main__ import main
from studies.hundred_million.page import PAGE
from studies.recomputed import shape
from tests.analysis.item_runs import make_item_run, pair_table
from tests.analysis.synthetic import run_maker

STEPS = (0, *(2**power for power in range(13)))
N = 200
DIP, FALL = "fci_licensing", "topicalization"  # that dips in the middle, and that falls at the end


def make_runs(folder):
    """Make two tokenizers with three seeds each, whose curves are alike."""
    pairs = pair_table({f"{name}_1": name for name in (DIP, FALL, "BA")}, N)
    random = np.random.default_rng(0)
    for tokenizer in ("char", "bpe"):
        for seed in range(3):
            half_points = {}
            for place, step in enumerate(STEPS):
                accuracies = 0.3 if 5 <= place <= 8 else 0.8, 0.3 if place > 10 else 0.8, 0.5
                half_points[step] = 2 * random.binomial(1, np.repeat(accuracies, N))
            bits = {step: 4 - np.log2(step) / 10 for step in STEPS[1:]} | {STEPS[-1]: 4.0 + seed / 10}
            make_item_run(
                run_maker(folder), pairs, half_points, seed=seed, tokenizer=tokenizer, bits=bits, held_out=bits
            )
    return folder / "runs"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return make_runs(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def docs(runs, tmp_path_factory):
    out = tmp_path_factory.mktemp("docs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["hundred_million", "--runs", f"{runs}/*", "--out", str(out)])
        main()
    return out


def table_of(docs, name):
    return pd.read_csv(docs / "data" / "hundred_million" / f"{name}.csv", keep_default_na=False, na_values=[""])


def test_the_tables_say_what_was_planted(docs):
    shapes = table_of(docs, "shapes").set_index(["line", "phenomenon"])
    for line in ("14m char", "14m bpe"):
        assert shapes.loc[(line, DIP), "found"] == "falls and rises again, earlier"
        assert shapes.loc[(line, DIP), ["runs_with_dip", "runs_with_dip_each"]].tolist() == [3, 3]
        assert 2**5 * 16_384 <= shapes.loc[(line, DIP), "bottom"] <= 2**8 * 16_384
        assert shapes.loc[(line, FALL), "found"] == "falls"
        assert shapes.loc[(line, "BA"), "found"] in ("undetermined", "stays")
    paradigms = table_of(docs, "paradigms")
    assert set(paradigms.loc[paradigms["found"].str.startswith("falls and"), "paradigm"]) == {f"{DIP}_1"}
    decade = table_of(docs, "last_decade").set_index(["line", "phenomenon"])
    assert decade.loc[("14m char", FALL), "change_high"] < 0
    assert decade.loc[("14m char", FALL), "falling"] == 3
    losses = table_of(docs, "held_out_changes").set_index("line")
    assert losses["rise"].to_list() == pytest.approx([4.1 - (4 - 1.1)] * 2)
    assert losses["rising"].to_list() == [3, 3]


def test_the_first_screen_says_what_becomes_of_the_phenomena_that_the_paper_names(docs):
    page = (docs / "hundred-million.md").read_text(encoding="utf-8")
    first = page.split("![")[0]
    fci, topicalization = (
        first.split(f"**{name}**\n\n")[1].splitlines() for name in ("FCI licensing", "Topicalization")
    )
    assert fci[0].startswith("- In the mean over the 2 lines, a dip is shown, of 5")
    assert fci[1].startswith("- Falls and rises again, but earlier than in the paper: `14m")
    assert topicalization[0].startswith("- In the mean over the 2 lines, a fall is shown")
    assert topicalization[1].startswith("- Falls and has not risen again by the end")
    assert "Of 6 curves of phenomena, 2 fall and rise again in that sense: fci licensing of" in first


def test_the_page_is_made_of_its_files_alone(docs):
    page = PAGE.render(docs)
    assert page == (docs / "hundred-million.md").read_text(encoding="utf-8")
    findings = docs / "data" / "hundred_million" / "findings.jinja"
    findings.write_text("What was found: {{ runs | length }} lines.\n", encoding="utf-8")
    assert "What was found: 2 lines." in PAGE.render(docs)
    findings.unlink()
    assert "were not scored by n-gram models" in page


def test_the_committed_page_is_made_of_the_committed_files():
    committed = Path(__file__).parents[3] / "docs"
    assert PAGE.render(committed) == (committed / "hundred-million.md").read_text(encoding="utf-8")


def again(monkeypatch, runs, docs):
    monkeypatch.setattr(shape, "DRAWS", 2_000)  # to be quick; the error that is allowed grows with it
    monkeypatch.setattr(
        sys,
        "argv",
        ["recompute", "--runs", *map(str, sorted(runs.iterdir())), "--docs", str(docs), "--benchmark", "zho"],
    )
    with pytest.raises(SystemExit) as ended:
        recompute.main()
    return ended.value.code


def test_computed_again_every_number_is_the_same_but_those_that_were_changed(
    runs, docs, tmp_path, monkeypatch, capsys
):
    changed = shutil.copytree(docs, tmp_path / "docs")
    changes = {
        "last_decade": "change",
        "smoothed": "band_high",
        "paradigms": "bottom_high",
        "equal_text": "p_holm",
    }
    for name, column in changes.items():
        path = changed / "data" / "hundred_million" / f"{name}.csv"
        table = pd.read_csv(path)
        table.loc[table[column].notna().idxmax(), column] *= 100
        table.to_csv(path, index=False)
    path = changed / "data" / "hundred_million" / "shapes.csv"
    table = pd.read_csv(path)
    shown = table.index[(table["linking"] == recompute.SHOWN) & (table["phenomenon"] == DIP)][0]
    table.loc[shown, ["p_dip", "class_these_pairs"]] = 0.5, "flat"
    table.to_csv(path, index=False)
    assert again(monkeypatch, runs, changed) == 1
    out = capsys.readouterr().out
    assert f" {len(changes) + 2} differ;" in out.splitlines()[-1]
    assert all(f"  {name}, {column} of " in out for name, column in changes.items())
    where = f"{table.loc[shown, 'line']}, {DIP}, {recompute.SHOWN}"
    assert f"{where}: 0.5 and " in out
    assert f"{where}: flat and U-shaped" in out


def test_the_second_computation_imports_nothing_of_the_suite():
    tree = ast.parse(Path(recompute.__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    # These import nothing of it either.
    modules = {name for name in modules if not name.startswith("studies.recomputed")}
    assert not {name.split(".")[0] for name in modules} & {"analysis", "eval", "ucurve", "train", "studies"}
