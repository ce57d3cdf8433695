"""A verb put in another's place, in the same form or in the other tense."""

from collections.abc import Set
from typing import Final

from ucurve.generation.rublimp.grammar.forms import GENDER_OF, MARKED, plain
from ucurve.generation.rublimp.grammar.morphology import Grammeme, Parse, analyses
from ucurve.generation.treebank import Sentence, Word

PERSONS: Final = {"я": ("1per", "sing"), "ты": ("2per", "sing"), "мы": ("1per", "plur"), "вы": ("2per", "plur")}


def verb_parses(word: Word, *grammemes: str) -> list[Parse]:
    """Return the analyses of a word as a finite verb or infinitive that have all grammemes, the likeliest first."""
    wanted = set(grammemes)
    return [p for p in analyses(word.form) if p.tag.POS in ("VERB", "INFN") and wanted <= p.tag.grammemes]


def lexeme_of(infinitive: str, *grammemes: str) -> Parse | None:
    """Return the analysis of an infinitive that has the grammemes."""
    wanted = set(grammemes)
    verbs = (parse for parse in analyses(infinitive) if parse.tag.POS == "INFN" and parse.is_known)
    return next((parse for parse in verbs if wanted <= parse.tag.grammemes), None)


def verb_form(lexeme: Parse, wanted: Set[Grammeme], pos: Grammeme) -> str | None:
    """Return the form of a verb that has the grammemes, written without yo; None where it has none."""
    for other in lexeme.lexeme:
        tag = other.tag
        if pos == tag.POS and wanted <= tag.grammemes and not tag.grammemes & MARKED:
            return plain(other.word)
    return None


def form_like(parse: Parse, lexeme: Parse) -> str | None:
    """Return the form of another verb in which a parse stands; a present of a perfective verb is its future."""
    tag = parse.tag
    tense = "futr" if tag.tense == "pres" and lexeme.tag.aspect == "perf" else tag.tense
    # A past has a gender and no person.
    values = (tense, tag.number, tag.person if tense != "past" else None, tag.gender, tag.mood)
    return verb_form(lexeme, {value for value in values if value is not None}, tag.POS)


def subject_of(sentence: Sentence, verb: Word) -> Word | None:
    """Return the subject of a verb, or of the verb that it is coordinated with."""
    joined = [verb.id, *([verb.head] if verb.relation == "conj" else [])]
    return next(
        (child for number in joined for child in sentence.children[number] if child.relation == "nsubj"), None
    )


def other_tense(sentence: Sentence, verb: Word, parse: Parse) -> list[str]:
    """Return the forms of a perfective verb in its other tense that agree, or may agree, with its subject."""
    lexeme = lexeme_of(parse.normal_form, "perf")
    if lexeme is None:
        return []
    subject = subject_of(sentence, verb)
    number = parse.tag.number
    if parse.tag.tense == "past":
        persons = [(person, number) for person in ("3per", "1per", "2per")]
        # The verb of a subject that is left out may be of any person.
        shown = persons if subject is None else [PERSONS.get(subject.form.lower(), persons[0])]
        wanted = [{"futr", "indc", *values} for values in shown]
    else:
        # A plural past has no gender.
        wanted = [{"past", number, *gender} for gender in ([()] if number == "plur" else _genders(subject))]
    forms = [verb_form(lexeme, values, "VERB") for values in wanted]
    return [form for form in forms if form is not None]


def _genders(subject: Word | None) -> list[tuple[str]]:
    """Return the genders that a past may have beside a subject, as grammemes: one where it is known, else two."""
    both = [("masc",), ("femn",)]
    # The gender of a speaker or a hearer is not known.
    if subject is None or subject.form.lower() in PERSONS:
        return both
    for parse in analyses(subject.form):
        if (
            parse.tag.case == "nomn"
            and parse.tag.number == "sing"
            and parse.tag.gender in ("masc", "femn", "neut")
        ):
            return [(str(parse.tag.gender),)]
    gender = GENDER_OF.get(subject.feats.get("Gender", ""))
    return both if gender is None else [(gender,)]
