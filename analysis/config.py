"""The settings of ``analyze.py``, checked at the border."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict
from pydantic.dataclasses import dataclass


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _at_least_one(values: tuple[str, ...]) -> tuple[str, ...]:
    if not values:
        raise ValueError("the list is empty; give at least one")
    return values


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class AnalyzeSettings:
    """What to analyse, and where the results go.

    Attributes:
        runs: one or more patterns of run folders, such as ``runs/*``.
        out: folder for the figures, their CSV files and the report.
        linking: linking function of the figures, as named in ``accuracy.csv``.
        benchmark: the only benchmark to draw; all of them when not given.
        formats: file formats of the figures.
    """

    runs: Annotated[tuple[str, ...], BeforeValidator(_as_tuple), AfterValidator(_at_least_one)]
    out: str
    linking: str = "slln_lp"
    benchmark: str | None = None
    formats: Annotated[tuple[Literal["png", "svg"], ...], AfterValidator(_at_least_one)] = ("png", "svg")
