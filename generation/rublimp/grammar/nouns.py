"""Nouns by animacy: which words of a sentence are animate, and inanimate nouns to put in their place."""

from functools import cache
from typing import Final, NamedTuple

from ucurve.generation.rublimp.grammar.agreement import heads
from ucurve.generation.rublimp.grammar.forms import CASE_OF, GENDER_OF, MARKED, NUMBER_OF, forms_of, plain
from ucurve.generation.rublimp.grammar.morphology import Grammeme, Parse, analyses, is_known
from ucurve.generation.treebank import Word

# These are the marks of names, places, abbreviations and initials.
NAMES: Final = frozenset({"Name", "Surn", "Patr", "Geox", "Orgn", "Trad", "Abbr", "Init"})
PERSONAL: Final = frozenset({"я", "ты", "он", "она", "мы", "вы", "они"})


class Argument(NamedTuple):
    """An argument of a verb; gender is None where it is not known, the analysis where the word is not."""

    case: Grammeme
    number: Grammeme
    gender: Grammeme
    parse: Parse | None


def animate(word: Word) -> Argument | None:
    """Return what is known of an animate noun, proper name or personal pronoun; None for other words."""
    for parse in heads(word):
        tag = parse.tag
        personal = tag.POS == "NPRO" and parse.normal_form in PERSONAL
        if personal or ("anim" in tag and "Geox" not in tag):
            return Argument(tag.case, tag.number, tag.gender, parse)
    feats = word.feats
    case, number = CASE_OF.get(feats.get("Case", "")), NUMBER_OF.get(feats.get("Number", ""))
    capital = word.id > 1 or not is_known(word.form)  # at the beginning every word has one
    is_name = word.upos == "PROPN" and feats.get("Animacy") == "Anim" and capital
    if not is_name or case is None or number is None:
        return None
    return Argument(case, number, GENDER_OF.get(feats.get("Gender", "")), None)


def inanimate(word: Word) -> Parse | None:
    """Return the analysis of an inanimate noun; None for other words."""
    found = heads(word)
    if word.upos not in ("NOUN", "PROPN") or not found or not _is_inanimate(found[0]):
        return None
    return found[0]


def _is_inanimate(parse: Parse) -> bool:
    return "inan" in parse.tag and "anim" not in parse.tag


@cache
def _lexemes(lemmas: tuple[str, ...]) -> dict[str, tuple[Parse, ...]]:
    """Return the inanimate nouns among lemmas, by gender; names and words with several analyses are left out."""
    found: dict[str, list[Parse]] = {"masc": [], "femn": [], "neut": []}
    for lemma in lemmas:
        nouns = [parse for parse in analyses(lemma) if parse.tag.POS == "NOUN" and parse.is_known]
        if any(not _is_inanimate(parse) or parse.tag.grammemes & (NAMES | MARKED) for parse in nouns):
            continue
        parse = next((p for p in nouns if p.tag.case == "nomn" and p.tag.number == "sing"), None)
        if parse is not None and parse.tag.gender in found:
            found[parse.tag.gender].append(parse)
    return {gender: tuple(parses) for gender, parses in found.items()}


@cache
def inanimate_forms(
    lemmas: tuple[str, ...], gender: Grammeme, case: Grammeme, number: Grammeme
) -> tuple[str, ...]:
    """Return inanimate nouns of a gender in a case and number; of masculine gender where none is known."""
    forms = [forms_of(parse, {case, number})[:1] for parse in _lexemes(lemmas)[gender or "masc"]]
    return tuple(dict.fromkeys(plain(form) for found in forms for form in found))
