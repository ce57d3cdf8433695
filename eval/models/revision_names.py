"""Steps, tokens and words that the name of a revision states: ``step512``, ``step1000-tokens4B``, ``chck_10M``."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Literal

from ucurve.errors import UserError
from ucurve.eval.models.same_weights import group_names, shorten

Unit = Literal["steps", "tokens", "words", "amount"]
_UNITS: tuple[Unit, ...] = ("steps", "tokens", "words", "amount")  # the first that a name has is its step
# A number, the word before it, and behind it its scale and what it counts.
_PART = re.compile(
    r"(?P<word>[a-z]+)?[-_.]?(?P<number>\d{1,15}(?:\.\d{1,9})?(?:e\d\d?)?)(?P<scale>[kmbt])?"
    r"(?P<unit>t|[-_]?(?:token|word|step)s?(?![-_]?\d))?(?![a-z\d])",
    re.IGNORECASE,
)
_SCALES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
_WORDS: dict[str, Unit] = {
    "step": "steps",
    "iter": "steps",
    "iteration": "steps",
    "token": "tokens",
    "word": "words",
}
_CHECKPOINT = ("checkpoint", "ckpt", "chck")  # before a step or an amount
# Before an amount such as 5B; behind another word, it is the size of a model.
_AMOUNT = (*_CHECKPOINT, "train", "")
_GREATEST = 2**63 - 1  # what a table holds
_BABYLM = "chck"  # the challenge prescribes chck_1M to chck_1000M, and counts words
_STAGES = ("stage", "phase")  # of the second one and later, steps start from 0 again
_BRANCHES = ("ingredient",)  # of a stage, several beside one another
_BESIDE = ("epoch", "loss", "ppl")  # what changes with the step
_IN_ALL = re.compile("step|checkpoint|ckpt|chck|(?<![a-z])iter", re.IGNORECASE)
_LAST_NUMBER = re.compile(r"\D*(\d{1,15})")
_READ = "step512, step-50k, step1000-tokens4B, tokens_5B, 10BT and chck_10M"


@dataclass(frozen=True)
class Place:
    """The place of a revision on the axis of steps."""

    step: int  # optimizer steps, or what its name counts in their place: tokens, words, or an amount such as `5B`
    tokens: int | None = None  # training tokens that its name states
    in_words: bool = field(default=False, compare=False)  # whether its name counts words


@dataclass(frozen=True)
class _Reading:
    """What a name states; ``series`` is its other numbers, such as seed1, which tell it from another row of steps."""

    place: Place
    unit: Unit
    series: tuple[str, ...]


@dataclass(frozen=True)
class _Part:
    text: str
    word: str
    unit: Unit | None
    value: int


def names_a_checkpoint(name: str) -> bool:
    """Say whether a name has a step, or tokens or words, and calls them so; a number alone may be of anything."""
    reading = _read(name)
    return reading is not None and (reading.unit in ("tokens", "words") or _IN_ALL.search(name) is not None)


def is_of_a_later_stage(name: str) -> bool:
    """Say whether a name is of a stage of training whose steps do not count those of the stage before."""
    return any((part.word in _STAGES and part.value > 1) or part.word in _BRANCHES for part in _parts(name))


def place_revisions(names: Iterable[str], given: Mapping[str, int] | None = None) -> dict[str, Place]:
    """Return the places of revisions, and of those whose steps are ``given``, in the order of their steps."""
    given = given or {}
    wanted = list(dict.fromkeys([*names, *given]))
    readings = {name: None if is_of_a_later_stage(name) else _read(name) for name in wanted}
    read = {name: reading for name, reading in readings.items() if reading is not None and name not in given}
    unread = [name for name in wanted if name not in given and name not in read]
    if unread:
        later = [name for name in unread if is_of_a_later_stage(name)]
        reasons = [f"no step can be read off {name!r}" for name in unread if name not in later][:1]
        if later:
            reasons.append(f"the steps of {later[0]!r} start from 0 again, without those of the stages before")
        raise UserError(
            f"revisions: {'; '.join(reasons)}; names like {_READ} are read. Give the places of the others on the axis "
            f"of steps: {asked_steps(unread)}"
        )
    # Steps must lie on one axis: not those of two seeds, nor some in steps and some in tokens.
    series = group_names({name: reading.series for name, reading in read.items()})
    units = group_names({name: reading.unit for name, reading in read.items() if reading.place.step > 0})
    for groups, differ in ((series, "differ in more than the step"), (units, "count other things")):
        if len(groups) > 1:
            others = [name for group in groups[1:] for name in group]
            raise UserError(
                f"revisions: {groups[0][0]!r} and {others[0]!r} {differ}, so their steps are not on one axis. Score "
                "those of a kind into a folder out= of their own (a pattern takes them, such as 'revisions=[chck_*]'), "
                f"or give the places of some: {asked_steps(others)}"
            )
    places = {name: reading.place for name, reading in readings.items() if reading is not None}
    places |= {name: Place(step, places[name].tokens if name in places else None) for name, step in given.items()}
    ordered = sorted(wanted, key=lambda name: places[name].step)
    for one, other in pairwise(ordered):
        if places[one].step == places[other].step:
            raise UserError(f"revisions: {one!r} and {other!r} are of one step, {places[one].step}")
    return {name: places[name] for name in ordered}


def asked_steps(names: Sequence[str]) -> str:
    """Write the setting that gives the steps of revisions on the command line."""
    return f"'steps={{{shorten([f'{name}: N' for name in names])}}}'"


def _read(name: str) -> _Reading | None:
    """Read the step that a name states; None where it states none, or two of one unit."""
    parts = _parts(name)
    for unit in _UNITS:
        found = [part for part in parts if part.unit == unit]
        if len(found) > 1:
            return None
        if found:
            tokens = [part.value for part in parts if part.unit == "tokens"]
            series = tuple(part.text for part in parts if part.unit is None and part.word not in _BESIDE)
            place = Place(found[0].value, tokens[0] if len(tokens) == 1 else None, unit == "words")
            return _Reading(place, unit, series)
    # A name with one number alone, such as 1000 or main-1000, can only mean the step.
    last = _LAST_NUMBER.fullmatch(name)
    return None if last is None else _Reading(Place(int(last[1])), "steps", ())


def _parts(name: str) -> list[_Part]:
    """Return the numbers of a name with the words beside them; a number that is not whole has no unit."""
    parts = []
    for found in _PART.finditer(name):
        word, scale, behind = ((found[group] or "").lower() for group in ("word", "scale", "unit"))
        # As a decimal, since 1.1B is a whole number and not the float 1.1 times a power of 10.
        value = Decimal(found["number"]) * _SCALES[scale]
        unit = _unit(word, scale, behind) if value == int(value) <= _GREATEST else None
        parts.append(_Part(f"{word}{found['number']}{scale}", word, unit, int(value)))
    return parts


def _unit(word: str, scale: str, behind: str) -> Unit | None:
    """Return what a number counts, by the word before it, its scale and what follows it; None for something else."""
    if behind == "t":
        return "tokens" if scale else None  # as in 10BT
    for text in (behind.lstrip("-_"), word):
        if (unit := _WORDS.get(text.removesuffix("s"))) is not None:
            return None if unit == "steps" and scale in ("b", "t") else unit  # nobody trains so many steps
    if not scale:
        return "steps" if word in _CHECKPOINT else None
    return "words" if word == _BABYLM else "amount" if word in _AMOUNT else None
