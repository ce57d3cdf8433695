"""The objective of a run: the next token (``causal``), masked tokens, from their place or the one before, or both."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from ucurve.config_files import completed
from ucurve.fields import STRICT, Share
from ucurve.storage.facts import ObjectiveKind

_Rate = Annotated[float, Field(gt=0, lt=1)]


@dataclass(frozen=True, config=STRICT)
class ObjectiveSettings:
    """What is predicted; conf/objective/ describes every key. Those of masks say nothing where none are."""

    kind: ObjectiveKind
    rate: _Rate  # share of the tokens that are chosen, at the first step
    last_rate: _Rate | None  # at the last step, on a straight line from ``rate``; None for the same in all steps
    mask: Share  # share of the chosen tokens that become the mask token
    random: Share  # share of them that become another token; the rest stays as it is
    whole_words: bool
    share: Annotated[float, Field(gt=0, lt=1)]  # of the sequences that have masks, where some have none

    @model_validator(mode="after")
    def _shares_are_of_one_whole(self) -> "ObjectiveSettings":
        if self.mask + self.random > 1:
            raise ValueError(
                f"mask={self.mask} and random={self.random} are shares of the same tokens, 1 at most"
            )
        return self

    def with_defaults(self) -> dict[str, tuple[object, object]]:
        """Return the value and the default of every key of masks; empty without masks."""
        usual = completed(f"objective/{self.kind}.yaml", {})
        return {key: (getattr(self, key), value) for key, value in usual.items() if key != "kind"}

    @property
    def predicts_next(self) -> bool:
        """Whether the next token is predicted, in all sequences or in some."""
        return self.kind in ("causal", "hybrid")

    @property
    def predicts_before(self) -> bool:
        """Whether masked tokens are predicted one position before their place."""
        return self.kind in ("mntp", "hybrid")

    def have_masks(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which sequences of a run with masks have some, by their numbers in it, in turn as ``share`` says."""
        share = self.share if self.kind == "hybrid" else 1.0
        # A sequence has masks where the sum of the shares up to it passes a whole number.
        return np.asarray(np.floor((numbers + 1) * share) > np.floor(numbers * share))

    def rate_at(self, step: int, steps: int) -> float:
        """Return the share of the tokens that is chosen in 1-based ``step`` of so many."""
        if self.last_rate is None:
            return self.rate
        return self.rate + (self.last_rate - self.rate) * (step - 1) / max(1, steps - 1)

    def mean_rate(self, step: int, steps: int) -> float:
        """Return the share of the positions that is predicted in all steps up to ``step``."""
        if self.kind == "causal":
            return 1.0
        mean = (self.rate + self.rate_at(max(step, 1), steps)) / 2
        return mean if self.kind != "hybrid" else 1 - self.share + self.share * mean
