"""From the credits of runs to the shapes of curves, for every kind of curve: of a line, of a mean, over FLOPs.

A case is what a table of shapes has a line for: cells of runs that differ in the seed only, with the tokens at which
they are compared. Its curve is estimated, tested and classified overall and by phenomenon.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.pair_scores import HALVES, Items
from ucurve.analysis.shape.bands import curve_bands
from ucurve.analysis.shape.classify import is_testable
from ucurve.analysis.shape.pooled import (
    Groups,
    SizeContrast,
    credits_of,
    group_runs,
    mean_curve,
    size_contrast,
    turn_function,
)
from ucurve.analysis.shape.smoothing import Array, Curve, smoothing_weights
from ucurve.analysis.shape.tables import (
    ITEMS_AND_SEEDS,
    ITEMS_ONLY,
    NUMBERS,
    CurvePairs,
    Shapes,
    curve_statistics,
    lay_out_curve,
    shape_table,
    split_pairs,
    variation_of,
)


@dataclass(frozen=True, eq=False)
class Cell:
    """Runs that differ in the seed only."""

    name: str
    members: Sequence[Items]
    tokens: Array  # float64[T], at which their credits are read

    def accuracies(self, chosen: npt.NDArray[np.bool_]) -> Array:
        """Return the mean over the runs and chosen pairs, float64[T]."""
        own = [credits_of(one, self.tokens, chosen).mean(axis=1) for one in self.members]
        return np.asarray(np.mean(own, axis=0))


@dataclass(frozen=True, eq=False)
class Case:
    """A curve over tokens: the mean of its cells, each of equal weight, which have the same tokens and pairs."""

    line: str
    places: Array  # float64[T], what the curve is over, ascending
    cells: Sequence[Cell]
    # columns of the table of classes that only this kind has
    told: Mapping[str, object] = field(default_factory=dict)

    @property
    def members(self) -> list[Items]:
        """All runs."""
        return [member for cell in self.cells for member in cell.members]

    def credits_of_runs(self, chosen: npt.NDArray[np.bool_]) -> Iterator[tuple[str, Array]]:
        """Yield the credits of chosen pairs, float64[T, I], of every run, with the name of its cell."""
        for cell in self.cells:
            for member in cell.members:
                yield cell.name, credits_of(member, cell.tokens, chosen)

    def curve(self, groups: Groups) -> Curve:
        """Estimate the curve of the cells."""
        return mean_curve(groups, self.places)

    def rows(self, part: CurvePairs, curve: Curve, bands: pd.DataFrame) -> pd.DataFrame:
        """Lay out the curve with its ``bands`` and what was measured (``lay_out_curve``)."""
        untrained, chosen = np.nan, part.chosen
        if not any(member.tokens[0] > 0 for member in self.members):  # else the mean would be over other runs
            before = [np.mean([one.half_points[0, chosen] for one in cell.members]) for cell in self.cells]
            untrained = float(np.mean(before)) / HALVES
        return lay_out_curve(self.line, part.phenomenon, curve, bands, untrained)


def have_same_pairs(members: Sequence[Items]) -> bool:
    """Return whether all runs were scored on the same pairs."""
    return all(members[0].pairs.equals(other.pairs) for other in members[1:])


def find_curves(
    made: Iterable[Case | str], cluster: str, margin: float,
    more: Callable[[Case, CurvePairs], dict[str, float]] = lambda *_: {},
) -> Shapes:  # fmt: skip
    """Test the curves of all cases; what is no case is a note that says what could not be tested.

    ``more`` returns further numbers of a curve for the table of classes.
    """
    every = list(made)
    cases = (one for one in every if isinstance(one, Case))
    parts = [(case, part) for case in cases for part in split_pairs(case.members[0].pairs, cluster)]
    rows: list[dict[str, object]] = []
    tested: list[tuple[Case, CurvePairs, Curve]] = []
    contrasts = {}
    for case, part in parts:
        row = _describe(case, part)
        if is_testable(case.places):  # a curve of too few places has a row of NaN
            groups = group_runs(case.credits_of_runs(part.chosen), part.strata, part.clusters)
            curve = case.curve(groups)
            tested.append((case, part, curve))
            contrasts[case.line, part.phenomenon] = _contrasts(groups, curve)
            smooth = smoothing_weights(curve.log_tokens) @ curve.mean
            row |= {"variation": variation_of(curve), "start": smooth[0], "end": smooth[-1]}
            row |= curve_statistics(curve, margin)
        rows.append(row | more(case, part))
    # The bands of all curves are found together: the variances of their seeds are moderated over all of them.
    bands = curve_bands([curve for *_, curve in tested], [part.phenomenon == "all" for _, part, _ in tested])
    curves = [case.rows(part, curve, own) for (case, part, curve), own in zip(tested, bands, strict=True)]
    return Shapes(
        classes=_classify(pd.DataFrame(rows)) if rows else pd.DataFrame(),
        paradigms=pd.DataFrame(),
        curves=stack(curves),
        run_onsets=pd.DataFrame(),
        notes=tuple(one for one in every if isinstance(one, str)),
        estimates={(case.line, part.phenomenon): curve for case, part, curve in tested},
        contrasts=contrasts,
    )


def _describe(case: Case, part: CurvePairs) -> dict[str, object]:
    """Return the row of a curve as it is before the test: what it is of, and NaN for every number."""
    runs = len(case.members)
    return {
        "line": case.line,
        "phenomenon": part.phenomenon,
        "cells": len(case.cells),
        **case.told,
        "runs": runs,
        "items": int(part.chosen.sum()),
        "drawn": part.drawn,
        "checkpoints": len(case.places),
        "variation": ITEMS_AND_SEEDS if runs > 1 else ITEMS_ONLY,
        **dict.fromkeys(("start", "end", *NUMBERS), np.nan),
    }


def _contrasts(groups: Groups, curve: Curve) -> dict[str, SizeContrast]:
    """Test whether cells differ in the ``dip`` and ``bump`` of their mean; one cell, or cells of one point, do not."""
    if 1 in groups.means.shape:
        return {}
    turns = {turn: turn_function(curve, is_dip=turn == "dip") for turn in ("dip", "bump")}
    return {turn: size_contrast(groups, function) for turn, function in turns.items() if function is not None}


def _classify(tests: pd.DataFrame) -> pd.DataFrame:
    """Classify curves by ``shape_table``: the cells of a curve leave its seeds as much freedom as one line would have.

    Without a cell of several runs the claim of a mean is about these runs; with one degree of freedom it is indicative.
    """
    is_mean = tests["cells"] > 1
    table = shape_table(tests.assign(runs=1 + tests["runs"] - tests["cells"])).assign(runs=tests["runs"])
    shape = table["shape"].str.replace("(this run", "(these runs", regex=False)
    shape = shape.str.replace("2 runs: indicative", "2 runs of one group: indicative", regex=False)
    return table.assign(shape=table["shape"].mask(is_mean, shape))
