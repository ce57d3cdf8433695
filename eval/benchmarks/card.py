"""The card of a benchmark, a YAML file: what is known of it, where its files are and how they are read."""

import re
from collections.abc import Sequence
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, field_validator, model_validator
from pydantic.dataclasses import dataclass

from ucurve.eval.benchmarks.expressions import Expression
from ucurve.eval.benchmarks.files.source_file import Patterns, matching_files, refuse_outside
from ucurve.eval.benchmarks.files.tables import Quotes
from ucurve.eval.benchmarks.pairing.columns import BAD, GOOD, Columns
from ucurve.eval.benchmarks.pairing.layouts import Either, SentenceRows
from ucurve.eval.benchmarks.ratings.section import Ratings
from ucurve.eval.benchmarks.rows import find_rows
from ucurve.eval.linking import parse_linking
from ucurve.eval.pairs import split_name
from ucurve.fields import STRICT, Texts, named
from ucurve.yaml_files import read_yaml

CARD_FILE = "card.yaml"
DEMO = "demo"  # its pairs are made by the program where no files are given
CARD_SUFFIXES = (".yaml", ".yml")
_LANGUAGE = re.compile(r"[a-z]{3}")
Line = dict[str, Texts]


def check_name(name: str) -> str:
    """Return a name that a benchmark can have; a ``ValueError`` for any other."""
    if name.endswith(".csv"):
        raise ValueError(f"{name!r} is kept for tables, which lie beside the folders of benchmarks")
    if not re.fullmatch(r"[\w-][\w.-]*", name):
        raise ValueError(f"{name!r} is not a name: letters, digits, '_', '-' and '.' are allowed")
    return name


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Hub:
    """A data set of the hub."""

    name: str  # `owner/name`
    revision: str | None = None  # branch, tag or commit; the newest where None
    split: str = "train"  # the split of the pairs; may name `{language}` and `{code}` of a family
    parts: Texts = ()  # configurations that are read; all where empty


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Expected:
    """The numbers of a published benchmark, which are checked on loading; None where one is not fixed or not known."""

    pairs: int | None = None
    paradigms: int | None = None
    phenomena: int | None = None
    counted: int | None = None  # pairs that count, where some do not


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Language(Expected):
    """What a family says of one of its languages."""

    # Replaces `{code}` in the card and names of files.
    code: Annotated[str, AfterValidator(check_name)] | None = None


def _read_languages(given: object) -> object:
    """Give the languages of a list nothing of their own; what is no list of texts is for the check of the type."""
    if isinstance(given, list | tuple) and all(isinstance(one, str) for one in given):
        return {one: {} for one in given}
    return given


def _check_delimiter(delimiter: str) -> str:
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise ValueError(f"{delimiter!r}: one character is expected, such as ';', and no quotation mark")
    return delimiter


def _check_rows(name: str) -> str:
    find_rows(name)
    return name


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Card:
    """What a card says of a benchmark."""

    name: str  # in configurations and run folders; `family/iso` where there is one for each language
    language: str | None = None  # ISO 639-3 code; None for a family
    # Of a family, its languages by their codes, and what differs between them.
    languages: Annotated[
        dict[str, Language],
        BeforeValidator(_read_languages),
    ] = field(default_factory=dict)
    hub: Annotated[
        Hub | None, BeforeValidator(lambda given: {"name": given} if isinstance(given, str) else given)
    ] = None  # where it is on the hub, if it is
    folder: str | None = None  # under `benchmark_root`; None for the name of the family
    # Patterns of files below that folder, or below the folder of a card of the user's own. The first that matches
    # counts; a folder stands for the files of known forms in it, without hidden ones.
    files: Patterns = ()
    file_names: Expression | None = None  # for names of files, whose groups are columns for the map
    # Between the fields of a table; None finds it by the header.
    delimiter: Annotated[str, AfterValidator(_check_delimiter)] | None = None
    quotes: Quotes | None = None  # whether quotation marks around fields are CSV's; None decides by the table
    header: Texts = ()  # columns of tables that are published without a header
    # Matches a field of a row of data, so that a first row without a match is a header.
    header_unless: Expression | None = None
    # `MODULE:FUNCTION` of this package, for files that no other key describes.
    rows: Annotated[str, AfterValidator(_check_rows)] | None = None
    sentences: SentenceRows | None = None  # how a row for each sentence becomes pairs
    either: Either | None = None  # how two sentences and a label become a pair
    each: tuple[Columns, ...] = ()  # column maps, one for each pair that a row holds
    columns: Columns = field(default_factory=dict)  # the column map (`pairing/columns.py`)
    omit: Texts = ()  # patterns of published columns that are left out
    not_counted: tuple[Line, ...] = ()  # columns and patterns; a pair that fits a line counts in no aggregate
    form: str = ""  # how the files are written, in words
    scorer: str = "sentence"  # the default for causal models
    masked_scorer: str = "pll"  # the default for masked models
    # The linking function of the authors, as far as any model can be scored with it. With the next two keys it decides
    # what is printed and drawn first (`ucurve.eval.store.reported`).
    linking: Annotated[str, named(parse_linking)] | None = None
    ties_rule: Literal["half", "wrong", "right"] | None = None  # what a tie counts for the authors
    aggregate: Literal["all", "macro", "macro_phenomena"] | None = None  # the overall number of the authors
    expected: Expected = Expected()
    ratings: Ratings | None = None  # judgments of people
    citation: str = ""
    license: str = "not stated"  # what the source says about use
    protocol: str = ""  # how the authors scored
    quirks: Texts = ()  # faults of the files and what is done about them
    maker: str | None = None  # the folder of `generation` whose checks its pairs should pass
    # Of a benchmark that generate.py made: source, settings, seed, phenomena, hashes of the input, versions.
    made: dict[str, object] = field(default_factory=dict)

    @field_validator("name")
    @classmethod
    def _a_name(cls, name: str) -> str:
        return check_name(name)

    @field_validator("columns")
    @classmethod
    def _two_sentences(cls, columns: Columns) -> Columns:
        if columns.get("good", GOOD) == columns.get("bad", BAD):
            raise ValueError(f"good and bad are both {columns.get('good', GOOD)!r}")
        return columns

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.language is None) == (not self.languages):
            raise ValueError("give exactly one of language and languages")
        for language in (self.language, *self.languages):
            if language is not None and not _LANGUAGE.fullmatch(language):
                raise ValueError(f"language: {language!r} is not a code of ISO 639-3, such as eng")
        if self.sentences is not None and self.either is not None:
            raise ValueError("give at most one of sentences and either")
        return self


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Benchmark(Card):
    """A benchmark, or a family of them, by its card."""

    files: Texts = ()  # patterns, as in a card, or the absolute path that the user gave (`custom.py`)
    place: Path | None = None  # the card's file, if it is the user's own
    where: str = "columns"  # how messages name its column map
    code: str | None = None  # replaces `{code}`

    @field_validator("name")
    @classmethod
    def _a_name(cls, name: str) -> str:
        check_name(name.partition("/")[0])  # a member of a family has its language behind the name
        return name

    @property
    def family(self) -> str:
        """The name without the language: that of the folder under ``benchmark_root``."""
        return split_name(self.name)[0]

    @property
    def made_by(self) -> str | None:
        """The folder of ``generation`` that made its pairs, or whose checks they should pass."""
        return self.maker or str(self.made.get("source", "")) or None

    @property
    def members(self) -> dict[str, "Benchmark"]:
        """Its languages as benchmarks of their own, by name; itself if it is not a family."""
        if not self.languages:
            return {self.name: self}
        return {f"{self.name}/{language}": self._member(language) for language in sorted(self.languages)}

    def _member(self, language: str) -> "Benchmark":
        """Return the benchmark of one language: the family's card with what is said of the language."""
        own = self.languages[language]
        known = {entry.name: getattr(own, entry.name) for entry in fields(Expected)}
        code = own.code or language

        def fill(patterns: Sequence[str]) -> tuple[str, ...]:  # other braces stay
            return tuple(pattern.replace("{language}", language).replace("{code}", code) for pattern in patterns)

        return replace(
            self,
            name=f"{self.name}/{language}",
            language=language,
            languages={},
            code=code,
            files=fill(self.files),
            ratings=self.ratings and replace(self.ratings, files=fill(self.ratings.files)),
            hub=self.hub and replace(self.hub, parts=fill(self.hub.parts), split=fill([self.hub.split])[0]),
            expected=replace(
                self.expected, **{name: value for name, value in known.items() if value is not None}
            ),
        )

    def home(self, root: Path | None) -> Path | None:
        """Return the folder of its files, beside a user's own card or under ``benchmark_root``; None on the hub."""
        if self.place is not None:
            return self.place.parent if self.files else None
        return None if root is None else root / (self.folder or self.family)

    def matching(self, root: Path | None) -> list[Path]:
        """Return its files in the order of their paths; an empty list if it has none or they are on the hub."""
        folder = self.home(root)
        if folder is None:
            return []
        for pattern in self.files:
            files = matching_files(folder, pattern)
            if files and self.place is not None and not Path(pattern).is_absolute():
                refuse_outside(files, [folder] if root is None else [folder, root], self.place)
            if files:
                return files
        return []


def read_card(file: Path, own: bool = True) -> Benchmark:
    """Read a card; ``own`` says that it is the user's, whose files lie beside it."""
    card = read_yaml(file, Card)
    values = {entry.name: getattr(card, entry.name) for entry in fields(Card)}
    if own and not card.files and card.hub is None:
        values["files"] = (".",)
    return Benchmark(**values, place=file if own else None, where=f"{file}: columns")


CARD_KEYS = tuple(entry.name for entry in fields(Card))
