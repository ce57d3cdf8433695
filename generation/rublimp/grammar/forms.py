"""Forms of a lexeme: which stand for given features, and which of them cannot be read as the form they replace."""

from collections.abc import Set
from typing import Final

from ucurve.generation.rublimp.grammar.morphology import Grammeme, Parse
from ucurve.generation.treebank import Word, spelled_like

# These and the next are OpenCorpora's names, which pymorphy3 uses.
CASES: Final = ("nomn", "gent", "datv", "accs", "ablt", "loct")
NUMBERS: Final = ("sing", "plur")
GENDERS: Final = ("masc", "femn", "neut")
CASE_OF: Final = {"Nom": "nomn", "Gen": "gent", "Dat": "datv", "Acc": "accs", "Ins": "ablt", "Loc": "loct"}
NUMBER_OF: Final = {"Sing": "sing", "Plur": "plur"}
GENDER_OF: Final = {"Masc": "masc", "Fem": "femn", "Neut": "neut"}

MARKED: Final = frozenset({
    "V-oy", "V-ey", "V-be", "V-en", "V-ie", "V-bi", "V-sh", "V-ej", "Fimp", "Erro", "Arch", "Slng",
    "Dist", "Infr", "Abbr", "Supr", "Cmp2", "gen2", "loc2", "acc2", "gen1", "voct", "Litr",
})  # fmt: skip
"""Grammemes of rare variants, which no rule puts into a sentence."""

UNKNOWN: Final = "the form is not known"
AMBIGUOUS: Final = "the form can be read as the original one"


def forms_of(parse: Parse, wanted: Set[Grammeme]) -> list[str]:
    """Return the usual forms of a parse's lexeme that have all grammemes wanted, in their order, each once."""
    found = [
        other.word
        for other in parse.lexeme
        # A mark that the parse has too does not rule other forms of the lexeme out.
        if wanted <= other.tag.grammemes and not (other.tag.grammemes & MARKED) - parse.tag.grammemes
    ]
    return list(dict.fromkeys(found))


def plain(form: str) -> str:
    """Return a form as it is printed where the letter yo is not used."""
    return form.replace("ё", "е")


def spell(form: str, word: Word) -> str:
    """Return a form with the capitals of the word that it replaces, and with yo only where that word has it."""
    printed = form if "ё" in word.form.lower() else plain(form)
    return spelled_like(printed, word.form)
