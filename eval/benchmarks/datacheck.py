"""The data report of a benchmark: what is odd in its pairs, and how the lengths of their members compare."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ucurve.eval.pairs import identical

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_SHOWN = 3  # examples of a kind


@dataclass(frozen=True)
class LengthReport:
    """How the lengths of the two members compare, in one unit."""

    unit: str  # "characters" or "tokens"
    equal: int  # number of pairs
    good_longer: int
    bad_longer: int
    longest: int  # length of the longest sentence
    mostly_unequal: tuple[str, ...]  # paradigms with more than half of their pairs of unequal length

    @property
    def unequal(self) -> float:
        """The share of pairs of unequal length, a fraction."""
        return (self.good_longer + self.bad_longer) / (self.equal + self.good_longer + self.bad_longer)

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        return [
            f"length in {self.unit}: {self.equal:,} equal, {self.good_longer:,} good longer, {self.bad_longer:,} bad "
            f"longer, {self.unequal:.2%} unequal; longest sentence {self.longest}",
            f"paradigms with more than half unequal in {self.unit}: " + _listed(self.mostly_unequal),
        ]


@dataclass(frozen=True)
class DataReport:
    """The report that ``check=true`` prints of one benchmark; pairs are given by their numbers ``pair``."""

    benchmark: str
    pairs: int
    paradigms: int
    phenomena: int
    identical: dict[str, int]  # pairs of two identical sentences, by paradigm
    duplicates_within: tuple[int, ...]  # pairs that come earlier in the same paradigm
    duplicates_across: tuple[int, ...]  # pairs that come earlier in another paradigm only
    odd: dict[str, tuple[int, ...]]  # pairs with odd text, by what is odd
    lengths: tuple[LengthReport, ...]  # in characters, and in tokens if there is a tokenizer
    # Pairs with a member that its tokens do not spell; None without a tokenizer.
    respelt: tuple[int, ...] | None = None

    def text(self) -> str:
        """Return the report as text of several lines."""
        same = sum(self.identical.values())
        where = [f"{count} in {paradigm}" for paradigm, count in self.identical.items()]
        lines = [
            f"{self.benchmark}: {self.pairs:,} pairs, {self.paradigms} paradigms, {self.phenomena} phenomena",
            f"identical pairs, left out of every accuracy: {same}{_examples(where)}",
            f"duplicate pairs within a paradigm: {_listed(self.duplicates_within)}",
            f"duplicate pairs across paradigms: {_listed(self.duplicates_across)}",
            *(f"pairs with {kind}: {_listed(pairs)}" for kind, pairs in self.odd.items()),
            *(line for report in self.lengths for line in report.lines()),
        ]
        if self.respelt is not None:
            lines.append(
                f"pairs with a sentence that the tokenizer turns into another text: {_listed(self.respelt)}"
            )
        return "\n  ".join(lines)


def data_report(pairs: pd.DataFrame, tokenizer: "PreTrainedTokenizerBase | None" = None) -> DataReport:
    """Examine the pairs of one benchmark; with a tokenizer, also their lengths in tokens and their spelling."""
    same = pairs[identical(pairs)].groupby("paradigm").size()
    within = pairs[["phenomenon", "paradigm", "good", "bad"]].duplicated()
    lengths = [_length_report(pairs, "characters", lambda texts: [len(text) for text in texts])]
    if tokenizer is not None:
        lengths.append(
            _length_report(
                pairs,
                "tokens",
                lambda texts: list(map(len, tokenizer(texts, add_special_tokens=False)["input_ids"])),
            )
        )
    return DataReport(
        benchmark=str(pairs["benchmark"].iloc[0]),
        pairs=len(pairs),
        paradigms=len(pairs[["phenomenon", "paradigm"]].drop_duplicates()),
        phenomena=pairs["phenomenon"].nunique(),
        identical={str(paradigm): int(count) for paradigm, count in same.items()},
        duplicates_within=tuple(pairs["pair"][within]),
        duplicates_across=tuple(pairs["pair"][pairs[["good", "bad"]].duplicated() & ~within]),
        odd=_odd(pairs),
        lengths=tuple(lengths),
        respelt=None if tokenizer is None else _respelt(tokenizer, pairs),
    )


def _respelt(tokenizer: "PreTrainedTokenizerBase", pairs: pd.DataFrame) -> tuple[int, ...]:
    """Find pairs with a member that decodes to another text: something was changed or is unknown."""
    other = np.zeros(len(pairs), dtype=bool)
    for name in ("good", "bad"):
        texts = pairs[name].tolist()
        ids = tokenizer(texts, add_special_tokens=False)["input_ids"]
        spelt = tokenizer.batch_decode(ids, clean_up_tokenization_spaces=False)
        other |= np.array([text != again for text, again in zip(texts, spelt, strict=True)])
    return tuple(pairs["pair"][other])


def _length_report(pairs: pd.DataFrame, unit: str, measure: Callable[[list[str]], list[int]]) -> LengthReport:
    """Compare the lengths of the members of all pairs, which ``measure`` gives for sentences."""
    good, bad = (np.asarray(measure(pairs[name].tolist()), dtype=np.int64) for name in ("good", "bad"))
    share = pd.Series(good != bad).groupby([pairs["phenomenon"].to_numpy(), pairs["paradigm"].to_numpy()]).mean()
    return LengthReport(
        unit=unit,
        equal=int((good == bad).sum()),
        good_longer=int((good > bad).sum()),
        bad_longer=int((good < bad).sum()),
        longest=int(max(good.max(), bad.max())),
        mostly_unequal=tuple(sorted(paradigm for _, paradigm in share.index[share > 0.5])),
    )


def _odd(pairs: pd.DataFrame) -> dict[str, tuple[int, ...]]:
    """Find pairs whose text hints at a mistake in the files, by what is odd about it."""
    kinds: dict[str, Callable[[str, str], bool]] = {
        "space at an end": lambda good, bad: good != good.strip() or bad != bad.strip(),
        "two spaces in a row": lambda good, bad: "  " in good or "  " in bad,
        "a tab or line break": lambda good, bad: any(mark in good + bad for mark in "\t\n\r"),
        "final punctuation on one member only": lambda good, bad: _punctuated(good) != _punctuated(bad),
    }
    members = list(zip(pairs["pair"].tolist(), pairs["good"].tolist(), pairs["bad"].tolist(), strict=True))
    return {
        kind: tuple(number for number, good, bad in members if is_odd(good, bad))
        for kind, is_odd in kinds.items()
    }


def _punctuated(sentence: str) -> bool:
    return unicodedata.category(sentence.rstrip()[-1:] or " ").startswith("P")


def _listed(names: Sequence[object]) -> str:
    return f"{len(names)}{_examples(names)}"


def _examples(names: Sequence[object]) -> str:
    shown = ", ".join(map(str, names[:_SHOWN]))
    return f" ({shown}{', ...' if len(names) > _SHOWN else ''})" if names else ""
