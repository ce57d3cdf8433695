"""The settings of ``analyze.py``, checked at the border."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from ucurve.config_files import load
from ucurve.fields import as_tuple

FLAT_MARGIN = float(load("analyze.yaml")["flat_margin"])  # points of accuracy


def _at_least_one(values: tuple[str, ...]) -> tuple[str, ...]:
    if not values:
        raise ValueError("the list is empty; give at least one")
    return values


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class AnalyzeSettings:
    """What to analyze, and where the results go; conf/analyze.yaml describes every key."""

    runs: Annotated[tuple[str, ...], BeforeValidator(as_tuple), AfterValidator(_at_least_one)]
    out: str
    linking: str | None
    benchmark: str | None
    cluster: Annotated[str, Field(min_length=1)]
    flat_margin: Annotated[float, Field(gt=0, le=50)]
    items: bool
    color: str | None
    dash: str | None
    facet: str | None
    curves_by: Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
    human: Path | None
    ratings: Path | None
    rating_pairs: Path | None
    models: Path | None
    languages: Path | None
    factors: Path | None
    matches: Path | None
    formats: Annotated[tuple[Literal["png", "svg", "pdf"], ...], AfterValidator(_at_least_one)]

    @model_validator(mode="after")
    def _ratings_of_the_pairs(self) -> Self:
        if self.rating_pairs is not None and self.ratings is None:
            raise ValueError("rating_pairs=FILE.csv names pairs of rated sentences: give ratings=FILE.csv too")
        return self
