"""Swahili: the predicate agrees with the head noun in noun class, and not with the possessor after it."""

from collections.abc import Mapping
from functools import cache, cached_property

from pydantic.dataclasses import dataclass

from ucurve.errors import UserError
from ucurve.fields import STRICT
from ucurve.generation.tse.suite import Choose, Option, State, Suite, Table, Target, always, hidden
from ucurve.generation.tse.vocabulary import Entry
from ucurve.templates.pair import Value

# Adjectives of these classes have a nasal as prefix, and only before some letters.
_NASAL_CLASSES = (9, 10)
ByClass = tuple[str, ...]


@dataclass(frozen=True, config=STRICT)
class Grammar(Table):
    """What swahili.yaml says; a list has an entry for each concord class, from 1 to 11."""

    of: ByClass  # these are the words for "of"
    demonstratives: dict[str, ByClass]
    subject: ByClass  # these are prefixes of verbs
    relative: ByClass  # relative verbs have these markers inside
    tenses: dict[str, str]  # names of tenses by their prefix
    relative_tenses: tuple[str, ...]
    adjective: dict[str, tuple[str | None, ...]]  # prefixes, by the first sound of the adjective
    nasal: dict[str, str]  # prefixes of classes 9 and 10, by the first letter; others have none
    nasal_changed: dict[str, str]  # the same, where the first letter is replaced
    exceptions: dict[str, dict[int, str]]  # forms of adjectives by concord class
    exceptions_as_published: dict[str, dict[int, str]]
    human_and_animal: dict[str, int]  # the concord class of such nouns with an odd and with an even noun class
    animate: tuple[str, ...]  # these classes are of people and animals


def concord(grammar: Grammar, noun: Entry) -> int:
    """Return the class that words agree with."""
    number = int(noun.cells["noun_class"])
    # Words agree with people and animals as in the classes of people, whatever class the noun has.
    if noun.cells["semantic_class"] in grammar.animate:
        return grammar.human_and_animal["odd" if number % 2 else "even"]
    return number


def adjective_form(grammar: Grammar, exceptions: Mapping[str, Mapping[int, str]], adjective: str, of: int) -> str:
    """Return the form of an adjective in a concord class."""
    if of in exceptions.get(adjective, {}):
        return exceptions[adjective][of]
    first = adjective[0]
    if first in "aeiou":
        return f"{grammar.adjective['before_a' if first == 'a' else 'before_other_vowel'][of - 1]}{adjective}"
    if of not in _NASAL_CLASSES:
        return f"{grammar.adjective['before_consonant'][of - 1]}{adjective}"
    if first in grammar.nasal_changed:
        return grammar.nasal_changed[first] + adjective[1:]
    return grammar.nasal.get(first, "") + adjective


class Swahili(Suite[Grammar]):
    """A frame with a verb or an adjective as predicate, and with modifiers of the possessor."""

    def choices(self) -> dict[str, Choose]:
        """Return the head noun, the predicate and its tense, the possessor and its modifiers."""
        self._verbal = self.frame.focus == "verb"
        self._fitting = cache(self._fit)
        kind = "v" if self._verbal else "a"
        heads = [Option(noun.word, noun) for noun in self.vocabulary.of("n") if self._fitting(kind, noun)]
        if not heads:
            raise UserError(f"vocabulary: no predicate of {self.vocabulary.path} goes with a noun")
        return {
            "noun": always(heads),
            "predicate": lambda state: [Option("", word) for word in self._fitting(kind, state["noun"])],
            "tense": hidden(list(self.grammar.tenses) if self._verbal else [""]),
            # Concord classes count from 1.
            "of": lambda state: [Option(self.grammar.of[concord(self.grammar, state["noun"]) - 1], None)],
            "possessor": self._possessors,
            # What stands behind the possessor agrees with it.
            "demonstrative": lambda state: [
                Option(forms[state["possessor"][1] - 1], kind)
                for kind, forms in self.grammar.demonstratives.items()
            ],
            "adjective": lambda state: [
                Option(self._adjective(word, state["possessor"][1]), word) for word in self._modifiers("a", state)
            ],
            "relative": self._relatives,
        }

    def target(self, state: State) -> Target:
        """Return the predicate that agrees with the head noun, and the one that agrees with the possessor."""
        head, (possessor, of) = state["noun"], state["possessor"]
        right = concord(self.grammar, head)
        known: dict[str, Value] = {
            "tense": self.grammar.tenses.get(state["tense"]),
            "attractor": possessor.word,
            "noun_class": int(head.value("noun_class")),
            "concord": right,
            "possessor_class": int(possessor.value("noun_class")),
            "possessor_concord": of,
        }
        return Target(f"{self._predicate(state, right)}.", f"{self._predicate(state, of)}.", known)

    @cached_property
    def _nouns(self) -> list[Option]:
        """All nouns with the class that words agree with."""
        return [Option(noun.word, (noun, concord(self.grammar, noun))) for noun in self.vocabulary.of("n")]

    def _possessors(self, state: State) -> list[Option]:
        """Return the nouns with which the predicate has a form that is not right with the head noun."""
        head: Entry = state["noun"]
        classes = {concord(self.grammar, head)}
        if (
            head.cells["semantic_class"] in self.grammar.animate
            and int(head.cells["noun_class"]) in _NASAL_CLASSES
        ):
            classes |= set(self.grammar.human_and_animal.values())  # one form of the noun for both numbers
        right = {self._predicate(state, of) for of in classes}
        wrong = {of for of in range(1, len(self.grammar.of) + 1) if self._predicate(state, of) not in right}
        # In the published code a noun with one form in two classes may possess itself.
        taken = None if self.as_published else head.word
        return [option for option in self._nouns if option.choice[1] in wrong and option.text != taken]

    def _relatives(self, state: State) -> list[Option]:
        """Return the relative verbs that fit the possessor."""
        of = state["possessor"][1]
        prefix, marker = self.grammar.subject[of - 1], self.grammar.relative[of - 1]
        return [
            Option(f"{prefix}{tense}{marker}{word}", word)
            for word in self._modifiers("v", state)
            for tense in self.grammar.relative_tenses
        ]

    def _modifiers(self, category: str, state: State) -> list[str]:
        """Return the words that go with the possessor, without that of the predicate."""
        # In the published code the word of the predicate may stand before it too.
        taken = None if self.as_published else state["predicate"].word
        return [word.word for word in self._fitting(category, state["possessor"][0]) if word.word != taken]

    def _fit(self, category: str, noun: Entry) -> list[Entry]:
        """Return the adjectives or verbs that go with a noun."""
        meaning = noun.cells["semantic_class"]
        return [word for word in self.vocabulary.of(category) if meaning in word.values("possible_connections")]

    def _predicate(self, state: State, of: int) -> str:
        """Return the predicate in a concord class."""
        word = state["predicate"].word
        return (
            f"{self.grammar.subject[of - 1]}{state['tense']}{word}" if self._verbal else self._adjective(word, of)
        )

    def _adjective(self, word: str, of: int) -> str:
        grammar = self.grammar
        exceptions = grammar.exceptions_as_published if self.as_published else grammar.exceptions
        return adjective_form(grammar, exceptions, word, of)
