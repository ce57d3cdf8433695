"""From rows that are not one pair each to rows that are: a row for each sentence, two sentences and a label."""

import itertools
from collections.abc import Iterator

from pydantic.dataclasses import dataclass

from ucurve.errors import UserError
from ucurve.eval.benchmarks.expressions import Expression, search
from ucurve.eval.benchmarks.files.readers import Row
from ucurve.eval.benchmarks.files.tables import Record, written
from ucurve.eval.benchmarks.pairing.columns import BAD, GOOD
from ucurve.fields import STRICT, Texts


@dataclass(frozen=True, config=STRICT, kw_only=True)
class LastMatching:
    """The last field of a row that a regular expression matches."""

    last_matching: Expression


@dataclass(frozen=True, config=STRICT, kw_only=True)
class SentenceRows:
    """A row for each sentence."""

    sentence: str | LastMatching  # the column of the sentence
    grammatical: str | None = None  # the column that says whether it is; without it the first of two rows is
    good: Texts = ("1",)  # values for a grammatical sentence
    bad: Texts = ("0",)  # values for an ungrammatical one
    # A column that the sentences of one pair share; without it they follow each other, the good one first.
    item: str | None = None
    differ: str | None = None  # a column in which they must differ, if it exists


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Either:
    """Two sentences and a label that says which one is grammatical."""

    a: str
    b: str
    label: str  # the column of the label
    a_good: Texts = ("0",)  # values of the label
    b_good: Texts = ("1",)


def pair_sentences(rows: list[Row], layout: SentenceRows) -> list[Row]:
    """Make pairs of rows for each sentence; an item with several ungrammatical ones gives a set of pairs, one for each.

    A column in which the members differ becomes ``<name>_good`` and ``<name>_bad``.
    """
    # File by file, since the sentences of a pair that follow each other are of one file.
    files = itertools.groupby(rows, lambda row: row.place.rpartition(":")[0])
    groups = (group for _, of_file in files for group in _groups(list(of_file), layout))
    return [pair for number, group in enumerate(groups) for pair in _pairs(group, layout, str(number))]


def _groups(rows: list[Row], layout: SentenceRows) -> Iterator[list[tuple[Row, bool]]]:
    """Yield the sentences of each item of a file, with whether each is grammatical."""
    if layout.item is not None:
        by_item: dict[str, list[tuple[Row, bool]]] = {}
        for row in rows:
            item = written(row.value(layout.item))
            by_item.setdefault(item, []).append((row, _is_good(row, layout)))
        yield from by_item.values()
    elif layout.grammatical is None:
        for first in range(0, len(rows), 2):
            yield [(row, place == 0) for place, row in enumerate(rows[first : first + 2])]
    else:
        group: list[tuple[Row, bool]] = []
        for row in rows:
            good = _is_good(row, layout)
            if group and good:
                yield group
                group = []
            group.append((row, good))
        yield from [group] if group else []


def _is_good(row: Row, layout: SentenceRows) -> bool:
    assert layout.grammatical is not None
    return _label(row, layout.grammatical, (*layout.good, *layout.bad)) in layout.good


def _label(row: Row, column: str, allowed: tuple[str, ...]) -> str:
    label = written(row.value(column))
    if label not in allowed:
        raise UserError(f"{row.place}: {column!r} is {label!r}; allowed: {', '.join(map(repr, allowed))}")
    return label


def _pairs(group: list[tuple[Row, bool]], layout: SentenceRows, name: str) -> Iterator[Row]:
    """Yield the pairs of an item: its grammatical sentence with each of the others, which are one set if several."""
    good = [row for row, is_good in group if is_good]
    bad = [row for row, is_good in group if not is_good]
    if len(good) > 1 and bad:
        raise UserError(f"{good[1].place}: a second grammatical sentence in one item; one is expected")
    if not good or not bad:
        pair = "a grammatical one and an ungrammatical one make a pair"
        raise UserError(f"{group[0][0].place}: a sentence without its partner; {pair}")
    of = name if len(bad) > 1 and layout.item is not None else ""
    for row in bad:
        yield good[0]._replace(record=_joined(good[0], row, layout), set=of)


def _joined(good: Row, bad: Row, layout: SentenceRows) -> Record:
    """Join the rows of two sentences; a column that is the same in both stays as it is."""
    names = [_sentence_column(row, layout.sentence) for row in (good, bad)]
    label = good.record.get(layout.differ) if layout.differ is not None else None
    if label is not None and bad.record.get(str(layout.differ)) == label:
        raise UserError(f"{good.place}: both rows of the pair have {layout.differ!r} {written(label)!r}")
    for row, name in zip((good, bad), names, strict=True):
        if not written(row.record[name]).strip():
            raise UserError(f"{row.place}: the sentence is empty")
    record: Record = {GOOD: good.record[names[0]], BAD: bad.record[names[1]]}
    for name in dict.fromkeys((*good.record, *bad.record)):
        ours, theirs = good.record.get(name), bad.record.get(name)
        if name in names:
            continue
        record |= {name: ours} if ours == theirs else {f"{name}_good": ours, f"{name}_bad": theirs}
    return record


def _sentence_column(row: Row, sentence: str | LastMatching) -> str:
    """Return the column of a row's sentence: the one that is named, or the last whose field the expression matches."""
    if isinstance(sentence, str):
        row.value(sentence)  # which says if it is not there
        return sentence
    fields = row.record.items()
    found = [name for name, value in fields if search(sentence.last_matching, written(value), row.place)]
    if not found:
        held = ", ".join(repr(value) for value in row.record.values())
        raise UserError(
            f"{row.place}: no field that {sentence.last_matching!r} matches is the sentence; the fields are {held}"
        )
    return found[-1]


def pair_either(rows: list[Row], layout: Either) -> list[Row]:
    """Make pairs of two sentences and a label."""
    pairs = []
    for row in rows:
        label = _label(row, layout.label, (*layout.a_good, *layout.b_good))
        a, b = row.value(layout.a), row.value(layout.b)
        good, bad = (a, b) if label in layout.a_good else (b, a)
        rest = {name: value for name, value in row.record.items() if name not in (layout.a, layout.b)}
        pairs.append(row._replace(record={GOOD: good, BAD: bad} | rest))
    return pairs
