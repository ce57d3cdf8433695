"""The sections of the report in their order, each by its module in this package and the function that makes it.

To add one, write a function that yields sections, none where the runs lack what it needs, and name it in a list.
"""

from collections.abc import Iterable, Iterator
from importlib import import_module

from analysis.data.frames import targets
from analysis.data.last_scores import LanguageScores, group_languages
from analysis.data.study import Study
from analysis.report.html import ReportSection

FIRST = ("summary:headline_sections",)  # functions of the Study
OF_BENCHMARK = (  # of its BenchmarkScores
    "curves.section:curve_sections",
    "shape.section:shape_sections",
    "change_points.section:change_sections",
    "ngrams.section:ngram_sections",
    "tokens.section:token_sections",
    "items.section:item_sections",
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
    "pairs.factors:factor_sections",
)
OF_LANGUAGES = (  # of the LanguageScores of a benchmark
    "languages.section:language_sections",
    "pairs.factors:language_factor_sections",
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
    "summary:runs_sections",
)
MOST_APART = 3  # a benchmark of more languages has no sections for each of them


def make_sections(study: Study) -> Iterator[ReportSection]:
    """Make every figure and table of a study, in the order of the report."""
    yield from _make(FIRST, study)
    for scored in study.benchmarks():
        yield from _make(OF_BENCHMARK, scored)
    for languages in group_languages(study):
        yield from model_sections(languages)
    yield from _make(LAST, study)


def model_sections(languages: LanguageScores) -> Iterator[ReportSection]:
    """Compare models on each language of a benchmark and over all of them."""
    members, study = languages.members, languages.first.study
    for scored, last in members if len(members) <= MOST_APART else ():
        # mink stores the sums that sentence has: only the filtering is not in the report yet.
        known = scored.scorer == "mink" and (scored.benchmark, "sentence") in targets(study.scores)
        yield from _make(["pairs.section:filtering_sections"] if known else OF_MODELS, scored, last)
    if len(members) > 1:
        yield from _make(OF_LANGUAGES, languages)


def _make(names: Iterable[str], *given: object) -> Iterator[ReportSection]:
    for name in names:
        module, function = name.split(":")
        yield from getattr(import_module(f"analysis.{module}"), function)(*given)
