"""The table that scoring shows: which columns it has, the texts that stand for one score, and what is said below it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Literal, NamedTuple

from ucurve.eval.metrics.accuracy import TiesRule
from ucurve.eval.metrics.sampling import FEWEST_CLUSTERS

_NOTHING = "-"
_LONGEST_NAME = 24  # characters of a model or a benchmark; longer ones are cut
_UNITS = ("", "K", "M", "B", "T")
_LEAST_FALL = 20  # points of a phenomenon's accuracy that are told
_LEAST_EQUAL = 3  # checkpoints with the same accuracies that are told
_LEARNED = 90  # percent, from which equal accuracies need no explanation
_NO_INTERVAL = (
    f"no 95 % CI: its pairs have fewer than {FEWEST_CLUSTERS} different edits,"
    " too few to tell how sure the accuracy is"
)
Measure = tuple[str, TiesRule]  # a linking function and what a tie counts


@dataclass(frozen=True)
class ShownAccuracy:
    """The accuracy of one score under a linking function and a rule for ties, in percent with its 95 % interval."""

    accuracy: float
    low: float  # NaN, as ``high``, where there are too few different pairs for an interval
    high: float
    pairs: int
    winner: Literal["shorter", "longer"] | None  # the member that wins where length alone decides; else None


@dataclass(frozen=True)
class ShownScore:
    """What is shown of one model on one benchmark by one scorer."""

    place: str  # the step of a run's checkpoint, the name of a revision or of a model
    step: int
    tokens: int | None
    bits: float | None  # held-out bits per byte
    benchmark: str
    scorer: str
    values: Mapping[Measure, ShownAccuracy]
    # under the first linking function that is shown:
    # Percent; without those that length alone decides.
    phenomena: Mapping[str, float] = field(default_factory=dict)
    digest: str = ""  # of the accuracies of all paradigms and lengths

    @property
    def kind(self) -> tuple[str, str]:
        """What tells apart the curves of a run."""
        return self.benchmark, self.scorer


@dataclass(frozen=True)
class Field:
    """A column of the table."""

    name: str
    width: int
    left: bool = False  # whether its texts begin at the left edge
    bar: bool = False


@dataclass(frozen=True)
class Cell:
    """A text, or the percentage that a bar stands for."""

    text: str
    percent: float | None = None


@dataclass(frozen=True)
class ShownLine:
    """A line of the table: one score, and those of its linking functions that stand on the line."""

    score: ShownScore
    measures: tuple[Measure, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Layout:
    """Which columns a table has, and what stands above it."""

    of: str  # the run or the model
    title: str  # what the numbers are
    place: str  # what the rows are: ``step``, ``revision`` or ``model``
    measures: Mapping[tuple[str, str], tuple[Measure, ...]]  # by ``ShownScore.kind``
    places: int  # characters of the longest place
    with_tokens: bool
    with_bits: bool
    width: int  # characters of a line, at most

    @cached_property
    def wide(self) -> bool:
        """Whether all linking functions of a score stand on one line."""
        return len(self.measures) == 1 and _width(self._wide_fields(bar=False)) <= self.width

    @cached_property
    def fields(self) -> list[Field]:
        """The columns, as many as fit on a line; bars go first."""
        make = self._wide_fields if self.wide else self._long_fields
        return fields if _width(fields := make(bar=True)) <= self.width else make(bar=False)

    def name(self, kind: tuple[str, str], measure: Measure) -> str:
        """Name a curve of the table: the run or the model, and what tells it from the other curves."""
        several = len({measure for measures in self.measures.values() for measure in measures}) > 1
        parts = [part for part, there in zip(kind, self._names, strict=True) if there]
        return ", ".join([self.of, *parts, *([self.label(measure)] if several else [])])

    def label(self, measure: Measure) -> str:
        """Name a linking function, with the rule for ties where there are several."""
        several = any(len({rule for _, rule in measures}) > 1 for measures in self.measures.values())
        return f"{measure[0]}, ties {measure[1]}" if several else measure[0]

    @property
    def _names(self) -> tuple[bool, bool]:
        """Whether there are several benchmarks, and several scorers of one benchmark."""
        benchmarks = [benchmark for benchmark, _ in self.measures]
        return len(set(benchmarks)) > 1, len(set(benchmarks)) < len(benchmarks)

    def _first_fields(self) -> list[Field]:
        fields = [
            Field(self.place, min(max(len(self.place), self.places, 6), _LONGEST_NAME), self.place != "step")
        ]
        fields += [Field("tokens", 7)] if self.with_tokens else []
        return fields + ([Field("bits/byte", 9)] if self.with_bits else [])

    def _wide_fields(self, bar: bool) -> list[Field]:
        labels = [self.label(measure) for measures in self.measures.values() for measure in measures]
        return self._first_fields() + [field for label in labels for field in self._accuracy_fields(label, bar)]

    def _long_fields(self, bar: bool) -> list[Field]:
        """Return the columns where each line is of one linking function; what all lines share has none."""
        labels = {self.label(measure) for measures in self.measures.values() for measure in measures}
        texts = [{one for one, _ in self.measures}, {two for _, two in self.measures}, labels]
        wanted = (*self._names, len(labels) > 1)
        names = ("benchmark", "scorer", "linking")
        fields = [
            Field(name, min(max(map(len, (name, *held))), _LONGEST_NAME), left=True)
            for name, held, there in zip(names, texts, wanted, strict=True)
            if there
        ]
        label = "accuracy" if len(labels) > 1 else next(iter(labels), "accuracy")
        return self._first_fields() + fields + self._accuracy_fields(label, bar)

    def _accuracy_fields(self, label: str, bar: bool) -> list[Field]:
        fields = [Field(label, max(5, len(label))), Field("95 % CI", 10)]
        fields += [Field("change", 6)] if self._has_changes else []
        return fields + ([Field("0...50..100", 11, left=True, bar=True)] if bar else [])

    @property
    def _has_changes(self) -> bool:
        """Whether the rows are of one model at several times."""
        return self.place != "model"

    def lines(self, score: ShownScore, before: ShownScore | None) -> list[ShownLine]:
        """Return the lines of a score; changes are against the score ``before``."""
        measures = self.measures.get(score.kind, ())
        parts = [measures] if self.wide else [(measure,) for measure in measures]
        return [ShownLine(score, part, tuple(self._cells(score, before, part))) for part in parts]

    def _cells(self, score: ShownScore, before: ShownScore | None, measures: Sequence[Measure]) -> list[Cell]:
        """Return the cells of a line, one for each of ``fields``."""
        fields = self.fields
        texts = [_shorten(score.place)]
        texts += [_NOTHING if score.tokens is None else short_count(score.tokens)] if self.with_tokens else []
        texts += [_NOTHING if score.bits is None else f"{score.bits:.3f}"] if self.with_bits else []
        named = {"benchmark": score.benchmark, "scorer": score.scorer, "linking": self.label(measures[0])}
        texts += [] if self.wide else [_shorten(named[field.name]) for field in fields if field.name in named]
        cells = [Cell(text) for text in texts]
        for measure in measures:
            value = score.values.get(measure)
            old = None if before is None else before.values.get(measure)
            cells += self._value_cells(value, old)
        return cells

    def _value_cells(self, value: ShownAccuracy | None, old: ShownAccuracy | None) -> list[Cell]:
        """Return the cells of one accuracy, with its change against an older one."""
        change = _NOTHING if value is None or old is None else f"{value.accuracy - old.accuracy:+.1f}"
        changes = [Cell(change)] if self._has_changes else []
        bars = any(field.bar for field in self.fields)
        if value is None:
            return [Cell(_NOTHING), Cell(_NOTHING), *changes, *[Cell(_NOTHING)] * bars]
        interval = _NOTHING if math.isnan(value.low) else f"{value.low:.1f}-{value.high:.1f}"
        cells = [Cell(f"{value.accuracy:.1f}"), Cell(interval), *changes]
        return [*cells, *[Cell("", value.accuracy)] * bars]


def _width(fields: Sequence[Field]) -> int:
    return sum(field.width for field in fields) + 2 * len(fields)


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else "..." + name[3 - _LONGEST_NAME :]


def short_count(count: int) -> str:
    """Write a count with three digits: 4096 as ``4.10K``, 300 billion as ``300B``."""
    scaled, unit = float(count), 0
    while scaled >= 999.5 and unit < len(_UNITS) - 1:
        scaled, unit = scaled / 1000, unit + 1
    return f"{scaled:#.3g}".rstrip(".") + _UNITS[unit] if unit else str(count)


class _Fall(NamedTuple):
    """A phenomenon whose accuracy fell, with the scores between which it did."""

    name: str
    best: ShownScore
    lowest: ShownScore

    @property
    def points(self) -> float:
        """By how many points it fell from its best score to its lowest one."""
        return self.best.phenomena[self.name] - self.lowest.phenomena[self.name]


def summarise(layout: Layout, scores: Sequence[ShownScore]) -> list[str]:
    """Say of every curve what stands out, in a line each; what paradigms and phenomena do only of the first measure."""
    lines = []
    for kind, measures in layout.measures.items():
        of_kind = sorted((score for score in scores if score.kind == kind), key=lambda score: score.step)
        for measure in measures:
            there = [(score, value) for score in of_kind if (value := score.values.get(measure)) is not None]
            told = [_describe_best(layout, there)] if len(there) > 1 else []
            told += _describe_length(layout, there)
            told += [_NO_INTERVAL] if any(math.isnan(value.low) for _, value in there) else []
            if measure == measures[0] and layout.place != "model":
                told += [*_describe_equal(layout, there), *_describe_falls(layout, of_kind)]
            lines += [f"{layout.name(kind, measure)}: {line}" for line in told]
    return lines


def _describe_best(layout: Layout, curve: Sequence[tuple[ShownScore, ShownAccuracy]]) -> str:
    """Say where a curve is highest, and how far below it ends."""
    best, value = max(curve, key=lambda entry: entry[1].accuracy)
    last, of_last = curve[-1]
    text = f"best {value.accuracy:.1f} % at {layout.place} {best.place}"
    if best is not last and of_last.accuracy == value.accuracy:
        return f"{text} and at the last, {last.place}"
    return text + (
        ", the last" if best is last else f", last {of_last.accuracy:.1f} % at {layout.place} {last.place}"
    )


def _describe_length(layout: Layout, curve: Sequence[tuple[ShownScore, ShownAccuracy]]) -> list[str]:
    """Say where length alone decides, and which member it lets win."""
    lines = []
    for winner in ("shorter", "longer"):
        flags = [(score.place, value.winner == winner) for score, value in curve]
        runs = [[place for place, _ in run] for decides, run in groupby(flags, lambda flag: flag[1]) if decides]
        if runs:
            reason = ", as when nothing is learned" if winner == "shorter" else ""
            places = _name_places(layout, runs) if len(curve) > 1 else ""
            lines.append(f"length decides{places}: the {winner} sentence wins{reason}")
    return lines


def _describe_equal(layout: Layout, curve: Sequence[tuple[ShownScore, ShownAccuracy]]) -> list[str]:
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


def _describe_falls(layout: Layout, scores: Sequence[ShownScore]) -> list[str]:
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


def _find_fall(name: str, scores: Sequence[ShownScore]) -> _Fall | None:
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
