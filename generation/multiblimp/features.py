"""Features of words by the names of Universal Dependencies, and the entries of a lexicon."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic.dataclasses import dataclass as checked

from ucurve.fields import STRICT
from ucurve.generation.treebank import Word
from ucurve.yaml_files import read_yaml

Features = Mapping[str, frozenset[str]]
"""Features with the values that each may have; one that is left out is not specified."""

WORDS = {"NOUN": "NOUN", "VERB": "VERB", "AUX": "VERB", "ADJ": "ADJ", "PRON": "PRON", "DET": "DET", "ADV": "ADV"}


@checked(frozen=True, config=STRICT)
class Agreeing:
    """A feature that can agree."""

    name: str  # in the names of phenomena
    subjects: tuple[str, ...]  # parts of speech of subjects that it is looked at with
    values: dict[str, str]  # its values as pairs name them


@checked(frozen=True, config=STRICT)
class FeatureNames:
    """What features.yaml says."""

    agreeing: dict[str, Agreeing]
    neutralizable: tuple[str, ...]  # which may go missing where another feature changes
    of_persons: tuple[str, ...]  # which UniMorph has of some persons alone
    subject_layers: tuple[str, ...]  # they are tried in this order
    parts: dict[str, str]  # by UniMorph's names, as are the next two
    forms: dict[str, str]
    values: dict[str, dict[str, str]]

    @property
    def from_unimorph(self) -> dict[str, tuple[str, str]]:
        """Feature and value of Universal Dependencies by UniMorph's name."""
        known = {theirs: (name, ours) for name, values in self.values.items() for theirs, ours in values.items()}
        return known | {theirs: ("VerbForm", form) for theirs, form in self.forms.items()}


@cache
def feature_names() -> FeatureNames:
    """Read features.yaml."""
    return read_yaml(Path(__file__).parent / "features.yaml", FeatureNames)


@dataclass(frozen=True)
class Entry:
    """A form of a lemma."""

    lemma: str
    form: str
    part: str
    features: Features  # with those that treebanks leave out, as ``features_of`` adds them
    # In a treebank a feature that is left out is absent; in UniMorph it is not specified and has any value.
    source: Literal["treebank", "unimorph"]
    annotated: Features  # as the source has them
    count: int = 0  # of the words of a treebank; 0 in UniMorph


def base_of(name: str) -> str:
    """Return the feature of a layered feature: ``Number`` for ``Number[abs]``."""
    return name.partition("[")[0]


def compatible(one: Features, other: Features, but: str | None = None) -> bool:
    """Tell whether two sets of features contradict each other nowhere, one feature left aside."""
    return all(name == but or name not in other or values & other[name] for name, values in one.items())


def annotated(word: Word) -> dict[str, frozenset[str]]:
    """Return the features of a word as its treebank has them."""
    return {name: frozenset(value.split(",")) for name, value in word.feats.items()}


def features_of(word: Word) -> dict[str, frozenset[str]]:
    """Return the features of a word, with the values that treebanks leave out."""
    return with_defaults(WORDS.get(word.upos, word.upos), annotated(word))


def with_defaults(part: str, features: Features) -> dict[str, frozenset[str]]:
    """Add the values that treebanks leave out: a verb with a mood is finite, a finite one indicative and active."""
    whole = dict(features)
    if part == "VERB":
        if "Mood" in whole and "VerbForm" not in whole:
            whole["VerbForm"] = frozenset(["Fin"])
        if whole.get("VerbForm") == frozenset(["Fin"]):
            whole.setdefault("Mood", frozenset(["Ind"]))
            whole.setdefault("Voice", frozenset(["Act"]))
    return whole
