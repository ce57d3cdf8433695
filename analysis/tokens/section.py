"""The critical region in the report: its surprisal over training, and which part of the margin it accounts for."""

from collections.abc import Iterator, Mapping

import pandas as pd

from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.figures.described import TOKENS, LineFigure, Up
from ucurve.analysis.figures.drawings import overall_and_phenomena
from ucurve.analysis.plotting.facets import OVER_RUNS
from ucurve.analysis.plotting.style import LineStyles
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.analysis.tokens.table import region_table

# Columns with the name and the width of their lines; color, dashes and marker are those of the line of runs.
_MEMBERS = {"critical_good": ("good sentence", 1.5), "critical_bad": ("bad sentence", 0.6)}
_PARTS = {"margin_critical": ("critical region", 1.5), "margin_after": ("after it", 0.6)}
_BEFORE = {"margin_before": ("before it", 0.25)}  # of models that read both ways
_SHOWN = table_columns(
    "line",
    "phenomenon",
    "pairs",
    Column("margin", "Margin (bits)", "number"),
    Column("margin_critical", "in the region", "number"),
    Column("margin_after", "after it", "number"),
    Column("critical_good", "Region, good (bits)", "number"),
    Column("critical_bad", "bad", "number"),
    Column("length_good", "Tokens, good", "number"),
    Column("length_bad", "bad", "number"),
    Column("first_good", "First token, good (bits)", "number"),
    Column("first_bad", "bad", "number"),
    Column("after_good", "After, good (bits)", "number"),
    Column("after_bad", "bad", "number"),
)
_REGION = (
    "The critical region of a pair is what is left of its sentences without the tokens that both begin with and those "
    "that both end with."
)


@questions.section(questions.PAIRS, place=1, page="docs/token-scores.md")
def token_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Draw the critical regions of a benchmark; nothing where no log probabilities of tokens are stored."""
    table = region_table(scored)
    if table.empty:
        return
    parts = _PARTS | (_BEFORE if table["margin_before"].any() else {})
    surprisal = overall_and_phenomena(
        table,
        f"critical_region_{scored.file_name}",
        "Surprisal of the critical region",
        f"Surprisal of the critical region in bits, mean over pairs, {scored.title}. {_REGION} {_band(table)}",
        lambda rows: _region_figure(rows, _MEMBERS, Up("bits", "Surprisal (bits)"), scored.study.look),
    )
    margins = overall_and_phenomena(
        table,
        f"critical_margin_{scored.file_name}",
        "Margin inside and after the critical region",
        "Surprisal of the bad sentence minus that of the good one in bits, mean over pairs: in the critical region, "
        f"and in the tokens after it, which both sentences have (spill-over), {scored.title}. {_band(table)}",
        lambda rows: _region_figure(rows, parts, Up("bits", "Margin (bits)", level=0), scored.study.look),
    )
    heading = f"Critical regions on {scored.heading}"
    last = table[table["step"] == table.groupby("line", sort=False)["step"].transform("max")].reset_index(
        drop=True
    )
    note = (
        "Critical regions at the last checkpoint with stored tokens, means over pairs. The first token is the first "
        "one that differs; it is the region alone where that has one token. Margins are the surprisal of the bad "
        "sentence minus that of the good one."
    )
    view = TableView(note, _SHOWN, last, {f"critical_region_last_{scored.file_name}": last}, "margin_critical")
    yield ReportSection(heading, (*surprisal, *margins, view))


def _band(table: pd.DataFrame) -> str:
    return f"Band: ± {OVER_RUNS}." if (table["runs"] > 1).any() else "No band: one run for each line."


def _region_figure(
    table: pd.DataFrame, widths: Mapping[str, tuple[str, float]], y: Up, look: LineStyles
) -> LineFigure:
    """Describe a line of its own width for each of some columns."""
    parts = [
        table.assign(part=name, bits=table[column], low=table[column] - sd, high=table[column] + sd)
        for column, (name, _) in widths.items()
        for sd in (table[f"{column}_sd"],)
    ]
    rows = pd.concat(parts, ignore_index=True)
    return LineFigure(rows, TOKENS, y, _band(table), look, widths=dict(widths.values()))
