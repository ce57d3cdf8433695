"""An accelerator that does not exist: tensors without values, and a count of everything that would reach the device.

PyTorch's private-use backend is registered from Python and used under ``FakeTensorMode``: autograd, the fused AdamW and
the checks of devices are PyTorch's own, and no memory is taken. The registration holds for a whole process (pinned
memory would be looked for there), so each count is a process of its own: ``count`` runs one and returns what it found.
"""

import contextlib
import json
import logging
import os
import subprocess
import sys
import traceback
import weakref
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
from torch.utils.flop_counter import flop_registry

ROOT = Path(__file__).resolve().parents[2]
_PRODUCT_CODE = tuple(str(ROOT / name) + os.sep for name in ("train", "eval", "ucurve"))
_MAKES_NO_VALUES = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
_SIZE_DEPENDS_ON_VALUES = {"nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive"}


@dataclass
class Count:
    """What reached the device since the count began."""

    # The lines of the product at which the processor waits for the device.
    waits: list = field(default_factory=list)
    launches: int = 0
    flops: dict = field(default_factory=dict)  # by type of the factors; of products and attention
    # Read and written beside products and attention, by file of the product.
    bytes: dict = field(default_factory=dict)
    product_bytes: int = 0
    attention: list = field(default_factory=list)  # kernel, whether it is given a mask, whether it is causal
    live: int = 0  # bytes of tensors on the device now
    peak: int = 0
    # Of each launch: FLOPs in products and attention, bytes, type of factors.
    work: list = field(default_factory=list)


class FakeDevice(TorchDispatchMode):
    """Counts, while it is entered, what is dispatched to ``device``."""

    def __init__(self):
        super().__init__()
        _setup_privateuseone_for_python_backend("fakegpu")
        self.device = torch.device("fakegpu", 0)
        self.count = Count()
        self.silent = False
        self._storages = {}
        self._last_read = None
        self._queued = 0  # launches that the processor has not waited for

    def restart(self):
        """Count from now on; what is on the device stays."""
        self.count = Count(live=self.count.live, peak=self.count.live)

    def there(self, tensors):
        return [one for one in tensors if isinstance(one, torch.Tensor) and one.device.type == self.device.type]

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if torch.is_inference_mode_enabled() and function.namespace == "aten":
            with self:  # then operations arrive that are made of others
                result = function.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        name = function._schema.name.split("::")[1]
        given = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
        read = self.there(given)
        if read and name in ("_local_scalar_dense", "equal", "is_nonzero", "allclose"):
            return self._value(name, read[0])
        if read and name == "_to_copy" and torch.device(kwargs.get("device") or self.device).type == "cpu":
            self._wait(read[0])
            with unset_fake_temporarily():
                return torch.ones(tuple(read[0].shape), dtype=kwargs.get("dtype") or read[0].dtype)
        by_mask = name == "index" and any(one is not None and one.dtype == torch.bool for one in args[1])
        if read and (name in _SIZE_DEPENDS_ON_VALUES or by_mask):
            self._wait(read[0])
        result = function(*args, **kwargs)
        written = self.there(tree_leaves(result))
        for tensor in read + written:
            self._keep(tensor)
        if not read and given and written:  # a copy to the device
            if self._queued and not (kwargs.get("non_blocking") or (name == "copy_" and args[2:] == (True,))):
                self._wait(written[0])
        elif (read or written) and not self._is_view(function, name, read, written):
            self._launch(function, name, args, kwargs, result, read, written)
        return result

    def _value(self, name, tensor):
        self._wait(tensor)
        return (
            True
            if name != "_local_scalar_dense" or tensor.dtype == torch.bool
            else tensor.dtype.is_floating_point * 1.0
        )

    def _wait(self, tensor):
        storage = tensor.untyped_storage()._cdata
        if storage != self._last_read or self._queued:  # the elements of one list are read together
            self.count.waits.append(self._line())
        self._last_read, self._queued = storage, 0

    def _keep(self, tensor):
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key in self._storages:
            return
        self.count.live += size
        self.count.peak = max(self.count.peak, self.count.live)

        def free(_):
            self.count.live -= size
            del self._storages[key]

        self._storages[key] = weakref.ref(storage, free)

    def _is_view(self, function, name, read, written):
        if name in _MAKES_NO_VALUES or not written:
            return True
        inputs = {one.untyped_storage()._cdata for one in read}
        return not function._schema.is_mutable and all(one.untyped_storage()._cdata in inputs for one in written)

    def _launch(self, function, name, args, kwargs, result, read, written):
        if self.silent:
            return
        count = self.count
        count.launches += 1
        self._queued += 1
        self._last_read = None
        moved = sum(one.numel() * one.element_size() for one in read + written)
        if name in ("scatter_add_", "gather"):  # they reach single numbers of a table
            moved = 3 * args[2].numel() * read[0].element_size()
        product = getattr(torch.ops.aten, name.rstrip("_"), None)  # also of an operation in place
        kind = str((read or written)[0].dtype).split(".")[1]
        if product not in flop_registry:
            count.work.append((0, moved, kind))
            place = self._line().split(":")[0]
            count.bytes[place] = count.bytes.get(place, 0) + moved
        else:
            count.product_bytes += moved
            flops = flop_registry[product](*args, **kwargs, out_val=result)
            count.work.append((flops, moved, kind))
            count.flops[kind] = count.flops.get(kind, 0) + flops

    def _line(self):
        """Return the line of the product, or else of the library, that asked for what is dispatched."""
        frames = traceback.extract_stack(limit=60)[::-1]
        for frame in frames:
            if frame.filename.startswith(_PRODUCT_CODE):
                return f"{Path(frame.filename).relative_to(ROOT)}:{frame.lineno}"
        return "outside of the product"

    def place(self, model):
        """Move a model of fake tensors to the device, which ``Module.to`` cannot."""
        for module in model.modules():
            for name, parameter in list(module._parameters.items()):
                if parameter is not None:
                    module._parameters[name] = torch.nn.Parameter(torch.empty_like(parameter, device=self.device))
            for name, buffer in list(module._buffers.items()):
                if buffer is not None:
                    module._buffers[name] = torch.empty_like(buffer, device=self.device)
        return model


@contextlib.contextmanager
def fake_device():
    """Enter ``FakeTensorMode`` for the rest of a process: models move to the device, and what is copied from it is 1.

    Attention takes the kernel that PyTorch's documentation says for CUDA: flash attention without a mask in half
    precision, else the memory-efficient kernel.
    """
    from transformers import masking_utils

    fake = FakeDevice()

    def choose(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        assert query.shape[-1] % 8 == 0, "other heads take slower kernels, which are not counted here"
        if enable_gqa:
            key, value = (one.repeat_interleave(query.shape[1] // one.shape[1], 1) for one in (key, value))
        flash = attn_mask is None and query.dtype in (torch.bfloat16, torch.float16)
        fake.count.attention.append(("flash" if flash else "efficient", attn_mask is not None, is_causal))
        if flash:
            kernel = torch.ops.aten._scaled_dot_product_flash_attention
            return kernel(query, key, value, dropout_p, is_causal, scale=scale)[0]
        if attn_mask is not None:
            attn_mask = attn_mask.expand(*query.shape[:3], key.shape[2])
        kernel = torch.ops.aten._scaled_dot_product_efficient_attention
        gradients = torch.is_grad_enabled()
        return kernel(query, key, value, attn_mask, gradients, dropout_p, is_causal, scale=scale)[0]

    masking_utils.is_tracing = lambda tensor=None: False  # transformers takes fake tensors for a trace
    torch.nn.functional.scaled_dot_product_attention = choose
    torch.nn.Module.to, torch.nn.Module.float = lambda model, *_, **__: fake.place(model), lambda model: model
    # Values that were copied.
    torch.Tensor.__array__ = lambda tensor, dtype=None: np.ones(tuple(tensor.shape), dtype)
    with FakeTensorMode(allow_non_fake_inputs=True):
        yield fake


class FusedKernels:
    """Stands in for ``torch.compile``: functions run uncounted, and inductor says what its kernels read and write."""

    ROWS = 64  # of those that inductor compiles; its kernels read and write the same for each row

    def __init__(self, fake):
        self._fake, self._called = fake, []

    def compile(self, function, **_):
        def call(*args):
            shapes = [(tuple(one.shape), one.dtype) if isinstance(one, torch.Tensor) else one for one in args]
            self._called.append((function, shapes))
            self._fake.silent = True
            try:
                return function(*args)
            finally:
                self._fake.silent = False

        return call

    def bytes(self):
        """Return the bytes of each call, counted once the fake device is left."""
        counted = {}
        for function, shapes in self._called:
            if str(shapes) not in counted:
                counted[str(shapes)] = self._bytes_of(function, shapes)
        return [counted[str(shapes)] for _, shapes in self._called]

    def _bytes_of(self, function, shapes):
        def tensors(rows):
            return [
                torch.zeros((rows, *one[0][1:]), dtype=one[1]) if isinstance(one, tuple) else one
                for one in shapes
            ]

        once, twice = (inductor_bytes(function, *tensors(rows)) for rows in (self.ROWS, 2 * self.ROWS))
        return once + (twice - once) * (shapes[0][0][0] / self.ROWS - 1)


def inductor_bytes(function, *args):
    """Return the bytes of the inputs and outputs of each kernel that inductor makes of a function, added up."""
    from torch._inductor import metrics
    from torch._inductor.compile_fx import inductor_metrics_log

    inductor_metrics_log.setLevel(logging.INFO)
    metrics.reset()
    torch._inductor.config.force_disable_caches = True
    torch.compile(function, dynamic=False)(*args)
    return metrics.num_bytes_accessed


def count(script, *args):
    """Run a script beside this file in a process of its own and return what it counted last."""
    return counts(script, *args)[-1]


def counts(script, *args):
    """Run a script beside this file in a process of its own and return the JSON of each of its reports."""
    command = [sys.executable, str(Path(__file__).with_name(script)), *map(str, args)]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def in_own_process(work, *args):
    """Call a function in a fork of this process, which must not have entered a fake device, and wait for its end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work(*args)
            code = 0
        except Exception:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    if os.waitpid(child, 0)[1]:
        sys.exit(1)


def report(**values):
    """Print what a script counted."""
    sys.stdout.write(json.dumps(values, default=asdict) + "\n")
