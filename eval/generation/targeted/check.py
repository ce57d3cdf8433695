"""What every pair of a targeted suite must be, checked on what is made and on the published files."""

import re
from collections.abc import Callable, Mapping

import pandas as pd

CheckOf = Callable[[pd.DataFrame], pd.Series]
_STOPS = (".", "।")
_BASQUE = re.compile(r"(?P<focus>S|DO|IO)-(?P<order>[A-Z_]+)_V_AUX")
_PLURAL = re.compile(r"(ak|ek|ei)$")


def _no_condition(pairs: pd.DataFrame) -> pd.Series:
    return pd.Series(
        [
            not (good == f"{condition} {right}" and bad == f"{condition} {wrong}")
            for condition, good, bad, right, wrong in zip(
                *(pairs[name] for name in ("condition", "good", "bad", "target_good", "target_bad")), strict=True
            )
        ],
        index=pairs.index,
    )


def _no_stop(pairs: pd.DataFrame) -> pd.Series:
    return ~(pairs["target_good"].str.endswith(_STOPS) & pairs["target_bad"].str.endswith(_STOPS))


def _repeated(pairs: pd.DataFrame) -> pd.Series:
    return pairs[["paradigm", "condition", "target_good", "target_bad"]].duplicated()


def _lengths(pairs: pd.DataFrame) -> pd.Series:
    return pairs["target_good"].str.count(" ") != pairs["target_bad"].str.count(" ")


def _small_initial(pairs: pd.DataFrame) -> pd.Series:
    first = pairs["condition"].str[0]
    return first != first.str.upper()


def _repeated_word(pairs: pd.DataFrame) -> pd.Series:
    def repeats(condition: str) -> bool:
        words = [word.lower() for word in condition.split() if len(word) > 3]  # shorter ones are particles
        return len(set(words)) < len(words)

    return pairs["condition"].map(repeats).astype(bool)


def _same_number(pairs: pd.DataFrame) -> pd.Series:
    """Tell Basque pairs in which another argument has the number of the one in focus."""

    def breaks(paradigm: str, condition: str) -> bool:
        found = _BASQUE.fullmatch(paradigm)
        if found is None:
            return False
        order = found["order"].split("_")
        numbers = dict(zip(order, _argument_numbers(condition.split()[: len(order)], order), strict=True))
        focus = numbers.pop(found["focus"])
        return focus in numbers.values()

    return pd.Series(list(map(breaks, pairs["paradigm"], pairs["condition"])), index=pairs.index, dtype=bool)


def _argument_numbers(words: list[str], order: list[str]) -> list[bool]:
    """Tell which arguments are plural; an ergative subject has -ak in the singular and -ek in the plural."""
    ergative = "DO" in order
    return [
        word.endswith("ek") if ergative and argument == "S" else _PLURAL.search(word) is not None
        for word, argument in zip(words, order, strict=True)
    ]


CHECKS: Mapping[str, CheckOf] = {
    "a sentence is its condition, a space and its target": _no_condition,
    "a target ends with a full stop or a danda": _no_stop,
    "the two targets have as many words": _lengths,
    "a condition and its targets stand once in a suite": _repeated,
    "a condition begins with a capital letter": _small_initial,
    "no word of more than three letters stands twice in a condition": _repeated_word,
    "Basque: other arguments have the other number": _same_number,
}
