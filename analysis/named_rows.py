"""Figures with one named row for each category: heat maps, boxes, coefficients."""

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from analysis.style import TWO_COLUMNS, readable

_LETTER, _WIDEST = 0.057, 2.8  # inches; of a name and of all names
_RIGHT, _UNDER, _NOTE_LINE, _NOTE_LETTERS = 0.12, 0.38, 0.1, 20


class NamedRows:
    """A figure two columns wide with one panel whose rows have names, the first on top.

    Attributes:
        figure: the figure.
        axes: its panel; row i lies at height i, from the top.
    """

    def __init__(self, names: Sequence[str], note: str, *, row: float = 0.14, top: float = 0.1) -> None:
        """Lay the figure out.

        Args:
            names: of the rows.
            note: text under the axis label.
            row: height of a row in inches.
            top: room above the rows in inches.
        """
        self._note = textwrap.wrap(note, int(_NOTE_LETTERS * TWO_COLUMNS))
        left = min(_WIDEST, 0.12 + _LETTER * max(map(len, names)))
        self._bottom = _UNDER + _NOTE_LINE * len(self._note)
        self._height = self._bottom + row * max(len(names), 3) + top
        self.figure = Figure(figsize=(TWO_COLUMNS, self._height))
        FigureCanvasAgg(self.figure)
        self._middle = (left + TWO_COLUMNS - _RIGHT) / 2 / TWO_COLUMNS
        self.axes = self._panel(left, row * max(len(names), 3))
        self.axes.set_ylim(len(names) - 0.5, -0.5)
        self.axes.set_yticks(range(len(names)), [_shortened(name, left) for name in names], parse_math=False)
        self.axes.tick_params(axis="y", length=0)

    def finish(self, x_label: str) -> Figure:
        """Add the label and the note, and return the figure."""
        above = (0.06 + _NOTE_LINE * len(self._note)) / self._height
        self.figure.text(self._middle, above, x_label, ha="center", va="bottom")
        text = "\n".join(self._note)
        self.figure.text(
            0.5, 0.03 / self._height, text, ha="center", va="bottom", fontsize=6, color="0.25", linespacing=1.1
        )
        return self.figure

    def _panel(self, left: float, height: float) -> Axes:
        place = (left / TWO_COLUMNS, self._bottom / self._height)
        size = ((TWO_COLUMNS - left - _RIGHT) / TWO_COLUMNS, height / self._height)
        return self.figure.add_axes((*place, *size))


def _shortened(name: str, left: float) -> str:
    most = int((left - 0.1) / _LETTER)
    shown = readable(name)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
