"""The output layer without its [batch, length, vocabulary] table: normalizers by chunks, target logits alone."""

import inspect
import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import linear
from transformers import PreTrainedModel

from ucurve.eval.scoring.batching import device_sizes, logits_at_once
from ucurve.eval.scoring.text.sentences import Ids, Scores
from ucurve.huggingface.attention import register_without_mask

_AFTER_THE_LAYER = ("final_logit_softcapping", "logit_scale", "logits_scaling")  # settings that change its logits
_LOG2_E = math.log2(math.e)
_SMALLEST = 1e-30  # below this sum of exponentials, float32 may have lost terms


class OutputLayer:
    """Turns hidden states into log probabilities of given tokens, by a weight float[V, D] and a bias float[V] or None.

    In half precision the logits are the model's own, rounded as it rounds them; all that follows them is float32.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        self._weight, self._bias = weight, bias
        self._sizes = device_sizes(weight.device.type)
        self._logits = logits_at_once(weight.device)

    def log_probabilities(self, hidden: torch.Tensor, contexts: Ids, targets: Ids) -> npt.NDArray[np.float64]:
        """Return natural log probabilities of tokens after contexts, float64[targets].

        ``hidden``, float[contexts, D], are in the dtype of the weight; ``contexts`` has the context of each target. An
        accelerator is waited for once, when it is done.
        """
        hidden = hidden.to(self._weight.device)  # the last one, where a model lies on several
        if self._weight.dtype != torch.float32:
            return self._from_own_logits(hidden, contexts, targets)
        after, tokens = to_device(np.stack([contexts, targets]), hidden.device)
        logits = torch.linalg.vecdot(hidden[after], self._weight[tokens])
        if self._bias is not None:
            logits = logits + self._bias[tokens]
        logits = logits.double()
        sums = torch.cat([self._sum_of_exponentials(part) for part in torch.split(hidden, self._sizes.contexts)])
        safe = (sums > _SMALLEST) & (sums < torch.inf)
        table: npt.NDArray[np.float64] = np.asarray(
            torch.stack([logits - sums.log()[after], safe[after].double()]).cpu()
        )
        wrong = np.flatnonzero(table[1] == 0)
        if len(wrong):  # exponentials out of float32's range: shift by the largest logit first
            again, places = np.unique(contexts[wrong], return_inverse=True)
            parts = self._rows(hidden[to_device(again, hidden.device)])
            normalizers = torch.cat([self._shifted(part) for part in parts]).cpu().numpy()
            table[0, wrong] = logits.cpu().numpy()[wrong] - normalizers[places]
        scores: npt.NDArray[np.float64] = table[0]
        return scores

    def _sum_of_exponentials(self, hidden: torch.Tensor) -> torch.Tensor:
        """Sum the exponentials of the logits of each context over the vocabulary, float64[contexts]."""
        total = torch.zeros(len(hidden), dtype=torch.float64, device=hidden.device)
        columns = hidden.T.contiguous().mul_(_LOG2_E)  # powers of 2 take half the time of powers of e
        size = self._sizes.tokens
        buffer = torch.empty(min(size, len(self._weight)), len(hidden), device=hidden.device, dtype=hidden.dtype)
        for start in range(0, len(self._weight), size):
            weight = self._weight[start : start + size]
            logits = torch.mm(weight, columns, out=buffer[: len(weight)])
            if self._bias is not None:
                logits += self._bias[start : start + size, None] * _LOG2_E
            total += logits.exp2_().sum(0)
        return total

    def _from_own_logits(self, hidden: torch.Tensor, contexts: Ids, targets: Ids) -> npt.NDArray[np.float64]:
        """Return what ``log_probabilities`` does, from all logits of each context in the type of the weight."""
        order = np.argsort(contexts, kind="stable")
        after, tokens = to_device(np.stack([contexts[order], targets[order]]), hidden.device)
        scores = torch.empty(len(order), dtype=torch.float64, device=hidden.device)
        first = 0
        for part in self._rows(hidden):
            logits = linear(part, self._weight, self._bias).float()
            asked = slice(*np.searchsorted(contexts[order], [first, first + len(part)]))
            places = after[asked] - first
            scores[asked] = logits[places, tokens[asked]].double() - logits.logsumexp(-1)[places]
            first += len(part)
        unsorted = np.empty(len(order))
        unsorted[order] = scores.cpu()
        return unsorted

    def _rows(self, hidden: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Split contexts so that their logits of the whole vocabulary can be held at once."""
        return torch.split(hidden, max(1, self._logits // len(self._weight)))

    def _shifted(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the logs of the sums of exponentials, float64[contexts], whatever the size of the logits."""
        logits = hidden @ self._weight.T
        if self._bias is not None:
            logits += self._bias
        return torch.logsumexp(logits.double(), dim=-1)


def output_layer(model: PreTrainedModel, probe: torch.Tensor) -> OutputLayer | None:
    """Return a causal model's output layer if it alone gives the model's logits for ``probe``, int64[1, L].

    Models that scale or cap their logits after the layer, or hide their last hidden states, are asked for logits.
    """
    layer, config = model.get_output_embeddings(), model.config.get_text_config()
    if type(layer) is not torch.nn.Linear or layer.weight.is_meta:  # quantized, or not kept on any device
        return None
    if any(getattr(config, name, None) for name in _AFTER_THE_LAYER):
        return None
    try:
        hidden = model.base_model(input_ids=probe, use_cache=False).last_hidden_state
    except (TypeError, AttributeError):  # it takes other arguments, or answers otherwise
        return None
    logits, own = compute_logits(model, probe), layer(hidden)
    theirs = logits.to(own.device)  # a model on several devices moves its logits
    same = theirs.shape[-1] == len(layer.weight) and torch.allclose(
        own, theirs, rtol=1e-5, atol=1e-5, equal_nan=True
    )
    return OutputLayer(layer.weight, layer.bias) if same else None


def compute_logits(model: PreTrainedModel, inputs: torch.Tensor) -> torch.Tensor:
    """Ask a model for its logits, [B, L, V] of ids int64[B, L], without a cache."""
    parameters = inspect.signature(model.forward).parameters.values()
    takes = any(one.name == "use_cache" or one.kind is one.VAR_KEYWORD for one in parameters)
    logits: torch.Tensor = model(input_ids=inputs, **({"use_cache": False} if takes else {})).logits
    return logits


def score_rows(model: PreTrainedModel, layer: OutputLayer | None, inputs: Ids, wanted: Ids) -> Scores:
    """Return natural log probabilities, float64[B, L], of the tokens ``wanted`` after each of ``inputs``."""
    ids = to_device(inputs, model.device)
    if layer is None:
        logits = compute_logits(model, ids).float()
        chosen = logits.log_softmax(-1).gather(-1, to_device(wanted, logits.device)[..., None]).squeeze(-1)
        return np.asarray(chosen.double().cpu())
    hidden = model.base_model(input_ids=ids, use_cache=False).last_hidden_state.flatten(0, 1)
    return layer.log_probabilities(hidden, np.arange(wanted.size), wanted.flatten()).reshape(wanted.shape)


def to_device(ids: Ids, device: torch.device) -> torch.Tensor:
    """Copy ids to a device without waiting for the work that is queued there."""
    copied = torch.from_numpy(ids)
    return (copied.pin_memory() if device.type == "cuda" else copied).to(device, non_blocking=True)


def attends_without_mask(model: PreTrainedModel) -> bool:
    """Tell whether ``without_mask`` applies: on an accelerator, to attention that the library chooses by its name."""
    by_name = getattr(model, "_supports_attention_backend", False)
    return (
        model.device.type != "cpu" and by_name and model.config.get_text_config()._attn_implementation == "sdpa"
    )


@contextmanager
def without_mask(model: PreTrainedModel) -> Iterator[None]:
    """Let a causal model read rows without padding without a mask, and without looking for packed ones on the device.

    Windows of attention are lost: only for a model and lengths with which it was tried.
    """
    config = model.config.get_text_config()
    config._attn_implementation = register_without_mask()
    try:
        yield
    finally:
        config._attn_implementation = "sdpa"


def log_prob_of_any(logits: torch.Tensor, tokens: Ids) -> Scores:
    """Return the natural log of the probability of a set of tokens, float[B, V] to float64[B]."""
    logits = logits.double()
    chosen = logits[:, torch.from_numpy(tokens).to(logits.device)]
    return np.asarray((chosen.logsumexp(-1) - logits.logsumexp(-1)).cpu())
