"""The checks of Swedish pairs, made here or published: the edit of the paradigm, the words, their gender and form."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise

import pandas as pd

from generation.sweblimp.pattern import Pattern, read_patterns
from generation.sweblimp.words import list_files, read_lists

Check = Callable[[pd.DataFrame], pd.Series]
_TEXT = re.compile(r"[A-ZÅÄÖ][^\W_]*(?:[ -][^\W_]+)*")


def _other_edit(good: str, bad: str, pattern: Pattern) -> bool:
    return re.fullmatch(pattern.edit, f"{good} => {bad}") is None


def _other_length(good: str, bad: str, pattern: Pattern) -> bool:
    return len(bad.split()) - len(good.split()) != pattern.longer


def _other_characters(good: str, bad: str, pattern: Pattern) -> bool:
    del pattern
    return any(_TEXT.fullmatch(sentence) is None for sentence in (good, bad))


def _no_agreement(good: str, bad: str, pattern: Pattern) -> bool:
    """Whether an article of the good sentence stands before a noun of the lists that has another gender or form."""
    del bad, pattern
    words = good.lower().split()
    return any(_nouns().get(noun, article) != article for article, noun in pairwise(words) if article in _ARTICLES)


_ARTICLES = ("en", "ett")
_NO_ARTICLE = "none"


@cache
def _nouns() -> Mapping[str, str]:
    """Return the article of singular nouns of the lists by their forms; ``_NO_ARTICLE`` for definite ones."""
    lists = read_lists(list_files(None))
    article = {row.cells["gender"]: row.cells["article"] for row in lists["genders"]}
    definite = {row.cells["definite"]: _NO_ARTICLE for row in lists["nouns"]}
    return definite | {row.cells["indefinite"]: article[row.cells["gender"]] for row in lists["nouns"]}


def _breaks(test: Callable[[str, str, Pattern], bool]) -> Check:
    def check(pairs: pd.DataFrame) -> pd.Series:
        patterns = {pattern.name: pattern for pattern in read_patterns()}
        rows = zip(pairs["paradigm"], pairs["good"], pairs["bad"], strict=True)
        found = [name in patterns and test(good, bad, patterns[name]) for name, good, bad in rows]
        return pd.Series(found, index=pairs.index, dtype=bool)

    return check


CHECKS: Mapping[str, Check] = {
    "the two sentences differ as the paradigm says": _breaks(_other_edit),
    "the bad sentence has the words more or fewer that the paradigm says": _breaks(_other_length),
    "a capital, then letters, digits, hyphens and single blanks; no full stop": _breaks(_other_characters),
    "an article of the good sentence agrees with its noun (nouns of the lists)": _breaks(_no_agreement),
}
