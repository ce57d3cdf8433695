"""The commands, their messages and exit codes: 0 success, 2 a mistake of the user, 1 another failure, 130 Ctrl-C.

Slow imports are made only where Ctrl-C is already answered with a message.
"""

import errno
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from ucurve.errors import INTERRUPTED, UcurveError, UserError, unknown_name
from ucurve.interpreter import broken_package, missing_package
from ucurve.invocation import CONSOLE, MODULE

_AGAIN = "the same command starts again from the beginning"
_MACHINE_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOMEM)
_HELP = ("-h", "--help")
_VERSION = "--version"
_MULTIRUN = ("-m", "--multirun")
_OURS = ("ucurve", "eval", "train", "analysis", "launch", "workbench")
_LOCAL_RANK = ("--local_rank", "--local-rank")


@dataclass(frozen=True)
class Command:
    """A command, named as its configuration ``conf/<name>.yaml``; a cell of ``-m`` that fails does not stop others."""

    task: str  # the function, with its module
    summary: str
    # The values of a composed configuration, once for each cell; all cells at once; or the arguments as they are.
    takes: Literal["values", "cells", "arguments"] = "values"
    kept: str = _AGAIN  # after Ctrl-C or on a full disk: what is kept, and what the same command does
    launched: bool = False  # whether the launcher of DeepSpeed may start it, which adds ``--local_rank``


COMMANDS = {
    "train": Command(
        "train.cli.train_command",
        "train a run, or every run of a grid",
        "cells",
        "the same command goes on",
        launched=True,
    ),
    "score": Command(
        "eval.run.score_command",
        "score checkpoints of runs, or other models, on minimal pairs",
        kept="scores made so far are kept, the same command goes on",
    ),
    "leaderboard": Command(
        "eval.leaderboard.export.leaderboard_command", "write stored scores in the form that a leaderboard takes"
    ),
    "questionnaire": Command(
        "validation.questionnaire.run.questionnaire_command", "make a questionnaire for people from a benchmark"
    ),
    "analyze": Command(
        "analysis.run.analyze_command",
        "draw learning curves and write the report",
        kept="every file written so far is whole, the same command starts again from the beginning",
    ),
    "verify": Command("train.verify.verify_command", "check that every file of a run is what was recorded"),
    "generate": Command("generation.run.generate_command", "make minimal pairs, or check them"),
    "answers": Command("validation.answers.answers_command", "judge pairs by what people answered about them"),
    "build": Command(
        "train.cli.build_command",
        "build one tokenizer alone",
        kept="what was finished is kept, the same command goes on",
    ),
    "batches": Command("train.batches.batches_command", "show what a model saw between two steps"),
    "publish": Command("launch.publish.publish.publish_command", "turn a finished run into a Hugging Face repository"),
    "status": Command("launch.status.status_command", "list how the runs of a grid stand", "arguments"),
    "cost": Command("launch.cost.cost_command", "measure what a grid costs", "arguments"),
    "workers": Command(
        "launch.workers.workers_command",
        "run a grid with one worker a device",
        "arguments",
        "the same command goes on",
    ),
    "workbench": Command(
        "workbench.command.workbench_command",
        "write templates, look into curves and judge pairs in a browser",
        kept="what was typed is kept, the same command opens it again",
    ),
    "emit": Command("launch.emit.emit_command", "write the files that start a grid elsewhere", "arguments"),
}


def main() -> None:
    """Run ``ucurve COMMAND arguments``; without a command, or with ``--help``, list the commands."""
    name, *arguments = sys.argv[1:] or _HELP
    if name in _HELP:
        sys.stdout.write(_overview())
    elif name == _VERSION:
        sys.stdout.write(_versions())
    elif name in COMMANDS:
        started = MODULE if Path(sys.argv[0]).name == "__main__.py" else CONSOLE
        sys.argv = [f"{started} {name}", *arguments]
        run(name)
    else:
        sys.exit(_report(str(unknown_name("command", name, COMMANDS)), UserError.exit_code))


def run(name: str) -> None:
    """Run a command with the arguments of this process, which ends with the exit code where that is not 0."""
    if _VERSION in sys.argv[1:]:
        sys.stdout.write(_versions())
        return
    codes: list[int] = []

    def attempt(work: Callable[[], None]) -> None:
        codes.append(_exit_code(work, COMMANDS[name].kept))

    try:
        attempt(lambda: _start(name, attempt))
    except KeyboardInterrupt:
        codes.append(_report(f"interrupted: {COMMANDS[name].kept}", INTERRUPTED))
    if any(codes):
        sys.exit(max(codes))


def _start(name: str, attempt: Callable[[Callable[[], None]], None]) -> None:
    from ucurve.config import Composed, compose_command_line, read_arguments

    command = COMMANDS[name]
    arguments = read_arguments(_without_local_rank(sys.argv[1:]) if command.launched else sys.argv[1:])
    has_option = any(argument.startswith("-") and argument not in _MULTIRUN for argument in arguments)
    if command.takes == "arguments" and not has_option:
        _call(command.task, arguments)
        return

    def run_elsewhere(cell: Composed) -> None:
        _call(command.task, [cell] if command.takes == "cells" else cell.values)

    cells = compose_command_line(name, arguments, run_elsewhere)
    if command.takes == "cells" and cells:
        _call(command.task, cells)
    elif command.takes == "values":
        for cell in cells:
            attempt(partial(_call, command.task, cell.values))


def _without_local_rank(words: Sequence[str]) -> list[str]:
    """Leave out what DeepSpeed's launcher adds; the variable LOCAL_RANK, which it sets too, says the same."""
    kept: list[str] = []
    left = list(words)
    while left:
        option, equals, _ = (word := left.pop(0)).partition("=")
        if option not in _LOCAL_RANK:
            kept.append(word)
        elif not equals and left and left[0].isdecimal():
            left.pop(0)
    return kept


def _call(task: str, given: object) -> None:
    module, _, function = task.rpartition(".")
    getattr(importlib.import_module(module), function)(given)


def _exit_code(work: Callable[[], None], kept: str) -> int:
    """Do some work and return its exit code; an error that has a message is printed as that message."""
    try:
        work()
        sys.stdout.flush()
    except Exception as error:
        if _came_of_ctrl_c(error):
            raise KeyboardInterrupt from error
        return _answer(error, kept)
    return 0


def _came_of_ctrl_c(error: BaseException | None) -> bool:
    """Tell whether an error followed from Ctrl-C, which OmegaConf answers with an error of its own."""
    return error is not None and (isinstance(error, KeyboardInterrupt) or _came_of_ctrl_c(error.__context__))


def _answer(error: Exception, kept: str) -> int:
    """Print the message of an error and return its exit code; one that is not a message but a fault is raised again."""
    if isinstance(error, UcurveError):
        return _report(str(error), error.exit_code)
    if isinstance(error, BrokenPipeError):  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, OSError):
        if error.errno in _MACHINE_FAULTS:
            return _report(f"{error}; {kept}", UcurveError.exit_code)
        return _report(str(error), UserError.exit_code)
    if isinstance(error, ImportError) and error.name is not None and error.name.partition(".")[0] not in _OURS:
        is_missing = isinstance(error, ModuleNotFoundError)
        problem = missing_package(error.name) if is_missing else broken_package(error.name, str(error))
        return _report(problem, UserError.exit_code)
    raise error


def _versions() -> str:
    from ucurve.provenance import versions

    return ", ".join(f"{name} {version}" for name, version in versions().items()) + "\n"


def _overview() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items()]
    last = "ucurve COMMAND --help lists the keys of a command."
    return "\n".join(["usage: ucurve COMMAND [key=value] ...", "", *lines, "", last, ""])


def _report(message: str, code: int) -> int:
    """Print what is wrong; of the processes of a launcher, which all meet the same mistake, the first prints it."""
    if os.environ.get("RANK", "0") == "0":
        sys.stderr.write(f"error: {message}\n")
    return code
