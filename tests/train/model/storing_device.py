"""A device that holds values and computes nothing, for what is to be computed on the processor and only kept there."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

DEVICE = torch.device("meta")


class StoringDevice(TorchDispatchMode):
    """While it is entered, tensors of the device ``meta`` have values; an operation that does more than
    copy or convert them fails.

    ``peak`` is the most bytes that tensors of the processor took at one time, of those that were made meanwhile.
    """

    def __init__(self):
        super().__init__()
        self._values = {}  # of each storage of the device, all its elements
        self._held = {}
        self.live = self.peak = 0

    def values(self, tensor):
        """Return the values of a tensor of the device."""
        storage = tensor.untyped_storage()
        if storage._cdata not in self._values:
            size = storage.nbytes() // tensor.element_size()
            self._values[storage._cdata] = torch.full((size,), float("nan")).to(tensor.dtype)
            weakref.finalize(storage, self._values.pop, storage._cdata)
        flat = self._values[storage._cdata]
        return flat.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = function._schema.name.removeprefix("aten::")
        there = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor) and one.is_meta]
        copies = name in ("to", "_to_copy") and kwargs.get("device")
        if copies and there and kwargs["device"].type == "cpu":
            return self._count(self.values(args[0]).clone())
        if (name == "clone" and there) or (copies and not there and kwargs["device"] == DEVICE):
            result = torch.empty_like(args[0], device=DEVICE)
            self.values(result).copy_(self.values(args[0]) if there else args[0])
            return result
        if name == "copy_" and there:
            target, source = (self.values(one) if one.is_meta else one for one in args[:2])
            target.copy_(source)
            return args[0]
        assert function.is_view or name.startswith("empty") or not there, f"the device was to compute {name}"
        result = function(*args, **kwargs)
        if (
            function.is_view
            and there
            and isinstance(result, torch.Tensor)
            and not self._share_memory(result, there[0])
        ):
            # A copy in another order.
            self.values(result).copy_(function(self.values(args[0]), *args[1:], **kwargs))
        for one in tree_leaves(result):
            if isinstance(one, torch.Tensor) and not one.is_meta:
                self._count(one)
        return result

    def _share_memory(self, one, two):
        return one.untyped_storage()._cdata == two.untyped_storage()._cdata

    def _count(self, tensor):
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key not in self._held:
            self.live += size
            self.peak = max(self.peak, self.live)
            self._held[key] = weakref.finalize(storage, self._free, key, size)
        return tensor

    def _free(self, key, size):
        self.live -= size
        del self._held[key]
