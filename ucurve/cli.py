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
# These are faults of the machine and not mistakes of the user: a full disk, a quota, too little memory.
_MACHINE_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOMEM)
_HELP = ("-h", "--help")
_VERSION = "--version"
_MULTIRUN = ("-m", "--multirun")
_LOCAL_RANK = ("--local_rank", "--local-rank")


@dataclass(frozen=True)
class Command:
    """A command, named as its configuration ``conf/<name>.yaml``; a cell of ``-m`` that fails does not stop others."""

    stage: str  # of the work, under which ``--help`` lists it
    task: str  # the function, with its module
    summary: str
    # The values of a composed configuration, once for each cell; all cells at once; or the arguments as they are.
    takes: Literal["values", "cells", "arguments"] = "values"
    kept: str = _AGAIN  # after Ctrl-C or on a full disk: what is kept, and what the same command does
    launched: bool = False  # whether the launcher of DeepSpeed may start it, which adds ``--local_rank``


COMMANDS = {
    "demo": Command(
        "Try",
        "ucurve.launch.demo.demo_command",
        "the whole path in five minutes: train, score, check, analyze",
        kept="the same command goes on",
    ),
    "workbench": Command(
        "Try",
        "ucurve.workbench.command.workbench_command",
        "write templates, look into curves and judge pairs in a browser",
        kept="what was typed is kept, the same command opens it again",
    ),
    "selftest": Command(
        "Try",
        "ucurve.launch.selftest.selftest_command",
        "tell whether this machine trains, resumes, scores, and how fast",
    ),
    "train": Command(
        "Train",
        "ucurve.training.cli.train_command",
        "train a run, or every run of a grid",
        "cells",
        "the same command goes on",
        launched=True,
    ),
    "verify": Command(
        "Train", "ucurve.training.verify.verify_command", "check that every file of a run is what was recorded"
    ),
    "batches": Command(
        "Train", "ucurve.training.batches.batches_command", "show what a model saw between two steps"
    ),
    "build": Command(
        "Train",
        "ucurve.training.cli.build_command",
        "build one tokenizer alone",
        kept="what was finished is kept, the same command goes on",
    ),
    "cost": Command("Run a grid", "ucurve.launch.cost.cost_command", "measure what a grid costs", "arguments"),
    "workers": Command(
        "Run a grid",
        "ucurve.launch.workers.workers_command",
        "run a grid, or score runs, with one worker a device",
        "arguments",
        "the same command goes on",
    ),
    "emit": Command(
        "Run a grid",
        "ucurve.launch.emit.emit_command",
        "write the files that start a grid elsewhere",
        "arguments",
    ),
    "status": Command(
        "Run a grid", "ucurve.launch.status.status_command", "list how the runs of a grid stand", "arguments"
    ),
    "prune": Command(
        "Run a grid",
        "ucurve.launch.prune.prune_command",
        "remove the weights of checkpoints that are scored",
        kept="the same command goes on",
    ),
    "score": Command(
        "Score and look",
        "ucurve.eval.run.score_command",
        "score checkpoints of runs, or other models, on minimal pairs",
        kept="scores made so far are kept, the same command goes on",
    ),
    "analyze": Command(
        "Score and look",
        "ucurve.analysis.run.analyze_command",
        "draw learning curves and write the report",
        kept="every file written so far is whole, the same command starts again from the beginning",
    ),
    "power": Command(
        "Score and look", "ucurve.analysis.power.power_command", "say how large a dip your runs would show"
    ),
    "generate": Command(
        "Make and judge pairs", "ucurve.generation.run.generate_command", "make minimal pairs, or check them"
    ),
    "questionnaire": Command(
        "Make and judge pairs",
        "ucurve.validation.questionnaire.run.questionnaire_command",
        "make a questionnaire for people from a benchmark",
    ),
    "answers": Command(
        "Make and judge pairs",
        "ucurve.validation.answers.answers_command",
        "judge pairs by what people answered about them",
    ),
    "publish": Command(
        "Share",
        "ucurve.launch.publish.publish.publish_command",
        "turn a finished run into a Hugging Face repository",
    ),
    "leaderboard": Command(
        "Share",
        "ucurve.eval.leaderboard.export.leaderboard_command",
        "write stored scores in the form that a leaderboard takes",
    ),
}


def main() -> None:
    """Run ``ucurve COMMAND arguments``; without a command, or with ``--help``, list the commands."""
    name, *arguments = sys.argv[1:] or _HELP
    if name == "help":  # ``ucurve help train`` as ``ucurve train --help``
        name, *arguments = [*arguments, "--help"]
    if name in _HELP:
        sys.stdout.write(_overview())
    elif name == _VERSION:
        sys.stdout.write(_versions())
    elif name in COMMANDS:
        sys.argv = [f"{_started()} {name}", *arguments]
        run(name)
    else:
        sys.exit(_report(str(unknown_name("command", name, COMMANDS)), UserError.exit_code))


def run(name: str) -> None:
    """Run a command with the arguments of this process, which ends with the exit code where that is not 0."""
    if _VERSION in sys.argv[1:]:
        sys.stdout.write(_versions())
        return
    if set(_HELP) & set(sys.argv[1:]):
        from ucurve.help import command_help

        sys.stdout.write(command_help(name, [one for one in sys.argv[1:] if one not in _HELP]))
        return
    codes, kept = list[int](), COMMANDS[name].kept

    def attempt(work: Callable[[], None]) -> None:
        """Do some work; an error that has a message is printed as that message, and its exit code noted."""
        try:
            work()
            sys.stdout.flush()
        except Exception as error:
            if _came_of_ctrl_c(error):
                raise KeyboardInterrupt from error
            codes.append(_answer(error, kept))

    try:
        attempt(lambda: _start(name, attempt))
    except KeyboardInterrupt:
        codes.append(_report(f"interrupted: {kept}", INTERRUPTED))
    if any(codes):
        sys.exit(max(codes))


def _start(name: str, attempt: Callable[[Callable[[], None]], None]) -> None:
    """Call the function of a command, once or for each cell; ``attempt`` does the work of one of several cells."""
    from ucurve.arguments import read_arguments, with_lists
    from ucurve.config import Composed, compose_command_line

    command = COMMANDS[name]
    arguments = read_arguments(_without_local_rank(sys.argv[1:]) if command.launched else sys.argv[1:])
    has_option = any(argument.startswith("-") and argument not in _MULTIRUN for argument in arguments)
    if command.takes == "arguments" and not has_option:
        _call(command.task, arguments)
        return

    def run_elsewhere(cell: Composed) -> None:
        _call(command.task, [cell] if command.takes == "cells" else cell.values)

    cells = compose_command_line(name, with_lists(name, arguments), run_elsewhere)
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
    main = sys.modules["__main__"]
    if hasattr(main, function):  # ``python -m`` has loaded the command's module, and nothing shall load it again
        sys.modules.setdefault(module, main)
    getattr(importlib.import_module(module), function)(given)


def _came_of_ctrl_c(error: BaseException | None) -> bool:
    """Tell whether an error followed from Ctrl-C, which OmegaConf answers with an error of its own."""
    return error is not None and (isinstance(error, KeyboardInterrupt) or _came_of_ctrl_c(error.__context__))


def _answer(error: Exception, kept: str) -> int:
    """Print the message of an error and return its exit code; one that is not a message but a fault is raised again."""
    if isinstance(error, UcurveError):
        return _report(str(error), error.exit_code)
    if isinstance(error, BrokenPipeError):  # whoever read our output has seen enough
        # Python flushes standard output when it ends, and would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, OSError):
        if error.errno in _MACHINE_FAULTS:
            return _report(f"{error}; {kept}", UcurveError.exit_code)
        problem = str(error)
        if error.filename is not None and error.strerror is not None:
            what = "cannot be used" if os.path.lexists(error.filename) else "cannot be opened or made"
            problem = f"{error.filename}: {what} ({error.strerror})"
        return _report(problem, UserError.exit_code)
    # A module of ucurve that cannot be imported is a fault of ours, and no package is to be installed.
    if isinstance(error, ImportError) and error.name is not None and error.name.partition(".")[0] != __package__:
        is_missing = isinstance(error, ModuleNotFoundError)
        problem = missing_package(error.name) if is_missing else broken_package(error.name, str(error))
        return _report(problem, UserError.exit_code)
    raise error


def _versions() -> str:
    from ucurve.provenance import versions

    return ", ".join(f"{name} {version}" for name, version in versions().items()) + "\n"


def _overview() -> str:
    """Return the list of the commands by their stage of the work."""
    width = max(map(len, COMMANDS))
    what = (
        "ucurve trains small language models, scores every checkpoint on minimal pairs and draws learning curves."
    )
    lines = [what, "", f"usage: {_started()} COMMAND [key=value] ..."]
    for stage in dict.fromkeys(command.stage for command in COMMANDS.values()):
        here = {name: command for name, command in COMMANDS.items() if command.stage == stage}
        lines += ["", stage, *(f"  {name:<{width}}  {command.summary}" for name, command in here.items())]
    last = f"'{_started()} COMMAND --help' has examples and the keys of a command; --version tells what is installed."
    return "\n".join([*lines, "", last, ""])


def _started() -> str:
    return MODULE if Path(sys.argv[0]).name == "__main__.py" else CONSOLE


def _report(message: str, code: int) -> int:
    """Print what is wrong; of the processes of a launcher, which all meet the same mistake, the first prints it."""
    if os.environ.get("RANK", "0") == "0":
        sys.stderr.write(f"error: {message}\n")
    return code


if __name__ == "__main__":
    main()
