"""How many tokens go through a model at once, found from the device and halved when memory ends."""

from collections.abc import Callable
from typing import Any, TypeVar

from ucurve.errors import RunError
from ucurve.progress import say

_ON_PROCESSOR = 1024  # on each core: activations of a small model that stay in its cache
_ON_ACCELERATOR = 65536
Result = TypeVar("Result")


def within_memory(batch_tokens: int | None, model: Any, score: Callable[[int], Result]) -> Result:
    """Call ``score`` with a number of tokens for one forward pass.

    Args:
        batch_tokens: the number, or None to begin with the device's and to halve it whenever its memory ends.
        model: whose device counts.
        score: what is to be done; it can be done again.

    Raises:
        RunError: when one token is too many, or the given number is.
    """
    import torch

    size = batch_tokens or (_ON_ACCELERATOR if model.device.type == "cuda" else _ON_PROCESSOR)
    while True:
        try:
            return score(size)
        except torch.OutOfMemoryError as error:
            if batch_tokens is not None or size == 1:
                raise RunError(f"batch_tokens={size}: the device's memory does not hold it ({error})") from error
        size //= 2
        torch.cuda.empty_cache()
        say(f"the device's memory is full; going on with {size} tokens at once")
