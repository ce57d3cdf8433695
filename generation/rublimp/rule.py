"""A rule of a paradigm: what it looks for in a sentence and what it makes of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ucurve.generation.rublimp.grammar.forms import AMBIGUOUS, UNKNOWN, spell
from ucurve.generation.rublimp.resources import Resources
from ucurve.generation.treebank import Sentence, Word
from ucurve.templates.pair import Pair, Value

LENGTH_GROUP: Final = 10  # tokens

Found = Iterator[Pair | str]
"""What a rule finds in a sentence: pairs, and texts that say why something gives none."""


@dataclass(frozen=True)
class Rule:
    """The rule of a paradigm."""

    paradigm: str
    phenomenon: str
    find: Callable[[Sentence, Resources], Found]


def rules(phenomenon: str, **finders: Callable[[Sentence, Resources], Found]) -> tuple[Rule, ...]:
    """Return the rules of a phenomenon, by the names of their paradigms."""
    return tuple(Rule(paradigm, phenomenon, find) for paradigm, find in finders.items())


def replace_by_each(
    sentence: Sentence,
    word: Word,
    forms: Sequence[str],
    is_right: Callable[[str], bool],
    feature: str,
    values: tuple[str, str],
    subtype: str,
) -> Found:
    """Yield the sentence with each of the forms that a word may be replaced by, but for those that are right too."""
    if not forms:
        yield UNKNOWN
    for form in forms:
        yield AMBIGUOUS if is_right(form) else replace_word(sentence, word, form, feature, values, subtype)


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
    """Return the pair of a sentence and the same with other forms of words; ``words`` and ``values``: before, after."""
    # Such a word has no place in the text where another form could stand.
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
        # A sample keeps the proportions of sentences of about the same length.
        "length_group": len(sentence.words) // LENGTH_GROUP,
    }
    return Pair(sentence.text, sentence.replaced(forms), columns)
