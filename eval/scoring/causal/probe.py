"""Tries on a model whether it reads trees of contexts as it reads sentences one by one.

What an architecture does with the positions and the mask that it is given cannot be told from its name: some derive
positions from the mask, some see no further back than a window, some carry a state from column to column. So a model
is given random sentences as long as the longest one, in trees as wide as those of the sentences, in both ways.
"""

import inspect

import numpy as np
import torch
from transformers import PreTrainedModel

from ucurve.eval.scoring.causal import neox
from ucurve.eval.scoring.causal.trie import ForestScorer, build_prefix_forest
from ucurve.eval.scoring.output import OutputLayer, attends_without_mask, score_rows, without_mask
from ucurve.eval.scoring.sharing import agreed, alone
from ucurve.eval.scoring.text.sentences import Ids, Scores, Sentences
from ucurve.progress import log_line

# What log probabilities may differ by, as a share of their standard deviation. In half precision and on an accelerator
# less than 2 % of the decisions between random sentences would change, in float32 on a processor one in 10,000.
_SHARE_OF_SPREAD, _SHARE_IN_FLOAT32 = 0.05, 3e-4
_CLOSE = 1e-4  # nats, which float32 may differ by however little an untrained model's values are spread
_WIDEST = 96  # contexts of a tree on trial, where a model is computed without rows and their width means nothing
_named: set[type] = set()  # the classes of models whose reason was logged


def supports_prefix_sharing(
    model: PreTrainedModel, layer: OutputLayer | None, longest: int, block: int, batch_tokens: int
) -> bool:
    """Say whether a causal model may be given trees of ``block`` contexts; a reason why not is logged once.

    ``longest`` is the length of the longest sentence with its start token.
    """
    reason = _fault(model, layer, max(longest, 2), block, batch_tokens)
    if reason is not None and type(model) not in _named:
        _named.add(type(model))
        log_line(f"{type(model).__name__}: no computation is shared between sentences, because {reason}")
    return agreed(reason is None)


def _fault(
    model: PreTrainedModel, layer: OutputLayer | None, longest: int, block: int, batch_tokens: int
) -> str | None:
    """Return why a model cannot be given trees, or None if it can."""
    if layer is None:
        return "its logits are not those of a linear layer alone"
    if "position_ids" not in inspect.signature(getattr(model.base_model, "forward", model.base_model)).parameters:
        # And beyond its positions an accelerator would stop.
        return "its architecture takes no positions of tokens"
    block = min(block, _WIDEST) if neox.fits(model) else block
    rows = _random_rows(longest, block, int(model.config.get_text_config().vocab_size))
    try:
        shared = _score_by_trees(model, layer, rows, block, batch_tokens)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # an architecture may fail in any way on a mask that it does not expect
        return f"its architecture does not take a mask of its own for each token ({type(error).__name__})"
    plain = _score_by_rows(model, layer, rows, batch_tokens)
    known = np.isfinite(plain) & np.isfinite(shared)
    if not known.any():
        return None if not np.isfinite(plain).any() else "trees of sentences give no numbers"
    if _agree(model, plain, shared):
        return None
    return (
        f"trees of sentences change its log probabilities by up to {np.abs(shared - plain)[known].max():.1g} nats"
    )


def needs_no_mask(model: PreTrainedModel, layer: OutputLayer | None, longest: int, batch_tokens: int) -> bool:
    """Try whether a model on an accelerator reads rows as long as the longest one without a mask as with its own."""
    if not attends_without_mask(model):
        return False
    rows = _random_rows(max(longest, 2), longest, int(model.config.get_text_config().vocab_size))
    plain = _score_by_rows(model, layer, rows, batch_tokens)
    with without_mask(model):
        bare = _score_by_rows(model, layer, rows, batch_tokens)
    return agreed(_agree(model, plain, bare))


def _agree(model: PreTrainedModel, plain: Scores, other: Scores) -> bool:
    """Say whether log probabilities float64[sentences, tokens] computed in two ways are the same but for rounding.

    They differ by what the kernels and the type make of it, and with large hidden states that is more than 1e-4 nats
    in float32 too. What counts is whether decisions between sentences would change, so differences are held against
    the spread of the values: a decision, a difference of sums, changes its sign with a probability of about
    arctan(ratio) / pi. In float32 on a processor the largest difference counts, elsewhere that of each place in the
    sentences.
    """
    known = np.isfinite(plain) & np.isfinite(other)
    apart = np.where(known, np.abs(other - plain), 0.0)
    if model.dtype == torch.float32 and model.device.type == "cpu":
        return bool(apart.max() <= max(_CLOSE, _SHARE_IN_FLOAT32 * plain[known].std()))
    by_place = np.sqrt((apart**2).sum(axis=0) / np.maximum(known.sum(axis=0), 1))
    return bool(by_place.max() <= _SHARE_OF_SPREAD * plain[known].std())


def _random_rows(longest: int, block: int, vocabulary: int) -> Ids:
    """Make random sentences, int64[sentences, longest], that part early and late and fill two trees."""
    random = np.random.default_rng(0)
    parts = [max(1, longest * quarter // 4) for quarter in (3, 2, 1)]
    parts += [1] * (2 * block // longest)
    rows = np.tile(random.integers(vocabulary, size=longest), (len(parts) + 1, 1))
    for row, first in zip(rows[1:], parts, strict=True):
        row[first:] = random.integers(vocabulary, size=longest - first)
    return rows


def _score_by_rows(model: PreTrainedModel, layer: OutputLayer | None, rows: Ids, batch_tokens: int) -> Scores:
    """Return log probabilities of all tokens but the first ones, float64[sentences, longest - 1]."""
    size = max(1, batch_tokens // rows.shape[1])
    parts = [rows[first : first + size] for first in range(0, len(rows), size)]
    return np.concatenate([score_rows(model, layer, part[:, :-1].copy(), part[:, 1:]) for part in parts])


def _score_by_trees(
    model: PreTrainedModel, layer: OutputLayer, rows: Ids, block: int, batch_tokens: int
) -> Scores:
    """Return log probabilities of all tokens but the first ones, float64[sentences, longest - 1]."""
    count, longest = rows.shape
    starts, none = np.arange(count + 1) * longest, np.zeros(0, dtype=np.int64)
    everything = np.ones(rows.size, dtype=bool)
    sentences = Sentences(
        [""] * count, rows.ravel(), starts, none, none, everything, np.zeros((count, 2), np.int64)
    )
    forest = build_prefix_forest(sentences, None, block)
    with alone():
        scores = ForestScorer(model, layer, forest, batch_tokens).token_log_probabilities()
    return scores.reshape(rows.shape)[:, 1:]
