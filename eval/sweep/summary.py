"""What is said below the table of scores: the best and the last, where length decides, what stays and what falls."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from ucurve.eval.metrics.sampling import FEWEST_CLUSTERS
from ucurve.eval.sweep.table import Layout, Score, Value

_LEAST_FALL = 20  # points of a phenomenon's accuracy that are told
_LEAST_EQUAL = 3  # checkpoints with the same accuracies that are told
_LEARNED = 90  # percent, from which equal accuracies need no explanation
_NO_INTERVAL = (
    f"no 95 % CI: its pairs have fewer than {FEWEST_CLUSTERS} different edits, too few to tell how sure the accuracy is"
)
_Curve = Sequence[tuple[Score, Value]]


class _Fall(NamedTuple):
    """A phenomenon whose accuracy fell, with the scores between which it did."""

    name: str
    best: Score
    lowest: Score

    @property
    def points(self) -> float:
        """By how many points it fell from its best score to its lowest one."""
        return self.best.phenomena[self.name] - self.lowest.phenomena[self.name]


def summarise(layout: Layout, scores: Sequence[Score]) -> list[str]:
    """Say of every curve what stands out, in a line each; what paradigms and phenomena do only of the first column."""
    lines = []
    for kind, columns in layout.columns.items():
        of_kind = sorted((score for score in scores if score.kind == kind), key=lambda score: score.step)
        for column in columns:
            there = [(score, value) for score in of_kind if (value := score.values.get(column)) is not None]
            told = [_describe_best(layout, there)] if len(there) > 1 else []
            told += _describe_length(layout, there)
            told += [_NO_INTERVAL] if any(math.isnan(value.low) for _, value in there) else []
            if column == columns[0] and layout.place != "model":
                told += [*_describe_equal(layout, there), *_describe_falls(layout, of_kind)]
            lines += [f"{layout.name(kind, column)}: {line}" for line in told]
    return lines


def _describe_best(layout: Layout, curve: _Curve) -> str:
    best, value = max(curve, key=lambda entry: entry[1].accuracy)
    last, of_last = curve[-1]
    text = f"best {value.accuracy:.1f} % at {layout.place} {best.place}"
    if best is not last and of_last.accuracy == value.accuracy:
        return f"{text} and at the last, {last.place}"
    return text + (", the last" if best is last else f", last {of_last.accuracy:.1f} % at {layout.place} {last.place}")


def _describe_length(layout: Layout, curve: _Curve) -> list[str]:
    lines = []
    for winner in ("shorter", "longer"):
        flags = [(score.place, value.winner == winner) for score, value in curve]
        runs = [[place for place, _ in run] for decides, run in groupby(flags, lambda flag: flag[1]) if decides]
        if runs:
            reason = ", as when nothing is learned" if winner == "shorter" else ""
            places = _name_places(layout, runs) if len(curve) > 1 else ""
            lines.append(f"length decides{places}: the {winner} sentence wins{reason}")
    return lines


def _describe_equal(layout: Layout, curve: _Curve) -> list[str]:
    """Say where the accuracies of all paradigms stay the same, although length alone does not decide."""
    unlearned = [
        (score.place, score.digest if value.winner is None and value.accuracy < _LEARNED else "")
        for score, value in curve
    ]
    runs = [(digest, [place for place, _ in run]) for digest, run in groupby(unlearned, lambda entry: entry[1])]
    told = [places for digest, places in runs if digest and len(places) >= _LEAST_EQUAL]
    reason = "as when a model always prefers one word or one length"
    return [f"no paradigm changes{_name_places(layout, told)}, {reason}"] if told else []


def _name_places(layout: Layout, runs: Sequence[Sequence[str]]) -> str:
    if layout.place != "step":
        return f" for {', '.join(place for run in runs for place in run)}"
    several = "s" if len(runs) > 1 or len(runs[0]) > 1 else ""
    return f" at step{several} {', '.join(run[0] if len(run) == 1 else f'{run[0]}-{run[-1]}' for run in runs)}"


def _describe_falls(layout: Layout, scores: Sequence[Score]) -> list[str]:
    """Say which phenomenon fell most below its own best, which the accuracy of all of them may hide."""
    names = list(dict.fromkeys(name for score in scores for name in score.phenomena))
    falls = [fall for name in names if (fall := _find_fall(name, scores)) is not None]
    if len(names) < 2 or not falls:
        return []
    name, best, lowest = fall = max(falls, key=lambda fall: fall.points)
    high, low = best.phenomena[name], lowest.phenomena[name]
    places = f"{layout.place} {best.place} to {lowest.place}"
    text = f"{name.replace('_', ' ')} fell from {high:.0f} to {low:.0f} % ({places})"
    last = [score for score in scores if name in score.phenomena][-1]
    text += "" if last is lowest else f", the last has {last.phenomena[name]:.0f} %"
    return [text + (f"; {len(falls) - 1} more fell" if len(falls) > 1 else "")]


def _find_fall(name: str, scores: Sequence[Score]) -> _Fall | None:
    """Find the deepest fall of a phenomenon after step 0, before which a model has nothing that it could lose."""
    best, found = None, None
    for score in scores:
        if score.step == 0 or name not in score.phenomena:
            continue
        if best is None or score.phenomena[name] > best.phenomena[name]:
            best = score
        fall = _Fall(name, best, score)
        if fall.points >= _LEAST_FALL and (found is None or fall.points > found.points):
            found = fall
    return found
