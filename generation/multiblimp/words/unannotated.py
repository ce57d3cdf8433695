"""Beginnings and endings that a treebank does not annotate, such as *ba-*, *-n* and *-la* of Basque verbs."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import permutations

_LEMMAS = 3  # at least, that have both forms
_VALUES = 2  # at least, of the feature that is changed: a mark of one value alone may belong to it (Dutch -t)
_SHARE = 0.1  # at least, of the forms with an ending that stand beside a form without it

Cells = Mapping[tuple[str, frozenset[tuple[str, frozenset[str]]]], Collection[str]]
"""The forms of each lemma and annotation."""


class Unannotated:
    """Finds where forms differ in what the annotation of their treebank does not say.

    Forms of one lemma with the same annotation differ in something else: *da* and *bada*, *dute* and *dutela*. What
    they differ in must be alike in the two forms of a pair.
    """

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._backwards = {cell: [form[::-1] for form in forms] for cell, forms in cells.items()}
        self._changes: dict[str, tuple[Collection[tuple[str, str]], Collection[tuple[str, str]]]] = {}

    def differ(self, feature: str, one: str, other: str) -> bool:
        """Tell whether two forms with different values of a feature differ in something that is not annotated too."""
        if feature not in self._changes:
            self._changes[feature] = _changes(self._cells, feature), _changes(self._backwards, feature)
        ends, starts = self._changes[feature]
        return _changed(ends, one, other) or _changed(starts, one[::-1], other[::-1])


def _changes(cells: Cells, feature: str) -> Collection[tuple[str, str]]:
    """Return the endings that take each other's place in forms of the same annotation that has the feature."""
    seen: dict[tuple[str, str], set[tuple[str, frozenset[str]]]] = defaultdict(set)  # with which lemmas and values
    having = {cell: forms for cell, forms in cells.items() if feature in dict(cell[1])}
    for (lemma, features), forms in having.items():
        for one, other in permutations(forms, 2):
            at = next(
                (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
            )
            if at and one[at:] < other[at:]:
                seen[one[at:], other[at:]].add((lemma, dict(features)[feature]))
    found = {
        change
        for change, where in seen.items()
        if len({lemma for lemma, _ in where}) >= _LEMMAS and len({value for _, value in where}) >= _VALUES
    }
    added = {change[1] for change in found if not change[0] and _is_free(change[1], having.values())}
    longer = {ending for ending in added if any(ending != other and ending.endswith(other) for other in added)}
    return {change for change in found if change[0] or change[1] in added - longer}


def _is_free(ending: str, cells: Iterable[Collection[str]]) -> bool:
    """Tell whether enough of the forms with an ending stand beside one of the same annotation without it."""
    beside = [
        any(not other.endswith(ending) for other in forms) for forms in cells for form in forms if form.endswith(ending)
    ]
    return sum(beside) >= _SHARE * len(beside)


def _changed(changes: Collection[tuple[str, str]], one: str, other: str) -> bool:
    return any({_ending(one, change), _ending(other, change)} == {*change} for change in changes)


def _ending(form: str, change: tuple[str, str]) -> str | None:
    return next((ending for ending in sorted(change, key=len, reverse=True) if form.endswith(ending)), None)
