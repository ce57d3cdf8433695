"""Runs a grid with one worker a device: ``ucurve workers gpus=4`` with the arguments of the grid.

Every worker is ``python train.py -m`` with the same arguments and sees one CUDA device alone. The workers share the
cells by their locks (``training.grid.worker``), so they may also join workers that were started by hand. After the word
``score`` every worker is ``python score.py``; these share the scores by their claims (``ucurve.eval.sweep.sweep``).
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Collection, Mapping, Sequence
from types import FrameType
from typing import IO, TextIO

from pydantic import ConfigDict, PositiveInt, model_validator
from pydantic.dataclasses import dataclass

from ucurve.arguments import with_lists
from ucurve.cli import run
from ucurve.config import check, compose
from ucurve.errors import INTERRUPTED, UserError
from ucurve.eval.settings import ScoreCommand
from ucurve.invocation import command
from ucurve.launch.arguments import expand_grid, split_arguments
from ucurve.launch.slurm import python_script
from ucurve.training.engine.signals import REQUEUE, SIGNALS, handle_signals

_SCORE = "score"
_DEVICES = "CUDA_VISIBLE_DEVICES"
_THREADS = "OMP_NUM_THREADS"


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class WorkersSettings:
    """How many workers: one on each of ``gpus`` CUDA devices, or ``workers`` on the processor."""

    gpus: PositiveInt | None
    workers: PositiveInt | None

    @model_validator(mode="after")
    def _one_kind(self) -> "WorkersSettings":
        if (self.gpus is None) == (self.workers is None):
            raise ValueError("gpus or workers: one of the two is needed, as gpus=4, or workers=2 on a processor")
        return self


def workers_command(arguments: Sequence[str]) -> None:
    """Do the work until all is done, has failed or is left to other workers; then end with the worst exit code."""
    settings, left = split_arguments(WorkersSettings, "workers", arguments)
    environments = _list_environments(settings, os.environ)
    if _SCORE in left:
        own = [argument for argument in left if argument != _SCORE]
        asked = check(ScoreCommand, compose(_SCORE, with_lists(_SCORE, own)))
        if asked.list or asked.check:
            raise UserError(f"list and check score nothing, so they need no workers; {command(_SCORE)} does both")
        worker = [*python_script(_SCORE), *own]
    else:
        cells = expand_grid(left)
        if cells[0].settings.dry_run:
            plans = command("train", "-m")
            raise UserError(f"dry_run=true trains nothing, so it needs no workers; {plans} prints the plans")
        worker = [*python_script("train"), "-m", *left]
        # A worker more than there are cells would find nothing to do.
        environments = environments[: len(cells)]
    code = run_workers([sys.executable, *worker], environments)
    if code:
        sys.exit(code)


def run_workers(command: Sequence[str], environments: Sequence[Mapping[str, str]]) -> int:
    """Start a command once in each environment, wait for all and return the highest exit code.

    SIGTERM, SIGUSR1, SIGHUP and Ctrl-C are passed on to every worker. The lines of workers are printed as they come,
    after ``[number]``. A worker that a signal killed counts as 128 and the signal's number; one that a passed signal
    killed before it could answer counts as a worker that saved its state: 130 for Ctrl-C, else 75.
    """
    workers: list[subprocess.Popen[str]] = []
    early: list[int] = []  # signals that come before all workers are started
    passed: set[int] = set()
    started = False

    def pass_on(number: int, _: FrameType | None) -> None:
        passed.add(number)
        if not started:
            early.append(number)
            return
        for worker in workers:
            worker.send_signal(number)

    before = handle_signals(SIGNALS, pass_on)
    try:
        for environment in environments:
            # In a process group of its own, as a second Ctrl-C, from the terminal, would end a worker without saving.
            worker = subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                process_group=0,
            )  # fmt: skip
            workers.append(worker)
        printers = [
            _start_printer(number, *streams)
            for number, worker in enumerate(workers)
            for streams in ((worker.stdout, sys.stdout), (worker.stderr, sys.stderr))
        ]
        started = True
        for number in dict.fromkeys(early):
            pass_on(number, None)
        codes = [worker.wait() for worker in workers]
        for printer in printers:
            printer.join()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return max(_exit_code(code, passed) for code in codes)


def _exit_code(code: int, passed: Collection[int]) -> int:
    """Return the exit code of a worker by that of its process and the signals that were passed on."""
    if -code in passed:
        return INTERRUPTED if -code == signal.SIGINT else REQUEUE
    # As in a shell, 128 and the signal's number stand for a worker that a signal killed.
    return code if code >= 0 else 128 - code


def _list_environments(settings: WorkersSettings, environment: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the variables of each worker: the device it sees, and its share of the cores."""
    devices = [""] * (settings.workers or 0)
    if settings.gpus is not None:
        import torch

        there = torch.cuda.device_count()
        if there < settings.gpus:
            raise UserError(
                f"gpus={settings.gpus}: {there} CUDA devices are visible here; workers=N starts N on the processor"
            )
        visible = environment.get(_DEVICES)
        # A scheduler may have given this process other devices than the first ones.
        devices = (visible.split(",") if visible else [str(number) for number in range(there)])[: settings.gpus]
    threads = max(1, (os.cpu_count() or 1) // len(devices))
    # A number of threads that the user has set stays.
    return [{_THREADS: str(threads), **environment, _DEVICES: device} for device in devices]


def _start_printer(number: int, source: IO[str] | None, target: TextIO) -> threading.Thread:
    """Start a thread that prints the lines of a worker as they come, after its number."""

    def print_lines() -> None:
        for line in source or ():
            target.write(f"[{number}] {line}")
            target.flush()

    printer = threading.Thread(target=print_lines, daemon=True)
    printer.start()
    return printer


if __name__ == "__main__":
    run("workers")
