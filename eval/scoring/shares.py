"""How much of a model's next-token distribution falls on a set of tokens."""

import numpy as np
import torch

from eval.scoring.sentences import Ids, Scores


def log_share(logits: torch.Tensor, tokens: Ids) -> Scores:
    """Return the natural log of the probability of a set of tokens.

    Args:
        logits: float[B, V].
        tokens: their ids.

    Returns:
        float64[B].
    """
    logits = logits.double()
    chosen = logits[:, torch.from_numpy(tokens).to(logits.device)]
    return np.asarray((chosen.logsumexp(-1) - logits.logsumexp(-1)).cpu())
