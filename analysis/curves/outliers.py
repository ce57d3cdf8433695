"""Runs that are outliers among their seeds: further from the other runs of their line than these are from each other.

Each curve is described by a number for each run, and the run that lies farthest from the others is tested by its
studentized distance, for the number of runs by Bonferroni (Grubbs 1969, "Procedures for detecting outlying observations
in samples", section 4, which this equals).
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.stats import t as student

from ucurve.analysis.curves.loss import loss_by_run
from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.plotting.style import readable
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.eval.metrics.sampling import CONFIDENCE
from ucurve.eval.metrics.significance import holm

FEWEST_RUNS = 4  # with three, the other two tell next to nothing about how far runs lie apart
AT_THE_END, OVER_TRAINING, LOSS = "accuracy at the end", "accuracy over training", "loss at the end"
OUTLIER_COLUMNS = (
    "line", "runs", "measure", "phenomenon", "run", "value", "others", "others_sd", "t", "p", "p_holm", "outlier",
)  # fmt: skip
_SHOWN = table_columns(
    "line",
    Column("measure", "Of"),
    "phenomenon",
    Column("run", "Farthest run"),
    Column("value", "Its value", "number"),
    Column("others", "Mean of the others", "number"),
    Column("others_sd", "sd", "number"),
    "runs",
    "p_holm",
)
_NEAR = 1e-12  # what rounding leaves of the spread of equal values


@questions.section(questions.PAIRS, place=4)
def outlier_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Name the runs that are outliers among their seeds; nothing where no line has four runs."""
    table = outlier_table(scored.curve_rows(), scored.study)
    if table.empty:
        return
    found = table[table["outlier"]]
    shown = table[table["outlier"] | table["phenomenon"].isin(("all", ""))]
    scale = np.where(shown["measure"] == LOSS, 1, 100)
    numbers = {name: scale * shown[name] for name in ("value", "others", "others_sd")}
    note = (
        f"The run that lies farthest from the other seeds of its line, {scored.title}: accuracies in percent at the "
        "last checkpoint of all its runs and in the mean over checkpoints, and the loss in bits per byte. p: Grubbs' "
        f"test (1969), with Holm over all rows of a line; lines of fewer than {FEWEST_RUNS} runs are not tested. "
        "Listed are the overall rows and all outliers; the CSV has every phenomenon."
    )
    view = TableView(
        note,
        _SHOWN,
        shown.assign(phenomenon=shown["phenomenon"].map(readable), **numbers),
        {f"seed_outliers_{scored.file_name}": table},
    )
    runs = ", ".join(dict.fromkeys(found["run"].astype(str)))
    named = f": {runs}" if runs else ""
    text = f"{len(found)} of {len(table)} curves have a run that is an outlier among its seeds{named}."
    heading = f"Outliers among seeds on {scored.heading}"
    left_out = "" if len(found) else "no run is an outlier among its seeds"
    yield ReportSection(heading, (text, view), left_out=left_out)


def outlier_table(scores: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Test the farthest run of every curve of lines of four runs and more, in ``OUTLIER_COLUMNS``.

    ``scores`` are rows of ``curve_table``. ``value`` is of the run, ``others`` and ``others_sd`` mean and standard
    deviation of the other runs; ``p_holm`` is adjusted over the rows of a line. A curve whose other runs are all equal
    has no row.
    """
    # The held-out loss is of the same text in all runs, that of training of each run's own batches.
    losses = loss_by_run(study.held_out if len(study.held_out) else study.metrics)
    return stack(
        (
            _of_line(str(line), rows, losses[losses["line"] == line])
            for line, rows in scores[scores["step"] > 0].groupby("line", sort=False, observed=True)
            if rows["run"].nunique() >= FEWEST_RUNS
        ),
        OUTLIER_COLUMNS,
    )


def _of_line(line: str, rows: pd.DataFrame, losses: pd.DataFrame) -> pd.DataFrame:
    """Test the farthest run of each curve of a line, at what all its runs have, in ``OUTLIER_COLUMNS``."""
    curves = rows.pivot_table(
        index=["phenomenon", "step"], columns="run", values="accuracy", observed=True
    ).dropna()
    phenomena = curves.groupby(level="phenomenon", observed=True)
    bits = losses.pivot_table(index="bin", columns="run", values="bits_per_byte", observed=True)
    last = bits.reindex(columns=curves.columns).dropna().tail(1).rename(index=lambda _: "")
    parts = {AT_THE_END: phenomena.last(), OVER_TRAINING: phenomena.mean(), LOSS: last}
    described = pd.concat(parts, names=["measure", "phenomenon"])  # a column for each run
    keys = described.index.to_frame().itertuples(index=False, name=None)
    table = pd.DataFrame(
        [
            {"measure": measure, "phenomenon": phenomenon, **farthest}
            for (measure, phenomenon), (_, values) in zip(keys, described.iterrows(), strict=True)
            if (farthest := farthest_run(values)) is not None
        ]
    )
    if table.empty:
        return pd.DataFrame(columns=list(OUTLIER_COLUMNS))
    table = table.assign(line=line, runs=described.shape[1], p_holm=holm(table["p"].to_numpy(np.float64)))
    return table.assign(outlier=table["p_holm"] <= 1 - CONFIDENCE)[list(OUTLIER_COLUMNS)]


def farthest_run(values: pd.Series) -> dict[str, object] | None:
    """Test the run, of those in the index, that lies farthest from the others; None where these are all equal."""
    numbers, count = values.to_numpy(np.float64), len(values)
    others = [np.delete(numbers, place) for place in range(count)]
    means = np.array([one.mean() for one in others])
    spreads = np.array([one.std(ddof=1) for one in others])
    if spreads.min() < _NEAR:
        return None
    # The variance of the difference has two parts: that of the run, and that of the mean of the n - 1 other runs.
    t = (numbers - means) / (spreads * np.sqrt(1 + 1 / (count - 1)))
    place = int(np.abs(t).argmax())
    return {
        "run": values.index[place],
        "value": numbers[place],
        "others": means[place],
        "others_sd": spreads[place],
        "t": t[place],
        # Two-sided, times the number of runs, as it is the farthest of them; the others leave n - 2 degrees of freedom.
        "p": min(1.0, 2 * count * float(student.sf(abs(t[place]), count - 2))),
    }
