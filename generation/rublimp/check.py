"""What every Russian pair must be, checked on what is made and on the published files."""

from collections.abc import Mapping

from ucurve.generation.maker import CheckOf, each_pair


def _has_yo(sentence: str) -> bool:
    return "ё" in sentence.lower()


CHECKS: Mapping[str, CheckOf] = {
    "the sentences have as many words": each_pair(
        lambda good, bad: len(good.split()) != len(bad.split()), "good", "bad"
    ),
    # In a text that is printed without the letter, it alone would tell the bad sentence.
    "the bad sentence brings no letter yo": each_pair(
        lambda good, bad: _has_yo(bad) and not _has_yo(good), "good", "bad"
    ),
    "the changed words stand in the sentences": each_pair(
        lambda source, good, target, bad: str(source) not in good or str(target) not in bad,
        "source_word",
        "good",
        "target_word",
        "bad",
    ),
}
