"""The report: one HTML file with everything in it, for a screen, a phone and paper."""

import base64
import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from analysis.plotting.figures import Drawing, render
from analysis.plotting.style import ONE_COLUMN

Kind = Literal["text", "count", "percent", "number", "p"]

_SMALLEST_P = 0.0001
_MANY = 12  # columns; more are printed smaller
_LONGEST_NAME = 48  # letters; longer ones break, or a table of them would be wider than a screen
_NAME = ' class="name"'
_CONTENTS_FROM = 3  # sections; fewer are seen at a glance


@dataclass(frozen=True)
class Column:
    """How a column of a table is shown.

    Attributes:
        name: its name in the frame.
        kind: ``text``, ``count`` (whole number with separators), ``percent`` (a fraction shown in percent), ``number``
            (four digits) or ``p`` (a probability of a test).
    """

    name: str
    heading: str
    kind: Kind = "text"


@dataclass(frozen=True)
class TableView:
    """A table of the report.

    Attributes:
        note: what it shows, in a sentence or two.
        columns: the columns shown, in order.
    """

    note: str
    columns: tuple[Column, ...]
    table: pd.DataFrame


@dataclass(frozen=True)
class Section:
    """A part of the report: a heading, then texts, tables and figures in order."""

    heading: str
    parts: tuple[str | TableView | Drawing, ...]


@dataclass(frozen=True)
class Part:
    """A section of the report with what is written beside it.

    Attributes:
        tables: tables that are written as CSV, by file name without ending; those behind figures are written with them.
    """

    section: Section
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def drawings(self) -> list[Drawing]:
        """The figures of the section."""
        return [part for part in self.section.parts if isinstance(part, Drawing)]

    def _repr_html_(self) -> str:
        """Show it in a notebook, where neither the script that sorts nor the style sheet is at hand."""
        images = {drawing.name: render(drawing, "png") for drawing in self.drawings}
        html_of_section = _section(self.section, "", images).replace(' id=""', "", 1)
        return re.sub(r"</?button[^>]*>", "", html_of_section).replace(_NAME, ' style="white-space: nowrap"')


def report_html(title: str, sections: Sequence[Section], images: Mapping[str, bytes]) -> str:
    """Write the report as one HTML page that needs no other file.

    Args:
        images: every drawing's rendering as PNG, by the drawing's name.

    Returns:
        The page. It holds no date: the same runs give the same page.
    """
    anchors = _anchors(section.heading for section in sections)
    body = [_section(section, anchor, images) for section, anchor in zip(sections, anchors, strict=True)]
    return page(title, "\n".join([*_contents(sections, anchors), *body]))


def _anchors(headings: Iterable[str]) -> list[str]:
    """Name the places that links lead to: the headings in small letters, numbered where two are alike."""
    anchors: list[str] = []
    for heading in headings:
        name = re.sub(r"[^\w]+", "-", heading.lower()).strip("-")
        alike = sum(re.fullmatch(rf"{re.escape(name)}(-\d+)?", anchor) is not None for anchor in anchors)
        anchors.append(f"{name}-{alike + 1}" if alike else name)
    return anchors


def _contents(sections: Sequence[Section], anchors: Sequence[str]) -> list[str]:
    if len(sections) < _CONTENTS_FROM:
        return []
    links = (
        f'<li><a href="#{anchor}">{html.escape(section.heading)}</a></li>'
        for section, anchor in zip(sections, anchors, strict=True)
    )
    return ['<nav aria-label="Contents">\n<ul>', *links, "</ul>\n</nav>"]


def _section(section: Section, anchor: str, images: Mapping[str, bytes]) -> str:
    parts = [_part(part, images) for part in section.parts]
    return "\n".join([f'<section id="{anchor}">\n<h2>{html.escape(section.heading)}</h2>', *parts, "</section>"])


def _part(part: str | TableView | Drawing, images: Mapping[str, bytes]) -> str:
    if isinstance(part, str):
        return f"<p>{html.escape(part)}</p>"
    return _figure(part, images[part.name]) if isinstance(part, Drawing) else _table(part)


def _figure(drawing: Drawing, png: bytes) -> str:
    data = base64.b64encode(png).decode()
    title, note = html.escape(drawing.title), html.escape(drawing.note)
    wide = ' class="wide"' if drawing.figure.get_figwidth() > ONE_COLUMN else ""  # scrolls sideways on a phone
    return (
        f'<figure>\n<h3>{title}</h3>\n<div class="image" tabindex="0"><img{wide} src="data:image/png;base64,{data}" '
        f'width="{drawing.pixels_wide}" alt="{title}. {note}"></div>\n'
        f"<figcaption>{note} Numbers: <code>{html.escape(drawing.name)}.csv</code>.</figcaption>\n</figure>"
    )


def _table(view: TableView) -> str:
    heads = "".join(
        f'<th scope="col"{_number_class(column)}><button type="button">{html.escape(column.heading)}</button></th>'
        for column in view.columns
    )
    many = ' class="many"' if len(view.columns) > _MANY else ""
    rows = (dict(zip(view.table.columns, row, strict=True)) for row in view.table.itertuples(index=False, name=None))
    lines = ["<tr>" + "".join(_cell(column, row[column.name]) for column in view.columns) + "</tr>" for row in rows]
    return (
        f'<p class="note">{html.escape(view.note)}</p>\n<div class="table" tabindex="0"><table{many}>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody>\n</table></div>"
    )


def _cell(column: Column, value: object) -> str:
    if column.kind == "text":
        text = "&ndash;" if _is_missing(value) else html.escape(str(value))
        return f"<td{_NAME if _is_name(str(value)) else ''}>{text}</td>"
    if value == "" or _is_missing(value):
        return '<td class="number" data-value="">&ndash;</td>'
    number = float(str(value))
    return f'<td class="number" data-value="{number:.12g}">{_shown(number, column.kind)}</td>'


def _is_name(text: str) -> bool:
    """Tell a name, such as a run's, from a text: a browser would break it at every hyphen."""
    return len(text) <= _LONGEST_NAME and text.isascii() and not re.search(r"\s", text)  # Chinese text has no spaces


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def _shown(number: float, kind: Kind) -> str:
    if kind == "p" and number < _SMALLEST_P:
        return f"&lt;{_SMALLEST_P}"
    shown = {"count": f"{number:,.0f}", "percent": f"{100 * number:.2f}", "p": f"{number:.4f}"}
    return shown.get(kind, f"{number:.4g}")


def _number_class(column: Column) -> str:
    return "" if column.kind == "text" else ' class="number"'


STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, "Noto Sans CJK SC", "WenQuanYi Zen Hei", sans-serif; color: #1b1b1b;
  background: #fff; max-width: 68rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.2rem; border-bottom: 1px solid #ccc; }
p, figcaption { max-width: 48rem; } figcaption, .note { color: #444; font-size: .88rem; }
a { color: #0b4f8a; } nav ul { columns: 20rem; margin: 0; padding-left: 1.2rem; } nav li { break-inside: avoid; }
figure { margin: 1.2rem 0; } figure h3 { margin: 0 0 .3rem; font-size: 1.02rem; }
img { max-width: 100%; height: auto; }
@media screen and (max-width: 40rem) { .image { overflow-x: auto; } img.wide { max-width: none; } }
.table { overflow: auto; max-height: 75vh; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
td { max-width: 26rem; }
thead th { position: sticky; top: 0; z-index: 1; background: #fff; box-shadow: inset 0 -1px #999; }
td.number, th.number { text-align: right; } td:is(.number, .name) { white-space: nowrap; }
th button { font: inherit; font-weight: 600; background: none; border: 0; padding: 0; cursor: pointer; color: #0b4f8a;
  text-align: inherit; }
th[aria-sort=ascending] button::after { content: " \\25B2"; }
th[aria-sort=descending] button::after { content: " \\25BC"; }
@media print { body { max-width: none; font-size: 10pt; padding: 0; }
  .table { overflow: visible; max-height: none; } table { font-size: 7.5pt; overflow-wrap: anywhere; }
  td.name { white-space: normal; }
  th, td { padding: .1rem .3rem; } table.many { font-size: 5.5pt; }
  table.many :is(th, td) { padding: .1rem .15rem; white-space: normal; }
  th button, a { color: inherit; text-decoration: none; }
  thead { display: table-header-group; } thead th { position: static; }
  figure, tr { break-inside: avoid; } h2, h3 { break-after: avoid; } }
"""

SCRIPT = """
function value(row, column) {
  const cell = row.cells[column];
  return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value || "NaN");
}
function compare(a, b, sign) {
  if (typeof a === "string") return sign * a.localeCompare(b, undefined, {numeric: true});
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
  return sign * (a - b);
}
document.querySelectorAll("th button").forEach(button => button.addEventListener("click", () => {
  const head = button.parentElement, body = head.closest("table").tBodies[0];
  const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  head.parentElement.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
  const column = head.cellIndex;
  [...body.rows].sort((a, b) => compare(value(a, column), value(b, column), sign)).forEach(row => body.append(row));
}));
"""

# The policy makes the browser refuse anything that is not in the file.
_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline';
 script-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
"""


def page(title: str, body: str) -> str:
    """Write a page that needs no other file."""
    head = _HEAD.format(title=html.escape(title), style=STYLE)
    return f"{head}<h1>{html.escape(title)}</h1>\n{body}\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
