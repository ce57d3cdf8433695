"""Cross-entropy of the output layer, loss and both gradients chunk by chunk, so that no logits are kept.

With a vocabulary much larger than the model's width, writing the logits of a whole batch and reading them back costs
more than the products that make them. Each chunk of positions stays small enough to be used while it is at hand.
"""

from typing import Any, cast

import torch

_CHUNK = 512  # positions; the best of 64 to 2048 with 8k tokens on 2 cores


class _OutputLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        hidden_gradient, weight_gradient = torch.empty_like(hidden), torch.zeros_like(weight)
        total = hidden.new_zeros(())
        for start in range(0, len(hidden), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            logits = hidden[chunk] @ weight.t()
            total += _loss_and_gradient(logits, targets[chunk])
            torch.mm(logits, weight, out=hidden_gradient[chunk])
            weight_gradient.addmm_(logits.t(), hidden[chunk])
        ctx.save_for_backward(hidden_gradient, weight_gradient)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        hidden_gradient, weight_gradient = ctx.saved_tensors
        return hidden_gradient * gradients[0], weight_gradient * gradients[0], None


def output_loss(hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the negative log-likelihood of the targets in nats, summed; differentiable in ``hidden`` and ``weight``.

    Args:
        hidden: last hidden states, shape [positions, width].
        weight: the output layer, shape [vocabulary, width].
        targets: token ids, shape [positions].
    """
    return cast(torch.Tensor, _OutputLoss.apply(hidden, weight, targets))  # type: ignore[no-untyped-call]


def _loss_and_gradient(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the summed loss and turn ``logits`` in place into its gradient: softmax minus one at the target."""
    highest = logits.amax(1, keepdim=True)
    chosen = logits.gather(1, targets[:, None])
    logits.sub_(highest).exp_()
    normaliser = logits.sum(1, keepdim=True)
    logits.div_(normaliser)
    logits[torch.arange(len(targets), device=logits.device), targets] -= 1
    return (normaliser.log() + highest - chosen).sum()
