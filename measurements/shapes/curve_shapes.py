"""Measure how often simulated curves of known shape are given each class: false positives and power of the test.

python -m measurements.shapes.curve_shapes [--curves 1000] [--checkpoints 47 20] [--seeds 3] [--items 300]

Run it from the root of the project. Prints a table: for each shape, kind of noise and number of checkpoints, the share
of the curves given each class when each is the only one tested (p at 5 %), the share called U-shaped in a family of 16
curves by the strictest step of Holm's procedure (p at 5 % / 16), how often the intervals of depth and place of the dip
hold the true ones, and how often a U is called where the curve has none.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from measurements.shapes.simulated_curves import (
    DRIFTING,
    NOISES,
    SLOW,
    STRONGLY_DRIFTING,
    Noise,
    dip,
    dip_then_rise,
    flat,
    late_rise,
    rising,
    simulate,
    token_axis,
)  # fmt: skip
from ucurve.analysis.shape.classify import SHAPES, classify, shape_test
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.smoothing import smoothing_weights

FAMILY = 16  # ZhoBLiMP: 15 phenomena and all pairs
LEVEL = 0.05
DECADES = {47: 5.26, 20: 2.39}  # of ZhoBLiMP's 3B tokens, and of a run of 4M
_TURNING = ("U-shaped", "inverted-U")
Shape = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Scenario:
    """What is simulated: the shape's name, whether it is a U, the curve, and the noise."""

    name: str
    turn: str
    curve: Shape
    noise: Noise


def scenarios() -> Iterator[Scenario]:
    """Yield what is simulated: first flat curves and dips under every noise, then further levels and shapes."""
    for noise in NOISES:
        yield Scenario("flat at 70 %", "", flat(0.7), noise)
        yield Scenario("dip of 5 points at 70 %", "U-shaped", dip(0.7), noise)
    yield Scenario("flat at 50 %, late up to 80 %", "", late_rise(0.5, 0.8), SLOW)
    yield Scenario("flat at 50 %, late up to 80 %", "", late_rise(0.5, 0.8), STRONGLY_DRIFTING)
    yield Scenario("flat at 70 %", "", flat(0.7), STRONGLY_DRIFTING)
    yield Scenario("rising from 50 to 90 %", "", rising(0.5, 0.9), SLOW)
    yield Scenario("rising from 50 to 60 %", "", rising(0.5, 0.6), DRIFTING)
    yield Scenario("falling from 70 to 50 %", "", rising(0.7, 0.5), SLOW)
    yield Scenario("bump of 5 points at 70 %", "inverted-U", dip(0.7, depth=-0.05), SLOW)
    yield Scenario("dip of 5 points, then up to 90 %", "U-shaped", dip_then_rise(0.5, 0.9), SLOW)
    yield Scenario("narrow dip of 5 points at 70 %", "U-shaped", dip(0.7, width=0.2), SLOW)
    yield Scenario("dip of 3 points at 70 %", "U-shaped", dip(0.7, depth=0.03), SLOW)
    for level in (0.5, 0.9):
        yield Scenario(f"dip of 5 points at {100 * level:.0f} %", "U-shaped", dip(level), SLOW)
    for level in (0.5, 0.95):
        for noise in NOISES:
            yield Scenario(f"flat at {100 * level:.0f} %", "", flat(level), noise)


def run(scenario: Scenario, tokens: np.ndarray, arguments: argparse.Namespace) -> dict[str, object]:
    """Test many curves of one scenario and count what they are called."""
    draw = np.random.default_rng([arguments.seed, len(tokens)])
    strata = np.zeros(arguments.items, dtype=np.int64)
    tests = []
    for number in range(arguments.curves):
        simulated = simulate(
            scenario.curve, tokens, scenario.noise, draw, seeds=arguments.seeds, items=arguments.items
        )
        test = shape_test(estimate_curve(tokens, simulated, strata), arguments.draws, number)
        tests.append(classify(pd.DataFrame([{"runs": arguments.seeds, **test}])))
    table = pd.concat(tests, ignore_index=True)
    shares = {name: float((table["shape"] == name).mean()) for name in SHAPES}
    in_family = float((table["p_u"] <= LEVEL / FAMILY).mean())
    return {
        "curve": scenario.name, "noise": scenario.noise.name, "checkpoints": len(tokens), **shares,
        "U of 16": in_family, **_coverage(scenario, tokens, table),
    }  # fmt: skip


def _coverage(scenario: Scenario, tokens: np.ndarray, table: pd.DataFrame) -> dict[str, float]:
    """Say how often the intervals of the turns that were found hold the true depth and place of the smoothed curve."""
    found = table[table["shape"] == scenario.turn]
    if scenario.turn not in _TURNING or found.empty:
        return {"depth held": np.nan, "place held": np.nan, "mean depth": np.nan, "true depth": np.nan}
    logs = np.log10(tokens)
    turn, sign = ("dip", 1) if scenario.turn == "U-shaped" else ("bump", -1)
    curve = sign * (smoothing_weights(logs) @ scenario.curve(logs))
    sides = np.minimum(np.maximum.accumulate(curve), np.maximum.accumulate(curve[::-1])[::-1]) - curve
    depth = sides.max()
    deepest = np.isclose(sides, depth, rtol=0, atol=1e-9)  # two checkpoints beside the middle may share it
    place = 10 ** logs[deepest].mean()
    return {
        "depth held": float(
            found[f"{turn}_depth_low"].le(depth).mul(found[f"{turn}_depth_high"].ge(depth)).mean()
        ),
        "place held": float(
            found[f"{turn}_place_low"].le(place).mul(found[f"{turn}_place_high"].ge(place)).mean()
        ),
        "mean depth": float(found[turn].mean()),
        "true depth": float(depth),
    }


def _print(row: dict[str, object], seconds: float) -> None:
    shown = [f"{value:7.3f}" if isinstance(value, float) else f"{value!s:33}"[:33] for value in row.values()]
    shown[2] = f"{row['checkpoints']!s:>4}"
    print("  ".join(shown), f"{seconds:5.0f} s", flush=True)


def main() -> None:
    """Simulate, test, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curves", type=int, default=1000, help="curves of each kind")
    parser.add_argument("--checkpoints", type=int, nargs="+", default=[47, 20])
    parser.add_argument("--seeds", type=int, default=3, help="runs of each line")
    parser.add_argument("--items", type=int, default=300, help="pairs of each phenomenon")
    parser.add_argument("--draws", type=int, default=500, help="draws of the largest difference, each used twice")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default=None, help="CSV file for the table")
    arguments = parser.parse_args()
    rows = []
    for scenario in scenarios():
        for checkpoints in arguments.checkpoints:
            tokens = token_axis(checkpoints, DECADES.get(checkpoints, 4.0))
            before = time.perf_counter()
            rows.append(run(scenario, tokens, arguments))
            if len(rows) == 1:
                print(
                    "  ".join(f"{name:33}" if place < 2 else f"{name:>7}" for place, name in enumerate(rows[0]))
                )
            _print(rows[-1], time.perf_counter() - before)
    if arguments.out:
        pd.DataFrame(rows).to_csv(arguments.out, index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
