"""The learning rate: linear warm-up, then cosine decay (Pythia, Biderman et al. 2023)."""

import math

from pydantic import NonNegativeFloat, PositiveFloat
from pydantic.dataclasses import dataclass

from ucurve.fields import STRICT, Decay, Share


@dataclass(frozen=True, config=STRICT)
class OptimizerSettings:
    """AdamW with linear warm-up and cosine decay."""

    learning_rate: PositiveFloat
    minimum: Share  # final learning rate as a share of the peak
    warmup: Share  # of the steps
    betas: tuple[Decay, Decay]
    eps: PositiveFloat
    weight_decay: NonNegativeFloat
    clip: PositiveFloat  # largest norm of the gradient


def learning_rate(settings: OptimizerSettings, step: int, total_steps: int) -> float:
    """Return the learning rate of 1-based ``step``.

    It is above 0 from the first step on, so that step 1 differs from step 0, and ``minimum * peak`` at the last step.
    """
    peak = settings.learning_rate
    warmup = max(1, round(settings.warmup * total_steps))
    if step <= warmup:
        return peak * step / warmup
    done = (step - warmup) / max(1, total_steps - warmup)
    lowest = settings.minimum * peak
    return lowest + (peak - lowest) * 0.5 * (1 + math.cos(math.pi * done))
