"""Batches side by side on the cores of a processor, one core each.

Torch would share out each small product among all cores and wait for the slowest of them, hundreds of times in a
batch. A batch on each core waits for nothing, and does not stand still when another program takes one of the cores.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Batch], Result], batches: Sequence[Batch], model: Any) -> Iterator[Result]:
    """Yield what ``work`` gives for each batch, in their order, computed by as many threads as torch may use.

    Args:
        work: run without gradients, in several threads at once; each has its share of torch's threads.
        batches: what it is called with.
        model: whose device counts: an accelerator gets one batch after the other.
    """
    threads = torch.get_num_threads()
    workers = min(threads, len(batches)) if model.device.type == "cpu" else 1
    if workers <= 1:
        yield from (work(batch) for batch in batches)
        return

    def quietly(batch: Batch) -> Result:
        with torch.inference_mode():  # a mode of the thread
            return work(batch)

    torch.set_num_threads(threads // workers)
    pool = ThreadPoolExecutor(workers)
    try:
        yield from pool.map(quietly, batches)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)
