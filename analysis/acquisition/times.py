"""When single runs come to an accuracy."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ucurve.analysis.curves.mean import local_linear
from ucurve.analysis.shape.onset import last_crossing
from ucurve.analysis.shape.smoothing import SMOOTHING, Array

LEAST_CHANGE = 0.05  # of accuracy; on a shorter stretch no level tells when runs pass it


class RunCurve(NamedTuple):
    """One run's curve."""

    run: str
    places: Array  # log10 of tokens, of trained checkpoints with a score
    smoothed: Array
    untrained: float  # the accuracy before training; of the first checkpoint where there is none


def read_curves(curves: pd.DataFrame) -> dict[str, dict[str, list[RunCurve]]]:
    """Smooth the curves of all runs (.15 decades), by phenomenon and line.

    ``curves`` has ``line``, ``run``, ``phenomenon``, ``tokens`` and ``accuracy``, a row per checkpoint.
    """
    found: dict[str, dict[str, list[RunCurve]]] = {}
    scored = curves.dropna(subset="accuracy")
    for (phenomenon, line, run), own in scored.groupby(["phenomenon", "line", "run"], sort=False, observed=True):
        tokens, accuracy = own.sort_values("tokens")[["tokens", "accuracy"]].to_numpy(np.float64).T
        places = np.log10(tokens[tokens > 0])
        if len(places) > 1:
            smoothed = local_linear(places, accuracy[tokens > 0], SMOOTHING)
            one = RunCurve(str(run), places, smoothed, float(accuracy[0]))
            found.setdefault(str(phenomenon), {}).setdefault(str(line), []).append(one)
    return found


def starts_and_ends(lines: Sequence[Sequence[RunCurve]]) -> tuple[list[float], list[float]]:
    """Return the untrained and the last smoothed accuracy of each line, means over its runs."""
    starts = [float(np.mean([run.untrained for run in runs])) for runs in lines]
    return starts, [float(np.mean([run.smoothed[-1] for run in runs])) for runs in lines]


def time_at(run: RunCurve, level: float, *, rises: bool = True) -> float:
    """Return log10 of the tokens at which a run passes a level for good.

    Infinity where it does not, negative infinity where it is on the other side from its first trained checkpoint on.
    """
    height = run.smoothed - level if rises else level - run.smoothed
    return float(last_crossing(run.places, height[None])[0])
