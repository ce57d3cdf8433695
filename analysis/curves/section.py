"""The curves of a benchmark and of the loss in the report."""

from collections.abc import Iterator

from analysis.curves.charts import add_learning_charts
from analysis.curves.flops import draw_flops_curves, flops_table
from analysis.curves.learning import curve_table, draw_learning_curves
from analysis.curves.loss import draw_loss_curves, loss_table
from analysis.data.study import BenchmarkScores, Study
from analysis.paradigms.human import reference_lines
from analysis.plotting.figures import Drawing
from analysis.plotting.style import chinese_fonts
from analysis.report.html import ReportSection
from ucurve.progress import log_line


def curve_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Draw accuracy against tokens and FLOPs; the section says so where only models from elsewhere were scored."""
    nothing = ("No checkpoints of a training run were scored on it: no curves.",)
    curves = tuple(_draw_curves(scored)) or nothing
    yield ReportSection(f"Curves on {scored.benchmark} (scored by {scored.scorer})", curves)


def loss_sections(study: Study) -> Iterator[ReportSection]:
    """Draw the loss; nothing where no run has metrics."""
    losses = loss_table(study.metrics, study.held_out)
    if not losses.empty:
        yield ReportSection("Training", (draw_loss_curves(losses, "training_curves"),))


def _draw_curves(scored: BenchmarkScores) -> list[Drawing]:
    rows = scored.curve_rows()
    if rows.empty:
        return []
    letters = "".join(map(str, rows["phenomenon"].unique()))
    if any("\u4e00" <= letter <= "\u9fff" for letter in letters) and not chinese_fonts():
        log_line(
            "warning: no font with Chinese characters is installed; such labels show as boxes in the figures "
            "(Debian: apt-get install fonts-wqy-microhei)"
        )
    table = curve_table(rows, scored.study.runs)
    drawings = draw_learning_curves(table, f"learning_curves_{scored.file_name}", scored.curve_title)
    drawings = add_learning_charts(drawings, scored)
    points = flops_table(table, scored.study.runs)
    if not points.empty:
        name, lines = f"flops_curves_{scored.file_name}", reference_lines(scored)
        drawings += draw_flops_curves(points, name, scored.curve_title, lines)
    return drawings
