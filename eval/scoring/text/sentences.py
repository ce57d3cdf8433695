"""The distinct sentences of a pair table, as token ids, and which of their tokens count."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeVar, cast
from unicodedata import is_normalized, normalize

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.errors import UserError
from ucurve.eval.scoring.text.spans import Part, describe_pair, find_spans
from ucurve.eval.scoring.text.tokenize import tokenize

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Ids = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Result = TypeVar("Result")
Summed = TypeVar("Summed", np.int64, np.float64)
Advance = Callable[[int], None]  # told after each batch how many sentences are done
_OTHER_FORMS: dict[Literal["NFC", "NFD"], str] = {"NFC": "decomposed (NFD)", "NFD": "composed (NFC)"}
_FEWER = 0.9  # of the tokens: a form that has so few is the one that the tokenizer was made of


class NotFiniteError(Exception):
    """A score is infinite or no number; ``sentence`` says which one's."""

    def __init__(self, sentence: int) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True, eq=False)
class Sentences:
    """Distinct sentences and where the pairs use them."""

    texts: list[str]  # a sentence that is scored on two spans is listed twice
    tokens: Ids  # int64, the ids of all sentences one after the other, no special token added
    starts: Ids  # int64[sentences + 1], where each sentence begins in `tokens`
    good: Ids  # int64[pairs], the sentence that is a pair's good member
    bad: Ids  # int64[pairs], likewise the bad member
    scored: Flags  # bool[tokens], the tokens whose log probabilities count; at least one of each sentence
    spans: Ids  # int64[sentences, 2], the characters that are scored, from and to
    # Sentences with a token that has characters on both sides of a border of the span; it counts.
    straddling: int = 0
    leading_space: bool = False  # whether every sentence is read with a space before it, which is not in `texts`
    _computed: dict[Hashable, object] = field(default_factory=dict, repr=False)

    def once(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return the result of ``compute``, called once for a key as long as these sentences are kept."""
        if key not in self._computed:
            self._computed[key] = compute()
        return cast(Result, self._computed[key])

    @property
    def lengths(self) -> Ids:
        """Tokens of each sentence, int64[sentences]."""
        return np.diff(self.starts)

    @property
    def owner(self) -> Ids:
        """The sentence of each token, int64[tokens]."""
        return np.repeat(np.arange(len(self.texts)), self.lengths)

    def ids(self, sentence: int) -> Ids:
        """Return the token ids of one sentence."""
        return self.tokens[self.starts[sentence] : self.starts[sentence + 1]]

    def sums(self, per_token: npt.NDArray[Summed]) -> npt.NDArray[Summed]:
        """Sum a value of every token over the scored tokens of each sentence."""
        return np.add.reduceat(np.where(self.scored, per_token, per_token.dtype.type(0)), self.starts[:-1])

    def counts(self) -> Ids:
        """Count the scored tokens of each sentence, int64[sentences]."""
        return np.asarray(self.sums(np.ones(len(self.tokens), dtype=np.int64)))

    def same_tokens(self) -> Flags:
        """Say of each pair whether its members are the same to a model: equal tokens, of which the same count."""
        return self.once("same tokens", self._same_tokens)

    def _same_tokens(self) -> Flags:
        numbers: dict[tuple[bytes, bytes], int] = {}
        spans = zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        read = ((self.tokens[first:end].tobytes(), self.scored[first:end].tobytes()) for first, end in spans)
        kinds = np.array([numbers.setdefault(one, len(numbers)) for one in read], dtype=np.int64)
        return np.asarray(kinds[self.good] == kinds[self.bad])

    def scored_texts(self) -> list[str]:
        """Return the characters of each sentence that are scored."""
        return [text[first:end] for text, (first, end) in zip(self.texts, self.spans.tolist(), strict=True)]


def encode(
    pairs: pd.DataFrame,
    tokenizer: "PreTrainedTokenizerBase",
    part: Part = "whole",
    bare: bool = False,
    leading_space: bool = False,
) -> Sentences:
    """Tokenize every distinct sentence once, exactly as written, without special tokens, never cutting it.

    A token counts when it shares a character with the ``part``. Read without a start token (``bare``), the first token
    of every sentence does not count, nor do its characters belong to the spans, as far as the tokenizer says which.
    """
    if part != "whole" and not tokenizer.is_fast:
        raise UserError(
            f"{tokenizer.name_or_path}: the tokenizer does not say which characters a token stands for, so that no "
            "part of a sentence can be scored; a tokenizer with a tokenizer.json does"
        )
    codes, texts, spans = _distinct(pairs, part)
    placed = part != "whole" or (bare and tokenizer.is_fast)
    tokens, lengths, places = tokenize(texts, tokenizer, placed, leading_space)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    scored, straddling = np.ones(len(tokens), dtype=bool), 0
    if part != "whole":
        assert places is not None
        owner = np.repeat(np.arange(len(spans)), lengths)
        first, end = spans[owner].T
        scored = (places[:, 0] < end) & (places[:, 1] > first)
        across = scored & ((places[:, 0] < first) | (places[:, 1] > end))
        straddling = len(np.unique(owner[across]))
    halves = codes[: len(pairs)], codes[len(pairs) :]
    sentences = Sentences(texts, tokens, starts, *halves, scored, spans, straddling, leading_space)
    empty = np.flatnonzero(lengths == 0)
    if len(empty):
        raise UserError(
            f"{describe(pairs, sentences, int(empty[0]))}: the tokenizer turns the sentence into no token"
        )
    _check_scored(pairs, sentences, "the part that is asked for has no token")
    if bare:
        sentences = _without_first_tokens(sentences, places)
        _check_scored(pairs, sentences, "bos=none leaves no token to score")
    return sentences


def _distinct(pairs: pd.DataFrame, part: Part) -> tuple[Ids, list[str], Ids]:
    """Number the distinct (text, span) of all good, then all bad members, and return the text and span of each."""
    members: list[tuple[str, int, int]] = []
    for side in ("good", "bad"):
        spans = find_spans(pairs, side, part)
        members += zip(pairs[side].tolist(), spans["first"], spans["end"], strict=True)
    numbers = {member: number for number, member in enumerate(dict.fromkeys(members))}
    codes = np.fromiter((numbers[member] for member in members), dtype=np.int64, count=len(members))
    return codes, [text for text, _, _ in numbers], np.array([span for _, *span in numbers], dtype=np.int64)


def _without_first_tokens(sentences: Sentences, places: Ids | None) -> Sentences:
    """Do not count the first token of every sentence, and remove its characters from the spans."""
    scored, spans, heads = sentences.scored.copy(), sentences.spans, sentences.starts[:-1]
    scored[heads] = False
    if places is not None:
        # A character of several tokens is still scored.
        second = places[np.minimum(heads + 1, len(places) - 1), 0]
        rest = np.maximum(spans[:, 0], np.minimum(places[heads, 1], second))
        spans = np.stack([np.where(sentences.lengths > 1, rest, spans[:, 0]), spans[:, 1]], axis=1)
    return replace(sentences, scored=scored, spans=spans, _computed={})


def _check_scored(pairs: pd.DataFrame, sentences: Sentences, reason: str) -> None:
    nothing = np.flatnonzero(sentences.counts() == 0)
    if len(nothing):
        raise UserError(f"{describe(pairs, sentences, int(nothing[0]))}: {reason}")


def describe(pairs: pd.DataFrame, sentences: Sentences, sentence: int) -> str:
    """Name the item a sentence comes from: the first pair that uses it, and the sentence itself."""
    row = int(np.flatnonzero((sentences.good == sentence) | (sentences.bad == sentence))[0])
    return f"{describe_pair(pairs, row)}, sentence {sentences.texts[sentence]!r}"


class TooLongError(UserError):
    """Some sentences are longer than the model can read; nothing is ever cut."""

    def __init__(self, message: str, fits: npt.NDArray[np.bool_]) -> None:
        super().__init__(message)
        self.fits = fits  # [pairs]: whether the model can read both sentences


def check_length(
    pairs: pd.DataFrame, sentences: Sentences, context: int | None, trainable: bool = False, around: int = 0
) -> None:
    """Raise a ``TooLongError`` for sentences longer than ``context``, the most tokens the model can read, holds.

    Users can choose the context of ``trainable`` models. ``around`` counts the tokens that are read beside a sentence's
    own, as those of a frame.
    """
    lengths = sentences.lengths
    if context is None or lengths.max() + around <= context:
        return
    longest, holds = int(lengths.max()), context - around
    item = describe(pairs, sentences, int(lengths.argmax()))
    fits = np.maximum(lengths[sentences.good], lengths[sentences.bad]) <= holds
    frame = f"{context} less {around} around a sentence; " if around > 0 else ""
    remedy = (
        f". A run that is trained with batch.length={longest + around} or more holds all; pairs that generate.py makes "
        f"with longest={holds} tokenizer=FOLDER fit this one"
    )
    skip = ", and too_long=skip scores these alone" if fits.any() else ""
    raise TooLongError(
        f"{item}: {longest} tokens, but the model's context holds {holds} "
        f"({frame}{int((lengths > holds).sum())} of {len(lengths)} sentences are too long; "
        f"{fits.sum()} of {len(pairs)} pairs fit{skip}){remedy if trainable else ''}",
        fits,
    )


def describe_unknown(sentences: Sentences, tokenizer: "PreTrainedTokenizerBase") -> Iterator[str]:
    """Yield one line about the tokens that count and are unknown, and the Unicode form if that is the reason.

    A tokenizer of bytes knows every text; there the form that takes many more tokens than the other is told.
    """
    unknown = int((sentences.tokens[sentences.scored] == tokenizer.unk_token_id).sum())
    facts = []
    if unknown:
        tokens = int(sentences.scored.sum())
        facts.append(f"{unknown:,} of {tokens:,} tokens ({unknown / tokens:.1%}) are unknown to the tokenizer")
    for form, other in _OTHER_FORMS.items():
        differing = [text for text in sentences.texts if not is_normalized(form, text)]
        if not differing:
            continue
        unknown, tokens = _count(differing, tokenizer)
        unknown_after, tokens_after = _count([normalize(form, text) for text in differing], tokenizer)
        if unknown_after < unknown or (not unknown and tokens_after < _FEWER * tokens):
            facts.append(
                f"the text of {len(differing):,} sentences is {other}, and the tokenizer was made of the other form: "
                f"in {form} they have {unknown_after:,} unknown of {tokens_after:,} tokens, not {unknown:,} of "
                f"{tokens:,}; write the pairs in {form}"
            )
    if facts:
        yield "; ".join(facts)


def _count(texts: Sequence[str], tokenizer: "PreTrainedTokenizerBase") -> tuple[int, int]:
    """Return how many tokens of some texts are unknown, and how many there are."""
    rows = tokenizer(list(texts), add_special_tokens=False)["input_ids"]
    return sum(row.count(tokenizer.unk_token_id) for row in rows), sum(map(len, rows))
