"""The head of a masked model at the one position of each row that is asked for, for any architecture.

Hooks take the other positions away between the inner model and its head, and the input of the output layer before it
turns into logits of the whole vocabulary. Where that does not give the model's own answers, it is asked for logits.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch.utils.hooks import RemovableHandle
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from ucurve.eval.models.folder import model_kind
from ucurve.eval.scoring.batching import rows_of_logits
from ucurve.eval.scoring.output import OutputLayer
from ucurve.eval.scoring.text.sentences import Scores


@dataclass(frozen=True)
class Queries:
    """Rows of tokens of which some are masked, and the tokens whose probability is asked for."""

    rows: torch.Tensor  # int64[R, L]
    positions: torch.Tensor  # int64[R], the column that is asked for in each row
    contexts: torch.Tensor  # int64[T], the row a token is asked for in
    targets: torch.Tensor  # int64[T], that token

    def to(self, device: torch.device) -> "Queries":
        """Move all four to a device."""
        return Queries(*(part.to(device) for part in (self.rows, self.positions, self.contexts, self.targets)))


Reader = Callable[[PreTrainedModel, Queries], Scores]  # gives float64[T], natural log probabilities


def choose_reader(model: PreTrainedModel, probe: Queries) -> Reader:
    """Choose the cheapest way to ask a model that gives the answers of its full logits."""
    plain = through_logits(model, probe)
    close = 100 * torch.finfo(model.dtype).eps
    for reader in (through_layer, through_head):
        try:
            values = reader(model, probe)
        except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):  # built otherwise than hooks suppose
            continue
        if np.allclose(values, plain, rtol=close, atol=close, equal_nan=True):
            return reader
    return through_logits


def through_layer(model: PreTrainedModel, queries: Queries) -> Scores:
    """Read hidden states and leave the output layer to ``OutputLayer``: only the logits that are asked for are kept."""
    there = queries.to(model.device)
    linear = model.get_output_embeddings()
    if not isinstance(linear, torch.nn.Linear) or linear.weight.dtype != torch.float32:
        raise TypeError("no linear output layer in float32")
    seen: list[torch.Tensor] = []

    def take(_module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor]:
        seen.append(inputs[0])
        return (inputs[0][:0],)  # so that the layer computes nothing

    with _only_at(model, there.positions), linear.register_forward_pre_hook(take):
        _forward(model, there.rows)
    layer = OutputLayer(linear.weight, linear.bias)
    return layer.log_probabilities(seen[0].flatten(0, -2), queries.contexts.numpy(), queries.targets.numpy())


def through_head(model: PreTrainedModel, queries: Queries) -> Scores:
    """Ask the model for the logits of the one position of each row, ``rows_of_logits`` rows at once."""

    def logits(rows: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        with _only_at(model, positions):
            return _forward(model, rows)[:, 0]

    return _by_parts(model, queries, logits, per_row=1)


def through_logits(model: PreTrainedModel, queries: Queries) -> Scores:
    """Ask the model for all logits of a row and keep those of one position."""

    def logits(rows: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return _forward(model, rows)[torch.arange(len(rows), device=rows.device), positions]

    return _by_parts(model, queries, logits, per_row=queries.rows.shape[1])


def _by_parts(
    model: PreTrainedModel, queries: Queries, logits: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], per_row: int
) -> Scores:
    queries = queries.to(model.device)
    size = rows_of_logits(model, per_row)
    scores = np.full(len(queries.targets), np.nan)
    for low in range(0, len(queries.rows), size):
        values = logits(queries.rows[low : low + size], queries.positions[low : low + size]).float()
        inside = (queries.contexts >= low) & (queries.contexts < low + size)
        contexts = queries.contexts[inside] - low
        chosen = values[contexts, queries.targets[inside]].double() - values.logsumexp(-1).double()[contexts]
        scores[inside.cpu().numpy()] = chosen.cpu().numpy()
    return scores


def _forward(model: PreTrainedModel, rows: torch.Tensor) -> torch.Tensor:
    """Ask for logits with every token in view, even the token that the model pads with."""
    takes_mask = "attention_mask" in inspect.signature(model.forward).parameters
    mask = torch.ones_like(rows)
    if model_kind(model.config.to_dict()) == "hybrid":  # causal, unless its mask says otherwise
        mask = mask.bool()[:, None, None].expand(-1, 1, rows.shape[1], -1)
    logits: torch.Tensor = model(input_ids=rows, **({"attention_mask": mask} if takes_mask else {})).logits
    return logits


def _only_at(model: PreTrainedModel, positions: torch.Tensor) -> RemovableHandle:
    """Let the inner model hand its head one position of each row, [R, 1, D], until the handle is closed."""

    def select(_module: torch.nn.Module, _inputs: object, output: BaseModelOutput) -> BaseModelOutput:
        hidden = output.last_hidden_state
        assert hidden is not None
        output.last_hidden_state = hidden[torch.arange(len(hidden), device=hidden.device), positions][:, None]
        return output

    return model.base_model.register_forward_hook(select)
