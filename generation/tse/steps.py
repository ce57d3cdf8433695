"""A grammar as a row of choices: the common form of the three languages.

The same choices draw a sentence and, followed by its words, tell whether the grammar can make it.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ucurve.eval.templates.pair import DrawFailed, Pair, Value

State = Mapping[str, Any]
"""What has been chosen, by the name of the step."""


class Option(NamedTuple):
    """One thing that a step can choose."""

    text: str  # the words that it adds to the condition; empty for none
    choice: Any  # what later steps read of it
    later: str = ""  # words that a later step adds because of it


class Target(NamedTuple):
    """The right and the wrong end of a sentence, with what is known of it."""

    good: str
    bad: str
    columns: Mapping[str, Value]


@dataclass(frozen=True)
class Step:
    """A choice among options that may depend on what has been chosen before."""

    name: str
    options: Callable[[State], Sequence[Option]]


@dataclass(frozen=True)
class Suite:
    """A suite of sentences of one frame."""

    language: str  # as in the names of files: basque
    name: str  # without the language
    phenomenon: str
    steps: Sequence[Step]  # in an order in which each depends only on earlier ones
    target: Callable[[State], Target] = field(repr=False)

    def draw(self, rng: random.Random) -> Pair:
        """Draw a sentence.

        Raises:
            DrawFailed: where nothing fits what was chosen before, or the two targets are equal.
        """
        state: dict[str, Any] = {}
        words = []
        for step in self.steps:
            options = step.options(state)
            if not options:
                raise DrawFailed(f"no {step.name} fits")
            # Python promises the same random() for a seed in all its versions, but not the same choice().
            chosen = options[int(rng.random() * len(options))]
            state[step.name] = chosen.choice
            words.append(chosen.text)
        target = self.target(state)
        if target.good == target.bad:
            raise DrawFailed("the two targets are equal")
        text = " ".join(word for word in words if word)
        text = text[:1].upper() + text[1:]
        columns = {"condition": text, "target_good": target.good, "target_bad": target.bad, **target.columns}
        return Pair(f"{text} {target.good}", f"{text} {target.bad}", columns)


def hidden(name: str, choices: Sequence[object]) -> Step:
    """Return a step that chooses and adds no words."""
    options = [Option("", choice) for choice in choices]
    return Step(name, lambda _state: options)


def fixed(text: str) -> Step:
    """Return a step that adds words and chooses nothing."""
    options = [Option(text, None)]
    return Step(text, lambda _state: options)
