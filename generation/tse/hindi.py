"""Hindi: after a subject with ne the verb is perfective, and without it habitual."""

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from pydantic.dataclasses import dataclass

from ucurve.fields import STRICT
from ucurve.generation.tse.suite import Choose, Option, State, Suite, Table, Target, always, hidden
from ucurve.generation.tse.vocabulary import ANIMATE, Entry

NUMBERS = ("sg", "pl")


@dataclass(frozen=True, config=STRICT)
class Grammar(Table):
    """What hindi.yaml says; keys such as ``m_sg`` are gender and number."""

    marker: str  # it marks some objects
    stop: str
    pronouns: tuple[str, ...]  # these are stems of possessive pronouns
    possessive: dict[str, str]  # forms that agree with what is possessed: direct_singular, masculine, feminine
    genitive: dict[str, str]  # it agrees like the possessive
    participle: dict[str, str]  # its endings show gender and number
    habitual: str  # it follows the stem
    glide: str
    long_a: str
    auxiliaries: dict[str, dict[str, str]]  # each tense has its own


class Object(NamedTuple):
    """The object of a sentence: its noun, its number, and whether it is marked with ko."""

    noun: Entry
    number: str
    marked: bool


def form_of(noun: Entry, number: str, oblique: bool) -> str:
    """Return the form of a noun."""
    if oblique:
        return noun.cells[f"obl_{number}"]
    return noun.word if number == "sg" else noun.cells["nom_pl"]


def conjugate(grammar: Grammar, verb: str, perfective: bool, agreement: str, tense: str) -> str:
    """Return verb and auxiliary, and the sign that ends the sentence; ``agreement`` is gender and number, as m_sg."""
    # Between the long a of a stem and the vowel of the perfective ending stands a y.
    glide = grammar.glide if verb.endswith(grammar.long_a) else ""
    stem = verb + (glide if perfective else grammar.habitual)
    return f"{stem}{grammar.participle[agreement]} {grammar.auxiliaries[tense][agreement]}{grammar.stop}"


def agreeing(forms: Mapping[str, str], noun: Entry, number: str, oblique: bool) -> str:
    """Return the form that agrees with what is possessed in gender, number and case."""
    if noun.cells["gender"] == "f":
        return forms["feminine"]
    return forms["direct_singular" if number == "sg" and not oblique else "masculine"]


class Hindi(Suite[Grammar]):
    """A frame with or without ne after the subject, and with or without possessors of the object."""

    def choices(self) -> dict[str, Choose]:
        """Return the verb and its tense, the subject, and the object with what stands before it."""
        self._ne = self.frame.focus == "with_ne"
        self._with_noun = "possessor" in self.frame.steps
        animate = [noun for noun in self.vocabulary.of("n") if noun.cells["semantic_class"] in ANIMATE]
        numbered = [(noun, number) for noun in animate for number in NUMBERS]
        self._owners = [Option("", of, form_of(*of, True)) for of in numbered]
        return {
            "verb": hidden(self.vocabulary.of("v")),
            "tense": hidden(list(self.grammar.auxiliaries)),
            "subject": always([Option(form_of(*of, self._ne), of) for of in numbered]),
            "object": self._objects,
            "possessor": self._possessors,
            "pronoun": self._pronouns,
            "possessor_form": self._possessor_form,
            "object_form": lambda state: [Option(self._object_text(state["object"]), None)],
        }

    def target(self, state: State) -> Target:
        """Return the verb in the good and the bad form; the bad one has the aspect of the other construction."""
        noun, number = state["subject"]
        thing: Object = state["object"]
        if not self._ne:
            agreement = f"{noun.cells['gender']}_{number}"
        else:
            # With a marked object the verb agrees with nothing and is masculine singular.
            agreement = "m_sg" if thing.marked else f"{thing.noun.cells['gender']}_{thing.number}"
        verb, tense = state["verb"].word, state["tense"]
        good, bad = (
            conjugate(self.grammar, verb, perfect, agreement, tense) for perfect in (self._ne, not self._ne)
        )
        known = {"tense": tense, "number_S": number, "number_O": thing.number, "object_marked": thing.marked}
        return Target(good, bad, known)

    @cached_property
    def _all_objects(self) -> list[Option]:
        """There are two options for each noun and number, so that all nouns are alike frequent."""
        things = [
            Object(noun, number, marked)
            for noun in self.vocabulary.of("n")
            for number in NUMBERS
            # The object of an animate noun has ko in both options, that of another in one of them.
            for marked in (True, noun.cells["semantic_class"] in ANIMATE)
        ]
        return [Option("", thing, self._object_text(thing)) for thing in things]

    def _objects(self, state: State) -> list[Option]:
        """Return the objects that fit the verb, other than its subject."""
        # No noun possesses a person here.
        classes = set(state["verb"].values("semantic_class")) - ({"person"} if self._with_noun else set())
        # The published code does not compare the object with the subject where a possessor stands between.
        taken = None if self.as_published and self._with_noun else state["subject"][0].word
        return [
            option
            for option in self._all_objects
            if option.choice.noun.cells["semantic_class"] in classes and option.choice.noun.word != taken
        ]

    def _possessors(self, state: State) -> list[Option]:
        """Return the animate nouns that are neither subject nor object."""
        taken = (state["subject"][0].word, state["object"].noun.word)
        return [option for option in self._owners if option.choice[0].word not in taken]

    def _pronouns(self, state: State) -> list[Option]:
        """Return the possessive pronouns, which agree with what they stand before."""
        thing: Object = state["object"]
        noun, number = state["possessor"] if self._with_noun else (thing.noun, thing.number)
        # The published code takes the oblique form before every masculine noun.
        oblique = self._with_noun or thing.marked or self.as_published
        ending = agreeing(self.grammar.possessive, noun, number, oblique)
        return [Option(stem + ending, stem) for stem in self.grammar.pronouns]

    def _possessor_form(self, state: State) -> list[Option]:
        """Return the possessor with a genitive that agrees with the object."""
        thing: Object = state["object"]
        noun, number = state["possessor"]
        # The published code takes the direct form also where the marker makes the object oblique.
        oblique = thing.marked and not self.as_published
        genitive = agreeing(self.grammar.genitive, thing.noun, thing.number, oblique)
        return [Option(f"{form_of(noun, number, True)} {genitive}", None)]

    def _object_text(self, thing: Object) -> str:
        """Return the object with its case marker, where it has one."""
        marker = f" {self.grammar.marker}" if thing.marked else ""
        return form_of(thing.noun, thing.number, thing.marked) + marker
