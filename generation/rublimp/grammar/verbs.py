"""A verb put in another's place, in the same form or in the other tense."""

from typing import Final

from generation.rublimp.grammar.forms import MARKED, plain
from generation.rublimp.grammar.morphology import Parse, analyses
from generation.treebank import Sentence, Word

FINITE: Final = ("VERB", "INFN")
PERSONS: Final = {"я": ("1per", "sing"), "ты": ("2per", "sing"), "мы": ("1per", "plur"), "вы": ("2per", "plur")}


def verb_parses(word: Word, *grammemes: str) -> list[Parse]:
    """Return the analyses of a word as a finite verb or infinitive that have all grammemes, the likeliest first."""
    wanted = set(grammemes)
    return [p for p in analyses(word.form) if p.tag.POS in FINITE and wanted <= p.tag.grammemes]


def lexeme_of(infinitive: str, *grammemes: str) -> Parse | None:
    """Return the analysis of an infinitive that has the grammemes."""
    wanted = set(grammemes)
    for parse in analyses(infinitive):
        if parse.tag.POS == "INFN" and wanted <= parse.tag.grammemes and parse.is_known:
            return parse
    return None


def verb_form(lexeme: Parse, wanted: frozenset[str], pos: str) -> str | None:
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
    values = (tense, tag.number, tag.person if tense != "past" else None, tag.gender, tag.mood)
    return verb_form(lexeme, frozenset(str(value) for value in values if value is not None), tag.POS)


def subject_of(sentence: Sentence, verb: Word) -> Word | None:
    """Return the subject of a verb, or of the verb that it is coordinated with."""
    seen: Word | None = verb
    for _ in range(2):
        if seen is None:
            return None
        found = next((child for child in sentence.children[seen.id] if child.relation == "nsubj"), None)
        if found is not None:
            return found
        seen = sentence.head_of(seen) if seen.relation == "conj" else None
    return None


def other_tense(sentence: Sentence, verb: Word, parse: Parse) -> list[str]:
    """Return the forms of a perfective verb in its other tense that agree with its subject.

    Where the sentence does not show the subject's person or gender, every form that is possible is returned.
    """
    lexeme = lexeme_of(parse.normal_form, "perf")
    if lexeme is None:
        return []
    subject = subject_of(sentence, verb)
    if parse.tag.tense == "past":
        return _future(parse, lexeme, subject)
    return _past(parse, lexeme, subject)


def _future(parse: Parse, lexeme: Parse, subject: Word | None) -> list[str]:
    number = parse.tag.number
    if subject is not None:
        shown = PERSONS.get(subject.form.lower(), ("3per", number))
        wanted = [shown]
    else:
        wanted = [("3per", number), ("1per", number), ("2per", number)]
    forms = [verb_form(lexeme, frozenset({"futr", "indc", *values}), "VERB") for values in wanted]
    return [form for form in forms if form is not None]


def _past(parse: Parse, lexeme: Parse, subject: Word | None) -> list[str]:
    if parse.tag.number == "plur":
        genders: list[str | None] = [None]
    else:
        genders = [*_genders(subject)]
    found = []
    for gender in genders:
        wanted = {"past", parse.tag.number} | ({gender} if gender else set())
        found.append(verb_form(lexeme, frozenset(wanted), "VERB"))
    return [form for form in found if form is not None]


def _genders(subject: Word | None) -> tuple[str, ...]:
    both = ("masc", "femn")
    if subject is None or subject.form.lower() in PERSONS:
        return both
    for parse in analyses(subject.form):
        if parse.tag.case == "nomn" and parse.tag.number == "sing" and parse.tag.gender in ("masc", "femn", "neut"):
            return (str(parse.tag.gender),)
    return {"Masc": ("masc",), "Fem": ("femn",), "Neut": ("neut",)}.get(subject.feats.get("Gender", ""), both)
