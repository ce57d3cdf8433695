"""Building a model on a device with the values that a processor draws, one parameter after the other.

What a device draws would differ from what a processor does, so that the same seed would begin another run there. A
model that is built on the processor and then moved takes its memory, in every process of a machine.
"""

import contextlib
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map


def built_on(device: torch.device) -> AbstractContextManager[object]:
    """Place what is made inside on a device, with values that the processor computes and its generator draws.

    A few small tensors, as copies of numbers, stay on the processor; move the model at the end.
    """
    return contextlib.nullcontext() if device.type == "cpu" else _ComputedOnProcessor(device)


class _ComputedOnProcessor(TorchDispatchMode):
    """Keeps tensors on the device; an operation on values copies those it needs to the processor, and writes back."""

    def __init__(self, device: torch.device) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._device = device

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
        if not given and function._schema.name.startswith("aten::empty"):
            return function(*args, **kwargs | {"device": self._device})
        there = [one for one in given if one.device.type == self._device.type]
        if function.is_view or (given and not there):
            return function(*args, **kwargs)
        copies = {id(one): one.cpu() for one in there}
        originals = {id(copies.get(id(one), one)): one for one in given}
        asked = kwargs.get("device")
        if asked is not None:
            kwargs = kwargs | {"device": torch.device("cpu")}
        args, kwargs = tree_map(lambda value: copies.get(id(value), value), (args, kwargs))
        result = function(*args, **kwargs)
        for argument, value in zip(function._schema.arguments, args, strict=False):
            if argument.alias_info is not None and argument.alias_info.is_write:
                originals[id(value)].copy_(value)

        def place(value: object) -> object:
            if not isinstance(value, torch.Tensor):
                return value
            return originals[id(value)] if id(value) in originals else value.to((there and asked) or self._device)

        return tree_map(place, result)
