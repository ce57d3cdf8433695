"""What is known about one benchmark is data: no Python outside the tests has the name of one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ucurve.eval.benchmarks.registry import benchmark_names

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("ucurve", "train", "eval", "analysis", "launch", "measurements", "tokenizers")
OUR_OWN = {"demo", "custom"}
NAMES = sorted(set(benchmark_names()) - OUR_OWN, key=len, reverse=True)  # of families too
WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def pattern(names: list[str]) -> re.Pattern[str]:
    """Matches a name that stands alone or beside signs and underscores, not within a word."""
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, names))})(?![^\W_])")


IN_TEXT = pattern(NAMES)  # as registered: papers and data sets, such as BLiMP, are written with capitals
IN_IDENTIFIER = pattern([name.replace("-", "_") for name in NAMES])


def python_files() -> list[Path]:
    """All files of Python outside the tests."""
    found = (file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py")))
    return [
        *ROOT.glob("*.py"),
        *(file for file in found if file.resolve() == file),
    ]  # not over the links of ucurve/


def docstrings(tree: ast.AST) -> set[int]:
    """The identities of the constants that are docstrings."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, WITH_DOCSTRING) and node.body and isinstance(node.body[0], ast.Expr):
            found.add(id(node.body[0].value))
    return found


def identifiers(node: ast.AST) -> Iterator[str]:
    """The names that a node of the tree has itself: of variables, arguments, attributes, functions, modules.

    The folder of a maker of pairs has the name of its source, so that who imports it names it.
    """
    if isinstance(node, ast.ImportFrom) and str(node.module).startswith("ucurve.generation"):
        return
    for field, value in ast.iter_fields(node):
        if not isinstance(node, ast.Constant) and field != "type_comment":
            yield from (part for part in (value if isinstance(value, list) else [value]) if isinstance(part, str))


def named_benchmarks(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of every benchmark in literals (bytes too) and identifiers of a source, docstrings left out."""
    tree = ast.parse(source)
    documented = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in documented and isinstance(node.value, str | bytes):
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            yield from ((node.lineno, name) for name in IN_TEXT.findall(text))
        for identifier in identifiers(node):
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", identifier)
            for name in {*IN_IDENTIFIER.findall(words.lower()), *IN_IDENTIFIER.findall(identifier.lower())}:
                yield getattr(node, "lineno", 0), name


def test_no_benchmark_is_named_in_python():
    files = {file.relative_to(ROOT).as_posix(): file for file in python_files()}
    assert len(files) > 150
    assert {
        "eval/settings.py",
        "analysis/sections.py",
        "measurements/speed/scoring.py",
        "score.py",
    } <= files.keys()
    found = [
        f"{name}:{line}: {benchmark}"
        for name, file in files.items()
        for line, benchmark in named_benchmarks(file.read_text(encoding="utf-8"))
    ]
    found += [f"{name}: its own name" for name in files if IN_IDENTIFIER.search(name.lower().replace("-", "_"))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("TABLE = {'rublimp': 1}", "rublimp"),
        ("x = 1\nif name == 'tse/hin':\n    pass", "tse"),
        ("say(f'{run}: add benchmarks=[zhoblimp]')", "zhoblimp"),
        ("x = 'zhoblimp-excluded@20'", "zhoblimp-excluded"),
        ("x = b'swe-blimp'", "swe-blimp"),
        ("TSE_LEVELS = 1", "tse"),
        ("def zhoblimp_sections(): ...", "zhoblimp"),
        ("class SwaBlimpReader: ...", "blimp"),
        ("read(sling=True)", "sling"),
        ("table.multiblimp", "multiblimp"),
        ("from cards.blimp_nl import read", "blimp_nl"),
        ("import cards as climp", "climp"),
        ("def f(clams=1): ...", "clams"),
        ("def f():\n    x = 1\n    'as jblimp'", "jblimp"),
    ],
)
def test_a_planted_name_is_found(source, name):
    assert [found for _, found in named_benchmarks(source)] == [name]


@pytest.mark.parametrize(
    "source",
    [
        '"""As for zhoblimp."""',
        'def f():\n    """As multiblimp/nld, a benchmark."""',
        "x = 1  # of rublimp",
        "note = 'accuracies of the paper (ZhoBLiMP, section 4.1; TSE, Table 1)'",
        "itself = 'cutset, sublimpid and tsetse'",
        "x = ['demo', 'custom']",
    ],
)
def test_papers_docstrings_comments_and_other_words_pass(source):
    assert list(named_benchmarks(source)) == []


def test_the_line_of_a_name_is_given():
    assert list(named_benchmarks("x = 1\ny = 'rublimp'\n")) == [(2, "rublimp")]
