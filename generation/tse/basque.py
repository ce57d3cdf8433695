"""Basque: the auxiliary agrees with subject, object and indirect object in number."""

from collections.abc import Mapping
from pathlib import Path

from pydantic.dataclasses import dataclass

from ucurve.errors import UserError, unknown_name
from ucurve.fields import STRICT
from ucurve.generation.tse.steps import Option, State, Step, Suite, Target, hidden
from ucurve.generation.tse.vocabulary import Entry, Vocabulary, read_vocabulary

# The file basque.csv has these columns beside two others.
COLUMNS = ("subcategory", "tense", "possible_S", "possible_DO", "possible_IO")
CATEGORIES = ("n", "v", "aux")
TENSES = ("PST", "PRS", "FUT")
# Nouns have one of these classes, and verbs say which ones they take.
CLASSES = ("person", "animal", "food", "tool", "transport", "text", "speech", "other")
_OTHER = {"sg": "pl", "pl": "sg"}


@dataclass(frozen=True, config=STRICT)
class Frame:
    """A frame: the paradigm of its auxiliary, and its arguments in their order."""

    paradigm: str  # it names the arguments with which the auxiliary agrees
    order: tuple[str, ...]  # its members are S, DO and IO


@dataclass(frozen=True, config=STRICT)
class Grammar:
    """What basque.yaml says."""

    frames: dict[str, Frame]
    cases: dict[str, dict[str, str]]  # of each argument, by paradigm
    endings: dict[str, dict[str, str]]  # by case and number
    phenomena: dict[str, str]


Auxiliaries = Mapping[tuple[str, str, tuple[str, ...]], str]
"""Forms by paradigm, tense and the numbers of the arguments, S, DO and IO as far as the paradigm has them."""


def suites(grammar: Grammar, folder: Path, as_published: bool) -> list[Suite]:
    """Return the suites: each frame with each of its arguments in focus."""
    vocabulary = read_vocabulary(folder / "basque.csv", COLUMNS, CATEGORIES)
    auxiliaries = read_auxiliaries(vocabulary)
    for noun in vocabulary.of("n"):
        noun.one_of("subcategory", CLASSES)
    for verb in vocabulary.of("v"):
        verb.one_of("tense", TENSES)
        for argument in grammar.cases[verb.one_of("subcategory", grammar.cases)]:
            verb.all_of(f"possible_{argument}", CLASSES)
    return [
        _suite(grammar, vocabulary, auxiliaries, focus, name, as_published)
        for focus in grammar.phenomena
        for name, frame in grammar.frames.items()
        if focus in frame.order
    ]


def read_auxiliaries(vocabulary: Vocabulary) -> Auxiliaries:
    """Return the forms of the auxiliary."""
    forms = {}
    for entry in vocabulary.of("aux"):
        numbers = tuple(
            entry.one_of(f"possible_{argument}", _OTHER)
            for argument in ("S", "DO", "IO")
            if entry.values(f"possible_{argument}")
        )
        for tense in entry.values("tense"):
            if tense not in TENSES:
                raise unknown_name("tense", tense, TENSES, entry.place)
            forms[entry.value("subcategory"), tense, numbers] = entry.word
    return forms


def inflect(stem: str, ending: str) -> str:
    """Return the form of a noun: a final a of the stem is dropped, a final r doubled."""
    if stem.endswith("a"):
        return stem[:-1] + ending
    return f"{stem}r{ending}" if stem.endswith("r") else stem + ending


def _suite(
    grammar: Grammar, vocabulary: Vocabulary, auxiliaries: Auxiliaries, focus: str, name: str, as_published: bool
) -> Suite:
    frame = grammar.frames[name]
    arguments = [argument for argument in ("S", "DO", "IO") if argument in frame.order]
    verbs = [entry for entry in vocabulary.of("v") if entry.value("subcategory") == frame.paradigm]
    if not verbs:
        raise UserError(f"vocabulary: {vocabulary.path} has no verb of the paradigm {frame.paradigm!r}")

    def number(argument: str, state: State) -> str:
        chosen = str(state["number"])
        # All other arguments have the other number, so that agreement with one of them makes the target wrong.
        return chosen if argument == focus else _OTHER[chosen]

    def nouns(argument: str, before: tuple[str, ...]) -> Step:
        # The forms that fit a verb and a number are found once.
        forms: dict[tuple[int, str], list[Option]] = {}
        endings = grammar.endings[grammar.cases[frame.paradigm][argument]]

        def options(state: State) -> list[Option]:
            verb, of = state["verb"], number(argument, state)
            if (id(verb), of) not in forms:
                classes = verb.values(f"possible_{argument}")
                fitting = [noun for noun in vocabulary.of("n") if noun.value("subcategory") in classes]
                forms[id(verb), of] = [Option(inflect(noun.word, endings[of]), noun) for noun in fitting]
            taken = {state[other].word for other in before}
            return [option for option in forms[id(verb), of] if option.choice.word not in taken]

        return Step(argument, options)

    def target(state: State) -> Target:
        verb: Entry = state["verb"]
        numbers = [number(argument, state) for argument in arguments]
        flipped = [_OTHER[of] if argument == focus else of for argument, of in zip(arguments, numbers, strict=True)]
        forms = []
        for wanted in (numbers, flipped):
            key = (frame.paradigm, verb.value("tense"), tuple(wanted))
            if key not in auxiliaries:
                raise UserError(
                    f"vocabulary: {vocabulary.path} has no auxiliary of {frame.paradigm}, {key[1]}, {wanted}"
                )
            forms.append(f"{auxiliaries[key]}.")
        known = {f"number_{argument}": of for argument, of in zip(arguments, numbers, strict=True)}
        return Target(forms[0], forms[1], {"focus": focus, "tense": verb.value("tense"), **known})

    steps = [hidden("verb", verbs), hidden("number", list(_OTHER))]
    for place, argument in enumerate(frame.order):
        # the published code does not compare the first argument with the last one, so that a noun may be repeated
        before = frame.order[max(0, place - 1) : place] if as_published else frame.order[:place]
        steps.append(nouns(argument, tuple(before)))
    steps.append(Step("participle", lambda state: [Option(state["verb"].word, None)]))
    return Suite("basque", f"{focus}-{name}", grammar.phenomena[focus], steps, target)
