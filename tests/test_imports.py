"""Which folder may import which: each imports only what stands before it, so that no circle can grow."""

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# In each line of a package, what stands together imports nothing of each other, and only lines before it. A name is a
# folder or a module of the package. Imports inside functions and for type checkers count as well.
ORDER = {
    "ucurve": [
        "errors interpreter",
        "fields invocation config_files",
        "gather progress provenance text_table arguments",
        "storage config",
        "templates huggingface help yaml_files",
        "cli token_stream",
        "eval",
        "training",
        "generation validation",
        "analysis",
        "launch",
        "workbench",
    ],
    "ucurve.storage": ["files", "faults sealed tabular", "run_folder", "locks facts", "score_key"],
    "ucurve.huggingface": [
        "attention lstm products selective_scan tokenizer_files model_files",
        "foreign_code",
        "file_tokenizer",
        "pretrained",
        "revisions",
    ],
    "ucurve.eval": [
        "linking pairs",
        "models",
        "benchmarks scoring metrics",
        "store presets edits",
        "settings leaderboard",
        "sweep verify watch",
        "run",
        "api",
    ],
    "ucurve.eval.scoring": [
        "text sharing",
        "batching",
        "output",
        "loading",
        "base",
        "mink",
        "causal masked prompt ngrams",
        "scorers",
    ],
    "ucurve.training": [
        "corpus model optim checkpoint_schedule evaluation identity",
        "tokenizer objective",
        "data config",
        "engine plan",
        "run_folder",
        "factors",
        "run",
        "replay",
        "verify grid",
        "cli batches",
        "api",
    ],
    "ucurve.analysis": [
        "plotting",
        "data charts",
        "figures",
        "report",
        "items linking models",
        "paradigms",
        "curves shape scaling",
        "acquisition pairs languages ngrams change_points summary",
        "tokens",
        "lines",
        "overview power",
        "notebook",
        "api sections",
        "run",
    ],
    "ucurve.generation": [
        "lengths order treebank",
        "differences",
        "maker variety",
        "folder templates tse sweblimp rublimp multiblimp decontaminate benchmark_folder check",
        "run",
    ],
    "ucurve.generation.multiblimp": [
        "languages features",
        "lexicon",
        "relations",
        "collocations",
        "inflection",
        "check make",
    ],
    "ucurve.generation.rublimp": ["check resources text", "grammar", "rule", "rules", "make"],
    "ucurve.validation": ["answer_files questionnaire", "items", "judging loading", "answers"],
    "ucurve.launch": ["arguments relay slurm", "cost status workers prune", "demo emit publish selftest"],
    "ucurve.workbench": [
        "settings replies pages",
        "room login",
        "security",
        "explore write judge",
        "server",
        "command",
    ],
}


def modules() -> dict[str, Path]:
    """Every module of the package, by its name; the folders of the root are in it by links."""
    found = {}
    for folder, _, files in os.walk(ROOT / "ucurve", followlinks=True):
        for path in sorted(Path(folder, name) for name in files if name.endswith(".py")):
            found[".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")] = path
    return found


MODULES = modules()


def imports(name: str) -> Iterator[tuple[str, int]]:
    """The modules of the suite that one imports, wherever it does, with the line."""
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        targets = []
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{MODULES[name]}:{node.lineno}: an import relative to the file"
            both = [f"{node.module}.{alias.name}" for alias in node.names]
            targets = [one if one in MODULES else str(node.module) for one in both]
        yield from ((target, node.lineno) for target in targets if target in MODULES)


def lines_of(package: str) -> dict[str, int]:
    """The place of each folder and module of a package in its order."""
    return {name: line for line, names in enumerate(ORDER[package]) for name in names.split()}


def unit(module: str, package: str) -> str:
    """The folder or module of a package that a module belongs to."""
    return module.removeprefix(package).lstrip(".").split(".")[0]


@pytest.mark.parametrize("package", ORDER)
def test_imports_go_in_the_stated_direction(package):
    places, wrong = lines_of(package), []
    inside = [name for name in MODULES if name.startswith(f"{package}.") and unit(name, package) in places]
    for name in inside:
        for target, line in imports(name):
            here, there = unit(name, package), unit(target, package)
            if target in inside and here != there and places[there] >= places[here]:
                wrong.append(f"{MODULES[name].relative_to(ROOT)}:{line} imports {target}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", ORDER)
def test_every_folder_and_module_has_a_place(package):
    folder = ROOT / Path(*package.split("."))
    there = {path.parent.name for path in folder.glob("*/__init__.py")}
    there |= {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    assert there == set(lines_of(package)), package


def test_no_module_imports_itself_over_others():
    graph = {name: {target for target, _ in imports(name) if target != name} for name in MODULES}
    left = dict(graph)
    while ready := [name for name, targets in left.items() if not targets & left.keys()]:
        for name in ready:
            del left[name]
    assert not left, f"a circle among {sorted(left)}"


def named_in_strings(path: Path) -> Iterator[str]:
    """The beginnings of the names of modules that a file hands to what imports them, as far as it writes them out."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in (
            "import_module",
            "PackageLoader",
        ):
            first = node.args[0].values[0] if isinstance(node.args[0], ast.JoinedStr) else node.args[0]
            if isinstance(first, ast.Constant):
                yield str(first.value)


def test_modules_that_are_named_in_strings_are_found_from_every_folder():
    found = {name: path for path in MODULES.values() for name in named_in_strings(path)}
    assert len(found) > 5
    wrong = {name: path for name, path in found.items() if not name.startswith(("ucurve.", "IPython."))}
    assert not wrong
