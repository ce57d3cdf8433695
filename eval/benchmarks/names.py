"""The names that a benchmark goes by: every join with a table that is keyed by the names of benchmarks uses them."""

from collections.abc import Collection

from ucurve.errors import unknown_name
from ucurve.eval.benchmarks.registry import published_cards
from ucurve.eval.pairs import full_name, split_name


def known_names(benchmark: str, language: str = "", maker: str | None = None) -> tuple[str, ...]:
    """Return the names by which a table may know a benchmark, the nearest first.

    These are its own name, the one without the mark of a subset and that of its family; then, where its pairs have a
    maker of ``generation``, the names of the published benchmarks that this maker makes anew, in the same language:
    a subset ``suites/hin@6`` that the maker ``tse`` made is also ``suites/hin``, ``suites``, ``tse/hin`` and ``tse``.
    """
    anew = [
        each
        for name, card in (published_cards() if maker else {}).items()
        if card.maker == maker
        for each in (f"{name}/{language}", name)
    ]
    return tuple(dict.fromkeys((benchmark, full_name(benchmark), split_name(benchmark)[0], *anew)))


def benchmarks_meant(asked: str, there: Collection[str]) -> list[str]:
    """Return which benchmarks of a study a name means: the one of this name, else its subsets and its languages.

    Raises:
        UserError: when the name means none of them.
    """
    meant = [asked] if asked in there else [name for name in there if asked in known_names(name)]
    if not meant:
        raise unknown_name("benchmark", asked, there, "benchmark")
    return meant
