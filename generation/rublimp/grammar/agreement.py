"""Agreement between a noun and a word that agrees with it, by all readings of their forms."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ucurve.generation.rublimp.grammar.forms import CASE_OF, GENDER_OF, NUMBER_OF, forms_of
from ucurve.generation.rublimp.grammar.morphology import Grammeme, Parse, analyses
from ucurve.generation.treebank import Sentence, Word

HEADS: Final = frozenset({"NOUN", "NPRO"})  # these are OpenCorpora's names of nouns and pronouns
AGREEING: Final = frozenset({"ADJF", "PRTF"})  # these are adjectives and participles
# Words that agree with a noun have these relations.
ADJECTIVAL: Final = frozenset({"amod", "det", "nummod", "acl"})
# Relations of nouns whose cases go together.
TIES: Final = (
    "nummod",
    "flat",
    "appos",
    "conj",
    "compound",
    "fixed",
)


class Reading(NamedTuple):
    """Case, number, gender (None in the plural) and animacy (None where it makes no difference)."""

    case: Grammeme
    number: Grammeme
    gender: Grammeme
    animacy: Grammeme


def reading(parse: Parse) -> Reading:
    """Return what a parse says that agreement is about."""
    tag = parse.tag
    # No plural form shows a gender, and nouns with the mark ms-f have either of two.
    gender = None if tag.number == "plur" or "ms-f" in tag.grammemes else tag.gender
    animacy = None
    if tag.case == "accs":  # a few animate nouns have a second accusative like that of inanimate nouns: персонаж
        animacy = "inan" if "inan" in tag else tag.animacy
    return Reading(tag.case, tag.number, gender, animacy)


def match(head: Reading, other: Reading) -> bool:
    """Say whether two readings agree; a gender or animacy that is not known agrees with every other."""
    return (head.case, head.number) == (other.case, other.number) and all(
        one is None or two is None or one == two
        for one, two in ((head.gender, other.gender), (head.animacy, other.animacy))
    )


def same_number_and_gender(noun: Parse, other: Parse) -> bool:
    """Say whether a noun and a word agree in number, and in the singular in gender where the noun has one."""
    return noun.tag.number == other.tag.number and (
        noun.tag.number == "plur" or noun.tag.gender in (None, other.tag.gender)
    )


def heads(word: Word) -> list[Parse]:
    """Return the analyses of a noun or pronoun that its features in the tree allow, the likeliest first."""
    case, number = CASE_OF.get(word.feats.get("Case", "")), NUMBER_OF.get(word.feats.get("Number", ""))
    gender = GENDER_OF.get(word.feats.get("Gender", ""))
    fitting = [
        parse
        for parse in analyses(word.form)
        if parse.tag.POS in HEADS and parse.tag.case == case and number in (None, parse.tag.number)
    ]
    # Where the dictionary has another gender than the tree, case and number alone decide.
    return [parse for parse in fitting if gender in (None, parse.tag.gender)] or fitting


def modifiers(word: Word) -> list[Parse]:
    """Return the analyses of a word as one that agrees, the likeliest first."""
    return [parse for parse in analyses(word.form) if parse.tag.POS in AGREEING]


def pairs(noun: Word, modifier: Word) -> Iterator[tuple[Parse, Parse]]:
    """Yield the analyses of a noun and of its modifier that agree."""
    both = ((one, two) for one in heads(noun) for two in modifiers(modifier))
    return ((one, two) for one, two in both if match(reading(one), reading(two)))


def agrees_somehow(noun: str, modifier: str) -> bool:
    """Say whether two forms agree in any of their readings."""
    nouns = [reading(parse) for parse in analyses(noun) if parse.tag.POS in HEADS]
    others = [reading(parse) for parse in analyses(modifier) if parse.tag.POS in AGREEING]
    return any(match(one, two) for one in nouns for two in others)


def other_values(values: Sequence[str], value: str | None) -> list[str]:
    """Return the values of a feature that differ from one."""
    return [other for other in values if other != value]


def modifier_forms(
    modifier: Parse, case: Grammeme, number: Grammeme, gender: Grammeme, animacy: Grammeme
) -> list[str]:
    """Return the forms of a word that agrees, for case, number, gender (in the singular) and animacy (where known)."""
    wanted = {case, number} | ({gender} if number == "sing" and gender else set())
    # Only forms of the accusative are marked for animacy.
    found = forms_of(modifier, wanted | ({animacy} if animacy else set()))
    return found or forms_of(modifier, wanted)


def modifiers_of(sentence: Sentence, noun: Word) -> list[Word]:
    """Return the dependents of a noun that agree with it."""
    return [
        child
        for child in sentence.children[noun.id]
        if child.relation in ADJECTIVAL
        and (child.upos in ("ADJ", "DET", "NUM") or child.feats.get("VerbForm") == "Part")
    ]


def in_its_case(sentence: Sentence, noun: Word) -> list[Word]:
    """Return the dependents of a noun that stand in its case: modifiers, parts of a name, appositions, conjuncts."""
    parts = [child for child in sentence.children[noun.id] if child.relation in TIES]
    return [*modifiers_of(sentence, noun), *parts]


def is_bare(sentence: Sentence, noun: Word) -> bool:
    """Say whether a noun stands alone, with no modifier and no dependent noun.

    It neither has other parts of a name nor is one itself.
    """
    own = {child.relation for child in sentence.children[noun.id]}
    return noun.relation not in TIES and not own & {*ADJECTIVAL, *TIES, "nmod"}


def has_preposition(sentence: Sentence, word: Word) -> bool:
    """Say whether a preposition governs a word."""
    return any(child.relation == "case" for child in sentence.children[word.id])
