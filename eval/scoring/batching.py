"""How many tokens go through a model at once, and batches side by side on the cores of a processor."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ucurve.errors import RunError
from ucurve.eval.scoring.sharing import own_batches
from ucurve.eval.scoring.sizes import device_sizes, logits_at_once
from ucurve.eval.scoring.text.sentences import Ids
from ucurve.progress import log_line

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def within_memory(batch_tokens: int | None, model: "PreTrainedModel", score: Callable[[int], Result]) -> Result:
    """Call ``score`` with the tokens of one forward pass; without a given number, halve it while memory is short."""
    import torch

    size = batch_tokens or device_sizes(model.device.type).batch_tokens
    while True:
        try:
            return score(size)
        except torch.OutOfMemoryError as error:
            if batch_tokens is not None or size == 1:
                raise RunError(f"batch_tokens={size}: the device's memory does not hold it ({error})") from error
        size //= 2
        torch.cuda.empty_cache()
        log_line(f"the device's memory is full; going on with {size} tokens at once")


def side_by_side(
    work: Callable[[Batch], Result], batches: Sequence[Batch], model: "PreTrainedModel"
) -> Iterator[Result]:
    """Yield what ``work`` gives for each batch, in their order, computed by as many threads as torch may use.

    ``work`` runs without gradients. If several processes share a score, these are the batches of this process.
    """
    import torch

    threads = torch.get_num_threads()
    workers = min(threads, len(batches)) if model.device.type == "cpu" else 1
    batches = own_batches(batches)
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


def rows_of_logits(model: "PreTrainedModel", length: int = 1) -> int:
    """Return how many rows of ``length`` tokens a model may be asked for the logits of at once; at least one."""
    held = logits_at_once(model.device)
    return max(1, held // (length * int(model.config.get_text_config().vocab_size)))


def length_batches(lengths: Ids, batch_tokens: int) -> Iterator[Ids]:
    """Yield sentences of equal length as indices, the longest first; at most ``batch_tokens``, or one sentence."""
    order = np.argsort(-lengths, kind="stable")
    edges = np.flatnonzero(np.diff(lengths[order])) + 1
    for group in np.split(order, edges):
        rows = max(1, batch_tokens // int(lengths[group[0]]))
        yield from (group[first : first + rows] for first in range(0, len(group), rows))
