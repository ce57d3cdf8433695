"""The tables of the report in LaTeX, with booktabs, for papers."""

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from pandas.api.types import is_float_dtype, is_integer_dtype

from ucurve.analysis.report.html import Column, Kind, ReportSection, TableView
from ucurve.storage.files import write_text

MOST_ROWS = 200  # of a table that the report does not show; no paper prints a longer one
_PAGE = 40  # rows; a longer table is broken into pages
_LONGEST_TEXT = 48  # letters in a line of a cell
_TEXT_WIDTH = "p{6cm}"  # of a column of longer texts, which are broken into lines
_LINE = 75  # letters of a line of a page; a wider table is made smaller
_TURNED = 2  # lines; a table that is wider than these is turned by 90 degrees too
_PACKAGES = {"table": (), "sidewaystable": ("rotating",), "longtable": ("longtable",)}
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "`": r"\textasciigrave{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "Δ": r"$\Delta$",
    "α": r"$\alpha$",
} | {letter: rf"\{letter}" for letter in "&%#$_{}"}
_CHINESE = r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
_READ_BY_PDFTEX = r"\x00-\u017f\u2010-\u2026"  # letters of western and central Europe, dashes and quotation marks


def write_latex(section: ReportSection, out: Path) -> list[Path]:
    """Write the tables of a section as LaTeX beside their CSV files; return the files."""
    tables = latex_tables(section)
    for name, text in tables.items():
        write_text(out / f"{name}.tex", text)
    return [out / f"{name}.tex" for name in tables]


def latex_tables(section: ReportSection) -> dict[str, str]:
    r"""Return LaTeX of the tables of a section, by file name without ending.

    A table that the report shows is as shown there: its columns, headings, rows and numbers, with the note as caption.
    The others have all their columns under the columns' own names; those of more than ``MOST_ROWS`` rows are left out.
    Each text is a ``table`` or, if it is longer than a page, a ``longtable``, with the label ``tab:<name>``; a
    ``table`` that is wider than a line is made smaller, or turned (``sidewaystable``) if it is very wide. The first
    line is a comment that names the packages it needs.
    """
    views = {
        name: view
        for view in section.content
        if isinstance(view, TableView)
        for name in _file_name(view, section)
    }
    return {
        name: latex_table(name, views.get(name) or _plain_view(name, table))
        for name, table in section.tables.items()
        if name in views or (len(table) <= MOST_ROWS and len(table.columns))
    }


def latex_table(name: str, view: TableView) -> str:
    """Return the LaTeX of one table as the report shows it."""
    cells = [column.texts(view.table) for column in view.columns]
    escaped = {place: [escape_latex(text) for text in texts] for place, texts in enumerate(cells)}
    # The keys are places, because two columns may have the same heading.
    rows = pd.DataFrame(escaped, dtype=object)
    rows.columns = pd.Index([escape_latex(column.heading) for column in view.columns])
    # The letters of the widest line, with two for the room between columns.
    widths = [max(map(len, (column.heading, *texts))) for column, texts in zip(view.columns, cells, strict=True)]
    letters = sum(min(width, _LONGEST_TEXT) + 2 for width in widths)
    kind = "longtable" if len(rows) > _PAGE else "sidewaystable" if letters > _TURNED * _LINE else "table"
    text: str = rows.style.hide(axis="index").to_latex(
        hrules=True,
        column_format="".join(
            _alignment(column.kind, each) for column, each in zip(view.columns, cells, strict=True)
        ),
        caption=escape_latex(view.note),
        label=f"tab:{re.sub(r'[^A-Za-z0-9_.:+-]', '-', name)}",
        environment=kind,
        position="tbp" if kind == "table" else None,
        position_float=None if kind == "longtable" else "centering",
    )
    scaled = letters > _LINE and kind != "longtable"  # which cannot be scaled
    packages = ["booktabs", *_PACKAGES[kind], *(["graphicx"] if scaled else [])]
    if re.search(_CHINESE, text):
        packages.append("ctex")
    needs = f"% Needs \\usepackage{{{','.join(packages)}}}"
    if re.search(f"[^{_READ_BY_PDFTEX}]", text):
        needs += " and XeLaTeX or LuaLaTeX, with a font that has all the letters"
    if scaled:  # the tabular is made as wide as a line
        text = text.replace(r"\begin{tabular}", "\\resizebox{\\linewidth}{!}{%\n\\begin{tabular}")
        text = text.replace(r"\end{tabular}", r"\end{tabular}}")
    return f"{needs}.\n{text}"


def escape_latex(text: str) -> str:
    r"""Write text so that LaTeX prints it as it is.

    White space becomes single spaces, as in a browser; other control characters, which LaTeX refuses, are left out.
    Braces keep ``--`` and the like from becoming one sign, and the first sign of a cell from becoming an argument of
    the ``\\`` before it.
    """
    printed = "".join(sign for sign in text if sign.isspace() or unicodedata.category(sign) != "Cc")
    # A zero byte, which no text has any more, holds the place of braces until they can no longer be escaped.
    parted = re.sub(r"([-',])(?=\1)", r"\g<0>\0", " ".join(printed.split()))
    escaped = "".join("{}" if sign == "\0" else _ESCAPES.get(sign, sign) for sign in parted)
    return re.sub(r"^[\[*]", r"{\g<0>}", escaped)


def _file_name(view: TableView, section: ReportSection) -> list[str]:
    """Return the name of the file with the table that is shown, if there is one; a view may show a part of it."""
    same = [name for name, table in (view.files or section.tables).items() if table is view.table]
    return [*same, *view.files][:1]


def _plain_view(name: str, table: pd.DataFrame) -> TableView:
    columns = tuple(Column(str(column), str(column), _kind(values)) for column, values in table.items())
    return TableView(f"All columns of {name}.csv.", columns, table)


def _kind(values: pd.Series) -> Kind:
    if is_integer_dtype(values):
        return "count"
    return "number" if is_float_dtype(values) else "text"


def _alignment(kind: Kind, texts: Iterable[str]) -> str:
    if kind != "text":
        return "r"
    return _TEXT_WIDTH if max(map(len, texts), default=0) > _LONGEST_TEXT else "l"
