"""The table that scoring shows: which columns it has, and the rows of text that stand for one score."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ucurve.eval.metrics.accuracy import TiesRule

_NOTHING = "-"
_LONGEST_NAME = 24  # characters of a model or a benchmark; longer ones are cut
_UNITS = ("", "K", "M", "B", "T")
Column = tuple[str, TiesRule]  # a linking function and what a tie counts


@dataclass(frozen=True)
class Value:
    """The accuracy of one score under a linking function and a rule for ties, in percent with its 95 % interval."""

    accuracy: float
    low: float  # NaN, as ``high``, where there are too few different pairs for an interval
    high: float
    pairs: int
    winner: Literal["shorter", "longer"] | None  # the member that wins where length alone decides; else None


@dataclass(frozen=True)
class Score:
    """What is shown of one model on one benchmark by one scorer."""

    place: str  # the step of a run's checkpoint, the name of a revision or of a model
    step: int
    tokens: int | None
    bits: float | None  # held-out bits per byte
    benchmark: str
    scorer: str
    values: Mapping[Column, Value]
    # under the first linking function that is shown:
    phenomena: Mapping[str, float] = field(default_factory=dict)  # percent; without those that length alone decides
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
class Line:
    """A line of the table: one score, and those of its linking functions that stand on the line."""

    score: Score
    columns: tuple[Column, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Layout:
    """Which columns a table has, and what stands above it."""

    of: str  # the run or the model
    title: str  # what the numbers are
    place: str  # what the rows are: ``step``, ``revision`` or ``model``
    columns: Mapping[tuple[str, str], tuple[Column, ...]]  # by ``Score.kind``
    places: int  # characters of the longest place
    with_tokens: bool
    with_bits: bool
    width: int  # characters of a line, at most

    @cached_property
    def wide(self) -> bool:
        """Whether all linking functions of a score stand on one line."""
        return len(self.columns) == 1 and _width(self._wide_fields(bar=False)) <= self.width

    @cached_property
    def fields(self) -> list[Field]:
        """The columns, as many as fit on a line; bars go first."""
        make = self._wide_fields if self.wide else self._long_fields
        return fields if _width(fields := make(bar=True)) <= self.width else make(bar=False)

    def name(self, kind: tuple[str, str], column: Column) -> str:
        """Name a curve of the table: the run or the model, and what tells it from the other curves."""
        several = len({column for columns in self.columns.values() for column in columns}) > 1
        parts = [part for part, there in zip(kind, self._names, strict=True) if there]
        return ", ".join([self.of, *parts, *([self.label(column)] if several else [])])

    def label(self, column: Column) -> str:
        """Name a linking function, with the rule for ties where there are several."""
        rules = {rule for columns in self.columns.values() for _, rule in columns}
        return f"{column[0]}, ties {column[1]}" if len(rules) > 1 and self._rules_differ else column[0]

    @property
    def _rules_differ(self) -> bool:
        return any(len({rule for _, rule in columns}) > 1 for columns in self.columns.values())

    @property
    def _names(self) -> tuple[bool, bool]:
        """Whether there are several benchmarks, and several scorers of one benchmark."""
        benchmarks = [benchmark for benchmark, _ in self.columns]
        return len(set(benchmarks)) > 1, len(set(benchmarks)) < len(benchmarks)

    def _first_fields(self) -> list[Field]:
        fields = [Field(self.place, min(max(len(self.place), self.places, 6), _LONGEST_NAME), self.place != "step")]
        fields += [Field("tokens", 7)] if self.with_tokens else []
        return fields + ([Field("bits/byte", 9)] if self.with_bits else [])

    def _wide_fields(self, bar: bool) -> list[Field]:
        labels = [self.label(column) for columns in self.columns.values() for column in columns]
        return self._first_fields() + [field for label in labels for field in self._accuracy_fields(label, bar)]

    def _long_fields(self, bar: bool) -> list[Field]:
        labels = {self.label(column) for columns in self.columns.values() for column in columns}
        texts = [{one for one, _ in self.columns}, {two for _, two in self.columns}, labels]
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

    def lines(self, score: Score, before: Score | None) -> list[Line]:
        """Return the lines of a score; changes are against the score ``before``."""
        columns = self.columns.get(score.kind, ())
        parts = [columns] if self.wide else [(column,) for column in columns]
        return [Line(score, part, tuple(self._cells(score, before, part))) for part in parts]

    def _cells(self, score: Score, before: Score | None, columns: Sequence[Column]) -> list[Cell]:
        fields = self.fields
        texts = [_shorten(score.place)]
        texts += [_NOTHING if score.tokens is None else short_count(score.tokens)] if self.with_tokens else []
        texts += [_NOTHING if score.bits is None else f"{score.bits:.3f}"] if self.with_bits else []
        named = {"benchmark": score.benchmark, "scorer": score.scorer, "linking": self.label(columns[0])}
        texts += [] if self.wide else [_shorten(named[field.name]) for field in fields if field.name in named]
        cells = [Cell(text) for text in texts]
        for column in columns:
            value = score.values.get(column)
            old = None if before is None else before.values.get(column)
            cells += self._value_cells(value, old)
        return cells

    def _value_cells(self, value: Value | None, old: Value | None) -> list[Cell]:
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
