"""n-gram models in the report: curves under the model's curve, agreement, and what they account for of each dip."""

from collections.abc import Iterable
from dataclasses import replace

import pandas as pd

from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.figures.described import ACCURACY, TOKENS, LineFigure
from ucurve.analysis.figures.drawings import overall_and_phenomena
from ucurve.analysis.ngrams.dips import LEAST_FIT, LEAST_SHARE, account_table, describe_dips, significant_dips
from ucurve.analysis.ngrams.scores import read_beside_ngrams
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import DASHES, NUMBERED, LineStyles, readable
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.analysis.shape.classify import LEVEL
from ucurve.analysis.shape.section import read_shapes
from ucurve.gather import gather

MODEL = "model"
_NOTE = (
    "Solid line: the model, mean over its runs; dashed lines: n-gram models of the tokens that it had seen at each "
    "checkpoint."
)
_VALUES = ("accuracy", "ngram_accuracy", "pearson", "kappa", "accuracy_where_wrong")
_DIPS = table_columns(
    "line",
    "phenomenon",
    Column("order", "Order", "count"),
    Column("named", "Accounts for it"),
    Column("fall", "Fall (points)", "percent"),
    Column("share", "Share beyond chance, % (95 % interval)", "percent", ("share_low", "share_high")),
    "p",
    Column("bottom", "Bottom (tokens)", "count"),
    Column("start", "From (tokens)", "count"),
    Column("wrong", "n-gram wrong (%)", "percent"),
    Column("raw_share", "Losses on these (%)", "percent"),
    Column("fit", "Fit", "number"),
    Column("fits_best", "Fits best (%)", "percent"),
    Column("kappa_start", "Kappa before", "number"),
    Column("kappa_bottom", "Kappa at bottom", "number"),
)
_ACCOUNT = (
    "A dip is the fall of a smoothed curve that the test of shape finds, from the highest checkpoint before it (From) "
    "to its lowest. Share beyond chance: how much of the losses lies on the pairs that the n-gram model of the tokens "
    "seen at the bottom gets wrong, beyond what would lie there if losses did not depend on it; 0 % is chance, 100 % "
    "means that the pairs which it gets right lose nothing on balance, and more that they gain. An order accounts for "
    f"a dip if its share is at least {100 * LEAST_SHARE:.0f} %, its errors correlate with the losses within paradigms "
    f"by at least {LEAST_FIT:g} (Fit), and two tests within paradigms hold at {LEVEL:g}: pairs that it gets wrong lose "
    "more than others, and the model is right at the bottom where it is right (the larger p, Holm over orders). Of "
    "several such orders the one with the best fit is named (Fits best: in what share of resamples). Intervals are "
    "over pairs. To account for a dip is to go together with it: it does not show that the model computes n-grams."
)


def draw_ngram_curves(curves: pd.DataFrame, name: str, title: str) -> list[Drawing]:
    """Draw means over the runs of lines, overall and by phenomenon; several lines of runs have figures of their own.

    ``curves`` has ``line``, ``phenomenon``, ``order``, ``step``, ``tokens``, ``runs`` and the means of ``_VALUES``.
    """
    lines = list(dict.fromkeys(curves["line"]))
    drawings = []
    for place, line in enumerate(lines):
        # The model and each order have rows of their own: ``curve``, ``accuracy``, and the agreement of an order.
        own = curves[curves["line"] == line]
        shared = ["line", "phenomenon", "step", "tokens", "runs"]
        model = own.drop_duplicates(["phenomenon", "step"])[[*shared, "accuracy"]].assign(curve=MODEL)
        columns = [*shared, "ngram_accuracy", "pearson", "kappa", "accuracy_where_wrong"]
        orders = own[columns].rename(columns={"ngram_accuracy": "accuracy"})
        orders = orders.assign(curve=[f"{order}-gram" for order in own["order"]])
        table = pd.concat([model, orders], ignore_index=True)
        rows = table.assign(
            low=table["accuracy"], curve=pd.Categorical(table["curve"], list(dict.fromkeys(table["curve"])))
        )
        of_line, suffix = (f", {line}", f"_line{place + 1}") if len(lines) > 1 else ("", "")
        note = f"Accuracy against training tokens, {title}{of_line}. {_NOTE}"
        what = f"n-gram models beside the model{of_line}"
        drawings += overall_and_phenomena(rows, f"{name}{suffix}", what, note, _ngram_figure)
    return drawings


def _ngram_figure(table: pd.DataFrame) -> LineFigure:
    styles = NUMBERED(table["curve"].cat.categories)
    dashed = {name: replace(style, dashes=DASHES[name != MODEL]) for name, style in styles.items()}
    rows = table.drop(columns="low").sort_values("curve", kind="stable")
    return LineFigure(rows, TOKENS, ACCURACY, _NOTE, LineStyles(dashed), line="curve", counted=())


@questions.section(questions.SHAPES, place=6, page="docs/ngrams.md")
def ngram_sections(scored: BenchmarkScores) -> Iterable[ReportSection]:
    """Compare the runs of a benchmark with n-gram models of their training tokens; nothing where there are none."""
    shapes = read_shapes(scored)
    if shapes is None:
        return
    classes = shapes.classes
    lines = gather((one.run.line, one) for one in read_beside_ngrams(scored) if len(one.agreement))
    if not lines:
        return
    agreement = pd.concat([one.agreement for members in lines.values() for one in members], ignore_index=True)
    # Means over the runs of each line, of the model's accuracy and of what each order has in common with it.
    of_lines = agreement.groupby(["line", "phenomenon", "order", "step"], sort=False)
    curves = of_lines[["tokens", *_VALUES]].mean().assign(runs=of_lines["run"].nunique()).reset_index()
    drawings = draw_ngram_curves(curves, f"ngram_curves_{scored.file_name}", scored.title)
    accounts = account_table(significant_dips(classes), lines, scored.study.settings.cluster)
    runs = dict(zip(classes["line"], classes["runs"], strict=True)) if len(classes) else {}
    # A dip is in the mean over all runs of a line, so n-gram scores of only some of the runs cannot explain it.
    partial = [
        f"{line}: {len(lines.get(line, ()))} of its {count} runs have n-gram scores, so its dips are not compared."
        for line, count in runs.items()
        if len(lines.get(line, ())) != count
    ]
    views = []
    if len(accounts):
        shown = accounts.assign(
            phenomenon=accounts["phenomenon"].map(readable), named=accounts["named"].map({True: "yes", False: ""})
        )
        files = {f"ngram_dips_{scored.file_name}": accounts}
        views.append(TableView(f"{scored.title}. {_ACCOUNT}", _DIPS, shown, files, "p"))
    found = describe_dips(accounts)
    texts = [*(found or ["The test of shape finds no dip that could be compared with n-gram models."]), *partial]
    yield ReportSection(
        f"n-gram models beside the model on {scored.heading}",
        (*texts, *drawings, *views),
        {f"ngrams_{scored.file_name}": agreement},
    )
