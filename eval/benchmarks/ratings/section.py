"""The section ``ratings`` of a card: where people's judgments are and how they are written."""

from dataclasses import fields
from typing import Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from ucurve.eval.benchmarks.files.source_file import Patterns
from ucurve.fields import STRICT, Texts


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Choices:
    """A row for each pair, and a column for each person, who chose one of the two sentences."""

    a: str
    b: str
    people: Texts  # patterns of the columns of the persons
    a_chosen: Texts = ("0",)  # what these columns hold; a person may leave rows empty
    b_chosen: Texts = ("1",)


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Raters:
    """A row for each sentence, and a column of numbers for each person."""

    sentence: str
    people: Texts  # patterns of the columns of the persons, who may leave rows empty


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Judgments:
    """A row for each judgment: the columns of who rated which sentence, and how."""

    sentence: str
    person: str
    value: str


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Survey:
    """A workbook with a row for each person and a column for each question, and a second workbook with the sentences.

    The first row below the header groups the columns; the sentences of a group are in the order of its columns.
    """

    # Patterns of the workbook of the sentences, which are in the first column of a sheet, under a header.
    sentences: Patterns
    group: Texts  # the columns of its sheets that make the name of the group, joined by `_`


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Ratings:
    """Judgments of people; exactly one form is given."""

    files: Patterns = ()  # patterns below the folder of the benchmark; without them, the files of the pairs
    choices: Choices | None = None
    raters: Raters | None = None
    judgments: Judgments | None = None
    survey: Survey | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        forms = [entry.name for entry in fields(self) if entry.name != "files"]
        if sum(getattr(self, name) is not None for name in forms) != 1:
            raise ValueError(f"give exactly one of {', '.join(forms)}")
        return self
