"""Hindi: after a subject with ne the verb is perfective, and without it habitual."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic.dataclasses import dataclass

from ucurve.fields import STRICT
from ucurve.generation.tse.steps import Option, State, Step, Suite, Target, fixed, hidden
from ucurve.generation.tse.vocabulary import ANIMATE, Entry, Vocabulary, read_vocabulary

COLUMNS = ("semantic_class", "gender", "nom_pl", "obl_sg", "obl_pl")  # hindi.csv has these columns beside two others
CATEGORIES = ("n", "v")
NUMBERS = ("sg", "pl")
GENDERS = ("m", "f")
CLASSES = ("person", "animal", "food", "thing", "tool", "text", "speech", "transport")


@dataclass(frozen=True, config=STRICT)
class Frame:
    """A frame: whether the subject has ne, and the possessors before the object."""

    ne: bool
    possessors: tuple[str, ...]


@dataclass(frozen=True, config=STRICT)
class Grammar:
    """What hindi.yaml says; keys such as ``m_sg`` are gender and number."""

    ergative: str  # this particle stands after some subjects
    marker: str  # it marks some objects
    stop: str
    frames: dict[str, Frame]
    pronouns: tuple[str, ...]  # these are stems of possessive pronouns
    possessive: dict[str, str]  # forms that agree with what is possessed: direct_singular, masculine, feminine
    genitive: dict[str, str]  # it agrees like the possessive
    participle: dict[str, str]  # its endings show gender and number
    habitual: str  # it follows the stem
    glide: str
    long_a: str
    auxiliaries: dict[str, dict[str, str]]  # each tense has its own
    phenomena: dict[str, str]  # of suites without and with ne


@dataclass(frozen=True)
class Object:
    """The object of a sentence: its noun, its number, and whether it is marked with ko."""

    noun: Entry
    number: str
    marked: bool


def suites(grammar: Grammar, folder: Path, as_published: bool) -> list[Suite]:
    """Return the six suites, with or without the faults of the published code, which docs/makers.md lists."""
    vocabulary = read_vocabulary(folder / "hindi.csv", COLUMNS, CATEGORIES)
    for noun in vocabulary.of("n"):
        noun.one_of("gender", GENDERS)
        noun.one_of("semantic_class", CLASSES)
        for form in ("nom_pl", "obl_sg", "obl_pl"):
            noun.value(form)
    for verb in vocabulary.of("v"):
        verb.all_of("semantic_class", CLASSES)
    return [_suite(grammar, vocabulary, name, as_published) for name in grammar.frames]


def form_of(noun: Entry, number: str, oblique: bool) -> str:
    """Return the form of a noun."""
    if oblique:
        return noun.value(f"obl_{number}")
    return noun.word if number == "sg" else noun.value("nom_pl")


def conjugate(grammar: Grammar, verb: str, perfective: bool, agreement: str, tense: str) -> str:
    """Return verb and auxiliary, and the sign that ends the sentence; ``agreement`` is gender and number, as m_sg."""
    # Between the long a of a stem and the vowel of the perfective ending stands a y.
    glide = grammar.glide if verb.endswith(grammar.long_a) else ""
    stem = verb + (glide if perfective else grammar.habitual)
    return f"{stem}{grammar.participle[agreement]} {grammar.auxiliaries[tense][agreement]}{grammar.stop}"


def agreeing(forms: Mapping[str, str], noun: Entry, number: str, oblique: bool) -> str:
    """Return the form that agrees with what is possessed in gender, number and case."""
    if noun.value("gender") == "f":
        return forms["feminine"]
    return forms["direct_singular" if number == "sg" and not oblique else "masculine"]


class _Choices:
    """What can be chosen in a suite, in each place of its frame."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, frame: Frame, as_published: bool) -> None:
        self._grammar = grammar
        self._vocabulary = vocabulary
        self._ne = frame.ne
        self._with_noun = "noun" in frame.possessors
        self._as_published = as_published
        animate = [noun for noun in vocabulary.of("n") if noun.value("semantic_class") in ANIMATE]
        each = [(noun, number) for noun in animate for number in NUMBERS]
        self.subjects = [Option(form_of(*of, frame.ne), of) for of in each]
        self._possessors = [Option("", of, form_of(*of, True)) for of in each]
        self._objects_of = cache(self._make_objects)

    def object(self, state: State) -> list[Option]:
        """Return the objects that fit the verb, other than its subject."""
        fitting, subject = self._objects_of(state["verb"]), state["subject"][0].word
        # The published code does not compare the object with the subject where a possessor stands between.
        if self._as_published and self._with_noun:
            return fitting
        return [option for option in fitting if option.choice.noun.word != subject]

    def possessor(self, state: State) -> list[Option]:
        """Return the animate nouns that are neither subject nor object."""
        taken = (state["subject"][0].word, state["object"].noun.word)
        return [option for option in self._possessors if option.choice[0].word not in taken]

    def pronoun(self, state: State) -> list[Option]:
        """Return the possessive pronouns, which agree with what they stand before."""
        thing: Object = state["object"]
        noun, number = state["possessor"] if self._with_noun else (thing.noun, thing.number)
        # The published code takes the oblique form before every masculine noun.
        oblique = self._with_noun or thing.marked or self._as_published
        ending = agreeing(self._grammar.possessive, noun, number, oblique)
        return [Option(stem + ending, stem) for stem in self._grammar.pronouns]

    def possessor_form(self, state: State) -> list[Option]:
        """Return the possessor with a genitive that agrees with the object."""
        thing: Object = state["object"]
        noun, number = state["possessor"]
        # The published code takes the direct form also where the marker makes the object oblique.
        oblique = thing.marked and not self._as_published
        genitive = agreeing(self._grammar.genitive, thing.noun, thing.number, oblique)
        return [Option(f"{form_of(noun, number, True)} {genitive}", None)]

    def target(self, state: State) -> Target:
        """Return the verb in the good and the bad form; the bad one has the aspect of the other construction."""
        noun, number = state["subject"]
        thing: Object = state["object"]
        if not self._ne:
            agreement = f"{noun.value('gender')}_{number}"
        else:
            # With a marked object the verb agrees with nothing and is masculine singular.
            agreement = "m_sg" if thing.marked else f"{thing.noun.value('gender')}_{thing.number}"
        verb, tense = state["verb"].word, state["tense"]
        good, bad = (conjugate(self._grammar, verb, perfect, agreement, tense) for perfect in (self._ne, not self._ne))
        known = {"tense": tense, "number_S": number, "number_O": thing.number, "object_marked": thing.marked}
        return Target(good, bad, known)

    def object_text(self, thing: Object) -> str:
        """Return the object with its case marker, where it has one."""
        marker = f" {self._grammar.marker}" if thing.marked else ""
        return form_of(thing.noun, thing.number, thing.marked) + marker

    def _make_objects(self, verb: Entry) -> list[Option]:
        """Return the objects of a verb, two options for each noun and number, so that all nouns are alike frequent."""
        classes = [name for name in verb.values("semantic_class") if not (self._with_noun and name == "person")]
        things = [
            Object(noun, number, marked)
            for noun in self._vocabulary.of("n")
            if noun.value("semantic_class") in classes
            for number in NUMBERS
            # The object of an animate noun has ko in both options, that of another in one of them.
            for marked in (True, noun.value("semantic_class") in ANIMATE)
        ]
        return [Option("", thing, self.object_text(thing)) for thing in things]


def _suite(grammar: Grammar, vocabulary: Vocabulary, name: str, as_published: bool) -> Suite:
    frame = grammar.frames[name]
    choices = _Choices(grammar, vocabulary, frame, as_published)
    with_noun = "noun" in frame.possessors
    steps = [hidden("verb", vocabulary.of("v")), hidden("tense", list(grammar.auxiliaries))]
    steps.append(Step("subject", lambda _state: choices.subjects))
    steps += [fixed(grammar.ergative)] if frame.ne else []
    steps.append(Step("object", choices.object))
    steps += [Step("possessor", choices.possessor)] if with_noun else []
    steps += [Step("pronoun", choices.pronoun)] if frame.possessors else []
    steps += [Step("possessor's form", choices.possessor_form)] if with_noun else []
    steps.append(Step("object's form", lambda state: [Option(choices.object_text(state["object"]), None)]))
    return Suite("hindi", name, grammar.phenomena["with_ne" if frame.ne else "without_ne"], steps, choices.target)
