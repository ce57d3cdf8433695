"""Which sections the report has: ZhoBLiMP's tables and figures, then those of the other papers."""

from collections.abc import Iterable, Iterator

import pandas as pd

from analysis.change_points.section import change_sections
from analysis.curves.by_column import column_sections
from analysis.curves.charts import add_flops_charts, add_learning_charts, add_loss_chart
from analysis.curves.flops import draw_flops_curves, flops_table
from analysis.curves.learning import curve_table, draw_learning_curves
from analysis.curves.loss import draw_loss_curves, loss_table
from analysis.curves.mean import mean_curve_sections
from analysis.data.frames import last_scored, targets
from analysis.data.last_scores import ModelScores, group_languages, load_last_scores
from analysis.data.runs import equal_steps, unvouched_files
from analysis.data.study import BenchmarkScores, Study
from analysis.data.user_tables import read_factors, read_languages, read_matches, read_models
from analysis.items.histories import read_histories
from analysis.items.section import item_sections
from analysis.languages.section import language_sections
from analysis.linking.length_bias import length_bias_sections
from analysis.linking.ratings import correlation_sections
from analysis.linking.tables import linking_by_run
from analysis.linking.tokenizers import tokenizer_sections, tokenizer_table_sections
from analysis.models.benchmarks import benchmark_sections, match_sections
from analysis.models.prompts import prompt_sections
from analysis.models.side_by_side import comparison_sections
from analysis.models.sizes import complexity_sections, find_families, slope_sections
from analysis.ngrams.section import ngram_sections
from analysis.pairs.factors import factor_sections
from analysis.pairs.section import filtering_sections, pair_sections
from analysis.paradigms.excluded import excluded_sections
from analysis.paradigms.human import human_sections, reference_lines
from analysis.paradigms.phenomena import phenomenon_sections
from analysis.plotting.figures import Drawing
from analysis.plotting.style import chinese_fonts
from analysis.report.html import ReportSection
from analysis.scaling.section import accuracy_by_bits_sections, accuracy_scaling_sections, loss_scaling_sections
from analysis.shape.section import read_shapes, shape_sections
from analysis.summary import headline, headline_section, linking_section, missing, provenance, runs_section
from analysis.tokens.section import token_sections
from ucurve.progress import say


def phenomenon_and_tokenizer_sections(scored: BenchmarkScores) -> Iterable[ReportSection]:
    """Make Tables 5 and 6 and Figure 4 of ZhoBLiMP for one benchmark, as far as the runs hold what they show."""
    yield from phenomenon_sections(scored)
    yield from mean_curve_sections(scored)
    yield from tokenizer_sections(scored)


def length_bias_and_human_sections(study: Study) -> Iterable[ReportSection]:
    """Make Figure 2 and Tables 4, 7 and 8 of ZhoBLiMP, as far as the runs hold what they show."""
    yield from length_bias_sections(study)
    yield from excluded_sections(study)
    yield from human_sections(study)
    yield from correlation_sections(study)
    yield from tokenizer_table_sections(study)


_APART = 3  # a benchmark of more languages has no sections for each of them


def paper_sections(study: Study) -> Iterator[ReportSection]:
    """Make what the study holds data for; the pairs of a benchmark are read once.

    Raises:
        UserError: when a file of the user or of a run is broken, or names what is not there.
    """
    given = study.settings
    known: list[tuple[str, str]] = []
    if given.matches and not study.scores.empty:
        rows = last_scored(study.scores)[["benchmark", "phenomenon"]].astype(str).drop_duplicates()
        known = list(rows.itertuples(index=False, name=None))
    models = read_models(given.models, [run.label for run in study.runs]) if given.models else None
    languages = read_languages(given.languages) if given.languages else None
    factors = read_factors(given.factors) if given.factors else None
    matches = read_matches(given.matches, known) if given.matches else None
    if study.scores.empty:
        return
    models = find_families(study.runs) if models is None else models
    for (family, _), members in group_languages(study.benchmarks()).items():
        scores = [(scored, last) for scored in members if (last := load_last_scores(scored)) is not None]
        if len(scores) <= _APART:
            for scored, last in scores:
                yield from _sections_of_benchmark(scored, last, models, factors)
        if len(scores) > 1:
            first = scores[0][0]
            by_language = {scored.benchmark.partition("/")[2]: last for scored, last in scores}
            name = first.file_name.replace(first.benchmark.replace("/", "-"), family)
            title = first.title.replace(first.benchmark, family)
            yield from language_sections(family, name, title, by_language, languages)
            yield from factor_sections(family, name, by_language, languages, factors)
    yield from benchmark_sections(study)
    yield from match_sections(study, matches)
    yield from prompt_sections(study)


def _sections_of_benchmark(
    scored: BenchmarkScores, last: ModelScores, models: pd.DataFrame, factors: pd.DataFrame | None
) -> Iterator[ReportSection]:
    ways = {scorer for benchmark, scorer in targets(scored.study.scores) if benchmark == scored.benchmark}
    if scored.scorer == "mink" and "sentence" in ways:  # mink stores the sums that sentence has
        yield from filtering_sections(scored, last)
        return
    yield from comparison_sections(scored, last)
    yield from slope_sections(scored, last, models)
    yield from complexity_sections(scored, last, models)
    yield from pair_sections(scored, last)
    yield from filtering_sections(scored, last)
    if "/" not in scored.benchmark:
        yield from factor_sections(scored.benchmark, scored.file_name, {"": last}, None, factors)


def make_sections(study: Study) -> Iterator[ReportSection]:
    """Make every figure and table of a study, in the order of the report."""
    if not study.scores.empty:
        yield headline_section(headline(study.shown_rows(), study.runs))
    for scored in study.benchmarks():
        nothing = ("No checkpoints of a training run were scored on it: no curves.",)
        curves = tuple(_draw_curves(scored)) or nothing
        yield ReportSection(f"Curves on {scored.benchmark} (scored by {scored.scorer})", curves)
        shapes = read_shapes(scored)
        if shapes is not None:
            yield from shape_sections(scored, shapes)
            yield from change_sections(scored, shapes.estimates)
            yield from ngram_sections(scored, shapes.classes)
        yield from token_sections(scored)
        histories = read_histories(scored)
        yield from item_sections(scored, histories)
        yield from column_sections(scored, histories)
        yield linking_section(scored.benchmark, scored.file_name, linking_by_run(scored.rows))
        yield from accuracy_scaling_sections(scored)
        yield from accuracy_by_bits_sections(scored)
        yield from phenomenon_and_tokenizer_sections(scored)
    yield from paper_sections(study)
    losses = loss_table(study.metrics, study.held_out)
    if not losses.empty:
        yield ReportSection("Training", (add_loss_chart(draw_loss_curves(losses, "training_curves")),))
    yield from loss_scaling_sections(study)
    yield from length_bias_and_human_sections(study)
    unvouched = [one for run in study.runs for one in unvouched_files(run)]
    equal = {run.label: steps for run in study.runs if (steps := equal_steps(run))}
    yield runs_section(provenance(study.runs), missing(study.runs, study.scores, study.linkings), unvouched, equal)


def _draw_curves(scored: BenchmarkScores) -> list[Drawing]:
    """Draw the curves of one benchmark; none where it was scored only on models that were not trained here."""
    rows = scored.curve_rows()
    if rows.empty:
        return []
    letters = "".join(map(str, rows["phenomenon"].unique()))
    if any("\u4e00" <= letter <= "\u9fff" for letter in letters) and not chinese_fonts():
        say(
            "warning: no font with Chinese characters is installed; such labels show as boxes in the figures "
            "(Debian: apt-get install fonts-wqy-microhei)"
        )
    table = curve_table(rows, scored.study.runs)
    drawings = draw_learning_curves(table, f"learning_curves_{scored.file_name}", scored.curve_title)
    drawings = add_learning_charts(drawings, scored)
    points = flops_table(table, scored.study.runs)
    if not points.empty:
        name, lines = f"flops_curves_{scored.file_name}", reference_lines(scored)
        drawings += add_flops_charts(draw_flops_curves(points, name, scored.curve_title, lines))
    return drawings
