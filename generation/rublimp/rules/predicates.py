"""Agreement of subject and predicate in number, gender and person (paradigms 12 to 22)."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from ucurve.generation.rublimp.grammar.agreement import has_preposition, heads, modifiers_of
from ucurve.generation.rublimp.grammar.forms import (
    AMBIGUOUS,
    GENDER_OF,
    GENDERS,
    NUMBER_OF,
    UNKNOWN,
    forms_of,
    plain,
)
from ucurve.generation.rublimp.grammar.lists import read_list
from ucurve.generation.rublimp.grammar.morphology import Parse, analyses, is_known
from ucurve.generation.rublimp.resources import Resources
from ucurve.generation.rublimp.rule import Found, replace_word, rules
from ucurve.generation.treebank import Sentence, Word

_FINITE: Final = frozenset({"VERB", "ADJS", "PRTS"})  # short adjectives and participles are among them
_LINKS: Final = ("cop", "aux")  # words with these relations agree in place of the predicate
_PERSONS: Final = ("1per", "2per", "3per")
_PERSON_OF: Final = {"1": "1per", "2": "2per", "3": "3per"}
_NOUNS: Final = ("NOUN", "PRON", "PROPN", "DET", "NUM")
_SPEAKERS: Final = ("я", "ты")  # of whatever gender the person is
_CLAUSES: Final = ("csubj", "xcomp", "ccomp")  # clauses that can be a subject have these relations
_THIRD: Final = "3per"
_COMMON: Final = "ms-f"  # the grammeme of nouns whose gender is that of the person
EVERYBODY: Final = "все"  # which stands for "everything" too, where the letter yo is not used
QUANTITIES: Final = ("NUM", "SYM")  # parts of speech of numerals and of the sign for per cent
OPEN: Final = "the value is open with this subject"
OWN_SUBJECT: Final = "the verb has a subject of its own"
DISAGREES: Final = "the predicate does not agree with what is taken for its subject"
Finder = Callable[[Sentence], Iterator[tuple[Word, Word | None]]]
"""Yields the predicates of a kind of clause, each with its subject where it has one."""


def finite_parse(word: Word) -> Parse | None:
    """Return the analysis of a verb or short adjective that its features in the tree allow, None for other words."""
    number, gender = NUMBER_OF.get(word.feats.get("Number", "")), GENDER_OF.get(word.feats.get("Gender", ""))
    person = _PERSON_OF.get(word.feats.get("Person", ""))
    for parse in analyses(word.form):
        tag = parse.tag
        if tag.POS in _FINITE and (tag.POS == "VERB" or word.upos in ("ADJ", "VERB", "ADV", "AUX")):
            asked = ((tag.number, number), (tag.gender, gender), (tag.person, person))
            if all(own is None or wanted is None or own == wanted for own, wanted in asked):
                return parse
    return None


def other_forms(parse: Parse, feature: str) -> list[tuple[str, str]]:
    """Return values and forms of a predicate with another number, gender or person, everything else as it is."""
    tag = parse.tag
    base = {str(tag.POS)} | {str(value) for value in (tag.tense, tag.mood, tag.aspect, tag.voice) if value}
    if feature == "Number":
        return _numbers(parse, base)
    if feature == "Gender":
        if tag.number != "sing" or not tag.gender:
            return []
        genders = [gender for gender in GENDERS if gender != tag.gender]
        return [(gender, form) for gender in genders for form in forms_of(parse, base | {"sing", gender})]
    if not tag.person or tag.mood == "impr":
        return []
    persons = [person for person in _PERSONS if person != tag.person]
    return [(person, form) for person in persons for form in forms_of(parse, base | {str(tag.number), person})]


def _numbers(parse: Parse, base: set[str]) -> list[tuple[str, str]]:
    """Return the other number and the forms of a predicate that have it."""
    tag = parse.tag
    if tag.person or tag.mood == "impr":
        other = "plur" if tag.number == "sing" else "sing"
        person = {str(tag.person)} if tag.person else set()
        involved = {str(tag.involvement)} if tag.involvement else set()  # whether the speaker takes part
        return [(other, form) for form in forms_of(parse, base | {other} | person | involved)]
    if tag.number == "sing":
        return [("plur", form) for form in forms_of(parse, base | {"plur"})]
    # The plural has no gender, so each gender of the singular is tried.
    return [("sing", form) for gender in GENDERS for form in forms_of(parse, base | {"sing", gender})]


def agreeing_words(sentence: Sentence, predicate: Word) -> list[Word]:
    """Return the words of a predicate that agree: itself, or its copula or auxiliary."""
    links = [child for child in sentence.children[predicate.id] if child.relation in _LINKS]
    return [*links, predicate]


def _change(
    sentence: Sentence,
    word: Word,
    feature: str,
    subtype: str,
    values: Sequence[str] | None = None,
    subject: Word | None = None,
) -> Found:
    """Yield the sentence with the forms of a predicate that have other values, all or those given, and are wrong."""
    parse = finite_parse(word)
    if parse is None:
        return
    found = other_forms(parse, feature)
    if not found:
        yield UNKNOWN
    for value, form in dict.fromkeys(found):
        if values is not None and value not in values:
            continue
        exchanged = subject is not None and _has_other_subject(sentence, word, subject, form)
        # Some forms differ in the letter yo alone.
        if exchanged or plain(form) == plain(word.form.lower()):
            yield AMBIGUOUS
            continue
        values_of_both = (str(getattr(parse.tag, feature.lower())), value)
        yield replace_word(sentence, word, form, feature, values_of_both, subtype)


def _has_other_subject(sentence: Sentence, word: Word, subject: Word, form: str) -> bool:
    """Say whether with a form the object can be read as subject, and the subject as object, or none is needed."""
    if any(parse.tag.POS == "PRED" for parse in analyses(form)):  # vidno
        return True
    objects = [child for child in sentence.children[word.id] if child.relation == "obj"]
    nominatives = [parse for one in objects for parse in analyses(one.form) if parse.tag.case == "nomn"]
    verbs = [parse for parse in analyses(form) if parse.tag.POS in _FINITE]
    can_be_object = any(parse.tag.case == "accs" for parse in analyses(subject.form))
    return can_be_object and any(may_agree(verb, noun) for verb in verbs for noun in nominatives)


def agrees(subject: Word, predicate: Parse) -> bool:
    """Say whether a predicate agrees with its subject, by an analysis or, for unknown words, features of the tree."""
    number, gender = (
        NUMBER_OF.get(subject.feats.get("Number", "")),
        GENDER_OF.get(subject.feats.get("Gender", "")),
    )
    # The analyzer guesses the features of words that it does not know, so for these the tree decides.
    found = heads(subject) if is_known(subject.form) else []
    return (
        any(may_agree(predicate, parse) for parse in found)
        if found
        else _matches(predicate, number, gender, _THIRD)
    )


def may_agree(predicate: Parse, noun: Parse) -> bool:
    """Say whether a predicate agrees with an analysis of its subject in person, number and gender."""
    # The dictionary gives nouns no person.
    return _matches(predicate, noun.tag.number, noun.tag.gender, noun.tag.person or _THIRD)


def _matches(predicate: Parse, number: str | None, gender: str | None, person: str) -> bool:
    tag = predicate.tag
    asked = ((tag.number, number), (tag.gender if tag.number == "sing" else None, gender), (tag.person, person))
    return all(own is None or other is None or own == other for own, other in asked)


def _is_subject(word: Word, cases: Sequence[str] = ("Nom", "Acc")) -> bool:
    """Say whether a predicate agrees with a word; parsers often confuse nominatives and accusatives that look alike."""
    return word.relation == "nsubj" and word.feats.get("Case", "Nom") in cases


def _with_nominative(sentence: Sentence) -> Iterator[tuple[Word, Word | None]]:
    for subject in sentence.words:
        head = sentence.head_of(subject)
        if head is not None and _is_subject(subject) and not _is_joined(sentence, subject):
            yield head, subject


def _is_joined(sentence: Sentence, subject: Word) -> bool:
    """Say whether a subject has several parts; number and gender of its predicate are then open."""
    return any(child.relation == "conj" for child in sentence.children[subject.id])


def _subject_of(sentence: Sentence, predicate: Word) -> Word | None:
    """Return the subject of a predicate, or of the predicate that it is joined to."""
    joined = [predicate.id, *([predicate.head] if predicate.relation == "conj" else [])]
    return next((child for number in joined for child in sentence.children[number] if _is_subject(child)), None)


def is_negated(sentence: Sentence, predicate: Word) -> bool:
    """Say whether a negative particle stands before a predicate, or depends on it."""
    around = agreeing_words(sentence, predicate)
    # Numbers count from 1, so these are the words before.
    before = [sentence.words[word.id - 2] for word in around if word.id > 1]
    children = [child for word in around for child in sentence.children[word.id]]
    return any(word.form.lower() in ("не", "ни") for word in [*before, *children])


def _with_genitive(sentence: Sentence) -> Iterator[tuple[Word, Word | None]]:
    """Yield negated predicates with a noun in the genitive and without a subject in the nominative."""
    for predicate in sentence.words:
        if any(_is_subject(child, ("Nom",)) for child in sentence.children[predicate.id]):
            continue
        for child in sentence.children[predicate.id]:
            related = child.relation in ("nsubj", "obj", "iobj", "obl", "advmod", "det")
            if related and _is_genitive(sentence, child):
                if is_negated(sentence, predicate):
                    yield predicate, None
                break


def _is_genitive(sentence: Sentence, word: Word) -> bool:
    return word.upos in _NOUNS and word.feats.get("Case") == "Gen" and not has_preposition(sentence, word)


def _has_plural(sentence: Sentence, predicate: Word) -> bool:
    """Say whether a genitive without modifiers beside a predicate can be read as a nominative plural: *knigi*."""
    genitives = (child for child in sentence.children[predicate.id] if _is_genitive(sentence, child))
    bare = (genitive for genitive in genitives if not modifiers_of(sentence, genitive))
    return any((one.tag.case, one.tag.number) == ("nomn", "plur") for word in bare for one in analyses(word.form))


def _with_clause(sentence: Sentence) -> Iterator[tuple[Word, Word | None]]:
    """Yield predicates whose subject is a clause: neuter, third person singular, with an infinitive or a clause."""
    for predicate in sentence.words:
        children = sentence.children[predicate.id]
        if any(_is_subject(child, ("Nom",)) for child in children):
            continue
        if any(child.relation in _CLAUSES or child.feats.get("VerbForm") == "Inf" for child in children):
            yield predicate, None


def _is_default(parse: Parse) -> bool:
    """Tell whether a form is that of clauses without a nominative: neuter, or third person singular."""
    return parse.tag.number == "sing" and (parse.tag.gender == "neut" or parse.tag.person == "3per")


def wrong_values(subject: Word, feature: str) -> Sequence[str] | None:
    """Return the values that are wrong with a subject; None for all that differ from the predicate's."""
    found = heads(subject)
    lemma = str(found[0].normal_form) if found else None
    if feature == "Number":
        # With these subjects both numbers may be good.
        if subject.form.lower() == EVERYBODY or subject.upos in QUANTITIES:
            return ()
        # with a collective noun the plural may be good too
        return ("sing",) if lemma in read_list("collective")["nouns"] else None
    if feature == "Gender":
        if lemma in read_list("collective")["jobs"]:
            return ()
        # the gender of such persons is open, but they are never neuter
        unknown = subject.upos == "PROPN" and not is_known(subject.form)
        common = any(_COMMON in parse.tag.grammemes for parse in found)
        return ("neut",) if lemma in _SPEAKERS or common or unknown else None
    return None


def _of_subjects(
    sentence: Sentence, _: Resources, clauses: Finder, feature: str, subtype: str, default: bool
) -> Found:
    """Yield the sentence with a predicate in a form that is wrong with its subject, or in a clause without one."""
    for predicate, subject in clauses(sentence):
        values = wrong_values(subject, feature) if subject is not None else None
        if values == ():
            yield OPEN
            continue
        for word in agreeing_words(sentence, predicate):
            parse = finite_parse(word)
            # Any other form agrees with a subject that is left out.
            if parse is None or (default and not _is_default(parse)):
                continue
            if subject is not None and not agrees(subject, parse):
                yield DISAGREES
            elif subject is None and _leaves_out_subject(sentence, clauses, predicate, parse):
                yield OWN_SUBJECT
            elif subject is None and feature == "Number" and _has_plural(sentence, predicate):
                yield AMBIGUOUS
            else:
                yield from _change(sentence, word, feature, subtype, values, subject)


def _leaves_out_subject(sentence: Sentence, find: Finder, predicate: Word, parse: Parse) -> bool:
    """Say whether the subject of a predicate is left out, or stands with the predicate that it is joined to."""
    shared = _subject_of(sentence, predicate)
    if shared is not None and agrees(shared, parse):
        return True
    if find is _with_clause:  # a clause can be the subject of other words and of these verbs
        return parse.tag.POS == "VERB" and parse.normal_form not in read_list("impersonal")["verbs"]
    children = sentence.children[predicate.id]
    subject = any(child.relation == "nsubj" and _is_genitive(sentence, child) for child in children)
    return not subject and "tran" in parse.tag  # the genitive is its object


def _attractor(sentence: Sentence, _: Resources, feature: str, subtype: str) -> Found:
    """Yield the sentence with a predicate that agrees with another noun of its clause."""
    for predicate in sentence.words:
        for word in agreeing_words(sentence, predicate):
            parse = finite_parse(word)
            found = [] if parse is None else _wrong_of_attractors(sentence, predicate, parse, feature)
            if isinstance(found, str):
                yield found
            elif found:
                yield from _change(sentence, word, feature, subtype, found, _subject_of(sentence, predicate))


def _wrong_of_attractors(sentence: Sentence, predicate: Word, parse: Parse, feature: str) -> Sequence[str] | str:
    """Return the values of attractors that are wrong with the subject, or the reason why none is known to be."""
    around = _values_around(sentence, predicate, parse, feature)
    subject = _subject_of(sentence, predicate)
    if subject is None:
        has_clause = any(child.relation == "csubj" for child in sentence.children[predicate.id])
        return around if has_clause and _is_default(parse) else "the verb has no subject"
    wrong = wrong_values(subject, feature)
    if wrong == () or _is_joined(sentence, subject):
        return OPEN
    if not agrees(subject, parse):
        return DISAGREES
    return [value for value in around if wrong is None or value in wrong]


def _values_around(sentence: Sentence, predicate: Word, parse: Parse, feature: str) -> list[str]:
    """Return the values of the nouns of a clause that differ from the predicate's."""
    names = NUMBER_OF if feature == "Number" else GENDER_OF
    own = parse.tag.number if feature == "Number" else parse.tag.gender
    children = sentence.children[predicate.id]
    inside = [*children, *(grandchild for child in children for grandchild in sentence.children[child.id])]
    # Any noun of the clause that is not nominative counts as an attractor.
    nouns = [word for word in inside if word.upos in _NOUNS and word.feats.get("Case") != "Nom"]
    found = [names.get(word.feats.get(feature, "")) for word in nouns]
    return list(dict.fromkeys(value for value in found if value and value != own))


def _finders() -> Iterator[tuple[str, Callable[[Sentence, Resources], Found]]]:
    """Yield the name and the rule of each paradigm."""
    for feature in ("Number", "Gender", "Person"):
        name = feature.lower()
        for kind, clauses in (("noun", _with_nominative), ("genitive", _with_genitive), ("clause", _with_clause)):
            paradigm, default = f"{kind}_subj_predicate_agreement_{name}", kind != "noun"
            yield (
                paradigm,
                partial(_of_subjects, clauses=clauses, feature=feature, subtype=paradigm, default=default),
            )
        if feature != "Person":
            paradigm = f"subj_predicate_agreement_{name}_attractor"
            yield paradigm, partial(_attractor, feature=feature, subtype=paradigm)


RULES: Final = rules("Subject-Predicate Agreement", **dict(_finders()))
