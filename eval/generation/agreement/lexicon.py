"""The lexicon of a language: forms with their lemmas and features, from treebanks and from UniMorph."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic.dataclasses import dataclass as checked

from eval.generation.treebank import Sentence, Word
from ucurve.errors import UserError, unknown_name
from ucurve.fields import STRICT
from ucurve.storage.files import read_utf8
from ucurve.yaml_files import read_yaml

Features = Mapping[str, frozenset[str]]
"""Features with the values that each may have; one that is left out is not specified."""

WORDS = {"NOUN": "NOUN", "VERB": "VERB", "AUX": "VERB", "ADJ": "ADJ", "PRON": "PRON", "DET": "DET", "ADV": "ADV"}
_SEVERAL = (",", "/", "+")  # between alternative values
_CELLS = 3  # of a line of UniMorph


@checked(frozen=True, config=STRICT)
class Agreeing:
    """A feature that can agree.

    Attributes:
        name: in the names of phenomena.
        subjects: parts of speech of subjects that it is looked at with.
        values: its values as pairs name them.
    """

    name: str
    subjects: tuple[str, ...]
    values: dict[str, str]


@checked(frozen=True, config=STRICT)
class FeatureNames:
    """What features.yaml says."""

    agreeing: dict[str, Agreeing]
    parts: dict[str, str]
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
    features: Features


class Lexicon:
    """Entries, found by form and by lemma."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.by_form: dict[tuple[str, str], list[Entry]] = defaultdict(list)
        self.by_lemma: dict[tuple[str, str], list[Entry]] = defaultdict(list)
        for entry in entries:
            self.by_form[entry.part, entry.form].append(entry)
            self.by_lemma[entry.part, entry.lemma].append(entry)

    def values(self, part: str, form: str, feature: str, context: Features) -> frozenset[str] | None:
        """Return the values that a form may have; None where some entry leaves the feature open, or there is no entry.

        Args:
            context: features that entries must not contradict.
        """
        found: set[str] = set()
        for entry in self.by_form.get((part, form), ()):
            if compatible(entry.features, context):
                if feature not in entry.features:
                    return None
                found |= entry.features[feature]
        return frozenset(found) or None

    def inflects(self, parts: Sequence[str], feature: str) -> bool:
        """Tell whether some lemma has different forms for different values (section 4.2, requirement 1)."""
        for (part, _), entries in self.by_lemma.items():
            if part not in parts:
                continue
            forms: dict[str, set[str]] = defaultdict(set)
            for entry in entries:
                for value in entry.features.get(feature, ()):
                    forms[value].add(entry.form)
            if any(not one & other for one in forms.values() for other in forms.values()):
                return True
        return False


def compatible(one: Features, other: Features, but: str | None = None) -> bool:
    """Tell whether two sets of features contradict each other nowhere, one feature left aside."""
    return all(name == but or name not in other or values & other[name] for name, values in one.items())


def features_of(word: Word) -> dict[str, frozenset[str]]:
    """Return the features of a word, with the values that treebanks leave out.

    A finite verb without a mood is indicative, one without a voice active, and a verb with a mood is finite.
    """
    features = {name: frozenset(value.split(",")) for name, value in word.feats.items()}
    if WORDS.get(word.upos) == "VERB":
        if "Mood" in features and "VerbForm" not in features:
            features["VerbForm"] = frozenset(["Fin"])
        if features.get("VerbForm") == frozenset(["Fin"]):
            features.setdefault("Mood", frozenset(["Ind"]))
            features.setdefault("Voice", frozenset(["Act"]))
    return features


def treebank_entries(sentences: Iterable[Sentence], noise: float) -> list[Entry]:
    """Return the entries of a treebank: every form of a lemma with features, in lower case.

    Args:
        noise: a form is left out that occurs this many times less than the commonest one of its lemma and features
            (section 4.1).
    """
    counts: dict[tuple[str, str, tuple[tuple[str, str], ...]], Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        for word in sentence.words:
            if word.upos in WORDS and word.feats and word.lemma not in ("_", ""):
                key = (WORDS[word.upos], word.lemma.lower(), tuple(sorted(_texts(features_of(word)).items())))
                counts[key][word.form.lower()] += 1
    entries: list[Entry] = []
    for (part, lemma, features), forms in counts.items():
        most = max(forms.values())
        values = {name: frozenset(value.split(",")) for name, value in features}
        entries += [Entry(lemma, form, part, values) for form, count in forms.items() if count * noise > most]
    return entries


def _texts(features: Features) -> dict[str, str]:
    return {name: ",".join(sorted(values)) for name, values in features.items()}


def unimorph_entries(path: Path) -> list[Entry]:
    """Read a file of UniMorph: lemma, form and features between tabs.

    Forms of several words are passed over, and features that Universal Dependencies does not have.

    Raises:
        UserError: when the file cannot be read, or a line has other fields or an unknown part of speech, naming it.
    """
    entries = []
    for number, line in enumerate(read_utf8(path).split("\n"), start=1):
        if line.strip():
            cells = line.rstrip("\r").split("\t")
            if len(cells) < _CELLS or not all(cell.strip() for cell in cells[:_CELLS]):
                raise UserError(f"{path}:{number}: lemma, form and features are expected between tabs, not {line!r}")
            entries += _unimorph_entries(cells[0], cells[1], cells[2].split(";"), f"{path}:{number}")
    if not entries:
        raise UserError(f"{path}: holds no forms")
    return entries


def _unimorph_entries(lemma: str, form: str, names: list[str], place: str) -> list[Entry]:
    known = feature_names()
    if names[0] not in known.parts:
        raise unknown_name("part of speech", names[0], known.parts, place)
    if " " in form.strip():
        return []
    features: dict[str, set[str]] = defaultdict(set)
    for name in names:
        for one in _alternatives(name):
            if one in known.from_unimorph:
                feature, value = known.from_unimorph[one]
                features[feature].add(value)
    part = known.parts[names[0]]
    if part == "VERB" and "Mood" in features and "VerbForm" not in features:
        features["VerbForm"].add("Fin")
    values = {name: frozenset(found) for name, found in features.items()}
    return [Entry(lemma.strip().lower(), form.strip().lower(), part, values)]


def _alternatives(name: str) -> list[str]:
    for sign in _SEVERAL:
        name = name.replace(sign, " ")
    return name.strip("{}").split()
