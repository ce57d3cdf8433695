"""The objective of a run: the next token (``causal``), or masked tokens, from their place or the one before."""

from dataclasses import fields
from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from ucurve.fields import STRICT, Share

ObjectiveKind = Literal["causal", "masked", "mntp"]
_Rate = Annotated[float, Field(gt=0, lt=1)]


@dataclass(frozen=True, config=STRICT)
class ObjectiveSettings:
    """What is predicted; conf/objective/ describes every key. Those of masks say nothing where none are."""

    kind: ObjectiveKind = "causal"
    rate: _Rate = 0.15  # share of the tokens that are chosen, at the first step
    last_rate: _Rate | None = None  # at the last step, on a straight line from ``rate``; None for the same in all steps
    mask: Share = 0.8  # share of the chosen tokens that become the mask token
    random: Share = 0.1  # share of them that become another token; the rest stays as it is
    whole_words: bool = False

    @model_validator(mode="after")
    def _shares_are_of_one_whole(self) -> "ObjectiveSettings":
        if self.mask + self.random > 1:
            raise ValueError(f"mask={self.mask} and random={self.random} are shares of the same tokens, 1 at most")
        return self

    def with_defaults(self) -> dict[str, tuple[object, object]]:
        """Return the value and the default of every key of masks; empty without masks."""
        names = () if self.kind == "causal" else fields(self)
        return {one.name: (getattr(self, one.name), one.default) for one in names if one.name != "kind"}

    def rate_at(self, step: int, steps: int) -> float:
        """Return the share of the tokens that is chosen in 1-based ``step`` of so many."""
        if self.last_rate is None:
            return self.rate
        return self.rate + (self.last_rate - self.rate) * (step - 1) / max(1, steps - 1)

    def mean_rate(self, step: int, steps: int) -> float:
        """Return the share of the positions that is predicted in all steps up to ``step``."""
        if self.kind == "causal":
            return 1.0
        return (self.rate + self.rate_at(max(step, 1), steps)) / 2
