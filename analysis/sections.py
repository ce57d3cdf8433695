"""The report of a study: the first screen and the sections of all packages, in their order.

A section is added in its own module, by the decorator of ``ucurve.analysis.report.questions``; every module of the
analysis is looked through for them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import get_type_hints

import ucurve.analysis
from ucurve.analysis.data.last_scores import LanguageScores, ModelScores, group_languages
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.overview import first_screen, tell_benchmark
from ucurve.analysis.pairs.section import filtering_sections
from ucurve.analysis.report.html import FirstScreen, ReportSection
from ucurve.analysis.report.questions import MADE, QUESTIONS, MadeSections

# What sections are made of: the types of the parameters of the functions that make them.
OF_BENCHMARK = (BenchmarkScores,)
OF_MODELS = (BenchmarkScores, ModelScores)
OF_LANGUAGES = (LanguageScores,)
OF_STUDY = (Study,)
AT_THE_END = (Study, list[ReportSection])  # and the sections that could not be made
MOST_APART = 3  # a benchmark of more languages has no sections for each of them


def make_report(study: Study) -> tuple[FirstScreen, list[ReportSection]]:
    """Make the first screen and every figure and table of a study, in the order of the report."""
    sections: list[ReportSection] = []
    stories = []
    for scored in study.benchmarks():
        sections += _make(section_makers()[OF_BENCHMARK], scored)
        stories.append(tell_benchmark(scored))  # now, while its shapes are in memory
    for languages in group_languages(study):
        sections += model_sections(languages)
    sections += _make(section_makers()[OF_STUDY], study)
    sections += _make(
        section_makers()[AT_THE_END], study, [section for section in sections if not section.content]
    )
    order = (None, *QUESTIONS)
    return first_screen(study, stories), sorted(sections, key=lambda section: order.index(section.question))


def model_sections(languages: LanguageScores) -> Iterator[ReportSection]:
    """Compare models on each language of a benchmark and over all of them."""
    members, study = languages.members, languages.first.study
    for scored, last in members if len(members) <= MOST_APART else ():
        # mink stores the sums that sentence has: only the filtering is not in the report yet.
        known = scored.scorer == "mink" and (scored.benchmark, "sentence") in study.linkings
        makers = section_makers()[OF_MODELS]
        yield from _make([one for one in makers if not known or one.make == filtering_sections], scored, last)
    if len(members) > 1 or not known:  # known of the only one
        yield from _make(section_makers()[OF_LANGUAGES], languages)


@cache
def section_makers() -> dict[tuple[object, ...], list[MadeSections]]:
    """Import every module of the analysis and return what makes sections, in order, by what they are made of.

    Raises:
        TypeError: a function is made of something that is none of the kinds above
    """
    for module in walk_packages(ucurve.analysis.__path__, "ucurve.analysis."):
        import_module(module.name)
    makers: dict[tuple[object, ...], list[MadeSections]] = {
        kind: [] for kind in (OF_BENCHMARK, OF_MODELS, OF_LANGUAGES, OF_STUDY, AT_THE_END)
    }
    for one in sorted(MADE, key=lambda one: (one.place, one.make.__module__)):
        hints = get_type_hints(one.make)
        kind = tuple(hint for name, hint in hints.items() if name != "return")
        if kind not in makers:
            raise TypeError(f"{one.make.__module__}.{one.make.__name__}: no section is made of {kind}.")
        makers[kind].append(one)
    return makers


def _make(makers: Iterable[MadeSections], *given: object) -> Iterator[ReportSection]:
    for one in makers:
        for section in one.make(*given):
            yield replace(section, question=one.question, page=one.page)
