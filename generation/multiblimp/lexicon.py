"""The lexicon of a language: forms with lemmas and features, from treebanks and UniMorph (Kirov et al. 2018).

What a treebank says of them is looked at too: features that another feature neutralizes, as gender in the plural of
many languages, and beginnings and endings that it does not annotate, such as *ba-*, *-n* and *-la* of Basque verbs.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import permutations
from pathlib import Path

from ucurve.errors import UserError, unknown_name
from ucurve.gather import gather
from ucurve.generation.multiblimp.features import (
    WORDS,
    Entry,
    Features,
    annotated,
    base_of,
    compatible,
    feature_names,
    with_defaults,
)
from ucurve.generation.multiblimp.languages import LanguageSettings, in_script
from ucurve.generation.treebank import Sentence
from ucurve.storage.files import read_utf8

APOSTROPHES = ("'", "’")
EDGE_SIGNS = "'’-"  # at the edge of a form that is no word of its own: 've, l', -lar


class Lexicon:
    """Entries, found by form and by lemma."""

    def __init__(
        self,
        entries: Iterable[Entry],
        elided: Iterable[str] = (),
        addressed: Iterable[str] = (),
        cells: "Cells | None" = None,
    ) -> None:
        entries = tuple(entries)
        # What is left of words before a vowel, without the apostrophe: l of l'eau.
        self.elided = frozenset(elided)
        self.addressed = frozenset(addressed)  # lemmas of nouns that can be read as an address
        self.neutralization = Neutralization(entries)
        self.unannotated = Unannotated(cells or {})
        self.annotated = {  # what the treebanks say of each part of speech
            (entry.part, name) for entry in entries if entry.source == "treebank" for name in entry.annotated
        }
        self.by_form = gather(((entry.part, entry.form), entry) for entry in entries)
        self.by_lemma = gather(((entry.part, entry.lemma), entry) for entry in entries)

    def values(self, part: str, form: str, feature: str, context: Features) -> frozenset[str] | None:
        """Return the values that a form may have; None where some entry leaves the feature open, or there is no entry.

        Entries that contradict the context do not count. An entry of a treebank leaves no layered feature open: other
        layers, and nominal uses, do without it.
        """
        found: set[str] = set()
        for entry in self.by_form.get((part, form), ()):
            if compatible(entry.features, context):
                # in a treebank, other layers and nominal uses do without a layered feature
                if feature not in entry.features and (entry.source == "unimorph" or base_of(feature) == feature):
                    return None
                found |= entry.features.get(feature, frozenset())
        return frozenset(found) or None

    def inflects(self, parts: Sequence[str], feature: str) -> bool:
        """Tell whether different values have different forms in some word class (section 4.2, requirement 1).

        Layers of the feature count for it. The class is looked at as a whole, because forms of different values may be
        lemmas of their own, as Italian *io* and *tu*.
        """
        forms: dict[tuple[str, str], set[str]] = defaultdict(set)
        for (part, form), entries in self.by_form.items():
            for name, values in (item for entry in entries if part in parts for item in entry.features.items()):
                for value in values if base_of(name) == feature else ():
                    forms[name, value].add(form)
        return any(
            one_name == other_name and one_forms - other_forms and other_forms - one_forms
            for (one_name, _), one_forms in forms.items()
            for (other_name, _), other_forms in forms.items()
        )


Counts = Mapping[tuple[str, str, frozenset[tuple[str, frozenset[str]]]], Counter[str]]
"""How often a treebank has each form, by part of speech, lemma and annotation."""


def count_forms(sentences: Sequence[Sentence]) -> Counts:
    """Count the forms of a treebank, in lower case.

    Words that do not stand as words of their own are left out: parts of multiword tokens, contracted and elided forms,
    and forms that are only ever written together with the word before or after them.
    """
    counts: dict[tuple[str, str, frozenset[tuple[str, frozenset[str]]]], Counter[str]] = defaultdict(Counter)
    apart = _forms_apart(sentences)
    for word in (word for sentence in sentences for word in sentence.words if word.start is not None):
        form, known = word.form.lower(), word.feats and word.lemma not in ("_", "")
        if word.upos in WORDS and known and form in apart:
            counts[WORDS[word.upos], word.lemma.lower(), frozenset(annotated(word).items())][form] += 1
    return counts


def treebank_entries(counts: Counts, noise: float) -> list[Entry]:
    """Return the entries of a treebank: every form of a lemma with features.

    A form that occurs ``noise`` times less than the commonest one of its lemma and features is left out (section 3.2).
    """
    entries: list[Entry] = []
    for (part, lemma, items), forms in counts.items():
        features = dict(sorted(items))
        whole = with_defaults(part, features)
        most = max(forms.values())
        kept = [(form, count) for form, count in forms.items() if count * noise > most]
        entries += [Entry(lemma, form, part, whole, "treebank", features, count) for form, count in kept]
    return entries


def _forms_apart(sentences: Iterable[Sentence]) -> frozenset[str]:
    """Return the forms, in lower case, that are written apart somewhere; all, where words mostly are not (Chinese)."""
    apart, together = Counter[str](), Counter[str]()
    for sentence in sentences:
        for word in sentence.words:
            if word.start is not None and word.form.strip(EDGE_SIGNS) == word.form:
                before, after = sentence.text[: word.start][-1:], sentence.text[word.end :][:1]
                # A sign has no space before it anywhere.
                is_joined = word.form[:1].isalnum() and (before.isalnum() or after.isalnum())
                (together if is_joined else apart)[word.form.lower()] += 1
    spaced = apart.total() >= together.total()
    return frozenset(apart if spaced else apart + together)


def elided_words(sentences: Iterable[Sentence]) -> frozenset[str]:
    """Return the words of a treebank that end in an apostrophe, without it and in lower case: *l* of French *l'*."""
    forms = {word.form.lower() for sentence in sentences for word in sentence.words}
    return frozenset(form[:-1] for form in forms if form.endswith(APOSTROPHES) and form[:-1].isalpha())


NOISE = 0.05  # share of entries that may be annotated otherwise


class Neutralization:
    """Finds where entries of one part of speech and context lack a feature because of the value of another."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = [entry for entry in entries if entry.source == "treebank"]
        # The same features are asked for again and again.
        self._counts = cache(self._count)

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
        total, having = self._counts(feature)
        key = (part, features.get(feature), _context(features, feature))
        return having[key, name] / total[key] if total[key] else -1.0

    def _count(self, feature: str) -> tuple[Counter[object], Counter[object]]:
        """Count the entries of each part of speech, value and context, and those among them that have each feature."""
        total, having = Counter[object](), Counter[object]()
        for entry in self._entries:
            key = (entry.part, entry.annotated.get(feature), _context(entry.annotated, feature))
            total[key] += 1
            having.update(
                (key, name) for name in entry.annotated if base_of(name) in feature_names().neutralizable
            )
        return total, having


def _context(features: Features, feature: str) -> frozenset[tuple[str, frozenset[str]]]:
    left_out = feature_names().neutralizable
    return frozenset(item for item in features.items() if item[0] != feature and base_of(item[0]) not in left_out)


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
        # Beginnings of words are the endings of words that are read backwards.
        backwards = {cell: [form[::-1] for form in forms] for cell, forms in cells.items()}
        # Both are found once for each feature.
        self._ends = cache(partial(_changes, cells))
        self._starts = cache(partial(_changes, backwards))

    def differ(self, feature: str, one: str, other: str) -> bool:
        """Tell whether two forms with different values of a feature differ in something that is not annotated too."""
        return _changed(self._ends(feature), one, other) or _changed(
            self._starts(feature), one[::-1], other[::-1]
        )


def _changes(cells: Cells, feature: str) -> Collection[tuple[str, str]]:
    """Return the endings that take each other's place in forms of the same annotation that has the feature."""
    # With which lemmas and values each change was seen.
    seen: dict[tuple[str, str], set[tuple[str, frozenset[str]]]] = defaultdict(set)
    having = {cell: forms for cell, forms in cells.items() if feature in dict(cell[1])}
    for (lemma, features), forms in having.items():
        for one, other in permutations(forms, 2):
            at = next(
                (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
                min(len(one), len(other)),
            )
            # Each two forms come in both orders, of which one is enough.
            if at and one[at:] < other[at:]:
                seen[one[at:], other[at:]].add((lemma, dict(features)[feature]))
    found = {
        change
        for change, where in seen.items()
        if len({lemma for lemma, _ in where}) >= _LEMMAS and len({value for _, value in where}) >= _VALUES
    }
    added = {change[1] for change in found if not change[0] and _is_free(change[1], having.values())}
    # An ending that ends with another one is found by that one already.
    longer = {ending for ending in added if any(ending != other and ending.endswith(other) for other in added)}
    return {change for change in found if change[0] or change[1] in added - longer}


def _is_free(ending: str, cells: Iterable[Collection[str]]) -> bool:
    """Tell whether enough of the forms with an ending stand beside one of the same annotation without it."""
    beside = [
        any(not other.endswith(ending) for other in forms)
        for forms in cells
        for form in forms
        if form.endswith(ending)
    ]
    return sum(beside) >= _SHARE * len(beside)


def _changed(changes: Collection[tuple[str, str]], one: str, other: str) -> bool:
    return any({_ending(one, change), _ending(other, change)} == {*change} for change in changes)


def _ending(form: str, change: tuple[str, str]) -> str | None:
    return next((ending for ending in sorted(change, key=len, reverse=True) if form.endswith(ending)), None)


_ALTERNATIVE = r"[^,/+\s]+"
_ARGUMENT = re.compile(r"(NOM|ABS|ERG|DAT|ACC)\((.+)\)|ARG(NO|ABS|ERG|IO|AC)(.+)")  # of UniMorph 4.0, and before
_LAYERS = {"NOM": "", "NO": "", "IO": "[dat]", "AC": "[acc]"}  # others have their own names
# They make a verb finite that is not marked as another form.
_OF_FINITE_VERBS = (
    "Mood",
    "Tense",
    "Person",
    "Number",
)


def unimorph_entries(path: Path, language: LanguageSettings) -> list[Entry]:
    """Read a file of UniMorph: lemma, form and features between tabs; forms of several words or none are passed over.

    Agreement with an argument, as in ``V;PRS;ERG(3,SG)``, is a layer as ``Number[erg]``; with the subject, none.

    Raises:
        UserError: naming the line that is not well formed.
    """
    entries = []
    for number, line in enumerate(read_utf8(path).split("\n"), start=1):
        if line.strip():
            cells = line.rstrip("\r").split("\t")
            if len(cells) < 3 or not cells[0].strip() or not cells[2].strip():
                raise UserError(
                    f"{path}:{number}: lemma, form and features are expected between tabs, not {line!r}"
                )
            lemma, form = (in_script(cell.strip(), language.unimorph_script).lower() for cell in cells[:2])
            for names in (cells[2], *language.also.get(cells[2].strip(), ())):
                entries += _unimorph_entries(lemma, form, names.strip().split(";"), f"{path}:{number}")
    if not entries:
        raise UserError(f"{path}: holds no forms")
    return entries


def _unimorph_entries(lemma: str, form: str, names: list[str], place: str) -> list[Entry]:
    """Return the entry of a form by UniMorph's names of its features; none where it is several words or missing."""
    known = feature_names()
    if names[0] not in known.parts:
        raise unknown_name("part of speech", names[0], known.parts, place)
    if not form or " " in form:
        return []
    features: dict[str, set[str]] = defaultdict(set)
    for name in names:
        values, layer = name, ""
        if (found := _ARGUMENT.fullmatch(name)) is not None:
            argument, values = found[1] or found[3], found[2] or found[4]
            layer = _LAYERS.get(argument, f"[{argument.lower()}]")
        for one in re.findall(_ALTERNATIVE, values.strip("{}")):
            if one in known.from_unimorph:
                feature, value = known.from_unimorph[one]
                features[feature + layer].add(value)
            elif one not in known.parts:
                features[one].add(one)  # so that forms with it can be told from those without
    part = known.parts[names[0]]
    if (
        part == "VERB"
        and "VerbForm" not in features
        and any(base_of(name) in _OF_FINITE_VERBS for name in features)
    ):
        features["VerbForm"].add("Fin")
    whole = {name: frozenset(values) for name, values in features.items()}
    return [Entry(lemma, form, part, whole, "unimorph", whole)]
