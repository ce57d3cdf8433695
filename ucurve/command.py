"""The border to the user: Hydra composes, a frozen dataclass is checked, and a mistake becomes one message.

Every command exits with 0, or 2 after a mistake of the user's, or 1 after any other failure that has a message, or 130
after Ctrl-C, as shells expect.
"""

import contextlib
import errno
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import hydra
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

from ucurve.errors import INTERRUPTED, UcurveError, UserError, nearest

CONFIGURATION = Path(__file__).resolve().parent.parent / "conf"
_AGAIN = "the same command begins anew"
_NO_VALUE = "???"  # OmegaConf's mark for a key that must be given
_MACHINE_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOMEM)
Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Composed:
    """One composed command line: under ``-m`` one of its cells.

    Attributes:
        values: the resolved configuration.
        overrides: the overrides that compose it, without those of Hydra itself.
    """

    values: dict[str, Any]
    overrides: tuple[str, ...]


def run_command(name: str, task: Callable[[dict[str, Any]], None], kept: str = _AGAIN) -> None:
    """Compose ``conf/<name>.yaml`` with the command line and call ``task`` with the resolved mapping.

    Under ``-m`` the task is called once for each cell of the product; a cell that fails does not stop the others, but
    Ctrl-C does. The process ends with the exit code of the module's contract; only a fault of ours shows a traceback.

    Args:
        name: the primary configuration.
        task: what to do.
        kept: what is said after Ctrl-C or on a full disk: what is kept, and what the same command does.
    """
    codes: list[int] = []

    def call(config: DictConfig) -> None:
        codes.append(exit_code_of(lambda: task(resolve(config)), name, kept))

    with _until_interrupted(codes, kept):
        _through_hydra(name, call, codes)
    _exit_with(codes)


def run_grid_command(name: str, task: Callable[[list[Composed]], None], kept: str = _AGAIN) -> None:
    """Compose ``conf/<name>.yaml`` with the command line and call ``task`` once with all its cells.

    Under ``-m`` these are the cells of the product, else there is one. Nothing runs unless all of them compose. With a
    launcher of Hydra's that sends cells elsewhere (``hydra/launcher=submitit_slurm``) the task is called there, with
    one cell at a time.
    """
    codes: list[int] = []
    found: list[Composed] = []

    def collect(config: DictConfig) -> None:
        cell = Composed(resolve(config), tuple(HydraConfig.get().overrides.task))
        if _is_sent_elsewhere():
            task([cell])
        else:
            found.append(cell)

    with _until_interrupted(codes, kept):
        _through_hydra(name, collect, codes)
        if found and not any(codes):
            codes.append(exit_code_of(lambda: task(found), name, kept))
    _exit_with(codes)


def run_arguments(name: str, task: Callable[[list[str]], None]) -> None:
    """Call ``task`` with the arguments of a command that Hydra does not start; exit codes as in ``run_command``."""
    codes: list[int] = []
    with _until_interrupted(codes, _AGAIN):
        arguments = [quoted_where_needed(argument) for argument in sys.argv[1:]]
        codes.append(exit_code_of(lambda: task(arguments), name, _AGAIN))
    _exit_with(codes)


@contextlib.contextmanager
def _until_interrupted(codes: list[int], kept: str) -> Iterator[None]:
    """Let Ctrl-C end the work inside with one message; its exit code goes to ``codes``."""
    try:
        yield
    except KeyboardInterrupt:
        codes.append(_report(f"interrupted: {kept}", INTERRUPTED))


def _through_hydra(name: str, call: Callable[[DictConfig], None], codes: list[int]) -> None:
    """Let Hydra call ``call`` with each composed configuration; the codes of what went wrong go to ``codes``."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra otherwise prints the error itself and exits with 1
    sys.argv[1:] = [quoted_where_needed(argument) for argument in sys.argv[1:]]
    composed: list[bool] = []

    def noted(config: DictConfig) -> None:
        composed.append(True)
        call(config)

    try:
        hydra.main(version_base="1.3", config_path=_search_path(name), config_name=name)(noted)()
    except UcurveError as error:  # of a cell that was sent elsewhere
        codes.append(_report(str(error), error.exit_code))
    except (HydraException, OmegaConfBaseException) as error:
        codes.append(_report(configuration_message(error, name), UserError.exit_code))
    except (ValueError, TypeError) as error:
        if composed:  # then the fault is ours
            raise
        codes.append(_report(f"the arguments do not fit conf/{name}.yaml: {error}", UserError.exit_code))
    finally:
        for part in ("command", name):
            ConfigStore.instance().repo.pop(f"{part}.yaml", None)


def _is_sent_elsewhere() -> bool:
    settings = HydraConfig.get()
    return settings.mode == RunMode.MULTIRUN and settings.runtime.choices["hydra/launcher"] != "basic"


def _exit_with(codes: list[int]) -> None:
    if any(codes):
        sys.exit(max(codes))


def exit_code_of(work: Callable[[], None], name: str, kept: str) -> int:
    """Do the work of a command and return its exit code; an error that has a message is printed as that message.

    Args:
        work: what to do.
        name: the primary configuration, as in ``conf/<name>.yaml``.
        kept: as in ``run_command``.
    """
    try:
        work()
        sys.stdout.flush()
    except OmegaConfBaseException as error:
        return _report(configuration_message(error, name), UserError.exit_code)
    except UcurveError as error:
        return _report(str(error), error.exit_code)
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        if error.errno in _MACHINE_FAULTS:
            return _report(f"{error}; {kept}", UcurveError.exit_code)
        return _report(str(error), UserError.exit_code)
    return 0


def quoted_where_needed(argument: str) -> str:
    """Quote the value of ``key=value`` where Hydra's grammar has no plain form of it, as for a path in Chinese."""
    key, equals, value = argument.partition("=")
    if not equals or argument.startswith("-") or _is_readable(argument):
        return argument
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    quoted = f"{key}='{escaped}'"
    return quoted if not set(value) & set("[]{}") and _is_readable(quoted) else argument


def _is_readable(argument: str) -> bool:
    try:
        OverridesParser.create().parse_override(argument)
    except HydraException:
        return False
    return True


def _search_path(name: str) -> str | None:
    """Return the folder Hydra composes from.

    A configuration that uses no group is registered by itself, so that a key of it may have the name of another
    command's group (``score.py model=PATH``).
    """
    if _groups(name):
        return str(CONFIGURATION)
    for part, package in (("command", "_global_"), (name, None)):
        ConfigStore.instance().store(name=part, node=OmegaConf.load(CONFIGURATION / f"{part}.yaml"), package=package)
    return None


def _groups(name: str) -> list[str]:
    defaults = _load(f"{name}.yaml").get("defaults", [])
    keys = [key for entry in defaults if isinstance(entry, dict) for key in entry]
    return [key for key in keys if not key.startswith("override ")]


def _load(file: str) -> dict[str, Any]:
    return cast(dict[str, Any], OmegaConf.to_container(OmegaConf.load(CONFIGURATION / file)))


def resolve(config: DictConfig) -> dict[str, Any]:
    """Turn a composed configuration into plain values, interpolations resolved, keys without a value left out."""
    return cast(dict[str, Any], _without_missing(OmegaConf.to_container(config, resolve=True)))


def _without_missing(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_missing(item) for key, item in value.items() if item != _NO_VALUE}
    return value


def compose(name: str, overrides: Sequence[str]) -> dict[str, Any]:
    """Compose ``conf/<name>.yaml`` with overrides, as the command line would, and resolve it.

    Raises:
        UserError: when Hydra cannot compose it.
    """
    started = GlobalHydra.instance().is_initialized()
    place = contextlib.nullcontext() if started else hydra.initialize_config_dir(str(CONFIGURATION), version_base="1.3")
    try:
        with place:
            return resolve(hydra.compose(name, overrides=list(overrides)))
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(configuration_message(error, name)) from error


def sweep(name: str, arguments: Sequence[str]) -> list[list[str]]:
    """Return the overrides of every cell that ``-m`` makes of the arguments.

    Raises:
        UserError: when an argument cannot be read.
    """
    try:
        parsed = OverridesParser.create().parse_overrides(list(arguments))
        [batch] = BasicSweeper.split_arguments(parsed, max_batch_size=None)
    except HydraException as error:
        raise UserError(configuration_message(error, name)) from error
    return batch


def plain(value: Any) -> Any:
    """Turn tuples into lists and paths into text, so that a value equals what YAML or JSON reads back."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def check(kind: type[Settings], values: dict[str, Any]) -> Settings:
    """Turn a mapping into the frozen dataclass ``kind``.

    Raises:
        UserError: listing every key that is unknown, missing, or holds a value that is not allowed.
    """
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        problems = [_problem(dict(detail)) for detail in error.errors(include_url=False)]
    head = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    raise UserError("\n  ".join([f"{head} in the configuration:", *problems]))


def configuration_message(error: Exception, name: str) -> str:
    """Say in one message what is wrong with a command line that Hydra could not compose.

    Args:
        error: what Hydra or OmegaConf raised.
        name: the primary configuration, as in ``conf/<name>.yaml``.
    """
    if isinstance(error, OverrideParseException):
        return f"the argument {error.override!r} cannot be read: {str(error).splitlines()[0]}"
    if isinstance(error, MissingConfigException) and error.options is not None:
        group, _, choice = str(error.missing_cfg_file).rpartition("/")
        allowed = sorted(error.options)
        return _with_hint(f"unknown {group} {choice!r}; allowed: {', '.join(allowed)}", choice, allowed)
    text = " ".join(str(part).strip() for part in _chain(error))
    missing = re.search(r"Missing mandatory value: (\S+)", text)
    if missing:
        return f"{missing.group(1)}: no value given"
    key = re.search(r"Key '([^']+)' is not in struct", text)
    if key:
        full = re.search(r"full_key: (\S+)", text)
        return _unknown_key(full.group(1) if full else key.group(1), name)
    group_match = re.search(r"Could not override '([^']+)'", text)
    if group_match:
        return _unknown_key(group_match.group(1), name)
    return text.split(". Check https")[0]


def _unknown_key(key: str, name: str) -> str:
    groups = _groups(name)
    allowed = [*_keys(_load(f"{name}.yaml")), *groups]
    for group in groups:
        for file in (CONFIGURATION / group).glob("*.yaml"):
            allowed += _keys(_load(f"{group}/{file.name}"), f"{group}.")
    return _with_hint(f"unknown key {key!r}; the keys are those of conf/{name}.yaml and its groups", key, allowed)


def _keys(values: dict[str, Any], prefix: str = "") -> list[str]:
    keys = []
    for key, value in values.items():
        if key not in ("defaults", "hydra"):
            keys += [f"{prefix}{key}", *(_keys(value, f"{prefix}{key}.") if isinstance(value, dict) else [])]
    return keys


def _with_hint(text: str, name: str, allowed: Any) -> str:
    close = nearest(name, list(allowed))
    return f"{text}. Did you mean {close!r}?" if close else text


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = [error]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    return chain


def _problem(detail: dict[str, Any]) -> str:
    place = ".".join(str(part) for part in detail["loc"]) or "configuration"
    if detail["type"] == "missing":
        return f"{place}: no value given"
    if detail["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return f"{place}: unknown key"
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] in ("tuple_type", "list_type"):
        message = "a list is expected, as [a,b]"
    given = "" if detail["type"] == "value_error" else f"got {detail['input']!r}; "
    return f"{place}: {given}{message}"


def _report(message: str, code: int) -> int:
    """Say what is wrong; of the processes that a launcher started, which all meet one mistake, the first says it."""
    if os.environ.get("RANK", "0") == "0":
        sys.stderr.write(f"error: {message}\n")
    return code
