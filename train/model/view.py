"""What a token sees of its sequence: all before it, its own document (``data.attention=document``), or both sides.

A document begins with the token that stands before each, and a sequence with what is left of one. To keep documents
apart, a model with attention gets a mask and positions that begin again with each document, in batches of one shape.
Where that does not compute what each document alone would, as with a recurrent state (LSTM, Mamba), with a window of
attention or without positions to give, each document becomes a row of its own, which is exact for any model.

A hybrid model (``objective=hybrid``) is causal, and sees both sides of a token in the sequences that have masks.
"""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import torch

from ucurve.errors import UserError
from ucurve.training.model.masked import is_masked

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# From token ids [rows, length] and keywords of a model to [rows, length, width].
Forward = Callable[..., torch.Tensor]

_KEY = "document_attention"  # of a model's configuration: "mask" or "rows", by which checkpoints are measured too
_WITHIN = 1e-5  # of the largest hidden state
_PLACE = 48  # bits of a key of dropout below those that tell the documents of a sequence apart


def separate_documents(model: "PreTrainedModel", context: int) -> None:
    """Let a model of sequences of up to ``context`` tokens attend within documents, in the cheapest exact way."""
    model.eval()
    ids = _some_ids(model, context)
    ids[0, context // 4] = ids[1, 3 * context // 4] = model.config.bos_token_id  # the third is one document
    setattr(model.config, _KEY, "rows")
    alone = _hidden(model, ids)
    with contextlib.suppress(Exception):  # each family raises errors of its own
        setattr(model.config, _KEY, "mask")
        if _are_close(_hidden(model, ids), alone):
            return
    setattr(model.config, _KEY, "rows")


def allow_both_sides(model: "PreTrainedModel", architecture: str, context: int) -> None:
    """Make a causal model a hybrid one; a ``UserError`` names an architecture that takes no mask of each sequence."""
    model.eval()
    model.config.masked_objective = "mntp"  # by which scoring knows it
    ids = _some_ids(model, context + 1)
    other = torch.cat((ids[:, :-2], ids[:, -1:]), 1)  # with another last token than ``ids``
    ids = ids[:, :-1]
    sees = torch.tensor([False, True, True], device=ids.device)
    with contextlib.suppress(Exception):
        plain, mixed, changed = _hidden(model, ids), _hidden(model, ids, sees), _hidden(model, other, sees)
        moved = ~torch.isclose(mixed, changed, rtol=0, atol=_WITHIN * float(mixed.abs().max())).all(2)[:, 0]
        if not changes_shapes(model) and _are_close(mixed[0], plain[0]) and torch.equal(moved, sees):
            return
    raise UserError(
        f"objective=hybrid: model.architecture={architecture} cannot see both sides of a token in some sequences and "
        "one in others: it takes no mask of each sequence, or none with its window; as gpt_neox, gpt2, llama, qwen3 do"
    )


def _some_ids(model: "PreTrainedModel", context: int) -> torch.Tensor:
    """Return three sequences of different tokens without the one that stands between documents, [3, context]."""
    separator, vocabulary = model.config.bos_token_id, model.config.vocab_size
    numbers = torch.arange(3 * context, device=model.device).view(3, context)
    ids: torch.Tensor = (separator + 1 + numbers % (vocabulary - 1)) % vocabulary
    return ids


@torch.no_grad()
def _hidden(model: "PreTrainedModel", ids: torch.Tensor, both_sides: torch.Tensor | None = None) -> torch.Tensor:
    def forward(rows: torch.Tensor, **keys: torch.Tensor) -> torch.Tensor:
        hidden: torch.Tensor = model.base_model(rows, **keys).last_hidden_state
        return hidden

    return compute_in_view(model, ids, forward, both_sides)


def _are_close(one: torch.Tensor, two: torch.Tensor) -> bool:
    return torch.allclose(one, two, rtol=0, atol=_WITHIN * float(two.abs().max()))


def changes_shapes(model: "PreTrainedModel") -> bool:
    """Tell whether the rows of a model's forward passes differ from batch to batch, so that compiling does not pay."""
    return getattr(model.config, _KEY, None) == "rows"


def is_hybrid(model: "PreTrainedModel") -> bool:
    """Tell whether a model is causal in some sequences and sees both sides in others."""
    return getattr(model.config, "masked_objective", None) == "mntp" and not is_masked(model)


def compute_in_view(
    model: "PreTrainedModel",
    ids: torch.Tensor,
    forward: Forward,
    both_sides: torch.Tensor | None = None,
    keys: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return what ``forward`` gives for sequences, [sequences, length, width], each token seeing what it should.

    ``ids`` have shape [sequences, length]. ``both_sides``, bool[sequences], says where a causal model does.
    ``keys``, int64[sequences], are those of dropout.
    """
    way = getattr(model.config, _KEY, None)
    if keys is not None and way != "rows":
        forward = partial(forward, keys=keys)
    if way is None and both_sides is None:
        return forward(ids)
    begins = ids == model.config.bos_token_id
    begins[:, 0] = True  # what is left of a document begins here
    column = torch.arange(ids.shape[1], device=ids.device)
    # int64[sequences, length], which count from 0 in each document
    positions = column - torch.where(begins, column, 0).cummax(1).values
    causal = not is_masked(model)
    if way == "rows":
        # Rows of one length need no mask of what fills them up, which a causal model does not look at.
        return _in_rows(ids, begins, positions, forward, keys, fills_up=causal)
    seen = (column <= column[:, None]) if causal else torch.ones_like(column, dtype=torch.bool)
    if both_sides is not None:
        seen = seen | both_sides[:, None, None]
    if way is None:
        return forward(ids, attention_mask=seen[:, None])
    documents = begins.cumsum(1)  # int64[sequences, length]
    # bool[sequences, length, length]: what each token sees
    seen = seen & (documents[:, :, None] == documents[:, None, :])
    return forward(ids, attention_mask=seen[:, None], position_ids=positions)


def _in_rows(
    ids: torch.Tensor,
    begins: torch.Tensor,
    positions: torch.Tensor,
    forward: Forward,
    keys: torch.Tensor | None,
    fills_up: bool,
) -> torch.Tensor:
    """Give ``forward`` each document as a row: those of one length together, or those up to one power of two."""
    documents, places, tokens = begins.flatten().cumsum(0) - 1, positions.flatten(), ids.flatten()
    lengths = documents.bincount()  # tokens of each document
    sizes = 2 ** lengths.double().log2().ceil().long() if fills_up else lengths
    values, found = [], []
    for size in sizes.unique().tolist():
        these = (sizes == size)[documents].nonzero()[:, 0]
        row = documents[these].unique(return_inverse=True)[1]
        rows = tokens.new_zeros(int(row[-1]) + 1, min(size, ids.shape[1]))
        rows[row, places[these]] = tokens[these]
        if keys is not None:  # each row has one of its own, by the place in its sequence where it begins
            starts = these[places[these] == 0]
            own = keys[starts // ids.shape[1]] + (starts % ids.shape[1] << _PLACE)
            values.append(forward(rows, keys=own)[row, places[these]])
        else:
            values.append(forward(rows)[row, places[these]])
        found.append(these)
    return torch.cat(values)[torch.cat(found).argsort()].view(*ids.shape, -1)
