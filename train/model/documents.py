"""Attention within documents (``data.attention=document``): no token of a sequence sees one of another document.

A document begins with the token that stands before each, and a sequence with what is left of one. A model with
attention gets a mask and positions that begin again with each document, in batches of one shape. Where that does not
compute what each document alone would, as with a recurrent state (LSTM, Mamba), with a window of attention or without
positions to give, each document becomes a row of its own, which is exact for any model.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from ucurve.training.model.masked import is_masked

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Forward = Callable[..., torch.Tensor]  # from token ids [rows, length] and keywords of a model to [rows, length, width]

_KEY = "document_attention"  # of a model's configuration: "mask" or "rows", by which checkpoints are measured too
_WITHIN = 1e-5  # of the largest hidden state


def separate_documents(model: "PreTrainedModel", context: int) -> None:
    """Let a model of sequences of up to ``context`` tokens attend within documents, in the cheapest exact way."""
    model.eval()
    separator, vocabulary = model.config.bos_token_id, model.config.vocab_size
    ids = (separator + 1 + torch.arange(3 * context) % (vocabulary - 1)).view(3, context).to(model.device) % vocabulary
    ids[0, context // 4] = ids[1, 3 * context // 4] = separator  # the third is one document
    found = {way: _try_out(model, ids, way) for way in ("rows", "mask")}
    alone, masked = found["rows"], found["mask"]
    assert alone is not None, "rows are plain sequences"
    is_same = masked is not None and torch.allclose(masked, alone, rtol=0, atol=_WITHIN * float(alone.abs().max()))
    setattr(model.config, _KEY, "mask" if is_same else "rows")


def _try_out(model: "PreTrainedModel", ids: torch.Tensor, way: str) -> torch.Tensor | None:
    setattr(model.config, _KEY, way)
    try:
        with torch.no_grad():
            return by_documents(model, ids, lambda rows, **keys: model.base_model(rows, **keys).last_hidden_state)
    except Exception:  # each family raises errors of its own
        if way == "rows":
            raise
        return None


def changes_shapes(model: "PreTrainedModel") -> bool:
    """Tell whether the rows of a model's forward passes differ from batch to batch, so that compiling does not pay."""
    return getattr(model.config, _KEY, None) == "rows"


def by_documents(model: "PreTrainedModel", ids: torch.Tensor, forward: Forward) -> torch.Tensor:
    """Return what ``forward`` gives for sequences, [sequences, length, width]: document by document, if the model does.

    ``ids`` have shape [sequences, length].
    """
    way, separator = getattr(model.config, _KEY, None), model.config.bos_token_id
    if way is None:
        return forward(ids)
    begins = ids == separator
    begins[:, 0] = True
    column = torch.arange(ids.shape[1], device=ids.device)
    positions = column - torch.where(begins, column, 0).cummax(1).values
    if way == "rows":
        # Rows of one length need no mask of what fills them up, which a causal model does not look at.
        return _in_rows(ids, begins, positions, forward, fills_up=_is_causal(model))
    documents = begins.cumsum(1)
    mask = documents[:, None, :, None] == documents[:, None, None, :]
    return forward(ids, attention_mask=mask.tril() if _is_causal(model) else mask, position_ids=positions)


def _is_causal(model: "PreTrainedModel") -> bool:
    return not is_masked(model)


def _in_rows(
    ids: torch.Tensor, begins: torch.Tensor, positions: torch.Tensor, forward: Forward, fills_up: bool
) -> torch.Tensor:
    """Give ``forward`` each document as a row: those of one length together, or those up to one power of two."""
    documents, places, tokens = begins.flatten().cumsum(0) - 1, positions.flatten(), ids.flatten()
    lengths = documents.bincount()
    sizes = 2 ** lengths.double().log2().ceil().long() if fills_up else lengths
    values, found = [], []
    for size in sizes.unique().tolist():
        these = (sizes == size)[documents].nonzero()[:, 0]
        row = documents[these].unique(return_inverse=True)[1]
        rows = tokens.new_zeros(int(row[-1]) + 1, min(size, ids.shape[1]))
        rows[row, places[these]] = tokens[these]
        values.append(forward(rows)[row, places[these]])
        found.append(these)
    return torch.cat(values)[torch.cat(found).argsort()].view(*ids.shape, -1)
