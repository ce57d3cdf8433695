"""Curves of n-gram models under the curve of the model: figures of a benchmark, and the same as interactive charts."""

from dataclasses import replace

import pandas as pd

from ucurve.analysis.figures.described import ACCURACY, TOKENS, LineFigure
from ucurve.analysis.figures.drawings import overall_and_phenomena
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.line_styles import DASHES, NUMBERED, LineStyles

MODEL = "model"
_NOTE = (
    "Solid line: the model, mean over its runs; dashed lines: n-gram models of the tokens that it had seen at each "
    "checkpoint."
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
        what = f"n-gram models beside the model{of_line}"
        drawings += overall_and_phenomena(rows, f"{name}{suffix}", what, note, _describe)
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


def _describe(table: pd.DataFrame) -> LineFigure:
    styles = NUMBERED(table["curve"].cat.categories)
    dashed = {name: replace(style, dashes=DASHES[name != MODEL]) for name, style in styles.items()}
    rows = table.drop(columns="low").sort_values("curve", kind="stable")
    return LineFigure(rows, TOKENS, ACCURACY, _NOTE, LineStyles(dashed), line="curve", counted=())
