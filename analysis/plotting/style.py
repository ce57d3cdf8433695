"""The look of all figures: sizes, fonts, axes, and color, dashes and marker of lines, the same in figure and chart."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.font_manager import findSystemFonts, fontManager
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, NullFormatter
from matplotlib.typing import LineStyleType
from numpy.typing import NDArray

from ucurve.fields import format_count

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

ONE_COLUMN = 3.5  # inches, as in two-column proceedings
TWO_COLUMNS = 7.2
ALL_PHENOMENA = "all phenomena"
_CHINESE_FONTS = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei", "PingFang SC", "Hiragino Sans GB", "Microsoft YaHei", "SimHei", "Droid Sans Fallback",
    "AR PL UMing CN", "Arial Unicode MS", "Noto Sans CJK JP",  # the name of the whole collection in Debian's package
)  # fmt: skip
_OTHER_FONTS = (  # of scripts that DejaVu has not
    "Noto Sans CJK KR", "Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Telugu",
    "Noto Sans Thai", "Noto Sans Ethiopic", "Lohit Devanagari", "Nirmala UI", "Malgun Gothic",
)  # fmt: skip
# Okabe and Ito's palette, which readers with color blindness can distinguish; its yellow is too pale on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES: tuple[LineStyleType, ...] = ("-", "--", "-.", (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")
MOST_BANDS = 3  # lines whose bands can be told apart
FEWEST_IN_PANELS = 12  # lines that have a panel for each level of a factor
_IN_ORDER = ("size", "budget")  # factors whose levels go from less to more
# of a line at chance, or at 0, below what is drawn
DOTTED: dict[str, Any] = {"color": "0.55", "linewidth": 0.6, "linestyle": (0, (1, 2)), "zorder": 0}


@contextmanager
def drawing_style() -> Iterator[None]:
    """Draw with the settings of all figures; afterwards matplotlib's own are as they were."""
    settings: dict[RcKeyType, object] = {
        "font.family": ["DejaVu Sans", *chinese_fonts(), *installed_fonts(_OTHER_FONTS)],
        "font.size": 7.5,
        "axes.titlesize": 7.5,
        "axes.titley": 1.0,  # fixed: placing it around the ticks takes most of the time of drawing
        "axes.labelsize": 7.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.6,
        "xtick.labelsize": 6.5,
        "ytick.labelsize": 6.5,
        "legend.fontsize": 6.5,
        "legend.frameon": False,
        "lines.linewidth": 1.1,
        "svg.hashsalt": "ucurve",  # fixed, so that SVG files repeat byte for byte
        "pdf.fonttype": 42,  # TrueType: text stays text, which publishers ask for
    }
    with matplotlib.rc_context(settings):
        yield


@cache
def chinese_fonts() -> tuple[str, ...]:
    """Return the installed fonts that have Chinese characters, best first; empty where there is none."""
    if not set(_CHINESE_FONTS) & set(fontManager.get_font_names()):
        # They may have been installed after matplotlib made its list, which it makes only once.
        known = {entry.fname for entry in fontManager.ttflist}
        for path in set(findSystemFonts()) - known:
            with suppress(OSError, RuntimeError, ValueError):  # raised for files that it cannot read
                fontManager.addfont(path)
    return installed_fonts(_CHINESE_FONTS)


@cache
def installed_fonts(names: Sequence[str]) -> tuple[str, ...]:
    """Return which of some fonts are installed, in their order."""
    installed = set(fontManager.get_font_names())
    return tuple(name for name in names if name in installed)


class TokenAxis:
    """A logarithmic axis of training tokens with a place of its own for 0, left of a break.

    0 is drawn at ``zero``; ``first`` and ``last`` are the first count above 0 and the last one.
    """

    def __init__(self, tokens: Iterable[float]) -> None:
        """Lay the axis out for the token counts that will be drawn (0 or more, NaN ignored)."""
        positive = sorted({float(value) for value in tokens if value > 0}) or [1.0]
        self.first, self.last = positive[0], positive[-1]
        decades = math.log10(self.last / self.first)
        # The gap has to be visible, so it is at least 0.3 decades wide, and wider on a long axis.
        self.zero = self.first / 10 ** max(0.3, 0.12 * decades)

    def places(self, tokens: Iterable[float]) -> NDArray[np.float64]:
        """Return where token counts are drawn: themselves, and ``zero`` for 0."""
        values = np.asarray(list(tokens), dtype=np.float64)
        return np.where(values == 0, self.zero, values)

    def apply(self, axes: Axes, most_ticks: int, *, minor: bool) -> None:
        """Set scale, limits, ticks and the break mark of one panel; the arguments are those of ``log_axis``."""
        _set_log_scale(axes, self.zero, self.last)
        ticks = log_ticks(self.first, self.last, most_ticks)
        labels = ["0", *(token_label(tick) for tick in ticks)]
        _set_ticks(axes, [self.zero, *ticks], labels, _minor_ticks(self.first, self.last) if minor else [])
        axes.text(
            math.sqrt(self.zero * self.first),
            0,
            "//",
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="center",
            fontsize=6,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.2},
        )


def log_axis(
    axes: Axes, values: Iterable[float], label: Callable[[float], str], most_ticks: int, *, minor: bool
) -> None:
    """Make the horizontal axis of a panel logarithmic, for the values (above 0) that will be drawn on it."""
    positive = list(values)
    low, high = min(positive), max(positive)
    ticks = log_ticks(low, high, most_ticks)
    _set_log_scale(axes, low, high)
    _set_ticks(axes, ticks, [label(tick) for tick in ticks], _minor_ticks(low, high) if minor else [])


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Choose ticks on a logarithmic axis: powers of ten, every second or third where they are more than ``most``.

    Where there are not two of them, they are 1, 2 and 5 times a power of ten; without any of those, the two ends.
    """
    near = 0.01  # in decades: a budget of whole batches ends just short of its power of ten
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1,), (1, 2, 5)):
        candidates = [digit * 10.0**power for power in powers for digit in digits]
        ticks = [
            tick for tick in candidates if math.log10(low) - near <= math.log10(tick) <= math.log10(high) + near
        ]
        if len(ticks) > 1:
            return ticks[:: -math.ceil(len(ticks) / most)][::-1]
    return sorted({low, high})


def token_label(tokens: float) -> str:
    """Label a tick of tokens: ``10M``."""
    return format_count(round(tokens))


def rounded_count(number: float, digits: int = 3) -> str:
    """Write a count for people, with so many significant digits: ``1.23M`` for 1,234,567."""
    return format_count(int(float(f"{number:.{digits}g}")))


def power_label(value: float) -> str:
    """Label a tick of a large number in powers of ten, such as 2 times 10 to the 15."""
    digits, power = f"{value:.1e}".split("e")
    times = "" if float(digits) == 1 else rf"{float(digits):g}{{\times}}"
    return f"${times}10^{{{int(power)}}}$"


def _set_log_scale(axes: Axes, low: float, high: float) -> None:
    axes.set_xscale("log")
    margin = (high / low) ** 0.05 if high > low else 2.0  # a single place would leave the axis without a length
    axes.set_xlim(low / margin, high * margin)


def _set_ticks(axes: Axes, ticks: Sequence[float], labels: Sequence[str], minor: Sequence[float]) -> None:
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FixedFormatter(labels))
    axes.xaxis.set_minor_locator(FixedLocator(minor))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _minor_ticks(low: float, high: float) -> list[float]:
    """Return 1 to 9 times every power of ten within an axis."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = (digit * 10.0**power for power in powers for digit in range(1, 10))
    return [tick for tick in ticks if low <= tick <= high]


def percent_axis(axes: Axes, lowest: float) -> None:
    """Show fractions as percent, from ``percent_bottom`` to 100, with a line at chance (50)."""
    bottom = percent_bottom(lowest)
    axes.set_ylim(bottom, 1.01)  # above 100 %, so that no point there is cut
    axes.yaxis.set_major_locator(FixedLocator([tick / 100 for tick in percent_ticks(bottom)]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}"))
    axes.axhline(0.5, **DOTTED)


def lowest_of(table: pd.DataFrame) -> float:
    """Return the lowest number to be drawn of the columns ``accuracy`` and ``low``; NaN where there is none."""
    return float(table[["low", "accuracy"]].min().min())  # a lone seed of several has no low


def percent_bottom(lowest: float) -> float:
    """Return where an axis of fractions begins: just below the lowest one drawn, at most at 0.45."""
    # Steps of 5 points keep the axes of similar figures equal, and chance is always on the axis.
    return max(0.0, min(0.45, math.floor(20 * lowest) / 20)) if math.isfinite(lowest) else 0.45


def percent_ticks(bottom: float) -> list[int]:
    """Return the percents with a label on an axis that begins at a fraction, on paper and on pages."""
    return [tick for tick in range(0, 101, 10 if bottom > 0.2 else 25) if tick >= 100 * bottom]


def phenomenon_name(name: str) -> str:
    """Write a value of ``phenomenon`` for people."""
    return ALL_PHENOMENA if name == "all" else readable(name)


def phenomenon_order(name: str) -> tuple[bool, str]:
    """Return what phenomena are sorted by: all together first, then the alphabet."""
    return name != ALL_PHENOMENA, name.casefold()


def readable(name: str) -> str:
    """Write a name of a phenomenon or benchmark for people: underscores become spaces."""
    return name.replace("_", " ")


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
_EVERY = [
    LineStyle(color, dashes, marker) for marker, dashes, color in itertools.product(MARKERS, DASHES, COLORS)
]


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
    """Return the style of a line by its levels of up to three factors; one that it lacks comes after all levels."""
    places = [[*known, "None"].index(str(line.get(factor))) for factor, known in levels.items()]
    color, dashes, marker = (*places, 0, 0, 0)[:3]
    first, of_first = next(iter(levels.items()), ("", ()))
    colors: Sequence[str] = COLORS
    if first in _IN_ORDER and 1 < len(of_first) <= len(COLORS):
        # The end of viridis is too pale on white.
        colors = [to_hex(colormaps["viridis"](float(place))) for place in np.linspace(0.85, 0, len(of_first))]
    return LineStyle(colors[color % len(colors)], DASHES[dashes % len(DASHES)], MARKERS[marker % len(MARKERS)])
