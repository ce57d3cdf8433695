"""The notebooks run top to bottom on run folders, after a change of one line, and hold no logic."""

import ast
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

import ucurve
from tests.analysis.item_runs import make_item_run, pair_table
from tests.analysis.notebooks import NOTEBOOKS, ROOT, read, run_on, running_kernel, source_of
from tests.analysis.synthetic import run_maker
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.registry import find_benchmark

STEPS = (0, 1, 2, 4, 8, 16, 32, 64)
MOST_COLUMNS = 12  # of a table: more do not fit on a screen
NAMES = ("first_look", "flips", "flops_curves", "grid", "length_bias", "own_pairs", "study", "u_shape")
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
    assert [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names] == [
        "ucurve"
    ] * (name in NAMES)
    assert len(notebook.cells) <= MOST_CELLS or name == "study"
    assert modules <= {"ucurve.analysis.api", *OF_STUDIES.get(name, ())}


def test_nothing_that_a_reader_copies_names_a_run_by_its_seed() -> None:
    """Only runs that differ in nothing else have names in which the seed alone tells them apart."""
    texts = [*ROOT.glob("docs/*.md"), ROOT / "README.md", *NOTEBOOKS, *ROOT.glob("analysis/**/*.py")]
    named = [path for path in texts if re.search(r"[\"']s\d+\\?[\"']", path.read_text(encoding="utf-8"))]
    assert len(texts) > 100
    assert named == []


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
    name: str, runs: str, trained: str, folders: Path, kernel: KernelManager
) -> None:
    others = {"own_pairs": trained, "grid": f"{folders}/tokenizers/*"}
    done = run_on(name, others.get(name, runs), kernel)
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


MINI = ["model.name=mini", "model.layers=1", "model.width=32", "model.heads=2", "model.feed_forward=64"]
BERT = ["model=bert-14m", "model.name=bert-mini", "model.config.hidden_size=32", "model.config.num_hidden_layers=1",
        "model.config.num_attention_heads=2", "model.config.intermediate_size=64"]  # fmt: skip
TRAINED = {  # by name, with the folders it is in
    "tiny-3K-char-texts-s0": ([], "one tokenizers sizes architectures benchmarks"),
    "tiny-3K-word-texts-s0": (["tokenizer=word"], "tokenizers benchmarks"),
    "tiny-3K-bpe-texts-s0": (["tokenizer=bpe"], "tokenizers"),
    "tiny-3K-char-texts-s1": (["seed=1"], "sizes"),
    "mini-3K-char-texts-s0": (MINI, "sizes"),
    "mini-3K-char-texts-s1": ([*MINI, "seed=1"], "sizes"),
    "bert-mini-3K-char-texts-s0": (BERT, "architectures"),
}
KINDS = {  # of folders, with what the first lines on the screen begin with
    "one": "", "tokenizers": "", "sizes": "", "architectures": "",
    "benchmarks": "several benchmarks were scored; demo@4 is shown",
}  # fmt: skip
OWN = ["三本书|三书", "两本书|两书", "五本书|五书", "十本书|十书", "一本书|一书"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of runs that were trained and scored on the demo's pairs; those of ``benchmarks`` on others too."""
    root = tmp_path_factory.mktemp("kinds")
    sentences = load_benchmark(find_benchmark("demo"))["good"]
    texts = "".join(json.dumps({"text": sentence}, ensure_ascii=False) + "\n" for sentence in sentences)
    (root / "texts.jsonl").write_text(texts, encoding="utf-8")
    given = ["model=tiny", "tokenizer=char", "tokens=3K", "batch.sequences=8", "batch.length=32", "schedule.count=4",
             "eval.benchmarks=[demo]", "eval.subset=4", f"data.path={root / 'texts.jsonl'}",
             *(f"paths.{name}={root / name}" for name in ("runs", "cache", "tokenizers"))]  # fmt: skip
    for name, (own, kinds) in TRAINED.items():
        chosen = {key.partition("=")[0] for key in own}
        ucurve.train(*(key for key in given if key.partition("=")[0] not in chosen), *own)
        for kind in kinds.split():
            shutil.copytree(root / "runs" / name, root / kind / name)
    (root / "own").mkdir()
    (root / "own" / "card.yaml").write_text(
        "name: own\nlanguage: zho\ncolumns: {paradigm: UID}\n", encoding="utf-8"
    )
    members = [[f"李阿姨买了{each}。" for each in pair.split("|")] for pair in OWN]
    rows = [{"UID": "p", "phenomenon": "f", "sentence_good": good, "sentence_bad": bad} for good, bad in members]
    (root / "own" / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    ucurve.score(f"{root}/benchmarks/*", benchmarks=[str(root / "own")])
    return root


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "study"])
def test_a_notebook_runs_on_run_folders_of_every_kind(
    name: str, kind: str, folders: Path, kernel: KernelManager
) -> None:
    done = run_on(name, f"{folders}/{kind}/*", kernel)
    shown = [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]
    said = "".join(output.text for output in shown if output.output_type == "stream")
    if name == "own_pairs":
        assert said == ""
        return
    assert said.startswith(KINDS[kind])
    assert "Warning" not in said
    # One line about the benchmark that is shown, and one about each table that is empty.
    assert said.count("several benchmarks were scored") == bool(KINDS[kind])
    lacks_seeds = "no two runs on the same pairs differ in the seed only"
    assert (lacks_seeds in said) == (name == "flips" and kind != "sizes")


@pytest.mark.parametrize("name", ON_FILES)
def test_a_notebook_on_files_of_the_docs_runs(name: str) -> None:
    with running_kernel() as own:
        done = NotebookClient(read(name), km=own, timeout=60).execute()
    shown = [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in shown if output.output_type == "stream"]  # no warning
    assert sum("image/png" in output["data"] for output in shown) == 4
