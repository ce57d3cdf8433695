"""The output layer without its [batch, length, vocabulary] table: normalizers by chunks, target logits alone."""

import inspect
import math

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import linear
from transformers import PreTrainedModel

from eval.scoring.sizes import device_sizes
from eval.scoring.text.sentences import Ids, Scores

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

    def log_probabilities(
        self, hidden: torch.Tensor, contexts: torch.Tensor, targets: torch.Tensor
    ) -> npt.NDArray[np.float64]:
        """Return natural log probabilities of tokens after contexts, float64[targets].

        ``hidden``, float[contexts, D], are in the dtype of the weight; ``contexts`` has the context of each target.
        """
        device = self._weight.device  # the last one, where a model lies on several
        hidden, contexts, targets = hidden.to(device), contexts.to(device), targets.to(device)
        if self._weight.dtype != torch.float32:
            return np.asarray(self._from_own_logits(hidden, contexts, targets).cpu())
        logits = torch.linalg.vecdot(hidden[contexts], self._weight[targets])
        if self._bias is not None:
            logits = logits + self._bias[targets]
        normalizers = torch.cat([self._log_normalizers(part) for part in torch.split(hidden, self._sizes.contexts)])
        return np.asarray((logits.double() - normalizers[contexts]).cpu())

    def _log_normalizers(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the log of the sum of exponentials of all logits, float64[contexts], of float32[contexts, D]."""
        total = self._sum_of_exponentials(hidden)
        logarithm = total.log()
        unsafe = ~((total > _SMALLEST) & (total < torch.inf))
        if unsafe.any():  # exponentials out of float32's range: shift by the largest logit first
            logarithm[unsafe] = torch.cat([self._shifted(part) for part in self._rows(hidden[unsafe])])
        return logarithm

    def _sum_of_exponentials(self, hidden: torch.Tensor) -> torch.Tensor:
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

    def _from_own_logits(self, hidden: torch.Tensor, contexts: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        scores = torch.empty(len(targets), dtype=torch.float64, device=hidden.device)
        first = 0
        for part in self._rows(hidden):
            logits = linear(part, self._weight, self._bias).float()
            asked = ((contexts >= first) & (contexts < first + len(part))).nonzero()[:, 0]
            places = contexts[asked] - first
            scores[asked] = logits[places, targets[asked]].double() - logits.logsumexp(-1)[places]
            first += len(part)
        return scores

    def _rows(self, hidden: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Split contexts so that their logits of the whole vocabulary can be held at once."""
        return torch.split(hidden, max(1, self._sizes.logits // len(self._weight)))

    def _shifted(self, hidden: torch.Tensor) -> torch.Tensor:
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
    same = logits.shape[-1] == len(layer.weight) and torch.allclose(  # a model on several devices moves its logits
        own, logits.to(own.device), rtol=1e-5, atol=1e-5, equal_nan=True
    )
    return OutputLayer(layer.weight, layer.bias) if same else None


def compute_logits(model: PreTrainedModel, inputs: torch.Tensor) -> torch.Tensor:
    """Ask a model for its logits, [B, L, V] of ids int64[B, L], without a cache."""
    parameters = inspect.signature(model.forward).parameters.values()
    takes = any(one.name == "use_cache" or one.kind is one.VAR_KEYWORD for one in parameters)
    logits: torch.Tensor = model(input_ids=inputs, **({"use_cache": False} if takes else {})).logits
    return logits


def score_rows(model: PreTrainedModel, layer: OutputLayer | None, inputs: torch.Tensor, wanted: torch.Tensor) -> Scores:
    """Return natural log probabilities, float64[B, L], of the tokens ``wanted`` after each of ``inputs``."""
    if layer is None:
        logits = compute_logits(model, inputs).float()
        chosen = logits.log_softmax(-1).gather(-1, wanted.to(logits.device)[..., None]).squeeze(-1)
        return np.asarray(chosen.double().cpu())
    hidden = model.base_model(input_ids=inputs, use_cache=False).last_hidden_state.flatten(0, 1)
    contexts = torch.arange(wanted.numel(), device=wanted.device)
    return layer.log_probabilities(hidden, contexts, wanted.flatten()).reshape(tuple(wanted.shape))


def log_prob_of_any(logits: torch.Tensor, tokens: Ids) -> Scores:
    """Return the natural log of the probability of a set of tokens, float[B, V] to float64[B]."""
    logits = logits.double()
    chosen = logits[:, torch.from_numpy(tokens).to(logits.device)]
    return np.asarray((chosen.logsumexp(-1) - logits.logsumexp(-1)).cpu())
