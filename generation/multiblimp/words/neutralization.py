"""Features that another feature neutralizes, by what a treebank says: gender in the plural of many languages."""

from collections import Counter
from collections.abc import Iterable

from ucurve.generation.multiblimp.words.features import Entry, Features, base_of, feature_names

NOISE = 0.05  # share of entries that may be annotated otherwise
_Context = frozenset[tuple[str, frozenset[str]]]


class Neutralization:
    """Finds where entries of one part of speech and context lack a feature because of the value of another."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = [entry for entry in entries if entry.source == "treebank"]
        self._counts: dict[str, tuple[Counter[object], Counter[object]]] = {}

    def between(self, feature: str, part: str, one: Features, other: Features, name: str) -> bool:
        """Tell whether the feature ``name``, which one word has and the other lacks, is neutralized by ``feature``."""
        having, lacking = (one, other) if name in one else (other, one)
        return (
            base_of(name) in feature_names().neutralizable
            and self._share(feature, part, having, name) >= 1 - NOISE
            and self._share(feature, part, lacking, name) <= NOISE
        )

    def _share(self, feature: str, part: str, features: Features, name: str) -> float:
        """Return the share of entries like these that have a feature; -1 where there are none."""
        if feature not in self._counts:
            self._counts[feature] = self._count(feature)
        total, having = self._counts[feature]
        key = (part, features.get(feature), _context(features, feature))
        return having[key, name] / total[key] if total[key] else -1.0

    def _count(self, feature: str) -> tuple[Counter[object], Counter[object]]:
        total, having = Counter[object](), Counter[object]()
        for entry in self._entries:
            key = (entry.part, entry.annotated.get(feature), _context(entry.annotated, feature))
            total[key] += 1
            having.update((key, name) for name in entry.annotated if base_of(name) in feature_names().neutralizable)
        return total, having


def _context(features: Features, feature: str) -> _Context:
    left_out = feature_names().neutralizable
    return frozenset(item for item in features.items() if item[0] != feature and base_of(item[0]) not in left_out)
