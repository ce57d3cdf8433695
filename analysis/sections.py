"""Which sections the report has: ZhoBLiMP's tables and figures, then those of the other papers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.curves.flops import draw_flops_curves, flops_table, has_points
from analysis.curves.learning import curve_table, draw_learning_curves
from analysis.curves.loss import draw_loss_curves, loss_table
from analysis.curves.mean import mean_curve_sections
from analysis.data.frames import last_scored, targets
from analysis.data.last_scores import Judged, families, last_judged
from analysis.data.runs import unvouched_files
from analysis.data.settings import AnalyzeSettings
from analysis.data.study import Scored, Study
from analysis.data.user_tables import read_factors, read_languages, read_matches, read_models
from analysis.languages.section import language_sections
from analysis.linking.length_bias import length_bias_sections
from analysis.linking.ratings import correlation_sections
from analysis.linking.tables import linking_by_run
from analysis.linking.tokenizers import tokenizer_sections, tokenizer_table_sections
from analysis.models.benchmarks import benchmark_sections, match_sections
from analysis.models.prompts import prompt_sections
from analysis.models.side_by_side import comparison_sections
from analysis.models.sizes import complexity_sections, models_of, slope_sections
from analysis.pairs.factors import factor_sections
from analysis.pairs.section import filtering_sections, pair_sections
from analysis.paradigms.excluded import excluded_sections
from analysis.paradigms.human import human_sections, reference_lines
from analysis.paradigms.phenomena import phenomenon_sections
from analysis.plotting.style import chinese_fonts
from analysis.report.html import ReportSection
from analysis.scaling.section import bits_of_benchmark, scaling_of_benchmark, scaling_of_study
from analysis.shape.section import shape_sections
from analysis.summary import (
    curve_section,
    headline,
    headline_section,
    linking_section,
    missing,
    provenance,
    runs_section,
)
from ucurve.progress import say


def zhoblimp_of_benchmark(scored: Scored) -> Iterable[ReportSection]:
    """Make Tables 5 and 6 and Figure 4 of one benchmark, as far as the runs hold what they show."""
    yield from phenomenon_sections(scored)
    yield from mean_curve_sections(scored)
    yield from tokenizer_sections(scored)


def zhoblimp_of_study(study: Study) -> Iterable[ReportSection]:
    """Make Figure 2 and Tables 4, 7 and 8, as far as the runs hold what they show."""
    yield from length_bias_sections(study)
    yield from excluded_sections(study)
    yield from human_sections(study)
    yield from correlation_sections(study)
    yield from tokenizer_table_sections(study)


_APART = 3  # a benchmark of more languages has no parts for each of them


@dataclass(frozen=True, eq=False)
class Given:
    """What the user gave about models, languages, pairs and phenomena; None where there is no such file."""

    models: pd.DataFrame | None
    languages: pd.DataFrame | None
    factors: pd.DataFrame | None
    matches: pd.DataFrame | None


def paper_sections(study: Study) -> Iterator[ReportSection]:
    """Make what the study holds data for; the pairs of a benchmark are read once.

    Raises:
        UserError: when a file that was given or one of a run is broken.
    """
    given = read_given(study)
    if study.scores.empty:
        return
    models = given.models if given.models is not None else models_of(list(study.runs))
    for (family, _), members in families(study.benchmarks()).items():
        judged = [(scored, one) for scored in members if (one := last_judged(scored)) is not None]
        if len(judged) <= _APART:
            for scored, one in judged:
                yield from _of_benchmark(scored, one, models, given)
        if len(judged) > 1:
            yield from _of_family(family, judged, given)
    yield from benchmark_sections(study)
    yield from match_sections(study, given.matches)
    yield from prompt_sections(study)


def read_given(study: Study) -> Given:
    """Read the files named in the settings, and check them against what was scored.

    Raises:
        UserError: with file and line, when one of them is broken or names what is not there.
    """
    settings: AnalyzeSettings = study.settings
    known = _phenomena(study) if settings.matches and not study.scores.empty else []
    return Given(
        models=read_models(settings.models, [run.label for run in study.runs]) if settings.models else None,
        languages=read_languages(settings.languages) if settings.languages else None,
        factors=read_factors(settings.factors) if settings.factors else None,
        matches=read_matches(settings.matches, known) if settings.matches else None,
    )


def _of_benchmark(scored: Scored, judged: Judged, models: pd.DataFrame, given: Given) -> Iterator[ReportSection]:
    if _repeats(scored):
        yield from filtering_sections(scored, judged)
        return
    yield from comparison_sections(scored, judged)
    yield from slope_sections(scored, judged, models)
    yield from complexity_sections(scored, judged, models)
    yield from pair_sections(scored, judged)
    yield from filtering_sections(scored, judged)
    if "/" not in scored.benchmark:
        yield from factor_sections(scored.benchmark, scored.file_name, {"": judged}, None, given.factors)


def _of_family(family: str, judged: Sequence[tuple[Scored, Judged]], given: Given) -> Iterator[ReportSection]:
    first = judged[0][0]
    by_language = {scored.benchmark.partition("/")[2]: one for scored, one in judged}
    name = first.file_name.replace(first.benchmark.replace("/", "-"), family)
    title = first.title.replace(first.benchmark, family)
    yield from language_sections(family, name, title, by_language, given.languages)
    yield from factor_sections(family, name, by_language, given.languages, given.factors)


def _repeats(scored: Scored) -> bool:
    """Say whether the scores are those of another scorer too: ``mink`` stores the sums that ``sentence`` has."""
    ways = {scorer for benchmark, scorer in targets(scored.study.scores) if benchmark == scored.benchmark}
    return scored.scorer == "mink" and "sentence" in ways


def _phenomena(study: Study) -> list[tuple[str, str]]:
    rows = last_scored(study.scores)[["benchmark", "phenomenon"]].astype(str).drop_duplicates()
    return list(rows.itertuples(index=False, name=None))


def make_sections(study: Study) -> list[ReportSection]:
    """Make every figure and table of a study, in the order of the report."""
    parts = list(_headline(study))
    for scored in study.benchmarks():
        parts += [part for make in OF_BENCHMARK for part in make(scored)]
    return parts + [part for make in OF_STUDY for part in make(study)]


def _headline(study: Study) -> Iterable[ReportSection]:
    if not study.scores.empty:
        table = headline(study.scores, study.runs, study.settings.linking)
        yield headline_section(table, study.settings.linking)


def _curves(scored: Scored) -> Iterable[ReportSection]:
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
    yield curve_section(scored.benchmark, scored.scorer, drawings)


def _linking(scored: Scored) -> Iterable[ReportSection]:
    yield linking_section(scored.benchmark, scored.file_name, linking_by_run(scored.rows))


def _losses(study: Study) -> Iterable[ReportSection]:
    losses = loss_table(study.metrics)
    if not losses.empty:
        yield ReportSection("Training", (draw_loss_curves(losses, "training_curves"),))


def _runs(study: Study) -> Iterable[ReportSection]:
    unvouched = [one for run in study.runs for one in unvouched_files(run)]
    absent = missing(study.runs, study.scores, study.settings.linking)
    yield runs_section(provenance(study.runs), absent, unvouched)


def _has_chinese(names: pd.Series) -> bool:
    return any("\u4e00" <= letter <= "\u9fff" for name in names.unique() for letter in str(name))


OF_BENCHMARK: tuple[Callable[[Scored], Iterable[ReportSection]], ...] = (
    _curves,
    shape_sections,
    _linking,
    scaling_of_benchmark,
    bits_of_benchmark,
    zhoblimp_of_benchmark,
)
OF_STUDY: tuple[Callable[[Study], Iterable[ReportSection]], ...] = (
    paper_sections,
    _losses,
    scaling_of_study,
    zhoblimp_of_study,
    _runs,
)
