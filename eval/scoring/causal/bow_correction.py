"""The probability of a word under a tokenizer that marks where words begin, not where they end.

The tokens of "dog" are also the beginning of "doghouse", so their probability is that of all words that begin so, and
the next token pays for the end of the word. Pimentel and Meister (2024) and Oh and Schuler (2024) move that back to the
word: with E the tokens before which a word ends (those that begin one, and the end of the text),

    log p(word | context) = log p(tokens | context) + log P(E | context, tokens) - log P(E | context)

For a region of several words the terms in between cancel. Words of our regions end before punctuation, too, so tokens
that begin with it are of E; the two papers leave that open. A sentence whose first word bears no mark has
P(no mark | start) in place of P(E | context) (Pimentel and Meister, on first words without mark).
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ucurve.errors import UserError
from ucurve.eval.models.folder import context_length
from ucurve.eval.scoring.batching import length_batches, rows_of_logits
from ucurve.eval.scoring.loading import evaluating
from ucurve.eval.scoring.output import compute_logits, log_prob_of_any
from ucurve.eval.scoring.sharing import merge, own_batches
from ucurve.eval.scoring.text.layout import Words
from ucurve.eval.scoring.text.sentences import Flags, Ids, NotFiniteError, Scores, Sentences
from ucurve.eval.scoring.text.tokenize import WORD_MARKS


@dataclass(frozen=True, eq=False)
class WordMarks:
    """What the tokens of a vocabulary say about words."""

    begins: Flags  # bool[V], tokens that bear the mark of a word's beginning
    punctuation: Flags  # bool[V], tokens without it that begin with punctuation, a symbol or white space
    ends: tuple[int, ...]  # ids of the tokens that end a text

    @property
    def borders(self) -> Flags:
        """The tokens before which a word ends, bool[V]."""
        borders = self.begins | self.punctuation
        borders[list(self.ends)] = True
        return borders


def word_marks(tokenizer: PreTrainedTokenizerBase) -> WordMarks:
    """Read from a tokenizer which of its tokens begin a word or punctuation."""
    begins, special = bow_tokens(tokenizer), set(tokenizer.all_special_ids)
    plain = [place for place in _pieces(tokenizer) if not begins[place] and place not in special]
    texts = tokenizer.batch_decode([[place] for place in plain], clean_up_tokenization_spaces=False)
    punctuation = np.zeros_like(begins)
    punctuation[plain] = [_parts_words(text[:1]) for text in texts]
    end = tokenizer.eos_token_id
    return WordMarks(begins, punctuation, () if end is None else (int(end),))


def bow_tokens(tokenizer: PreTrainedTokenizerBase) -> Flags:
    """Find the tokens that begin a word, by mark and text, bool[largest id + 1]; an error if there are none."""
    pieces = _pieces(tokenizer)
    marks = tuple(mark for mark in WORD_MARKS if _is_mark(tokenizer, mark, pieces))
    if not marks:
        raise UserError(
            f"{tokenizer.name_or_path}: the correction for the ends of words does not fit: {_why(pieces)}"
        )
    mask = np.zeros(max(pieces) + 1, dtype=bool)
    special = set(tokenizer.all_special_ids)
    mask[[place for place, piece in pieces.items() if piece.startswith(marks) and place not in special]] = True
    return mask


def _pieces(tokenizer: PreTrainedTokenizerBase) -> dict[int, str]:
    return {int(place): str(piece) for piece, place in tokenizer.get_vocab().items()}


def _is_mark(tokenizer: PreTrainedTokenizerBase, mark: str, pieces: dict[int, str]) -> bool:
    """Say whether a sign stands for a space before something, not for itself nor for a space alone."""
    longer = (place for place, piece in pieces.items() if piece.startswith(mark) and piece.strip(mark))
    for place in islice(longer, 20):  # what follows the mark may be white space itself
        text = str(tokenizer.decode([place, place], clean_up_tokenization_spaces=False))
        if mark not in text and " " in text.strip():
            return True
    return False


def _why(pieces: dict[int, str]) -> str:
    """Say why no token of a vocabulary bears the mark of a word's beginning."""
    if any(piece.startswith("##") for piece in pieces.values()):
        return "its tokens mark what goes on with a word ('##'), not what begins one"
    if any(piece.endswith("</w>") for piece in pieces.values()):
        return "its tokens mark the ends of words ('</w>'), so that their probabilities need none"
    return f"none of its tokens marks the beginning of a word ({' or '.join(map(repr, WORD_MARKS))})"


def _parts_words(character: str) -> bool:
    """Say whether a word ends before a character: white space, punctuation or a symbol, but no part of a character."""
    category = unicodedata.category(character) if character else ""
    return category == "Cc" or (category[:1] in ("P", "S", "Z") and character != "\N{REPLACEMENT CHARACTER}")


def check_words(
    tokenizer: PreTrainedTokenizerBase, sentences: Sentences, start: int | None, context: int | None = None
) -> WordMarks:
    """Check that the regions of sentences, their scored tokens, can be corrected, and return the tokenizer's marks.

    ``context`` is the number of the model's positions.
    """
    marks = sentences.once("word marks", lambda: word_marks(tokenizer))  # a sweep asks for every checkpoint
    spans = _spans(sentences)
    borders = np.append(marks.borders[sentences.tokens], True)
    opens = (spans[:, 0] == 0) | borders[sentences.starts[:-1] + spans[:, 0]]
    closes = (spans[:, 1] == sentences.lengths) | borders[sentences.starts[:-1] + spans[:, 1]]
    parted = np.flatnonzero(~(opens & closes))
    if len(parted):
        region, text = sentences.scored_texts()[parted[0]], sentences.texts[parted[0]]
        raise UserError(
            f"the region {region!r} of {text!r} begins or ends inside a word, as {len(parted)} of {len(spans)} regions "
            "do; the correction for the ends of words needs whole words"
        )
    if start is None and (spans[:, 0] == 0).any():
        text = sentences.texts[int(spans[:, 0].argmin())]
        raise UserError(
            f"the first word of {text!r} has no probability without a start token; bos=auto gives it one"
        )
    needed = spans[:, 1] + (start is not None)
    if context is not None and needed.max() > context:
        text = sentences.texts[int(needed.argmax())]
        raise UserError(
            f"{text!r}: the correction for the ends of words reads {needed.max()} tokens, but the model's context "
            f"holds {context}"
        )
    return marks


def check_all_words(
    tokenizer: PreTrainedTokenizerBase, sentences: Sentences, start: int | None, context: int | None
) -> None:
    """Check that every word of sentences can be corrected, whatever part of them is scored; see ``check_words``."""
    whole = replace(sentences, scored=np.ones_like(sentences.scored))
    check_words(tokenizer, whole, start, context)


def _spans(sentences: Sentences) -> Ids:
    """Return the places of each sentence's scored tokens within it, from and to, int64[sentences, 2]."""
    places = np.arange(len(sentences.tokens)) - np.repeat(sentences.starts[:-1], sentences.lengths)
    first = np.minimum.reduceat(np.where(sentences.scored, places, len(places)), sentences.starts[:-1])
    last = np.maximum.reduceat(np.where(sentences.scored, places, -1), sentences.starts[:-1])
    return np.stack([first, last + 1], axis=1)


def bow_corrections(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sentences,
    start: int | None,
    batch_tokens: int = 4096,
) -> Scores:
    """Compute what turns the log probability of each region's tokens into that of its words, float64[sentences]."""
    context = context_length(model.config.get_text_config().to_dict())
    marks, spans = check_words(tokenizer, sentences, start, context), _spans(sentences)
    ids = [sentences.ids(place) for place in range(len(spans))]
    corrections = bow_correction(model, ids, spans, marks, start, batch_tokens)
    wrong = np.flatnonzero(~np.isfinite(corrections))
    if len(wrong):
        raise NotFiniteError(int(wrong[0]))
    return corrections


@evaluating
def word_corrections(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sentences,
    words: Words,
    start: int,
    batch_tokens: int = 4096,
) -> Scores:
    """Compute what turns the log probability of each word's tokens into that of the word, float64[words].

    It is log P(E | up to the word) - log P(E | before the word), of whole sentences (``check_all_words``), whose words
    are all read in one pass. NaN for a word in which no token begins.
    """
    marks = word_marks(tokenizer)
    borders, others = np.flatnonzero(marks.borders), np.flatnonzero(~marks.begins)
    corrections = np.full(int(words.starts[-1]), np.nan)
    size = min(batch_tokens, rows_of_logits(model))
    for batch in own_batches(list(length_batches(sentences.lengths + 1, size))):
        inputs = np.stack([np.concatenate([[start], sentences.ids(place)]) for place in batch])
        logits = compute_logits(model, torch.from_numpy(inputs).to(model.device))
        for place, own in zip(batch, logits, strict=True):
            owner = words.owner[sentences.starts[place] : sentences.starts[place + 1]]
            numbers, firsts = np.unique(owner, return_index=True)
            entry = log_prob_of_any(own[torch.from_numpy(np.append(firsts, len(owner)))], borders)
            if not marks.begins[sentences.ids(place)[0]]:
                entry[0] = log_prob_of_any(own[:1], others)[0]
            corrections[numbers] = np.diff(entry)
    return merge(corrections)


@evaluating
def bow_correction(
    model: PreTrainedModel,
    ids: Sequence[Ids],
    spans: Ids,
    marks: WordMarks,
    start: int | None,
    batch_tokens: int,
) -> Scores:
    """Compute log P(E | context, region) - log P(E | context) of regions that are whole words, float64[sentences].

    ``spans``, int64[sentences, 2], are a region's places in its sentence's tokens, from and to. Without a start token,
    no region may begin its sentence.
    """
    assert start is not None or (spans[:, 0] > 0).all()
    prefix = [] if start is None else [start]
    corrections = np.full(len(ids), np.nan)
    borders, others = np.flatnonzero(marks.borders), np.flatnonzero(~marks.begins)
    batch_tokens = min(batch_tokens, rows_of_logits(model))
    for batch in own_batches(list(length_batches(spans[:, 1] + len(prefix), batch_tokens))):
        inputs = np.stack(
            [np.concatenate([prefix, ids[place][: spans[place, 1]]]).astype(np.int64) for place in batch]
        )
        logits = compute_logits(model, torch.from_numpy(inputs).to(model.device))
        before = logits[torch.arange(len(batch)), torch.from_numpy(spans[batch, 0] + len(prefix) - 1)]
        bare = (spans[batch, 0] == 0) & ~marks.begins[[ids[place][0] for place in batch]]
        entry = np.where(bare, log_prob_of_any(before, others), log_prob_of_any(before, borders))
        corrections[batch] = log_prob_of_any(logits[:, -1], borders) - entry
    return merge(corrections)
