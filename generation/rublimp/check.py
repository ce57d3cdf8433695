"""What every Russian pair must be, checked on what is made and on the published files."""

from collections.abc import Mapping

from ucurve.generation.maker import CheckOf, each_pair


def _has_yo(sentence: str) -> bool:
    return "ё" in sentence.lower()


def _other_length(good: str, bad: str) -> bool:
    return len(good.split()) != len(bad.split())


def _new_yo(good: str, bad: str) -> bool:
    # In a text that is printed without the letter, it alone would tell the bad sentence.
    return _has_yo(bad) and not _has_yo(good)


def _word_missing(source: object, good: str, target: object, bad: str) -> bool:
    return str(source) not in good or str(target) not in bad


CHECKS: Mapping[str, CheckOf] = {
    "the sentences have as many words": each_pair(_other_length, "good", "bad"),
    "the bad sentence brings no letter yo": each_pair(_new_yo, "good", "bad"),
    "the changed words stand in the sentences": each_pair(_word_missing, "source_word", "good", "target_word", "bad"),
}
