"""Cross-entropy of the output layer, loss and both gradients chunk by chunk, so that no logits are kept.

With a vocabulary much larger than the model's width, writing the logits of a whole batch and reading them back costs
more than the products that make them. One buffer for a chunk of positions serves all chunks, and few passes go over it:

- Logits are computed in units of log 2, because 2 ** x takes half the time of e ** x on a CPU.
- Their highest is subtracted only where float32's range demands it.
- The gradient is never divided by the normaliser; the narrow factors of the products are.

On an accelerator all of this between the products is one compiled kernel where the model is compiled, which reads the
logits twice and writes their gradient once. There the vocabulary is filled up with zeros to a multiple of 64, because
products whose sides are no multiple of 8 take kernels that are six times slower (profiled on an H100 in bfloat16).
"""

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from ucurve.training.model.design import NOT_PREDICTED
from ucurve.training.model.hidden import HiddenStates
from ucurve.training.model.masked import is_masked, output_inputs
from ucurve.training.model.refusals import logit_scale_and_cap
from ucurve.training.model.view import compute_in_view, is_hybrid

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_CHUNK = 512  # positions on a CPU; the best of 64 to 2048 with 8k tokens on 2 cores, as good as any with 50k
_CHUNK_BYTES = 2**30  # of float32 logits elsewhere: 16k positions of 16k tokens, 5k of 50k
_FUSED_BYTES = 2**31  # of logits in the narrow type, of which nothing else is kept
_ALIGNED = 64  # tokens
_LOG2_E = math.log2(math.e)
_NORMALISERS = (2.0**-60, 2.0**60)  # between them neither they nor what counts of their summands leaves float32


class _OutputLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        targets: torch.Tensor,
        separator: int,
        cap: float | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Sum the loss, and compute both gradients with it, chunk by chunk."""
        wide = torch.promote_types(hidden.dtype, torch.float32)  # of the softmax and of sums over chunks
        narrow = _narrow(weight, hidden.dtype, 1 if hidden.device.type == "cpu" else _ALIGNED)
        hidden_gradient, weight_gradient = torch.empty_like(hidden), torch.zeros_like(narrow, dtype=wide)
        positions = _chunk_positions(hidden.device, len(weight))
        buffer = hidden.new_empty((min(positions, len(hidden)), len(narrow)), dtype=wide)
        total, of_separators = hidden.new_zeros((), dtype=wide), hidden.new_zeros((), dtype=wide)
        for start in range(0, len(hidden), positions):
            chunk = slice(start, start + positions)
            indices = targets[chunk, None]
            chosen, highest, normaliser, exponentials, slopes = _exponentials(
                hidden[chunk], narrow, indices, buffer, len(weight), cap
            )
            losses = normaliser.log2() + highest - chosen
            total += losses.sum() / _LOG2_E
            of_separators += (losses * (indices == separator)).sum() / _LOG2_E
            # The gradient in the logits times the normaliser of each position.
            error = exponentials.scatter_add_(1, indices, -normaliser)
            error = (error if cap is None else error * slopes).to(hidden.dtype)
            torch.mm(error, narrow, out=hidden_gradient[chunk])
            hidden_gradient[chunk] /= normaliser
            _add_product(weight_gradient, error.t(), (hidden[chunk] / normaliser).to(hidden.dtype))
        ctx.save_for_backward(hidden_gradient, weight_gradient[: len(weight)].to(weight.dtype))
        ctx.mark_non_differentiable(of_separators)
        return total, of_separators

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Scale the gradients that ``forward`` kept."""
        hidden_gradient, weight_gradient = ctx.saved_tensors
        return hidden_gradient * gradients[0], weight_gradient * gradients[0], None, None, None


class _FusedOutputLoss(_OutputLoss):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        targets: torch.Tensor,
        separator: int,
        cap: float | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Do the same with one compiled kernel between the products."""
        wide = torch.promote_types(hidden.dtype, torch.float32)
        narrow = _narrow(weight, hidden.dtype, _ALIGNED)
        hidden_gradient, weight_gradient = torch.empty_like(hidden), torch.zeros_like(narrow, dtype=wide)
        total, of_separators = hidden.new_zeros((), dtype=wide), hidden.new_zeros((), dtype=wide)
        positions = max(1, _FUSED_BYTES // (narrow.element_size() * len(narrow)))
        for start in range(0, len(hidden), positions):
            chunk = slice(start, start + positions)
            loss, of_these, error = _fused_kernel()(
                hidden[chunk] @ narrow.t(), targets[chunk, None], len(weight), separator, cap
            )
            total += loss
            of_separators += of_these
            torch.mm(error, narrow, out=hidden_gradient[chunk])
            _add_product(weight_gradient, error.t(), hidden[chunk])
        ctx.save_for_backward(hidden_gradient, weight_gradient[: len(weight)].to(weight.dtype))
        ctx.mark_non_differentiable(of_separators)
        return total, of_separators


def output_loss(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    targets: torch.Tensor,
    separator: int = -1,
    fused: bool = False,
    cap: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the negative log-likelihood in nats, summed over the targets, and over those that are ``separator``.

    The first is differentiable in ``hidden`` and ``weight``. The shapes are [positions, width], [vocabulary, width] and
    [positions]. Products have the type of the hidden states. ``fused`` compiles what is between the products, which
    needs a compiler and pays on an accelerator. With a cap c, logits x are c tanh(x / c).
    """
    function = _FusedOutputLoss if fused else _OutputLoss
    sums = function.apply(hidden, weight, targets, separator, cap)  # type: ignore[no-untyped-call]
    return cast(tuple[torch.Tensor, torch.Tensor], sums)


@functools.cache
def _fused_kernel() -> Callable[
    [torch.Tensor, torch.Tensor, int, int, float | None], tuple[torch.Tensor, torch.Tensor, torch.Tensor]
]:
    return torch.compile(_loss_and_error, dynamic=False)


def _loss_and_error(
    logits: torch.Tensor, targets: torch.Tensor, vocabulary: int, separator: int, cap: float | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return both sums of ``output_loss``, and the gradient of the first in the logits, in their type.

    ``targets`` have the shape [positions, 1].
    """
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    wide, slopes = _capped(wide, cap)
    columns = torch.arange(wide.shape[1], device=wide.device)
    if vocabulary < wide.shape[1]:
        wide = wide.masked_fill(columns >= vocabulary, -torch.inf)
    normaliser = wide.logsumexp(1, keepdim=True)
    losses = normaliser - wide.gather(1, targets)
    error = ((wide - normaliser).exp() - (columns == targets).to(wide.dtype)) * slopes
    return losses.sum(), (losses * (targets == separator)).sum(), error.to(logits.dtype)


def _capped(logits: torch.Tensor, cap: float | None) -> tuple[torch.Tensor, torch.Tensor | float]:
    """Return logits within a cap, and their slopes; Gemma Team 2024, "Gemma 2", section 2."""
    if cap is None:
        return logits, 1.0
    bent = (logits / cap).tanh()
    return bent * cap, 1 - bent.square()


def _narrow(weight: torch.Tensor, dtype: torch.dtype, multiple: int) -> torch.Tensor:
    """Return the weight in the type of the products, with rows of zeros up to a multiple of so many."""
    narrow = weight.to(dtype)
    rows = -len(weight) % multiple
    return pad(narrow, (0, 0, 0, rows)) if rows else narrow


def _chunk_positions(device: torch.device, vocabulary: int) -> int:
    """Return for how many positions logits are computed at once: few in a processor's cache, many elsewhere."""
    return _CHUNK if device.type == "cpu" else max(_CHUNK, _CHUNK_BYTES // (4 * vocabulary) // _CHUNK * _CHUNK)


def _exponentials(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    targets: torch.Tensor,
    buffer: torch.Tensor,
    vocabulary: int,
    cap: float | None,
) -> tuple[torch.Tensor, torch.Tensor | float, torch.Tensor, torch.Tensor, torch.Tensor | float]:
    """Return the logits of ``targets``, shape [positions, 1], what was subtracted, normaliser, exponentials, slopes."""
    binary_cap = None if cap is None else cap * _LOG2_E
    logits, slopes = _capped(_binary_logits(hidden, weight, buffer), binary_cap)
    logits[:, vocabulary:] = -torch.inf
    chosen = logits.gather(1, targets)
    if logits.device.type == "cpu":  # elsewhere the comparison would make the device wait
        normaliser = logits.exp2_().sum(1, keepdim=True)
        lowest, largest = (float(bound) for bound in normaliser.aminmax())
        if _NORMALISERS[0] <= lowest and largest <= _NORMALISERS[1]:
            return chosen, 0.0, normaliser, logits, slopes
        logits, _ = _capped(_binary_logits(hidden, weight, buffer), binary_cap)
    highest = logits.amax(1, keepdim=True)
    normaliser = logits.sub_(highest).exp2_().sum(1, keepdim=True)
    return chosen, highest, normaliser, logits, slopes


def _binary_logits(hidden: torch.Tensor, weight: torch.Tensor, buffer: torch.Tensor) -> torch.Tensor:
    """Compute a chunk's logits in units of log 2 into the buffer."""
    logits = buffer[: len(hidden)]
    if hidden.dtype == buffer.dtype:
        return torch.mm(hidden * _LOG2_E, weight.t(), out=logits)
    return logits.copy_(hidden @ weight.t()).mul_(_LOG2_E)  # scaled first, they would be rounded twice


def _add_product(total: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> None:
    if total.dtype == left.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right


def summed_loss(
    model: "PreTrainedModel",
    inputs: torch.Tensor,
    targets: torch.Tensor,
    hidden_states: HiddenStates,
    fused: bool = False,
    keys: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the negative log-likelihood in nats, float32, summed over the targets, and over those between documents.

    Inputs and targets have shape [sequences, length]. Of a masked or a hybrid model only positions with a target go
    through the head and the output layer. Their number differs from batch to batch, for each of which the fused kernel
    would be compiled. ``keys``, int64[sequences], are those of dropout.
    """
    # A sequence without masks has a last target; one with masks cannot, as those are predicted one position before.
    both_sides = targets[:, -1] == NOT_PREDICTED if is_hybrid(model) else None
    hidden = compute_in_view(model, inputs, functools.partial(hidden_states, model), both_sides, keys)
    if is_masked(model):
        predicted = targets != NOT_PREDICTED
        states = output_inputs(model, hidden[predicted].float()).to(hidden.dtype)
        layer = model.get_output_embeddings()
        return output_loss(*_with_bias(states, layer.weight, layer.bias), targets[predicted])
    layer, separator = model.get_output_embeddings(), model.config.bos_token_id
    scale, cap = logit_scale_and_cap(model.config)
    if both_sides is None:
        states, wanted = hidden.flatten(0, 1), targets.flatten()
    else:
        predicted = targets != NOT_PREDICTED
        states, wanted, fused = hidden[predicted], targets[predicted], False
    states, weight = _with_bias(states, layer.weight, layer.bias)
    states = states if scale == 1 else states * scale
    return output_loss(states, weight, wanted, separator, fused, cap)


def _with_bias(
    states: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs and matrix of an output layer whose product adds the bias, as one more input that is always 1."""
    if bias is None:
        return states, weight
    more = 1 if states.device.type == "cpu" else 8  # widths that are no multiple of 8 are slow on an accelerator
    ones = pad(torch.ones_like(states[:, :1]), (0, more - 1))
    return torch.cat((states, ones), 1), torch.cat((weight, pad(bias[:, None], (0, more - 1))), 1)
