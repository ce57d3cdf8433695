"""The analysis from run folders to figures, tables and the report."""

import shlex
import sys
import textwrap
from pathlib import Path

from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.data.settings import AnalyzeSettings
from ucurve.config import check
from ucurve.errors import UserError
from ucurve.invocation import command
from ucurve.storage.files import write_text

_WIDTH = 110  # columns of the terminal


def analyze_command(values: dict[str, object]) -> None:
    """Analyze what a composed configuration asks for; print what was found, where the report is and what comes next."""
    settings = check(AnalyzeSettings, values)
    print_analysis(settings)
    following = command("workbench", f"runs={shlex.quote(','.join(settings.runs))}")
    sys.stdout.write(f"next: {following}\n")


def print_analysis(settings: AnalyzeSettings) -> None:
    """Analyze run folders; print what was found and where the report is."""
    report, lines = _analyze(settings)
    sys.stdout.write("\n".join([*lines, f"report: {report}"]) + "\n")


def analyze(settings: AnalyzeSettings) -> Path:
    """Analyze run folders: write figures with the CSV behind each, tables, and the report, whose path is returned.

    Nothing is written when a run or a setting is wrong, or there is nothing to draw.

    Raises:
        UserError: when no run matches, a file of a run is broken, the linking function or benchmark is unknown, there
            is nothing to draw, or ``out`` is a file.
    """
    return _analyze(settings)[0]


def _analyze(settings: AnalyzeSettings) -> tuple[Path, list[str]]:
    """Write everything, and return the path of the report with what is printed about it."""
    out = Path(settings.out)
    if any(path.is_file() for path in (out, *out.parents)):
        raise UserError(f"out={settings.out} is a file or lies below one; give a folder")
    runs = find_runs(settings.runs)  # before the slow imports, so that a mistake in runs= is answered at once
    from ucurve.analysis.data.study import read_study
    from ucurve.analysis.plotting.figures import render, write_drawing, write_table
    from ucurve.analysis.report.html import brief, report_html
    from ucurve.analysis.report.latex import write_latex
    from ucurve.analysis.sections import make_report
    from ucurve.analysis.summary import headline_lines

    first, sections = make_report(read_study(runs, settings))
    drawings = [drawing for section in sections for drawing in section.drawings]
    tables = {name: table for section in sections for name, table in section.tables.items()}
    # Every figure is rendered only once, because the page holds the same bytes as the files.
    images = {drawing.name: render(drawing, "png") for drawing in (*first.pictures, *drawings)}
    written = [path for one in drawings for path in write_drawing(one, images[one.name], out, settings.formats)]
    written += [write_table(table, out / f"{name}.csv") for name, table in tables.items()]
    written += [path for section in sections for path in write_latex(section, out)]
    report = out / "report.html"
    # With several lines a page with every section in full would be too long. It links to the files instead.
    if len({run.line for run in runs}) > 1:
        sections = [
            brief(one, settings.formats[0]) if one.question and not one.left_out else one for one in sections
        ]
    write_text(report, report_html("Learning curves on minimal pairs", sections, images, first))
    lines = headline_lines(tables["headline"]) if "headline" in tables else []
    count = f"{len(runs)} run{'s' if len(runs) > 1 else ''}"
    turns = [line for text in first.turns for line in textwrap.wrap(text, _WIDTH, subsequent_indent="  ")]
    return report, [*lines, *turns, f"{count}; {len(written)} figures and tables in {out}"]
