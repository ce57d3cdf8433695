"""A study: what was read of the runs, and the figures, tables and sections made of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.config import AnalyzeSettings
from analysis.figures import Drawing
from analysis.flops_curves import draw_flops_curves, flops_table, has_points
from analysis.frames import AGGREGATES, metric_frame, one_ties_rule, score_frame, targets
from analysis.learning_curves import curve_table, draw_learning_curves
from analysis.loss_curves import draw_loss_curves, loss_table
from analysis.report import Section
from analysis.runs import ACCURACY, METRICS, Run
from analysis.style import chinese_fonts
from analysis.tables import headline, linking_by_line, linking_by_run, missing, provenance
from analysis.views import curve_section, headline_section, linking_section, loss_section, runs_section
from ucurve.errors import UserError, unknown_name
from ucurve.progress import say


@dataclass(frozen=True)
class Study:
    """What was read: the runs, the aggregate rows of their accuracies, and their training metrics."""

    runs: Sequence[Run]
    scores: pd.DataFrame
    metrics: pd.DataFrame


@dataclass(frozen=True)
class Results:
    """What was made: the sections of the report, the drawings in them, and the tables by file name."""

    sections: list[Section]
    drawings: list[Drawing]
    tables: dict[str, pd.DataFrame]


def read_study(runs: Sequence[Run], settings: AnalyzeSettings) -> Study:
    """Read what the figures and tables need, and check the names that were asked for.

    Raises:
        UserError: when a file is broken, the linking function or benchmark is unknown, or there is nothing to draw.
    """
    scores = score_frame(runs, AGGREGATES)
    metrics = metric_frame(runs)
    if scores.empty and metrics["bits_per_byte"].dropna().empty:
        raise UserError(_nothing_to_draw(runs))
    if not scores.empty:
        scores = _chosen(scores, settings)
    return Study(runs, scores, metrics)


def _chosen(scores: pd.DataFrame, settings: AnalyzeSettings) -> pd.DataFrame:
    if settings.benchmark is not None:
        present = set(scores["benchmark"].astype(str))
        if settings.benchmark not in present:
            raise unknown_name("benchmark", settings.benchmark, present, "benchmark")
        scores = scores[scores["benchmark"] == settings.benchmark]
    functions = set(scores["linking"].astype(str))
    if settings.linking not in functions:
        raise unknown_name("linking function", settings.linking, functions, "linking")
    return one_ties_rule(scores)


def _nothing_to_draw(runs: Sequence[Run]) -> str:
    folders = ", ".join(str(run.folder) for run in runs)
    return (
        f"nothing to draw in {folders}: no row in {ACCURACY} (write it with: python score.py run={runs[0].folder} "
        f"benchmarks=[...]) and none in {METRICS}"
    )


def make_results(study: Study, settings: AnalyzeSettings) -> Results:
    """Make every figure and table of a study."""
    results = Results([], [], {})
    if not study.scores.empty:
        results.tables["headline"] = headline(study.scores, study.runs, settings.linking)
        results.sections.append(headline_section(results.tables["headline"], settings.linking))
    for benchmark, scorer in targets(study.scores):
        _add_benchmark(results, study, benchmark, scorer, settings.linking)
    losses = loss_table(study.metrics)
    if not losses.empty:
        results.drawings.append(draw_loss_curves(losses, "training_curves"))
        results.sections.append(loss_section(results.drawings[-1]))
    results.tables["runs"] = provenance(study.runs)
    results.tables["missing"] = missing(study.runs, study.scores, settings.linking)
    results.sections.append(runs_section(results.tables["runs"], results.tables["missing"]))
    return results


def _add_benchmark(results: Results, study: Study, benchmark: str, scorer: str, linking: str) -> None:
    name = _file_name(benchmark, scorer, study.scores)
    rows = study.scores[(study.scores["benchmark"] == benchmark) & (study.scores["scorer"] == scorer)]
    title = f"{benchmark}, {linking}, ties counted {rows['ties_rule'].iloc[0]}"
    curves = _curves(rows, study.runs, linking, name, title)
    by_run = linking_by_run(rows)
    by_line = linking_by_line(by_run)
    results.drawings.extend(curves)
    results.tables.update({f"linking_by_run_{name}": by_run, f"linking_{name}": by_line})
    results.sections.extend([curve_section(benchmark, scorer, curves), linking_section(benchmark, by_line)])


def _curves(scores: pd.DataFrame, runs: Sequence[Run], linking: str, name: str, title: str) -> list[Drawing]:
    """Draw the curves of one benchmark; none where it was scored only on models that were not trained here."""
    rows = scores[(scores["linking"] == linking) & (scores["split"] == "all") & (scores["step"] >= 0)]
    if rows.empty:
        return []
    if _has_chinese(rows["phenomenon"]) and not chinese_fonts():
        say("warning: no font with Chinese characters is installed; such labels show as boxes in the figures")
    table = curve_table(rows, runs)
    drawings = draw_learning_curves(table, f"learning_curves_{name}", title)
    if has_points(table):
        drawings += draw_flops_curves(flops_table(table, runs), f"flops_curves_{name}", title)
    return drawings


def _has_chinese(names: pd.Series) -> bool:
    return any("\u4e00" <= letter <= "\u9fff" for name in names.unique() for letter in str(name))


def _file_name(benchmark: str, scorer: str, scores: pd.DataFrame) -> str:
    """Name a benchmark's files; the way of scoring is added where one benchmark was scored in several."""
    several = sum(name == benchmark for name, _ in targets(scores)) > 1
    return benchmark.replace("/", "-") + (f"-{scorer}" if several else "")
