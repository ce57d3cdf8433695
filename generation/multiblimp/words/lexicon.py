"""The lexicon of a language: forms with their lemmas and features, from treebanks and from UniMorph."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ucurve.generation.multiblimp.words.features import (
    WORDS,
    Entry,
    Features,
    annotated,
    base_of,
    compatible,
    with_defaults,
)
from ucurve.generation.multiblimp.words.neutralization import Neutralization
from ucurve.generation.multiblimp.words.unannotated import Cells, Unannotated
from ucurve.generation.treebank import Sentence, Word

APOSTROPHES = ("'", "’")
EDGE_SIGNS = "'’-"  # at the edge of a form that is no word of its own: 've, l', -lar


class Lexicon:
    """Entries, found by form and by lemma."""

    def __init__(
        self,
        entries: Iterable[Entry],
        elided: Iterable[str] = (),
        addressed: Iterable[str] = (),
        cells: Cells | None = None,
    ) -> None:
        entries = tuple(entries)
        self.elided = frozenset(elided)  # what is left of words before a vowel, without the apostrophe: l of l'eau
        self.addressed = frozenset(addressed)  # lemmas of nouns that can be read as an address
        self.neutralization = Neutralization(entries)
        self.unannotated = Unannotated(cells or {})
        self.annotated = {  # what the treebanks say of each part of speech
            (entry.part, name) for entry in entries if entry.source == "treebank" for name in entry.annotated
        }
        self.by_form: dict[tuple[str, str], list[Entry]] = defaultdict(list)
        self.by_lemma: dict[tuple[str, str], list[Entry]] = defaultdict(list)
        for entry in entries:
            self.by_form[entry.part, entry.form].append(entry)
            self.by_lemma[entry.part, entry.lemma].append(entry)

    def values(self, part: str, form: str, feature: str, context: Features) -> frozenset[str] | None:
        """Return the values that a form may have in a context; None where no entry, or not every entry, says them."""
        found: set[str] = set()
        for entry in self.by_form.get((part, form), ()):
            if compatible(entry.features, context):
                # in a treebank, other layers and nominal uses do without a layered feature
                if feature not in entry.features and (entry.source == "unimorph" or base_of(feature) == feature):
                    return None
                found |= entry.features.get(feature, frozenset())
        return frozenset(found) or None

    def inflects(self, parts: Sequence[str], feature: str) -> bool:
        """Tell whether values have different forms in a class, or lemmas as *io*, *tu* (section 4.2, requirement 1)."""
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
                (together if _written_together(sentence.text, word) else apart)[word.form.lower()] += 1
    spaced = apart.total() >= together.total()
    return frozenset(apart if spaced else apart + together)


def _written_together(text: str, word: Word) -> bool:
    assert word.start is not None
    assert word.end is not None
    before, after = text[: word.start][-1:], text[word.end :][:1]
    return word.form[:1].isalnum() and (before.isalnum() or after.isalnum())


def elided_words(sentences: Iterable[Sentence]) -> frozenset[str]:
    """Return the words of a treebank that end in an apostrophe, without it and in lower case: *l* of French *l'*."""
    forms = {word.form.lower() for sentence in sentences for word in sentence.words}
    return frozenset(form[:-1] for form in forms if form.endswith(APOSTROPHES) and form[:-1].isalpha())
