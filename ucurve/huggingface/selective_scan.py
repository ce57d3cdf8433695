"""The selective scan of Mamba, position by position with a backward pass of its own.

transformers' own loop is differentiated step by step by autograd, at a cost that grows with the square of the length,
and compiling it takes minutes. What is computed is the same, and so are the modules and weights; only how fast is not.
"""

import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import torch
from torch.autograd.function import once_differentiable
from torch.nn.functional import silu, softplus
from transformers import PreTrainedModel

Scan = Callable[..., torch.Tensor | tuple[torch.Tensor, torch.Tensor]]
_HAS_KERNELS = find_spec("mamba_ssm") is not None
_FUNCTION = "mamba_selective_scan"  # of transformers' Mamba, FalconMamba, Jamba and Zamba, each with a copy


def take_quick_scan(model: PreTrainedModel) -> None:
    """Let the architecture of a model, if it is of Mamba's kind, scan with ``selective_scan`` from now on."""
    module = sys.modules[type(model).__module__]
    library: Scan | None = getattr(module, _FUNCTION, None)
    if library is not None and not isinstance(library, partial):
        setattr(module, _FUNCTION, partial(selective_scan, library))


@torch.compiler.disable  # type: ignore[untyped-decorator]  # compiled, its loop becomes thousands of operations
def selective_scan(
    library: Scan,
    hidden_states: torch.Tensor,
    dt: torch.Tensor,
    rates: torch.Tensor,
    into: torch.Tensor,
    out_of: torch.Tensor,
    /,
    D: torch.Tensor | None = None,  # noqa: N803 - the name by which transformers passes it
    z: torch.Tensor | None = None,
    delta_bias: torch.Tensor | None = None,
    delta_softplus: bool = False,
    return_last_state: bool = False,
    **rest: object,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Compute what ``library``, the function of transformers with the other arguments, computes.

    Left to ``library`` are callers that need the last state, and accelerators with mamba-ssm, whose kernels it takes
    there. The scan is that of Gu and Dao 2023 (Mamba), algorithm 2, where ``rates``, ``into`` and ``out_of`` are A, B
    and C. It is computed in float32 at least; the outputs have the type of ``hidden_states``.

    Args:
        library: The function of transformers.
        hidden_states: Shape [sequences, width, length], as are ``dt`` and ``z``.
        dt: The steps of time.
        rates: Shape [width, size of the state].
        into: Shape [sequences, size of the state, length], as is ``out_of``.
        out_of: What of the state is put out.
        D: What of the input is put out, shape [width], as is ``delta_bias``.
        z: The gate.
        delta_bias: Added to ``dt``.
        delta_softplus: Whether ``dt`` goes through softplus then.
        return_last_state: Whether the state after the last position is returned too.
        rest: Choices between ways to scan.
    """
    if return_last_state or (hidden_states.device.type != "cpu" and _HAS_KERNELS):
        named = {"D": D, "z": z, "delta_bias": delta_bias, "delta_softplus": delta_softplus, **rest}
        return library(hidden_states, dt, rates, into, out_of, return_last_state=return_last_state, **named)
    kind = hidden_states.dtype
    exact = torch.float64 if kind == torch.float64 else torch.float32
    hidden_states, dt, into, out_of = (value.to(exact) for value in (hidden_states, dt, into, out_of))
    dt = dt if delta_bias is None else dt + delta_bias[:, None]
    steps = _positions_first(softplus(dt) if delta_softplus else dt)
    inputs = steps * _positions_first(hidden_states)
    outputs: torch.Tensor = _Scan.apply(  # type: ignore[no-untyped-call]
        steps, inputs, rates.t().contiguous(), _positions_first(into), _positions_first(out_of)
    )
    outputs = outputs.permute(1, 2, 0)  # [sequences, width, length]
    outputs = outputs if D is None else outputs + hidden_states * D[:, None]
    return (outputs if z is None else outputs * silu(z)).to(kind)


def _positions_first(values: torch.Tensor) -> torch.Tensor:
    """Lay out values of shape [sequences, width, length] as [length, sequences, width]."""
    return values.permute(2, 0, 1).contiguous()


class _Scan(torch.autograd.Function):
    """``state = exp(step * rate) * state + into * input`` at each position, and ``output = out_of @ state``.

    ``steps`` and ``inputs`` have the shape [length, sequences, width], ``rates`` [size of the state, width], ``into``
    and ``out_of`` [length, sequences, size of the state]. States are [sequences, size of the state, width], so that
    what is computed value by value runs along the width.
    """

    @staticmethod
    def forward(
        ctx: Any,
        steps: torch.Tensor,
        inputs: torch.Tensor,
        rates: torch.Tensor,
        into: torch.Tensor,
        out_of: torch.Tensor,
    ) -> torch.Tensor:
        """Return the outputs, shape [length, sequences, width], and keep the states of all positions."""
        length, sequences, width = steps.shape
        # [length, sequences, size of the state, width]
        states = steps.new_empty(length, sequences, len(rates), width)
        decay = torch.empty_like(states[0])
        for at in range(length):
            torch.mul(into[at, :, :, None], inputs[at, :, None], out=states[at])
            if at:
                # Before the first position the state is 0, so nothing of it decays there.
                torch.mul(steps[at, :, None], rates, out=decay).exp_()
                states[at].addcmul_(decay, states[at - 1])
        ctx.save_for_backward(steps, inputs, rates, into, out_of, states)
        outputs = torch.bmm(out_of.flatten(0, 1)[:, None], states.flatten(0, 1))
        return outputs.view(length, sequences, width)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_outputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the gradients of all inputs, from the last position to the first."""
        steps, inputs, rates, into, out_of, states = ctx.saved_tensors
        # Names that begin with "of" are gradients in the values that they name.
        of_outputs = of_outputs.contiguous()
        of_steps, of_inputs, of_into = torch.zeros_like(steps), torch.empty_like(inputs), torch.empty_like(into)
        of_out_of = torch.bmm(states.flatten(0, 1), of_outputs.flatten(0, 1)[:, :, None]).view_as(out_of)
        of_state, of_rates = torch.zeros_like(states[0]), torch.zeros_like(states[0])
        decay, of_exponent = torch.empty_like(of_state), torch.empty_like(of_state)
        for at in reversed(range(len(steps))):
            of_state.addcmul_(out_of[at, :, :, None], of_outputs[at, :, None])
            torch.bmm(into[at, :, None], of_state, out=of_inputs[at, :, None])
            torch.bmm(of_state, inputs[at, :, :, None], out=of_into[at, :, :, None])
            if at:
                torch.mul(steps[at, :, None], rates, out=decay).exp_()
                of_state.mul_(decay)
                torch.mul(of_state, states[at - 1], out=of_exponent)
                of_rates.addcmul_(of_exponent, steps[at, :, None])
                torch.sum(of_exponent.mul_(rates), dim=1, out=of_steps[at])
        return of_steps, of_inputs, of_rates.sum(0), of_into, of_out_of
