"""The questions of the report, and the functions that make the sections below them.

A function that yields sections, none where the runs lack what it needs, is a part of the report once it has the
decorator ``section``. The types of its parameters say what it is made of: ``ucurve.analysis.sections`` has the kinds.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar


class Question(NamedTuple):
    """What sections of the report answer together."""

    anchor: str
    text: str


LEARNED = Question("learned", "What was learned, and when?")
SHAPES = Question("shapes", "Which curves turn?")
PAIRS = Question("pairs", "Which pairs, and do seeds agree on them?")
LENGTH = Question("length", "Does length decide?")
MODELS = Question("models", "How do models compare?")
PEOPLE = Question("people", "What do people say?")
COST = Question("cost", "How did training go, and what did it cost?")
RUNS = Question("runs", "What was run?")
QUESTIONS = (LEARNED, SHAPES, PAIRS, LENGTH, MODELS, PEOPLE, COST, RUNS)  # in the order of the report

SectionMaker = TypeVar("SectionMaker", bound=Callable[..., Iterable[Any]])


class MadeSections(NamedTuple):
    """A function that makes sections of the report, and where they stand."""

    make: Callable[..., Iterable[Any]]
    question: Question | None
    place: int
    page: str


MADE: list[MadeSections] = []  # by the modules that were imported


def section(
    question: Question | None, place: int, page: str = "docs/analysis.md"
) -> Callable[[SectionMaker], SectionMaker]:
    """Make the sections that a function yields a part of the report.

    They stand below ``question``, those without one before all questions, in the order of ``place`` among the functions
    that are made of the same; ``page`` is that of the documentation which says how they are computed.
    """

    def register(make: SectionMaker) -> SectionMaker:
        MADE.append(MadeSections(make, question, place, page))
        return make

    return register
