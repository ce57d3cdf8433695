"""The one home of how figures look: colours, sizes, fonts and axes."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.font_manager import fontManager
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, NullFormatter, NullLocator
from numpy.typing import NDArray

from ucurve.counts import format_count

ONE_COLUMN = 3.5  # inches, as in two-column proceedings
TWO_COLUMNS = 7.2
# Okabe and Ito's palette, told apart under the common kinds of colour blindness; its yellow is too pale on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", "--", "-.", (0, (1, 1)))
_CHINESE_FONTS = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei", "PingFang SC", "Hiragino Sans GB", "Microsoft YaHei", "SimHei", "Droid Sans Fallback",
    "AR PL UMing CN", "Arial Unicode MS",
)  # fmt: skip


@dataclass(frozen=True)
class LineStyle:
    """How one line is told from the others."""

    colour: str
    dashes: Any


def settings() -> dict[Any, Any]:
    """Return the matplotlib settings of every figure; a fixed salt makes SVG files repeat byte for byte."""
    return {
        "font.family": ["DejaVu Sans", *chinese_fonts()],
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
        "svg.hashsalt": "ucurve",
    }


@contextmanager
def drawing_style() -> Iterator[None]:
    """Draw with these settings; afterwards matplotlib's own are as they were."""
    with matplotlib.rc_context(settings()):
        yield


def chinese_fonts() -> list[str]:
    """Return the installed fonts that have Chinese characters, best first; empty where there is none."""
    installed = set(fontManager.get_font_names())
    return [name for name in _CHINESE_FONTS if name in installed]


def line_styles(names: Iterable[str]) -> dict[str, LineStyle]:
    """Give every name a style of its own: colours first, then dashes (28 styles in all)."""
    return {
        name: LineStyle(_COLOURS[index % len(_COLOURS)], _DASHES[index // len(_COLOURS) % len(_DASHES)])
        for index, name in enumerate(dict.fromkeys(names))
    }


def size_colours(sizes: Sequence[str]) -> dict[str, str]:
    """Give model sizes, smallest first, colours from light to dark that keep their order in grey."""
    places = np.linspace(0.85, 0.0, len(sizes)) if len(sizes) > 1 else [0.4]
    return {size: to_hex(colormaps["viridis"](float(place))) for size, place in zip(sizes, places, strict=True)}


class TokenAxis:
    """A logarithmic axis of training tokens with a place of its own for 0, left of a break.

    Attributes:
        zero: where 0 is drawn, in the units of the axis.
    """

    def __init__(self, tokens: Iterable[float]) -> None:
        """Lay the axis out for the token counts that will be drawn (0 or more, NaN ignored)."""
        positive = sorted({float(value) for value in tokens if value > 0}) or [1.0]
        self._first, self._last = positive[0], positive[-1]
        decades = math.log10(self._last / self._first)
        self.zero = self._first / 10 ** max(0.3, 0.12 * decades)

    def places(self, tokens: Iterable[float]) -> NDArray[np.float64]:
        """Return where token counts are drawn: themselves, and ``zero`` for 0."""
        values = np.asarray(list(tokens), dtype=np.float64)
        return np.where(values == 0, self.zero, values)

    def apply(self, axes: Axes, most_ticks: int, *, minor: bool) -> None:
        """Set scale, limits, ticks (labelled ones at powers of ten, minor ones between them) and the break mark."""
        axes.set_xscale("log")
        margin = (self._last / self.zero) ** 0.05
        axes.set_xlim(self.zero / margin, self._last * margin)
        ticks = self._ticks(most_ticks)
        axes.xaxis.set_major_locator(FixedLocator([self.zero, *ticks]))
        axes.xaxis.set_major_formatter(FixedFormatter(["0", *(format_count(round(tick)) for tick in ticks)]))
        axes.xaxis.set_minor_locator(FixedLocator(self._minor_ticks()) if minor else NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())
        middle = math.sqrt(self.zero * self._first)
        axes.text(
            middle, 0, "//", transform=axes.get_xaxis_transform(), ha="center", va="center", fontsize=6,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.2},
        )  # fmt: skip

    def _ticks(self, most: int) -> list[float]:
        near = 0.01  # a budget of whole batches ends just short of its power of ten
        powers = range(math.ceil(math.log10(self._first) - near), math.floor(math.log10(self._last) + near) + 1)
        if len(powers) < 2:
            return sorted({self._first, self._last})
        every = math.ceil(len(powers) / most)
        return [10.0**power for power in reversed(list(reversed(powers))[::every])]

    def _minor_ticks(self) -> list[float]:
        powers = range(math.floor(math.log10(self._first)), math.ceil(math.log10(self._last)) + 1)
        ticks = (digit * 10.0**power for power in powers for digit in range(1, 10))
        return [tick for tick in ticks if self._first <= tick <= self._last]


def percent_axis(axes: Axes, lowest: float) -> None:
    """Show fractions as percent, from just below ``lowest`` (at most 45) to 100, with a line at chance (50)."""
    bottom = min(0.45, math.floor(20 * lowest) / 20) if math.isfinite(lowest) else 0.45
    axes.set_ylim(max(0.0, bottom), 1.01)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}"))
    axes.axhline(0.5, color="0.55", linewidth=0.6, linestyle=(0, (1, 2)), zorder=0)


def readable(name: str) -> str:
    """Write a name of a phenomenon or benchmark for people: underscores become spaces."""
    return name.replace("_", " ")
