"""Margins over training: not only whether pairs are right but by how much, from the stored scores of each pair."""

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.figures.described import TOKENS, LineFigure, Up
from ucurve.analysis.figures.drawings import picture
from ucurve.analysis.items.histories import Floats, History, read_histories
from ucurve.analysis.plotting.style import readable
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns

BEYOND = 1.0  # in the unit of the linking function; of log probabilities a factor of 2.7
_QUANTILES = {
    "margin_q05": 0.05,
    "margin_q25": 0.25,
    "margin_median": 0.5,
    "margin_q75": 0.75,
    "margin_q95": 0.95,
}
MARGIN_COLUMNS = (
    "run", "line", "phenomenon", "step", "tokens", "n", "margin_mean", "margin_sd", *_QUANTILES, "d_prime", "wrong",
    "wrong_by_more",
)  # fmt: skip
_SHOWN = table_columns(
    "line",
    "phenomenon",
    "n",
    "runs",
    "tokens",
    Column("wrong", "Wrong (%)", "percent"),
    Column("wrong_by_more", f"Wrong by more than {BEYOND:g} (%)", "percent"),
    *(
        Column(name, f"Margin: {_QUANTILES[name]:.0%}", "number")
        for name in ("margin_median", "margin_q05", "margin_q95")
    ),
    Column("d_prime", "d'", "number"),
)
_FIGURE_NOTE = (
    "Line: median margin of the pairs, mean over runs; band: quartiles of the pairs, mean over runs; dotted: 0."
)


@questions.section(questions.PAIRS, place=3, page="docs/items.md")
def margin_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Report the margins of each line over training; nothing without scores of single pairs."""
    histories = read_histories(scored)
    if not histories:
        return
    table, name = margin_table(histories), f"margins_{scored.file_name}"
    # The mean over the runs of each line, at the steps that all of them have.
    groups = table.groupby(["line", "phenomenon", "step"], sort=False, observed=True)
    means = groups.mean(numeric_only=True).assign(runs=groups.size()).reset_index()
    lines = means[means["runs"] == means.groupby("line")["runs"].transform("max")]  # else the mean may jump
    last = lines[lines["step"] == lines.groupby("line", observed=True)["step"].transform("max")]
    note = (
        f"By how much pairs are right at the last checkpoint, {scored.title}: quantiles of the margins, which are "
        "linked values of the good sentence less the bad one's. d' is √2 times their mean over their standard "
        "deviation; margins that are normally distributed have an accuracy of Φ(d' / √2) (Macmillan and Creelman 2005, "
        f"chapter 7). A pair that is wrong by more than {BEYOND:g} is a clear error and no near tie. A "
        "model is the mean of its runs; the CSV has every run and checkpoint."
    )
    view = TableView(
        note, _SHOWN, last.assign(phenomenon=last["phenomenon"].map(readable)), {name: table}, "wrong"
    )
    overall = lines[lines["phenomenon"] == "all"]
    text = f"Margins against training tokens, {scored.title}. {_FIGURE_NOTE}"
    banded = overall.rename(columns={"margin_q25": "low", "margin_q75": "high"})
    margin = Up("margin_median", f"Margin ({scored.linking})", level=0)
    figure = LineFigure(banded, TOKENS, margin, _FIGURE_NOTE, scored.study.look)
    drawing = picture(figure, f"{name}_overall", "Margins, overall", text, overall)
    yield ReportSection(f"Margins on {scored.heading}", (drawing, view))


def margin_table(histories: Iterable[History], beyond: float = BEYOND) -> pd.DataFrame:
    """Describe the margins of pairs by run, phenomenon (``all`` for all pairs) and checkpoint, in ``MARGIN_COLUMNS``.

    ``wrong`` is the share of pairs whose margin is below 0, and ``wrong_by_more`` of those below minus ``beyond``, in
    the unit of the linking function; ``d_prime`` is missing where all margins are equal.
    """
    rows = (
        history.checkpoints[["step", "tokens"]].assign(
            run=history.run.label,
            line=history.run.line,
            phenomenon=phenomenon,
            n=len(items),
            **_margin_numbers(history.margins[:, items], beyond),
        )
        for history in histories
        for phenomenon, items in history.parts()
    )
    return stack(rows, MARGIN_COLUMNS)[list(MARGIN_COLUMNS)]


def _margin_numbers(margins: Floats, beyond: float) -> dict[str, Floats]:
    """Describe margins, float64[steps, items], by a number for each step."""
    mean, sd = margins.mean(axis=1), margins.std(axis=1)
    quantiles = np.quantile(margins, list(_QUANTILES.values()), axis=1)
    return {
        "margin_mean": mean,
        "margin_sd": sd,
        **dict(zip(_QUANTILES, quantiles, strict=True)),
        "d_prime": np.divide(np.sqrt(2) * mean, sd, out=np.full_like(mean, np.nan), where=sd > 0),
        "wrong": (margins < 0).mean(axis=1),
        "wrong_by_more": (margins < -beyond).mean(axis=1),
    }
