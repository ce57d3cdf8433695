"""What the tokens of sentences are, beside their log probabilities: the characters and the words they stand for."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from ucurve.errors import UserError
from ucurve.eval.scoring.text.sentences import Flags, Ids, Scores, Sentences
from ucurve.eval.scoring.text.tokenize import tokenize

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Beginnings of the Unicode names of letters in scripts that put no space between words.
_UNSPACED = ("CJK ", "HIRAGANA", "KATAKANA", "BOPOMOFO", "THAI ", "LAO ", "KHMER ", "MYANMAR", "TIBETAN", "YI ")
_LONGEST = 6.0  # characters of a word in such a script on average, where white space was put between words


@dataclass(frozen=True, eq=False)
class Words:
    """The words of some texts, one text after the other."""

    starts: Ids  # int64[texts + 1], where the words of each text begin among those of all
    owner: Ids  # int64[tokens], the word of each token among those of all texts

    def sums(self, values: Scores) -> Scores:
        """Sum a value of every token over each word, float64[words]; NaN where it is, or where no token begins."""
        size = int(self.starts[-1])
        totals = np.bincount(self.owner, weights=values, minlength=size)
        return np.where(np.bincount(self.owner, minlength=size) > 0, totals, np.nan)


@dataclass(frozen=True, eq=False)
class TokenLayout:
    """The tokens of distinct sentences, the same for every model with one tokenizer."""

    sentences: Sentences
    # int64[tokens, 2], the characters of each token, from and to; None if the tokenizer does not say.
    places: Ids | None
    words: Words | None  # None where white space does not delimit the words, or without `places`


def make_layout(
    sentences: Sentences, tokenizer: "PreTrainedTokenizerBase", divided: Mapping[str, str] | None = None
) -> TokenLayout:
    """Find the characters and the words of the tokens of sentences; see ``number_words`` for ``divided``."""
    if not tokenizer.is_fast:
        return TokenLayout(sentences, None, None)
    places = tokenize(sentences.texts, tokenizer, placed=True, leading_space=sentences.leading_space)[2]
    assert places is not None and len(places) == len(sentences.tokens)
    if divided is None and not delimits_words(sentences.texts):
        return TokenLayout(sentences, places, None)
    return TokenLayout(sentences, places, number_words(sentences.texts, sentences.starts, places, divided))


def delimits_words(texts: Sequence[str]) -> bool:
    """Say whether white space delimits the words of texts, as it does in most scripts.

    In a script without spaces it does when spaces were put into half of the texts, six characters apart on average.
    """
    unspaced = {letter for letter in set("".join(texts)) if unicodedata.name(letter, "").startswith(_UNSPACED)}
    pieces = [text.split() for text in texts if not unspaced.isdisjoint(text)]
    if not pieces:
        return all(text.split() for text in texts)
    whole = sum(len(words) == 1 for words in pieces)
    lengths = [len(word) for words in pieces for word in words]
    return 2 * whole <= len(pieces) and sum(lengths) / len(lengths) <= _LONGEST


def number_words(
    texts: Sequence[str], starts: Ids, places: Ids, divided: Mapping[str, str] | None = None
) -> Words:
    """Find the word in which each token begins; white space before a word belongs to that word.

    Words are what white space delimits, or, for scripts without it, what it delimits in ``divided[text]``, which has
    the characters of the text; another one is a ``UserError``.
    """
    sizes = np.array([len(text) for text in texts], dtype=np.int64)
    base = np.cumsum(sizes) - sizes
    solid = ~np.array([letter.isspace() for text in texts for letter in text], dtype=bool)
    after_space = np.insert(~solid[:-1], 0, True)
    after_space[base] = True
    if divided is not None:
        after_space = np.concatenate([_beginnings(text, divided[text]) for text in texts])
    begun = np.cumsum(solid & after_space)  # words that have begun, up to and with each character
    edges = np.concatenate([[0], begun[base + sizes - 1]])
    sentence = np.repeat(np.arange(len(texts)), np.diff(starts))
    first = base[sentence] + places[:, 0]
    return Words(edges, np.minimum(begun[first] - solid[first], edges[sentence + 1] - 1))


def _beginnings(text: str, divided: str) -> Flags:
    """Mark the characters of a text with which the words of the divided one begin, bool[characters]."""
    words = divided.split()
    if "".join(words) != "".join(text.split()):
        raise UserError(
            f"words_good, words_bad: {divided!r} are not the words of {text!r}; wanted are the same characters, with "
            "spaces between the words"
        )
    solid = [place for place, letter in enumerate(text) if not letter.isspace()]
    marks = np.zeros(len(text), dtype=bool)
    marks[[solid[first] for first in accumulate(map(len, words[:-1]), initial=0)]] = True
    return marks
