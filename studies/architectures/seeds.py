"""Whether architectures differ by more than seeds do, by tests that pool the spread of seeds over architectures.

With two seeds each, a test of two architectures alone has two degrees of freedom or fewer and finds next to nothing.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import f as fisher
from scipy.stats import studentized_range

from ucurve.eval.metrics.sampling import CONFIDENCE
from ucurve.eval.metrics.significance import holm

_LEVEL = ["equal_in", "level", "last"]


def spread_of_lines(of_runs: pd.DataFrame) -> pd.DataFrame:
    """Test for each phenomenon, where runs are equal in something, that all architectures have one mean.

    One-way analysis of variance (Fisher 1925, Statistical Methods for Research Workers, VII). ``between`` is the
    standard deviation of the means of the architectures, ``within`` that of seeds, pooled; ``p_holm`` is over the
    phenomena of a level (Holm 1979), the overall number apart. NaN where no architecture has two seeds.
    """
    table = []
    for key, part in of_runs.groupby([*_LEVEL, "phenomenon"], sort=False):
        sides = _sides(part)
        if len(sides) < 2:
            continue
        means = {line: float(np.mean(values)) for line, values in sides.items()}
        best, worst = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
        within, freedom = _pooled(sides)
        everything = np.concatenate(list(sides.values()))
        of_means = sum(len(values) * (means[line] - everything.mean()) ** 2 for line, values in sides.items())
        ratio = of_means / (len(sides) - 1) / within**2 if within > 0 else np.nan
        table.append({
            **dict(zip([*_LEVEL, "phenomenon"], key, strict=True)), "lines": len(sides), "runs": len(everything),
            "between": np.std(list(means.values()), ddof=1), "within": within, "F": ratio, "freedom": freedom,
            "p": fisher.sf(ratio, len(sides) - 1, freedom) if freedom else np.nan,
            "best": best, "best_accuracy": means[best], "worst": worst, "worst_accuracy": means[worst],
        })  # fmt: skip
    rows = pd.DataFrame(table)
    family = [*(rows[name] for name in _LEVEL), rows["phenomenon"] == "all"]
    return rows.assign(p_holm=rows.dropna(subset=["p"]).groupby(family)["p"].transform(lambda p: holm(p.to_numpy())))


def differences_of_lines(of_runs: pd.DataFrame) -> pd.DataFrame:
    """Compare every two architectures for each phenomenon, at the last level of each quantity.

    ``low``, ``high`` and ``p`` are of Tukey's range test for unequal numbers of runs (Kramer 1956, Biometrics 12). They
    hold for all pairs of one phenomenon and level together, and are NaN where no architecture has two seeds.
    """
    table = []
    for key, part in of_runs[of_runs["last"]].groupby([*_LEVEL, "phenomenon"], sort=False):
        sides = _sides(part)
        within, freedom = _pooled(sides)
        for one, other in combinations(sides, 2):
            difference = float(np.mean(sides[one]) - np.mean(sides[other]))
            error = within * np.sqrt((1 / len(sides[one]) + 1 / len(sides[other])) / 2)
            low, high, p = np.nan, np.nan, np.nan
            if error > 0:
                half = error * studentized_range.ppf(CONFIDENCE, len(sides), freedom)
                low, high = difference - half, difference + half
                p = studentized_range.sf(abs(difference) / error, len(sides), freedom)
            table.append((*key, f"{one} - {other}", difference, low, high, p))
    return pd.DataFrame(table, columns=[*_LEVEL, "phenomenon", "of", "difference", "low", "high", "p"])


def _sides(part: pd.DataFrame) -> dict[str, Sequence[float]]:
    known = part[part["accuracy"].notna()]
    return {str(line): rows["accuracy"].tolist() for line, rows in known.groupby("line", sort=False)}


def _pooled(sides: Mapping[str, Sequence[float]]) -> tuple[float, int]:
    """Return the standard deviation of seeds, pooled over architectures, and its degrees of freedom (0 without any)."""
    freedom = sum(len(values) - 1 for values in sides.values())
    squares = sum(float(np.var(values)) * len(values) for values in sides.values())
    return (float(np.sqrt(squares / freedom)), freedom) if freedom else (float("nan"), 0)
