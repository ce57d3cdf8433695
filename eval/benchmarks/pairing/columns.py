"""The column map of a card: from a published record to the columns of a pair.

A column of the pair table is one of these, as the card says it:

- the name of a published column: ``UID``
- a pattern: ``{prefix} {target}``
- a mapping: ``{of: COLUMN, map: {GLOB: VALUE}}``, ``{first_of: [A, B]}`` or ``{text: CONSTANT}``

Besides the published columns there are ``file`` and ``folder`` (the names that hold the record), the groups of
``file_names``, ``language`` and ``code``, and the columns that the card has named above.
"""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from functools import cache
from typing import Annotated, NamedTuple

from pydantic import Discriminator, Tag, model_validator
from pydantic.dataclasses import dataclass

from ucurve.errors import UserError
from ucurve.eval.benchmarks.files.tables import Record, written
from ucurve.eval.pairs import COUNTED, SET, UNNAMED, lacks, mark_published, named, parse_region
from ucurve.fields import STRICT

Shape = Callable[[Record, Mapping[str, object], str], list[Record]]
GOOD, BAD = "sentence_good", "sentence_bad"
CONTEXTS = ("condition", "condition_good", "condition_bad")
MARKS = (COUNTED, SET)
TAGS = ("a name", "a list", "a mapping")  # pydantic puts them into the places of its errors
_NAME = re.compile(r"\{([^{}]+)\}")
_SENTENCES = ("good", "bad")
_KINDS = ("paradigm", "phenomenon")
_OURS = {*_SENTENCES, *CONTEXTS, *MARKS}
_REGIONS = {"region_good", "region_bad"}


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Derived:
    """A column that is made of others."""

    of: str | None = None  # the column, or the pattern, that `map` is about
    # Patterns as in file names, and what the value becomes that the first of them matches; others stay.
    map: dict[str, str] = field(default_factory=dict)
    first_of: tuple[str, ...] = ()  # columns of which the first that exists and is not empty is taken
    text: str | None = None  # the same text for all pairs

    @model_validator(mode="after")
    def _one_source(self) -> "Derived":
        if [self.of is not None, bool(self.first_of), self.text is not None].count(True) != 1:
            raise ValueError("give exactly one of of, first_of and text")
        if self.map and self.of is None:
            raise ValueError("map goes with of")
        return self


def _tag(value: object) -> str:
    if isinstance(value, (Mapping, Derived)):
        return TAGS[2]
    return TAGS[1] if isinstance(value, (list, tuple)) else TAGS[0]


Column = Annotated[
    Annotated[str, Tag(TAGS[0])] | Annotated[tuple[str, ...], Tag(TAGS[1])] | Annotated[Derived, Tag(TAGS[2])],
    Discriminator(_tag),
]
Columns = dict[str, Column]


def used_columns(columns: Columns) -> dict[str, str]:
    """Return the published columns that a map names itself, and the column of the pair that each is for."""
    used: dict[str, str] = {}
    for ours, source in columns.items():
        for name in _names(source):
            if name not in columns or name == ours:
                used.setdefault(name, ours)
    return used


def may_be_missing(source: Column) -> bool:
    """Tell whether a column of the pair is made even where a column that it names is not there."""
    return isinstance(source, Derived) and bool(source.first_of)


def text_columns(columns: Columns) -> set[str]:
    """Return the published columns that stay text although they may look like numbers."""
    texts = {
        name: source for name, source in columns.items() if name in (*_SENTENCES, *_KINDS, *CONTEXTS, *_REGIONS)
    }
    return {GOOD, BAD, *_KINDS, *used_columns(texts)}


def _names(source: Column) -> Sequence[str]:
    """Return the columns that a column is made of."""
    if isinstance(source, Derived):
        return source.first_of or (_names(source.of) if source.of is not None else ())
    if isinstance(source, tuple):
        return [name for one in source for name in _names(one)]
    return _NAME.findall(source) if "{" in source else (source,)


def make_shape(columns: Columns, omit: Sequence[str] = ()) -> Shape:
    """Make what turns a record, with what else is known of it and its place, into the records of its pairs.

    A published column that has the name of one of ours and another meaning becomes ``published_<name>``; those that
    match a pattern of ``omit`` are left out.
    """
    good, bad = columns.get("good", GOOD), columns.get("bad", BAD)
    candidates = bad if isinstance(bad, tuple) else (bad,)
    consumed = {name for name in (good, *candidates) if isinstance(name, str)}
    extra = {name: source for name, source in columns.items() if name not in (*_SENTENCES, *_KINDS)}
    others = _OURS - extra.keys()  # published columns of these names are not what they mean to scoring
    paradigm_of, phenomenon_of = (_published_text(columns.get(name, name), extra) for name in _KINDS)
    good_of, *bad_of = (_published_text(source, extra) for source in (good, *candidates))

    @cache  # of as many names as the files have columns
    def leaves(name: str) -> bool:
        return name in consumed or any(fnmatchcase(name, pattern) for pattern in omit)

    def shape(record: Record, about: Mapping[str, object], place: str) -> list[Record]:
        made: Record = {}
        row = _Row(record, {**about, **record}, place)
        for name, source in extra.items():
            made[name] = row.known[name] = _value(source, row)
        paradigm = paradigm_of(row) or _kind("paradigm", columns, row, str(about["file"]))
        phenomenon = phenomenon_of(row) or _kind("phenomenon", columns, row, UNNAMED)
        kept = mark_published({name: value for name, value in record.items() if not leaves(name)}, others)
        rest = named(kept | made if made else kept, paradigm, phenomenon)
        rest["good"] = good_of(row) or _sentence(good, row)
        bads = [
            read(row) or _sentence(candidate, row) for candidate, read in zip(candidates, bad_of, strict=True)
        ]
        pairs = [rest | {"bad": each} for each in bads[1:]]
        rest["bad"] = bads[0]
        pairs.insert(0, rest)
        if made or not _REGIONS.isdisjoint(rest):
            for pair in pairs:
                _check(pair, made, place)
        return pairs

    return shape


class _Row(NamedTuple):
    """The published columns of a row, and all that is known of it."""

    published: Record
    known: Record  # the columns made so far, before published ones of their names, and these before what else is known
    place: str


def _published_text(source: Column, made: Container[str]) -> Callable[[_Row], str]:
    """Return a fast reader for a column used as it is; it returns "" where the slow path is needed."""
    if not isinstance(source, str) or source in made:
        return lambda _: ""

    def read(row: _Row) -> str:
        value = row.published.get(source)
        return value if isinstance(value, str) and not value.isspace() else ""

    return read


def _kind(name: str, columns: Columns, row: _Row, default: str) -> str:
    """Return the paradigm or phenomenon of a row: by the map, else a column of that name, else the default."""
    source = columns.get(name)
    if source is None:
        return _text(name, row) if name in row.known else default
    if may_be_missing(source):
        value = _value(source, row)
        return default if value is None else written(value)
    return _text(source, row)


def _text(source: Column, row: _Row) -> str:
    """Return the value of a column, which must be text."""
    value = _value(source, row)
    if isinstance(value, str):
        return value
    name = source if isinstance(source, str) and "{" not in source else "the value"
    raise UserError(f"{row.place}: {name!r} must be text, not {value!r}")


def _sentence(source: Column, row: _Row) -> str:
    sentence = _text(source, row)
    if not sentence.strip():
        raise UserError(f"{row.place}: {source!r} is empty")
    return sentence


def _value(source: Column, row: _Row) -> object:
    """Return the value that a column has in a row, as the card says how it is made."""
    if isinstance(source, str):
        if "{" in source:
            return _NAME.sub(lambda found: written(_look_up(found.group(1), row)), source)
        return _look_up(source, row)
    assert isinstance(source, Derived)
    if source.text is not None:
        return source.text
    if source.first_of:
        return next((found for name in source.first_of if (found := row.known.get(name)) not in (None, "")), None)
    assert source.of is not None
    value = _value(source.of, row)
    text = written(value)
    return next((new for pattern, new in source.map.items() if fnmatchcase(text, pattern)), value)


def _look_up(name: str, row: _Row) -> object:
    if name not in row.known:
        raise lacks(row.place, name, row.published)
    return row.known[name]


def _check(pair: Record, made: Record, place: str) -> None:
    """Check that sentences go on from their conditions, and write their regions as characters from and to."""
    for member in _SENTENCES:
        for name in ("condition", f"condition_{member}"):
            if name not in made:
                continue
            text, begin = str(pair[member]), made[name]
            if not isinstance(begin, str) or not text.startswith(begin) or not text[len(begin) :].strip():
                sentence = f"the {member} sentence {text!r}"
                raise UserError(f"{place}: {sentence} must start with its {name} {begin!r} and go on")
        region = f"region_{member}"
        if region in pair:
            pair[region] = find_region(str(pair[member]), pair[region], place)


def find_region(text: str, region: object, place: str) -> str:
    """Return a region as ``FROM:TO``, given so or as a text that the sentence holds exactly once."""
    if isinstance(region, str) and not re.fullmatch(r"\d+:\d+", region) and region.strip():
        times, first = text.count(region), text.find(region)
        if times == 1:
            return f"{first}:{first + len(region)}"
        if times > 1:
            raise UserError(
                f"{place}: the region {region!r} occurs {times} times in {text!r}; give FROM:TO instead"
            )
    parse_region(text, region, place)
    return str(region)
