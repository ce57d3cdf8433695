"""A rule of a paradigm: what it looks for in a sentence and what it makes of it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from eval.templates.pair import Pair, Value
from generation.rublimp.grammar.forms import spell
from generation.rublimp.resources import Resources
from generation.treebank import Sentence, Word

LENGTH_GROUP: Final = 10  # tokens

Found = Iterator[Pair | str]
"""What a rule finds in a sentence: pairs, and texts that say why something gives none."""


@dataclass(frozen=True)
class Rule:
    """The rule of a paradigm."""

    paradigm: str
    phenomenon: str
    level: str
    find: Callable[[Sentence, Resources], Found]


def replace_word(
    sentence: Sentence, word: Word, form: str, feature: str, values: tuple[str, str], subtype: str
) -> Pair | str:
    """Return the pair of a sentence and the same with another form of a word, which is spelled as the word is."""
    target = spell(form, word)
    return change(sentence, {word.id: target}, (word.form, target), feature, values, subtype)


def change(
    sentence: Sentence,
    forms: Mapping[int, str],
    words: tuple[str, str],
    feature: str,
    values: tuple[str, str],
    subtype: str,
) -> Pair | str:
    """Return the pair of a sentence and the same with other forms in place of words, by their numbers.

    Args:
        words: the word whose feature changes, and what stands in its place.
        values: of the feature, in the good and in the bad sentence.
    """
    if any(sentence.words[number - 1].start is None for number in forms):
        return "the word is a part of a multiword token"
    columns: dict[str, Value] = {
        "source_word": words[0],
        "target_word": words[1],
        "feature": feature,
        "source_value": values[0],
        "target_value": values[1],
        "subtype": subtype,
        "domain": sentence.source,
        "sentence_id": sentence.id,
        "length": len(sentence.words),
        "length_group": len(sentence.words) // LENGTH_GROUP,
    }
    return Pair(sentence.text, sentence.replaced(forms), columns)
