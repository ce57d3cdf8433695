"""Says how much of a benchmark the tokenizer does not know, and whether another Unicode form of it is known."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal
from unicodedata import is_normalized, normalize

from ucurve.eval.scoring.text.sentences import Sentences

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_OTHER_FORMS: dict[Literal["NFC", "NFD"], str] = {"NFC": "decomposed (NFD)", "NFD": "composed (NFC)"}
_FEWER = 0.9  # of the tokens: a form that has so few is the one that the tokenizer was made of


def describe_unknown(sentences: Sentences, tokenizer: "PreTrainedTokenizerBase") -> Iterator[str]:
    """Yield one line about the tokens that count and are unknown, and the Unicode form if that is the reason.

    A tokenizer of bytes knows every text; there the form that takes many more tokens than the other is told.
    """
    unknown = int((sentences.tokens[sentences.scored] == tokenizer.unk_token_id).sum())
    facts = []
    if unknown:
        tokens = int(sentences.scored.sum())
        facts.append(f"{unknown:,} of {tokens:,} tokens ({unknown / tokens:.1%}) are unknown to the tokenizer")
    facts += _describe_form(sentences.texts, tokenizer)
    if facts:
        yield "; ".join(facts)


def _describe_form(texts: Sequence[str], tokenizer: "PreTrainedTokenizerBase") -> Iterator[str]:
    for form, other in _OTHER_FORMS.items():
        differing = [text for text in texts if not is_normalized(form, text)]
        if not differing:
            continue
        unknown, tokens = _count(differing, tokenizer)
        unknown_after, tokens_after = _count([normalize(form, text) for text in differing], tokenizer)
        if unknown_after < unknown or (not unknown and tokens_after < _FEWER * tokens):
            yield (
                f"the text of {len(differing):,} sentences is {other}, and the tokenizer was made of the other form: "
                f"in {form} they have {unknown_after:,} unknown of {tokens_after:,} tokens, not {unknown:,} of "
                f"{tokens:,}; write the pairs in {form}"
            )


def _count(texts: Sequence[str], tokenizer: "PreTrainedTokenizerBase") -> tuple[int, int]:
    """Return how many tokens of some texts are unknown, and how many there are."""
    rows = tokenizer(list(texts), add_special_tokens=False)["input_ids"]
    return sum(row.count(tokenizer.unk_token_id) for row in rows), sum(map(len, rows))
