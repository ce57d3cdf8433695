"""Figures as objects, the files they are written to, and the layout of a figure whose rows have names."""

import io
import re
import textwrap
import unicodedata
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ucurve.analysis.plotting.style import ONE_COLUMN, TWO_COLUMNS, drawing_style, readable
from ucurve.errors import UserError
from ucurve.progress import log_line
from ucurve.storage.files import new_file, write_text

if TYPE_CHECKING:
    from altair import FacetChart, LayerChart

Format = Literal["png", "svg", "pdf"]

_MISSING = r"Glyph (\d+) .* missing from font"  # what matplotlib warns of
_EAST = ("Hangul", "Hiragana", "Katakana")
_PIXELS_PER_INCH = 110  # on a screen, a little larger than in print
_PIXELS_PER_INCH_ALONE = 180  # of one panel, which would take up a third of the page's width
_DOTS_PER_PIXEL = 20 / 11  # screens have up to two; 200 dots per inch of sheets
# Without dates and versions, so that the same figure gives the same bytes.
_METADATA: dict[Format, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


@dataclass(frozen=True)
class Drawing:
    """A figure with the numbers behind it."""

    name: str
    title: str  # what it shows, in a few words
    note: str  # how to read it, the meaning of its band included
    figure: Figure = field(repr=False)
    table: pd.DataFrame = field(repr=False)
    # the same as an interactive chart, for pages; None for a figure without one
    chart: "LayerChart | FacetChart | None" = field(default=None, repr=False)

    @property
    def is_wide(self) -> bool:
        """Whether it is at least as wide as high."""
        return bool(self.figure.get_figwidth() >= self.figure.get_figheight())

    @property
    def pixels_wide(self) -> int:
        """Its width on a screen, in CSS pixels."""
        return round(self.figure.get_figwidth() * self.pixels_per_inch)

    @property
    def pixels_per_inch(self) -> int:
        """Its size on a screen, in CSS pixels for an inch of paper."""
        return _PIXELS_PER_INCH_ALONE if self.figure.get_figwidth() <= ONE_COLUMN else _PIXELS_PER_INCH

    def save(self, path: str | Path) -> Path:
        """Write it as PNG, SVG or PDF, whichever the name of the file ends in; other endings are a UserError."""
        path = Path(path)
        kind = path.suffix.removeprefix(".").lower()
        if kind not in _METADATA:
            raise UserError(f"{path}: a figure is written as .{', .'.join(_METADATA)}, not as {path.suffix!r}")
        with new_file(path) as temporary:
            temporary.write_bytes(render(self, kind))
        return path

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Show it in a notebook."""
        return render(self, "png"), {"width": self.pixels_wide}


def render(drawing: Drawing, kind: Format) -> bytes:
    """Return the figure as the bytes of a file; they are the same for the same drawing."""
    buffer = io.BytesIO()
    dots = _DOTS_PER_PIXEL * drawing.pixels_per_inch
    with drawing_style(), warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", message=_MISSING)
        drawing.figure.savefig(buffer, format=kind, dpi=dots, metadata=_METADATA[kind])
    for warning in caught:
        if letter := re.match(_MISSING, str(warning.message)):
            _tell_script(unicodedata.name(chr(int(letter[1])), "an unknown script").split()[0].capitalize())
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return buffer.getvalue()


@cache  # once a script
def _tell_script(name: str) -> None:
    """Say which fonts would draw the letters of a script, such as ``Hangul``."""
    package = "fonts-wqy-microhei" if name == "Cjk" else "fonts-noto-cjk" if name in _EAST else "fonts-noto-core"
    log_line(
        f"warning: no installed font has the {name if name != 'Cjk' else 'Chinese'} characters of a label, which is "
        f"drawn as boxes (Debian: apt-get install {package})"
    )


def write_drawing(drawing: Drawing, png: bytes, out: Path, formats: Sequence[Format]) -> list[Path]:
    """Write a figure in every format, and its numbers as CSV; return the files."""
    paths = [out / f"{drawing.name}.{kind}" for kind in formats]
    for path, kind in zip(paths, formats, strict=True):
        with new_file(path) as temporary:
            temporary.write_bytes(png if kind == "png" else render(drawing, kind))
    return [*paths, write_table(drawing.table, out / f"{drawing.name}.csv")]


def write_table(table: pd.DataFrame, path: Path) -> Path:
    """Write a table as CSV in UTF-8; a missing value is an empty cell."""
    write_text(path, table.to_csv(index=False, float_format="%.12g", lineterminator="\n"))
    return path


_LETTER, _WIDEST = 0.057, 2.8  # inches; of a name and of all names
_ROWS_RIGHT, _UNDER, _ROWS_NOTE_LINE, _NOTE_LETTERS = 0.12, 0.38, 0.1, 20


class NamedRows:
    """A figure two columns wide with one panel, whose rows have names; row i lies at height i from the top."""

    def __init__(self, names: Sequence[str], note: str, *, row: float = 0.14, top: float = 0.1) -> None:
        """Lay the figure out; the height of a ``row`` and the room above the rows (``top``) are in inches."""
        self._note = textwrap.wrap(note, int(_NOTE_LETTERS * TWO_COLUMNS))
        left = min(_WIDEST, 0.12 + _LETTER * max(map(len, names)))
        self._bottom = _UNDER + _ROWS_NOTE_LINE * len(self._note)
        self._height = self._bottom + row * max(len(names), 3) + top
        self.figure = Figure(figsize=(TWO_COLUMNS, self._height))
        FigureCanvasAgg(self.figure)
        self._middle = (left + TWO_COLUMNS - _ROWS_RIGHT) / 2 / TWO_COLUMNS
        place = (left / TWO_COLUMNS, self._bottom / self._height)
        size = ((TWO_COLUMNS - left - _ROWS_RIGHT) / TWO_COLUMNS, row * max(len(names), 3) / self._height)
        self.axes = self.figure.add_axes((*place, *size))
        self.axes.set_ylim(len(names) - 0.5, -0.5)
        most = int((left - 0.1) / _LETTER)
        shown = [name if len(name) <= most else f"{name[: most - 1]}…" for name in map(readable, names)]
        self.axes.set_yticks(range(len(names)), shown, parse_math=False)
        self.axes.tick_params(axis="y", length=0)

    def finish(self, x_label: str) -> Figure:
        """Add the label and the note, and return the figure."""
        above = (0.06 + _ROWS_NOTE_LINE * len(self._note)) / self._height
        self.figure.text(self._middle, above, x_label, ha="center", va="bottom")
        text = "\n".join(self._note)
        self.figure.text(
            0.5, 0.03 / self._height, text, ha="center", va="bottom", fontsize=6, color="0.25", linespacing=1.1
        )
        return self.figure
