"""Configuration: Hydra composes it, a frozen dataclass checks it, and a mistake in it becomes one message."""

import contextlib
import copy
import functools
import itertools
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import hydra
import yaml
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from ucurve.errors import UserError, did_you_mean, missing_folder, unknown_name
from ucurve.invocation import command

_HERE = Path(__file__).resolve().parent
CONFIGURATION = next(folder for folder in (_HERE / "conf", _HERE.parent / "conf") if folder.is_dir())  # wheel, checkout
_HYDRA_ERRORS = (HydraException, OmegaConfBaseException)
_OTHER_ERRORS = (ValueError, TypeError, RecursionError, yaml.YAMLError)  # YAML: of a folder of --config-dir
AT_THE_TOP = "_global_"  # the package of a file whose keys have no group before them
_NO_VALUE = "???"  # OmegaConf's mark for a key that must be given
_SEARCHPATH = "hydra.searchpath="
_NO_TEXT = re.compile(r"\s*([\[{]|\w+\()|.*\$\{", re.DOTALL)  # how lists, mappings and sweeps begin; an interpolation
_BRACKETS = set("[]{}")
_DEEPEST = 50  # brackets in one another
_QUOTE = "; quote text that has brackets within a list, as runs=['a[1]',b], and once more for the shell"
_LONGEST_VALUE = 500  # characters of a value in a message
_IMPLIED = {  # by a key that is given, or a key with its value
    "data.path": ("data", "text"),
    "data.dataset": ("data", "hub"),
    "tokenizer.path": ("tokenizer", "hub"),
    "data=demo": ("tokenizer", "char"),
}
_MULTIRUN = ("-m", "--multirun")
_OPTIONS = {*_MULTIRUN, "-h", "--help", "--version", "-r", "--run", "--resolve"}  # these, and Hydra's with a value:
_WITH_A_VALUE = {
    *("-c", "--cfg", "-p", "--package", "-i", "--info", "-cn", "--config-name", "-cp", "--config-path"),
    *("--hydra-help", "-sc", "--shell-completion", "--experimental-rerun"),
}
_LIST_TYPES = ("tuple_type", "list_type")
_ONE_OF_A_GRID = ("tokens",)  # has no default that shows that it is one number
Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Composed:
    """One composed command line: under ``-m`` one of its cells."""

    values: dict[str, object]
    overrides: tuple[str, ...]  # of Hydra's own only ``hydra.searchpath``


def compose_command_line(
    name: str, arguments: Sequence[str], run_elsewhere: Callable[[Composed], None]
) -> list[Composed]:
    """Let Hydra read a command line and return what it composes: under ``-m`` every cell, else one.

    ``hydra.main`` does it: launchers, and options such as ``--cfg`` that print and end the process, exist there alone.
    A launcher of Hydra's (``hydra/launcher=submitit_slurm``) sends the cells to ``run_elsewhere``.
    """
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra otherwise prints the error itself and exits with 1
    sys.argv[1:] = with_implied_choices(name, arguments)
    found: list[Composed] = []
    unresolved: list[OmegaConfBaseException] = []  # raised here, Hydra would print lines of its own about it

    def collect(config: DictConfig) -> None:
        settings = HydraConfig.get()
        search = [override for override in settings.overrides.hydra if override.startswith(_SEARCHPATH)]
        try:
            cell = Composed(resolve(config), (*search, *settings.overrides.task))
        except OmegaConfBaseException as error:
            unresolved.append(error)
            return
        if settings.mode == RunMode.MULTIRUN and settings.runtime.choices["hydra/launcher"] != "basic":
            run_elsewhere(cell)
        else:
            found.append(cell)

    with _explaining_errors(name, found), _stored(name):
        hydra.main(version_base="1.3", config_path=None, config_name=name)(collect)()
        if unresolved:
            raise unresolved[0]
    return found


def read_arguments(words: Sequence[str]) -> list[str]:
    """Return the arguments of a command as overrides and options of Hydra, values quoted where its grammar needs it.

    ``--config-dir DIR`` becomes an override, so that cells and launch files, which are made of overrides, know it too.
    """
    _refuse_options_for_settings(words)
    left, arguments = list(words), []
    while left:
        option, equals, value = left.pop(0).partition("=")
        if option in ("--config-dir", "-cd") and (equals or left):
            folder = Path(value if equals else left.pop(0))
            if not folder.is_dir():
                raise missing_folder("--config-dir", folder)
            arguments.append(f"{_SEARCHPATH}[{_quoted(f'file://{folder.resolve()}')}]")
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
    if set(arguments) & set(_MULTIRUN):
        return list(arguments)
    defaults = known_keys(name)
    found = []
    for argument in arguments:
        if not _is_override(argument) or not _is_plain_sweep(argument):
            found.append(argument)
            continue
        key, _, value = argument.partition("=")
        default = defaults.get(key.lstrip("+"))
        is_text = isinstance(default, str) and default != _NO_VALUE and not set("*$") & set(default)
        if key in (*groups(name), *_ONE_OF_A_GRID) or is_text or isinstance(default, int | float):
            grid = command(name, f"-m {argument}")
            raise UserError(f"{argument}: one value is expected; several make a grid: {grid}")
        found.append(f"{key}=[{value}]")
    return found


def _is_plain_sweep(argument: str) -> bool:
    try:
        value = OverridesParser.create().parse_override(argument)._value
    except (HydraException, ValueError, RecursionError):
        return False
    return isinstance(value, ChoiceSweep) and value.simple_form


def with_implied_choices(name: str, arguments: Sequence[str]) -> list[str]:
    """Add the choice of a group that a key alone means, unless it is chosen: ``data.path=TEXTS`` is ``data=text``."""
    given = [argument.lstrip("+") for argument in arguments if _is_override(argument)]
    keys = {argument.partition("=")[0] for argument in given}
    known = groups(name)
    implied: dict[str, str] = {}
    for key, (group, choice) in _IMPLIED.items():
        if (key in keys or key in given) and group not in keys and group in known:
            implied.setdefault(group, choice)
    return [*arguments, *(f"{group}={choice}" for group, choice in implied.items())]


def _is_override(argument: str) -> bool:
    return ("=" in argument and not argument.startswith("-")) or argument.startswith("~")


def quoted_where_needed(argument: str) -> str:
    """Quote the value of ``key=value`` where Hydra's grammar has no plain form of it, as for a path in Chinese."""
    depths = itertools.accumulate((character in "[{(") - (character in "]})") for character in argument)
    if max(depths, default=0) > _DEEPEST:
        raise UserError(f"the argument {_short(repr(argument))} has more than {_DEEPEST} brackets in one another")
    key, equals, value = argument.partition("=")
    if not equals or argument.startswith("-") or _is_readable(argument):
        return argument
    quoted = f"{key}={_quoted(value)}"
    is_text = not set(value) & _BRACKETS or _NO_TEXT.match(value) is None
    return quoted if is_text and _is_readable(quoted) else argument


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _is_readable(argument: str) -> bool:
    try:
        OverridesParser.create().parse_override(argument)
    except (HydraException, ValueError, RecursionError):  # an integer of thousands of digits, as many brackets
        return False
    return True


@contextlib.contextmanager
def _stored(name: str) -> Iterator[None]:
    """Let Hydra know a configuration and the groups that it names, and no others."""
    # A key may have the name of a group that another command has (``score.py model=PATH``).
    store = ConfigStore.instance()
    before = dict(store.repo)
    for file in ("command.yaml", f"{name}.yaml", *(file for group in groups(name) for file in choices(group))):
        group, _, choice = file.rpartition("/")
        store.store(choice, _load(file), group or None, package(file))
    store.repo["command.yaml"].node.hydra.job.name = name
    try:
        yield
    finally:
        store.repo = before


def groups(name: str) -> dict[str, str]:
    """Return the groups of a configuration, each with what stands before its keys, as ``model.``."""
    entries = [entry for entry in _load(f"{name}.yaml").get("defaults", []) if not isinstance(entry, str)]
    found = {}
    for entry in entries:
        group, _, place = next(iter(entry)).partition("@")
        found[group] = "" if place == "_here_" else f"{place or group}."
    return found


def default_choice(name: str, group: str) -> str:
    """Return the choice that a configuration makes of a group, ``null`` for none."""
    entries = [entry for entry in _load(f"{name}.yaml").get("defaults", []) if not isinstance(entry, str)]
    chosen = {key.partition("@")[0]: choice for entry in entries for key, choice in entry.items()}
    return str(chosen[group] or "null")


def choices(group: str) -> list[str]:
    """Return the files of the choices of a group, as ``model/14m.yaml``."""
    return [f"{group}/{file.name}" for file in sorted((CONFIGURATION / group).glob("*.yaml"))]


@functools.cache
def _load(file: str) -> dict[str, Any]:
    return cast("dict[str, Any]", OmegaConf.to_container(OmegaConf.load(CONFIGURATION / file)))


@functools.cache
def package(file: str) -> str | None:
    """Return where a file says that its keys belong; ``AT_THE_TOP`` is the place without a group."""
    header = re.match(r"# @package (\S+)", (CONFIGURATION / file).read_text(encoding="utf-8"))
    return header and header[1]


def resolve(config: DictConfig) -> dict[str, object]:
    """Turn a composed configuration into plain values, interpolations resolved, keys without a value left out."""
    return cast("dict[str, object]", _without_missing(OmegaConf.to_container(config, resolve=True)))


def _without_missing(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_missing(item) for key, item in value.items() if item != _NO_VALUE}
    return value


def compose(name: str, overrides: Sequence[str]) -> dict[str, object]:
    """Compose ``conf/<name>.yaml`` with overrides, as the command line would, and resolve it."""
    started = GlobalHydra.instance().is_initialized()
    with (
        _explaining_errors(name),
        _stored(name),
        contextlib.nullcontext() if started else hydra.initialize(None, version_base="1.3"),
    ):
        return resolve(hydra.compose(name, overrides=with_implied_choices(name, overrides)))


def sweep(name: str, arguments: Sequence[str]) -> list[list[str]]:
    """Return the overrides of every cell that ``-m`` makes of the arguments."""
    with _explaining_errors(name):
        parsed = OverridesParser.create().parse_overrides(with_implied_choices(name, arguments))
        [batch] = BasicSweeper.split_arguments(parsed, max_batch_size=None)
    return batch


def plain(value: Any) -> Any:
    """Turn tuples into lists and paths into text, so that a value equals what YAML or JSON reads back."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def check(kind: type[Settings], values: Mapping[str, object]) -> Settings:
    """Turn a mapping into the frozen dataclass ``kind``; a single value becomes a list where one is expected."""
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        details = error.errors(include_url=False)
    listed = copy.deepcopy(dict(values))
    if any(_put_into_list(listed, detail) for detail in details):
        return check(kind, listed)
    problems = [describe_problem(detail) for detail in details]
    if len(problems) == 1:
        raise UserError(problems[0])
    raise UserError("\n  ".join([f"{len(problems)} problems in the configuration:", *problems]))


def _put_into_list(values: dict[str, Any], detail: ErrorDetails) -> bool:
    """Put the value that a problem is about into a list, if that is the problem, and tell whether it was done."""
    *parts, last = _place(detail) or [""]
    inner: Any = values
    for part in parts:
        inner = inner.get(part) if isinstance(inner, dict) else None
    given = inner.get(last) if isinstance(inner, dict) else None
    if detail["type"] not in _LIST_TYPES or isinstance(given, bool) or not isinstance(given, str | int | float):
        return False
    inner[last] = [given]
    return True


def _place(detail: ErrorDetails) -> list[str]:
    return [str(part) for part in detail["loc"] if " " not in str(part)]  # "a mapping" says which part of a union


def configuration_message(error: Exception, name: str) -> str:
    """Say in one message what is wrong with a command line of ``conf/<name>.yaml`` that Hydra could not compose."""
    if isinstance(error, OverrideParseException):
        given, reason = _short(repr(error.override)), _short(str(error).splitlines()[0])
        return f"the argument {given} cannot be read: {reason}{_QUOTE if set(given) & _BRACKETS else ''}"
    if isinstance(error, MissingConfigException) and error.options is not None:
        group, _, choice = str(error.missing_cfg_file).rpartition("/")
        return str(unknown_name(group, choice, error.options))
    chain: list[BaseException] = [error]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    text = " ".join(str(part).strip() for part in chain)
    missing = re.search(r"Missing mandatory value: (\S+)", text)
    if missing:
        return f"{missing.group(1)}: no value given"
    key = re.search(r"Key '([^']+)' is not in struct", text)
    unknown = (key and re.search(r"full_key: (\S+)", text)) or key or re.search(r"Could not override '([^']+)'", text)
    return _unknown_key(unknown.group(1), name) if unknown else text.split(". Check https")[0]


@contextlib.contextmanager
def _explaining_errors(name: str, composed: Sequence[Composed] = ()) -> Iterator[None]:
    """Turn what Hydra and its libraries raise into a ``UserError``."""
    try:
        yield
    except _HYDRA_ERRORS as error:
        raise UserError(configuration_message(error, name)) from error
    except _OTHER_ERRORS as error:
        if composed:  # then the fault is ours
            raise
        too_deep = isinstance(error, RecursionError)
        reason = "too many brackets or aliases in one another" if too_deep else _short(" ".join(str(error).split()))
        raise UserError(f"the arguments do not fit conf/{name}.yaml: {reason}") from error


def _unknown_key(key: str, name: str) -> str:
    allowed = known_keys(name)
    same = sorted({one for one in allowed if one.rpartition(".")[2] == key}, key=lambda one: one.startswith("eval."))
    hint = f" Did you mean {' or '.join(map(repr, same))}?" if same else did_you_mean(key, allowed)
    return f"unknown key {key!r}; the keys are those of conf/{name}.yaml and its groups.{hint}"


def known_keys(name: str) -> dict[str, object]:
    """Return the defaults of all keys of a configuration and of its groups, as its files have them."""
    known = {**_keys(_load(f"{name}.yaml")), **dict.fromkeys(groups(name))}
    for group, prefix in groups(name).items():
        for file in choices(group):
            for key, value in _keys(_load(file), "" if package(file) == AT_THE_TOP else prefix).items():
                known.setdefault(key, value)
    return known


def _keys(values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    keys: dict[str, object] = {}
    for key, value in values.items():
        if key not in ("defaults", "hydra"):
            keys[f"{prefix}{key}"] = value
            keys |= _keys(value, f"{prefix}{key}.") if isinstance(value, dict) else {}
    return keys


def describe_problem(detail: ErrorDetails) -> str:
    """Say in one line what pydantic found wrong, after the dotted key that it is about."""
    place = ".".join(_place(detail)) or "configuration"
    if detail["type"] == "missing":
        return f"{place}: no value given"
    if detail["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return f"{place}: unknown key"
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] in _LIST_TYPES:
        message = "a list is expected, as [a,b]"
    if detail["type"] == "value_error":
        return f"{place}: {message}" if detail["loc"] else message
    return f"{place}: got {_short(repr(detail['input']))}; {message}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
