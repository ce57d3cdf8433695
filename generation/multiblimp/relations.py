"""Subjects and the words that may agree with them (MultiBLiMP, section 4.1)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ucurve.generation.multiblimp.features import WORDS, Features, feature_names, features_of
from ucurve.generation.multiblimp.languages import LanguageSettings
from ucurve.generation.multiblimp.lexicon import Lexicon
from ucurve.generation.treebank import Sentence, Word

LONGEST = 64  # words of a sentence that is read
SUBJECTS = ("NOUN", "PRON")
HEADS = ("VERB", "AUX")
BEARERS = ("NOUN", "PRON", "PROPN")  # words that may attract agreement
_UNWANTED = ("Style", "Foreign", "Typo")  # features of sentences that are not well formed
_ENDS = (":", "!", "?")  # of a heading or another sentence
_CLAUSAL = ("expl", "csubj:outer", "nsubj:outer")


@dataclass(frozen=True)
class Relation:
    """A subject and a word that may agree with it."""

    sentence: Sentence
    kind: str  # SV, of a finite verb, or SP, of a participle
    role: str  # verb, auxiliary or participle
    subject: Word
    target: Word  # the word that is inflected
    between: Sequence[Features]  # of the nouns and pronouns between the two
    counted: bool = False  # whether the number of what is counted, or of two things, may be the subject's too

    @property
    def order(self) -> str:
        """Which stands first: ``SV`` where the subject does, else ``VS``."""
        return "SV" if self.target.id > self.subject.id else "VS"

    @property
    def distance(self) -> int:
        """From the subject to the target, in words; negative where the target stands first."""
        return self.target.id - self.subject.id

    def name_of(self, feature: str) -> str:
        """Return the feature of the target that agrees with this one of the subject, with its layer if it has one.

        ``Number`` of a Basque subject in the ergative agrees with ``Number[erg]`` of the verb. A layer ``subj`` comes
        first, then that of the subject's case, then the first of ``subject_layers``.
        """
        known = feature_names().subject_layers
        layers = [layer for layer in known if f"{feature}[{layer}]" in self.target.feats]
        if not layers:
            return feature
        case = self.subject.feats.get("Case", "").lower()
        layer = layers[0] if layers[0] == known[0] or case not in known else case
        return f"{feature}[{layer}]"


def is_readable(sentence: Sentence) -> bool:
    """Tell whether a sentence is well formed by its annotation, and not too long."""
    if len(sentence.words) > LONGEST:
        return False
    return not any(
        word.relation == "reparandum"
        or any(name in word.feats for name in _UNWANTED)
        or any(name.startswith("Correct") for name in word.misc)
        for word in sentence.words
    )


def find_relations(sentence: Sentence, language: LanguageSettings | None = None) -> Iterator[Relation]:
    """Yield subjects and the words that may agree with them, but for those that the settings of a language rule out."""
    language = language or LanguageSettings()
    for subject in sentence.words:
        head = sentence.head_of(subject)
        if subject.deprel != "nsubj" or subject.upos not in SUBJECTS or head is None or head.upos not in HEADS:
            continue
        first, last = sorted((subject.id, head.id))
        if (
            any(child.relation == "conj" for child in sentence.children[subject.id])
            or not has_features(subject, language.subject)
            or (subject.upos == "NOUN" and _is_said(head, language) and first == head.id)
            or any(word.form in _ENDS for word in sentence.words[first:last])
        ):
            continue
        children = sentence.children[head.id]
        if any(mark in child.deprel for child in children for mark in _CLAUSAL):
            continue
        finite, role = _finite(head, children)
        # It may be one thing or several whatever its number: ten heads, a part, X with Y.
        counted = subject.lemma.lower() in language.quantities or any(
            (child.relation in language.no_agreement_with and child.lemma.lower() not in language.one)
            or any(word.lemma.lower() in language.comitative for word in sentence.children[child.id])
            for child in sentence.children[subject.id]
        )
        if finite is not None:
            yield _relation(sentence, "SV", role, subject, finite, counted)
        auxiliaries = {child.lemma.lower() for child in children if child.relation == "aux"}
        if features_of(head).get("VerbForm") == frozenset(["Part"]) and auxiliaries.isdisjoint(
            language.no_agreement_after
        ):
            yield _relation(sentence, "SP", "participle", subject, head, counted)


def addressed_nouns(sentences: Iterable[Sentence], language: LanguageSettings) -> set[str]:
    """Return the lemmas of people: vocatives and subjects of verbs of saying, if the language names these verbs."""
    return {
        word.lemma.lower()
        for sentence in sentences
        for word in sentence.words
        if language.saying and word.upos == "NOUN"
        and (word.relation == "vocative" or (word.relation == "nsubj" and _is_said(sentence.head_of(word), language)))
    }  # fmt: skip


def _is_said(head: Word | None, language: LanguageSettings) -> bool:
    return head is not None and head.lemma.lower() in language.saying


def has_features(word: Word, required: Mapping[str, str]) -> bool:
    """Tell whether a word has these features, or is not annotated for them."""
    features = features_of(word)
    return all(features.get(name, {value}) == {value} for name, value in required.items())


def _finite(head: Word, children: Sequence[Word]) -> tuple[Word | None, str]:
    """Return the finite verb of a clause, an auxiliary where there is one, and what it is."""
    # Russian бы and Polish by are annotated as auxiliaries and have no features
    words = [child for child in children if child.upos in WORDS and child.feats]
    auxiliaries = [child for child in words if child.relation == "aux" or child.deprel == "cop"]
    for word, role in [*((word, "auxiliary") for word in auxiliaries), (head, "verb")]:
        if features_of(word).get("VerbForm", frozenset(["Fin"])) == {"Fin"}:
            return word, role
    return None, ""


def _relation(sentence: Sentence, kind: str, role: str, subject: Word, target: Word, counted: bool) -> Relation:
    first, last = sorted((subject.id, target.id))
    # Word number n is words[n - 1], so these are the words between the two.
    between = [features_of(word) for word in sentence.words[first : last - 1] if word.upos in BEARERS]
    return Relation(sentence, kind, role, subject, target, between, counted)


def values_of(word: Word, part: str, feature: str, lexicon: Lexicon, context: Features) -> frozenset[str] | None:
    """Return the values that a word may have: those annotated, else those of its form in the lexicon."""
    annotated = features_of(word).get(feature)
    return annotated or lexicon.values(part, word.form.lower(), feature, context)
