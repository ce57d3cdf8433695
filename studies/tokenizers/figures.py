"""The figures of the study's page, drawn from its CSV files."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from ucurve.analysis.plotting.facets import Panels, draw_line, draw_panels, line_legend
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import NUMBERED, TokenAxis
from ucurve.analysis.scaling.section import draw_accuracy_against_bits

_CRITERIA = {"delta_acc": "Least length bias", "accuracy": "Highest accuracy"}
_ALPHA_NOTE = "Line: mean over the seeds of a tokenizer; band: 95 % interval (Student's t)."


def draw_study(tables: Mapping[str, pd.DataFrame]) -> list[Drawing]:
    """Draw accuracy against bits per byte, overall and by phenomenon, and the best alpha against tokens."""
    curves = tables["curves"]
    lines = curves.assign(line=curves["tokenizer"])
    return [*draw_accuracy_against_bits(lines, "study_bits", "a line for each tokenizer"), _draw_alphas(tables)]


def _draw_alphas(tables: Mapping[str, pd.DataFrame]) -> Drawing:
    table = tables["best_alpha"]
    styles, axis = NUMBERED(sorted(table["tokenizer"].unique())), TokenAxis(table["tokens"])

    def draw(axes: Axes, rows: pd.DataFrame) -> None:
        axis.apply(axes, most_ticks=4, minor=False)
        for tokenizer, style in styles.items():
            line = rows[rows["tokenizer"] == tokenizer]
            band = line["low"], line["high"]
            draw_line(axes, style, axis.places(line["tokens"]), line["alpha"], band, marker="o", markersize=1.2)
        axes.set_ylim(0, 1.02)

    panels: Panels = [(title, table[table["criterion"] == name]) for name, title in _CRITERIA.items()]
    labels = ("Training tokens (log scale, 0 set apart)", "Best alpha of SLLN-LP")
    legend = line_legend(styles, table, "tokenizer")
    figure = draw_panels(panels, draw, labels, _ALPHA_NOTE, legend)
    return Drawing("study_alpha", "The best alpha over training", _ALPHA_NOTE, figure, table)
