"""The commands that README.md and docs/ print have keys and choices that exist, and README's links lead somewhere."""

import re
import shlex
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt

from ucurve.arguments import quoted_where_needed
from ucurve.config import compose, sweep
from ucurve.eval.linking import FAMILIES

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
CONFIGURATIONS = {path.stem: path for path in (ROOT / "conf").glob("*.yaml") if path.stem != "command"}
COMPOSED_AS = {
    "train": "train",
    "score": "score",
    "build": "build",
    "cost": "train",
    "generate": "generate",
    "emit": "train",
    "status": "train",
    "workers": "train",
}
COMMAND = re.compile(r"(?:python|ucurve|torchrun|deepspeed) (?:-\S+ (?:\d+ )?)*([\w./]+?)(?:\.py)? (.+)")
PLACEHOLDER = re.compile(r"-m|--help|\.\.\.|<the|grid>|source=NAME")


def printed_commands(page):
    """Yield the configuration and the arguments of each command in a page's code, without remarks and placeholders."""
    text = re.sub(r"\s*\\\n\s*", " ", page.read_text(encoding="utf-8"))
    code = re.findall(r"^ *```\w*\n(.*?)^ *```$", text, flags=re.DOTALL | re.MULTILINE) + re.findall(
        r"`([^`\n]+)`", text
    )
    for line in "\n".join(code).splitlines():
        found = COMMAND.match(line.strip())
        name = re.split(r"[./]", found.group(1))[-1] if found else None
        if name in CONFIGURATIONS:
            arguments = shlex.split(found.group(2).partition(";")[0], comments=True)
            yield name, [argument for argument in arguments if not PLACEHOLDER.fullmatch(argument)]


COMMANDS = sorted(
    {
        (page.name, name, *rest)
        for page in (README, *(ROOT / "docs").glob("*.md"))
        for name, rest in printed_commands(page)
    }
)


def keys(values, prefix=""):
    for key, value in values.items():
        yield f"{prefix}{key}"
        if isinstance(value, dict):
            yield from keys(value, f"{prefix}{key}.")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_keys_of_a_printed_command_exist(command):
    _, name, *arguments = command
    own = set(keys(yaml.safe_load(CONFIGURATIONS[name].read_text(encoding="utf-8"))))
    composed = COMPOSED_AS.get(name)
    if "score" in arguments:  # workers that score
        composed = "score"
        arguments.remove("score")
    if composed is None:
        assert {argument.partition("=")[0] for argument in arguments} <= own
        return
    left = [
        quoted_where_needed(argument)
        for argument in arguments
        if composed == name or argument.partition("=")[0] not in own
    ]
    for cell in sweep(composed, left):
        compose(composed, cell)


def test_every_command_is_printed_somewhere():
    assert {name for _, name, *_ in COMMANDS} == set(CONFIGURATIONS)


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#]+)", README.read_text(encoding="utf-8")))
def test_link_of_the_readme_leads_somewhere(target):
    assert (ROOT / target).exists()


def test_every_linking_function_is_explained():
    text = (ROOT / "docs" / "scoring.md").read_text(encoding="utf-8")
    assert [name for name in FAMILIES if f"`{name}" not in text] == []


def test_every_source_of_pairs_is_explained():
    text = (ROOT / "docs" / "generate.md").read_text(encoding="utf-8")
    sources = [path.stem for path in (ROOT / "conf" / "source").glob("*.yaml")]
    assert [name for name in sources if not re.search(rf"\b{name}\b", text)] == []


@pytest.mark.parametrize("page", [README, *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name)
def test_no_line_of_a_sentence_begins_a_list(page):
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines()
    lists = [token for token in MarkdownIt().parse(text) if token.type.endswith("list_open") and token.level == 0]
    assert [lines[token.map[0]] for token in lists if token.map[0] and lines[token.map[0] - 1].strip()] == []
