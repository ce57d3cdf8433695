"""The YAML files of the analysis about paradigms and phenomena of single benchmarks."""

from ucurve.analysis.models.benchmarks import load_matches
from ucurve.analysis.models.sizes import load_complexity
from ucurve.analysis.pairs.section import load_attractors
from ucurve.eval.benchmarks.registry import published_benchmarks


def test_they_are_about_benchmarks_that_there_are() -> None:
    named = {*load_attractors(), *load_complexity(), *load_matches()["benchmark"]}
    assert {"rublimp", "tse/hin", "clams/heb"} <= named <= published_benchmarks().keys()


def test_no_suite_stands_in_two_places() -> None:
    for series in load_complexity().values():
        suites = [suite for names in series.values() for suite in names]
        assert len(suites) == len(set(suites)) > 1
    for pairs in load_attractors().values():
        assert all(without != with_it for without, with_it in pairs.values())


def test_what_is_matched_is_in_several_benchmarks() -> None:
    matches = load_matches()
    assert list(matches.columns) == ["match", "benchmark", "phenomenon"]
    assert not matches.duplicated().any()
    assert (matches.groupby("match")["benchmark"].nunique() > 1).all()
