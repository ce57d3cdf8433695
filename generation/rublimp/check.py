"""What every Russian pair must be, checked on what is made and on the published files."""

from collections.abc import Callable, Mapping

import pandas as pd

CheckOf = Callable[[pd.DataFrame], pd.Series]
_YO = ("ё", "Ё")


def _other_length(pairs: pd.DataFrame) -> pd.Series:
    return _words(pairs["good"]) != _words(pairs["bad"])


def _words(sentences: pd.Series) -> pd.Series:
    return pd.Series([len(sentence.split()) for sentence in sentences], index=sentences.index)


def _new_yo(pairs: pd.DataFrame) -> pd.Series:
    """Tell pairs of which only the bad sentence has the letter yo."""
    found = [
        any(letter in bad for letter in _YO) and not any(letter in good for letter in _YO)
        for good, bad in zip(pairs["good"], pairs["bad"], strict=True)
    ]
    return pd.Series(found, index=pairs.index)


def _word_missing(pairs: pd.DataFrame) -> pd.Series:
    """Tell pairs whose changed words do not stand in the sentences."""
    found = [
        source not in good or target not in bad
        for source, good, target, bad in zip(
            pairs["source_word"].astype(str), pairs["good"], pairs["target_word"].astype(str), pairs["bad"], strict=True
        )
    ]
    return pd.Series(found, index=pairs.index)


CHECKS: Mapping[str, CheckOf] = {
    "the sentences have as many words": _other_length,
    "the bad sentence brings no letter yo": _new_yo,
    "the changed words stand in the sentences": _word_missing,
}
