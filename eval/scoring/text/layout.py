"""What the tokens of sentences are: all that their log probabilities need beside them to be read."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eval.scoring.text.sentences import Ids, Sentences
from eval.scoring.text.tokenize import tokenize
from eval.scoring.text.words import Words, delimits_words, number_words

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True, eq=False)
class TokenLayout:
    """The tokens of distinct sentences, the same for every model with one tokenizer."""

    sentences: Sentences
    # int64[tokens, 2], the characters of each token, from and to; None if the tokenizer does not say.
    places: Ids | None
    words: Words | None  # None where white space does not delimit the words, or without `places`


def make_layout(sentences: Sentences, tokenizer: "PreTrainedTokenizerBase") -> TokenLayout:
    """Find the characters and the words of the tokens of sentences."""
    if not tokenizer.is_fast:
        return TokenLayout(sentences, None, None)
    places = tokenize(sentences.texts, tokenizer, placed=True, leading_space=sentences.leading_space)[2]
    assert places is not None and len(places) == len(sentences.tokens)
    words = number_words(sentences.texts, sentences.starts, places) if delimits_words(sentences.texts) else None
    return TokenLayout(sentences, places, words)
