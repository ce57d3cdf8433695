"""What keeps a model of transformers from being trained here: what its configuration says, and what it computes."""

import math
from typing import TYPE_CHECKING, Any

from ucurve.errors import UserError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig, PreTrainedModel

# Keys that change logits after the output layer: by which they are multiplied or divided, within which they stay.
_MULTIPLY, _DIVIDE = ("logit_scale", "lm_head_multiplier"), ("logits_scaling",)
_CAP = ("final_logit_softcapping", "logits_soft_cap", "output_logit_soft_cap")
_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
# They are settings of layers that a language model does not have.
_UNUSED_DROPOUT = (
    "classifier",
    "summary",
    "qa_",
    "seq_classif_",
)
_POSITIONS = 8  # tokens of the sequences on which a new model is tried
_TOLERANCE = 1e-4  # of the largest value


def refuse_configuration(configuration: "PreTrainedConfig", masked: bool = False) -> None:
    """Raise a ``UserError`` that names the keys with which a model would not be trained as its configuration says."""
    values = configuration.to_dict()
    shares = dropout_shares(values)
    _refuse(
        {key: 0.0 for key in shares if key.endswith(("layerdrop", "layer_drop"))},
        values,
        "whole layers would be left out, by numbers that no run can repeat",
    )
    _refuse(
        {key: 0.1 for key, share in shares.items() if not 0 < share < 1},
        values,
        "the share of the units that are dropped is from 0 to below 1",
    )
    if configuration.model_type == "mpnet":
        raise UserError(
            "model.architecture=mpnet takes the token of number 1 for padding and numbers positions from 2, whatever a "
            "run has there; take bert or roberta"
        )
    experts = [f"model.config.{key} is {values[key]}" for key in _EXPERTS if values.get(key)]
    if experts:
        raise UserError(
            f"{experts[0]}: model.architecture={configuration.model_type} is a mixture of experts, and those are not "
            "trained here: there is no loss that balances the experts, and torch counts no FLOPs of their products"
        )
    _refuse(
        {"rescale_prenorm_residual": False} if values.get("rescale_prenorm_residual") else {},
        values,
        "transformers rescales the weights of a checkpoint again when it is loaded",
    )
    if masked and values.get("is_decoder"):
        raise UserError("model.config.is_decoder is True: such a model does not see what follows a masked token")
    # GPT-NeoX ignores it.
    if not masked and values.get("is_decoder") is False and configuration.model_type != "gpt_neox":
        raise UserError(
            f"model.architecture={configuration.model_type} sees the tokens that it is to predict; "
            "set model.objective=masked, or take another architecture"
        )


def logit_scale_and_cap(configuration: "PreTrainedConfig") -> tuple[float, float | None]:
    """Return by what logits are multiplied after the output layer, and the bound within which they stay, if any."""
    values = {
        key: value for key, value in configuration.to_dict().items() if isinstance(value, int | float) and value
    }
    scale = math.prod(values.get(key, 1) for key in _MULTIPLY) / math.prod(values.get(key, 1) for key in _DIVIDE)
    return scale, next((values[key] for key in _CAP if key in values), None)


def dropout_shares(values: dict[str, Any]) -> dict[str, float]:
    """Return the keys of a configuration by which a language model drops units in training, with what they say."""
    return {
        key: value
        for key, value in values.items()
        if "drop" in key and isinstance(value, int | float) and value and not key.startswith(_UNUSED_DROPOUT)
    }


def _refuse(wanted: dict[str, float | None], values: dict[str, object], reason: str) -> None:
    if wanted:
        found = ", ".join(f"model.config.{key} is {values[key]}" for key in wanted)
        remedy = " ".join(
            f"model.config.{key}={'null' if value is None else value}" for key, value in wanted.items()
        )
        raise UserError(f"{found}: {reason}; set {remedy}")


def refuse_behaviour(model: "PreTrainedModel", architecture: str) -> None:
    """Raise a ``UserError`` for a model that is not deterministic, or not as the loss takes it to be.

    A causal model sees no later tokens, and its logits are one product; a masked one sees them, and has a head.

    It is found from what a new model computes on a few tokens, because nothing in a configuration says it.
    """
    import torch

    from ucurve.training.model.masked import is_masked, output_inputs

    length = min(_POSITIONS, getattr(model.config, "max_position_embeddings", _POSITIONS))
    ids = torch.arange(length, device=model.device)[None] % model.config.vocab_size
    # The same with another last token, which no state before it may show.
    other = ids.clone()
    other[:, -1] = (other[:, -1] + 1) % model.config.vocab_size
    output = model.get_output_embeddings()
    if output is None or model.base_model is model:
        raise UserError(f"model.architecture={architecture} has no output layer by itself, which the loss needs")
    with torch.no_grad():
        _refuse_other_chance(model.train(), architecture, ids)
        hidden = hidden_states(model.eval(), ids)
        logits = model(ids).logits
        sees_later_tokens = not _are_close(hidden[:, :-1], hidden_states(model, other)[:, :-1])
        if is_masked(model):
            if not sees_later_tokens:
                raise UserError(f"model.architecture={architecture} does not see what follows a masked token")
            if not _are_close(output(output_inputs(model, hidden)), logits):
                raise UserError(
                    f"model.architecture={architecture}: its logits are not those of its head and output layer, one "
                    "after the other, which the loss computes"
                )
            return
        if sees_later_tokens:
            raise UserError(f"model.architecture={architecture} sees the tokens that it is to predict")
        scale, cap = logit_scale_and_cap(model.config)
        product = torch.nn.functional.linear(hidden, output.weight, getattr(output, "bias", None)) * scale
        if not _are_close(product if cap is None else cap * (product / cap).tanh(), logits):
            raise UserError(
                f"model.architecture={architecture}: its logits are not the product of its last hidden states with one "
                "matrix, which the loss computes; take an architecture without another step there"
            )


def _refuse_other_chance(model: "PreTrainedModel", architecture: str, ids: "torch.Tensor") -> None:
    """Refuse a model in training whose chance is more than the dropout of units of each sequence by itself."""
    import torch

    from ucurve.training.model.dropout import dropping, sequence_keys

    keys = sequence_keys(0, 1, 0, 2).to(ids.device)

    def compute(numbers: list[int]) -> torch.Tensor:
        with dropping(keys[numbers]):
            return hidden_states(model, ids.expand(len(numbers), -1))

    both = compute([0, 1])
    # Sums of experts come in no fixed order on a device.
    is_same = torch.equal if model.device.type == "cpu" else _are_close
    if not is_same(both, compute([0, 1])):
        raise UserError(
            f"model.architecture={architecture} computes something else each time, so no run can resume"
        )
    if not _are_close(both, torch.cat((compute([0]), compute([1])))):
        raise UserError(
            f"model.architecture={architecture} drops units of a whole batch, not of each sequence by itself; set "
            + " ".join(f"model.config.{key}=0.0" for key in dropout_shares(model.config.to_dict()))
        )


def hidden_states(model: "PreTrainedModel", ids: "torch.Tensor") -> "torch.Tensor":
    """Return what the output layer gets, as the loss computes it, shape [sequences, length, width]."""
    hidden: torch.Tensor = model.base_model(ids).last_hidden_state
    return hidden


def _are_close(one: "torch.Tensor", two: "torch.Tensor") -> bool:
    import torch

    return torch.allclose(one, two, rtol=_TOLERANCE, atol=_TOLERANCE * float(two.abs().max()))
