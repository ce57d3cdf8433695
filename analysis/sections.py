"""The sections of the report in their order, each by its module in this package and the function that makes it.

To add one, write a function that yields sections, none where the runs lack what it needs, and name it in a list and
below the question that it answers.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import import_module

from ucurve.analysis.data.last_scores import LanguageScores, group_languages
from ucurve.analysis.data.study import Study
from ucurve.analysis.overview import first_screen, tell_benchmark
from ucurve.analysis.report.html import FirstScreen, Question, ReportSection

FIRST = ("lines.ends:line_sections", "summary:headline_sections")  # functions of the Study; the first has no question
OF_BENCHMARK = (  # of its BenchmarkScores
    "curves.section:curve_sections",
    "curves.section:flops_sections",
    "lines.section:side_by_side_sections",
    "lines.time_ratios:time_ratio_sections",
    "lines.along:along_sections",
    "shape.section:acquisition_sections",
    "shape.section:shape_sections",
    "shape.over_sizes:size_shape_sections",
    "shape.over_flops:flops_shape_sections",
    "change_points.section:change_sections",
    "ngrams.section:ngram_sections",
    "tokens.section:token_sections",
    "items.section:item_sections",
    "items.margins:margin_sections",
    "curves.outliers:outlier_sections",
    "curves.by_column:column_sections",
    "linking.section:linking_sections",
    "scaling.section:accuracy_scaling_sections",
    "scaling.section:accuracy_by_bits_sections",
    "paradigms.phenomena:phenomenon_sections",
    "curves.mean:mean_curve_sections",
    "linking.tokenizers:tokenizer_sections",
)
OF_MODELS = (  # of the BenchmarkScores and ModelScores of a benchmark
    "models.side_by_side:comparison_sections",
    "models.sizes:slope_sections",
    "models.sizes:complexity_sections",
    "pairs.section:length_sections",
    "pairs.section:attractor_sections",
    "pairs.section:subset_sections",
    "pairs.section:filtering_sections",
)
OF_LANGUAGES = (  # of the LanguageScores of a benchmark
    "languages.section:language_sections",
    "pairs.factors:factor_sections",
)
LAST = (  # of the Study
    "models.benchmarks:benchmark_sections",
    "models.benchmarks:match_sections",
    "models.prompts:prompt_sections",
    "curves.section:loss_sections",
    "scaling.section:loss_scaling_sections",
    "linking.length_bias:length_bias_sections",
    "paradigms.excluded:excluded_sections",
    "paradigms.human:human_sections",
    "linking.ratings:correlation_sections",
    "linking.tokenizers:tokenizer_table_sections",
)
AT_THE_END = ("summary:runs_sections",)  # of the Study and the sections that could not be made
_WHAT_WAS_LEARNED = Question("learned", "What was learned, and when?")
_SHAPES = Question("shapes", "Which curves turn?")
_PAIRS = Question("pairs", "Which pairs, and do seeds agree on them?")
_LENGTH = Question("length", "Does length decide?")
_MODELS = Question("models", "How do models compare?")
_PEOPLE = Question("people", "What do people say?")
_COST = Question("cost", "How did training go, and what did it cost?")
_RUNS = Question("runs", "What was run?")
QUESTIONS = {  # in the order of the report, with the functions that answer them
    _WHAT_WAS_LEARNED: (
        "curves.section:curve_sections", "paradigms.phenomena:phenomenon_sections",
        "shape.section:acquisition_sections", "curves.by_column:column_sections",
        "curves.mean:mean_curve_sections", "languages.section:language_sections",
    ),
    _SHAPES: (
        "shape.section:shape_sections", "shape.over_sizes:size_shape_sections",
        "shape.over_flops:flops_shape_sections", "change_points.section:change_sections",
        "ngrams.section:ngram_sections",
    ),
    _PAIRS: (
        "items.section:item_sections", "items.margins:margin_sections", "curves.outliers:outlier_sections",
        "tokens.section:token_sections", "pairs.section:attractor_sections", "pairs.section:subset_sections",
        "pairs.section:filtering_sections", "pairs.factors:factor_sections",
    ),
    _LENGTH: (
        "linking.section:linking_sections", "linking.length_bias:length_bias_sections",
        "linking.tokenizers:tokenizer_sections", "pairs.section:length_sections",
    ),
    _MODELS: (
        "lines.section:side_by_side_sections", "lines.time_ratios:time_ratio_sections",
        "lines.along:along_sections",
        "models.side_by_side:comparison_sections", "models.benchmarks:benchmark_sections",
        "models.benchmarks:match_sections", "models.prompts:prompt_sections", "curves.section:flops_sections",
        "scaling.section:accuracy_scaling_sections", "scaling.section:accuracy_by_bits_sections",
        "models.sizes:slope_sections", "models.sizes:complexity_sections",
    ),
    _PEOPLE: (
        "paradigms.human:human_sections", "linking.ratings:correlation_sections",
        "paradigms.excluded:excluded_sections",
    ),
    _COST: ("curves.section:loss_sections", "scaling.section:loss_scaling_sections"),
    _RUNS: ("summary:headline_sections", "summary:runs_sections", "linking.tokenizers:tokenizer_table_sections"),
}  # fmt: skip
_PAGES = {  # of the documentation, by the package that makes a section; of the others docs/analysis.md
    "change_points": "docs/change-points.md", "items": "docs/items.md", "linking": "docs/length-bias.md",
    "ngrams": "docs/ngrams.md", "shape": "docs/shape.md", "tokens": "docs/token-scores.md",
}  # fmt: skip
_QUESTION_OF = {name: question for question, names in QUESTIONS.items() for name in names}
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
    first, order = first_screen(study, stories), list(QUESTIONS)
    return first, sorted(sections, key=lambda section: order.index(section.question) if section.question else -1)


def make_sections(study: Study) -> list[ReportSection]:
    """Make every figure and table of a study, in the order of the report."""
    return make_report(study)[1]


def model_sections(languages: LanguageScores) -> Iterator[ReportSection]:
    """Compare models on each language of a benchmark and over all of them."""
    members, study = languages.members, languages.first.study
    for scored, last in members if len(members) <= MOST_APART else ():
        # mink stores the sums that sentence has: only the filtering is not in the report yet.
        known = scored.scorer == "mink" and (scored.benchmark, "sentence") in study.linkings
        yield from _make(["pairs.section:filtering_sections"] if known else OF_MODELS, scored, last)
    if len(members) > 1 or not known:  # known of the only one
        yield from _make(OF_LANGUAGES, languages)


def _make(names: Iterable[str], *given: object) -> Iterator[ReportSection]:
    for name in names:
        module, function = name.split(":")
        for section in getattr(import_module(f"ucurve.analysis.{module}"), function)(*given):
            page = _PAGES.get(module.partition(".")[0], "docs/analysis.md")
            yield replace(section, question=_QUESTION_OF.get(name), page=page)
