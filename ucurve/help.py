"""What ``--help`` of a command prints, made of the comments in ``conf/``: what it does, examples, and its keys."""

import itertools
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ucurve import config_files
from ucurve.arguments import with_implied_choices
from ucurve.invocation import command

_WIDTH = 100  # a line has so many letters
_COLUMN = 30  # where the words about a key begin
_LINE = re.compile(r"""(?P<indent> *)"?(?P<key>[\w.]+)"?:(?P<value>.*?)(\s+# (?P<words>.*))?$""")
_EXAMPLE = re.compile(r"(python|ucurve) \S+")
_SCORING = "eval"  # its keys are those of another command


@dataclass(frozen=True)
class Key:
    """A key of a configuration file, its default as written there (empty for a part that has keys), and its words."""

    name: str
    value: str
    words: str


def command_help(name: str, arguments: Sequence[str] = ()) -> str:
    """Return what a command does, three examples, and its keys with their defaults, by the parts they belong to.

    Of a group they are the keys of what the arguments choose, or else of the default.
    """
    groups = config_files.groups(name)
    chosen = {group: choice or "null" for group, _, choice in config_files.chosen(f"{name}.yaml")}
    for group, _, choice in (argument.partition("=") for argument in with_implied_choices(name, arguments)):
        chosen |= {group: choice} if f"{group}/{choice}.yaml" in config_files.choices(group) else {}
    said, examples = _header(name)
    keys = list(_read_keys(f"{name}.yaml"))
    for group, prefix in groups.items():
        keys += _group_keys(group, prefix, f"{group}/{chosen[group]}.yaml")
    lines = [
        f"usage: {command(name, '[key=value] ...')}",
        "",
        *textwrap.wrap(" ".join(said), _WIDTH),
        "",
        "Examples",
    ]
    lines += [f"  {example}" for example in examples]
    if choices := [line for group in groups for line in _choice_lines(group, chosen[group])]:
        other = f"{command(name, next(iter(groups)))}=NAME --help"
        lines += ["", f"Choices; the keys below are theirs; of others: {other}", *choices]
    about = {key.name: f"  ({key.words})" for key in keys if key.words and not key.value}
    for part, found in _by_part(keys).items():
        title = f"{part}.*{about.get(part, '')}" if part else "Keys"
        lines += [
            "",
            *textwrap.wrap(title, _WIDTH, subsequent_indent="  "),
            *(line for key in found for line in _key_lines(key)),
        ]
    if groups.get(_SCORING):
        lines += [
            "",
            f"The keys of scoring, as benchmarks=, are keys here too; {command('score', '--help')} explains them.",
        ]
    return "\n".join([*lines, ""])


def _header(name: str) -> tuple[list[str], list[str]]:
    """Return the sentences and the examples in the comment at the beginning of a configuration file."""
    said: list[str] = []
    examples: list[str] = []
    for line in _text(f"{name}.yaml").splitlines():
        if not line.startswith("# "):
            break
        words = line.removeprefix("# ")
        if _EXAMPLE.match(words):
            examples.append(_EXAMPLE.sub(lambda _: command(name), words, count=1))
        else:
            said.append(words)
    return said, examples


def _text(file: str) -> str:
    return (config_files.CONFIGURATION / file).read_text(encoding="utf-8")


def _read_keys(file: str) -> Iterator[Key]:
    """Yield the keys of a configuration file in order; words about one stand behind it, or in lines above it.

    Lines at the beginning are about the file.
    """
    above: list[str] = []
    parts: list[str] = []
    for line in itertools.dropwhile(lambda line: line.startswith("# "), _text(file).splitlines()):
        if line.lstrip().startswith("# "):
            above.append(line.strip().removeprefix("# "))
            continue
        found = _LINE.match(line)
        if found and not line.startswith("defaults:"):
            parts = [*parts[: len(found["indent"]) // 2], found["key"]]
            words = "; ".join(filter(None, [" ".join(above).removesuffix("."), found["words"]]))
            yield Key(".".join(parts), found["value"].strip(), words)
        above = []


def _by_part(keys: list[Key]) -> dict[str, list[Key]]:
    """Return the keys that have a value by their part, each once: where choices share one, the first with words."""
    known: dict[str, Key] = {}
    for key in keys:
        if key.value and not (key.name in known and (known[key.name].words or not key.words)):
            known[key.name] = key
    parts: dict[str, list[Key]] = {"": []}
    for name, key in known.items():
        part = name.rpartition(".")[0]
        if part not in known:  # otherwise it is part of a mapping that is shown as a whole
            parts.setdefault(part, []).append(key)
    return {part: found for part, found in parts.items() if found}


def _group_keys(group: str, prefix: str, choice: str) -> Iterator[Key]:
    """Yield the keys of the file of a choice, but for those of scoring below ``eval`` and of experiments."""
    if group == "experiment" or (group == _SCORING and prefix) or choice not in config_files.choices(group):
        return
    for file in config_files.with_bases(choice):
        above = "" if config_files.package(file) == config_files.AT_THE_TOP else prefix
        for key in _read_keys(file):
            if key.name not in ("kind", group, f"{group}.kind"):
                yield Key(f"{above}{key.name}", key.value, key.words)


def _choice_lines(group: str, choice: str) -> Iterator[str]:
    names = [file.rpartition("/")[2].removesuffix(".yaml") for file in config_files.choices(group)]
    if len(names) > 1:
        yield from _key_lines(Key(group, choice, f"one of {', '.join(names)}"))


def _key_lines(key: Key) -> list[str]:
    """Return the lines about a key: its default on the left, words about it on the right."""
    value = "..." if key.value == "???" else re.sub(r"\$\{(.*?)\}", r"\1", key.value).replace(", ", ",")
    given = f"  {key.name}={value}"
    said = "; ".join(filter(None, ["needed" * (key.value == "???"), key.words]))
    words = textwrap.wrap(said, _WIDTH - _COLUMN) or [""]
    first = f"{given:<{_COLUMN - 2}}  {words[0]}".rstrip()
    lines = [first] if len(given) <= _COLUMN - 2 else [given, *([" " * _COLUMN + words[0]] if words[0] else [])]
    return lines + [" " * _COLUMN + line for line in words[1:]]
