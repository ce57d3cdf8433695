"""The learning rate of each step: linear warm-up, then one of several forms."""

import math
from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, NonNegativeFloat, PositiveFloat, model_validator
from pydantic.dataclasses import dataclass

from ucurve.fields import STRICT, Decay, Share

RateKind = Literal["cosine", "linear", "constant", "wsd"]

_LEFT: dict[str, Callable[[float], float]] = {  # share of the way from peak to minimum that is left
    "cosine": lambda done: 0.5 * (1 + math.cos(math.pi * done)),
    "linear": lambda done: 1 - done,
    "wsd": lambda done: 1 - math.sqrt(done),
}


def _read_warmup(value: object) -> float | int:
    if not isinstance(value, bool) and isinstance(value, int | float):
        if 0 <= value <= 1:
            return float(value)
        if value >= 2 and value == int(value):
            return int(value)
    raise ValueError(f"got {value!r}; allowed: a share of the steps from 0 to 1, or a number of steps from 2")


@dataclass(frozen=True, config=STRICT)
class OptimizerSettings:
    """AdamW, and the learning rate at its peak, before it and at the end; ``RateSettings`` says how it gets there."""

    learning_rate: PositiveFloat
    minimum: Share  # final learning rate as a share of the peak
    warmup: Annotated[float | int, BeforeValidator(_read_warmup)]  # a share of the steps, or from 2 on their number
    betas: tuple[Decay, Decay]
    eps: PositiveFloat
    weight_decay: NonNegativeFloat
    clip: PositiveFloat  # largest norm of the gradient

    def warmup_steps(self, total_steps: int) -> int:
        """Return the steps of the warm-up, the last of which has the peak."""
        return int(self.warmup) if self.warmup > 1 else max(1, round(self.warmup * total_steps))


@dataclass(frozen=True, config=STRICT)
class RateSettings:
    """How the learning rate goes on after the warm-up."""

    kind: RateKind = "cosine"
    decay: Annotated[float, Field(gt=0, lt=1)] | None = None  # the share of the steps in which ``wsd`` falls

    @model_validator(mode="after")
    def _decay_is_of_wsd(self) -> "RateSettings":
        if self.kind == "wsd" and self.decay is None:
            raise ValueError("decay: no value given; rate=wsd wants the share of the steps in which it falls")
        if self.kind != "wsd" and self.decay is not None:
            raise ValueError(f"decay is for rate=wsd; this is rate={self.kind}")
        return self

    def steps_before_decay(self, total_steps: int) -> int:
        """Return the last step of ``wsd`` that has the peak."""
        assert self.decay is not None, "this is rate=wsd"
        return total_steps - max(1, round(self.decay * total_steps))


COSINE = RateSettings()

# What conf/ has where nobody chooses; what differs from it is in the names of runs.
USUAL_DECAY: dict[RateKind, float] = {"wsd": 0.2}
_USUAL_MINIMUM: dict[RateKind, float] = {"constant": 1.0, "wsd": 0.0}


def usual_optimizer(rate: RateKind, learning_rate: float) -> dict[str, float | int]:
    """Return the keys of ``OptimizerSettings`` that are numbers as conf/ has them with a form of the rate."""
    return {
        "learning_rate": learning_rate,
        "minimum": _USUAL_MINIMUM.get(rate, 0.1),
        "warmup": 100 if rate in ("constant", "wsd") else 0.01,
        "eps": 1e-8,
        "weight_decay": 0.1,
        "clip": 1.0,
    }


def learning_rate(settings: OptimizerSettings, step: int, total_steps: int, rate: RateSettings = COSINE) -> float:
    """Return the learning rate of 1-based ``step``.

    It is above 0 from the first step on, so that step 1 differs from step 0, and ``minimum * peak`` at the last step.
    With W steps of warm-up, N steps, peak p and lowest rate m, step n has ``p n / W`` up to W, and from there on

    - ``cosine``: ``m + (p - m) (1 + cos(pi d)) / 2`` with ``d = (n - W) / (N - W)`` (Pythia, Biderman et al. 2023)
    - ``linear``: ``m + (p - m) (1 - d)`` with the same d
    - ``constant``: ``p``
    - ``wsd``: ``p`` up to step N - D, then ``m + (p - m) (1 - sqrt(d))`` with ``d = (n - (N - D)) / D``, where D is the
      number of steps that the share ``decay`` makes (the form 1-sqrt of Hägele et al. 2024, section 3, who have m = 0)
    """
    peak = settings.learning_rate
    warmup = settings.warmup_steps(total_steps)
    if step <= warmup:
        return peak * step / warmup
    before = rate.steps_before_decay(total_steps) if rate.kind == "wsd" else warmup
    if step <= before or rate.kind == "constant":
        return peak  # exactly, so that these steps are those of any other budget
    done = (step - before) / max(1, total_steps - before)
    lowest = settings.minimum * peak
    return lowest + (peak - lowest) * _LEFT[rate.kind](done)
