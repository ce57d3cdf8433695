"""A rule of a paradigm: what it looks for in a sentence and what it makes of it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from eval.templates.pair import Pair
from generation.rublimp.grammar.morphology import Morphology
from generation.rublimp.resources import Resources
from generation.treebank import Sentence


@dataclass(frozen=True)
class Tools:
    """What rules work with."""

    morphology: Morphology
    resources: Resources


@dataclass(frozen=True)
class Rule:
    """The rule of a paradigm.

    Attributes:
        find: yields the pairs that a sentence gives; a text is the reason why something that was found gives none.
    """

    paradigm: str
    phenomenon: str
    level: str
    find: Callable[[Sentence, Tools], Iterator[Pair | str]]


def change(
    sentence: Sentence,
    forms: Mapping[int, str],
    *,
    source_word: str,
    target_word: str,
    feature: str,
    source_value: str,
    target_value: str,
    subtype: str,
) -> Pair | str:
    """Return the pair of a sentence and the same with other forms in place of words, by their numbers."""
    if any(sentence.words[number - 1].start is None for number in forms):
        return "the word is a part of a multiword token"
    return Pair(
        sentence.text,
        sentence.replaced(forms),
        {
            "source_word": source_word,
            "target_word": target_word,
            "feature": feature,
            "source_value": source_value,
            "target_value": target_value,
            "subtype": subtype,
            "domain": sentence.source,
            "sentence_id": sentence.id,
            "length": len(sentence.words),
        },
    )
