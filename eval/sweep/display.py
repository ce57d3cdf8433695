"""Where the table of scores goes: as lines to a terminal or a pipe, or into a cell of a notebook."""

import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Protocol

from rich.text import Text

from ucurve.eval.sweep.table import Cell, Field, Layout, ShownLine, ShownScore, summarise
from ucurve.progress import in_notebook, print_line, standard_output

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_CELLS = 10  # of a bar, with a mark in the middle
_SECONDS = 0.5  # between two drawings of a table in a notebook, at least


@dataclass
class Printed:
    """What was printed last by a process: a line of a table, and names of columns."""

    table: "ScoreTable | None" = None
    head: str = ""


class _Handle(Protocol):
    def update(self, page: object) -> None:
        """Show a page in the place of the one before."""


class ScoreTable:
    """The scores of one run or model, shown as they come, each once."""

    def __init__(self, layout: Layout, printed: "Printed") -> None:
        self.layout, self._printed = layout, printed
        self._scores: dict[tuple[int, str, str], ShownScore] = {}
        self._lines: list[ShownLine] = []
        self._ended = False
        self._handle: _Handle | None = None
        self._drawn = 0.0

    def has(self, score: tuple[int, str, str]) -> bool:
        """Tell whether a score (step, benchmark and scorer) is shown."""
        return score in self._scores

    def add(self, score: ShownScore, details: Sequence[str] = ()) -> None:
        """Show a score, and below it ``details``; a change is against the checkpoint before."""
        earlier = [one for one in self._scores.values() if one.kind == score.kind and one.step < score.step]
        lines = self.layout.lines(score, max(earlier, key=lambda one: one.step, default=None))
        self._scores[(score.step, *score.kind)] = score
        self._lines += lines
        self._ended = False
        if in_notebook():
            self._draw()
            return
        if self._printed.table is not self:
            self._printed.table = self
            for title in textwrap.wrap(self.layout.title, self.layout.width, subsequent_indent="  "):
                print_line(Text(title, style="bold"))
            head = "".join(_placed(field, field.name) for field in self.layout.fields).rstrip()
            if head != self._printed.head:  # runs whose columns are the same follow each other below one head
                self._printed.head = head
                print_line(Text(head, style="bold"))
        for line in lines:
            print_line(_styled(self.layout.fields, line.cells))
        for detail in details:
            for text in textwrap.wrap(detail, self.layout.width - 6):
                print_line(Text(f"      {text}", style="dim"))

    def end(self) -> None:
        """Say what stands out in all scores, once."""
        if self._ended or not self._lines:
            return
        self._ended = True
        if in_notebook():
            self._draw(last=True)
            return
        for line in summarise(self.layout, [*self._scores.values()]):
            for text in textwrap.wrap(line, self.layout.width - 2, subsequent_indent="  "):
                print_line(Text(f"  {text}"))

    def _draw(self, last: bool = False) -> None:
        """Draw the table in the notebook, or draw it again in its place."""
        now = time.monotonic()
        if not last and now - self._drawn < _SECONDS:
            return
        self._drawn = now
        notebook = import_module("IPython.display")
        page = notebook.HTML(as_html(self.layout, self._lines, [*self._scores.values()]))
        if self._handle is None:
            self._handle = notebook.display(page, display_id=True)
        else:
            self._handle.update(page)


def _placed(field: Field, text: str) -> str:
    return "  " + (text.ljust(field.width) if field.left else text.rjust(field.width))


def _styled(fields: Sequence[Field], cells: Sequence[Cell]) -> Text:
    """Lay out a line of the table: bars in a color of their own, changes by their sign."""
    line = Text()
    for field, cell in zip(fields, cells, strict=True):
        if cell.percent is not None:
            line.append("  ").append(draw_bar(cell.percent, _can_show_blocks()), style="cyan")
        else:
            style = "green" if cell.text.startswith("+") else "red" if cell.text[:1] == "-" != cell.text else ""
            line.append(_placed(field, cell.text), style=style)
    line.rstrip()
    return line


def _can_show_blocks() -> bool:
    """Tell whether the encoding of the terminal or the pipe has block characters."""
    try:
        f"{_EIGHTHS}│·".encode(standard_output().encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def draw_bar(percent: float, blocks: bool = True) -> str:
    """Draw a percentage as ten cells with a mark at 50, in block characters or ASCII."""
    shares = [min(max(percent / 10 - place, 0), 1) for place in range(_CELLS)]
    if blocks:
        cells = ["·" if share < 1 / 16 else _EIGHTHS[round(8 * share)] for share in shares]
    else:
        cells = ["#" if share >= 1 / 2 else "." for share in shares]
    half = _CELLS // 2
    return "".join([*cells[:half], "│" if blocks else "|", *cells[half:]])


_STYLE = """<style>
.ucurve-scores { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.ucurve-scores td, .ucurve-scores th { padding: .1em .7em; text-align: right; white-space: nowrap; border: 0; }
.ucurve-scores .left { text-align: left; }
.ucurve-scores thead th { border-bottom: 1px solid currentColor; }
.ucurve-scores .bar { position: relative; width: 110px; height: .7em; outline: 1px solid currentColor; opacity: .6; }
.ucurve-scores .bar i { position: absolute; inset: 0 auto 0 0; background: currentColor; }
.ucurve-scores .bar b { position: absolute; left: 50%; top: -.2em; bottom: -.2em; border-left: 2px solid #b86e00; }
</style>"""


def as_html(layout: Layout, lines: Sequence[ShownLine], scores: Sequence[ShownScore]) -> str:
    """Write the table as HTML in the colors of the page; the best and the last line of each curve are marked."""
    marks = find_marks(lines)
    heads = "".join(
        f'<th class="{"left" if field.left else ""}">{escape(field.name)}</th>' for field in layout.fields
    )
    rows = "".join(
        f"<tr><td><b>{escape(mark)}</b></td>{''.join(map(_html_cell, layout.fields, line.cells))}</tr>"
        for line, mark in zip(lines, marks, strict=True)
    )
    notes = "".join(f"<div>{escape(note)}</div>" for note in summarise(layout, scores))
    table = f"<table class='ucurve-scores'><thead><tr><th></th>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return f"{_STYLE}<div>{escape(layout.title)}</div><div style='overflow-x: auto'>{table}</div>{notes}"


def find_marks(lines: Sequence[ShownLine]) -> list[str]:
    """Return ``best``, ``last``, both or nothing for every line, by the first linking function on it."""
    curves: dict[object, list[tuple[int, float, int]]] = {}
    for number, line in enumerate(lines):
        value = line.score.values.get(line.measures[0])
        if value is not None:
            curve = curves.setdefault((line.score.kind, line.measures[0]), [])
            curve.append((line.score.step, value.accuracy, number))
    marks: list[list[str]] = [[] for _ in lines]
    for curve in curves.values():
        if len(curve) > 1:
            marks[max(curve, key=lambda entry: entry[1])[2]].append("best")
            marks[max(curve)[2]].append("last")
    return [", ".join(mark) for mark in marks]


def _html_cell(field: Field, cell: Cell) -> str:
    if cell.percent is not None:
        return f'<td><div class="bar"><i style="width:{cell.percent:.1f}%"></i><b></b></div></td>'
    return f'<td class="{"left" if field.left else ""}">{escape(cell.text)}</td>'
