"""Swahili: the predicate agrees with the head noun in noun class, and not with the possessor after it."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic.dataclasses import dataclass

from ucurve.errors import UserError
from ucurve.eval.templates.pair import Value
from ucurve.fields import STRICT
from ucurve.generation.tse.steps import Option, State, Step, Suite, Target, fixed, hidden
from ucurve.generation.tse.vocabulary import Entry, Vocabulary, read_vocabulary

COLUMNS = ("noun_class", "semantic_class", "possible_connections")  # swahili.csv has these columns beside two others
CATEGORIES = ("n", "a", "v")
CLASSES = tuple(map(str, range(1, 12)))
_SEMANTIC = ("human", "animal", "thing", "place", "food_countable", "food_uncountable", "drink")
_VOWELS = "aeiou"
# Adjectives of these classes have a nasal as prefix, and only before some letters.
_NASAL_CLASSES = (9, 10)
ByClass = tuple[str, ...]


@dataclass(frozen=True, config=STRICT)
class Frame:
    """A frame: what stands between the possessor and the predicate, and the predicate."""

    modifiers: tuple[Literal["demonstrative", "adjective", "relative"], ...]
    predicate: Literal["verb", "adjective"]


@dataclass(frozen=True, config=STRICT)
class Grammar:
    """What swahili.yaml says; a list has an entry for each concord class, from 1 to 11."""

    of: ByClass  # these are the words for "of"
    demonstratives: dict[str, ByClass]
    subject: ByClass  # these are prefixes of verbs
    relative: ByClass  # relative verbs have these markers inside
    tenses: dict[str, str]  # names of tenses by their prefix
    relative_tenses: tuple[str, ...]
    copula: str
    adjective: dict[str, tuple[str | None, ...]]  # prefixes, by the first sound of the adjective
    nasal: dict[str, str]  # prefixes of classes 9 and 10, by the first letter; others have none
    nasal_changed: dict[str, str]  # the same, where the first letter is replaced
    exceptions: dict[str, dict[int, str]]  # forms of adjectives by concord class
    exceptions_as_published: dict[str, dict[int, str]]
    human_and_animal: dict[str, int]  # the concord class of such nouns with an odd and with an even noun class
    animate: tuple[str, ...]  # these classes are of people and animals
    frames: dict[str, Frame]
    phenomena: dict[str, str]


def suites(grammar: Grammar, folder: Path, as_published: bool) -> list[Suite]:
    """Return the eight suites, with or without the faults of the published code, which docs/makers.md lists."""
    vocabulary = read_vocabulary(folder / "swahili.csv", COLUMNS, CATEGORIES)
    for noun in vocabulary.of("n"):
        noun.one_of("noun_class", CLASSES)
        noun.one_of("semantic_class", _SEMANTIC)
    return [_suite(grammar, vocabulary, name, as_published) for name in grammar.frames]


def concord(grammar: Grammar, noun: Entry) -> int:
    """Return the class that words agree with."""
    number = int(noun.value("noun_class"))
    # Words agree with people and animals as in the classes of people, whatever class the noun has.
    if noun.value("semantic_class") in grammar.animate:
        return grammar.human_and_animal["odd" if number % 2 else "even"]
    return number


def adjective_form(grammar: Grammar, exceptions: Mapping[str, Mapping[int, str]], adjective: str, of: int) -> str:
    """Return the form of an adjective in a concord class."""
    if of in exceptions.get(adjective, {}):
        return exceptions[adjective][of]
    first = adjective[0]
    if first in _VOWELS:
        return f"{grammar.adjective['before_a' if first == 'a' else 'before_other_vowel'][of - 1]}{adjective}"
    if of not in _NASAL_CLASSES:
        return f"{grammar.adjective['before_consonant'][of - 1]}{adjective}"
    if first in grammar.nasal_changed:
        return grammar.nasal_changed[first] + adjective[1:]
    return grammar.nasal.get(first, "") + adjective


def _fit(words: Sequence[Entry], noun: Entry) -> list[Entry]:
    """Return the adjectives or verbs that go with a noun."""
    return [word for word in words if noun.value("semantic_class") in word.values("possible_connections")]


class _Choices:
    """What can be chosen in a suite, in each place of its frame."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, frame: Frame, as_published: bool) -> None:
        self._grammar = grammar
        self._as_published = as_published
        self._exceptions = grammar.exceptions_as_published if as_published else grammar.exceptions
        self._verbal = frame.predicate == "verb"
        self._verbs, self._adjectives = vocabulary.of("v"), vocabulary.of("a")
        self._predicates = self._verbs if self._verbal else self._adjectives
        self._nouns = [Option(noun.word, (noun, concord(grammar, noun))) for noun in vocabulary.of("n")]
        self.heads = [Option(noun.word, noun) for noun in vocabulary.of("n") if _fit(self._predicates, noun)]
        if not self.heads:
            raise UserError(f"vocabulary: no predicate of {vocabulary.path} goes with a noun")
        # What depends on a noun or a form alone is found once.
        self._form = cache(self._make_form)
        self.predicates_of = cache(lambda noun: [Option("", word) for word in _fit(self._predicates, noun)])
        self._adjectives_of = cache(self._make_adjectives)
        self._relatives_of = cache(self._make_relatives)

    def linker(self, state: State) -> list[Option]:
        """Return the associative word, which agrees with the head noun."""
        # Concord classes count from 1.
        return [Option(self._grammar.of[concord(self._grammar, state["noun"]) - 1], None)]

    def possessor(self, state: State) -> list[Option]:
        """Return the nouns with which the predicate has a form that is not right with the head noun."""
        right, word, tense = self._right_forms(state), state["predicate"].word, state["tense"]
        wrong = {of for of in range(1, len(CLASSES) + 1) if self._form(word, tense, of) not in right}
        fitting = [option for option in self._nouns if option.choice[1] in wrong]
        # In the published code a noun with one form in two classes may possess itself.
        return fitting if self._as_published else [one for one in fitting if one.text != state["noun"].word]

    def demonstrative(self, state: State) -> list[Option]:
        """Return the demonstratives of the possessor's concord."""
        of = state["possessor"][1]
        return [Option(forms[of - 1], kind) for kind, forms in self._grammar.demonstratives.items()]

    def adjective(self, state: State) -> list[Option]:
        """Return the adjectives that fit the possessor."""
        return self._others(self._adjectives_of(*state["possessor"]), state)

    def relative(self, state: State) -> list[Option]:
        """Return the relative verbs that fit the possessor."""
        return self._others(self._relatives_of(*state["possessor"]), state)

    def target(self, state: State) -> Target:
        """Return the predicate that agrees with the head noun, and the one that agrees with the possessor."""
        head, (possessor, of) = state["noun"], state["possessor"]
        word, tense, right = state["predicate"].word, state["tense"], concord(self._grammar, state["noun"])
        good, bad = (f"{self._form(word, tense, number)}." for number in (right, of))
        known: dict[str, Value] = {
            "tense": self._grammar.tenses.get(tense),
            "attractor": possessor.word,
            "noun_class": int(head.value("noun_class")),
            "concord": right,
            "possessor_class": int(possessor.value("noun_class")),
            "possessor_concord": of,
        }
        return Target(good, bad, known)

    def _right_forms(self, state: State) -> set[str]:
        head: Entry = state["noun"]
        classes = {concord(self._grammar, head)}
        if head.value("semantic_class") in self._grammar.animate and int(head.value("noun_class")) in _NASAL_CLASSES:
            classes |= set(self._grammar.human_and_animal.values())  # one form of the noun for both numbers
        return {self._form(state["predicate"].word, state["tense"], of) for of in classes}

    def _others(self, options: list[Option], state: State) -> list[Option]:
        """Leave out the word of the predicate."""
        # In the published code the word of the predicate may stand before it too.
        return options if self._as_published else [one for one in options if one.choice != state["predicate"].word]

    def _make_form(self, word: str, tense: str, of: int) -> str:
        if self._verbal:
            return f"{self._grammar.subject[of - 1]}{tense}{word}"
        return adjective_form(self._grammar, self._exceptions, word, of)

    def _make_adjectives(self, noun: Entry, of: int) -> list[Option]:
        fitting = [word.word for word in _fit(self._adjectives, noun)]
        return [Option(adjective_form(self._grammar, self._exceptions, word, of), word) for word in fitting]

    def _make_relatives(self, noun: Entry, of: int) -> list[Option]:
        prefix, marker = self._grammar.subject[of - 1], self._grammar.relative[of - 1]
        return [
            Option(f"{prefix}{tense}{marker}{word.word}", word.word)
            for word in _fit(self._verbs, noun)
            for tense in self._grammar.relative_tenses
        ]


def _suite(grammar: Grammar, vocabulary: Vocabulary, name: str, as_published: bool) -> Suite:
    frame = grammar.frames[name]
    choices = _Choices(grammar, vocabulary, frame, as_published)
    modifiers = {"demonstrative": choices.demonstrative, "adjective": choices.adjective, "relative": choices.relative}
    steps = [
        Step("noun", lambda _state: choices.heads),
        Step("predicate", lambda state: choices.predicates_of(state["noun"])),
        hidden("tense", list(grammar.tenses) if frame.predicate == "verb" else [""]),
        Step("of", choices.linker),
        Step("possessor", choices.possessor),
        *(Step(kind, modifiers[kind]) for kind in frame.modifiers),
    ]
    steps += [fixed(grammar.copula)] if frame.predicate == "adjective" else []
    return Suite("swahili", name, grammar.phenomena[frame.predicate], steps, choices.target)
