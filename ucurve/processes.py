"""Work in several processes: how many, and one function for each of some arguments."""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from ucurve.errors import RunError

Argument = TypeVar("Argument")
Result = TypeVar("Result")
_MOST_PROCESSES = 16  # one process reads for all of them, and can feed no more (docs/launch.md)


def count_processes() -> int:
    """Return how many processes work by default: one for each core that this process may use, up to a bound."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_MOST_PROCESSES, cores)


def map_in_processes(
    work: Callable[[Argument], Result], arguments: Sequence[Argument], what: str
) -> list[Result]:
    """Return what ``work`` makes of each argument, in their order; messages say ``what`` a process does."""
    processes = min(count_processes(), len(arguments))
    if processes < 2:
        return list(map(work, arguments))
    # A fork would copy the threads' locks of the libraries loaded here.
    context = multiprocessing.get_context("spawn")
    before = set(multiprocessing.active_children())
    with naming_a_death(what), ProcessPoolExecutor(processes, mp_context=context) as pool:
        try:
            with without_interrupts():  # a call starts the process that it needs
                futures = [pool.submit(work, argument) for argument in arguments]
            # An error ends the work at once, and not after the pieces before it.
            for done in wait(futures, return_when=FIRST_EXCEPTION).done:
                done.result()
            return [future.result() for future in futures]
        except BaseException:  # such a piece takes long: do not wait for those that nobody needs now
            started = set(multiprocessing.active_children()) - before
            for process in started:
                process.terminate()
            for process in started:  # the pool does not wait for one that it was about to register
                process.join()
            raise


@contextlib.contextmanager
def naming_a_death(what: str) -> Iterator[None]:
    """Raise a ``RunError`` that says what a process did when it was killed, in place of the pool's own exception."""
    try:
        yield
    except BrokenProcessPool as error:
        raise RunError(
            f"a process that {what} was killed, perhaps because the memory was exhausted, or could not start: a "
            'program that calls ucurve.train does so below `if __name__ == "__main__":`'
        ) from error


@contextlib.contextmanager
def without_interrupts() -> Iterator[None]:
    """Keep Ctrl-C, which the terminal sends to all, from processes started inside; their parent handles it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
