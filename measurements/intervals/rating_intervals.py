"""How often the intervals of correlations with ratings, and of their differences, hold the true value.

Ratings and the values of two linking functions are simulated for sentences in clusters of 2 (pairs) or 10 (pairs of one
edit). Each of the three varies between clusters (30 % of the variance) and within them, with normal or heavy-tailed
(Student's t, 5 degrees of freedom) deviations; the true correlations with the ratings are .5 and .4, that of the two
functions .8. With 1,000 draws the standard error of a coverage of 95 % is .7.

python -m measurements.intervals.rating_intervals [--draws 1000]
"""

import argparse
import sys

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.eval.metrics.bootstrap import draw_correlations, percentiles

CORRELATIONS = np.array([[1, 0.5, 0.4], [0.5, 1, 0.8], [0.4, 0.8, 1]])  # of the ratings and two linking functions
BETWEEN = 0.3  # share of the variance
HEAVY = 5  # degrees of freedom
_SEED = 20_261_128


def simulate(
    random: np.random.Generator, clusters: int, size: int, heavy: bool
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Draw ratings and values of two functions, float64[3, sentences], with the cluster of each sentence."""
    root = np.linalg.cholesky(CORRELATIONS)
    parts = []
    for share, count in ((BETWEEN, clusters), (1 - BETWEEN, clusters * size)):
        normal = root @ random.standard_normal((3, count))
        tails = np.sqrt((HEAVY - 2) / random.chisquare(HEAVY, count)) if heavy else np.ones(count)
        parts.append(np.sqrt(share) * normal * tails)
    of_sentence = np.repeat(np.arange(clusters), size)
    return parts[0][:, of_sentence] + parts[1], of_sentence


def coverage(clusters: int, size: int, heavy: bool, draws: int) -> dict[str, object]:
    """Return how often the intervals hold a correlation and the difference of two, and their median half widths."""
    random, held, half = np.random.default_rng(_SEED), [], []
    truth = np.array([0.5, 0.1])
    for _ in range(draws):
        (ratings, *values), of_sentence = simulate(random, clusters, size, heavy)
        drawn = draw_correlations(np.array(values), ratings, of_sentence)[1:]
        both = np.column_stack([drawn[:, 0], drawn[:, 0] - drawn[:, 1]])
        low, high = percentiles(both, np.full(2, float(clusters - 1)))
        held.append((low <= truth) & (truth <= high))
        half.append((high - low) / 2)
    correlation, difference = np.mean(held, axis=0)
    widths = np.median(half, axis=0)
    return {
        "clusters": clusters, "sentences": clusters * size, "tails": "heavy" if heavy else "normal",
        "correlation": correlation, "half width": widths[0], "difference": difference, "its half width": widths[1],
    }  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000, help="simulated sets of ratings for each row")
    draws = parser.parse_args().draws
    cells = [(clusters, size, heavy) for heavy in (False, True) for size in (2, 10) for clusters in (15, 50, 200)]
    table = pd.DataFrame([coverage(*cell, draws) for cell in cells])
    sys.stdout.write(table.round(3).to_string(index=False) + "\n")


if __name__ == "__main__":
    main()
