"""Basque: the auxiliary agrees with subject, object and indirect object in number."""

from collections.abc import Mapping, Sequence
from functools import cache, partial

from pydantic.dataclasses import dataclass

from ucurve.errors import UserError
from ucurve.fields import STRICT
from ucurve.generation.tse.suite import Choose, Option, State, Suite, Table, Target, hidden
from ucurve.generation.tse.vocabulary import Entry

_OTHER = {"sg": "pl", "pl": "sg"}


@dataclass(frozen=True, config=STRICT)
class Grammar(Table):
    """What basque.yaml says."""

    # The case of each argument, by the paradigm of the auxiliary that agrees with all of them.
    cases: dict[str, dict[str, str]]
    endings: dict[str, dict[str, str]]  # by case and number


def inflect(stem: str, ending: str) -> str:
    """Return the form of a noun: a final a of the stem is dropped, a final r doubled."""
    if stem.endswith("a"):
        return stem[:-1] + ending
    return f"{stem}r{ending}" if stem.endswith("r") else stem + ending


class Basque(Suite[Grammar]):
    """A frame with one of its arguments S, DO and IO in focus."""

    def choices(self) -> dict[str, Choose]:
        """Return the verb, the number of the argument in focus, the arguments and the verb's form."""
        order = [step for step in self.frame.steps if step in self.grammar.phenomena]
        paradigms = self.grammar.cases.items()
        self._paradigm, self._cases = next(
            (name, cases) for name, cases in paradigms if cases.keys() == set(order)
        )
        verbs = [verb for verb in self.vocabulary.of("v") if verb.value("subcategory") == self._paradigm]
        if not verbs:
            raise UserError(f"vocabulary: {self.vocabulary.path} has no verb of the paradigm {self._paradigm!r}")
        for verb in verbs:
            for argument in order:
                verb.value(f"possible_{argument}")  # it is not empty
        self._fitting = cache(self._inflected)
        # the published code does not compare the first argument with the last one, so that a noun may be repeated
        farthest = 1 if self.as_published else len(order)
        nouns = {
            argument: partial(self._nouns, argument, order[max(0, place - farthest) : place])
            for place, argument in enumerate(order)
        }
        return nouns | {
            "verb": hidden(verbs),
            "number": hidden(list(_OTHER)),
            "participle": lambda state: [Option(state["verb"].word, None)],
        }

    def target(self, state: State) -> Target:
        """Return the auxiliary, and the one of the other number of the argument in focus."""
        tense, focus = state["verb"].value("tense"), self.frame.focus
        numbers = {argument: self._number(argument, state) for argument in self._cases}
        good = self._auxiliary(tense, numbers)
        bad = self._auxiliary(tense, {**numbers, focus: _OTHER[numbers[focus]]})
        known = {f"number_{argument}": number for argument, number in numbers.items()}
        return Target(f"{good}.", f"{bad}.", {"focus": focus, "tense": tense, **known})

    def _number(self, argument: str, state: State) -> str:
        chosen = str(state["number"])
        # All other arguments have the other number, so that agreement with one of them makes the target wrong.
        return chosen if argument == self.frame.focus else _OTHER[chosen]

    def _nouns(self, argument: str, others: Sequence[str], state: State) -> list[Option]:
        """Return the nouns that fit the verb, other than those of some arguments."""
        taken = {state[other].word for other in others}
        fitting = self._fitting(argument, self._number(argument, state), state["verb"])
        return [option for option in fitting if option.choice.word not in taken]

    def _inflected(self, argument: str, number: str, verb: Entry) -> list[Option]:
        ending = self.grammar.endings[self._cases[argument]][number]
        classes = verb.values(f"possible_{argument}")
        nouns = [noun for noun in self.vocabulary.of("n") if noun.cells["subcategory"] in classes]
        return [Option(inflect(noun.word, ending), noun) for noun in nouns]

    def _auxiliary(self, tense: str, numbers: Mapping[str, str]) -> str:
        """Return the form of the paradigm for the numbers of its arguments."""
        wanted = {"subcategory": self._paradigm, **{f"possible_{name}": of for name, of in numbers.items()}}
        for entry in self.vocabulary.of("aux"):
            if tense in entry.values("tense") and wanted.items() <= entry.cells.items():
                return entry.word
        numbered = f"{self._paradigm}, {tense}, {list(numbers.values())}"
        raise UserError(f"vocabulary: {self.vocabulary.path} has no auxiliary of {numbered}")
