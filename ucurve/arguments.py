"""The arguments of a command as people type them, turned into overrides that Hydra reads."""

import itertools
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Override
from hydra.errors import HydraException

from ucurve.config_files import NO_VALUE, groups, known_keys
from ucurve.errors import UserError, refuse_missing_folder
from ucurve.fields import format_count
from ucurve.invocation import command

SEARCHPATH = "hydra.searchpath="
# So lists, mappings and sweeps begin; an interpolation may stand anywhere.
_NO_TEXT = re.compile(r"\s*([\[{]|\w+\()|.*\$\{", re.DOTALL)
BRACKETS = set("[]{}")
_DEEPEST = 50  # brackets in one another
_LONGEST_VALUE = 500  # characters of a value in a message
IMPLIED = {  # by a key that is given, or a key with its value
    "data.path": ("data", "text"),
    "data.dataset": ("data", "hub"),
    "data.parts": ("data", "mixture"),
    "tokenizer.path": ("tokenizer", "hub"),
    "data=demo": ("tokenizer", "char"),
}
MULTIRUN = ("-m", "--multirun")
# Options are these, and Hydra's with a value:
_OPTIONS = {
    *MULTIRUN,
    "-h",
    "--help",
    "--version",
    "-r",
    "--run",
    "--resolve",
}
_WITH_A_VALUE = {
    *("-c", "--cfg", "-p", "--package", "-i", "--info", "-cn", "--config-name", "-cp", "--config-path"),
    *("--hydra-help", "-sc", "--shell-completion", "--experimental-rerun"),
}
_SCORING = "eval."  # before the keys of scoring, where a command has others too
# Alone they may be meant for training, which has its own keys for them.
_NOT_OF_SCORING = (
    "device",
    "dtype",
    "words",
)
_THOUSANDS = re.compile(r"tokens=(\d{1,3}(,\d{3})+)")  # as people write a number, and not several numbers
_ONE_OF_A_GRID = ("tokens",)  # has no default that shows that it is one number


def read_arguments(words: Sequence[str]) -> list[str]:
    """Return the arguments of a command as overrides and options of Hydra, values quoted where its grammar needs it.

    ``--config-dir DIR`` becomes an override, so that cells and launch files, which are made of overrides, know it too.
    """
    _refuse_options_for_settings(words)
    for found in filter(None, map(_THOUSANDS.fullmatch, words)):
        count = int(found[1].replace(",", ""))
        raise UserError(f"{found[0]}: commas separate the values of a grid; write tokens={format_count(count)}")
    left, arguments = list(words), []
    while left:
        option, equals, value = left.pop(0).partition("=")
        if option in ("--config-dir", "-cd") and (equals or left):
            folder = Path(value if equals else left.pop(0))
            refuse_missing_folder("--config-dir", folder)
            arguments.append(f"{SEARCHPATH}[{_quoted(f'file://{folder.resolve()}')}]")
        else:
            arguments.append(quoted_where_needed(f"{option}{equals}{value}"))
    return sorted(arguments, key=_is_override)  # Hydra's parser takes no option between overrides


def _refuse_options_for_settings(words: Sequence[str]) -> None:
    """Answer ``--model 14m`` and ``model 14m``, as other programs want them, with the way settings are given here."""
    left, meant, is_wrong = list(words), [], False
    while left:
        key, equals, value = (word := left.pop(0)).partition("=")
        if key in _WITH_A_VALUE or key in ("--config-dir", "-cd"):
            return
        has_value = bool(left) and "=" not in left[0] and left[0][0:1] not in ("-", "~")
        is_option = key.startswith("-") and key not in _OPTIONS
        if is_option or (not equals and has_value and word.replace(".", "_").isidentifier()):
            value = value if equals else left.pop(0) if has_value else "true"
            word, is_wrong = f"{key.lstrip('-').replace('-', '_')}={value}", True
        meant.append(word)
    if is_wrong:
        raise UserError(f"settings are key=value: {shlex.join(meant)}")


def with_lists(name: str, arguments: Sequence[str]) -> list[str]:
    """Read ``key=a,b`` as a list where ``-m`` does not make it a sweep; a key that is one value answers with ``-m``."""
    if set(arguments) & set(MULTIRUN):
        return list(arguments)
    defaults = known_keys(name)
    found = []
    for argument in arguments:
        override = _parsed(argument) if _is_override(argument) else None
        value = None if override is None else override._value
        if not isinstance(value, ChoiceSweep) or not value.simple_form:
            found.append(argument)
            continue
        key, _, values = argument.partition("=")
        default = defaults.get(key.lstrip("+"))
        is_text = isinstance(default, str) and default != NO_VALUE and not set("*$") & set(default)
        if key in (*groups(name), *_ONE_OF_A_GRID) or is_text or isinstance(default, int | float):
            grid = command(name, f"-m {argument}")
            raise UserError(f"{argument}: one value is expected; several make a grid: {grid}")
        found.append(f"{key}=[{values}]")
    return found


def with_implied_choices(name: str, arguments: Sequence[str]) -> list[str]:
    """Add the choice of a group that a key alone means, unless it is chosen: ``data.path=TEXTS`` is ``data=text``.

    A key that only scoring has is found below ``eval.``: ``benchmarks=blimp`` is the same for ``train`` and ``score``.
    """
    defaults = known_keys(name)
    found = []
    for argument in arguments:
        key = argument.lstrip("+~").partition("=")[0]
        is_alone = key not in defaults and key not in _NOT_OF_SCORING and f"{_SCORING}{key}" in defaults
        of_scoring = argument.replace(key, f"{_SCORING}{key}", 1)
        found.append(of_scoring if is_alone and _is_override(argument) else argument)
    given = [argument.lstrip("+") for argument in found if _is_override(argument)]
    keys = {argument.partition("=")[0] for argument in given}
    known = groups(name)
    implied: dict[str, str] = {}
    for key, (group, choice) in IMPLIED.items():
        if (key in keys or key in given) and group not in keys and group in known:
            implied.setdefault(group, choice)
    return [*found, *(f"{group}={choice}" for group, choice in implied.items())]


def _is_override(argument: str) -> bool:
    return ("=" in argument and not argument.startswith("-")) or argument.startswith("~")


def quoted_where_needed(argument: str) -> str:
    """Quote the value of ``key=value`` where Hydra's grammar has no plain form of it, as for a path in Chinese."""
    depths = itertools.accumulate((character in "[{(") - (character in "]})") for character in argument)
    if max(depths, default=0) > _DEEPEST:
        raise UserError(
            f"the argument {shorten(repr(argument))} has more than {_DEEPEST} brackets in one another"
        )
    key, equals, value = argument.partition("=")
    if not equals or argument.startswith("-") or _parsed(argument) is not None:
        return argument
    unfolded = f"{key}={' '.join(value.splitlines())}"
    # A list may be written on several lines.
    if value.startswith(("[", "{")) and _parsed(unfolded) is not None:
        return unfolded
    # Names of runs hold such values, as -rate=wsd.
    if "=" in value and "{" not in value and _parsed(f"{key}={value.replace('=', '_')}") is not None:
        return f"{key}={re.sub('[^][,]*=[^][,]*', lambda name: _quoted(name[0]), value)}"
    quoted = f"{key}={_quoted(value)}"
    is_text = not set(value) & BRACKETS or _NO_TEXT.match(value) is None
    return quoted if is_text and _parsed(quoted) is not None else argument


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _parsed(argument: str) -> Override | None:
    """Return an override as Hydra's grammar reads it; None for one that it cannot read."""
    try:
        return OverridesParser.create().parse_override(argument)
    except (HydraException, ValueError, RecursionError):  # an integer of thousands of digits, as many brackets
        return None


def shorten(text: str) -> str:
    """Cut a value that a message quotes."""
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
