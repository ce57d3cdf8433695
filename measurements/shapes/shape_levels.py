"""Measure the levels and the power of the shape test where its assumptions hold least: few runs, large phenomena.

python -m measurements.shapes.shape_levels [--curves 400] [--items 300 1500] [--out levels.csv]

Runs wander, single runs have transients, or pairs change in clusters. The generator is another than that of
``curve_shapes``: a pair is right where a uniform number of it, its threshold, lies below the accuracy of the curve.
Half of the pairs keep their threshold in all runs and at all checkpoints. Of the others a third get a new one at every
checkpoint, the rest at random places of the log axis of each run. Every checkpoint has the accuracy of the curve on
average.

Prints one row for each curve, noise, number of pairs and number of runs, in percent: how many of the curves have a
significant rise, fall, U or inverted U when each is tested alone at 5 %, how many a U at 5 % / 16 (the strictest step
of Holm in a family of 16 curves), and how many without any change are shown to be flat and how many stay undetermined.
Then, for families of 15 phenomena that rise late and all their pairs, how many families hold a curve called U-shaped.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ucurve.analysis.shape.classify import shape_test
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.eval.metrics.significance import holm

LEVEL, FAMILY = 0.05, 16
RUNS = (1, 2, 3, 5)
CLUSTER = 10  # pairs
PARADIGMS = 6
_DECADES, _CHECKPOINTS = 2.4, 20
_AXIS = np.linspace(0, _DECADES, _CHECKPOINTS)
TOKENS = 16_384 * 10**_AXIS
_LASTING, _SLOW = (
    0.5,
    1 / 3,
)  # share of pairs that never change; of the others, share that changes at every checkpoint
_RENEWED = 0.5  # decades between two thresholds of a pair, on average
_TRANSIENT, _TRANSIENT_WIDTH = 0.06, 0.3  # depth; half of the foot in decades
Floats = np.ndarray
Shape = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Noise:
    """What makes runs differ from their curve and pairs from one another.

    Attributes:
        drift: standard deviation of a run's own slow curve, as a fraction; its level varies by twice that.
        transient: whether every run has one short dip at a place of its own.
        alike: correlation between two pairs of a cluster in what changes.
        in_all_runs: whether clusters change in all runs at once.
    """

    name: str
    drift: float = 0.0
    transient: bool = False
    alike: float = 0.0
    in_all_runs: bool = False


NOISES = (
    Noise("pairs only"),
    Noise("runs drift by 1 point", drift=0.01),
    Noise("runs drift by 2 points", drift=0.02),
    Noise("transients of 6 points", transient=True),
    Noise("clusters, .1, in each run", alike=0.1),
    Noise("clusters, .3, in each run", alike=0.3),
    Noise("clusters, .1, in all runs", alike=0.1, in_all_runs=True),
    Noise("clusters, .3, in all runs", alike=0.3, in_all_runs=True),
)
CURVES: dict[str, Shape] = {
    "flat at 70 %": lambda x: np.full(len(x), 0.7),
    "late rise from 50 to 80 %": lambda x: 0.5 + 0.3 * np.clip((x - 0.8 * _DECADES) / (0.15 * _DECADES), 0, 1),
    "dip of 5 points at 70 %": lambda x: _dip(x, 0.5 * _DECADES),
    "dip of 5 points, .5 decades from the start": lambda x: _dip(x, 0.5),
    "two dips of 5 points": lambda x: _dip(x, 0.25 * _DECADES, 0.25) + _dip(x, 0.75 * _DECADES, 0.25) - 0.7,
    "fall by 3 points": lambda x: 0.7 - 0.03 * np.clip((x - 0.8) / 0.4, 0, 1),
}


_NOISES_OF_ALL_CURVES = NOISES[:2]
_MAIN_CURVES = list(CURVES)[:3]


def _dip(x: Floats, place: float, width: float = 0.4) -> Floats:
    return np.asarray(0.7 - 0.05 * np.exp(-(((x - place) / width) ** 2) / 2))


def wander(noise: Noise, runs: int, draw: np.random.Generator) -> Floats:
    """Draw how far each run lies from the curve, float64[runs, checkpoints]: a level, random waves, a transient."""
    return np.stack([_wander(noise, draw) for _ in range(runs)])


def simulate(curve: Shape, noise: Noise, own: Floats, items: int, draw: np.random.Generator) -> Floats:
    """Return half points, uint8[runs, checkpoints, items]; pairs of a cluster stand together."""
    runs, levels = len(own), curve(_AXIS) + own
    lasting = np.broadcast_to(draw.random(items), (runs, len(_AXIS), items))
    changing = np.stack([_renewed(items, draw) for _ in range(runs)])
    quick = draw.random(items) < _SLOW
    changing[..., quick] = draw.random((runs, len(_AXIS), int(quick.sum())))
    if noise.alike:
        _follow_clusters(changing, noise, draw)
    thresholds = np.where(draw.random(items) < _LASTING, lasting, changing)
    return (2 * (thresholds < levels[..., None])).astype(np.uint8)


def _wander(noise: Noise, draw: np.random.Generator) -> Floats:
    own = 2 * noise.drift * draw.standard_normal()
    waves = draw.uniform(0.1, 0.8, 8)[:, None] * _AXIS + draw.random((8, 1))
    own = own + noise.drift * np.sqrt(2 / 8) * np.cos(2 * np.pi * waves).sum(axis=0)
    if noise.transient:
        own = own - _TRANSIENT * np.clip(1 - np.abs(_AXIS - draw.uniform(0, _DECADES)) / _TRANSIENT_WIDTH, 0, 1)
    return np.asarray(own)


def _renewed(items: int, draw: np.random.Generator) -> Floats:
    """Draw thresholds that are renewed at random places of the log axis, float64[checkpoints, items]."""
    thresholds = draw.random((len(_AXIS), items))
    renewed = draw.random((len(_AXIS), items)) < 1 - np.exp(-(_AXIS[1] - _AXIS[0]) / _RENEWED)
    for step in range(1, len(_AXIS)):
        thresholds[step] = np.where(renewed[step], thresholds[step], thresholds[step - 1])
    return thresholds


def _follow_clusters(changing: Floats, noise: Noise, draw: np.random.Generator) -> None:
    """Give pairs the threshold of their cluster, as many as make two of them correlate by ``alike``."""
    runs, _, items = changing.shape
    clusters = -(-items // CLUSTER)
    own = np.stack([_renewed(clusters, draw) for _ in range(1 if noise.in_all_runs else runs)])
    followed = np.repeat(own, CLUSTER, axis=2)[..., :items]
    following = draw.random(items) < np.sqrt(noise.alike)
    changing[..., following] = followed[..., following]


def measure(curve: str, noise: Noise, runs: int, items: int, arguments: argparse.Namespace) -> dict[str, object]:
    """Test many curves of one kind and count what is significant."""
    draw = np.random.default_rng([arguments.seed, items, runs])
    clusters = np.arange(items) // (CLUSTER if noise.alike else 1)
    strata = np.arange(items) * PARADIGMS // items
    tests = []
    for number in range(arguments.curves):
        half_points = simulate(CURVES[curve], noise, wander(noise, runs, draw), items, draw)
        tests.append(shape_test(estimate_curve(TOKENS, half_points, strata, clusters), 500, number))
    return {"curve": curve, "noise": noise.name, "pairs": items, "runs": runs, **_shares(tests)}


def measure_families(noise: Noise, runs: int, arguments: argparse.Namespace) -> dict[str, object]:
    """Count the families with a curve that is called U-shaped; all curves of a family share their runs."""
    draw = np.random.default_rng([arguments.seed, runs])
    found = [_has_u(noise, runs, draw, number) for number in range(arguments.curves // 4)]
    named = {"curve": "family of late rises", "noise": noise.name, "pairs": "60 to 480", "runs": runs}
    return {**named, "any U": np.mean(found)}


def _has_u(noise: Noise, runs: int, draw: np.random.Generator, number: int) -> bool:
    own = wander(noise, runs, draw)
    sizes = draw.integers(6, 49, FAMILY - 1) * CLUSTER
    parts = [simulate(CURVES["late rise from 50 to 80 %"], noise, own, int(size), draw) for size in sizes]
    parts.append(np.concatenate(parts, axis=2))
    strata = [np.zeros(part.shape[2], dtype=np.int64) for part in parts[:-1]]
    strata.append(np.repeat(np.arange(FAMILY - 1), sizes))
    p = [shape_test(estimate_curve(TOKENS, *one), 500, number)["p_u"] for one in zip(parts, strata, strict=True)]
    return bool((holm(np.array(p)) <= LEVEL).any())


def _shares(tests: list[dict[str, float]]) -> dict[str, float]:
    p = pd.DataFrame(tests)[["p_rise", "p_fall", "p_u", "p_inverted_u", "p_flat"]]
    changes = p.drop(columns="p_flat")
    return {
        **{name.removeprefix("p_"): float((changes[name] <= LEVEL).mean()) for name in changes},
        "u_of_16": float((p["p_u"] <= LEVEL / FAMILY).mean()),
        "flat": float(((p["p_flat"] <= LEVEL) & (changes > LEVEL).all(axis=1)).mean()),
        "undetermined": float(((p["p_flat"] > LEVEL) & (changes > LEVEL).all(axis=1)).mean()),
    }


def _print(row: dict[str, object]) -> None:
    print(
        *(f"{100 * value:5.1f}" if isinstance(value, float) else value for value in row.values()),
        sep="\t",
        flush=True,
    )


def main() -> None:
    """Simulate, test, and print a row for every kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curves", type=int, default=400, help="curves of each kind")
    parser.add_argument("--items", type=int, nargs="+", default=[300, 1500], help="pairs of each phenomenon")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default=None, help="CSV file for the table")
    arguments = parser.parse_args()
    rows = []
    for noise in NOISES:
        for curve in CURVES if noise in _NOISES_OF_ALL_CURVES else _MAIN_CURVES:
            for items in arguments.items:
                for runs in RUNS:
                    rows.append(measure(curve, noise, runs, items, arguments))
                    _print(rows[-1])
    for noise in (NOISES[0], NOISES[1], NOISES[3]):
        for runs in (2, 3, 5):
            rows.append(measure_families(noise, runs, arguments))
            _print(rows[-1])
    if arguments.out:
        pd.DataFrame(rows).to_csv(arguments.out, index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
