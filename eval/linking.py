"""Linking functions: from the stored sums of a sentence to the number two sentences are compared by.

Every function takes arrays ``lp`` (natural log probability of the sentence), ``n`` (scored tokens) and ``unigram`` (sum
of log unigram probabilities), all float64 of one shape, and returns that shape; higher means more acceptable. A new one
costs no forward pass.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from ucurve.errors import UserError, unknown_name

Array = npt.NDArray[np.float64]


def lp(lp: Array, n: Array, unigram: Array) -> Array:  # noqa: ARG001
    """Log probability of the sentence (ZhoBLiMP, section 4.1)."""
    return lp


def mean_lp(lp: Array, n: Array, unigram: Array) -> Array:  # noqa: ARG001
    """Log probability per token, LP / n (ZhoBLiMP, section 4.1)."""
    return lp / n


def pen_lp(lp: Array, n: Array, unigram: Array, alpha: float = 0.8) -> Array:  # noqa: ARG001
    """PenLP: LP / ((n + 5) / (5 + 1)) ** alpha (ZhoBLiMP, section 4.1)."""
    return lp / ((n + 5) / 6) ** alpha


def slln_lp(lp: Array, n: Array, unigram: Array, alpha: float = 0.5) -> Array:  # noqa: ARG001
    """Sub-linear length normalized LP: LP / n ** alpha (ZhoBLiMP, section 4.3)."""
    return lp / n**alpha


def slor(lp: Array, n: Array, unigram: Array) -> Array:
    """Syntactic log-odds ratio: (LP - U) / n (ZhoBLiMP, section 4.1)."""
    return (lp - unigram) / n


def morcela(lp: Array, n: Array, unigram: Array, beta: float = 1.0, gamma: float = 0.0) -> Array:
    """MORCELA: (LP - beta U + gamma) / n (ZhoBLiMP, section 4.1); its defaults make it SLOR."""
    return (lp - beta * unigram + gamma) / n


@dataclass(frozen=True)
class Family:
    """A linking function as registered: what it computes, its parameters' defaults, and whether it needs unigrams."""

    function: Callable[..., Array]
    defaults: Mapping[str, float]
    needs_unigrams: bool = False


FAMILIES: dict[str, Family] = {
    "lp": Family(lp, {}),
    "mean_lp": Family(mean_lp, {}),
    "pen_lp": Family(pen_lp, {"alpha": 0.8}),
    "slln_lp": Family(slln_lp, {"alpha": 0.5}),
    "slor": Family(slor, {}, needs_unigrams=True),
    "morcela": Family(morcela, {"beta": 1.0, "gamma": 0.0}, needs_unigrams=True),
}


@dataclass(frozen=True)
class Linking:
    """A linking function with its parameters bound.

    Attributes:
        name: the name in ``accuracy.csv``; parameters are part of it unless they are the defaults.
        needs_unigrams: whether it reads ``unigram``.
    """

    name: str
    function: Callable[[Array, Array, Array], Array]
    needs_unigrams: bool

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
    return Linking(shown, partial(family.function, **bound), family.needs_unigrams)


def _numbers(name: str, given: list[str], family: Family) -> list[float]:
    allowed = ":".join(family.defaults) or "no parameter"
    try:
        values = [float(text) for text in given]
    except ValueError:
        values = [math.nan]
    if len(values) > len(family.defaults) or not all(map(math.isfinite, values)):
        raise UserError(f"linking function {name!r}: {allowed} allowed after the name, as finite numbers")
    return values
