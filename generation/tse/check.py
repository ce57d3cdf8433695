"""What every pair of a targeted suite must be, checked on what is made and on the published files.

The checks need no vocabulary: they read number, aspect and noun class off the words themselves.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from generation.tse.swahili import Grammar
from ucurve.yaml_files import read_yaml

CheckOf = Callable[[pd.DataFrame], pd.Series]
_STOPS = (".", "।")
_BASQUE = re.compile(r"(?:basque-)?(?P<focus>S|DO|IO)-(?P<order>(?:(?:S|DO|IO)_)+)V_AUX")
_HINDI = re.compile(r"(?:hindi-)?S_(?P<ne>ne_)?(?P<possessors>PossPRN_(?:PossN_)?)?O_V")
_SWAHILI = re.compile(r"(?:swahili-)?N_of_Poss_(?P<demonstrative>D_)?(?:A_)?V(?:1_V2)?")
_HABITUAL = re.compile(r"(?P<stem>.+)त(?P<ending>[ाेी]) (?P<auxiliary>.+)")
_PERFECTIVE = re.compile(r"(?P<stem>.+?)य?(?P<ending>[ाेी]) (?P<auxiliary>.+)")
_MARKER, _ERGATIVE = "को", "ने"
# Endings of the singular and the plural, by the role of the argument.
_ERGATIVE_ENDINGS, _DATIVE_ENDINGS, _ABSOLUTIVE_ENDINGS = ("ak", "ek"), ("ari", "ei"), ("a", "ak")
# What in an auxiliary shows that an argument is plural, by the arguments it agrees with.
_PLURAL_MARKS: Mapping[frozenset[str], Mapping[str, str]] = {
    frozenset({"S"}): {"S": "ir"},
    frozenset({"S", "DO"}): {"S": "te", "DO": "it"},
    frozenset({"S", "IO", "DO"}): {"S": "te", "IO": "ie", "DO": "zki"},
    frozenset({"S", "IO"}): {"S": "zki", "IO": "ie"},
}


class Pair(NamedTuple):
    """The columns that the checks of a single pair read."""

    paradigm: str
    condition: str
    good: str
    bad: str
    target_good: str
    target_bad: str


def _each(breaks: Callable[[Pair], bool]) -> CheckOf:
    """Return the check of all pairs that looks at one at a time."""

    def check(pairs: pd.DataFrame) -> pd.Series:
        rows = zip(*(pairs[name] for name in Pair._fields), strict=True)
        return pd.Series([breaks(Pair(*row)) for row in rows], index=pairs.index, dtype=bool)

    return check


def _no_condition(pair: Pair) -> bool:
    expected = (f"{pair.condition} {pair.target_good}", f"{pair.condition} {pair.target_bad}")
    return (pair.good, pair.bad) != expected


def _no_stop(pair: Pair) -> bool:
    return not (pair.target_good.endswith(_STOPS) and pair.target_bad.endswith(_STOPS))


def _repeated(pairs: pd.DataFrame) -> pd.Series:
    return pairs[["paradigm", "condition", "target_good", "target_bad"]].duplicated()


def _lengths(pair: Pair) -> bool:
    return pair.target_good.count(" ") != pair.target_bad.count(" ")


def _small_initial(pair: Pair) -> bool:
    return pair.condition[:1] != pair.condition[:1].upper()


def _repeated_word(pair: Pair) -> bool:
    words = [word.lower() for word in pair.condition.split() if len(word) > 3]  # shorter ones are particles
    return len(set(words)) < len(words)


class _Numbers(NamedTuple):
    """Which arguments of a Basque sentence are plural, by its nouns and by its two auxiliaries."""

    focus: str
    nouns: dict[str, bool]
    right: dict[str, bool]
    wrong: dict[str, bool]


def _numbers(pair: Pair) -> _Numbers | None:
    """Read the numbers of a Basque pair; None of other pairs."""
    found = _BASQUE.fullmatch(pair.paradigm)
    if found is None:
        return None
    order = found["order"].rstrip("_").split("_")
    marks = _PLURAL_MARKS[frozenset(order)]
    right, wrong = ({argument: mark in form for argument, mark in marks.items()} for form in pair[4:])
    return _Numbers(found["focus"], _noun_numbers(pair.condition, order), right, wrong)


def _noun_numbers(condition: str, order: list[str]) -> dict[str, bool]:
    """Tell which arguments are plural: each ends with the first word that has an ending of its case."""
    words, numbers = iter(condition.split()), {}
    for argument in order:
        endings = {"IO": _DATIVE_ENDINGS, "DO": _ABSOLUTIVE_ENDINGS}.get(argument)
        singular, plural = endings or (_ERGATIVE_ENDINGS if "DO" in order else _ABSOLUTIVE_ENDINGS)
        word = next((word for word in words if word.endswith((singular, plural))), None)
        if word is not None:
            numbers[argument] = word.endswith(plural)
    return numbers


def _same_number(pair: Pair) -> bool:
    numbers = _numbers(pair)
    if numbers is None:
        return False
    others = [plural for argument, plural in numbers.nouns.items() if argument != numbers.focus]
    return numbers.nouns.get(numbers.focus) in others


def _disagrees(pair: Pair) -> bool:
    numbers = _numbers(pair)
    return numbers is not None and numbers.nouns != numbers.right


def _flips_more(pair: Pair) -> bool:
    numbers = _numbers(pair)
    if numbers is None:
        return False
    flipped = {argument for argument in numbers.right if numbers.right[argument] != numbers.wrong[argument]}
    past = [target.rstrip(".").endswith("n") for target in pair[4:]]  # all forms of the past end in n, and no others
    return flipped != {numbers.focus} or past[0] != past[1]


def _no_aspects(pair: Pair) -> bool:
    """Tell Hindi pairs that do not contrast a habitual with the perfective of the same verb, number and tense."""
    suite = _HINDI.fullmatch(pair.paradigm)
    if suite is None:
        return False
    perfective, habitual = (pair.target_good, pair.target_bad) if suite["ne"] else (pair.target_bad, pair.target_good)
    one, other = _HABITUAL.fullmatch(habitual), _PERFECTIVE.fullmatch(perfective)
    return one is None or other is None or one.groups() != other.groups()


def _wrong_ne(pair: Pair) -> bool:
    suite = _HINDI.fullmatch(pair.paradigm)
    return suite is not None and (_ERGATIVE in pair.condition.split()) != bool(suite["ne"])


def _marked_agrees(pair: Pair) -> bool:
    """Tell Hindi pairs with ne and ko whose verb is not masculine singular."""
    suite = _HINDI.fullmatch(pair.paradigm)
    marked = suite is not None and suite["ne"] and pair.condition.split()[-1] == _MARKER
    return bool(marked) and not pair.target_good.split()[0].endswith("ा")


def _wrong_possessive(pair: Pair) -> bool:
    """Tell Hindi pairs whose word before the object has not its gender, number and case.

    Before a marked object the form in -a is wrong. After ne, the verb shows what an unmarked object is.
    """
    suite = _HINDI.fullmatch(pair.paradigm)
    if suite is None or not suite["possessors"]:
        return False
    words = pair.condition.split()
    marked = words[-1] == _MARKER
    ending = words[-3 if marked else -2][-1]
    if marked:
        return ending == "ा"
    return bool(suite["ne"]) and ending != pair.target_good.split()[0][-1]


@cache
def _swahili() -> Grammar:
    return read_yaml(Path(__file__).parent / "swahili.yaml", Grammar)


def _splits(target: str) -> set[tuple[str, str]]:
    """Return the subject prefixes that a verb can have, each with what is left: tense and stem."""
    grammar = _swahili()
    rests = ((prefix, target.removeprefix(prefix)) for prefix in grammar.subject if target.startswith(prefix))
    return {(prefix, rest) for prefix, rest in rests if rest.startswith(tuple(grammar.tenses))}


def _prefixes(pair: Pair) -> tuple[str, str] | None:
    """Return the subject prefixes of the right and the wrong verb, which are followed by the same; None without."""
    for prefix, rest in sorted(_splits(pair.target_good)):
        for other, left in sorted(_splits(pair.target_bad)):
            if rest == left and prefix != other:
                return prefix, other
    return None


def _not_the_prefix(pair: Pair) -> bool:
    return _SWAHILI.fullmatch(pair.paradigm) is not None and _prefixes(pair) is None


def _of_disagrees(pair: Pair) -> bool:
    """Tell Swahili pairs whose right verb is of a class that the word for 'of' is not of."""
    prefixes = _prefixes(pair) if _SWAHILI.fullmatch(pair.paradigm) else None
    if prefixes is None:
        return False
    grammar = _swahili()
    linker = next((word for word in pair.condition.split()[1:] if word in grammar.of), None)
    return (linker, prefixes[0]) not in set(zip(grammar.of, grammar.subject, strict=True))


def _possessor_disagrees(pair: Pair) -> bool:
    """Tell Swahili pairs whose wrong verb is of a class that the possessor's demonstrative is not of."""
    suite = _SWAHILI.fullmatch(pair.paradigm)
    prefixes = _prefixes(pair) if suite and suite["demonstrative"] else None
    if prefixes is None:
        return False
    grammar, words = _swahili(), pair.condition.split()
    fitting = {
        form
        for forms in grammar.demonstratives.values()
        for form, prefix in zip(forms, grammar.subject, strict=True)
        if prefix == prefixes[1]
    }
    return not fitting.intersection(words)


CHECKS: Mapping[str, CheckOf] = {
    "a sentence is its condition, a space and its target": _each(_no_condition),
    "a target ends with a full stop or a danda": _each(_no_stop),
    "the two targets have as many words": _each(_lengths),
    "a condition and its targets stand once in a suite": _repeated,
    "a condition begins with a capital letter": _each(_small_initial),
    "no word of more than three letters stands twice in a condition": _each(_repeated_word),
    "Basque: other arguments have the other number": _each(_same_number),
    "Basque: the right auxiliary agrees with every argument": _each(_disagrees),
    "Basque: the wrong auxiliary differs in the number of the focus alone": _each(_flips_more),
    "Hindi: one aspect against the other, all else equal": _each(_no_aspects),
    "Hindi: ne stands in its suites and in no others": _each(_wrong_ne),
    "Hindi: after ne, a marked object has a verb in the masculine singular": _each(_marked_agrees),
    "Hindi: the word before the object agrees with it": _each(_wrong_possessive),
    "Swahili: two verbs differ in the subject prefix alone": _each(_not_the_prefix),
    "Swahili: the right verb agrees with the word for 'of'": _each(_of_disagrees),
    "Swahili: the wrong verb agrees with the possessor's demonstrative": _each(_possessor_disagrees),
}
