"""Measure the tests of a mean over sizes or lines and of a curve over FLOPs: how often they err, how often they find.

python -m measurements.shapes.pooled_levels --out FILE [--curves 100] [--draws 4999] [--over KIND]

Run it from the root of the project. The generator is that of ``dip_levels``, with 5 sizes of 3 seeds that
are scored on the same pairs; sizes have other levels, and some learn earlier. Lines are three, of 3, 3 and 2 seeds,
that have other levels and learn at other times, and so may each run. Over FLOPs, a point is a size or, with
mixed budgets, one of 15 pairs of size and budget. FILE gets a line of JSON for each curve
that was simulated; more ``--curves`` add to the file. The table that it makes is printed at the end.
"""

import argparse
import json
from collections.abc import Callable
from functools import partial
from math import prod
from pathlib import Path

import numpy as np
from scipy.special import expit

from measurements.shapes.dip_levels import DECADES, TRUTHS, Cell, Truth, simulate
from ucurve.analysis.shape.classify import change_tests
from ucurve.analysis.shape.pooled import curve_of_groups, group_runs, mean_curve, size_contrast, turn_function

SIZES, SEEDS = 5, 3
CHECKPOINTS = 24
FLOPS = 10.0 ** np.linspace(17, 19, SIZES)  # of sizes that have seen the same tokens
MODELS = (14e6, 70e6, 162e6, 405e6, 1.4e9)  # parameters
MIXED = sorted(((size, tokens) for size in MODELS for tokens in (1e7, 1e8, 1e9)), key=prod)
PAIRS = (300, 1500)
LINES = ((3, 0.2, 0.02), (3, 0.0, 0.0), (2, -0.2, -0.03))  # runs, decades by which it learns earlier, level
TIMES = {
    "lines": 0.0,
    "lines, runs .2 decades apart": 0.2,
    "lines, runs .4 decades apart": 0.4,
}  # sd of a run's time
LEVEL = 0.05


def flat(place: np.ndarray, size: int, level: float) -> np.ndarray:
    """Return a constant, higher for larger sizes."""
    return np.full(len(place), level + 0.03 * (size - 2))


def late(place: np.ndarray, size: int) -> np.ndarray:
    """Return a late rise to 80 %, earlier for larger sizes."""
    return 0.5 + 0.3 * expit((place - 0.9 + 0.03 * size) / 0.02)


def dip(place: np.ndarray, size: int, depths: tuple[float, ...], slope: float = 0.0) -> np.ndarray:
    """Return a dip of a depth for each size around 70 %, with a slope that grows with size."""
    bell = np.exp(-(((place - 0.5) / 0.1) ** 2) / 2)
    return 0.7 + 0.03 * (size - 2) + slope * size * (place - 0.5) - depths[size] * bell


OVER_TOKENS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "flat": partial(flat, level=0.7),
    "late rise": late,
    "dip of 5, shared": partial(dip, depths=(0.05,) * SIZES),
    "dip of 5, shared, sizes of other slopes": partial(dip, depths=(0.05,) * SIZES, slope=0.02),
    "dip of 3, shared": partial(dip, depths=(0.03,) * SIZES),
    "dip from 10 to 0": partial(dip, depths=(0.1, 0.075, 0.05, 0.025, 0.0)),
    "dip of 5 in one size": partial(dip, depths=(0.0, 0.0, 0.05, 0.0, 0.0)),
}
OVER_FLOPS: dict[str, tuple[float, ...]] = {  # accuracy at the end, by size
    "flat": (0.7, 0.7, 0.7, 0.7, 0.7),
    "rise": (0.55, 0.6, 0.65, 0.72, 0.8),
    "late rise": (0.5, 0.5, 0.5, 0.5, 0.8),
    "fall of 10": (0.75, 0.725, 0.7, 0.675, 0.65),
    "dip of 5": (0.7, 0.68, 0.65, 0.68, 0.7),
    "dip of 10": (0.7, 0.65, 0.6, 0.65, 0.7),
}


def rise(size: float, tokens: float, by_size: float, by_tokens: float) -> float:
    """Return an accuracy that rises with size and tokens, by so many logits for each decade; over FLOPs where equal."""
    return 0.5 + 0.4 * float(expit(by_size * np.log10(size / 162e6) + by_tokens * np.log10(tokens / 1e8)))


def limited(size: float, tokens: float) -> float:
    """Return an accuracy that the smaller of size and tokens holds back."""
    by_size, by_tokens = 1.5 * np.log10(size / 162e6), 1.5 * np.log10(tokens / 1e8)
    return 0.9 - 0.0424 * float(np.exp(-by_size) + np.exp(-by_tokens))


def turn(size: float, tokens: float, depth: float, slope: float) -> float:
    """Return an accuracy with a dip over FLOPs and a slope, for each decade."""
    place = np.log10(size * tokens / 162e14)
    return 0.7 + slope * float(place) - depth * float(np.exp(-((place / 0.7) ** 2) / 2))


OVER_MIXED: dict[str, Callable[[float, float], float]] = {  # accuracy at the end
    "flat": partial(turn, depth=0.0, slope=0.0),
    "rise over FLOPs": partial(rise, by_size=1.7, by_tokens=1.7),
    "rise, tokens count twice": partial(rise, by_size=1.2, by_tokens=2.4),
    "rise, tokens count three times": partial(rise, by_size=1.0, by_tokens=3.0),
    "rise, size counts three times": partial(rise, by_size=3.0, by_tokens=1.0),
    "rise, the smaller of size and tokens counts": limited,
    "fall of 4 a decade": partial(turn, depth=0.0, slope=-0.04),
    "dip of 5": partial(turn, depth=0.05, slope=0.0),
    "dip of 10": partial(turn, depth=0.1, slope=0.0),
}


def measure(kind: str, truth: str, noise: str, pairs: int, number: int, draws: int) -> dict[str, object]:
    """Simulate one curve and return its p values: of each change and, over tokens, of a difference of groups."""
    draw = np.random.default_rng([number, pairs, *map(ord, kind + truth + noise)])
    truths = _truths(kind, truth, draw)
    every = [one for own in truths for one in own]
    over_tokens = kind == "tokens" or kind in TIMES
    cell = Cell(truth, noise, pairs, CHECKPOINTS if over_tokens else min(DECADES), len(every))
    tokens, half_points, strata, clusters = simulate(cell, draw, every)
    points = slice(None) if over_tokens else slice(-1, None)
    group_of = [str(group) for group, own in enumerate(truths) for _ in own]
    runs = ((group, one[points] / 2) for group, one in zip(group_of, half_points, strict=True))
    groups = group_runs(runs, strata, clusters)
    if over_tokens:
        curve = mean_curve(groups, tokens)
    elif kind == "FLOPs":
        curve = curve_of_groups(groups, FLOPS)
    else:
        sizes, budgets = np.array(MIXED).T
        curve = curve_of_groups(groups, 6 * sizes * budgets, np.log10(budgets / sizes))
    names = ("rise", "fall", "dip", "bump", "flat")
    found = dict(zip(names, change_tests(curve, draws, number), strict=True))
    if over_tokens and (function := turn_function(curve, is_dip=True)) is not None:
        found["differ"] = size_contrast(groups, function, number).p
    return {"over": kind, "truth": truth, "noise": noise, "pairs": pairs, "number": number, **found}


def _truths(kind: str, truth: str, draw: np.random.Generator) -> list[list[Truth]]:
    """Return the truth of every run of every group."""
    if kind == "tokens":
        return [[partial(OVER_TOKENS[truth], size=size)] * SEEDS for size in range(SIZES)]
    if kind in TIMES:
        return [
            [
                partial(_moved, TRUTHS[truth], earlier + TIMES[kind] * draw.standard_normal(), level)
                for _ in range(runs)
            ]
            for runs, earlier, level in LINES
        ]
    levels = OVER_FLOPS[truth] if kind == "FLOPs" else [OVER_MIXED[truth](*cell) for cell in MIXED]
    return [[partial(_level, level=level)] * SEEDS for level in levels]


def _moved(truth: Truth, earlier: float, level: float, place: np.ndarray) -> np.ndarray:
    """Return a truth that comes so many decades earlier, so much higher."""
    return truth(place + earlier / DECADES[CHECKPOINTS]) + level


def _level(place: np.ndarray, level: float) -> np.ndarray:
    return np.full(len(place), level)


def summarize(lines: list[dict[str, object]]) -> str:
    """Return a table of the percentage of curves with p at most .05; of a dip also at most .05/16 and .05/80."""
    keys = ("over", "truth", "noise", "pairs")
    table = ["| over | truth | noise | pairs | curves | rise | fall | dip | .05/16 | .05/80 | they differ |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    cells = dict.fromkeys(tuple(line[key] for key in keys) for line in lines)
    for cell in cells:
        own = [line for line in lines if tuple(line[key] for key in keys) == cell]
        tests = [("rise", 1), ("fall", 1), ("dip", 1), ("dip", 16), ("dip", 80), ("differ", 1)]
        shares = []
        for name, family in tests:
            p = np.array([line[name] for line in own if name in line], dtype=np.float64)
            shares.append(f"{100 * (p <= LEVEL / family).mean():.0f}" if len(p) else "")
        table.append("| " + " | ".join(map(str, [*cell, len(own), *shares])) + " |")
    return "\n".join(table)


def main() -> None:
    """Simulate the curves that FILE lacks, and print the table of all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--curves", type=int, default=100)
    parser.add_argument("--draws", type=int, default=4999)
    parser.add_argument("--over", help="simulate these curves alone, such as FLOPs; lines are three kinds")
    arguments = parser.parse_args()
    lines = (
        [json.loads(line) for line in arguments.out.read_text().splitlines()] if arguments.out.exists() else []
    )
    done = {(line["over"], line["truth"], line["noise"], line["pairs"], line["number"]) for line in lines}
    cells = [("tokens", truth, "ar1", pairs) for pairs in PAIRS for truth in OVER_TOKENS]
    cells += [("tokens", truth, "ar2", 300) for truth in ("flat", "late rise", "dip of 5, shared")]
    cells += [(kind, truth, "ar1", 300) for kind in TIMES for truth in TRUTHS]
    cells += [("lines", truth, noise, 300) for truth in ("flat", "late") for noise in ("ar2", "transient")]
    cells += [("FLOPs", truth, "ar1", pairs) for pairs in PAIRS for truth in OVER_FLOPS]
    cells += [("mixed budgets", truth, "ar1", 300) for truth in OVER_MIXED]
    for number in range(arguments.curves):
        for cell in cells:
            if (*cell, number) not in done and cell[0].startswith(arguments.over or ""):
                line = measure(*cell, number, arguments.draws)
                lines.append(line)
                with arguments.out.open("a", encoding="utf-8") as file:
                    file.write(f"{json.dumps(line)}\n")
    print(summarize(lines))


if __name__ == "__main__":
    main()
