"""The curves of lines over training tokens: their shapes, paradigms below chance and the onsets of single runs.

Does a curve end below chance: is the wrong member of the pairs preferred, significantly and lastingly? The accuracy at
the end is that of the smoothed curve at its last checkpoint. It is tested one-sided against 50 %, by Student's t with
the cluster-robust variance of a level over pairs within paradigms and, with several runs, over seeds. A curve is
*stable and wrong* when this is significant after Holm and the smoothed curve stayed below 50 % from half of the
training tokens on, or earlier. The question is that of Manna, Snyder and Tabor (2026, arXiv 2603.00359).
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import t as student

from ucurve.analysis.data.pair_scores import HALVES, Items
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.settings import FLAT_MARGIN
from ucurve.analysis.shape.cases import Case, Cell, find_curves, have_same_pairs
from ucurve.analysis.shape.classify import LEVEL, Row, adjust_by_runs, is_testable
from ucurve.analysis.shape.onset import onset
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.smoothing import Array, estimate_level, smoothing_weights
from ucurve.analysis.shape.tables import CurvePairs, Shapes, split_pairs, split_paradigms
from ucurve.eval.metrics.clusters import EDIT
from ucurve.eval.metrics.levels import Ids
from ucurve.eval.metrics.sampling import FEWEST_CLUSTERS
from ucurve.eval.metrics.significance import CHANCE
from ucurve.fields import format_names
from ucurve.gather import gather

STABLE, AT_THE_END = "stable and wrong", "ends below chance"
# Half of the tokens is the last 0.3 decades. A curve that comes below chance only there may still come back.
LATEST = 0.5  # of the training tokens: a curve that came below chance after them is not stable
_RESERVATIONS = {1: " (this run)", 2: " (2 runs: indicative)"}  # as those of a turn: measured in docs/shape.md
BELOW_NUMBERS = ("p_below", "p_below_these_runs", "below_from", "below_share")


def below_chance(
    tokens: Array, half_points: npt.NDArray[np.uint8], strata: Ids, clusters: Ids
) -> dict[str, float]:
    """Test whether a curve ends below chance.

    ``p_below`` is over pairs and, with several seeds, seeds, ``p_below_these_runs`` over pairs only; ``below_from`` are
    the tokens of the checkpoint from which on the smoothed curve lies below 50 %, NaN where it does not end there, and
    ``below_share`` these tokens as a share of the last ones. With fewer than 4 clusters of pairs both p are NaN.

    ``tokens`` are float64[T], above 0 and ascending; ``half_points`` uint8[S, T, I], by seed, checkpoint and item;
    ``strata`` (paradigms) and ``clusters`` int64[I].
    """
    weights = smoothing_weights(np.log10(tokens))
    level = estimate_level(np.einsum("t,sti->si", weights[-1], half_points) / HALVES, strata, clusters)
    # Of a sign test over as many independent draws: a few clusters that are all wrong do not vary, but prove little.
    least = 0.5**level.effective_items

    def p(variance: float, freedom: float) -> float:
        if level.clusters < FEWEST_CLUSTERS:
            return np.nan
        beyond = float(student.sf((CHANCE - level.mean) / np.sqrt(variance), freedom))
        return max(float(least), beyond)

    # The smoothing is that of the figure, so that the table and the figure say the same tokens.
    smooth = weights @ half_points.mean(axis=(0, 2)) / HALVES
    not_below = np.flatnonzero(smooth >= CHANCE)
    first = 0 if not len(not_below) else int(not_below[-1]) + 1
    since = float(tokens[first]) if first < len(tokens) else np.nan
    return {
        "p_below": p(level.variance, level.freedom),
        "p_below_these_runs": p(level.item_variance, level.item_freedom),
        "below_from": since,
        "below_share": since / float(tokens[-1]),
    }


def name_below(tests: pd.DataFrame) -> pd.DataFrame:
    """Adjust the tests of curves by Holm, and name those that end below chance.

    ``tests`` has a row per curve, with ``runs`` and ``BELOW_NUMBERS``, NaN for a curve that was not tested. ``below``
    is ``stable and wrong`` or ``ends below chance``, of one run with ``(this run)`` behind it, of two with ``(2 runs:
    indicative)``; ``these runs: ...`` where it holds of the mean of these runs over pairs, but not of other seeds;
    otherwise empty.
    """
    adjusted = tests.assign(
        holm_below=adjust_by_runs(tests["p_below"], tests["runs"]),
        _these_runs=adjust_by_runs(tests["p_below_these_runs"], tests["runs"]),
    )
    named = adjusted.assign(below=[_name(row) for row in adjusted.to_dict("records")])
    return named.drop(columns="_these_runs")


def _name(row: Row) -> str:
    """Say whether a curve ends below chance, and how far that goes (``name_below``)."""
    name = STABLE if row["below_share"] <= LATEST else AT_THE_END
    if row["holm_below"] <= LEVEL:
        return name + _RESERVATIONS.get(row["runs"], "")
    return f"these runs: {name}" if row["_these_runs"] <= LEVEL else ""


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
        found,
        classes=name_below(found.classes.drop(columns="cells")),  # a line is one cell
        paradigms=name_below(paradigms) if len(paradigms) else paradigms,
        run_onsets=pd.DataFrame(onsets, columns=["name", "phenomenon", "onset"]),
    )


def _below(line: Case, part: CurvePairs) -> dict[str, float]:
    """Test whether the curve of a line ends below chance."""
    # A curve of few checkpoints is not tested, but the table has a row for every curve.
    if not is_testable(line.places):
        return dict.fromkeys(BELOW_NUMBERS, np.nan)
    return below_chance(line.places, _half_points(line, part), part.strata, part.clusters)


def _half_points(line: Case, part: CurvePairs) -> npt.NDArray[np.uint8]:
    """Return the half points of the pairs of a curve, uint8[S, T, I]."""
    # A run may have checkpoints that the other runs of its line lack, so each has those of the line at other rows.
    at = [np.searchsorted(one.tokens, line.places) for one in line.members]
    return np.stack([one.half_points[rows][:, part.chosen] for one, rows in zip(line.members, at, strict=True)])


def _paradigm_rows(line: Case, cluster: str) -> Iterator[dict[str, object]]:
    """Yield the row of each paradigm: where it ends, and whether that is below chance."""
    for part in split_paradigms(line.members[0].pairs, cluster) if is_testable(line.places) else ():
        accuracies = _half_points(line, part).mean(axis=(0, 2)) / HALVES
        yield {
            "line": line.line,
            "phenomenon": part.phenomenon,
            "paradigm": part.paradigm,
            "runs": len(line.members),
            "items": int(part.chosen.sum()),
            "drawn": part.drawn,
            "end": smoothing_weights(np.log10(line.places))[-1] @ accuracies,
            **_below(line, part),
        }


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
    every = list(items)
    if without := [run.label for run, half_points in every if half_points is None]:
        yield (
            "Shapes are not tested without the scores of each pair, with what the linking function reads; there are "
            f"none of {format_names(without, most=6)}."
        )
    lines = gather((run.line, half_points) for run, half_points in every if half_points is not None)
    for line, members in lines.items():
        if not have_same_pairs(members):
            yield f"{line}: its runs were scored on different pairs, so its shapes are not tested."
            continue
        # The mean at a checkpoint that some runs lack would be over other runs than elsewhere.
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
