"""The critical region in the report: its surprisal over training, and which part of the margin it accounts for."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.typing import LineStyleType

from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.plotting.facets import (
    OVER_RUNS,
    Panels,
    draw_line,
    draw_over_tokens,
    line_legend,
    overall_and_phenomena,
)
from ucurve.analysis.plotting.line_styles import DASHES, LineStyles
from ucurve.analysis.plotting.style import TokenAxis
from ucurve.analysis.report.html import Column, ReportSection, TableView
from ucurve.analysis.tokens.table import region_table

_MEMBERS = {"critical_good": ("good sentence", DASHES[0]), "critical_bad": ("bad sentence", DASHES[1])}
_PARTS = {"margin_critical": ("critical region", DASHES[0]), "margin_after": ("after it", DASHES[1])}
_BEFORE = {"margin_before": ("before it", DASHES[3])}  # of models that read both ways
_SHOWN = (
    Column("line", "Model"), Column("phenomenon", "Phenomenon"), Column("pairs", "Pairs", "count"),
    Column("margin", "Margin (bits)", "number"), Column("margin_critical", "in the region", "number"),
    Column("margin_after", "after it", "number"),
    Column("critical_good", "Region, good (bits)", "number"), Column("critical_bad", "bad", "number"),
    Column("length_good", "Tokens, good", "number"), Column("length_bad", "bad", "number"),
    Column("first_good", "First token, good (bits)", "number"), Column("first_bad", "bad", "number"),
    Column("after_good", "After, good (bits)", "number"), Column("after_bad", "bad", "number"),
)  # fmt: skip
_REGION = (
    "The critical region of a pair is what is left of its sentences without the tokens that both begin with and those "
    "that both end with."
)


def token_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Draw the critical regions of a benchmark; nothing where no log probabilities of tokens are stored."""
    table = region_table(scored)
    if table.empty:
        return
    parts = _PARTS | (_BEFORE if table["margin_before"].any() else {})
    surprisal = overall_and_phenomena(
        table, f"critical_region_{scored.file_name}", "Surprisal of the critical region",
        f"Surprisal of the critical region in bits, mean over pairs, {scored.title}. {_REGION} {_band(table)}",
        lambda rows, panels: _draw(rows, panels, _MEMBERS, "Surprisal (bits)", scored.study.look),
    )  # fmt: skip
    margins = overall_and_phenomena(
        table, f"critical_margin_{scored.file_name}", "Margin inside and after the critical region",
        "Surprisal of the bad sentence minus that of the good one in bits, mean over pairs: in the critical region, "
        f"and in the tokens after it, which both sentences have (spill-over), {scored.title}. {_band(table)}",
        lambda rows, panels: _draw(rows, panels, parts, "Margin (bits)", scored.study.look),
    )  # fmt: skip
    heading = f"Critical regions on {scored.heading}"
    yield ReportSection(heading, (*surprisal, *margins, _last_view(table, scored.file_name)))


def _last_view(table: pd.DataFrame, name: str) -> TableView:
    last = table[table["step"] == table.groupby("line", sort=False)["step"].transform("max")].reset_index(drop=True)
    note = (
        "Critical regions at the last checkpoint with stored tokens, means over pairs. The first token is the first "
        "one that differs; it is the region alone where that has one token. Margins are the surprisal of the bad "
        "sentence minus that of the good one."
    )
    return TableView(note, _SHOWN, last, {f"critical_region_last_{name}": last}, "margin_critical")


def _band(table: pd.DataFrame) -> str:
    return f"Band: ± {OVER_RUNS}." if (table["runs"] > 1).any() else "No band: one run for each line."


def _draw(
    table: pd.DataFrame, panels: Panels, lines: Mapping[str, tuple[str, LineStyleType]], label: str, look: LineStyles
) -> Figure:
    styles = look(table["line"])

    def draw(axes: Axes, rows: pd.DataFrame, axis: TokenAxis) -> None:
        for name, style in styles.items():
            line = rows[rows["line"] == name].sort_values("tokens")
            x = axis.places(line["tokens"])
            for column, (_, dashes) in lines.items():
                mean, sd = line[column], line[f"{column}_sd"]
                draw_line(axes, replace(style, dashes=dashes), x, mean, (mean - sd, mean + sd))
        if label.startswith("Margin"):
            axes.axhline(0, color="0.6", linewidth=0.6)

    legend: dict[str, Artist] = line_legend(styles, table)
    legend |= {name: Line2D([], [], color="0.3", linestyle=dashes) for name, dashes in lines.values()}
    return draw_over_tokens(table, panels, draw, _band(table), legend, label)
