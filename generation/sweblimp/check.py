"""The checks of Swedish pairs, made here or published: the edit of the paradigm, the words, their gender and form."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise

from ucurve.generation.maker import CheckOf, each_pair
from ucurve.generation.sweblimp.pattern import Pattern, read_patterns
from ucurve.generation.sweblimp.words import list_files, read_lists

_TEXT = re.compile(r"[A-ZÅÄÖ][^\W_]*(?:[ -][^\W_]+)*")


def _breaks(test: Callable[[str, str, Pattern], bool]) -> CheckOf:
    """Return the check of the pairs of the known paradigms by a test of both sentences and the pattern."""
    patterns = {pattern.name: pattern for pattern in read_patterns()}
    return each_pair(
        lambda name, good, bad: name in patterns and test(good, bad, patterns[name]), "paradigm", "good", "bad"
    )


def _no_text(sentence: str) -> bool:
    return _TEXT.fullmatch(sentence) is None


def _no_agreement(good: str) -> bool:
    """Whether an article of the good sentence stands before a noun of the lists that has another gender or form."""
    words = good.lower().split()
    return any(
        _articles().get(noun, article) != article for article, noun in pairwise(words) if article in ("en", "ett")
    )


@cache
def _articles() -> Mapping[str, str | None]:
    """Return the article of singular nouns of the lists by their forms; None for definite ones."""
    lists = read_lists(list_files(None))
    article = {row.cells["gender"]: row.cells["article"] for row in lists["genders"]}
    definite: dict[str, str | None] = {row.cells["definite"]: None for row in lists["nouns"]}
    # A form that is definite of one noun and indefinite of another may have an article.
    return definite | {row.cells["indefinite"]: article[row.cells["gender"]] for row in lists["nouns"]}


CHECKS: Mapping[str, CheckOf] = {
    "the two sentences differ as the paradigm says": _breaks(
        lambda good, bad, pattern: re.fullmatch(pattern.edit, f"{good} => {bad}") is None
    ),
    "the bad sentence has the words more or fewer that the paradigm says": _breaks(
        lambda good, bad, pattern: len(bad.split()) - len(good.split()) != pattern.longer
    ),
    "a capital, then letters, digits, hyphens and single blanks; no full stop": _breaks(
        lambda good, bad, _pattern: _no_text(good) or _no_text(bad)
    ),
    "an article of the good sentence agrees with its noun (nouns of the lists)": _breaks(
        lambda good, _bad, _pattern: _no_agreement(good)
    ),
}
