"""Simulated scores of curves of known shape, for the validation of the shape test at full and at reduced size."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

FIRST_TOKENS = 16_384  # one batch of 256 sequences of 64 tokens
DIP_WIDTH = 0.4  # decades, standard deviation: about one decade wide at half its depth


@dataclass(frozen=True)
class Noise:
    """What makes scores vary around the curve.

    A pair is right where a normal number of it lies below the quantile of the accuracy, so that every checkpoint has
    exactly the accuracy of the curve on average. The shares below are of the variance of that number.

    Attributes:
        name: for tables.
        difficulty: share that stays with an item in all runs and checkpoints.
        memory: share that stays with an item in one run and changes slowly over the checkpoints.
        offset: standard deviation of a run's own level, as a fraction.
        drift: standard deviation of a run's own slow curve, as a fraction.
    """

    name: str
    difficulty: float = 0.0
    memory: float = 0.0
    offset: float = 0.0
    drift: float = 0.0


INDEPENDENT = Noise("independent checkpoints")
LASTING = Noise("items of lasting difficulty", difficulty=0.5)
SLOW = Noise("items that change slowly", difficulty=0.5, memory=0.3)
DRIFTING = Noise("seeds with offset and drift", difficulty=0.5, memory=0.3, offset=0.02, drift=0.01)
STRONGLY_DRIFTING = Noise("seeds with twice the drift", difficulty=0.5, memory=0.3, offset=0.02, drift=0.02)
NOISES = (INDEPENDENT, LASTING, SLOW, DRIFTING)


def token_axis(checkpoints: int, decades: float) -> np.ndarray:
    """Return tokens that are evenly spaced on the log axis."""
    return FIRST_TOKENS * 10 ** np.linspace(0, decades, checkpoints)


def flat(level: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return a curve that stays at one level."""
    return lambda logs: np.full(len(logs), level)


def dip(level: float, depth: float = 0.05, width: float = DIP_WIDTH) -> Callable[[np.ndarray], np.ndarray]:
    """Return a flat curve with a dip in the middle of the log axis; a negative depth makes a bump."""
    return lambda logs: level - depth * np.exp(-(((logs - np.mean(logs[[0, -1]])) / width) ** 2) / 2)


def rising(start: float, end: float, width: float = 0.3) -> Callable[[np.ndarray], np.ndarray]:
    """Return an S-shaped curve, steepest in the middle of the log axis."""
    return lambda logs: start + (end - start) / (1 + np.exp(-(logs - np.mean(logs[[0, -1]])) / width))


def late_rise(start: float, end: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return a curve that is flat until late, so that a chance fall is followed by a sure rise."""
    return lambda logs: start + (end - start) / (1 + np.exp(-(logs - logs[0] - 0.85 * np.ptp(logs)) / 0.08))


def dip_then_rise(start: float, end: float, depth: float = 0.05) -> Callable[[np.ndarray], np.ndarray]:
    """Return a curve with a dip in the middle of the log axis and a rise in the last third."""

    def curve(logs: np.ndarray) -> np.ndarray:
        late = logs[0] + 0.8 * (logs[-1] - logs[0])
        return dip(start, depth, 0.3)(logs) + (end - start) / (1 + np.exp(-(logs - late) / 0.12))

    return curve


def simulate(
    curve: Callable[[np.ndarray], np.ndarray], tokens: np.ndarray, noise: Noise, draw: np.random.Generator,
    *, seeds: int = 3, items: int = 300,
) -> np.ndarray:  # fmt: skip
    """Return half points, uint8[seeds, checkpoints, items]."""
    logs = np.log10(tokens)
    own = noise.offset * draw.standard_normal((seeds, 1))  # of each run: its level, then its slow curve
    own = own + noise.drift * slow_numbers(logs, draw, (seeds, len(logs), 1), 0.7)[..., 0]
    levels = np.clip(curve(logs) + own, 0.001, 0.999)
    shape = (seeds, len(tokens), items)
    latent = np.sqrt(1 - noise.difficulty - noise.memory) * draw.standard_normal(shape, dtype=np.float32)
    latent += np.sqrt(noise.difficulty) * draw.standard_normal(items, dtype=np.float32)
    if noise.memory:
        latent += np.sqrt(noise.memory) * slow_numbers(logs, draw, (seeds, len(tokens), items), 0.5).astype(
            np.float32
        )
    return (2 * (latent < ndtri(levels)[:, :, None])).astype(np.uint8)


def slow_numbers(
    logs: np.ndarray, draw: np.random.Generator, shape: tuple[int, int, int], decades: float
) -> np.ndarray:
    """Return normal numbers of variance 1 that are alike at checkpoints nearer than ``decades``."""
    distance = (logs[:, None] - logs[None, :]) / decades
    values, vectors = np.linalg.eigh(np.exp(-(distance**2) / 2))
    root = vectors * np.sqrt(np.maximum(values, 0))
    return root @ draw.standard_normal(shape, dtype=np.float64)
