"""Measure how often lines that learn alike are said to need other amounts of tokens, and how well ratios are found.

python -m measurements.intervals.time_ratio_levels [--studies 400]

A study has two lines and some phenomena of 300 pairs. Phenomena are learned at other tokens and to other heights; each
run learns all of them earlier or later by a shift of its own (sd in decades), and each curve has a level of its own (2
points), noise that lasts from checkpoint to checkpoint (1 point, AR(1)) and that of the pairs. Reported are p values at
most .05 of single phenomena, of any phenomenon after Holm, and of all pairs, and how often intervals hold the truth.
"""

import argparse
from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd

from ucurve.analysis.lines.time_ratios import time_ratios

PAIRS, DECADES = 300, 4
_PHENOMENA = 8


def main() -> None:
    """Print a line for each number of seeds, spread of times and true ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--studies", type=int, default=400)
    studies = parser.parse_args().studies
    for seeds, spread, ratio in product((2, 3, 5), (0.0, 0.1, 0.2), (1.0, 2.0)):
        draw = np.random.default_rng(1)
        tables = [time_ratios(simulate(draw, seeds, spread, (np.log10(ratio), 0.0))) for _ in range(studies)]
        what = f"{seeds} seeds, times differ by {spread} decades, ratio {ratio:g}"
        print(f"{what}: {_describe(tables, ratio)}", flush=True)


def simulate(
    draw: np.random.Generator, seeds: int, spread: float, later: Sequence[float], phenomena: int = _PHENOMENA,
    within: tuple[float, float] = (1, 3),
) -> pd.DataFrame:  # fmt: skip
    """Make the curves of a study, as ``time_ratios`` reads them.

    ``later`` has a number for each line, by how many decades it learns later, and ``within`` are the decades in which
    the middles of the phenomena lie.
    """
    places = np.linspace(0, DECADES, 6 * DECADES)
    middles, ends = draw.uniform(*within, phenomena), draw.uniform(0.65, 1, phenomena)
    parts = []
    for (line, of_line), seed in product(enumerate(later), range(seeds)):
        shift = of_line + spread * draw.standard_normal()
        rises = 1 / (1 + np.exp(-(places - middles[:, None] - shift) / 0.15))
        noise = np.empty((phenomena, len(places)))
        noise[:, 0] = draw.standard_normal(phenomena)
        for step in range(1, len(places)):
            noise[:, step] = 0.8 * noise[:, step - 1] + 0.6 * draw.standard_normal(phenomena)
        level = 0.02 * draw.standard_normal((phenomena, 1))
        truth = np.clip(0.5 + (ends[:, None] - 0.5) * rises + level + 0.01 * noise, 0, 1)
        accuracy = draw.binomial(PAIRS, truth) / PAIRS
        curves = {"all": accuracy.mean(axis=0)} | {str(place): own for place, own in enumerate(accuracy)}
        for name, values in curves.items():
            columns = {"line": line, "run": f"{line}-{seed}", "phenomenon": name, "tokens": 1000 * 10**places}
            parts.append(pd.DataFrame({**columns, "accuracy": values}))
    return pd.concat(parts, ignore_index=True)


def _describe(tables: list[pd.DataFrame], ratio: float) -> str:
    rows = (
        pd.concat(tables, keys=range(len(tables)), names=["study", None]).reset_index("study").dropna(subset="p")
    )
    holds = (rows["low"] <= ratio) & (ratio <= rows["high"])
    is_all = rows["phenomenon"] == "all"
    width = np.median(np.sqrt(rows.loc[~is_all, "high"] / rows.loc[~is_all, "low"]))
    any_holm = (rows.loc[~is_all, "p_holm"] <= 0.05).groupby(rows.loc[~is_all, "study"]).any().mean()
    return (
        f"p <= .05 of phenomena {_percent(rows.loc[~is_all, 'p'] <= 0.05)}, any after Holm {100 * any_holm:.1f} %, "
        f"of all pairs {_percent(rows.loc[is_all, 'p'] <= 0.05)}; intervals hold {_percent(holds[~is_all])} and "
        f"{_percent(holds[is_all])}, a factor of {width:.2f} wide on either side"
    )


def _percent(held: pd.Series) -> str:
    return f"{100 * held.mean():.1f} %"


if __name__ == "__main__":
    main()
