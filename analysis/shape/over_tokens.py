"""The curves of lines over training tokens: their shapes, paradigms below chance and the onsets of single runs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.data.pair_scores import HALVES, Items
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.settings import FLAT_MARGIN
from ucurve.analysis.shape.below import BELOW_NUMBERS, below_chance, name_below
from ucurve.analysis.shape.cases import Case, Cell, find_curves, have_same_pairs
from ucurve.analysis.shape.classify import is_testable
from ucurve.analysis.shape.onset import onset
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.smoothing import smoothing_weights
from ucurve.analysis.shape.tables import CurvePairs, Shapes, split_pairs, split_paradigms
from ucurve.eval.metrics.clusters import EDIT
from ucurve.fields import format_names


def find_shapes(
    items: Iterable[tuple[Run, Items | None]], cluster: str = EDIT, margin: float = FLAT_MARGIN / 100
) -> Shapes:
    """Estimate and classify the curves of every line of runs, overall and by phenomenon; the margin is a fraction."""
    made = list(_make_cases(items))
    found = find_curves(made, cluster, margin, _below)
    lines = [one for one in made if isinstance(one, Case)]
    if not lines:
        return found
    paradigms = pd.DataFrame([row for line in lines for row in _paradigm_rows(line, cluster)])
    onsets = [row for line in lines for row in _run_onsets(line, cluster)]
    return replace(
        found, classes=name_below(found.classes.drop(columns="cells")),
        paradigms=name_below(paradigms) if len(paradigms) else paradigms,
        run_onsets=pd.DataFrame(onsets, columns=["name", "phenomenon", "onset"]),
    )  # fmt: skip


def _below(line: Case, part: CurvePairs) -> dict[str, float]:
    """Test whether the curve of a line ends below chance."""
    if not is_testable(line.places):
        return dict.fromkeys(BELOW_NUMBERS, np.nan)
    return below_chance(line.places, _half_points(line, part), part.strata, part.clusters)


def _half_points(line: Case, part: CurvePairs) -> npt.NDArray[np.uint8]:
    """Return the half points of the pairs of a curve, uint8[S, T, I]."""
    at = [np.searchsorted(one.tokens, line.places) for one in line.members]
    return np.stack([one.half_points[rows][:, part.chosen] for one, rows in zip(line.members, at, strict=True)])


def _paradigm_rows(line: Case, cluster: str) -> Iterator[dict[str, object]]:
    """Yield the row of each paradigm: where it ends, and whether that is below chance."""
    for part in split_paradigms(line.members[0].pairs, cluster) if is_testable(line.places) else ():
        accuracies = _half_points(line, part).mean(axis=(0, 2)) / HALVES
        yield {
            "line": line.line, "phenomenon": part.phenomenon, "paradigm": part.paradigm, "runs": len(line.members),
            "items": int(part.chosen.sum()), "drawn": part.drawn,
            "end": smoothing_weights(np.log10(line.places))[-1] @ accuracies, **_below(line, part),
        }  # fmt: skip


def _run_onsets(line: Case, cluster: str) -> Iterator[dict[str, object]]:
    """Yield the onset of each phenomenon in each run, at all checkpoints of that run."""
    for part in split_pairs(line.members[0].pairs, cluster):
        for one in line.members if part.phenomenon != "all" else ():
            trained = one.steps > 0
            if is_testable(one.tokens[trained]):
                credits_ = one.half_points[trained][None, :, part.chosen]
                curve = estimate_curve(one.tokens[trained], credits_, part.strata, part.clusters)
                yield {"name": one.run, "phenomenon": part.phenomenon, "onset": onset(curve).tokens}


def _make_cases(items: Iterable[tuple[Run, Items | None]]) -> Iterator[Case | str]:
    """Yield the case of every line, with notes on what could not be tested."""
    lines: dict[str, list[Items]] = {}
    without = []
    for run, half_points in items:
        if half_points is None:
            without.append(run.label)
        else:
            lines.setdefault(run.line, []).append(half_points)
    if without:
        yield (
            "Shapes are not tested without the scores of each pair, with what the linking function reads; there are "
            f"none of {format_names(without, most=6)}."
        )
    for line, members in lines.items():
        yield from _make_case(line, members)


def _make_case(line: str, members: Sequence[Items]) -> Iterator[Case | str]:
    if not have_same_pairs(members):
        yield f"{line}: its runs were scored on different pairs, so its shapes are not tested."
        return
    steps = [set(one.steps.tolist()) for one in members]
    shared = np.array(sorted(set.intersection(*steps)), dtype=np.int64)
    if left_out := len(set.union(*steps)) - len(shared):
        yield (
            f"{line}: {left_out} checkpoint{'s' if left_out > 1 else ''} scored in some of its runs only "
            f"{'are' if left_out > 1 else 'is'} left out of the tests."
        )
    tokens = members[0].tokens[np.searchsorted(members[0].steps, shared)]
    trained = tokens[tokens > 0]
    yield Case(line, trained, (Cell(line, members, trained),))
