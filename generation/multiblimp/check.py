"""What every pair of agreement must be, checked on what is made and on the published files."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ucurve.generation.maker import CheckOf, each_pair
from ucurve.generation.multiblimp.languages import language_settings
from ucurve.generation.multiblimp.minimality import CHECK, Annotation, files_of, minimality_check


def _not_one_word(good: str, bad: str) -> bool:
    first, second = good.split(), bad.split()
    return len(first) != len(second) or sum(one != other for one, other in zip(first, second, strict=True)) != 1


def _wrong_order(pairs: pd.DataFrame) -> pd.Series:
    if not {"distance", "word_order"} <= set(pairs.columns):
        return pd.Series(False, index=pairs.index)
    return (pairs["distance"].astype(int) > 0) != (pairs["word_order"] == "SV")


CHECKS: Mapping[str, CheckOf] = {
    "the sentences differ in one word": each_pair(_not_one_word, "good", "bad"),
    "both begin with a capital letter, or neither": each_pair(
        lambda good, bad: good[:1].isupper() != bad[:1].isupper(), "good", "bad"
    ),
    "the word order is that of the distance": _wrong_order,
}


def source_checks(made: Mapping[str, Any], keys: Mapping[str, Any]) -> Mapping[str, CheckOf | str]:
    """Return the checks that need a folder's treebanks, by ``made`` of its card, or what to add to the command."""
    files = files_of(made, keys)
    if files is None:
        names = ",".join(str(known["file"]) for known in made["inputs"])
        return {CHECK: f"not looked at: add source={made['source']} 'treebanks=[{names}]'"}
    language = language_settings(made["settings"]["language"])
    return {CHECK: minimality_check(Annotation(*files, language))}
