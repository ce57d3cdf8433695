"""Sections about kinds of pairs: length and domain, attractors, MIN-K% filtering, subsets (RuBLiMP, Swe-BLiMP)."""

import re
from collections.abc import Iterator

import pandas as pd

from ucurve.analysis.data.last_scores import ModelScores
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.models.charts import draw_lines
from ucurve.analysis.pairs.filtering import DRAWS, filtering_table
from ucurve.analysis.pairs.length_groups import length_table, load_attractors, paradigm_differences
from ucurve.analysis.pairs.subsets import HANDMADE, SUBSETS, subset_table
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView

LINES = 8
_MINK = re.compile(r"mink(\d+)_good")
_DIFFERENCES = (
    Column("what", "Agreement in"), Column("model", "Model"), Column("without", "Without attractor (%)", "percent"),
    Column("with_it", "With attractor (%)", "percent"),
    Column("difference", "Difference, points (95 % interval)", "percent", ("low", "high")),
)  # fmt: skip
_FILTERING = (
    Column("model", "Model"), Column("k", "K (%)", "count"), Column("pairs", "Pairs kept", "count"),
    Column("reference", "Random pairs (%)", "percent"), Column("filtered", "Filtered pairs (%)", "percent"),
    Column("delta", "Δ (points)", "percent"),
)  # fmt: skip


@questions.section(questions.PAIRS, place=3)
def filtering_sections(scored: BenchmarkScores, last: ModelScores) -> Iterator[ReportSection]:
    """Compare pairs filtered by MIN-K% PROB with random ones; none where it was not stored."""
    if scored.scorer not in ("mink", "pll_mink"):
        return
    size = max(1, int(last.pairs["paradigm"].value_counts().min()) // 2)  # the papers took 1,000 of up to 350,000
    columns = set.intersection(*(set(scores.columns) for scores in last.scores.values()))
    ks = sorted(int(found[1]) for name in columns if (found := _MINK.fullmatch(name)))
    mink = {k: pd.DataFrame({model: last.scores[model][f"mink{k}_good"] for model in last.models}) for k in ks}
    table = filtering_table(last.pairs, mink, last.credit, size)
    note = (
        f"Pairs of each paradigm whose good sentence all models find least familiar by MIN-K% PROB ({size} of each, "
        f"half of the smallest paradigm), against the mean over {DRAWS} random samples of as many (RuBLiMP, section 4, "
        "Figure 3). Below 0: filtering makes the pairs harder. The pool is the benchmark itself; RuBLiMP, as "
        "published, is filtered already."
    )
    view = TableView(note, _FILTERING, table, {f"filtering_{scored.file_name}": table})
    yield ReportSection(f"MIN-K% filtering of {scored.benchmark}", (view,))


@questions.section(questions.LENGTH, place=1)
def length_sections(scored: BenchmarkScores, last: ModelScores) -> Iterator[ReportSection]:
    """Draw accuracy by length and domain; nothing where the pairs have no domain."""
    if "domain" not in last.pairs:
        return
    table, name = length_table(last.pairs, last.credit), scored.file_name
    leading = last.credit.mean().sort_values(ascending=False, kind="stable").index[:LINES]
    shown = table[table["model"].isin(list(leading))]
    shown = shown.rename(columns={"domain": "panel", "ci_low": "low", "ci_high": "high"})
    note = (
        f"Accuracy by length of the good sentence in words and signs, {scored.title}, a panel for each domain. The "
        "groups are of as equal size as equal lengths staying together allows, over all domains (RuBLiMP, Figures 4 to "
        f"6); bars: exact 95 % interval, with pairs taken as independent."
    )
    if len(last.models) > LINES:
        note += f" The {LINES} most accurate of {len(last.models)} models."
    labels = ("Length (words and signs)", "Accuracy (%)")
    drawing = draw_lines(shown, "group", f"length_{name}", f"Length and domain on {scored.heading}", note, labels)
    yield ReportSection(f"Length and domain on {scored.heading}", (drawing,), {f"length_groups_{name}": table})


@questions.section(questions.PAIRS, place=1)
def attractor_sections(scored: BenchmarkScores, last: ModelScores) -> Iterator[ReportSection]:
    """Compare paradigms with and without an attractor, where it is known which they are."""
    pairs, heading = scored.look_up(load_attractors()) or {}, f"Attractors on {scored.heading}"
    table = paradigm_differences(last.points, pairs)
    if table.empty:
        if pairs:
            yield ReportSection(
                heading, (), left_out=f"not scored: {'; '.join(' and '.join(both) for both in pairs.values())}"
            )
        return
    note = (
        "Paradigms with an attractor between subject and predicate against those without (RuBLiMP, section 5); "
        "Newcombe's 95 % interval for the difference of two independent shares, over different edits."
    )
    view = TableView(note, _DIFFERENCES, table, {f"attractors_{scored.file_name}": table})
    yield ReportSection(heading, (view,))


@questions.section(questions.PAIRS, place=2)
def subset_sections(scored: BenchmarkScores, last: ModelScores) -> Iterator[ReportSection]:
    """Compare subsets of the pairs, where some of the pairs are hand-made."""
    made = last.pairs.get(HANDMADE)
    if made is None or made.isna().any() or not 0 < made.astype(bool).sum() < len(made):
        return
    table = subset_table(last.pairs, last.credit)
    columns = (Column("model", "Model"), *(Column(subset, f"{subset} (%)", "percent") for subset in SUBSETS))
    note = (
        "Macro accuracy on the hand-made pairs, on ten random others and fifty random pairs of each category, and on "
        "all (Swe-BLiMP, section 6). MPAD: mean absolute difference over the six pairs of subsets, in points; its mean "
        f"over the models is {100 * table['mpad'].mean():.2f}. The random pairs are the same for all models."
    )
    columns = (*columns, Column("mpad", "MPAD (points)", "percent"))
    view = TableView(note, columns, table, {f"subsets_{scored.file_name}": table})
    yield ReportSection(f"Stability over subsets of {scored.heading}", (view,))
