"""Linking functions: from what is stored of a sentence to the number two sentences are compared by.

Every function takes ``lp`` (natural log probability of the sentence), ``n`` (scored tokens) and what else it reads,
such as ``unigram`` (sum of log unigram probabilities), numbers or float64 arrays of one shape, and returns that shape.
Higher means more acceptable unless the family says ``lower_is_better``. A new one costs no forward pass.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.errors import UserError, unknown_name

Array = npt.NDArray[np.float64]
Number = TypeVar("Number", Array, float)
Side = Literal["good", "bad"]
Function = Callable[..., Any]  # from what it reads and its parameters to a value of the same type
Table = Mapping[str, npt.ArrayLike] | pd.DataFrame


def lp(lp: Number, n: Number) -> Number:  # noqa: ARG001
    """Log probability of the sentence (ZhoBLiMP, section 4.1)."""
    return lp


def mean_lp(lp: Number, n: Number) -> Number:
    """Log probability per token, LP / n (ZhoBLiMP, section 4.1)."""
    return lp / n


def pen_lp(lp: Number, n: Number, alpha: float = 0.8) -> Number:
    """PenLP: LP / ((n + 5) / (5 + 1)) ** alpha (ZhoBLiMP, section 4.1)."""
    penalty: Number = ((n + 5) / 6) ** alpha
    return lp / penalty


def slln_lp(lp: Number, n: Number, alpha: float = 0.5) -> Number:
    """Sub-linear length normalized LP: LP / n ** alpha (ZhoBLiMP, section 4.3)."""
    length: Number = n**alpha
    return lp / length


def nll(lp: Number, n: Number) -> Number:  # noqa: ARG001
    """Negative log likelihood of the sentence, -LP, in nats; lower is better."""
    return -lp


def nll_per_token(lp: Number, n: Number) -> Number:
    """Negative log likelihood per token, -LP / n, in nats: the log of ``ppl``; lower is better."""
    return -lp / n


def ppl(lp: Number, n: Number) -> Number:
    """Perplexity of the sentence, exp(-LP / n); infinite where float64 ends; lower is better."""
    with np.errstate(over="ignore"):
        value: Number = np.exp(nll_per_token(lp, n))
    return value


def slor(lp: Number, n: Number, unigram: Number) -> Number:
    """Syntactic log-odds ratio: (LP - U) / n (ZhoBLiMP, section 4.1)."""
    return (lp - unigram) / n


def morcela(lp: Number, n: Number, unigram: Number, beta: float = 1.0, gamma: float = 0.0) -> Number:
    """MORCELA: (LP - beta U + gamma) / n (ZhoBLiMP, section 4.1); its defaults make it SLOR."""
    return (lp - beta * unigram + gamma) / n


def char_lp(lp: Number, n: Number, chars: Number) -> Number:  # noqa: ARG001
    """Log probability per character of the scored text, LP / chars; comparable across tokenizers."""
    return lp / chars


def byte_lp(lp: Number, n: Number, utf8_bytes: Number) -> Number:  # noqa: ARG001
    """Log probability per UTF-8 byte of the scored text, LP / bytes; comparable across tokenizers."""
    return lp / utf8_bytes


def stored(value: Number, percent: float = 0.0) -> Number:  # noqa: ARG001
    """Return the stored column unchanged; the parameter only selects the column."""
    return value


@dataclass(frozen=True)
class Family:
    """A linking function as registered."""

    function: Function
    defaults: Mapping[str, float] = field(default_factory=dict)  # its parameters
    # What it reads beyond `lp` and `n`: columns of the score table, without `_good` and `_bad`. One whose name depends
    # on a parameter holds it in braces, `mink{percent:g}`.
    columns: tuple[str, ...] = ()
    from_sums: bool = True  # whether it reads `lp` and `n`
    lower_is_better: bool = False
    # An increasing function of the value by which pairs are decided instead, where the value itself would overflow and
    # make the width of a tie depend on its size.
    compared: Function | None = None
    # Of parameters; others are any number.
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)


PROMPT_READINGS = ("grammaticality", "acceptability", "grammaticality_p", "acceptability_p")

FAMILIES: dict[str, Family] = {
    "lp": Family(lp),
    "mean_lp": Family(mean_lp),
    "pen_lp": Family(pen_lp, {"alpha": 0.8}),
    "slln_lp": Family(slln_lp, {"alpha": 0.5}),
    "nll": Family(nll, lower_is_better=True),
    "ppl": Family(ppl, lower_is_better=True, compared=nll_per_token),
    "slor": Family(slor, columns=("unigram",)),
    "morcela": Family(morcela, {"beta": 1.0, "gamma": 0.0}, ("unigram",)),
    "char_lp": Family(char_lp, columns=("chars",)),
    "byte_lp": Family(byte_lp, columns=("bytes",)),
    "mink": Family(
        stored, {"percent": 60.0}, ("mink{percent:g}",), from_sums=False, limits={"percent": (1, 100)}
    ),
    **{name: Family(stored, columns=(name,), from_sums=False) for name in PROMPT_READINGS},
}


def register_linking(name: str, family: Family) -> None:
    """Add a linking function of one's own, which can be asked for by its name, a Python identifier, from then on."""
    if not name.isidentifier():
        raise ValueError(f"linking function {name!r}: a name of letters, digits and underscores is needed")
    if name in FAMILIES:
        raise ValueError(f"linking function {name!r} is registered already")
    FAMILIES[name] = family


@dataclass(frozen=True)
class Linking:
    """A linking function of a ``Family`` with its parameters bound."""

    name: str  # in `accuracy.csv`; parameters are part of it unless they are the defaults
    function: Function
    compared: Function  # what pairs are decided by, the value or an increasing function of it
    reads: tuple[str, ...]  # columns without `_good` and `_bad`, in the order the function takes them
    lower_is_better: bool

    def values(self, table: Table, side: Side) -> Array:
        """Return the linked value of the good or the bad member of each pair of a score table, float64[pairs]."""
        return np.asarray(self.function(*self._read(table, side)))

    def compared_values(self, table: Table, side: Side) -> Array:
        """Return what pairs are decided by, as ``values``; an increasing function of them."""
        return np.asarray(self.compared(*self._read(table, side)))

    def missing(self, table: Table) -> tuple[str, ...]:
        """Name the columns it reads that a score table lacks or that hold NaN; none when it can be computed."""
        wanted = [f"{name}_{side}" for name in self.reads for side in ("good", "bad")]
        return tuple(name for name in wanted if name not in table or np.isnan(_floats(table, name)).any())

    def _read(self, table: Table, side: Side) -> list[Array]:
        return [_floats(table, f"{name}_{side}") for name in self.reads]


def parse_linking(name: str) -> Linking:
    """Read a linking function's name: ``slln_lp``, ``slln_lp:0.3``, ``morcela:0.6:18``, ``mink:40``."""
    base, *given = name.split(":")
    family = FAMILIES.get(base)
    if family is None:
        raise unknown_name("linking function", base, FAMILIES)
    allowed = ":".join(family.defaults) or "no parameter"
    try:
        values = [float(text) for text in given]
    except ValueError:
        values = [math.nan]  # refused as what is not finite is
    if len(values) > len(family.defaults) or not all(map(math.isfinite, values)):
        raise UserError(f"linking function {name!r}: {allowed} allowed after the name, as finite numbers")
    for key, value in zip(family.defaults, values, strict=False):
        low, high = family.limits.get(key, (-math.inf, math.inf))
        if not low <= value <= high:
            raise UserError(f"linking function {name!r}: {key} is {value:g}; it must be from {low:g} to {high:g}")
    # Of several parameters, those that are not given keep their defaults.
    bound = {**family.defaults, **dict(zip(family.defaults, values, strict=False))}
    function = partial(family.function, **bound)
    parameters = [] if bound == dict(family.defaults) else [repr(value).removesuffix(".0") for value in values]
    return Linking(
        name=":".join([base, *parameters]),
        function=function,
        compared=partial(family.compared, **bound) if family.compared else function,
        reads=(
            *(("lp", "n") if family.from_sums else ()),
            *(column.format(**bound) for column in family.columns),
        ),
        lower_is_better=family.lower_is_better,
    )


def linking_name(base: str, parameters: Iterable[float]) -> str:
    """Write a linking function's name with its parameters, as ``parse_linking`` shows it."""
    return parse_linking(":".join([base, *map(repr, map(float, parameters))])).name


def _floats(table: Table, name: str) -> Array:
    return np.asarray(table[name], dtype=np.float64)
