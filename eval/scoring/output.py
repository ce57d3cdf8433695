"""The output layer without its [batch, length, vocabulary] table: normalizers by chunks, target logits alone."""

import inspect
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from eval.scoring.text.sentences import Ids, Scores

_CONTEXTS = 256  # contexts and tokens of one chunk: 1 MB of logits, which stays in the processor's cache
_TOKENS = 1024
_AFTER_THE_LAYER = ("final_logit_softcapping", "logit_scale", "logits_scaling")  # settings that change its logits
_LOG2_E = math.log2(math.e)
_SMALLEST = 1e-30  # below this sum of exponentials, float32 may have lost terms


class OutputLayer:
    """Turns hidden states into log probabilities of given tokens.

    Args:
        weight: float32[V, D].
        bias: float32[V], or None.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        self._weight, self._bias = weight, bias

    def log_probabilities(
        self, hidden: torch.Tensor, contexts: torch.Tensor, targets: torch.Tensor
    ) -> npt.NDArray[np.float64]:
        """Return natural log probabilities of tokens after contexts.

        Args:
            hidden: float32[contexts, D], last hidden states.
            contexts: int64[targets], the context each target follows.
            targets: int64[targets], token ids.

        Returns:
            float64[targets].
        """
        logits = torch.linalg.vecdot(hidden[contexts], self._weight[targets])
        if self._bias is not None:
            logits = logits + self._bias[targets]
        return np.asarray((logits.double() - self.log_normalizers(hidden)[contexts]).cpu())

    def log_normalizers(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the log of the sum of exponentials of all logits, float64[contexts]."""
        return torch.cat([self._log_normalizer(part) for part in torch.split(hidden, _CONTEXTS)])

    def _log_normalizer(self, hidden: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(len(hidden), dtype=torch.float64, device=hidden.device)
        columns = hidden.T.contiguous().mul_(_LOG2_E)  # powers of 2 take half the time of powers of e
        buffer = torch.empty(min(_TOKENS, len(self._weight)), len(hidden), device=hidden.device, dtype=hidden.dtype)
        for start in range(0, len(self._weight), _TOKENS):
            weight = self._weight[start : start + _TOKENS]
            logits = torch.mm(weight, columns, out=buffer[: len(weight)])
            if self._bias is not None:
                logits += self._bias[start : start + _TOKENS, None] * _LOG2_E
            total += logits.exp2_().sum(0)
        unsafe = ~((total > _SMALLEST) & (total < torch.inf))
        logarithm = total.log()
        if unsafe.any():  # exponentials out of float32's range: shift by the largest logit first
            logarithm[unsafe] = self._shifted(hidden[unsafe])
        return logarithm

    def _shifted(self, hidden: torch.Tensor) -> torch.Tensor:
        logits = hidden @ self._weight.T
        if self._bias is not None:
            logits += self._bias
        return torch.logsumexp(logits.double(), dim=-1)


def output_layer(model: Any, probe: torch.Tensor) -> OutputLayer | None:
    """Take a model's output layer out of it, if that gives the model's own logits.

    Some architectures scale or cap their logits after the layer, which small logits may not show; those have to be
    asked for logits instead, and so have models whose inner part does not give its last hidden states.

    Args:
        model: a causal ``PreTrainedModel``.
        probe: int64[1, L], ids to compare on.

    Returns:
        The layer, or None when its logits are not the model's.
    """
    layer, config = model.get_output_embeddings(), model.config.get_text_config()
    if not isinstance(layer, torch.nn.Linear) or any(getattr(config, name, None) for name in _AFTER_THE_LAYER):
        return None
    try:
        hidden = model.base_model(input_ids=probe, use_cache=False).last_hidden_state
    except (TypeError, AttributeError):  # it takes other arguments, or answers otherwise
        return None
    logits = compute_logits(model, probe)
    same = logits.shape[-1] == len(layer.weight) and torch.allclose(
        layer(hidden), logits, rtol=1e-5, atol=1e-5, equal_nan=True
    )
    return OutputLayer(layer.weight, layer.bias) if same else None


def compute_logits(model: Any, inputs: torch.Tensor) -> torch.Tensor:
    """Ask a model for its logits, [B, L, V] of ids int64[B, L], without a cache where it could keep one."""
    parameters = inspect.signature(model.forward).parameters.values()
    takes = any(one.name == "use_cache" or one.kind is one.VAR_KEYWORD for one in parameters)
    logits: torch.Tensor = model(input_ids=inputs, **({"use_cache": False} if takes else {})).logits
    return logits


def log_prob_of_any(logits: torch.Tensor, tokens: Ids) -> Scores:
    """Return the natural log of the probability of a set of tokens.

    Args:
        logits: float[B, V].

    Returns:
        float64[B].
    """
    logits = logits.double()
    chosen = logits[:, torch.from_numpy(tokens).to(logits.device)]
    return np.asarray((chosen.logsumexp(-1) - logits.logsumexp(-1)).cpu())
