"""How much goes through a model and its output layer at once, by the device it is on."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Sizes:
    """Sizes that change the speed, the memory and the last digits of scores, but no decision."""

    batch_tokens: int  # of one forward pass; on a processor, of one core's
    block: int  # contexts of a tree of sentences: attention grows with it, contexts cut in two by its borders shrink
    contexts: int  # of one chunk of the output layer
    tokens: int  # of the vocabulary, of one chunk of the output layer
    logits: int  # held at once where all of a context are needed


PROCESSOR = Sizes(
    1024, 96, 512, 1024, 2**25
)  # activations of a small model, and 2 MB of logits, stay in a core's cache
ACCELERATOR = Sizes(65536, 384, 4096, 8192, 2**28)  # chunks of 128 MB and 1 GB: few calls, with work for all units


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
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)  # by torch, for what comes next
    free = torch.cuda.mem_get_info(device)[0] + kept
    return min(usual, free // (_SHARE * _BYTES_OF_A_LOGIT))
