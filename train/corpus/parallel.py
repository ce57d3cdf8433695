"""Work on the texts of a corpus in batches: in order, in several processes, few batches pending."""

import collections
import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
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
    pending: collections.deque[Future[Result]] = collections.deque()
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_prepare_process)
    # No signal interrupts another thread, so the pool knows every process that it starts there. The processes do not
    # get Ctrl-C, which the terminal sends to all: this process handles it.
    starter = ThreadPoolExecutor(
        1, initializer=signal.pthread_sigmask, initargs=(signal.SIG_BLOCK, {signal.SIGINT})
    )
    with pool, starter:
        try:
            for batch in batches:
                pending.append(starter.submit(pool.submit, work, batch).result())
                if len(pending) >= processes * _BATCHES_PER_PROCESS:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BrokenProcessPool as error:
            raise RunError(
                f"a process that {what} was killed, perhaps because the memory was exhausted, or could not start; what "
                "it printed stands above"
            ) from error
        finally:
            # Whoever stops reading does not wait for the batches that were not begun.
            pool.shutdown(cancel_futures=True)


def _prepare_process() -> None:
    # There is a process for each core, and threads of tokenizers would compete for them.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent was killed: the pool's queue alone would keep it waiting for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
