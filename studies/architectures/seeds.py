"""What architectures differ in: at equal amounts, along their curves, and in the tokens that they need.

All of it is over seeds, on these pairs; the few seeds of an architecture borrow the spread of those of others
(``ucurve.analysis.lines.over_seeds``).
"""

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from ucurve.analysis.lines.along import compare_along, curves_of_lines, tell_along
from ucurve.analysis.lines.over_seeds import contrast, differences_between, moderate_table, of_curve
from ucurve.analysis.lines.time_ratios import time_ratios
from ucurve.eval.metrics.significance import holm

_LEVEL = ["equal_in", "level", "last"]
_ALONG = ["phenomenon", "of", "higher", "lower", "largest", "low", "high", "at", "p"]


def comparisons(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Compare architectures by the tables ``run_curves`` and ``runs_at_equal`` of ``study_tables``.

    Along the curves, and in the tokens that they need, only architectures that are scored as whole sentences are
    compared: those of a masked one have few checkpoints with a score.
    """
    curves = tables["run_curves"]
    at_equal = _with_courses(tables["runs_at_equal"], curves)
    dense = curves[curves["scorer"] == "sentence"]
    differences = differences_between(at_equal, _LEVEL, "line")
    return {
        "at_equal": mean_at_equal(at_equal),
        "differences": differences[differences["last"] & differences["difference"].notna()],
        "along": differences_along_curves(dense),
        "time_ratios": time_ratios(dense),
    }


def mean_at_equal(at_equal: pd.DataFrame) -> pd.DataFrame:
    """Average ``runs_at_equal`` over the runs of an architecture, with 95 % over seeds, ``low`` to ``high``."""
    keys = [*_LEVEL, "phenomenon", "line"]
    cells, table = moderate_table(at_equal, keys), []
    for key, part in at_equal.groupby(keys, sort=False):
        estimate = contrast([cells[key]], [1.0])
        table.append((*key, len(part), part["tokens"].mean(), estimate.value, *np.clip(estimate[1:], 0, 1)))
    return pd.DataFrame(table, columns=[*keys, "runs", "tokens", "accuracy", "low", "high"])


def differences_along_curves(curves: pd.DataFrame) -> pd.DataFrame:
    """Compare every two architectures along their whole curves (``ucurve.analysis.lines.along``).

    ``higher`` and ``lower`` are the tokens at which the first one is so, ``largest`` is the difference that is largest
    in its band, which holds the whole difference with 95 %, ``low`` to ``high`` the band there, and ``at`` its tokens;
    ``p_holm`` is over the pairs and phenomena, those of ``all`` apart.
    """
    table = pd.DataFrame(_along(curves), columns=_ALONG)
    family = table["phenomenon"] == "all"
    return table.assign(p_holm=table.groupby(family)["p"].transform(lambda p: holm(p.to_numpy())))


def _along(curves: pd.DataFrame) -> Iterator[tuple[object, ...]]:
    line_of = dict(zip(curves["run"], curves["line"], strict=True))
    for phenomenon, lines in curves_of_lines(curves, line_of).items():
        for one, other in combinations(lines, 2):
            if found := compare_along([(lines[one], lines[other])]):
                tokens, band, p = found
                yield phenomenon, f"{one} - {other}", *tell_along(pd.DataFrame({"tokens": tokens, **band})), p


def _with_courses(at_equal: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Add how rough and steep the curve of each run is where it is read."""
    trained = curves[curves["tokens"] > 0].sort_values("tokens")
    of_run = dict(iter(trained.groupby(["run", "phenomenon"])))
    parts = []
    for key, part in at_equal.groupby(["run", "phenomenon"], sort=False):
        places, values = (of_run[key][name].to_numpy(np.float64) for name in ("tokens", "accuracy"))
        parts.append(part.assign(**of_curve(places, values, part["tokens"].to_numpy(np.float64))))
    return pd.concat(parts).sort_index()
