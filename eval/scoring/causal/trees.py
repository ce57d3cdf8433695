"""Trees of contexts as a model is given them, and how an architecture of the library reads them."""

from dataclasses import dataclass

import numpy as np
import torch
from transformers import PreTrainedModel

from ucurve.eval.scoring.output import to_device
from ucurve.eval.scoring.text.sentences import Ids


@dataclass(frozen=True)
class Trees:
    """Nodes of trees, tree after tree, each with all that is below it right after it."""

    tokens: Ids  # int64[nodes]
    positions: Ids  # int64[nodes], in the sentence
    parents: Ids  # int64[nodes], the node before in the sentence; a root is its own
    ends: Ids  # int64[nodes], the first node after it that is not below it
    sizes: Ids  # int64[trees], nodes of each


def library_body(model: PreTrainedModel, trees: Trees) -> torch.Tensor:
    """Run trees through a model as rows padded at their ends."""
    device, sizes = model.device, trees.sizes
    rows, starts = np.repeat(np.arange(len(sizes)), sizes), np.repeat(np.cumsum(sizes) - sizes, sizes)
    columns = np.arange(len(rows)) - starts
    table = np.zeros((3, len(sizes), int(sizes.max())), dtype=np.int64)
    table[2] = np.arange(1, table.shape[2] + 1)
    table[:, rows, columns] = trees.tokens, trees.positions, trees.ends - starts
    ids, positions, ends = to_device(table, device)
    cells = to_device(rows * table.shape[2] + columns, device)
    node = torch.arange(ends.shape[1], device=device)
    # bool[trees, 1, nodes, nodes]: of each node, itself and its ancestors
    seen = ((node <= node[:, None]) & (node[:, None] < ends[:, None]))[:, None]
    output = model.base_model(
        input_ids=ids,
        position_ids=positions,
        attention_mask=torch.zeros(seen.shape, dtype=model.dtype, device=device).masked_fill_(~seen, -torch.inf),
        use_cache=False,
    )
    hidden: torch.Tensor = output.last_hidden_state
    return hidden.flatten(0, 1)[cells.to(hidden.device)]
