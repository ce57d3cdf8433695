"""Which sections the report has: ZhoBLiMP's tables and figures, then those of the other papers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.curves.flops import draw_flops_curves, flops_table, has_points
from analysis.curves.learning import curve_table, draw_learning_curves
from analysis.curves.loss import draw_loss_curves, loss_table
from analysis.curves.mean import mean_curve_parts
from analysis.data.frames import last_scored, targets
from analysis.data.last_scores import Judged, families, last_judged
from analysis.data.runs import unvouched_files
from analysis.data.settings import AnalyzeSettings
from analysis.data.study import Scored, Study
from analysis.data.user_tables import read_factors, read_languages, read_matches, read_models
from analysis.languages.section import language_parts
from analysis.linking.length_bias import length_bias_parts
from analysis.linking.ratings import correlation_parts
from analysis.linking.tables import linking_by_line, linking_by_run
from analysis.linking.tokenizers import tokenizer_parts, tokenizer_table_parts
from analysis.models.benchmarks import benchmark_parts, match_parts
from analysis.models.prompts import prompt_parts
from analysis.models.side_by_side import comparison_parts
from analysis.models.sizes import complexity_parts, models_of, slope_parts
from analysis.pairs.factors import factor_parts
from analysis.pairs.section import filtering_parts, pair_parts
from analysis.paradigms.excluded import excluded_parts
from analysis.paradigms.human import human_parts, reference_lines
from analysis.paradigms.phenomena import phenomenon_parts
from analysis.plotting.style import chinese_fonts
from analysis.report.report import Part
from analysis.scaling.section import bits_of_benchmark, scaling_of_benchmark, scaling_of_study
from analysis.shape.section import shape_parts
from analysis.summary import (
    curve_section,
    headline,
    headline_section,
    linking_section,
    loss_section,
    missing,
    provenance,
    runs_section,
)
from ucurve.progress import say

_OF_BENCHMARK: tuple[Callable[[Scored], Iterable[Part]], ...] = (phenomenon_parts, mean_curve_parts, tokenizer_parts)
_OF_STUDY: tuple[Callable[[Study], Iterable[Part]], ...] = (
    length_bias_parts, excluded_parts, human_parts, correlation_parts, tokenizer_table_parts,
)  # fmt: skip


def zhoblimp_of_benchmark(scored: Scored) -> Iterable[Part]:
    """Make Tables 5 and 6 and Figure 4 of one benchmark, as far as the runs hold what they show."""
    for make in _OF_BENCHMARK:
        yield from make(scored)


def zhoblimp_of_study(study: Study) -> Iterable[Part]:
    """Make Figure 2 and Tables 4, 7 and 8, as far as the runs hold what they show."""
    for make in _OF_STUDY:
        yield from make(study)


_APART = 3  # a benchmark of more languages has no parts for each of them


@dataclass(frozen=True, eq=False)
class Given:
    """What the user gave about models, languages, pairs and phenomena; None where there is no such file."""

    models: pd.DataFrame | None
    languages: pd.DataFrame | None
    factors: pd.DataFrame | None
    matches: pd.DataFrame | None


def paper_parts(study: Study) -> Iterator[Part]:
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
    yield from benchmark_parts(study)
    yield from match_parts(study, given.matches)
    yield from prompt_parts(study)


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


def _of_benchmark(scored: Scored, judged: Judged, models: pd.DataFrame, given: Given) -> Iterator[Part]:
    if _repeats(scored):
        yield from filtering_parts(scored, judged)
        return
    yield from comparison_parts(scored, judged)
    yield from slope_parts(scored, judged, models)
    yield from complexity_parts(scored, judged, models)
    yield from pair_parts(scored, judged)
    yield from filtering_parts(scored, judged)
    if "/" not in scored.benchmark:
        yield from factor_parts(scored.benchmark, scored.file_name, {"": judged}, None, given.factors)


def _of_family(family: str, judged: Sequence[tuple[Scored, Judged]], given: Given) -> Iterator[Part]:
    first = judged[0][0]
    by_language = {scored.benchmark.partition("/")[2]: one for scored, one in judged}
    name = first.file_name.replace(first.benchmark.replace("/", "-"), family)
    title = first.title.replace(first.benchmark, family)
    yield from language_parts(family, name, title, by_language, given.languages)
    yield from factor_parts(family, name, by_language, given.languages, given.factors)


def _repeats(scored: Scored) -> bool:
    """Say whether the scores are those of another scorer too: ``mink`` stores the sums that ``sentence`` has."""
    ways = {scorer for benchmark, scorer in targets(scored.study.scores) if benchmark == scored.benchmark}
    return scored.scorer == "mink" and "sentence" in ways


def _phenomena(study: Study) -> list[tuple[str, str]]:
    rows = last_scored(study.scores)[["benchmark", "phenomenon"]].astype(str).drop_duplicates()
    return list(rows.itertuples(index=False, name=None))


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
