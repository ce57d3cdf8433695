"""What a masked model's tokenizer puts around a sentence, and which of its tokens are of one word."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ucurve.errors import UserError
from ucurve.eval.models.folder import context_length
from ucurve.eval.scoring.text.sentences import Ids, Sentences
from ucurve.eval.scoring.text.tokenize import with_space

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

NUMBERED_AFTER_PADDING = (  # model types that number the first position one more than the padding token
    "camembert", "data2vec-text", "ibert", "luke", "mpnet", "roberta", "roberta-prelayernorm", "xlm-roberta",
    "xlm-roberta-xl", "xmod",
)  # fmt: skip


@dataclass(frozen=True)
class SentenceFrame:
    """What a tokenizer puts around a single sentence, and what it masks with."""

    before: tuple[int, ...]  # ids in front of the sentence, usually `[CLS]` or `<s>`
    after: tuple[int, ...]  # ids behind it, usually `[SEP]` or `</s>`
    mask: int  # id of the mask token
    back: int = 0  # how many positions before a token the model predicts it

    def around(self, rows: Ids) -> Ids:
        """Put the frame around rows of ids, int64[R, L] to int64[R, L + frame]."""
        before, after = np.array(self.before, dtype=np.int64), np.array(self.after, dtype=np.int64)
        return np.concatenate([np.tile(before, (len(rows), 1)), rows, np.tile(after, (len(rows), 1))], axis=1)


def read_frame(tokenizer: "PreTrainedTokenizerBase", config: Mapping[str, object] | None = None) -> SentenceFrame:
    """Ask a tokenizer what it puts around a sentence, and the configuration of a model where it predicts a token.

    A model trained by masked next-token prediction (BehnamGhader et al. 2024, section 2) does so one position before.
    """
    mask = tokenizer.mask_token_id
    if mask is None:
        raise UserError(f"{tokenizer.name_or_path}: the tokenizer has no mask token, which masked scoring needs")
    alone = list(tokenizer(tokenizer.mask_token, add_special_tokens=False)["input_ids"])
    framed = list(tokenizer(tokenizer.mask_token)["input_ids"])
    for first in range(len(framed) - len(alone) + 1):
        if alone and framed[first : first + len(alone)] == alone:
            back = int((config or {}).get("masked_objective") == "mntp")
            if first < back:
                raise UserError(
                    f"{tokenizer.name_or_path}: the tokenizer puts no token before a sentence, from which the model "
                    "could predict the first one"
                )
            return SentenceFrame(tuple(framed[:first]), tuple(framed[first + len(alone) :]), int(mask), back)
    raise UserError(
        f"{tokenizer.name_or_path}: the tokenizer gives {tokenizer.mask_token!r} the ids {alone}, but {framed} with "
        "special tokens; those were expected before and after"
    )


def masked_context_length(config: Mapping[str, object]) -> int | None:
    """Return the most tokens, frame included, that a masked model can read, or None without a limit.

    RoBERTa and its relatives number positions from one more than the padding token's id, and so have fewer.
    """
    positions = context_length(config)
    if positions is None or config.get("model_type") not in NUMBERED_AFTER_PADDING:
        return positions
    padding = config.get("pad_token_id")
    return positions - (padding if isinstance(padding, int) else 1) - 1


def number_words(tokenizer: "PreTrainedTokenizerBase", sentences: Sentences) -> Ids:
    """Number the words of each sentence, as the tokenizer splits words before it cuts them into pieces, int64[tokens].

    A token of no word has a number of its own, below 0. In a script without spaces this depends on the tokenizer: BERT
    makes each Chinese character a word, and XLM-R all that stands between two spaces.
    """
    check_knows_words(tokenizer)
    texts = with_space(sentences.texts) if sentences.leading_space else sentences.texts
    encoded = tokenizer(texts, add_special_tokens=False, return_attention_mask=False)
    words = [
        -1 - place if word is None else word
        for sentence in range(len(sentences.texts))
        for place, word in enumerate(encoded.word_ids(sentence))
    ]
    assert len(words) == len(sentences.tokens)
    return np.array(words, dtype=np.int64)


def check_knows_words(tokenizer: "PreTrainedTokenizerBase") -> None:
    """Refuse a tokenizer that does not say which tokens are of one word, or takes all of a text for one."""
    if not tokenizer.is_fast:
        reason = "does not say which word a token is a piece of; one with tokenizer.json does"
    elif len(set(tokenizer("a b", add_special_tokens=False).word_ids())) < 2:
        reason = "does not split a text into words: it takes 'a b' for one"
    else:
        return
    raise UserError(f"{tokenizer.name_or_path}: the tokenizer {reason}; the scorer 'pll' needs no words")
