"""Genders and forms of the word lists, compared with those that words have in a treebank."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic.dataclasses import dataclass as checked

from ucurve.errors import UserError
from ucurve.fields import STRICT
from ucurve.generation.sweblimp.words import Row, WordLists
from ucurve.generation.treebank import read_treebank
from ucurve.templates.pair import Value
from ucurve.yaml_files import read_yaml


@dataclass(frozen=True)
class Entry:
    """A word in a treebank."""

    form: str
    feats: Mapping[str, str]
    place: str  # file and line where its sentence begins

    def has(self, feats: Mapping[str, str]) -> bool:
        """Whether it has all these features."""
        return all(value in self.feats.get(name, "").split(",") for name, value in feats.items())


Lexicon = Mapping[tuple[str, str], Sequence[Entry]]
"""The words of a treebank by part of speech and lemma, in the order of the files."""


@checked(frozen=True, config=STRICT)
class Coded:
    """The feature that a column of codes stands for, and its value for each code."""

    feature: str
    values: dict[str, str]


@checked(frozen=True, config=STRICT)
class Source:
    """Where the treebank says what a list says (an entry of ``lexicon.yaml``)."""

    upos: str  # the treebank has this part of speech
    lemma: str  # the column of the list that holds it
    forms: dict[str, dict[str, str]]  # each column of forms has these features
    codes: dict[str, Coded] = field(default_factory=dict)


def read_lexicon(treebanks: Iterable[Path]) -> Lexicon:
    """Read the words of treebanks, without those that are marked as foreign, abbreviated or misspelt."""
    lexicon: defaultdict[tuple[str, str], list[Entry]] = defaultdict(list)
    for path in treebanks:
        for sentence in read_treebank(path):
            for word in sentence.words:
                if not word.feats.keys() & {"Foreign", "Abbr", "Typo"}:
                    entry = Entry(word.form.lower(), word.feats, sentence.place)
                    lexicon[word.upos, word.lemma.lower()].append(entry)
    return dict(lexicon)


def compare(lists: WordLists, lexicon: Lexicon) -> list[dict[str, Value]]:
    """Compare the columns of lists with a treebank that has their features: ``list, column, words, confirmed, absent``.

    Words are absent that do not stand with these features in the treebank.

    Raises:
        UserError: for a gender or a form that the treebank contradicts.
    """
    rows: list[dict[str, Value]] = []
    for name, source in read_yaml(Path(__file__).with_name("lexicon.yaml"), dict[str, Source]).items():
        known = [(row, lexicon.get((source.upos, row.cells[source.lemma]), ())) for row in lists[name]]
        found = {column: [_gender(*one, column, coded) for one in known] for column, coded in source.codes.items()}
        found |= {column: [_form(*one, column, feats) for one in known] for column, feats in source.forms.items()}
        rows += [
            {"list": name, "column": column, "words": len(hits), "confirmed": sum(hits), "absent": hits.count(False)}
            for column, hits in found.items()
        ]
    return rows


def _gender(row: Row, words: Sequence[Entry], column: str, coded: Coded) -> bool:
    """Whether the treebank confirms a code; False where it does not say."""
    # Reversed, the first word with a value is the one that a message names.
    said = {word.feats[coded.feature]: word for word in reversed(words) if coded.feature in word.feats}
    code = row.cells[column]
    if said and not any(coded.values[code] in value.split(",") for value in said):
        value, word = next(iter(said.items()))
        raise UserError(
            f"{row.place}: {column} is {code!r}, but {word.form!r} has {coded.feature}={value} at {word.place}"
        )
    return bool(said)


def _form(row: Row, words: Sequence[Entry], column: str, feats: Mapping[str, str]) -> bool:
    """Whether the treebank confirms a form; False where it does not have one with these features."""
    # Reversed, the first word of a form is the one that a message names.
    said = {word.form: word for word in reversed(words) if word.has(feats)}
    form = row.cells[column]
    if said and form not in said:
        other = next(iter(said.values()))
        raise UserError(f"{row.place}: {column} is {form!r}, but the treebank has {other.form!r} at {other.place}")
    return bool(said)
