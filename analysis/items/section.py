"""Item dynamics in the report: what becomes of each pair and of phenomena, and how far runs agree on them."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd

from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.figures.described import TOKENS, LineFigure, Up
from ucurve.analysis.figures.drawings import overall_and_phenomena
from ucurve.analysis.items.histories import (
    NEVER,
    RIGHT,
    VERDICT_NAMES,
    History,
    find_events,
    first_place,
    read_histories,
)
from ucurve.analysis.items.seeds import (
    ALL_RUNS,
    FEWEST_CROSSED,
    PARTS,
    LineRuns,
    agreement_table,
    describe_left_out,
    lines_of,
    seed_components,
    why_not_crossed,
)
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import LineStyles, readable
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns

ITEM_COLUMNS = (
    "run", "line", "pair", "phenomenon", "paradigm", "checkpoints", "first_right_step", "first_right_tokens",
    "right_for_good_step", "right_for_good_tokens", "lost_for_good_step", "lost_for_good_tokens", "flips",
    "times_learned", "times_forgotten", "times_relearned", "times_right", "last", "margin_last", "margin_mean",
    "margin_sd",
)  # fmt: skip
SHARES = ("ever_right", "always_right", "right_for_good", "lost", "relearned")
_MEANS = ("flips", "times_learned", "times_forgotten", "margin_last", "margin_sd")
_SUMMARY = table_columns(
    "line",
    "phenomenon",
    "n",
    "runs",
    Column("right_for_good", "Right for good (%)", "percent"),
    Column("lost", "Right once, lost (%)", "percent"),
    Column("relearned", "Relearned (%)", "percent"),
    Column("flips", "Flips (mean)", "number"),
    Column("right_for_good_tokens", "Half right for good from (tokens)", "count"),
    Column("always_right", "Always right (%)", "percent"),
    Column("ever_right", "Ever right (%)", "percent"),
    Column("margin_last", "Margin at the end (mean)", "number"),
    Column("margin_sd", "sd over checkpoints (mean)", "number"),
)
_AGREEMENT = table_columns(
    "line",
    "phenomenon",
    Column("between", "Between"),
    "n",
    Column("agreement", "Agreement (%)", "percent"),
    Column("kappa", "Kappa (mean)", "number"),
    Column("margin_correlation", "Correlation of margins", "number"),
    Column("kappa_low", "Kappa, lowest", "number"),
    Column("kappa_high", "highest", "number"),
    "runs",
    "tokens",
)
_COMPONENTS = table_columns(
    "line",
    "phenomenon",
    Column("measure", "Of"),
    Column("inits", "Inits", "count"),
    Column("orders", "Orders", "count"),
    "tokens",
    *(
        Column(
            f"{part}_share",
            f"{part.capitalize()}, % (95 % interval)",
            "percent",
            (f"{part}_share_low", f"{part}_share_high"),
        )
        for part in PARTS
    ),
)
_KEYS = ["line", "phenomenon", "paradigm"]
_KAPPA = (
    "Cohen's kappa (1960) of every two runs that differ in the seed only, on which pairs are right: agreement beyond "
    "that of two independent runs of these accuracies; 1 is full agreement, 0 none beyond chance. Line: mean over "
    "every two runs; band: from the lowest to the highest. It is missing where two runs are right on all pairs or "
    "none. The correlation of the margins, in the table, is Pearson's, mean over every two runs."
)


def item_table(histories: Iterable[History]) -> pd.DataFrame:
    """Describe what became of each pair in each run, in ``ITEM_COLUMNS``.

    Of ``first_right``, ``right_for_good`` (right from there up to the last checkpoint) and ``lost_for_good`` (not right
    from there up to the last one, after it was) there are the step and the training tokens, missing where there is no
    such checkpoint. ``flips`` are changes of the verdict between neighboring checkpoints, from or to a tie included.
    ``times_learned`` counts how often the pair became right, at the first checkpoint too; ``times_forgotten`` how often
    it ceased to be. Margins are in the unit of the linking function; ``margin_sd`` is missing for one checkpoint.
    """
    return stack(map(_items_of_run, histories), ITEM_COLUMNS)


def item_summary(items: pd.DataFrame) -> pd.DataFrame:
    """Summarize the item table by run: over all pairs, by phenomenon (``paradigm`` is ``all``) and by paradigm.

    The columns are ``n`` items; the shares of those that are ``ever_right``, ``always_right``, ``right_for_good``
    (right at the last checkpoint), ``lost`` (right once, not at the last) and ``relearned``; the median of
    ``right_for_good_tokens`` over all items, missing where half of them never are; and the means of the other columns.
    """
    # A pair that is never right for good counts as later than all others in the median.
    marked = items[["run", "line", "phenomenon", "paradigm", *_MEANS]].assign(
        ever_right=items["times_right"] > 0,
        always_right=items["times_right"] == items["checkpoints"],
        right_for_good=items["right_for_good_step"].notna(),
        lost=items["lost_for_good_step"].notna(),
        relearned=items["times_relearned"] > 0,
        right_for_good_tokens=items["right_for_good_tokens"].fillna(np.inf),
    )
    # Every level is over the pairs themselves, because a mean over the means of paradigms would give the pairs of small
    # paradigms more weight.
    levels = [
        marked.assign(phenomenon="all", paradigm="all"),
        marked[marked["phenomenon"] != ""].assign(paradigm="all"),
        marked,
    ]
    return pd.concat([_summarize(level) for level in levels], ignore_index=True)


def _summarize(level: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one level of ``item_summary``."""
    groups = level.groupby(["run", "line", "phenomenon", "paradigm"], sort=False, observed=True)
    means = groups[[*SHARES, *_MEANS]].mean()
    median = groups["right_for_good_tokens"].median().replace(np.inf, np.nan)
    return means.assign(n=groups.size(), right_for_good_tokens=median).reset_index()


def _items_of_run(history: History) -> pd.DataFrame:
    """Describe what became of each pair in one run (``item_table``)."""
    events = find_events(history.verdicts)
    right = history.verdicts == RIGHT
    learned = events.became_right.sum(axis=0)
    table = history.pairs[["pair", "phenomenon", "paradigm"]].reset_index(drop=True)
    table = table.assign(run=history.run.label, line=history.run.line, checkpoints=len(right))
    places = {"first_right": right, "right_for_good": events.learned, "lost_for_good": events.forgotten}
    for name, found in places.items():
        at = first_place(found)
        never = at == NEVER
        steps = pd.arrays.IntegerArray(history.checkpoints["step"].to_numpy(np.int64)[at], never)
        tokens = history.checkpoints["tokens"].to_numpy(np.float64)[at]
        table[f"{name}_step"], table[f"{name}_tokens"] = steps, np.where(never, np.nan, tokens)
    margins = history.margins
    numbers = {
        "flips": events.flipped.sum(axis=0),
        "times_learned": learned,
        "times_forgotten": events.became_not_right.sum(axis=0),
        "times_relearned": np.maximum(0, learned - 1),  # all but the first time
        "times_right": right.sum(axis=0),
        "last": [VERDICT_NAMES[int(one)] for one in history.verdicts[-1]],
        "margin_last": margins[-1],
        "margin_mean": margins.mean(axis=0),
        "margin_sd": margins.std(axis=0, ddof=1) if len(margins) > 1 else np.nan,
    }
    return table.assign(**numbers)[list(ITEM_COLUMNS)]


@questions.section(questions.PAIRS, place=2, page="docs/items.md")
def item_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Say what becomes of pairs, and how far the runs of each line agree; nothing without scores of single pairs."""
    histories = read_histories(scored)
    if not histories:
        return
    items = item_table(histories)
    summary = item_summary(items)
    shown = line_summary(summary[summary["paradigm"] == "all"])
    shown = shown.assign(phenomenon=shown["phenomenon"].map(readable))
    files = {f"items_summary_{scored.file_name}": summary}
    if scored.study.settings.items:
        files[f"items_{scored.file_name}"] = items
    more = "" if scored.study.settings.items else " items=true writes a row for each pair and run too."
    note = (
        f"What becomes of pairs over the scored checkpoints, {scored.title}; a tie is not right. Right for good: right "
        "from some checkpoint on to the last one. Right once, lost: right at some checkpoint and not at the last. "
        "Relearned: right again after it was not. Flips: changes of the verdict from one checkpoint to the next. Where "
        "half of the pairs are never right for good, if only in one run, the tokens are missing. Margins are in the "
        "unit of the linking function, good less bad. A model is the mean of its runs; the CSV has every run and "
        "paradigm." + more
    )
    view = TableView(note, _SUMMARY, shown, files, "lost")
    yield ReportSection(f"What becomes of pairs on {scored.heading}", (view,))
    left_out = describe_left_out(histories)
    if parts := [*filter(None, [left_out]), *_agreement(scored, lines_of(histories))]:
        yield ReportSection(f"Agreement between seeds on {scored.heading}", tuple(parts))


def line_summary(summary: pd.DataFrame) -> pd.DataFrame:
    """Average ``item_summary`` over the ``runs`` of a line; ``right_for_good_tokens`` is NaN where one run has none."""
    groups = summary.groupby(_KEYS, sort=False, observed=True)
    # A mean over only the runs that got there would make the line look earlier than it is.
    every = groups["right_for_good_tokens"].count() == groups.size()
    means = groups.mean(numeric_only=True).assign(runs=groups.size())
    return means.assign(right_for_good_tokens=means["right_for_good_tokens"].where(every)).reset_index()


def _agreement(scored: BenchmarkScores, lines: Sequence[LineRuns]) -> Iterator[str | TableView | Drawing]:
    """Report how far the runs of each line agree, and what init and order contribute; nothing without two runs."""
    if not lines:
        return
    table, name = agreement_table(lines), f"seed_agreement_{scored.file_name}"
    note = f"Agreement of runs on single pairs, {scored.title}. {_KAPPA}"
    rows = table[table["between"] == ALL_RUNS]
    at_end = _last(rows[rows["phenomenon"] == "all"], ["line"])
    agreed, kappa, margins = (
        " to ".join(dict.fromkeys(form.format(value) for value in at_end[name].agg(["min", "max"]).dropna()))
        or "–"
        for name, form in (("agreement", "{:.1%}"), ("kappa", "{:.2f}"), ("margin_correlation", "{:.2f}"))
    )
    yield (
        f"At the last checkpoint, runs that differ in the seed agree on {agreed.replace('%', ' %')} of all pairs, with "
        f"a kappa of {kappa}, and their margins correlate by {margins}. Where nearly all answers are alike, kappa is "
        "near 0 although runs agree; margins have no such limit."
    )
    yield from overall_and_phenomena(
        rows, name, "Agreement between seeds", note, partial(_describe_kappa, look=scored.study.look)
    )
    note = f"At the last checkpoint that all runs of a model have. {_KAPPA} {scored.title}."
    last = _last(table.assign(apart=1 - table["agreement"]), ["line", "phenomenon", "between"])
    yield TableView(note, _AGREEMENT, last, {name: table}, "apart")
    yield from _components(scored, lines)


def _components(scored: BenchmarkScores, lines: Sequence[LineRuns]) -> Iterator[str | TableView]:
    """Say what init and order contribute to each line, or why that cannot be told."""
    found = [(line, seed_components(line)) for line in lines]
    why = pd.Series({line.line: why_not_crossed(line) for line, table in found if table.empty}, dtype=str)
    for reason, same in why.groupby(why, sort=False):
        yield f"{'All lines' if len(same) == len(found) > 1 else '; '.join(same.index)}: {reason}"
    table = stack(table for _, table in found if len(table))
    if table.empty:
        return
    note = (
        "What initialization and data order contribute to how runs differ on a pair, at the last checkpoint: shares of "
        "the variance within pairs, by a crossed analysis of variance with one run in each cell; what an "
        "initialization does on one order alone is in the rest. Of: right (1 or 0), or the margin. Negative estimates "
        "count as 0. The 95 % intervals allow that a seed does the same to all pairs; they are wide, as these are few "
        f"seeds. With fewer than {FEWEST_CROSSED} inits or {FEWEST_CROSSED} orders a share may be anything, and none "
        f"is given; the CSV has the variances. {scored.title}."
    )
    files = {f"seed_components_{scored.file_name}": table}
    yield TableView(note, _COMPONENTS, _last(table, ["line", "phenomenon", "measure"]), files)


def _last(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Keep the rows of the last checkpoint of each line."""
    last = table[table["step"] == table.groupby("line")["step"].transform("max")]
    return last.drop_duplicates(keys).assign(phenomenon=last["phenomenon"].map(readable))


def _describe_kappa(table: pd.DataFrame, look: LineStyles) -> LineFigure:
    lowest = min(0.0, float(table["kappa_low"].min()))  # below 0, two runs agree less than by chance
    rows = table.rename(columns={"kappa_low": "low", "kappa_high": "high"})
    y = Up("kappa", "Cohen's kappa", level=0, least=lowest - 0.03, most=1.03)
    return LineFigure(rows, TOKENS, y, "Band: from the lowest to the highest of two runs.", look, has_points=True)
