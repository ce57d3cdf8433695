"""Measure how often an interval over two seeds holds a third one, on the curves of the studies.

python -m measurements.intervals.seed_intervals

Run it from the root of the project; it needs the tables in docs/data alone. Each run is left out in turn: the other
runs of its line give an interval for it, Student's t of these runs alone and with variances that are moderated over
phenomena and lines (``ucurve.analysis.lines.over_seeds``). Read are accuracies at the end of training and before, and
the change over the last decade of tokens, as the mean of the checkpoints within .15 decades.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import t as student

from ucurve.analysis.lines.over_seeds import ROUGHNESS, SLOPE, Seeds, level_at, moderate, of_curve

STUDIES = ("hundred_million", "architectures")
_BEFORE = (0.0, 0.5, 1.0)  # decades before the end at which accuracies are read
Array = npt.NDArray[np.float64]


def main() -> None:
    """Print a line for each study and what is read."""
    for study in STUDIES:
        curves = pd.read_csv(Path(__file__).parents[2] / "docs" / "data" / study / "run_curves.csv")
        trained = curves[(curves["tokens"] > 0) & (curves["phenomenon"] != "all")].dropna(subset="accuracy")
        places: dict[str, Callable[[Array], Array]] = {
            f"{before:g} decades before the end": lambda tokens, back=before: tokens[-1:] / 10**back
            for before in _BEFORE
        }
        places["change of the last decade"] = lambda tokens: tokens[-1] / np.array([10.0, 1.0])
        for what, where in places.items():
            report(f"{study}, {what}", list(_leave_out(_read(trained, where))))


def _read(curves: pd.DataFrame, where: Callable[[Array], Array]) -> dict[tuple[str, str], Array]:
    """Return value, roughness and slope of each run, float64[runs, 3], by line and phenomenon."""
    cells: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for (line, phenomenon, _), own in curves.sort_values("tokens").groupby(["line", "phenomenon", "run"]):
        tokens, accuracy = own["tokens"].to_numpy(np.float64), own["accuracy"].to_numpy(np.float64)
        at = np.asarray(where(tokens), dtype=np.float64)
        levels, curve = level_at(tokens, accuracy, at), of_curve(tokens, accuracy, at)
        value = levels[-1] - levels[0] if len(levels) > 1 else levels[0]
        cells.setdefault((line, phenomenon), []).append((value, curve[ROUGHNESS].mean(), curve[SLOPE].mean()))
    return {key: np.array(runs) for key, runs in cells.items() if len(runs) > 2}


def _leave_out(cells: Mapping[tuple[str, str], Array]) -> Iterator[tuple[bool, float, bool, float]]:
    """Yield whether the interval of the other runs holds the one left out and its half width: alone, and moderated."""
    for out in range(max(map(len, cells.values()))):
        kept = [runs for runs in cells.values() if len(runs) > out]
        rest = [np.delete(runs, out, axis=0) for runs in kept]
        curves = np.log([runs[:, 1:].mean(axis=0) for runs in rest])
        moderated = moderate([runs[:, 0].tolist() for runs in rest], curves)
        for runs, others, together in zip(kept, rest, moderated, strict=True):
            off = abs(runs[out, 0] - others[:, 0].mean())
            alone = moderate([others[:, 0].tolist()])[0]
            halves = [_half_width(one, len(others)) for one in (alone, together)]
            yield off <= halves[0] + 1e-12, halves[0], off <= halves[1], halves[1]


def _half_width(seeds: Seeds, runs: int) -> float:
    """Return half of the 95 % interval in which another run lies."""
    return float(student.ppf(0.975, seeds.freedom) * np.sqrt(seeds.error * (runs + 1)))


def report(what: str, found: list[tuple[bool, float, bool, float]]) -> None:
    """Print how often intervals hold, and their widths in points."""
    alone, width, moderated, narrower = np.array(found, dtype=np.float64).T
    median = np.median(narrower)
    print(
        f"{what}: {len(found)} runs left out; alone {100 * alone.mean():.0f} % hold, half width "
        f"{100 * np.median(width):.1f} points (median); moderated {100 * moderated.mean():.0f} %, {100 * median:.1f} "
        f"({100 * narrower.min():.1f} to {100 * narrower.max():.1f})",
        flush=True,
    )


if __name__ == "__main__":
    main()
