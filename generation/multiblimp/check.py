"""What every pair of agreement must be, checked on what is made and on the published files."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from generation.multiblimp.languages import language_settings
from generation.multiblimp.minimality import CHECK, Annotation, check_minimal, files_of

CheckOf = Callable[[pd.DataFrame], pd.Series]


def differing_words(good: str, bad: str) -> int:
    """Count the places at which two sentences have other words; -1 where they have not as many."""
    first, second = good.split(), bad.split()
    return sum(one != other for one, other in zip(first, second, strict=True)) if len(first) == len(second) else -1


def _not_one_word(pairs: pd.DataFrame) -> pd.Series:
    counts = [differing_words(good, bad) for good, bad in zip(pairs["good"], pairs["bad"], strict=True)]
    return pd.Series(counts, index=pairs.index) != 1


def _other_end(pairs: pd.DataFrame) -> pd.Series:
    """Tell pairs whose first letters are large in one sentence and small in the other."""
    return pairs["good"].str[0].str.isupper() != pairs["bad"].str[0].str.isupper()


def _wrong_order(pairs: pd.DataFrame) -> pd.Series:
    if not {"distance", "word_order"} <= set(pairs.columns):
        return pd.Series(False, index=pairs.index)
    return (pairs["distance"].astype(int) > 0) != (pairs["word_order"] == "SV")


CHECKS: Mapping[str, CheckOf] = {
    "the sentences differ in one word": _not_one_word,
    "both begin with a capital letter, or neither": _other_end,
    "the word order is that of the distance": _wrong_order,
}


def source_checks(made: Mapping[str, Any], keys: Mapping[str, Any]) -> Mapping[str, CheckOf | str]:
    """Return the checks of a made folder that need its treebanks, or what to add to the command for them.

    Args:
        made: of the folder's card.
        keys: the settings of the source in the command.
    """
    files = files_of(made, keys)
    if files is None:
        names = ",".join(str(known["file"]) for known in made["inputs"])
        return {CHECK: f"not looked at: add source={made['source']} 'treebanks=[{names}]'"}
    language = language_settings(made["settings"]["language"])
    return {CHECK: partial(check_minimal, annotation=Annotation(*files, language))}
