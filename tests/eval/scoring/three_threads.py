"""Threads that share a score as processes do."""

import threading

from ucurve.eval.scoring.sharing import sharing


class _OneOfThree:
    """The group of three threads, seen from one of them."""

    size = 3

    def __init__(self, rank, values, barrier):
        self.rank, self.values, self.barrier = rank, values, barrier

    def gather(self, value, error=None):
        self.values[self.rank] = value, error
        self.barrier.wait(timeout=60)
        found = list(self.values)
        self.barrier.wait(timeout=60)
        for _, failure in found:
            if failure is not None:
                raise RuntimeError(f"a process says: {failure}")
        return [value for value, _ in found]


def share_in_three(work):
    """Return what ``work`` returns, or the error it raises, in each of three threads, which it gets the number of."""
    values, barrier, done = [None] * 3, threading.Barrier(3), {}

    def run(rank):
        try:
            with sharing(_OneOfThree(rank, values, barrier)):
                done[rank] = work(rank)
        except Exception as error:
            done[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return [done[rank] for rank in range(3)]
