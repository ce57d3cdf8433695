"""Measure how often a factor without effect is said to make learning earlier or later, over all phenomena.

python -m measurements.intervals.age_levels [--studies 400]

A study has the curves of ``time_ratio_levels``: 15 phenomena of 300 pairs, and runs that learn all of them
earlier or later by a shift of their own (sd .2 decades). Of its factors only the first one has an effect, a ratio of
tokens, or none. In some studies many phenomena are learned before the first checkpoint or after the last, so that times
are censored. Reported are p values at most .05, how often intervals hold the truth and how wide they are, for the
factor that has the ratio and for the other ones, which have none; and the share of times that are censored. The seed of
the random numbers is 1 in every cell.
"""

import argparse
from itertools import product

import numpy as np
import pandas as pd

from measurements.intervals.time_ratio_levels import PAIRS, simulate
from ucurve.analysis.acquisition.age import age_of_acquisition

_PHENOMENA, _SPREAD = 15, 0.2
_DESIGNS = {"one factor of 2": ((2,), 3), "one factor of 3": ((3,), 3), "two factors of 2": ((2, 2), 2)}
_WITHIN = {"few": (1.0, 3.0), "many": (-0.7, 4.7)}  # decades of four in which phenomena are learned


def main() -> None:
    """Print a line for each design, censoring and true ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--studies", type=int, default=400)
    studies = parser.parse_args().studies
    for (design, (levels, seeds)), censored, ratio in product(_DESIGNS.items(), _WITHIN, (1.0, 2.0)):
        draw = np.random.default_rng(1)
        tables = [_study(draw, levels, seeds, _WITHIN[censored], ratio) for _ in range(studies)]
        what = f"{design}, {seeds} seeds, {censored} censored, ratio {ratio:g}"
        print(f"{what}: {_describe(pd.concat(tables))}", flush=True)


def _study(
    draw: np.random.Generator, levels: tuple[int, ...], seeds: int, within: tuple[float, float], ratio: float
) -> pd.DataFrame:
    """Simulate a study and compare its levels; ``truth`` is the ratio that a row should have."""
    lines = list(product(*map(range, levels)))
    trained = simulate(
        draw, seeds, _SPREAD, [np.log10(ratio) * (line[0] == 0) for line in lines], _PHENOMENA, within
    )
    untrained = trained.drop_duplicates(["run", "phenomenon"])
    accuracy = draw.binomial(PAIRS, 0.5, len(untrained)) / PAIRS
    curves = pd.concat([untrained.assign(tokens=0.0, accuracy=accuracy), trained], ignore_index=True)
    runs = curves.drop_duplicates("run").set_index("run")["line"]
    factors = pd.DataFrame(
        [lines[line] for line in runs], runs.index, [f"factor {place}" for place in range(len(levels))]
    )
    table = age_of_acquisition(curves, factors)
    is_later = (table["factor"] == "factor 0") & (table["level"] == "0")
    return table.assign(truth=np.where(is_later, ratio, 1))


def _describe(rows: pd.DataFrame) -> str:
    times = (rows["runs"] * rows["phenomena"]).sum()
    censored = f"{100 * rows['left'].sum() / times:.0f} and {100 * rows['right'].sum() / times:.0f} % censored"
    told = {f"ratio {truth:g}": own for truth, own in rows.dropna(subset="p").groupby("truth")}
    return "; ".join([*(f"{name} {_describe_tests(own)}" for name, own in told.items()), censored])


def _describe_tests(rows: pd.DataFrame) -> str:
    holds = (rows["low"] <= rows["truth"]) & (rows["truth"] <= rows["high"])
    width = np.median(np.sqrt(rows["high"] / rows["low"]))
    found = np.median(rows["ratio"])
    return (
        f"p <= .05 in {100 * (rows['p'] <= 0.05).mean():.1f} %, intervals hold {100 * holds.mean():.1f} %, a factor of "
        f"{width:.2f} wide on either side, median {found:.2f}"
    )


if __name__ == "__main__":
    main()
