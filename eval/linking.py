"""Linking functions: from the stored sums of a sentence to the number two sentences are compared by.

Every function takes ``lp`` (natural log probability of the sentence), ``n`` (scored tokens) and ``unigram`` (sum of log
unigram probabilities; functions that do not read it can be called without), numbers or float64 arrays of one shape, and
returns that shape. Higher means more acceptable unless the family says ``lower_is_better``. A new one costs no forward
pass.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ucurve.errors import UserError, unknown_name

Array = npt.NDArray[np.float64]
Number = TypeVar("Number", Array, float)


def lp(lp: Number, n: Number, unigram: Number | None = None) -> Number:  # noqa: ARG001
    """Log probability of the sentence (ZhoBLiMP, section 4.1)."""
    return lp


def mean_lp(lp: Number, n: Number, unigram: Number | None = None) -> Number:  # noqa: ARG001
    """Log probability per token, LP / n (ZhoBLiMP, section 4.1)."""
    return lp / n


def pen_lp(lp: Number, n: Number, unigram: Number | None = None, alpha: float = 0.8) -> Number:  # noqa: ARG001
    """PenLP: LP / ((n + 5) / (5 + 1)) ** alpha (ZhoBLiMP, section 4.1)."""
    penalty: Number = ((n + 5) / 6) ** alpha
    return lp / penalty


def slln_lp(lp: Number, n: Number, unigram: Number | None = None, alpha: float = 0.5) -> Number:  # noqa: ARG001
    """Sub-linear length normalized LP: LP / n ** alpha (ZhoBLiMP, section 4.3)."""
    length: Number = n**alpha
    return lp / length


def nll(lp: Number, n: Number, unigram: Number | None = None) -> Number:  # noqa: ARG001
    """Negative log likelihood of the sentence, -LP, in nats; lower is better."""
    return -lp


def nll_per_token(lp: Number, n: Number, unigram: Number | None = None) -> Number:  # noqa: ARG001
    """Negative log likelihood per token, -LP / n, in nats: the log of ``ppl``; lower is better."""
    return -lp / n


def ppl(lp: Number, n: Number, unigram: Number | None = None) -> Number:
    """Perplexity of the sentence, exp(-LP / n); infinite where float64 ends; lower is better."""
    with np.errstate(over="ignore"):
        value: Number = np.exp(nll_per_token(lp, n, unigram))
    return value


def slor(lp: Number, n: Number, unigram: Number) -> Number:
    """Syntactic log-odds ratio: (LP - U) / n (ZhoBLiMP, section 4.1)."""
    return (lp - unigram) / n


def morcela(lp: Number, n: Number, unigram: Number, beta: float = 1.0, gamma: float = 0.0) -> Number:
    """MORCELA: (LP - beta U + gamma) / n (ZhoBLiMP, section 4.1); its defaults make it SLOR."""
    return (lp - beta * unigram + gamma) / n


@dataclass(frozen=True)
class Family:
    """A linking function as registered.

    Attributes:
        function: what it computes.
        defaults: its parameters.
        needs_unigrams: whether it reads ``unigram``.
        lower_is_better: whether the better sentence has the lower value.
        compared: an increasing function of the value by which pairs are decided instead, where the value itself would
            overflow and make the width of a tie depend on its size; None for the value itself.
    """

    function: Callable[..., Array]
    defaults: Mapping[str, float]
    needs_unigrams: bool = False
    lower_is_better: bool = False
    compared: Callable[..., Array] | None = None


FAMILIES: dict[str, Family] = {
    "lp": Family(lp, {}),
    "mean_lp": Family(mean_lp, {}),
    "pen_lp": Family(pen_lp, {"alpha": 0.8}),
    "slln_lp": Family(slln_lp, {"alpha": 0.5}),
    "nll": Family(nll, {}, lower_is_better=True),
    "ppl": Family(ppl, {}, lower_is_better=True, compared=nll_per_token),
    "slor": Family(slor, {}, needs_unigrams=True),
    "morcela": Family(morcela, {"beta": 1.0, "gamma": 0.0}, needs_unigrams=True),
}


@dataclass(frozen=True)
class Linking:
    """A linking function with its parameters bound.

    Attributes:
        name: the name in ``accuracy.csv``; parameters are part of it unless they are the defaults.
        function: its value.
        compared: what pairs are decided by, the value or an increasing function of it.
        needs_unigrams: whether it reads ``unigram``.
        lower_is_better: whether the better sentence has the lower value.
    """

    name: str
    function: Callable[[Array, Array, Array], Array]
    compared: Callable[[Array, Array, Array], Array]
    needs_unigrams: bool
    lower_is_better: bool

    def __call__(self, lp: Array, n: Array, unigram: Array) -> Array:
        """Return the linked value of each sentence."""
        return self.function(lp, n, unigram)


def parse_linking(name: str) -> Linking:
    """Read a linking function's name: ``slln_lp``, ``slln_lp:0.3``, ``morcela:0.6:18``.

    Raises:
        UserError: when the function is unknown, or its parameters are too many or no finite numbers.
    """
    base, *given = name.split(":")
    family = FAMILIES.get(base)
    if family is None:
        raise unknown_name("linking function", base, FAMILIES)
    values = _numbers(name, given, family)
    bound = dict(zip(family.defaults, values, strict=False))
    changed = any(family.defaults[key] != value for key, value in bound.items())
    shown = ":".join([base, *(repr(value).removesuffix(".0") for value in values)]) if changed else base
    function = partial(family.function, **bound)
    return Linking(shown, function, family.compared or function, family.needs_unigrams, family.lower_is_better)


def _numbers(name: str, given: list[str], family: Family) -> list[float]:
    allowed = ":".join(family.defaults) or "no parameter"
    try:
        values = [float(text) for text in given]
    except ValueError:
        values = [math.nan]
    if len(values) > len(family.defaults) or not all(map(math.isfinite, values)):
        raise UserError(f"linking function {name!r}: {allowed} allowed after the name, as finite numbers")
    return values
