"""Linking functions and length in the report."""

from collections.abc import Iterator

import pandas as pd

from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.linking.tables import linking_by_line, linking_by_run
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView
from ucurve.eval.metrics.accuracy import winner_by_length

_LINKING = (
    Column("line", "Model"), Column("runs", "Runs", "count"), Column("step", "Step", "count"),
    Column("linking", "Linking function"), Column("ties_rule", "A tie counts"),
    Column("accuracy", "Accuracy (%)", "percent"), Column("delta_acc", "Length bias Δacc (points)", "percent"),
    Column("equal", "Equal length (%)", "percent"), Column("good_longer", "Good longer (%)", "percent"),
    Column("bad_longer", "Bad longer (%)", "percent"), Column("accuracy_sd", "sd", "percent"),
)  # fmt: skip


@questions.section(questions.LENGTH, place=1, page="docs/length-bias.md")
def linking_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Tabulate the linking functions of one benchmark, and name those under which length alone decides."""
    by_run = linking_by_run(scored.rows)
    table = linking_by_line(by_run)
    files = {f"linking_{scored.file_name}": table, f"linking_by_run_{scored.file_name}": by_run}
    note = (
        "Last checkpoint scored with each linking function, mean over the runs that differ in the seed only and stand "
        "at the same step (sd: sample standard deviation over them). Length is counted in the model's own tokens. "
        "Δacc, in percentage points, is the mean absolute difference of the two unequal splits to the equal one: the "
        "length bias, 0 is best. Where it is small, chance differences make it larger on average: see the signed "
        "differences with their intervals in eval/statistics.csv of each run."
    )
    view = TableView(note, _LINKING, table, files, "delta_acc")
    yield ReportSection(f"Linking functions and length on {scored.heading}", (*_name_length_biased(table), view))


def _name_length_biased(table: pd.DataFrame) -> Iterator[str]:
    splits = zip(table["good_longer"], table["bad_longer"], strict=True)
    winners = pd.Series([winner_by_length(*both) for both in splits], index=table.index, dtype=object)
    if winners.isna().all():
        return
    found = table[winners.notna()]
    lines = [
        f"{line} by {', '.join(dict.fromkeys(rows['linking']))}" for line, rows in found.groupby("line", sort=False)
    ]
    yield (
        f"Length alone decides where lengths differ, and not grammar: {'; '.join(lines)}. There nearly every pair of "
        "one unequal split is right and nearly every pair of the other wrong. A model that has learned nothing does "
        "that under lp, pen_lp and slln_lp: the shorter sentence wins, and Δacc is about 50."
    )
