"""Starts the processes of one run on this machine, as a launcher would, on a free port.

A script or module is run in a process forked from one that has imported what a training imports: an interpreter of its
own needs four to eight seconds for that, more than a small training does.
"""

import atexit
import multiprocessing
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "deepspeed",
        "ucurve.training.cli",
        "ucurve.training.run.trainer",
        "ucurve.eval.run",
        "tests.train.launching",
    ]
)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(rank=0, size=1, port=0):
    launcher = {
        "RANK": rank,
        "LOCAL_RANK": rank,
        "WORLD_SIZE": size,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
    }
    rest = {key: value for key, value in os.environ.items() if key not in launcher}
    more = {key: str(value) for key, value in launcher.items()} if size > 1 else {}
    return rest | more | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


class Forked:
    """A running ``python *arguments``, to be used as a ``subprocess.Popen`` whose output is text in pipes."""

    def __init__(self, arguments, variables):
        self._folder = tempfile.TemporaryDirectory()
        self._output = [Path(self._folder.name, name) for name in ("stdout", "stderr")]
        self._process = FORKS.Process(target=_become, args=(arguments, variables, self._output))
        self._process.start()

    @property
    def returncode(self):
        return self._process.exitcode

    def poll(self):
        return self._process.exitcode

    def communicate(self, timeout=None):
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout)
        return tuple(path.read_text(encoding="utf-8") for path in self._output)

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self._process.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)


def _become(arguments, variables, output):
    """Be ``python *arguments`` in the process that was forked."""
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(variables)
    torch.set_num_threads(1)
    for path, stream in zip(output, (sys.stdout, sys.stderr), strict=True):
        with path.open("w") as file:
            os.dup2(file.fileno(), stream.fileno())
    module = arguments[0] == "-m"
    sys.argv = arguments[module:]
    try:
        if module:
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        atexit._run_exitfuncs()


def start(arguments, size=1, session=False):
    """Start ``size`` processes of ``python arguments``; returns them in the order of their ranks.

    With ``session`` each leads a session of its own, as on a terminal, so that a signal can be sent to all it starts; it
    is an interpreter of its own then, as one is that runs the code after ``-c``.
    """
    port = free_port()
    arguments = [*map(str, arguments)]
    variables = [environment(rank, size, port) for rank in range(size)]
    if not session and arguments[0] != "-c":
        return [Forked(arguments, own) for own in variables]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, *arguments]
    return [subprocess.Popen(command, cwd=ROOT, env=own, start_new_session=session, **pipes) for own in variables]


def finish(processes, timeout=600):
    """Wait for all; returns exit codes and what each wrote to standard error."""
    try:
        errors = [process.communicate(timeout=timeout)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [process.returncode for process in processes], errors
