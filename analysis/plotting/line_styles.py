"""Color, dashes and marker of lines: by the factors of the design, the same in every figure and chart."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex
from matplotlib.typing import LineStyleType

# Okabe and Ito's palette, which readers with color blindness can distinguish; its yellow is too pale on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES: tuple[LineStyleType, ...] = ("-", "--", "-.", (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")
MOST_BANDS = 3  # lines whose bands can be told apart
FEWEST_IN_PANELS = 12  # lines that have a panel for each level of a factor
_IN_ORDER = ("size", "budget")  # factors whose levels go from less to more


@dataclass(frozen=True)
class LineStyle:
    """Color, dashes and marker that distinguish a line from the others."""

    color: str
    dashes: LineStyleType
    marker: str = MARKERS[0]
    has_band: bool = True  # not one of many lines, whose bands would cover each other


@dataclass(frozen=True)
class LineStyles:
    """The styles of the lines of a study, and of its lines without some factors; called with names, it returns each."""

    of_line: Mapping[str, LineStyle] = field(default_factory=dict)
    panel_of: Mapping[str, str] = field(default_factory=dict)  # of lines that are too many for one panel

    def __call__(self, names: Iterable[str]) -> dict[str, LineStyle]:
        """Return the style of every name; what is no line of the study gets, in order, those that are left."""
        lines = dict.fromkeys(names)
        known = {name: self.of_line[name] for name in lines if name in self.of_line}
        left = itertools.cycle(style for style in _EVERY if style not in known.values())
        has_band = len(lines) <= MOST_BANDS
        return {name: replace(known.get(name) or next(left), has_band=has_band) for name in lines}


NUMBERED = LineStyles()  # of names that are no lines: colors first, then dashes, then markers
_EVERY = [LineStyle(color, dashes, marker) for marker, dashes, color in itertools.product(MARKERS, DASHES, COLORS)]


def styles_by_factor(
    views: Iterable[Mapping[str, Mapping[str, object]]], levels: Mapping[str, Sequence[str]]
) -> dict[str, LineStyle]:
    """Give lines their color by the first factor, dashes by the second and markers by the third.

    ``views`` have the levels of lines by their label (``Design.views``); those without a factor go by the others.
    ``levels`` are all levels of the factors, the first factor first; sizes and budgets have colors from light to dark.
    Where the levels do not tell lines apart, or are too many, the lines are numbered.
    """
    styles: dict[str, LineStyle] = {}
    for view in views:
        shown = [factor for factor in levels if any(factor in line for line in view.values())][:3]
        own = {label: _style({factor: levels[factor] for factor in shown}, line) for label, line in view.items()}
        styles = (own if len(set(own.values())) == len(own) else NUMBERED(own)) | styles
    return styles


def _style(levels: Mapping[str, Sequence[str]], line: Mapping[str, object]) -> LineStyle:
    places = [[*known, "None"].index(str(line.get(factor))) for factor, known in levels.items()]
    color, dashes, marker = (*places, 0, 0, 0)[:3]
    colors = _colors(*next(iter(levels.items()), ("", ())))
    return LineStyle(colors[color % len(colors)], DASHES[dashes % len(DASHES)], MARKERS[marker % len(MARKERS)])


def _colors(factor: str, levels: Sequence[str]) -> Sequence[str]:
    if factor not in _IN_ORDER or not 1 < len(levels) <= len(COLORS):
        return COLORS
    return [to_hex(colormaps["viridis"](float(place))) for place in np.linspace(0.85, 0, len(levels))]
