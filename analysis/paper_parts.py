"""The parts made from the tables and figures of TSE, MultiBLiMP, RuBLiMP and Swe-BLiMP (docs/other-papers.md)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.benchmark_parts import benchmark_parts, match_parts
from analysis.comparison_parts import comparison_parts
from analysis.config import AnalyzeSettings
from analysis.covariates import read_factors, read_languages, read_matches, read_models
from analysis.factor_parts import factor_parts
from analysis.frames import last_scored, targets
from analysis.judged import Judged, families, last_judged
from analysis.language_parts import language_parts
from analysis.pair_parts import filtering_parts, pair_parts
from analysis.prompt_parts import prompt_parts
from analysis.report import Part
from analysis.size_parts import complexity_parts, models_of, slope_parts
from analysis.study import Scored, Study

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
