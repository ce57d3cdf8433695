"""Matrix products in float32 on AMD's processors, by the faster of the two libraries that torch has for them.

torch multiplies in float32 by Intel's MKL, which on AMD's processors does not use AVX-512. oneDNN uses it. Both add up
in float32; the order of the sum differs, and with it the last digits.
"""

import functools
import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

# Sizes of matrices for which oneDNN, and what calls it in torch, keep their code: 1,024 took 350 MB more.
_KEPT = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}
_SMALLEST = 2**18  # multiplications below which choosing takes longer than what oneDNN saves


@functools.cache
def use_fast_products() -> bool:
    """Let this process multiply float32 matrices by oneDNN where MKL is slower; return whether that is so here.

    This depends on the processor alone and not on a measurement, so that a machine always computes the same bytes. An
    older torch, which names no processor or gives nobody its own kernels, keeps them.
    """
    import torch

    known = hasattr(torch.library, "get_kernel") and hasattr(torch.cpu, "get_capabilities")
    fast = known and _is_slow_with_mkl()
    if fast:
        for variable, sizes in _KEPT.items():
            os.environ.setdefault(variable, sizes)
        for operator, multiply in _OPERATORS.items():
            _replace(operator, multiply)
    return fast


def _is_slow_with_mkl() -> bool:
    import torch

    found = torch.cpu.get_capabilities()
    return bool(
        torch.backends.mkl.is_available()
        and torch.backends.mkldnn.is_available()
        and str(found.get("cpu_name", "")).startswith("AMD")
        and found.get("avx512_f")
    )


def _replace(operator: str, multiply: "Callable[..., torch.Tensor | None]") -> None:
    """Let torch call ``multiply`` for an operator on the processor, and its own kernel where that returns None."""
    import torch

    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    usual = torch.library.get_kernel(f"aten::{operator}", "CPU")

    def kernel(*given: Any, **named: Any) -> "torch.Tensor":
        product = multiply(*given, **named)
        result: torch.Tensor = usual.call_boxed(keys, *given, **named) if product is None else product
        return result

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of every kernel that replaces another
        _library().impl(operator, kernel, "CPU", allow_override=True)


@functools.cache
def _library() -> "torch.library.Library":
    """Return what holds the kernels, which would end with it."""
    import torch

    return torch.library.Library("aten", "IMPL")


def _mm(one: "torch.Tensor", other: "torch.Tensor") -> "torch.Tensor | None":
    return _product(one, other) if _pays(one, other) else None


def _mm_out(one: "torch.Tensor", other: "torch.Tensor", *, out: "torch.Tensor") -> "torch.Tensor | None":
    pays = _pays(one, other) and out.dtype == one.dtype and out.shape == (one.shape[0], other.shape[1])
    return out.copy_(_product(one, other)) if pays else None


def _addmm(
    added: "torch.Tensor", one: "torch.Tensor", other: "torch.Tensor", *, beta: float = 1, alpha: float = 1
) -> "torch.Tensor | None":
    plain = beta == alpha == 1 and added.dtype == one.dtype
    return _product(one, other).add_(added) if plain and _pays(one, other) else None


def _addmm_in_place(
    sums: "torch.Tensor", one: "torch.Tensor", other: "torch.Tensor", *, beta: float = 1, alpha: float = 1
) -> "torch.Tensor | None":
    plain = beta == alpha == 1 and sums.dtype == one.dtype
    return sums.add_(_product(one, other)) if plain and _pays(one, other) else None


_OPERATORS: "dict[str, Callable[..., torch.Tensor | None]]" = {
    "mm": _mm,
    "mm.out": _mm_out,
    "addmm": _addmm,
    "addmm_": _addmm_in_place,
}


def _pays(one: "torch.Tensor", other: "torch.Tensor") -> bool:
    """Say whether two matrices can be multiplied by oneDNN, and are large enough for it."""
    import torch

    return (
        one.dtype is other.dtype is torch.float32
        and one.ndim == other.ndim == 2
        and one.shape[1] == other.shape[0]
        and one.shape[0] * one.shape[1] * other.shape[1] >= _SMALLEST
        and _is_laid_out(one)
        and _is_laid_out(other)
    )


def _is_laid_out(matrix: "torch.Tensor") -> bool:
    """Say whether the rows, or the columns, lie one after the other in memory and none upon another."""
    (rows, columns), (down, across) = matrix.shape, matrix.stride()
    return (across == 1 and down >= columns) or (down == 1 and across >= rows)


def _product(one: "torch.Tensor", other: "torch.Tensor") -> "torch.Tensor":
    """Multiply float32[N, K] by float32[K, M]; the result lies row after row.

    oneDNN copies a first matrix that is stored by columns, as for the gradients of weights: the smaller one goes first.
    """
    import torch

    if one.stride(1) != 1 and other.stride(1) == 1 and other.shape[1] < one.shape[0]:
        return _product(other.t(), one.t()).t().contiguous()
    multiplied: torch.Tensor = torch.ops.mkldnn._linear_pointwise(one, other.t(), None, "none", [], "")
    return multiplied
