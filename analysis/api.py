"""Figures and sections of the report from Python; ``ucurve.open`` is ``open_study`` of this module.

    import ucurve
    from ucurve.analysis.api import curve_table, draw_learning_curves

    study = ucurve.open("runs/*")
    scored = study.scored()
    curves = curve_table(scored.curve_rows(), study.runs)
    drawings = draw_learning_curves(curves, "learning_curves", scored.title)
    drawings[0].save("learning_curves.pdf")
    study.curve(by="phenomenon")  # the same as a chart to point at, zoom and choose in

Frames are pandas' own. A ``Drawing`` shows itself in a notebook, and so does a ``ReportSection``; every section of
the report can be made alone, e.g. ``display(*accuracy_scaling_sections(scored))``.
"""

from collections.abc import Iterable
from pathlib import Path

from ucurve.analysis.change_points.section import change_sections
from ucurve.analysis.curves.flops import draw_flops_curves, flops_table
from ucurve.analysis.curves.learning import curve_table, draw_learning_curves
from ucurve.analysis.curves.loss import draw_loss_curves, loss_table
from ucurve.analysis.data.frames import metric_frame, overall, score_frame
from ucurve.analysis.data.runs import Run, RunList, find_runs
from ucurve.analysis.data.settings import AnalyzeSettings
from ucurve.analysis.data.study import read_study
from ucurve.analysis.lines.section import side_by_side_sections
from ucurve.analysis.linking.length_bias import length_bias_sections
from ucurve.analysis.linking.section import linking_by_line, linking_by_run
from ucurve.analysis.ngrams.section import ngram_sections
from ucurve.analysis.notebook import NotebookStudy
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.report.html import ReportSection
from ucurve.analysis.scaling.section import (
    accuracy_by_bits_sections,
    accuracy_scaling_sections,
    loss_scaling_sections,
)
from ucurve.analysis.shape.over_flops import flops_shape_sections
from ucurve.analysis.shape.over_lines import line_shape_sections, size_shape_sections
from ucurve.analysis.shape.section import read_shapes, shape_sections
from ucurve.analysis.summary import headline, missing, provenance
from ucurve.config import check
from ucurve.config_files import completed

__all__ = [
    "Drawing", "NotebookStudy", "ReportSection", "Run", "accuracy_by_bits_sections", "accuracy_scaling_sections",
    "change_sections", "curve_table", "draw_flops_curves", "draw_learning_curves", "draw_loss_curves", "find_runs",
    "flops_shape_sections", "flops_table", "headline", "length_bias_sections", "line_shape_sections", "linking_by_line",
    "linking_by_run",
    "loss_scaling_sections", "loss_table", "metric_frame", "missing", "ngram_sections", "open_study", "overall",
    "provenance", "read_shapes", "score_frame", "shape_sections",
    "side_by_side_sections", "size_shape_sections",
]  # fmt: skip


def open_study(runs: str | Path | Iterable[str | Path], **settings: object) -> NotebookStudy:
    """Read run folders for a notebook: a folder, a pattern such as ``runs/*``, or several.

    The settings are those of ``analyze.py``, such as ``linking="slor"`` or ``benchmark="zhoblimp"``.

    Examples:
        >>> study = ucurve.open("runs/demo/*")
        >>> study

    Raises:
        UserError: when no run matches, a file of a run is broken, or a setting is wrong.
    """
    patterns = [runs] if isinstance(runs, str | Path) else runs
    checked = check(AnalyzeSettings, completed("analyze.yaml", {"runs": [*map(str, patterns)], **settings}))
    study = read_study(find_runs(checked.runs), checked)
    return NotebookStudy(
        RunList(study.runs),
        study.scores,
        study.means,
        study.metrics,
        study.held_out,
        study.settings,
        study.user_tables,
    )
