"""Work in several processes: how many, and one function for each of some arguments."""

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from ucurve.errors import RunError

Argument = TypeVar("Argument")
Result = TypeVar("Result")
_MOST_PROCESSES = 16


def count_processes() -> int:
    """Return how many processes work by default: one for each core that this process may use, up to a bound."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_MOST_PROCESSES, cores)


def map_in_processes(work: Callable[[Argument], Result], arguments: Sequence[Argument], what: str) -> list[Result]:
    """Return what ``work`` makes of each argument, in their order; a single argument is worked on in this process.

    Args:
        work: a function that can be sent to another process, as its arguments and results can.
        what: what a process does, for messages, as ``tests curves``.

    Raises:
        RunError: when a process dies.
    """
    processes = min(count_processes(), len(arguments))
    if processes < 2:
        return list(map(work, arguments))
    context = multiprocessing.get_context("spawn")  # a fork would copy the threads' locks of the libraries loaded here
    try:
        with ProcessPoolExecutor(processes, mp_context=context) as pool:
            return list(pool.map(work, arguments))
    except BrokenProcessPool as error:
        raise RunError(f"a process that {what} was killed, perhaps because the memory was exhausted") from error
