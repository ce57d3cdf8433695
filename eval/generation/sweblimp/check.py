"""The checks of Swedish pairs, made here or published: the edit of the paradigm, words, gender and form."""

import re
from collections.abc import Callable, Mapping

import pandas as pd

from eval.generation.sweblimp.pattern import Pattern, read_patterns


def _pattern_of(pairs: pd.DataFrame) -> Mapping[str, Pattern]:
    """Return the patterns by the names of paradigms.

    The pair table has the names of the published file, which the patterns have too.
    """
    del pairs
    return {pattern.name: pattern for pattern in read_patterns()}


def _breaks(test: Callable[[str, str, Pattern], bool]) -> Callable[[pd.DataFrame], pd.Series]:
    def check(pairs: pd.DataFrame) -> pd.Series:
        patterns = {pattern.name: pattern for pattern in read_patterns()}
        found = [
            row.paradigm in patterns and test(row.good, row.bad, patterns[row.paradigm]) for row in pairs.itertuples()
        ]
        return pd.Series(found, index=pairs.index, dtype=bool)

    return check


def _other_edit(good: str, bad: str, pattern: Pattern) -> bool:
    return re.fullmatch(pattern.edit, f"{good} => {bad}") is None


def _other_length(good: str, bad: str, pattern: Pattern) -> bool:
    return len(bad.split()) - len(good.split()) != pattern.longer
