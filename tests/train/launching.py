"""Starts the processes of one run on this machine, as a launcher would, on a free port."""

import os
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(rank=0, size=1, port=0):
    launcher = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    rest = {key: value for key, value in os.environ.items() if key not in launcher}
    more = {key: str(value) for key, value in launcher.items()} if size > 1 else {}
    return rest | more | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


def start(arguments, size=1, session=False):
    """Start ``size`` processes of ``python arguments``; returns them in the order of their ranks.

    With ``session`` each leads a session of its own, as on a terminal, so that a signal can be sent to all it starts.
    """
    port = free_port()
    return [
        subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            cwd=ROOT,
            env=environment(rank, size, port),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=session,
        )
        for rank in range(size)
    ]


def finish(processes, timeout=240):
    """Wait for all; returns exit codes and what each wrote to standard error."""
    try:
        errors = [process.communicate(timeout=timeout)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [process.returncode for process in processes], errors
