"""How many tokens go through a model at once, and batches side by side on the cores of a processor."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ucurve.errors import RunError
from ucurve.eval.scoring.sharing import own_batches
from ucurve.eval.scoring.text.sentences import Ids
from ucurve.progress import log_line

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

Batch = TypeVar("Batch")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Sizes:
    """Sizes that change the speed, the memory and the last digits of scores, but no decision."""

    batch_tokens: int  # of one forward pass; on a processor, of one core's
    # Contexts of a tree of sentences: attention grows with it, contexts cut in two by its borders shrink.
    block: int
    contexts: int  # of one chunk of the output layer
    tokens: int  # of the vocabulary, of one chunk of the output layer
    logits: int  # held at once where all of a context are needed


# Activations of a small model, and 2 MB of logits, stay in a core's cache.
PROCESSOR = Sizes(1024, 96, 512, 1024, 2**25)
# Chunks of 128 MB and 1 GB: few calls, with work for all units.
ACCELERATOR = Sizes(65536, 384, 4096, 8192, 2**28)


_BYTES_OF_A_LOGIT = 14  # in half precision, in float32, and twice more while a row is normalized
_SHARE = 3  # a third of the free memory is for logits; hidden states and what attention needs come first


def device_sizes(device_type: str) -> Sizes:
    """Return the sizes for a kind of device, as ``torch.device.type`` names it."""
    return PROCESSOR if device_type == "cpu" else ACCELERATOR


def logits_at_once(device: "torch.device") -> int:
    """Return how many logits a device may hold at once: fewer than usual where a model leaves it little memory."""
    import torch

    usual = device_sizes(device.type).logits
    if device.type != "cuda":
        return usual
    # By torch, for what comes next.
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    free = torch.cuda.mem_get_info(device)[0] + kept
    return min(usual, free // (_SHARE * _BYTES_OF_A_LOGIT))


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

    # The batches share the cores, since each is of a size for one (``Sizes``).
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
