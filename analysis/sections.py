"""The sections of the report in their order, each by its module in this package and the function that makes it.

To add one, write a function that yields sections, none where the runs lack what it needs, and name it here in one line,
with the question that it answers.
"""

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

from ucurve.analysis.data.last_scores import LanguageScores, group_languages
from ucurve.analysis.data.study import Study
from ucurve.analysis.overview import first_screen, tell_benchmark
from ucurve.analysis.report.html import FirstScreen, Question, ReportSection

LEARNED = Question("learned", "What was learned, and when?")
SHAPES = Question("shapes", "Which curves turn?")
PAIRS = Question("pairs", "Which pairs, and do seeds agree on them?")
LENGTH = Question("length", "Does length decide?")
MODELS = Question("models", "How do models compare?")
PEOPLE = Question("people", "What do people say?")
COST = Question("cost", "How did training go, and what did it cost?")
RUNS = Question("runs", "What was run?")
QUESTIONS = (LEARNED, SHAPES, PAIRS, LENGTH, MODELS, PEOPLE, COST, RUNS)  # in the order of the report
Sections = dict[str, Question | None]  # in the order in which they are made, which they keep below their question

FIRST: Sections = {"lines.ends:line_sections": None, "summary:headline_sections": RUNS}  # functions of the Study
OF_BENCHMARK: Sections = {  # of its BenchmarkScores
    "curves.section:curve_sections": LEARNED,
    "curves.section:flops_sections": MODELS,
    "lines.section:side_by_side_sections": MODELS,
    "lines.time_ratios:time_ratio_sections": MODELS,
    "lines.along:along_sections": MODELS,
    "shape.section:acquisition_sections": LEARNED,
    "shape.section:shape_sections": SHAPES,
    "shape.over_sizes:size_shape_sections": SHAPES,
    "shape.over_flops:flops_shape_sections": SHAPES,
    "change_points.section:change_sections": SHAPES,
    "ngrams.section:ngram_sections": SHAPES,
    "tokens.section:token_sections": PAIRS,
    "items.section:item_sections": PAIRS,
    "items.margins:margin_sections": PAIRS,
    "curves.outliers:outlier_sections": PAIRS,
    "curves.by_column:column_sections": LEARNED,
    "linking.section:linking_sections": LENGTH,
    "scaling.section:accuracy_scaling_sections": MODELS,
    "scaling.section:accuracy_by_bits_sections": MODELS,
    "paradigms.phenomena:phenomenon_sections": LEARNED,
    "curves.mean:mean_curve_sections": LEARNED,
    "linking.tokenizers:tokenizer_sections": LENGTH,
}
_FILTERING = "pairs.section:filtering_sections"
OF_MODELS: Sections = {  # of the BenchmarkScores and ModelScores of a benchmark
    "models.side_by_side:comparison_sections": MODELS,
    "models.sizes:slope_sections": MODELS,
    "models.sizes:complexity_sections": MODELS,
    "pairs.section:length_sections": LENGTH,
    "pairs.section:attractor_sections": PAIRS,
    "pairs.section:subset_sections": PAIRS,
    _FILTERING: PAIRS,
}
OF_LANGUAGES: Sections = {  # of the LanguageScores of a benchmark
    "languages.section:language_sections": LEARNED,
    "pairs.factors:factor_sections": PAIRS,
}
LAST: Sections = {  # of the Study
    "models.benchmarks:benchmark_sections": MODELS,
    "models.benchmarks:match_sections": MODELS,
    "models.prompts:prompt_sections": MODELS,
    "curves.section:loss_sections": COST,
    "scaling.section:loss_scaling_sections": COST,
    "linking.length_bias:length_bias_sections": LENGTH,
    "paradigms.excluded:excluded_sections": PEOPLE,
    "paradigms.human:human_sections": PEOPLE,
    "linking.ratings:correlation_sections": PEOPLE,
    "linking.tokenizers:tokenizer_table_sections": RUNS,
}
AT_THE_END: Sections = {"summary:runs_sections": RUNS}  # of the Study and the sections that could not be made
_PAGES = {  # of the documentation, by the package that makes a section; of the others docs/analysis.md
    "change_points": "docs/change-points.md", "items": "docs/items.md", "linking": "docs/length-bias.md",
    "ngrams": "docs/ngrams.md", "shape": "docs/shape.md", "tokens": "docs/token-scores.md",
}  # fmt: skip
MOST_APART = 3  # a benchmark of more languages has no sections for each of them


def make_report(study: Study) -> tuple[FirstScreen, list[ReportSection]]:
    """Make the first screen and every figure and table of a study, in the order of the report."""
    sections, stories = [*_make(FIRST, study)], []
    for scored in study.benchmarks():
        sections += _make(OF_BENCHMARK, scored)
        stories.append(tell_benchmark(scored))  # now, while its shapes are in memory
    for languages in group_languages(study):
        sections += model_sections(languages)
    sections += _make(LAST, study)
    sections += _make(AT_THE_END, study, [section for section in sections if not section.content])
    order = (None, *QUESTIONS)
    return first_screen(study, stories), sorted(sections, key=lambda section: order.index(section.question))


def make_sections(study: Study) -> list[ReportSection]:
    """Make every figure and table of a study, in the order of the report."""
    return make_report(study)[1]


def model_sections(languages: LanguageScores) -> Iterator[ReportSection]:
    """Compare models on each language of a benchmark and over all of them."""
    members, study = languages.members, languages.first.study
    for scored, last in members if len(members) <= MOST_APART else ():
        # mink stores the sums that sentence has: only the filtering is not in the report yet.
        known = scored.scorer == "mink" and (scored.benchmark, "sentence") in study.linkings
        yield from _make({_FILTERING: OF_MODELS[_FILTERING]} if known else OF_MODELS, scored, last)
    if len(members) > 1 or not known:  # known of the only one
        yield from _make(OF_LANGUAGES, languages)


def _make(made: Sections, *given: object) -> Iterator[ReportSection]:
    for name, question in made.items():
        module, function = name.split(":")
        for section in getattr(import_module(f"ucurve.analysis.{module}"), function)(*given):
            page = _PAGES.get(module.partition(".")[0], "docs/analysis.md")
            yield replace(section, question=question, page=page)
