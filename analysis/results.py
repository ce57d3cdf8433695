"""What an analysis makes of a study: parts of the report, each with the tables written beside it.

A family of figures or tables is a function that returns its parts, none where the runs hold nothing for it; it is named
here and nowhere else.
"""

from collections.abc import Callable, Iterable

import pandas as pd

from analysis.flops_curves import draw_flops_curves, flops_table, has_points
from analysis.learning_curves import curve_table, draw_learning_curves
from analysis.loss_curves import draw_loss_curves, loss_table
from analysis.paper_parts import paper_parts
from analysis.references import reference_lines
from analysis.report import Part
from analysis.runs import unvouched_files
from analysis.scaling_parts import bits_of_benchmark, scaling_of_benchmark, scaling_of_study
from analysis.shape_parts import shape_parts
from analysis.study import Scored, Study
from analysis.style import chinese_fonts
from analysis.tables import headline, linking_by_line, linking_by_run, missing, provenance
from analysis.views import curve_section, headline_section, linking_section, loss_section, runs_section
from analysis.zhoblimp_parts import zhoblimp_of_benchmark, zhoblimp_of_study
from ucurve.progress import say


def make_parts(study: Study) -> list[Part]:
    """Make every figure and table of a study, in the order of the report."""
    parts = list(_headline(study))
    for scored in study.benchmarks():
        parts += [part for make in OF_BENCHMARK for part in make(scored)]
    return parts + [part for make in OF_STUDY for part in make(study)]


def _headline(study: Study) -> Iterable[Part]:
    if not study.scores.empty:
        table = headline(study.scores, study.runs, study.settings.linking)
        yield Part(headline_section(table, study.settings.linking), {"headline": table})


def _curves(scored: Scored) -> Iterable[Part]:
    """Draw the curves of one benchmark; none where it was scored only on models that were not trained here."""
    rows, drawings = scored.curve_rows(), []
    if not rows.empty:
        if _has_chinese(rows["phenomenon"]) and not chinese_fonts():
            say(
                "warning: no font with Chinese characters is installed; such labels show as boxes in the figures "
                "(Debian: apt-get install fonts-wqy-microhei)"
            )
        table = curve_table(rows, scored.study.runs)
        drawings = draw_learning_curves(table, f"learning_curves_{scored.file_name}", scored.title)
        if has_points(table):
            points = flops_table(table, scored.study.runs)
            references = reference_lines(scored)
            drawings += draw_flops_curves(points, f"flops_curves_{scored.file_name}", scored.title, references)
    yield Part(curve_section(scored.benchmark, scored.scorer, drawings))


def _linking(scored: Scored) -> Iterable[Part]:
    by_run = linking_by_run(scored.rows)
    by_line = linking_by_line(by_run)
    tables = {f"linking_by_run_{scored.file_name}": by_run, f"linking_{scored.file_name}": by_line}
    yield Part(linking_section(scored.benchmark, by_line), tables)


def _losses(study: Study) -> Iterable[Part]:
    losses = loss_table(study.metrics)
    if not losses.empty:
        yield Part(loss_section(draw_loss_curves(losses, "training_curves")))


def _runs(study: Study) -> Iterable[Part]:
    tables = {
        "runs": provenance(study.runs),
        "missing": missing(study.runs, study.scores, study.settings.linking),
    }
    unvouched = [one for run in study.runs for one in unvouched_files(run)]
    yield Part(runs_section(tables["runs"], tables["missing"], unvouched), tables)


def _has_chinese(names: pd.Series) -> bool:
    return any("\u4e00" <= letter <= "\u9fff" for name in names.unique() for letter in str(name))


OF_BENCHMARK: tuple[Callable[[Scored], Iterable[Part]], ...] = (
    _curves,
    shape_parts,
    _linking,
    scaling_of_benchmark,
    bits_of_benchmark,
    zhoblimp_of_benchmark,
)
OF_STUDY: tuple[Callable[[Study], Iterable[Part]], ...] = (
    paper_parts,
    _losses,
    scaling_of_study,
    zhoblimp_of_study,
    _runs,
)
