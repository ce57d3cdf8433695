"""Curves of n-gram models under the curve of the model: figures of a benchmark, and the same as interactive charts."""

from dataclasses import replace

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ucurve.analysis.charts.curves import learning_chart
from ucurve.analysis.plotting.facets import Panels, draw_over_tokens, overall_and_phenomena
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.line_styles import NUMBERED, LineStyle
from ucurve.analysis.plotting.style import TokenAxis

MODEL = "model"
_NOTE = (
    "Thick line: the model, mean over its runs; thin dashed lines: n-gram models of the tokens that it had seen at "
    "each checkpoint."
)
_VALUES = ("accuracy", "ngram_accuracy", "pearson", "kappa", "accuracy_where_wrong")


def ngram_curves(agreement: pd.DataFrame) -> pd.DataFrame:
    """Average the runs of each line: the model's accuracy, and for each order what it has in common with the model."""
    lines = agreement.groupby(["line", "phenomenon", "order", "step"], sort=False)
    return lines[["tokens", *_VALUES]].mean().assign(runs=lines["run"].nunique()).reset_index()


def draw_ngram_curves(curves: pd.DataFrame, name: str, title: str) -> list[Drawing]:
    """Draw the rows of ``ngram_curves``: overall and by phenomenon; several lines of runs have figures of their own."""
    lines = list(dict.fromkeys(curves["line"]))
    drawings = []
    for place, line in enumerate(lines):
        rows = _long(curves[curves["line"] == line])
        of_line, suffix = (f", {line}", f"_line{place + 1}") if len(lines) > 1 else ("", "")
        note = f"Accuracy against training tokens, {title}{of_line}. {_NOTE}"
        drawn = overall_and_phenomena(rows, f"{name}{suffix}", f"n-gram models beside the model{of_line}", note, _draw)
        drawings += [
            replace(one, chart=learning_chart(_chart_rows(one.table), one.title, note, "curve")) for one in drawn
        ]
    return drawings


def _long(curves: pd.DataFrame) -> pd.DataFrame:
    """Give the model and each order rows of their own: ``curve``, ``accuracy``, and the agreement of an order."""
    shared = ["line", "phenomenon", "step", "tokens", "runs"]
    model = curves.drop_duplicates(["phenomenon", "step"])[[*shared, "accuracy"]].assign(curve=MODEL)
    columns = [*shared, "ngram_accuracy", "pearson", "kappa", "accuracy_where_wrong"]
    orders = curves[columns].rename(columns={"ngram_accuracy": "accuracy"})
    orders = orders.assign(curve=[f"{order}-gram" for order in curves["order"]])
    table = pd.concat([model, orders], ignore_index=True)
    return table.assign(
        low=table["accuracy"], curve=pd.Categorical(table["curve"], list(dict.fromkeys(table["curve"])))
    )


def _chart_rows(table: pd.DataFrame) -> pd.DataFrame:
    return table.drop(columns="line").astype({"curve": str}).assign(low=float("nan"), high=float("nan"), whole=True)


def _draw(table: pd.DataFrame, panels: Panels) -> Figure:
    named = NUMBERED(table["curve"].cat.categories)
    styles = {name: LineStyle(one.color, "-" if name == MODEL else (0, (4, 2))) for name, one in named.items()}
    widths = {name: 1.5 if name == MODEL else 0.7 for name in styles}

    def draw(axes: Axes, rows: pd.DataFrame, axis: TokenAxis) -> None:
        for name, style in styles.items():
            line = rows[rows["curve"] == name].sort_values("tokens")
            x = axis.places(line["tokens"])
            axes.plot(x, line["accuracy"], color=style.color, linestyle=style.dashes, lw=widths[name])

    legend = {
        name: Line2D([], [], color=style.color, linestyle=style.dashes, linewidth=widths[name])
        for name, style in styles.items()
    }
    return draw_over_tokens(table, panels, draw, _NOTE, legend)
