"""A suite as a row of steps, each of which chooses words: the common form of the three languages.

A language is a YAML file, which lists the steps of its suites and its forms, and a class that knows how words agree.
The same steps draw a sentence and, followed by its words, tell whether the grammar can make it.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic.dataclasses import dataclass

from ucurve.fields import STRICT
from ucurve.generation.tse.vocabulary import Vocabulary, Words
from ucurve.templates.pair import DrawFailed, Pair, Value

State = Mapping[str, Any]
"""What has been chosen, by the name of the step."""


class Option(NamedTuple):
    """One thing that a step can choose."""

    text: str  # the words that it adds to the condition; empty for none
    choice: Any  # what later steps read of it
    later: str = ""  # words that a later step adds because of it


Choose = Callable[[State], Sequence[Option]]
"""The options of a step, which may depend on what has been chosen before."""


class Target(NamedTuple):
    """The right and the wrong end of a sentence, with what is known of it."""

    good: str
    bad: str
    columns: Mapping[str, Value]


@dataclass(frozen=True, config=STRICT)
class Frame:
    """The form of the sentences of a suite."""

    focus: str  # what its targets differ in, as a key of the phenomena
    steps: tuple[str, ...]  # in an order in which each depends only on earlier ones


@dataclass(frozen=True, config=STRICT)
class Table:
    """What the YAML file of every language says."""

    words: Words
    fixed: dict[str, str]  # the steps that only add words, which are always the same
    phenomena: dict[str, str]
    suites: dict[str, Frame]


Grammar = TypeVar("Grammar", bound=Table)


class Suite(ABC, Generic[Grammar]):
    """A suite of sentences of one frame."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, name: str, as_published: bool) -> None:
        self.grammar = grammar
        self.vocabulary = vocabulary
        self.name = name  # without the language
        self.as_published = as_published  # with the faults of the published code, which docs/makers.md lists
        self.frame = grammar.suites[name]
        options = {step: always([Option(text, None)]) for step, text in grammar.fixed.items()} | self.choices()
        self.steps = {step: options[step] for step in self.frame.steps}

    @abstractmethod
    def choices(self) -> dict[str, Choose]:
        """Return the steps of the language that choose."""

    @abstractmethod
    def target(self, state: State) -> Target:
        """Return how the sentence ends."""

    def draw(self, rng: random.Random) -> Pair:
        """Draw a sentence.

        Raises:
            DrawFailed: where nothing fits what was chosen before, or the two targets are equal.
        """
        state: dict[str, Any] = {}
        words = []
        for step, choose in self.steps.items():
            options = choose(state)
            if not options:
                raise DrawFailed(f"no {step} fits")
            # Python promises the same random() for a seed in all its versions, but not the same choice().
            chosen = options[int(rng.random() * len(options))]
            state[step] = chosen.choice
            words.append(chosen.text)
        target = self.target(state)
        if target.good == target.bad:
            raise DrawFailed("the two targets are equal")
        text = " ".join(word for word in words if word)
        text = text[:1].upper() + text[1:]  # other letters keep their case, as str.capitalize would not let them
        columns = {"condition": text, "target_good": target.good, "target_bad": target.bad, **target.columns}
        return Pair(f"{text} {target.good}", f"{text} {target.bad}", columns)


def always(options: Sequence[Option]) -> Choose:
    """Return a step whose options do not depend on what was chosen before."""
    return lambda _state: options


def hidden(choices: Sequence[object]) -> Choose:
    """Return a step that chooses and adds no words."""
    return always([Option("", choice) for choice in choices])
