"""In what the sentences of pairs differ: a minimal pair differs in one place, in a form of one word."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from difflib import SequenceMatcher
from functools import partial
from typing import NamedTuple

from ucurve.eval.metrics.clusters import parts
from ucurve.generation.lengths import Lengths

Lemmas = Mapping[str, Set[str]]
"""The lemmas that a word can be a form of; words that are not known are missing."""

_SHOWN = 3  # examples and paradigms of a kind
_SAID = {
    "several_places": "differ in more than one place",
    "other_lemma": "have another word, not another form of one lemma, where they differ",
    "unequal_length": "are of unequal length in {}",
}
_MARKS = re.compile(r"^\W+|\W+$")  # punctuation may stand at the edges of a word


class Member(NamedTuple):
    """A pair with the paradigm that it stands in."""

    paradigm: str
    good: str
    bad: str


def stretches(good: str, bad: str) -> list[tuple[list[str], list[str]]]:
    """Return the words of each stretch in which two sentences differ (characters where none has a space)."""
    one, other, _ = parts(good, bad)
    found = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    return [(one[a:b], other[c:d]) for kind, a, b, c, d in found if kind != "equal"]


def in_several_places(good: str, bad: str) -> bool:
    """Say whether sentences differ in more than one place; words in another order are one difference."""
    one, other, _ = parts(good.lower(), bad.lower())
    return len(stretches(good, bad)) > 1 and sorted(one) != sorted(other)


def in_lemma(lemmas: Lemmas, good: str, bad: str) -> bool:
    """Say whether a word stands where the other sentence has a word of which no lemma is the same."""
    for stretch in stretches(good, bad):
        sides: list[Set[str]] = []
        for words in stretch:
            # A word of a vocabulary may have spaces, or be several characters where no spaces are written.
            whole = lemmas.get(" ".join(words)) or lemmas.get("".join(words))
            sides.append(whole or set[str]().union(*(lemmas.get(_MARKS.sub("", word), ()) for word in words)))
        # A side of which no lemma is known says nothing.
        if all(sides) and sides[0].isdisjoint(sides[1]):
            return True
    return False


def find_differences(
    members: Sequence[Member], lemmas: Lemmas | None, lengths: Lengths | None = None
) -> dict[str, list[Member]]:
    """Find the pairs whose sentences differ in more than the form of one word, by the kind of the difference.

    The kinds are ``several_places``, ``other_lemma``, which is missing where ``lemmas`` is None since they are not
    known, and ``unequal_length`` (in characters, or as ``lengths`` measures).
    """
    measure = (lengths or Lengths()).measure
    tests: dict[str, Callable[[str, str], bool]] = {
        "several_places": in_several_places,
        "other_lemma": partial(in_lemma, lemmas or {}),
        "unequal_length": lambda good, bad: measure(good) != measure(bad),
    }
    if lemmas is None:
        del tests["other_lemma"]
    return {kind: [one for one in members if differs(one.good, one.bad)] for kind, differs in tests.items()}


def describe_differences(
    members: Sequence[Member], lemmas: Lemmas | None, lengths: Lengths | None = None
) -> list[str]:
    """Return a sentence for each kind of difference that some pairs have: how many, of which paradigms, examples."""
    lengths = lengths or Lengths()
    said = {kind: text.format(lengths.unit) for kind, text in _SAID.items()}
    return [
        f"{len(found)} of {len(members)} pairs {said[kind]}{_paradigms(found)}: {_examples(found)}"
        for kind, found in find_differences(members, lemmas, lengths).items()
        if found
    ]


def _paradigms(members: Iterable[Member]) -> str:
    """Say in brackets how many pairs are of which paradigm, the largest first; nothing where all are of one."""
    counts = Counter(member.paradigm for member in members).most_common()
    if len(counts) == 1:
        return ""
    more = [f"{len(counts) - _SHOWN} more"] if len(counts) > _SHOWN else []
    return f" ({', '.join([*(f'{name} {count}' for name, count in counts[:_SHOWN]), *more])})"


def _examples(members: Sequence[Member]) -> str:
    """Show what differs in pairs of different paradigms first."""
    # Reversed, the first pair of each paradigm is the one that stays.
    first = {one.paradigm: one for one in reversed(members)}.values()
    chosen = dict.fromkeys([*reversed(first), *members])
    shown = []
    for one in list(chosen)[:_SHOWN]:
        _, _, between = parts(one.good, one.bad)
        sides = zip(*stretches(one.good, one.bad), strict=True)
        shown.append(" / ".join(" … ".join(between.join(words) or "-" for words in side) for side in sides))
    return "; ".join(shown)
