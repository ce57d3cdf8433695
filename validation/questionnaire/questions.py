"""Which pairs people are asked about: a sample of each paradigm, catch trials, controls and training.

Catch trials and controls have sentences that nobody can find acceptable, made from good ones.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pandas as pd

from ucurve.config import check
from ucurve.config_files import load
from ucurve.errors import UserError
from ucurve.eval.benchmarks.custom import CustomBenchmark, custom_card
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.pairs import UNNAMED, identical
from ucurve.progress import log_line

Kind = Literal["item", "catch", "control", "training"]
_PLAUSIBLE = {"yes": "good", "no": "bad"}
_TEXTS = ("benchmark", "paradigm", "phenomenon", "good", "bad")  # a question keeps these columns of its pair


@dataclass(frozen=True, kw_only=True)
class Question:
    """A pair that people are asked about."""

    item: str  # its name, the same in all lists
    kind: Kind
    good: str
    bad: str
    benchmark: str = ""
    paradigm: str = ""
    phenomenon: str = ""
    pair: int | None = None  # its number in the benchmark; None where it is not from there as it is
    right: str = "good"  # the answer that is right, ``bad`` for a pair that should not be accepted


class Pool:
    """The pairs of a benchmark that a questionnaire has not taken yet; a good sentence is taken once at most."""

    def __init__(self, pairs: pd.DataFrame, seed: int) -> None:
        """Put the pairs of each paradigm into a random order; the order depends on the paradigm's name and the seed."""
        self._seed = seed
        self._left: dict[str, list[Question]] = {}
        self._used: set[str] = set()
        for paradigm, rows in pairs.groupby("paradigm", sort=False):
            questions = [
                Question(item="", kind="item", pair=int(row["pair"]), **{name: str(row[name]) for name in _TEXTS})
                for row in rows.to_dict("records")
            ]
            random.Random(f"{seed}/pool/{paradigm}").shuffle(questions)  # noqa: S311 - a sample, no secret
            self._left[str(paradigm)] = questions

    @property
    def paradigms(self) -> list[str]:
        """The names of the paradigms, in the order of the benchmark."""
        return list(self._left)

    def take(self, paradigm: str, count: int) -> list[Question]:
        """Take at most so many pairs of a paradigm."""
        taken: list[Question] = []
        left = self._left[paradigm]
        while left and len(taken) < count:
            question = left.pop(0)
            if question.good not in self._used:
                # Two pairs of one good sentence would show it to a person twice.
                self._used.add(question.good)
                taken.append(question)
        return taken

    def take_anywhere(self, count: int, what: str) -> list[Question]:
        """Take so many pairs, one of each paradigm in turn; the seed draws the order of the paradigms."""
        # More sentences are used at each call, so each draws another order.
        turns = random.Random(f"{self._seed}/{len(self._used)}").sample(self.paradigms, len(self.paradigms))  # noqa: S311 - no secret
        taken: list[Question] = []
        while len(taken) < count:
            before = len(taken)
            for paradigm in turns[: count - before]:
                taken += self.take(paradigm, 1)
            turns = [paradigm for paradigm in turns if self._left[paradigm]]
            if not turns and len(taken) < count:
                raise UserError(
                    f"the benchmark has {len(taken)} pairs left for {count} {what}; take fewer pairs of each paradigm "
                    "(per_paradigm=), or give a file of pairs"
                )
        return taken


def draw_items(pool: Pool, per_paradigm: int) -> list[Question]:
    """Take the items of every paradigm; one that has fewer gives all it has, which is logged."""
    drawn: list[Question] = []
    for paradigm in pool.paradigms:
        taken = pool.take(paradigm, per_paradigm)
        if len(taken) < per_paradigm:
            log_line(f"{paradigm}: only {len(taken)} pairs with different good sentences")
        drawn += taken
    return list(_named(drawn, "item"))


def find_training(pool: Pool, training: int | Path) -> list[Question]:
    """Take pairs for training from the benchmark, or all pairs of a file."""
    if isinstance(training, Path):
        return list(_named(read_pairs(training, "training"), "training"))
    return list(_named(pool.take_anywhere(training, "pairs of training (training=)"), "training"))


def find_controls(pool: Pool, controls: int | Path, seed: int) -> list[Question]:
    """Make so many controls, with a word that does not exist, or take all pairs of a file."""
    if isinstance(controls, Path):
        return list(_named(read_pairs(controls, "controls"), "control"))
    taken = pool.take_anywhere(controls, "controls (controls=)")
    return list(_named([_spoiled(question, misspell(question.good, seed)) for question in taken], "control"))


def find_catch(pool: Pool, catch: Path | None, count: int, seed: int) -> list[Question]:
    """Take the first pairs of a file as catch trials, or make them: a good sentence, and its words scrambled.

    Raises:
        UserError: when there are too few pairs.
    """
    if catch is None:
        taken = pool.take_anywhere(count, "catch trials")
        return list(_named([_spoiled(question, scramble(question.good, seed)) for question in taken], "catch"))
    pairs = read_pairs(catch, "catch")
    if len(pairs) < count:
        raise UserError(
            f"catch: {catch} has {len(pairs)} pairs, and a list needs {count}, one for each catch trial; "
            "give more pairs, or fewer catch trials (catch_per_page=)"
        )
    return list(_named(pairs[:count], "catch"))


def read_pairs(path: Path, setting: str) -> list[Question]:
    """Read a file of pairs, in any form that benchmarks have, with ``sentence_good`` and ``sentence_bad``.

    Its column ``plausible``, if it has one, says ``yes`` or ``no`` of each pair: whether people should accept it.

    Raises:
        UserError: naming the pair that is not well formed.
    """
    if not path.is_file():
        raise UserError(f"{setting}: no file {path}")
    try:
        custom = check(CustomBenchmark, load("eval/default.yaml")["custom"] | {"path": path, "name": setting})
        table = load_benchmark(replace(custom_card(custom), where="columns"))
    except UserError as error:
        raise UserError(f"{setting}: {error}") from error
    for number in table["pair"][identical(table)]:
        raise UserError(f"{setting}: {path}: both sentences of pair {number + 1} are {table['good'][number]!r}")
    plausible = table.get("plausible", pd.Series("yes", index=table.index))
    for number in table["pair"][~plausible.isin(list(_PLAUSIBLE))]:
        raise UserError(
            f"{setting}: {path}: plausible of pair {number + 1} is {plausible[number]!r}; allowed: yes, no"
        )
    phenomena = table["phenomenon"].replace(UNNAMED, "")
    rows = zip(table["good"], table["bad"], plausible.map(_PLAUSIBLE), phenomena, strict=True)
    return [
        Question(item="", kind="item", good=good, bad=bad, right=right, phenomenon=phenomenon)
        for good, bad, right, phenomenon in rows
    ]


def _spoiled(question: Question, bad: str) -> Question:
    # It is no pair of the benchmark any more.
    return replace(question, bad=bad, pair=None, benchmark="", paradigm="", phenomenon="")


def _named(questions: list[Question], kind: Kind) -> Iterator[Question]:
    for number, question in enumerate(questions, start=1):
        yield replace(question, kind=kind, item=f"{kind}-{number:03}")


_FEWEST_WORDS = 3  # of a sentence whose words are scrambled; below, as in Chinese, its characters are
_TRIES = 50  # random orders, of which the best is taken
_END = re.compile(r"[\s.!?。！？।…]*$")


def scramble(sentence: str, seed: int) -> str:
    """Reorder the words of a sentence, or its characters where it has no spaces, so that few neighbors stay."""
    end = _END.search(sentence)
    start = end.start() if end else len(sentence)
    words, mark = sentence[:start].split(), sentence[start:]
    if len(words) >= _FEWEST_WORDS:
        return " ".join(_reorder(words, f"{seed}/{sentence}")) + mark
    return "".join(_reorder(list(sentence[:start]), f"{seed}/{sentence}")) + mark


def misspell(sentence: str, seed: int) -> str:
    """Scramble the letters of the longest word of a sentence, so that one of its words does not exist."""
    longest = max(re.finditer(r"\w+", sentence), key=lambda found: len(found[0]), default=None)
    if longest is None:
        return sentence
    letters = _reorder(list(longest[0]), f"{seed}/{sentence}")
    return sentence[: longest.start()] + "".join(letters) + sentence[longest.end() :]


def _reorder(parts: list[str], seed: str) -> list[str]:
    """Return the order with the fewest old neighbors of some random ones, which is not the old order."""
    chance = random.Random(seed)  # noqa: S311 - a sample, no secret
    neighbors = set(pairwise(parts))
    orders = [chance.sample(parts, len(parts)) for _ in range(_TRIES)]
    new = [order for order in orders if order != parts] or [parts]
    return min(new, key=lambda order: sum(pair in neighbors for pair in pairwise(order)))
