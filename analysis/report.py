"""The report: one HTML file with everything in it, for a screen, a phone and paper."""

import base64
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from analysis.figures import Drawing

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1b1b; background: #fff; max-width: 68rem; margin: 0 auto;
  padding: 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.2rem; border-bottom: 1px solid #ccc; }
p, figcaption { max-width: 48rem; } figcaption, .note { color: #444; font-size: .88rem; }
figure { margin: 1.2rem 0; } figure h3 { margin: 0 0 .3rem; font-size: 1.02rem; }
img { max-width: 100%; height: auto; }
.table { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; }
th button { font: inherit; font-weight: 600; background: none; border: 0; padding: 0; cursor: pointer; color: #0b4f8a;
  text-align: inherit; }
th[aria-sort=ascending] button::after { content: " \\25B2"; }
th[aria-sort=descending] button::after { content: " \\25BC"; }
@media print { body { max-width: none; font-size: 10pt; padding: 0; } .table { overflow: visible; }
  table { font-size: 7.5pt; } th, td { padding: .1rem .3rem; } th button { color: inherit; }
  figure, tr { break-inside: avoid; } h2, h3 { break-after: avoid; } }
"""

_SCRIPT = """
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


@dataclass(frozen=True)
class Column:
    """How a column of a table is shown.

    Attributes:
        name: its name in the frame.
        heading: what stands above it.
        kind: ``text``, ``count`` (whole number with separators) or ``percent`` (a fraction shown in percent).
    """

    name: str
    heading: str
    kind: str = "text"


@dataclass(frozen=True)
class TableView:
    """A table of the report.

    Attributes:
        note: what it shows, in a sentence or two.
        columns: the columns shown, in order.
        table: the numbers.
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
        section: the section.
        tables: tables that are written as CSV, by file name without ending; those behind figures are written with them.
    """

    section: Section
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def drawings(self) -> list[Drawing]:
        """The figures of the section."""
        return [part for part in self.section.parts if isinstance(part, Drawing)]


def report_html(title: str, sections: Sequence[Section], images: Mapping[str, bytes]) -> str:
    """Write the report as one HTML page that needs no other file.

    Args:
        title: heading of the page.
        sections: its parts.
        images: every drawing's rendering as PNG, by the drawing's name.

    Returns:
        The page. It holds no date: the same runs give the same page.
    """
    body = [f"<h1>{html.escape(title)}</h1>", *(_section(section, images) for section in sections)]
    head = _HEAD.format(title=html.escape(title), style=_STYLE)
    return head + "\n".join(body) + f"\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"


def _section(section: Section, images: Mapping[str, bytes]) -> str:
    parts = [f"<section>\n<h2>{html.escape(section.heading)}</h2>", *(_part(part, images) for part in section.parts)]
    return "\n".join([*parts, "</section>"])


def _part(part: str | TableView | Drawing, images: Mapping[str, bytes]) -> str:
    if isinstance(part, str):
        return f"<p>{html.escape(part)}</p>"
    return _figure(part, images[part.name]) if isinstance(part, Drawing) else _table(part)


def _figure(drawing: Drawing, png: bytes) -> str:
    data = base64.b64encode(png).decode()
    title, note = html.escape(drawing.title), html.escape(drawing.note)
    width = round(drawing.figure.get_figwidth() * 110)  # in CSS pixels, a little larger than in print
    return (
        f'<figure>\n<h3>{title}</h3>\n<img src="data:image/png;base64,{data}" width="{width}" alt="{title}. {note}">\n'
        f"<figcaption>{note} Numbers: <code>{html.escape(drawing.name)}.csv</code>.</figcaption>\n</figure>"
    )


def _table(view: TableView) -> str:
    heads = "".join(
        f'<th scope="col"{_number_class(column)}><button type="button">{html.escape(column.heading)}</button></th>'
        for column in view.columns
    )
    rows = (dict(zip(view.table.columns, row, strict=True)) for row in view.table.itertuples(index=False, name=None))
    lines = ["<tr>" + "".join(_cell(column, row[column.name]) for column in view.columns) + "</tr>" for row in rows]
    return (
        f'<p class="note">{html.escape(view.note)}</p>\n<div class="table"><table>\n<thead><tr>{heads}</tr></thead>\n'
        "<tbody>\n" + "\n".join(lines) + "\n</tbody>\n</table></div>"
    )


def _cell(column: Column, value: object) -> str:
    if column.kind == "text":
        return f"<td>{html.escape(str(value))}</td>"
    number = None if value is None or value == "" else float(str(value))
    if number is None or pd.isna(number):
        return '<td class="number" data-value="">&ndash;</td>'
    shown = f"{number:,.0f}" if column.kind == "count" else f"{100 * number:.2f}"
    return f'<td class="number" data-value="{number:.12g}">{shown}</td>'


def _number_class(column: Column) -> str:
    return "" if column.kind == "text" else ' class="number"'
