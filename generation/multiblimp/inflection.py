"""Other forms of a word that have another value of a feature, and of no other feature (MultiBLiMP, section 4.3)."""

import unicodedata
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import NamedTuple

from ucurve.generation.multiblimp.collocations import subject_context
from ucurve.generation.multiblimp.features import (
    WORDS,
    Entry,
    Features,
    annotated,
    base_of,
    compatible,
    feature_names,
    features_of,
)
from ucurve.generation.multiblimp.lexicon import APOSTROPHES, EDGE_SIGNS, Lexicon
from ucurve.generation.multiblimp.relations import Relation
from ucurve.generation.treebank import Word, spelled_like
from ucurve.templates.pair import Pair, Value

# Why a relation gives no pair.
NO_VALUE, DISAGREES, NO_FORM = "no value of the feature", "annotated as not agreeing", "no form of another value"
PART_OF_A_TOKEN, AMBIGUOUS_SUBJECT = "part of a multiword token", "the subject may have the other value too"
SAME_FORM, HAS_OLD_VALUE = "the form is the same", "the form may have the right value too"
ELISION = "a neighbouring word would be spelled otherwise"
ADDRESS = "the subject can be read as an address"
SEVERAL_FORMS = "several forms of another value, and their features do not say which"

_SPELLINGS = (
    4  # steps of similarity: coarse, because forms that are about as near are told apart by their frequency
)
_FAR = 3  # steps from which on the spelling does not say which of several forms is meant
_CITED = frozenset(["Nom", "Acc", "Abs"])  # cases in which the form of a lemma is no sign that it has no other
_ELIDED_BEFORE = "aeiouhœæ"  # first letters, without marks


class _Found(NamedTuple):
    """A form with another value; of several the smallest is the best."""

    more: int  # features of which one of the two forms says nothing
    unlike: int  # how far the spelling is from the word's, from 0 to _SPELLINGS
    rarity: int  # less the number of words of the treebanks that have the form; in a treebank, and its features
    far: float  # how far the spelling is, exactly
    form: str
    value: str


def other_forms(relation: Relation, feature: str, lexicon: Lexicon) -> Iterator[tuple[str, str] | str]:
    """Yield the best form for each other value of a feature, or the reason why there is none or it is dropped."""
    name = relation.name_of(feature)
    subject = features_of(relation.subject).get(feature)
    old = features_of(relation.target).get(name, subject)
    if subject is None or old is None or len(subject) > 1 or len(old) > 1:
        yield NO_VALUE
        return
    if subject != old:
        yield DISAGREES
        return
    word = relation.target
    # A contracted form has a sign at its edge, as 've, and other parts have a letter or digit before them.
    whole = word.start is not None and word.form.strip(EDGE_SIGNS) == word.form
    if not whole or relation.sentence.text[: word.start][-1:].isalnum():
        yield PART_OF_A_TOKEN
        return
    found = sorted({*(_of_unimorph(relation, name, old, lexicon) or _of_treebanks(relation, name, old, lexicon))})
    if not found:
        yield NO_FORM
    for value in dict.fromkeys(one.value for one in found):
        forms = [one for one in found if one.value == value]
        if len({one.form for one in forms if one.more == forms[0].more}) > 1 and forms[0].unlike >= _FAR:
            yield SEVERAL_FORMS
            continue
        faults = {one: _fault(relation, feature, old, one, lexicon) for one in forms}
        good = next((one for one, fault in faults.items() if fault is None), None)
        if good is not None:
            yield value, good.form
        else:
            yield str(next(iter(faults.values())))


def _of_treebanks(relation: Relation, name: str, old: frozenset[str], lexicon: Lexicon) -> list[_Found]:
    """Return the forms of the same lemma whose features are those of the word but for one."""
    word, part = relation.target, WORDS[relation.target.upos]
    form, features, lemma = word.form.lower(), annotated(word), word.lemma.lower()
    rows = [row for row in lexicon.by_lemma.get((part, lemma), ()) if row.source == "treebank"]
    # Several where the features leave something out.
    same = [row.form for row in rows if row.annotated == features]
    if name not in features or form not in same:
        return []
    # What may stand apart from a verb: voor of voor_komen, vor of vorkommen where kommen is known.
    particle, is_marked, _ = lemma.partition("_")
    if not is_marked:
        beginnings = (at for at in range(2, len(lemma) - 1) if (part, lemma[at:]) in lexicon.by_lemma)
        particle = lemma[: next(beginnings, 0)]
    expected = _expected(relation)
    return [
        found
        for row in rows
        if _differ_in(name, part, features, row.annotated, lexicon)
        and compatible(row.features, expected, but=name)
        and not lexicon.unannotated.differ(name, form, row.form)
        and row.form.startswith(particle) == form.startswith(particle)
        and _likeness(form, row.form) == max(_likeness(one, row.form) for one in same)
        for found in _found(relation, name, old, row, 0, row.count)
    ]


def _expected(relation: Relation) -> Features:
    """Return the features of the word, and those that it leaves out as its subject has them.

    A noun is in the third person. A gender of the form in its place that the noun is not known to have is another one.
    """
    names, subject = feature_names(), features_of(relation.subject)
    if relation.subject.upos == "NOUN":
        subject = {"Person": frozenset(["3"]), **dict.fromkeys(names.neutralizable, frozenset()), **subject}
    return {at: subject[at] for at in (*names.agreeing, *names.neutralizable) if at in subject} | features_of(
        relation.target
    )


def _differ_in(name: str, part: str, one: Features, other: Features, lexicon: Lexicon) -> bool:
    """Tell whether two words of a treebank have the same features but for one, and for those that it neutralizes."""
    for at in {*one, *other} - {name}:
        if at in one and at in other:
            same = one[at] == other[at]
            if not same and not (base_of(at) in feature_names().neutralizable and one[at] & other[at]):
                return False
        elif not lexicon.neutralization.between(name, part, one, other, at):
            return False
    return True


def _of_unimorph(relation: Relation, name: str, old: frozenset[str], lexicon: Lexicon) -> list[_Found]:
    """Return the forms of UniMorph that contradict the word, and a row of its own, in one feature alone."""
    word, part, form = relation.target, WORDS[relation.target.upos], relation.target.form.lower()
    if word.feats and name not in word.feats and (part, name) in lexicon.annotated:
        return []  # the treebank says it of other verbs: English can
    features = _expected(relation)
    for lemma in _unimorph_lemmas(word, part, lexicon):
        rows = [
            row
            for row in lexicon.by_lemma.get((part, lemma), ())
            if row.source == "unimorph"
            and row.features.get("VerbForm") == features.get("VerbForm", row.features.get("VerbForm"))
            and compatible(row.features, features, but=name)
            and _is_known_so(row, word, features, name, lexicon)
        ]
        found = [
            found
            for source in rows
            if source.form == form and source.features.get(name, frozenset()) & old
            for row in rows
            if compatible(row.features, source.features, but=name)
            and all(_may_be_open(at, name) for at, _ in row.features.items() ^ source.features.items())
            and not lexicon.unannotated.differ(name, form, row.form)
            for more in [len((row.features.keys() ^ source.features.keys()) - {name})]
            for count in [sum(one.count for one in lexicon.by_form.get((row.part, row.form), ()))]
            for found in _found(relation, name, old, row, more, count)
        ]
        if found:
            return found
    return []


def _unimorph_lemmas(word: Word, part: str, lexicon: Lexicon) -> tuple[str, ...]:
    """Return the lemmas that UniMorph may have a word under; where a treebank has stems or none, those of its form."""
    lemma = word.lemma.lower()
    if "_" in lemma.strip("_"):  # Dutch voor_komen is voorkomen in UniMorph, with forms of komen too
        return lemma.replace("_", ""), lemma.rpartition("_")[2]
    rows = [row for row in lexicon.by_form.get((part, word.form.lower()), ()) if row.source == "unimorph"]
    return lemma, *dict.fromkeys(row.lemma for row in rows if row.lemma.startswith(lemma.strip("_")))


def _is_known_so(row: Entry, word: Word, features: Features, name: str, lexicon: Lexicon) -> bool:
    """Tell whether the treebank has the form with features that fit, or does not have it."""
    known = [
        one
        for one in lexicon.by_form.get((row.part, row.form), ())
        if one.source == "treebank"
        and one.lemma == word.lemma.lower()
        and one.features.get("VerbForm") == row.features.get("VerbForm")
    ]
    return not known or any(compatible(one.features, features, but=name) for one in known)


def _may_be_open(feature: str, changed: str) -> bool:
    """Tell whether two rows of UniMorph may differ in a feature.

    It is the one that changes, or one of agreement in the same layer, which one of the rows leaves out.
    """
    names, layer = feature_names(), changed.removeprefix(base_of(changed))
    known = (*names.agreeing, *names.neutralizable, *names.of_persons)
    return feature == changed or (feature.removesuffix(layer) in known and feature.endswith(layer))


def _found(
    relation: Relation, name: str, old: frozenset[str], row: Entry, more: int, count: int
) -> Iterator[_Found]:
    """Yield the form of an entry for each of its values, unless it may have an old one too."""
    values = row.features.get(name, frozenset())
    if values & old:
        return
    like = _likeness(relation.target.form.lower(), row.form)
    for value in sorted(values):
        yield _Found(more, round(_SPELLINGS * (1 - like)), -count, 1 - like, row.form, value)


def _likeness(one: str, other: str) -> float:
    """Return how alike two forms are spelled, from 0 to 1."""
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _fault(relation: Relation, feature: str, old: frozenset[str], found: _Found, lexicon: Lexicon) -> str | None:
    """Return why a form gives no pair; None where it is wrong beside the subject, and nothing else is."""
    word, name = relation.target, relation.name_of(feature)
    if found.form == word.form.lower():
        return SAME_FORM
    features = features_of(word)
    context = {
        at: values for at, values in features.items() if base_of(at) in feature_names().agreeing and at != name
    }
    context["VerbForm"] = features.get("VerbForm", frozenset(["Fin"]))
    if relation.kind == "SV":
        context["Mood"] = frozenset(["Ind"])
    values = lexicon.values(WORDS[word.upos], found.form, name, context)
    if values is None or values & old:
        return HAS_OLD_VALUE
    subject = relation.subject
    others = lexicon.values(WORDS[subject.upos], subject.form.lower(), feature, subject_context(subject))
    entries = lexicon.by_lemma.get((WORDS[subject.upos], subject.lemma.lower()), ())
    cases = frozenset().union(*(entry.features.get("Case", frozenset()) for entry in entries))
    alone = {subject.lemma.lower()} == {subject.form.lower(), *(entry.form for entry in entries)}
    # A noun of a language with cases that is known in one form alone, though it is a plural or oblique one.
    indeclinable = alone and cases and (subject.feats.get("Number") != "Sing" or not cases <= _CITED)
    if (others is not None and found.value in others) or (feature == "Number" and indeclinable):
        return AMBIGUOUS_SUBJECT
    if _can_be_addressed(relation, feature, found.value, lexicon):
        return ADDRESS
    return ELISION if _changes_elision(relation, found.form, lexicon) else None


def _can_be_addressed(relation: Relation, feature: str, value: str, lexicon: Lexicon) -> bool:
    """Tell whether a subject names somebody whom the new form may speak to: *Mother, you were no lawyer*.

    Not so *a mother* and *his mother*, nor before a verb in the third person, or in the first if no comma sets it off.
    """
    subject, children = relation.subject, relation.sentence.children[relation.subject.id]
    determined = any(child.relation in ("det", "nummod") for child in children)
    owned = "3" in subject.feats.get("Person[psor]", "")
    apart = feature == "Person" and relation.sentence.text[subject.end :].startswith(",")
    return (
        (value == "2" or apart or relation.order == "VS")
        and subject.lemma.lower() in lexicon.addressed
        and not determined
        and not owned
    )


def _changes_elision(relation: Relation, form: str, lexicon: Lexicon) -> bool:
    """Tell whether the word before would be elided or not: French *n'est*, but *ne sont*."""
    word = relation.target
    assert word.start is not None
    before = relation.sentence.text[: word.start]
    if before.endswith(APOSTROPHES) and before[-2:-1].isalpha():
        return _first_letter(form) != _first_letter(word.form) and not _has_vowel(form)
    last = before.split()[-1].lower() if before.split() else ""
    return _has_vowel(form) and not _has_vowel(word.form) and last[:-1] in lexicon.elided


def _first_letter(form: str) -> str:
    return unicodedata.normalize("NFD", form.lower())[:1]


def _has_vowel(form: str) -> bool:
    """Tell whether the first letter is one before which words are elided."""
    return _first_letter(form) in _ELIDED_BEFORE


def make_candidate(relation: Relation, feature: str, form: str, columns: Mapping[str, Value]) -> Pair:
    """Return the pair of a sentence and the one with another form of the target."""
    word: Word = relation.target
    assert word.start is not None
    wrong = spelled_like(form, word.form)
    congruent = [features.get(feature) == features_of(relation.subject)[feature] for features in relation.between
                 if feature in features]  # fmt: skip
    known = {
        **columns,
        "word_order": relation.order,
        "distance": relation.distance,
        "subject": relation.subject.form,
        "verb": word.form,
        "wrong_verb": wrong,
        "verb_lemma": word.lemma if word.lemma != "_" else word.form,  # which treebanks write for none
        "role": relation.role,
        "prefix": relation.sentence.text[: word.start].rstrip(),
        "attractors": len(congruent),
        "has_attractors": bool(congruent),
        "all_congruent": bool(congruent) and all(congruent),
        "all_incongruent": bool(congruent) and not any(congruent),
        "treebank": relation.sentence.source,
        "sentence_id": relation.sentence.id,
    }
    return Pair(relation.sentence.text, relation.sentence.replaced({word.id: wrong}), known)
