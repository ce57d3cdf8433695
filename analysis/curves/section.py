"""The curves of a benchmark and of the loss in the report."""

from collections.abc import Iterator
from dataclasses import replace

from ucurve.analysis.curves.flops import draw_flops_curves, flops_table
from ucurve.analysis.curves.learning import MOST_ROWS, curve_table, curve_tables, draw_learning_curves
from ucurve.analysis.curves.loss import draw_loss_curves, loss_table
from ucurve.analysis.data.frames import overall
from ucurve.analysis.data.look import describe_unknown, mark_unknown
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.paradigms.human import reference_lines
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import ReportSection


@questions.section(questions.LEARNED, place=1)
def curve_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Draw accuracy against tokens; the section says so where only models from elsewhere were scored."""
    nothing = "No checkpoints of a training run were scored on it: no curves."
    parts = [*(_draw_curves(scored) or (nothing,))]
    # Lines are of different numbers of pairs where those that are too long for a model were left out.
    pairs = overall(scored.curve_rows()).astype({"line": str}).groupby("line")["n"].max().astype(int)
    if pairs.nunique() > 1:
        listed = ", ".join(f"{line} {n:,}" for line, n in pairs.items())
        unequal = "These lines are not of the same pairs, and their accuracies do not compare as they stand"
        parts.insert(0, f"{unequal}: {listed}.")
    yield ReportSection(f"Curves on {scored.heading}", tuple(parts))


@questions.section(questions.MODELS, place=1)
def flops_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Draw accuracy against FLOPs; nothing without FLOPs. Those of one model and budget are its curves over tokens."""
    rows, runs = scored.curve_rows(), scored.study.runs
    points = rows if rows.empty else flops_table(curve_table(rows, runs), runs)
    if points.empty:
        return
    levels = reference_lines(scored)
    name, title = f"flops_curves_{scored.file_name}", scored.curve_title
    drawings = draw_flops_curves(points, name, title, levels, scored.study.look)
    alone = points["line"].nunique() == 1 and levels.empty
    left_out = "one model and budget: the same curve as over tokens" if alone else ""
    yield ReportSection(f"Accuracy against FLOPs on {scored.heading}", tuple(drawings), left_out=left_out)


@questions.section(questions.COST, place=1)
def loss_sections(study: Study) -> Iterator[ReportSection]:
    """Draw the loss; nothing where no run has metrics."""
    losses, texts = loss_table(study.metrics, study.held_out), describe_unknown(study.runs)
    if losses.empty:
        return
    # What finished runs took, by the usual estimate.
    costs = {
        run.label: 6.0 * run.parameters * run.facts.tokens_budget
        for run in study.runs
        if run.has_ended and run.facts and run.parameters
    }
    if costs:
        each = sorted(set(costs.values()))
        span = f"{each[0]:.2g}" if len(each) == 1 else f"{each[0]:.2g} to {each[-1]:.2g}"
        total = f"{len(costs)} finished run{'s' if len(costs) > 1 else ''} took {sum(costs.values()):.2g} FLOPs"
        texts.insert(0, f"{total}, {span} each (6 times parameters times tokens).")
    drawing = draw_loss_curves(mark_unknown(losses, study.runs), "training_curves", study.look)
    yield ReportSection("Training", (*texts, drawing))


def _draw_curves(scored: BenchmarkScores) -> list[Drawing]:
    """Draw the curves of a benchmark, and say where the chart lacks linking functions; none without checkpoints."""
    rows = scored.curve_rows()
    if rows.empty:
        return []
    table, every = curve_table(rows, scored.study.runs), curve_tables(scored)
    name, title = f"learning_curves_{scored.file_name}", scored.curve_title
    drawings = draw_learning_curves(table, name, title, scored.study.look, every)
    if every["linking"].nunique() == scored.rows["linking"].nunique():
        return drawings
    more = (
        f" The chart has {scored.linking} alone: all linking functions would make more than {MOST_ROWS:,} rows."
    )
    return [replace(drawing, note=drawing.note + more) for drawing in drawings]
