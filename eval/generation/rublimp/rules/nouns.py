"""Nouns by animacy: which words of a sentence are animate, and inanimate nouns to put in their place."""

from collections.abc import Iterator
from functools import cache
from typing import Final

from eval.generation.rublimp.morphology import Morphology
from eval.generation.rublimp.resources import Resources
from eval.generation.rublimp.rules.agreement import heads
from eval.generation.rublimp.rules.forms import MARKED, Parse, forms_of
from eval.generation.rublimp.rules.lists import read_list
from eval.generation.treebank import Word

NAMES: Final = frozenset({"Name", "Surn", "Patr", "Geox", "Orgn", "Trad", "Abbr", "Init"})
PERSONAL: Final = frozenset({"я", "ты", "он", "она", "мы", "вы", "они"})
MINIMUM_IPM: Final = 5.0
"""Frequency, in a million words, from which a noun of the list of frequencies is used."""


def animate(morphology: Morphology, word: Word) -> Parse | None:
    """Return the analysis of an animate noun, proper name or personal pronoun; None for other words."""
    for parse in heads(morphology, word):
        if parse.tag.POS == "NPRO" and parse.normal_form in PERSONAL:
            return parse
        if parse.tag.animacy == "anim" and "Geox" not in parse.tag:
            return parse
    return None


def inanimate(morphology: Morphology, word: Word) -> Parse | None:
    """Return the analysis of an inanimate noun; None for other words."""
    found = heads(morphology, word)
    if word.upos not in ("NOUN", "PROPN") or not found or found[0].tag.animacy != "inan":
        return None
    return found[0]


@cache
def _inanimate_nouns(morphology: Morphology, resources: int, lemmas: tuple[str, ...]) -> dict[str, list[Parse]]:
    del resources
    found: dict[str, list[Parse]] = {"masc": [], "femn": [], "neut": []}
    for lemma in lemmas:
        for parse in morphology.forms_with(lemma)[:1]:
            tag = parse.tag
            usual = tag.POS == "NOUN" and tag.animacy == "inan" and tag.case == "nomn" and tag.number == "sing"
            if usual and not tag.grammemes & (NAMES | MARKED) and tag.gender in found and parse.is_known:
                found[tag.gender].append(parse)
    return found


def noun_lemmas(resources: Resources) -> tuple[str, ...]:
    """Return the nouns of our list, and those of the list of frequencies that are common enough."""
    ours = [lemma for lemmas in read_list("nouns")["inanimate"].values() for lemma in lemmas]
    given = [lemma for (lemma, pos), ipm in resources.frequencies.items() if pos == "s" and ipm >= MINIMUM_IPM]
    return tuple(dict.fromkeys([*ours, *given]))


def inanimate_forms(
    morphology: Morphology, resources: Resources, gender: str | None, case: str, number: str
) -> Iterator[str]:
    """Yield inanimate nouns of a gender in a case and number; of masculine gender where none is known."""
    key = id(resources)
    nouns = _inanimate_nouns(morphology, key, _lemmas(key, resources))
    for parse in nouns.get(gender or "masc", ()):
        yield from _form(parse, case, number)


_lemmas_by_resources: dict[int, tuple[str, ...]] = {}


def _lemmas(key: int, resources: Resources) -> tuple[str, ...]:
    if key not in _lemmas_by_resources:
        _lemmas_by_resources[key] = noun_lemmas(resources)
    return _lemmas_by_resources[key]


@cache
def _cached_form(parse: Parse, case: str, number: str) -> tuple[str, ...]:
    return tuple(forms_of(parse, {case, number})[:1])


def _form(parse: Parse, case: str, number: str) -> tuple[str, ...]:
    return _cached_form(parse, case, number)
