"""ZhoBLiMP's tables and figures beyond the curves, in the order of the report."""

from collections.abc import Callable, Iterable

from analysis.correlations import correlation_parts
from analysis.excluded import excluded_parts
from analysis.human import human_parts
from analysis.length_bias_parts import length_bias_parts
from analysis.mean_curves import mean_curve_parts
from analysis.over_tokenizers import tokenizer_parts
from analysis.phenomena import phenomenon_parts
from analysis.report import Part
from analysis.study import Scored, Study
from analysis.tokenizer_table import tokenizer_table_parts

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
