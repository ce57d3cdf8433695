"""Configuration: Hydra composes it, a frozen dataclass checks it, and a mistake in it becomes one message."""

import contextlib
import copy
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import hydra
import yaml
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from ucurve.arguments import BRACKETS, IMPLIED, MULTIRUN, SEARCHPATH, shorten, with_implied_choices
from ucurve.config_files import NO_VALUE, choices, groups, known_keys, load, package, with_bases
from ucurve.errors import UserError, did_you_mean, unknown_name

# Where Hydra looks for more choices. Folders there would be groups, as those beside this file without an answer.
_NO_FOLDERS = "ucurve.token_stream"
_HYDRA_ERRORS = (HydraException, OmegaConfBaseException)
_OTHER_ERRORS = (ValueError, TypeError, RecursionError, yaml.YAMLError)  # YAML: of a folder of --config-dir
_QUOTE = (
    "; quote text within a list that has brackets or letters beyond a to z, as runs=['a[1]',b], and once more for the "
    "shell"
)
_ELSEWHERE = {  # keys as other programs call them
    "batch_size": "batch.sequences",
    "epochs": "data.max_epochs",
    "lr": "optimizer.learning_rate",
    "max_length": "batch.length",
}
_LIST_TYPES = ("tuple_type", "list_type")
_EXPECTED = {  # in the place of pydantic's words, by its types of errors
    **dict.fromkeys(_LIST_TYPES, "a list is expected, as [a,b]"),
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "a whole number is expected"),
    **dict.fromkeys(("float_parsing", "float_type"), "a number is expected"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false is expected"),
    "string_type": "a text is expected",
    "dict_type": "a mapping is expected, as {a: b}",
}
Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Composed:
    """One composed command line: under ``-m`` one of its cells."""

    values: dict[str, object]
    overrides: tuple[str, ...]  # of Hydra's own only ``hydra.searchpath``


def compose_command_line(
    name: str, arguments: Sequence[str], run_elsewhere: Callable[[Composed], None]
) -> list[Composed]:
    """Return what Hydra composes of a command line: under ``-m`` every cell, else one.

    Launchers, and options such as ``--cfg`` that print and end the process, exist in ``hydra.main`` alone, which
    composes twice. A launcher of Hydra's (``hydra/launcher=submitit_slurm``) sends the cells to ``run_elsewhere``.
    """
    own = [argument for argument in arguments if argument not in MULTIRUN]
    words = [argument.lstrip("+~") for argument in own if not argument.startswith(SEARCHPATH)]
    if not any(word.startswith(("-", "hydra")) for word in words):
        is_grid = len(own) < len(arguments)
        return compose_cells(name, sweep(name, own) if is_grid else [with_implied_choices(name, own)])
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra otherwise prints the error itself and exits with 1
    sys.argv[1:] = with_implied_choices(name, arguments)
    found: list[Composed] = []
    unresolved: list[OmegaConfBaseException] = []  # raised here, Hydra would print lines of its own about it

    def collect(config: DictConfig) -> None:
        settings = HydraConfig.get()
        search = [override for override in settings.overrides.hydra if override.startswith(SEARCHPATH)]
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
        hydra.main(version_base="1.3", config_path=f"pkg://{_NO_FOLDERS}", config_name=name)(collect)()
        if unresolved:
            raise unresolved[0]
    return found


@contextlib.contextmanager
def _stored(name: str) -> Iterator[None]:
    """Let Hydra know a configuration and the groups that it names, and no others."""
    # A key may have the name of a group that another command has (``score.py model=PATH``).
    store = ConfigStore.instance()
    before = dict(store.repo)
    for file in ("command.yaml", f"{name}.yaml", *(file for group in groups(name) for file in choices(group))):
        group, _, choice = file.rpartition("/")
        store.store(choice, load(file), group or None, package(file))
    store.repo["command.yaml"].node.hydra.job.name = name
    try:
        yield
    finally:
        store.repo = before


def resolve(config: DictConfig) -> dict[str, object]:
    """Turn a composed configuration into plain values, interpolations resolved, keys without a value left out."""
    return cast("dict[str, object]", _without_missing(OmegaConf.to_container(config, resolve=True)))


def _without_missing(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_missing(item) for key, item in value.items() if item != NO_VALUE}
    return value


def compose(name: str, overrides: Sequence[str]) -> dict[str, object]:
    """Compose ``conf/<name>.yaml`` with overrides, as the command line would, and resolve it.

    Raises:
        UserError: when Hydra cannot compose them.
    """
    return compose_cells(name, [overrides])[0].values


def compose_cells(name: str, cells: Sequence[Sequence[str]]) -> list[Composed]:
    """Compose ``conf/<name>.yaml`` with the overrides of each cell, as ``compose`` does.

    Hydra, which takes a fifth of a second, composes each combination of groups once; what other overrides say is put
    into copies of it.
    """
    bases: dict[tuple[str, ...], DictConfig] = {}
    found = []
    with _composing(name):
        for cell in cells:
            chosen, values = _split_off_values(name, with_implied_choices(name, cell))
            if chosen not in bases:
                bases[chosen] = hydra.compose(name, overrides=list(chosen))
            config = copy.deepcopy(bases[chosen])
            parsed = OverridesParser.create().parse_overrides(values)
            ConfigLoaderImpl.validate_sweep_overrides_legal(parsed, RunMode.RUN, from_shell=False)
            ConfigLoaderImpl._apply_overrides_to_config(parsed, config)
            found.append(Composed(resolve(config), tuple(cell)))
    return found


def _split_off_values(name: str, overrides: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Part the overrides that may choose of groups from those of single keys of a configuration that is composed."""
    own = groups(name)
    top = {*load(f"{name}.yaml"), *own}

    def is_value(override: str) -> bool:
        key = override.partition("=")[0]
        first, dot, _ = key.lstrip("+~").partition(".")
        return first in top and bool(dot or (key in top and key not in own))

    return tuple(one for one in overrides if not is_value(one)), [one for one in overrides if is_value(one)]


@contextlib.contextmanager
def _composing(name: str) -> Iterator[None]:
    with _explaining_errors(name), _stored(name):
        if GlobalHydra().is_initialized():
            yield
            return
        # ``hydra.initialize`` would look through the sources of all callers for the folder of the nearest one.
        with hydra.initialize_config_module(_NO_FOLDERS, version_base="1.3"):
            yield


def sweep(name: str, arguments: Sequence[str]) -> list[list[str]]:
    """Return the overrides of every cell that ``-m`` makes of the arguments."""
    with _composing(name):
        parser = OverridesParser.create(GlobalHydra.instance().config_loader())
        parsed = parser.parse_overrides(with_implied_choices(name, arguments))
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
    """Turn a mapping into the frozen dataclass ``kind``; a single value becomes a list where one is expected.

    Raises:
        UserError: naming the key and the value of every problem.
    """
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        details = error.errors(include_url=False)
    # The caller's values stay as they are.
    listed = copy.deepcopy(dict(values))
    if any(_put_into_list(listed, detail) for detail in details):
        return check(kind, listed)
    problems = [describe_problem(detail, kind) for detail in details]
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
        given, reason = shorten(repr(error.override)), shorten(str(error).splitlines()[0])
        return f"the argument {given} cannot be read: {reason}{_QUOTE if set(given) & BRACKETS else ''}"
    if isinstance(error, MissingConfigException) and error.options is not None:
        group, _, choice = str(error.missing_cfg_file).rpartition("/")
        own = f"{group}.path"
        hint = f" A path or an id of your own is {own}={choice}." if own in IMPLIED else ""
        return f"{unknown_name(group, choice, error.options)}{hint}"
    chain: list[BaseException] = [error]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    text = " ".join(str(part).strip() for part in chain)
    missing = re.search(r"Missing mandatory value: (\S+)", text)
    if missing:
        return f"{missing.group(1)}: no value given"
    empty = re.search(r"Interpolation key '([^']+)' not found", text)
    if empty:
        return f"{empty.group(1)}: no value given"
    key = re.search(r"Key '([^']+)' is not in struct", text)
    unknown = (
        (key and re.search(r"full_key: (\S+)", text)) or key or re.search(r"Could not override '([^']+)'", text)
    )
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
        reason = (
            "too many brackets or aliases in one another" if too_deep else shorten(" ".join(str(error).split()))
        )
        raise UserError(f"the arguments do not fit conf/{name}.yaml: {reason}") from error


def _unknown_key(key: str, name: str) -> str:
    """Say what is wrong with a key, and what it should be: one of another choice, or of another name."""
    allowed = known_keys(name)
    if key in allowed:
        group, _, inner = key.partition(".")
        # Of the choices of its group, some have the key: in their file, or in one whose keys that takes over.
        having = [file for file in choices(group) if any(inner in load(one) for one in with_bases(file))]
        given = " or ".join(f"{group}={Path(file).stem}" for file in having)
        return f"the key {key!r} goes with {given}; give that too"
    wanted = _ELSEWHERE.get(key, key)
    ends = {one for one in allowed if wanted in (one, one.rpartition(".")[2])}
    same = sorted(ends, key=lambda one: one.startswith("eval."))
    hint = f" Did you mean {' or '.join(map(repr, same))}?" if same else did_you_mean(key, allowed)
    return f"unknown key {key!r}; the keys are those of conf/{name}.yaml and its groups.{hint}"


def describe_problem(detail: ErrorDetails, kind: Any) -> str:
    """Say in one line what pydantic found wrong in a ``kind``, after the dotted key that it is about."""
    place = ".".join(_place(detail)) or "configuration"
    if detail["type"] == "missing":
        return f"{place}: no value given"
    if detail["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        unknown = str(detail["loc"][-1])
        known = set(_keys(TypeAdapter(kind).json_schema())) - {unknown}  # which may be a key elsewhere
        hint = did_you_mean(unknown, known, likeness=0.7)
        return f"{place}: unknown key{hint and f'.{hint}'}"
    message = _EXPECTED.get(detail["type"], detail["msg"].removeprefix("Value error, "))
    if detail["type"] == "value_error":
        return f"{place}: {message}" if detail["loc"] else message
    return f"{place}: got {shorten(repr(detail['input']))}; {message}"


def _keys(schema: object) -> Iterator[str]:
    """Yield the keys that a JSON schema and the schemas inside it have."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        schema = list(schema.values())
    for inner in schema if isinstance(schema, list) else []:
        yield from _keys(inner)
