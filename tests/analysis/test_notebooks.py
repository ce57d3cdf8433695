"""The notebooks run top to bottom on run folders, after a change of one line, and hold no logic."""

import ast
from collections.abc import Iterator

import nbformat
import numpy as np
import pandas as pd
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

import ucurve
from tests.analysis.item_runs import make_item_run, pair_table
from tests.analysis.notebooks import NOTEBOOKS, read, run_on, running_kernel, source_of
from tests.analysis.synthetic import run_maker

STEPS = (0, 1, 2, 4, 8, 16, 32, 64)
MOST_COLUMNS = 12  # of a table: more do not fit on a screen
NAMES = ("first_look", "flips", "flops_curves", "length_bias", "own_pairs", "study", "u_shape")
ON_FILES = ("hundred_million",)  # read the CSV files of a page of the docs and no run folder
MOST_CELLS = 14
OF_STUDIES = {
    "study": ("os", "studies.tokenizers.page", "studies.tokenizers.tables"),
    "hundred_million": ("os", "studies.hundred_million.figures", "studies.hundred_million.page"),
}
_PLAIN = (
    ast.Assign, ast.Attribute, ast.BinOp, ast.BitAnd, ast.Call, ast.Compare, ast.Constant, ast.Eq, ast.Expr,
    ast.FormattedValue, ast.Import, ast.ImportFrom, ast.JoinedStr, ast.List, ast.Load, ast.Module, ast.Name, ast.Starred,
    ast.Slice, ast.Store, ast.Subscript, ast.Tuple, ast.alias, ast.keyword,
)  # fmt: skip


def test_these_are_the_notebooks() -> None:
    assert sorted(path.stem for path in NOTEBOOKS) == sorted([*NAMES, *ON_FILES])


@pytest.mark.parametrize("name", [*NAMES, *ON_FILES])
def test_a_notebook_is_stored_without_outputs_and_holds_no_logic(name: str) -> None:
    notebook = read(name)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
    nodes = list(ast.walk(ast.parse(source_of(notebook))))
    assert not [node for node in nodes if not isinstance(node, _PLAIN)]
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names] == ["ucurve"] * (
        name in NAMES
    )
    assert len(notebook.cells) <= MOST_CELLS or name == "study"
    assert modules <= {"ucurve.analysis.api", *OF_STUDIES.get(name, ())}


@pytest.fixture(scope="module")
def kernel() -> Iterator[KernelManager]:
    with running_kernel() as started:
        yield started


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("notebooks")
    pairs, random = pair_table({"BA_1": "BA", "passive_1": "passive"}, 60), np.random.default_rng(0)
    for seed in (0, 1):
        half_points = {step: random.binomial(1, 0.5 + place / 20, 120) * 2 for place, step in enumerate(STEPS)}
        bits = {step: 6 / step**0.2 for step in STEPS[1:]}
        made = make_item_run(run_maker(folder), pairs, half_points, seed=seed, bits=bits)
        for path in (made / "eval" / "zho" / "sentence").iterdir():
            scores = pd.read_parquet(path)
            scores.assign(n_good=3 + np.arange(len(scores)) % 3).to_parquet(path)  # 4 in the bad member
    return f"{folder}/runs/*"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run of 12 steps, whose checkpoints score pairs."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "texts.jsonl").write_text('{"text": "张先生买了三本书。"}\n' * 200, encoding="utf-8")
    places = [f"paths.{name}={folder / name}" for name in ("runs", "cache", "tokenizers")]
    small = ["batch.sequences=8", "batch.length=16", "schedule.count=4", f"data.path={folder / 'texts.jsonl'}"]
    ucurve.train("model=tiny", "tokens=1536", "tokenizer=char", *small, *places)
    return f"{folder}/runs/*"


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_on_other_runs_after_a_change_of_its_path(
    name: str, runs: str, trained: str, kernel: KernelManager
) -> None:
    done = run_on(name, trained if name == "own_pairs" else runs, kernel)
    shown = [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in shown if output.output_type == "stream"]  # no warning
    data = [output["data"] for output in shown]
    frames = [one["text/html"] for one in data if 'class="dataframe"' in one.get("text/html", "")]
    heads = [html.split("</thead>")[0] for html in frames]
    assert all(head.count("<th>") <= MOST_COLUMNS + 1 for head in heads)  # and the index
    assert not any("<th>...</th>" in head for head in heads)
    assert any("<table" in one.get("text/html", "") for one in data)
    drawn = ("data:image/png", "data-chart=")
    assert name == "own_pairs" or any(
        "image/png" in one or any(mark in one.get("text/html", "") for mark in drawn) for one in data
    )


@pytest.mark.parametrize("name", ON_FILES)
def test_a_notebook_on_files_of_the_docs_runs(name: str) -> None:
    with running_kernel() as own:
        done = NotebookClient(read(name), km=own, timeout=60).execute()
    shown = [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in shown if output.output_type == "stream"]  # no warning
    assert sum("image/png" in output["data"] for output in shown) == 4
