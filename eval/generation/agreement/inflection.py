"""Other forms of a word that have another value of a feature (MultiBLiMP, section 4.3)."""

from collections.abc import Iterator, Mapping

from eval.generation.agreement.lexicon import WORDS, Entry, Features, Lexicon, compatible, features_of
from eval.generation.agreement.relations import Relation
from eval.generation.agreement.validation import NOMINATIVE
from eval.generation.candidate import Candidate, Value
from eval.generation.treebank import Word

# Why a relation gives no pair.
NO_VALUE, DISAGREES, NO_FORM = "no value of the feature", "annotated as not agreeing", "no form of another value"
PART_OF_A_TOKEN, AMBIGUOUS_SUBJECT = "part of a multiword token", "the subject may have the other value too"
SAME_FORM, HAS_OLD_VALUE = "the form is the same", "the form may have the right value too"


def other_forms(relation: Relation, feature: str, lexicon: Lexicon) -> Iterator[tuple[str, str] | str]:
    """Yield a value and a form for each form with another value, or the reason why there is none or it is dropped."""
    subject = features_of(relation.subject).get(feature)
    target = features_of(relation.target)
    old = target.get(feature, subject)
    if subject is None or old is None or len(subject) > 1 or len(old) > 1:
        yield NO_VALUE
        return
    if subject != old:
        yield DISAGREES
        return
    if relation.target.start is None:
        yield PART_OF_A_TOKEN
        return
    found = list(_forms(relation.target, target, feature, old, lexicon))
    if not found:
        yield NO_FORM
    for value, form in found:
        yield _fault(relation, feature, old, value, form, lexicon) or (value, form)


def _forms(
    word: Word, features: Features, feature: str, old: frozenset[str], lexicon: Lexicon
) -> list[tuple[str, str]]:
    """Return values and forms of the lemmas of a word that differ from it in one feature alone."""
    part, form = WORDS[word.upos], word.form.lower()
    rows = [row for row in lexicon.by_form.get((part, form), ()) if _is_like(row, features, feature)]
    lemmas = list(dict.fromkeys(row.lemma for row in rows))
    found: dict[tuple[str, str], None] = {}
    for lemma in lemmas:
        for row in lexicon.by_lemma[part, lemma]:
            values = row.features.get(feature, frozenset())
            if values and not values & old and _is_like(row, features, feature):
                found.update(dict.fromkeys((value, row.form) for value in sorted(values)))
    return list(found)


def _is_like(row: Entry, features: Features, feature: str) -> bool:
    """Tell whether an entry fits the features of a word but for one, and is finite or not as the word is."""
    own, other = row.features.get("VerbForm"), features.get("VerbForm")
    return own == other and compatible(row.features, features, but=feature)


def _fault(
    relation: Relation, feature: str, old: frozenset[str], value: str, form: str, lexicon: Lexicon
) -> str | None:
    if form == relation.target.form.lower():
        return SAME_FORM
    finite = {"VerbForm": features_of(relation.target).get("VerbForm", frozenset(["Fin"]))}
    mood = {"Mood": frozenset(["Ind"])} if relation.kind == "SV" else {}
    values = lexicon.values(WORDS[relation.target.upos], form, feature, finite | mood)
    if values is None or values & old:
        return HAS_OLD_VALUE
    subject = lexicon.values(WORDS[relation.subject.upos], relation.subject.form.lower(), feature, NOMINATIVE)
    return AMBIGUOUS_SUBJECT if subject is not None and value in subject else None


def spelled_like(form: str, original: str) -> str:
    """Write a form with the capitals of the original."""
    if original.isupper() and len(original) > 1:
        return form.upper()
    return form[:1].upper() + form[1:] if original[:1].isupper() else form


def make_candidate(relation: Relation, feature: str, form: str, columns: Mapping[str, Value]) -> Candidate:
    """Return the pair of a sentence and the one with another form of the target."""
    word = relation.target
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
        "verb_lemma": word.lemma,
        "role": relation.role,
        "prefix": relation.sentence.text[: word.start].rstrip(),
        "attractors": len(congruent),
        "has_attractors": bool(congruent),
        "all_congruent": bool(congruent) and all(congruent),
        "all_incongruent": bool(congruent) and not any(congruent),
        "treebank": relation.sentence.source,
        "sentence_id": relation.sentence.id,
    }
    return Candidate(relation.sentence.text, relation.sentence.replaced({word.id: wrong}), known)
