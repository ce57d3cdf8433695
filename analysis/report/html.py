"""The report: sections of texts, tables and figures, and the one HTML file for screen, phone and paper they make."""

import base64
import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Literal, NamedTuple

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ucurve.analysis.charts.offline import vega_script
from ucurve.analysis.charts.parts import has_menus
from ucurve.analysis.plotting.figures import Drawing, render
from ucurve.analysis.plotting.style import ONE_COLUMN
from ucurve.analysis.report.questions import Question

Kind = Literal["text", "count", "percent", "number", "p"]
Tables = Mapping[str, pd.DataFrame]

MISSING = "–"  # in place of a value that is not there
_SMALLEST_P = 0.0001  # of a table, which shows four digits
MOST_COLUMNS = 8  # of a table; its CSV has all
# Of a section in the report of several lines: rows of a table that is shown whole, first rows of a longer one, tables.
_MOST_ROWS, _FIRST_ROWS, _MOST_TABLES = 8, 4, 2
_LONGEST_NAME = 48  # letters; longer ones break, or a table of them would be wider than a screen
# letters; of a longer note the first sentence is shown, the rest is folded
_SHORT_NOTE, _FIRST_SENTENCE = 220, 70
_ROWS_ALIKE = 4  # of so many rows, a column that is the same in all becomes a sentence
_SHORT = 22  # letters; longer texts break on a phone, which has to show a number beside them
_TEMPLATES = Environment(
    loader=PackageLoader("ucurve.analysis.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
# Letters that are written from right to left, and characters that turn the direction of what follows them.
_FROM_RIGHT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u202a-\u202e\u2066-\u2069]+")


def isolate(text: str) -> Markup:
    """Keep the direction of right-to-left letters to themselves, so that a number after a name stays as it is."""
    return Markup(_FROM_RIGHT.sub(r"<bdi>\g<0></bdi>", str(escape(text))))  # noqa: S704 - escaped


_TEMPLATES.filters["isolate"] = isolate
_TEMPLATES.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False, "sort_keys": False}


@dataclass(frozen=True)
class Column:
    """How a column of a table is shown."""

    name: str
    heading: str
    kind: Kind = "text"  # percent: of a fraction; number: four digits; p: of a test
    interval: tuple[str, ...] = ()  # the columns of its lower and upper end, which are shown behind the number

    def texts(self, table: pd.DataFrame) -> list[str]:
        """Return what its cells show: ``61.20``, or ``61.20 (58.90 to 63.40)`` where the interval is known."""
        names = (self.name, *self.interval)
        values, *ends = ([format_value(self.kind, value) for value in table[name]] for name in names)
        if not ends:
            return values
        cells = zip(values, *ends, strict=True)
        return [cell[0] if MISSING in cell else "{} ({} to {})".format(*cell) for cell in cells]


# Columns that mean the same wherever they are shown; a table that means something else by a name gives its own.
_SHARED = {
    column.name: column
    for column in (
        Column("line", "Model"),
        Column("model", "Model"),
        Column("run", "Run"),
        Column("size", "Size"),
        Column("budget", "Budget"),
        Column("data", "Data"),
        Column("tokenizer", "Tokenizer"),
        Column("factor", "Factor"),
        Column("level", "Level"),
        Column("status", "Status"),
        Column("benchmark", "Benchmark"),
        Column("phenomenon", "Phenomenon"),
        Column("paradigm", "Paradigm"),
        Column("linking", "Linking function"),
        Column("ties_rule", "A tie counts"),
        Column("step", "Step", "count"),
        Column("tokens", "Tokens", "count"),
        Column("runs", "Runs", "count"),
        Column("n", "Pairs", "count"),
        Column("items", "Pairs", "count"),
        Column("pairs", "Pairs", "count"),
        Column("clusters", "Clusters", "count"),
        Column("paradigms", "Paradigms", "count"),
        Column("checkpoints", "Checkpoints", "count"),
        Column("effective_items", "Effective number", "number"),
        Column("drawn", "Drawn"),
        Column("shape", "Shape"),
        Column("below", "Below chance"),
        Column("depth", "Depth (points)", "percent"),
        Column("place", "Place (tokens)", "count"),
        Column("start", "Start (%)", "percent"),
        Column("end", "End (%)", "percent"),
        Column("variation", "p and intervals over"),
        Column("accuracy", "Accuracy (%)", "percent"),
        Column("mean", "Mean (%)", "percent"),
        Column("p", "p (Holm)", "p"),
        Column("p_holm", "p (Holm)", "p"),
    )
}


def table_columns(*columns: str | Column) -> tuple[Column, ...]:
    """Return the columns of a table, those that tables share by their names; a name that none has is a KeyError."""
    return tuple(_SHARED[column] if isinstance(column, str) else column for column in columns)


def interval_columns(kind: Kind, name: str = "") -> tuple[Column, Column]:
    """Return the columns of a 95 % interval: ``low`` and ``high``, or ``<name>_low`` and ``<name>_high``."""
    low, high = (f"{name}_low", f"{name}_high") if name else ("low", "high")
    return Column(low, "95 % from", kind), Column(high, "to", kind)


@dataclass(frozen=True)
class TableView:
    """A table of the report, its most useful columns first: no more than ``MOST_COLUMNS`` are shown."""

    note: str  # what it shows, in a sentence or two
    columns: tuple[Column, ...]
    table: pd.DataFrame
    # written as CSV, by file name without ending; the note links to them
    files: Tables = field(default_factory=dict)
    # the column whose largest values, or smallest p, a reader wants first; none: no row matters more
    rank: str = ""


@dataclass(frozen=True)
class FirstScreen:
    """What the report tells before anything is unfolded."""

    facts: tuple[tuple[str, tuple[str, ...]], ...]  # headings, each with its sentences; ``Markup`` is no sentence
    pictures: tuple[Drawing, ...]
    turns: tuple[str, ...] = ()  # the sentences of the facts that say which curves turn


@dataclass(frozen=True)
class ReportSection:
    """A section of the report: a heading, then texts, tables and figures in order."""

    heading: str
    content: tuple[str | TableView | Drawing, ...]
    files: Tables = field(default_factory=dict)  # written as CSV although no table of the section shows them
    # why the page does not show it, though its files are written; without content: why it has none
    left_out: str = ""
    question: Question | None = None  # below which it is folded
    not_shown: tuple[Drawing, ...] = ()  # figures that are written although the section does not show them
    page: str = ""  # of the documentation, which says how it is computed
    beside: tuple[str, ...] = ()  # files with what a brief section does not show; () of one that shows everything

    @property
    def drawings(self) -> list[Drawing]:
        """The figures of the section, and those that are written only."""
        return [*(item for item in self.content if isinstance(item, Drawing)), *self.not_shown]

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables that are written as CSV, by file name without ending, except those behind the figures."""
        views = [item for item in self.content if isinstance(item, TableView)]
        return {
            name: table
            for files in (*(view.files for view in views), self.files)
            for name, table in files.items()
        }

    def _repr_html_(self) -> str:
        """Show it in a notebook, where neither the script that sorts nor the style sheet is at hand."""
        images = {drawing.name: render(drawing, "png") for drawing in self.drawings}
        macros = vars(_TEMPLATES.get_template("section.html").module)
        return str(macros["section_html"](_section_fields(self, "", images)))


class _Cell(NamedTuple):
    """A cell of a table."""

    text: str
    classes: tuple[str, ...] = ()  # how it may be broken, see templates/style.css
    value: str | None = None  # of a number, what the column is sorted by


def brief(section: ReportSection, image: str) -> ReportSection:
    """Return what the report of several lines shows of a section; the rest is in the files that it links to.

    It has the sentences, the first figure and at most two tables, of which the page shows the first rows. A picture
    that is higher than wide would be too small to read. A long table is one of them only where it says by ``rank``
    which of its rows matter most. ``image`` is the ending of the figures' files.
    """
    texts = [item for item in section.content if isinstance(item, str)]
    readable = [item for item in section.content if isinstance(item, Drawing) and (item.chart or item.is_wide)]
    drawings = [replace(item, note=_split_note(item.note)[0]) for item in readable]
    views = [item for item in section.content if isinstance(item, TableView) and not item.table.empty]
    shown = [view for view in views if view.rank or len(view.table) <= _MOST_ROWS][:_MOST_TABLES]
    files = [f"{name}.csv" for name in section.tables] + [f"{one.name}.{image}" for one in section.drawings]
    return replace(section, content=(*texts, *drawings[:1], *shown), beside=tuple(files))


def _first_rows(view: TableView) -> pd.DataFrame:
    """Return the rows of a table that matter most."""
    if not view.rank:
        return view.table
    is_p = any(column.name == view.rank and column.kind == "p" for column in view.columns)
    ranked = view.table.sort_values(view.rank, ascending=is_p, key=abs, kind="stable")
    return ranked if len(ranked) <= _MOST_ROWS else ranked.head(_FIRST_ROWS)


def report_html(
    title: str, sections: Sequence[ReportSection], images: Mapping[str, bytes], first: FirstScreen | None = None
) -> str:
    """Write the report as one HTML page without date or other file; ``images`` are the drawings' PNG, by name.

    Sections without a question come first and are not folded.
    """
    shown = [section for section in sections if not section.left_out]
    # The places that links lead to: the headings in small letters, numbered where two are alike.
    anchors: list[str] = []
    for section in shown:
        name = re.sub(r"[^\w]+", "-", section.heading.lower()).strip("-")
        alike = sum(re.fullmatch(rf"{re.escape(name)}(-\d+)?", anchor) is not None for anchor in anchors)
        anchors.append(f"{name}-{alike + 1}" if alike else name)
    groups: dict[Question | None, list[dict[str, object]]] = {None: []}
    for section, anchor in zip(shown, anchors, strict=True):
        groups.setdefault(section.question, []).append(_section_fields(section, anchor, images))
    scripts = [_source("page.js")]
    if any(isinstance(item, Drawing) and item.chart is not None for section in shown for item in section.content):
        scripts += [vega_script(), _source("charts.js")]
    # A Content Security Policy names scripts by their hashes, so that the page runs no other one.
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    pictures = [] if first is None else [_item_fields(picture, images) for picture in first.pictures]
    return _TEMPLATES.get_template("page.html").render(
        title=title,
        look=(resources.files("ucurve") / "look.css").read_text(encoding="utf-8"),
        scripts=scripts,
        first=None if first is None else {"facts": first.facts, "pictures": pictures},
        sections=groups.pop(None),
        questions=[
            {"anchor": one.anchor, "text": one.text, "sections": parts} for one, parts in groups.items() if one
        ],
        left_out=[section for section in sections if section.left_out],
        hashes=[f"sha256-{digest}" for digest in digests],
    )


def _source(name: str) -> str:
    return (resources.files("ucurve.analysis.report") / "templates" / name).read_text(encoding="utf-8")


def _section_fields(section: ReportSection, anchor: str, images: Mapping[str, bytes]) -> dict[str, object]:
    """Return what the template of a section fills in."""
    content = [_item_fields(item, images, is_brief=bool(section.beside)) for item in section.content]
    return {
        "anchor": anchor,
        "heading": section.heading,
        "content": content,
        "page": section.page,
        "beside": section.beside,
    }


def _split_note(note: str) -> tuple[str, str]:
    """Return the sentences of a long note that are shown, and those that are folded."""
    if len(note) <= _SHORT_NOTE:
        return note, ""
    ends = [found.end() for found in re.finditer(r"\.(?= [A-Z])", note)]
    end = next((place for place in ends if place >= _FIRST_SENTENCE), len(note))
    return note[:end], note[end:].strip()


def _item_fields(
    item: str | TableView | Drawing, images: Mapping[str, bytes], *, is_brief: bool = False
) -> dict[str, object]:
    """Return what the template of a text, a figure or a table fills in."""
    if isinstance(item, str):
        return {"kind": "text", "text": item}
    caption, more = _split_note(item.note)
    if isinstance(item, Drawing):
        return {
            "kind": "figure",
            "name": item.name,
            "title": item.title,
            "note": item.note,
            "pixels": item.pixels_wide,
            "caption": caption,
            "more": more,
            "numbers": [f"{item.name}.csv"],
            "png": base64.b64encode(images[item.name]).decode(),
            "wide": item.figure.get_figwidth() > ONE_COLUMN,  # scrolls sideways on a phone
            "chart": _specification(item),
            "menus": item.chart is not None and has_menus(item.chart),
        }
    columns, same = _split_columns(item)
    hidden = len(columns) - MOST_COLUMNS
    if hidden > 0:
        caption += f" {hidden} more column{'s are' if hidden > 1 else ' is'} in the CSV."
    columns, rows = columns[:MOST_COLUMNS], _first_rows(item) if is_brief else item.table
    cells = [list(_cells(column, rows)) for column in columns]
    heads = [{"heading": column.heading, "classes": tuple(_heading_classes(column))} for column in columns]
    return {
        "kind": "table",
        "caption": caption,
        "more": more,
        "numbers": [f"{name}.csv" for name in item.files],
        "same": same,
        "columns": heads,
        "rows": zip(*cells, strict=True),
        "empty": rows.empty,
        "shown": len(rows),
        "all": len(item.table),
    }


def _split_columns(view: TableView) -> tuple[list[Column], str]:
    """Return the columns in which rows differ, and a sentence with those that are alike in all of several rows."""
    # A column that is alike in every row takes room that the other columns need.
    texts = {column: column.texts(view.table) for column in view.columns}
    columns = [column for column, shown in texts.items() if len(shown) < _ROWS_ALIKE or len(set(shown)) > 1]
    if len(columns) < 2:
        return list(view.columns), ""
    alike = [(column.heading, shown[0]) for column, shown in texts.items() if column not in columns]
    known = "; ".join(f"{heading}: {text}" for heading, text in alike if text not in ("", MISSING))
    return columns, f"In all rows: {known}." if known else ""


def _specification(drawing: Drawing) -> dict[str, object] | None:
    """Return the chart of a figure in Vega-Lite; None where it has none."""
    if drawing.chart is None:
        return None
    fields: dict[str, object] = drawing.chart.to_dict(validate=False)
    # The schema is an address, and the page names none.
    return {name: value for name, value in fields.items() if name != "$schema"}


def _cells(column: Column, table: pd.DataFrame) -> Iterator[_Cell]:
    """Yield the cells of a column, with what a script sorts numbers by."""
    for text, value in zip(column.texts(table), table[column.name], strict=True):
        if column.kind == "text":
            yield _Cell(text, tuple(_text_classes(text)))
        else:
            number = "" if text == MISSING else f"{float(str(value)):.12g}"
            yield _Cell(text, value=number.replace("inf", "Infinity"))  # as a script reads it


def _heading_classes(column: Column) -> Iterator[str]:
    if column.kind != "text":
        yield "number"
    if len(column.heading) > _SHORT:
        yield "wide"


def _text_classes(text: str) -> Iterator[str]:
    """Yield how a text may be broken in a cell."""
    if len(text) > _LONGEST_NAME:
        yield "long"
        return
    if len(text) > _SHORT:
        yield "wide"
    # A browser would break the name of a run at every hyphen. Chinese text has no spaces, but it is not a name.
    if text.isascii() and (len(text) <= _SHORT or not re.search(r"\s", text)):
        yield "whole"


def format_value(kind: Kind, value: object) -> str:
    """Return the text of a table's cell; of a missing value, and of a number that is an empty string, a dash."""
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if kind == "text":
        return str(value)
    if value == "":
        return MISSING
    number = float(str(value))
    if kind == "p" and number < _SMALLEST_P:
        return f"<{_SMALLEST_P}"
    if math.isinf(number):  # the end of an interval that the checkpoints do not hold
        return "beyond"
    shown = {"count": f"{number:,.0f}", "percent": f"{100 * number:.2f}", "p": f"{number:.4f}"}
    return shown.get(kind, f"{number:.4g}")
