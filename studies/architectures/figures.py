"""The figures of the study's page, drawn from its CSV files."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.architectures.tables import PLANNED
from ucurve.analysis.plotting.facets import (
    Panels,
    draw_line,
    draw_over_tokens,
    draw_panels,
    line_legend,
    overall_and_phenomena,
)
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import (
    NUMBERED,
    LineStyle,
    TokenAxis,
    log_axis,
    lowest_of,
    percent_axis,
    power_label,
)
from ucurve.analysis.scaling.section import draw_accuracy_against_bits

_BAND = "Line: mean over the seeds of an architecture; band: ± 1 sample sd over seeds, where there are several."
_LOSS = "Mean held-out loss over the seeds of an architecture; masked models have none that compares with it."


def draw_study(tables: Mapping[str, pd.DataFrame]) -> list[Drawing]:
    """Draw accuracies over tokens, over FLOPs and against the held-out loss, and the loss over tokens."""
    curves = tables["curves"]
    trained = curves[curves["tokens"] > 0]
    causal = trained[trained["bits_per_byte"].notna()]
    return [
        *_draw_over_tokens(curves),
        _draw_over_flops(trained[trained["phenomenon"] == "all"]),
        *draw_accuracy_against_bits(causal, "architectures_bits", "a line for each architecture"),
        _draw_loss(causal[causal["phenomenon"] == "all"]),
    ]


def styles_of(table: pd.DataFrame) -> dict[str, LineStyle]:
    """Give each architecture the style that it has in every figure, also where others are missing."""
    styles = NUMBERED([*PLANNED, *table["line"]])
    return {name: styles[name] for name in dict.fromkeys(table["line"])}


def _draw_over_tokens(curves: pd.DataFrame) -> list[Drawing]:
    styles = styles_of(curves)

    def draw_line_of(axes: Axes, rows: pd.DataFrame, axis: TokenAxis) -> None:
        for name, style in styles.items():
            line = rows[rows["line"] == name]
            draw_line(axes, style, axis.places(line["tokens"]), line["accuracy"], (line["low"], line["high"]))

    def draw(rows: pd.DataFrame, panels: Panels) -> Figure:
        return draw_over_tokens(rows, panels, draw_line_of, _BAND, line_legend(styles, curves, "line"))

    return overall_and_phenomena(curves, "architectures_tokens", "Accuracy over training tokens", _BAND, draw)


def _draw_over_flops(overall: pd.DataFrame) -> Drawing:
    styles = styles_of(overall)
    note = f"FLOPs are those of matrix products in training. {_BAND}"

    def draw(axes: Axes, rows: pd.DataFrame) -> None:
        log_axis(axes, rows["flops"], power_label, most_ticks=4, minor=True)
        for name, style in styles.items():
            line = rows[rows["line"] == name]
            draw_line(axes, style, line["flops"], line["accuracy"], (line["low"], line["high"]))
        percent_axis(axes, lowest_of(rows))

    labels = ("Training FLOPs (log scale)", "Accuracy (%)")
    figure = draw_panels([("", overall)], draw, labels, note, line_legend(styles, overall, "line"))
    return Drawing("architectures_flops", "Accuracy over training FLOPs", note, figure, overall)


def _draw_loss(overall: pd.DataFrame) -> Drawing:
    styles = styles_of(overall)
    bits = overall["bits_per_byte"]

    def draw(axes: Axes, rows: pd.DataFrame, axis: TokenAxis) -> None:
        for name, style in styles.items():
            line = rows[rows["line"] == name]
            axes.plot(
                axis.places(line["tokens"]), line["bits_per_byte"], color=style.color, linestyle=style.dashes
            )
        axes.set_ylim(bits.min() - 0.1, bits.max() + 0.1)

    label = f"{str(overall['loss'].iloc[0]).capitalize()} loss (bits per byte)"
    legend = line_legend(styles, overall, "line")
    figure = draw_over_tokens(overall, [("", overall)], draw, _LOSS, legend, label)
    return Drawing("architectures_loss", "The held-out loss", _LOSS, figure, overall)
