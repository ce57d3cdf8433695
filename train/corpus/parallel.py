"""Work on the texts of a corpus in batches: in order, in several processes, few batches pending."""

import collections
import contextlib
import itertools
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from ucurve.errors import RunError
from ucurve.training.corpus.readers import Mark

Result = TypeVar("Result")
_CHARACTERS_AT_ONCE = 250_000  # a batch has so many characters
_BATCHES_PER_PROCESS = 3  # pending at most; more would only hold text in memory
_MOST_PROCESSES = 16  # one process reads for all of them, and can feed no more (docs/launch.md)


def count_processes() -> int:
    """Return how many processes work by default: one for each core that this process may use, up to a bound."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_MOST_PROCESSES, cores)


def text_batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield the texts in batches of about a quarter of a million characters; a batch ends with a mark."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        batch.append(text)
        characters += len(text)
        if characters >= _CHARACTERS_AT_ONCE or isinstance(text, Mark):
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def map_batches(
    work: Callable[[list[str]], Result], texts: Iterable[str], processes: int, what: str
) -> Iterator[Result]:
    """Yield what ``work`` makes of each batch of the texts, in their order.

    A corpus of one batch is worked on in this process.

    Args:
        work: a function that can be sent to another process.
        what: what a process does, for messages, as ``tokenizes``.

    Raises:
        RunError: when a worker process dies.
    """
    batches = text_batches(texts)
    start = list(itertools.islice(batches, 2))
    batches = itertools.chain(start, batches)
    # A corpus of one batch takes less time than starting processes.
    if processes == 1 or len(start) < 2:
        yield from map(work, batches)
        return
    # A fork would copy the threads' locks of the libraries loaded here.
    context = multiprocessing.get_context("spawn")
    before = set(multiprocessing.active_children())
    pending: collections.deque[Future[Result]] = collections.deque()
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_one_thread_each)
    with pool:
        try:
            for batch in batches:
                with _without_interrupts():  # the first call starts the processes
                    pending.append(pool.submit(work, batch))
                if len(pending) >= processes * _BATCHES_PER_PROCESS:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BrokenProcessPool as error:
            raise RunError(
                f"a process that {what} was killed, perhaps because the memory was exhausted, or could not start; what "
                "it printed stands above"
            ) from error
        except KeyboardInterrupt:  # the pool does not wait for a process that it was about to register
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()
                process.join()
            raise
        finally:
            # Whoever stops reading does not wait for the batches that were not begun.
            pool.shutdown(cancel_futures=True)


def _one_thread_each() -> None:
    # There is a process for each core, and threads of tokenizers would compete for them.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Keep Ctrl-C, which the terminal sends to all, from processes started inside; their parent handles it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
