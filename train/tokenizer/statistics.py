"""The report that lies beside a tokenizer: its counts, what it was trained on, and what does not round-trip."""

import math
from typing import TYPE_CHECKING

from ucurve.training.tokenizer.characters import Survey
from ucurve.training.tokenizer.vocabulary import count_tokens

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_EXAMPLES = 5
_EXCERPT = 20
_CHECKED_CHARACTERS = 300_000


def tokenizer_statistics(tokenizer: "PreTrainedTokenizerBase", found: Survey) -> dict[str, object]:
    """Describe a tokenizer, by ``tokens`` (Table 4 of ZhoBLiMP), ``corpus`` and ``round_trip``."""
    sampled = sum(map(len, found.sample))
    every = math.ceil(sampled / _CHECKED_CHARACTERS)
    return {
        "tokens": count_tokens(tokenizer),
        "corpus": {
            "documents": found.documents,
            "characters": found.characters,
            "distinct_characters": len(found.counts),
            "sampled_characters": sampled,
        },
        "round_trip": {
            "documents": round_trip(tokenizer, list(found.sample[::every])),
            "characters": round_trip(tokenizer, list(found.counts)),
        },
    }


def round_trip(tokenizer: "PreTrainedTokenizerBase", texts: list[str]) -> dict[str, object]:
    """Encode and decode texts and report how many do not come back exactly, with excerpts from where some differ."""
    all_ids = tokenizer(texts, add_special_tokens=False)["input_ids"]
    decoded = [str(tokenizer.decode(ids, clean_up_tokenization_spaces=False)) for ids in all_ids]
    failed = [(text, back) for text, back in zip(texts, decoded, strict=True) if text != back]
    return {
        "checked": len(texts),
        "failed": len(failed),
        "examples": [_excerpt(text, back) for text, back in failed[:_EXAMPLES]],
    }


def _excerpt(text: str, back: str) -> dict[str, str]:
    place = next((n for n, (a, b) in enumerate(zip(text, back, strict=False)) if a != b), min(len(text), len(back)))
    return {"text": text[place : place + _EXCERPT], "decoded": back[place : place + _EXCERPT]}
