"""Dropout whose units are a function of seed, step and sequence, so that neither a kill nor the cut of a batch matters.

torch draws units from one generator for a whole batch. Here every sequence of a run has a key of its own, from which a
pass over it counts on; the finaliser of splitmix64 (Steele et al. 2014, "Fast splittable pseudorandom number
generators") turns each count into random bits. They are the same in every micro batch, process and precision, and on
every device.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch.nn.functional import dropout, scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from ucurve.token_stream.order import draws

_FIRST, _SECOND = (value - 2**64 for value in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB))  # as signed numbers


def sequence_keys(seed: int, step: int, first: int, count: int) -> torch.Tensor:
    """Return the keys of ``count`` sequences of the batch of a step, from number ``first`` in it on, int64[count]."""
    return torch.from_numpy(draws(f"dropout|{seed}|{step}", first, (count,), 1)[0].view(np.int64))


def dropping(keys: torch.Tensor | None) -> AbstractContextManager[object]:
    """Let one forward pass over the sequences that have these keys drop units by them; None leaves dropout to torch."""
    return nullcontext() if keys is None else _SeededDropout(keys)


class _SeededDropout(TorchFunctionMode):
    """Answers every call of dropout, and attention that drops, whose tensors have the sequences first.

    A count is the key plus the number of the call in the pass, and that of the unit in the sequence.
    """

    def __init__(self, keys: torch.Tensor) -> None:
        super().__init__()
        self._keys = keys
        self._calls = 0

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func is dropout:
            return self._drop(*args, **kwargs)
        if func is scaled_dot_product_attention and kwargs.get("dropout_p"):
            return self._attend(*args, **kwargs)
        return func(*args, **kwargs)

    def _drop(
        self,
        values: torch.Tensor,
        p: float = 0.5,
        training: bool = True,
        inplace: bool = False,  # noqa: ARG002, callers go on with what is returned
    ) -> torch.Tensor:
        """Answer a call of dropout, with the arguments of torch's own."""
        if not (training and p):
            return values
        return torch.where(self._kept(values.shape, p), values / (1 - p), 0.0)

    def _kept(self, shape: torch.Size, share: float) -> torch.Tensor:
        """Return whether each unit stays, bool[shape]; two of 32 bits are decided by one number of the stream."""
        units = math.prod(shape) // len(self._keys)
        places = torch.arange((units + 1) // 2, device=self._keys.device)
        # Each call has 2 ** 32 numbers of the stream for itself.
        numbers = _mix((self._keys + (self._calls << 32))[:, None] + places)
        self._calls += 1
        bits = numbers.view(torch.int32)[:, :units]
        return (bits >= int(share * 2**32) - 2**31).reshape(shape)

    def _attend(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> torch.Tensor:
        """Compute what ``torch.nn.functional.scaled_dot_product_attention`` does, which says what is what."""
        if enable_gqa:
            key, value = (one.repeat_interleave(query.shape[1] // one.shape[1], 1) for one in (key, value))
        # Torch's own kernels would draw the units themselves, so the weights of attention are computed here.
        scores = (query * (query.shape[-1] ** -0.5 if scale is None else scale)) @ key.transpose(-2, -1)
        if is_causal:
            attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        if attn_mask is not None:
            adds = attn_mask.is_floating_point()
            scores = scores + attn_mask if adds else scores.masked_fill(~attn_mask, -torch.inf)
        weights = scores.softmax(-1, dtype=torch.promote_types(scores.dtype, torch.float32))
        return self._drop(weights.to(value.dtype), dropout_p) @ value


def _mix(values: torch.Tensor) -> torch.Tensor:
    """Return what ``ucurve.token_stream.order.mix`` does, of signed numbers on any device."""
    for shift, factor in ((30, _FIRST), (27, _SECOND)):
        values = _shifted(values, shift).bitwise_xor_(values).mul_(factor)
    return _shifted(values, 31).bitwise_xor_(values)


def _shifted(values: torch.Tensor, bits: int) -> torch.Tensor:
    """Shift to the right and fill up with zeros, where torch fills up with the sign."""
    return (values >> bits).bitwise_and_(2 ** (64 - bits) - 1)
