"""The last hidden states of a model, computed in the precision of the run; the weights themselves stay float32.

In bfloat16 every weight below the output layer is cast where it is used, as nanochat does, without autocast and
without loss scaling: the model computes what it would if it were stored in bfloat16, which is how GPT-NeoX trained
Pythia in half precision. So the residual stream, the inputs of the layer norms and queries, keys and values (rotated
by angles of float32 whose sines are rounded) are bfloat16; the kernels of layer norm and attention compute their
statistics in float32. On a processor attention computes in float32 altogether, since the gradients of its kernel take
longer in bfloat16. Autograd turns the gradients back into float32, in which micro batches and AdamW add them up.
The embedding is looked up in float32, and only what was looked up is cast, so that the gradients of a frequent token
are added up in float32 too.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.func import functional_call
from torch.overrides import TorchFunctionMode

from ucurve.storage.facts import Precision
from ucurve.training.model.dropout import dropping

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# From a model, token ids and, by name, mask, positions and keys of dropout.
HiddenStates = Callable[..., torch.Tensor]


def make_hidden_states(precision: Precision, compiled: bool = False) -> HiddenStates:
    """Return the function from a model and token ids, shape [sequences, length], to its last hidden states.

    It also takes ``keys``, by which a model drops units; see ``ucurve.training.model.dropout``.
    """
    function = _in_bfloat16 if precision == "bfloat16" else _in_float32
    if not compiled:
        return function
    torch.compiler.reset()  # what was compiled for earlier models of this process counts towards a limit
    return torch.compile(function, dynamic=False)


def _in_float32(
    model: "PreTrainedModel", inputs: torch.Tensor, keys: torch.Tensor | None = None, **context: torch.Tensor
) -> torch.Tensor:
    with dropping(keys):
        hidden: torch.Tensor = model.base_model(inputs, **context).last_hidden_state
    return hidden


def _in_bfloat16(
    model: "PreTrainedModel", inputs: torch.Tensor, keys: torch.Tensor | None = None, **context: torch.Tensor
) -> torch.Tensor:
    """Compute the last hidden states in bfloat16, from weights that are cast and embeddings that were looked up."""
    base = cast("PreTrainedModel", model.base_model)
    embedding = base.get_input_embeddings()
    weights = {name: value.bfloat16() for name, value in base.named_parameters() if value is not embedding.weight}
    embedded = {"inputs_embeds": embedding(inputs).bfloat16()}
    with dropping(keys), _WideAttention() if inputs.device.type == "cpu" else nullcontext():
        hidden: torch.Tensor = functional_call(base, weights, kwargs=embedded | context).last_hidden_state
    return hidden.bfloat16()  # of Mamba float32, whose residual stream is


class _WideAttention(TorchFunctionMode):
    """Attention of a processor in float32, with results in bfloat16."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func is not torch.nn.functional.scaled_dot_product_attention:
            return func(*args, **kwargs)
        wide = func(*map(_widened, args), **{name: _widened(value) for name, value in kwargs.items()})
        return wide.to(args[0].dtype)


def _widened(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) and value.dtype is torch.bfloat16 else value
