"""Latin-square lists: who sees which pair, on which page, with which member first."""

import csv
import io
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ucurve.validation.questionnaire.questions import Kind, Question

COLUMNS = (
    "item", "kind", "benchmark", "paradigm", "phenomenon", "pair", "list", "page", "position", "good_first", "good",
    "bad", "right",
)  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """A question as one list shows it; numbers begin with 1."""

    question: Question
    list: int
    page: int  # the pages of training are counted too
    position: int  # in the list
    good_first: bool  # whether the good sentence is the left or upper one

    @property
    def members(self) -> tuple[str, str]:
        """The two sentences in the order in which they are shown."""
        both = self.question.good, self.question.bad
        return both if self.good_first else both[::-1]


@dataclass(frozen=True, kw_only=True)
class Design:
    """How questions are laid out."""

    lists: int  # a multiple of shares
    shares: int  # parts of the items; list n shows part (n - 1) % shares
    pairs_per_page: int
    catch_per_page: int  # of them, on a page that is not of training; fewer than all
    seed: int

    def catch_trials(self, items: int, controls: int) -> int:
        """Return how many catch trials the longest list has."""
        asked = math.ceil(items / self.shares) + controls
        return math.ceil(asked / self.asked_per_page) * self.catch_per_page

    @property
    def asked_per_page(self) -> int:
        """How many items and controls stand on a page."""
        return self.pairs_per_page - self.catch_per_page


Questions = Mapping[Kind, Sequence[Question]]
"""All that is asked, by kind; items stand paradigm by paradigm."""


def make_lists(questions: Questions, design: Design) -> list[Trial]:
    """Lay out all lists.

    Each list shows the training, then each item of its share once in an order of its own. Of the items of a list, as
    many have the good sentence first as second, or one more or less. An item has the other member first in the next
    list of the same share, so that over an even number of these lists it has each member first equally often.
    """
    trials: list[Trial] = []
    controls, training, catch = (questions[kind] for kind in ("control", "training", "catch"))
    for number in range(1, design.lists + 1):
        turn, share = divmod(number - 1, design.shares)
        # Of its own for each list, so that no other list changes it.
        chance = random.Random(f"{design.seed}/list/{number}")  # noqa: S311 - a sample, no secret
        # Items stand paradigm by paradigm, so that every share has some of each.
        items = questions["item"][share :: design.shares]
        # every other good sentence is first, and in the next turn the others
        shown = [(place, one) for of in (items, controls, training, catch) for place, one in enumerate(of)]
        first = {question.item: (place + turn) % 2 == 0 for place, question in shown}
        asked = chance.sample([*items, *controls], len(items) + len(controls))
        pages = _chunks(training, design.pairs_per_page)
        for place, chunk in enumerate(_chunks(asked, design.asked_per_page)):
            # Catch trials stand at random places of their page; the others keep their order.
            for caught in catch[place * design.catch_per_page : (place + 1) * design.catch_per_page]:
                chunk.insert(chance.randint(0, len(chunk)), caught)
            pages.append(chunk)
        placed = [(page, question) for page, chunk in enumerate(pages, start=1) for question in chunk]
        trials += [
            Trial(question, number, page, position, first[question.item])
            for position, (page, question) in enumerate(placed, start=1)
        ]
    return trials


def _chunks(questions: Sequence[Question], size: int) -> list[list[Question]]:
    return [list(questions[start : start + size]) for start in range(0, len(questions), size)]


def items_table(trials: Sequence[Trial], columns: Sequence[str] = COLUMNS) -> str:
    """Write the key that answers are read back against: CSV, one line for each trial of each list."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for trial in trials:
        about = vars(trial.question) | vars(trial) | {"good_first": "true" if trial.good_first else "false"}
        writer.writerow({name: about[name] for name in columns})
    return text.getvalue()
