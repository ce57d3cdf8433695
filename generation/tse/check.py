"""What every pair of a targeted suite must be, checked on what is made and on the published files.

The checks need no vocabulary: they read number, aspect and noun class off the words themselves.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ucurve.generation.maker import CheckOf, each_pair
from ucurve.generation.tse.swahili import Grammar
from ucurve.yaml_files import read_yaml

_STOPS = (".", "।")  # Hindi ends a sentence with a danda
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


class Parts(NamedTuple):
    """The columns of a pair that the checks read."""

    paradigm: str
    condition: str
    good: str
    bad: str
    target_good: str
    target_bad: str


def _each(breaks: Callable[[Parts], bool]) -> CheckOf:
    return each_pair(lambda *values: breaks(Parts(*values)), *Parts._fields)


def _each_of(suites: re.Pattern[str], breaks: Callable[[Parts, re.Match[str]], bool]) -> CheckOf:
    """Return the check of the pairs of those suites whose names a pattern matches."""
    return _each(lambda pair: (suite := suites.fullmatch(pair.paradigm)) is not None and breaks(pair, suite))


def _no_condition(pair: Parts) -> bool:
    expected = (f"{pair.condition} {pair.target_good}", f"{pair.condition} {pair.target_bad}")
    return (pair.good, pair.bad) != expected


def _repeated_word(pair: Parts) -> bool:
    words = [word.lower() for word in pair.condition.split() if len(word) > 3]  # shorter ones are particles
    return len(set(words)) < len(words)


def _basque_auxiliaries(pair: Parts, suite: re.Match[str]) -> list[dict[str, bool]]:
    """Return which arguments are plural, by the right and by the wrong auxiliary of a Basque pair."""
    marks = _PLURAL_MARKS[frozenset(_basque_order(suite))]
    return [
        {argument: mark in form for argument, mark in marks.items()}
        for form in (pair.target_good, pair.target_bad)
    ]


def _basque_order(suite: re.Match[str]) -> list[str]:
    return suite["order"].rstrip("_").split("_")


def _basque_nouns(pair: Parts, suite: re.Match[str]) -> dict[str, bool]:
    """Return which arguments are plural: each ends with the first word that has an ending of its case."""
    words, numbers, order = iter(pair.condition.split()), {}, _basque_order(suite)
    for argument in order:
        endings = {"IO": _DATIVE_ENDINGS, "DO": _ABSOLUTIVE_ENDINGS}.get(argument)
        singular, plural = endings or (_ERGATIVE_ENDINGS if "DO" in order else _ABSOLUTIVE_ENDINGS)
        word = next((word for word in words if word.endswith((singular, plural))), None)
        if word is not None:
            numbers[argument] = word.endswith(plural)
    return numbers


def _same_number(pair: Parts, suite: re.Match[str]) -> bool:
    nouns = _basque_nouns(pair, suite)
    return nouns.get(suite["focus"]) in [
        plural for argument, plural in nouns.items() if argument != suite["focus"]
    ]


def _flips_more(pair: Parts, suite: re.Match[str]) -> bool:
    right, wrong = _basque_auxiliaries(pair, suite)
    flipped = {argument for argument in right if right[argument] != wrong[argument]}
    # all forms of the past end in n, and no others
    past = [target.rstrip(".").endswith("n") for target in (pair.target_good, pair.target_bad)]
    return flipped != {suite["focus"]} or past[0] != past[1]


def _no_aspects(pair: Parts, suite: re.Match[str]) -> bool:
    """Whether a Hindi pair does not contrast a habitual with the perfective of the same verb, number and tense."""
    perfective, habitual = (
        (pair.target_good, pair.target_bad) if suite["ne"] else (pair.target_bad, pair.target_good)
    )
    one, other = _HABITUAL.fullmatch(habitual), _PERFECTIVE.fullmatch(perfective)
    return one is None or other is None or one.groups() != other.groups()


def _marked_agrees(pair: Parts, suite: re.Match[str]) -> bool:
    """Whether the verb of a Hindi pair with ne and ko is not masculine singular."""
    marked = pair.condition.split()[-1] == _MARKER
    return bool(suite["ne"]) and marked and not pair.target_good.split()[0].endswith("ा")


def _wrong_possessive(pair: Parts, suite: re.Match[str]) -> bool:
    """Whether in a Hindi pair the word before the object has another gender, number or case than the object."""
    if not suite["possessors"]:
        return False
    words = pair.condition.split()
    if words[-1] == _MARKER:
        # Before the marker stands the object, and before that the word that agrees with it, which is oblique.
        return words[-3][-1] == "ा"
    # after ne, the verb shows gender and number of an unmarked object
    return bool(suite["ne"]) and words[-2][-1] != pair.target_good.split()[0][-1]


@cache
def _swahili() -> Grammar:
    return read_yaml(Path(__file__).parent / "swahili.yaml", Grammar)


def _splits(target: str) -> list[tuple[str, str]]:
    """Return the subject prefixes that a verb can have, each with what is left: tense and stem."""
    grammar = _swahili()
    rests = {prefix: target.removeprefix(prefix) for prefix in grammar.subject if target.startswith(prefix)}
    return sorted((prefix, rest) for prefix, rest in rests.items() if rest.startswith(tuple(grammar.tenses)))


def _prefixes(pair: Parts) -> tuple[str, str] | None:
    """Return the subject prefixes of the right and the wrong verb, which are followed by the same; None without."""
    for prefix, rest in _splits(pair.target_good):
        for other, left in _splits(pair.target_bad):
            if rest == left and prefix != other:
                return prefix, other
    return None


def _of_disagrees(pair: Parts, _suite: re.Match[str]) -> bool:
    """Whether the right verb of a Swahili pair is of a class that the word for 'of' is not of."""
    prefixes, grammar = _prefixes(pair), _swahili()
    linker = next((word for word in pair.condition.split()[1:] if word in grammar.of), None)
    agreeing = [prefix for word, prefix in zip(grammar.of, grammar.subject, strict=True) if word == linker]
    return prefixes is not None and prefixes[0] not in agreeing


def _possessor_disagrees(pair: Parts, suite: re.Match[str]) -> bool:
    """Whether the wrong verb of a Swahili pair is of a class that the possessor's demonstrative is not of."""
    prefixes = _prefixes(pair) if suite["demonstrative"] else None
    if prefixes is None:
        return False
    grammar = _swahili()
    of_class = [at for at, prefix in enumerate(grammar.subject) if prefix == prefixes[1]]
    fitting = {forms[at] for forms in grammar.demonstratives.values() for at in of_class}
    return fitting.isdisjoint(pair.condition.split())


CHECKS: Mapping[str, CheckOf] = {
    "a sentence is its condition, a space and its target": _each(_no_condition),
    "a target ends with a full stop or a danda": _each(
        lambda pair: not (pair.target_good.endswith(_STOPS) and pair.target_bad.endswith(_STOPS))
    ),
    "the two targets have as many words": _each(
        lambda pair: pair.target_good.count(" ") != pair.target_bad.count(" ")
    ),
    "a condition and its targets stand once in a suite": lambda pairs: pairs[
        ["paradigm", "condition", "target_good", "target_bad"]
    ].duplicated(),
    "a condition begins with a capital letter": _each(
        lambda pair: pair.condition[:1] != pair.condition[:1].upper()
    ),
    "no word of more than three letters stands twice in a condition": _each(_repeated_word),
    "Basque: other arguments have the other number": _each_of(_BASQUE, _same_number),
    "Basque: the right auxiliary agrees with every argument": _each_of(
        _BASQUE, lambda pair, suite: _basque_nouns(pair, suite) != _basque_auxiliaries(pair, suite)[0]
    ),
    "Basque: the wrong auxiliary differs in the number of the focus alone": _each_of(_BASQUE, _flips_more),
    "Hindi: one aspect against the other, all else equal": _each_of(_HINDI, _no_aspects),
    "Hindi: ne stands in its suites and in no others": _each_of(
        _HINDI, lambda pair, suite: (_ERGATIVE in pair.condition.split()) != bool(suite["ne"])
    ),
    "Hindi: after ne, a marked object has a verb in the masculine singular": _each_of(_HINDI, _marked_agrees),
    "Hindi: the word before the object agrees with it": _each_of(_HINDI, _wrong_possessive),
    "Swahili: two verbs differ in the subject prefix alone": _each_of(
        _SWAHILI, lambda pair, _suite: _prefixes(pair) is None
    ),
    "Swahili: the right verb agrees with the word for 'of'": _each_of(_SWAHILI, _of_disagrees),
    "Swahili: the wrong verb agrees with the possessor's demonstrative": _each_of(_SWAHILI, _possessor_disagrees),
}
