"""What every pair of agreement must be, checked on what is made and on the published files.

The treebanks that a folder was made from show whether a pair changes its own feature and no other. Their annotation is
read by other code than the maker's, so that a fault of the maker is found.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ucurve.errors import UserError
from ucurve.generation.maker import CheckOf, each_pair
from ucurve.generation.multiblimp.languages import LanguageSettings, in_script, language_settings, prepared
from ucurve.generation.treebank import Sentence, Word, find_treebanks, read_treebank
from ucurve.storage.files import read_utf8, sha256_file

CHECK = "no feature but the asked one changes"
_COLUMNS = ("feature", "verb", "wrong_verb", "prefix", "distance", "treebank", "sentence_id")
_MAY_GO_MISSING = ("Gender", "Animacy")  # with number, person or one another, as gender in the Russian plural
# of UniMorph, by the values of treebanks
_TAGS = {
    "Number": {"Sing": "SG", "Plur": "PL", "Dual": "DU"},
    "Person": {"1": "1", "2": "2", "3": "3"},
    "Gender": {"Masc": "MASC", "Fem": "FEM", "Neut": "NEUT", "Com": "COM"},
}
_ARGUMENT = re.compile(r"(?:ARG)?(NOM?|ABS|ERG|DAT|IO|ACC?)\(?([^()]+)\)?")  # of UniMorph 4.0, and before
_POLITE = {"INFM", "FRML"}  # of the second person alone


def _not_one_word(good: str, bad: str) -> bool:
    first, second = good.split(), bad.split()
    return len(first) != len(second) or sum(one != other for one, other in zip(first, second, strict=True)) != 1


def _wrong_order(pairs: pd.DataFrame) -> pd.Series:
    if not {"distance", "word_order"} <= set(pairs.columns):
        return pd.Series(False, index=pairs.index)
    return (pairs["distance"].astype(int) > 0) != (pairs["word_order"] == "SV")


CHECKS: Mapping[str, CheckOf] = {
    "the sentences differ in one word": each_pair(_not_one_word, "good", "bad"),
    "both begin with a capital letter, or neither": each_pair(
        lambda good, bad: good[:1].isupper() != bad[:1].isupper(), "good", "bad"
    ),
    "the word order is that of the distance": _wrong_order,
}


def source_checks(made: Mapping[str, Any], keys: Mapping[str, Any]) -> Mapping[str, CheckOf | str]:
    """Return the checks that need a folder's treebanks, by ``made`` of its card, or what to add to the command."""
    files = _files_of(made, keys)
    if files is None:
        names = ",".join(str(known["file"]) for known in made["inputs"])
        return {CHECK: f"not looked at: add source={made['source']} 'treebanks=[{names}]'"}
    annotation = Annotation(*files, language_settings(made["settings"]["language"]))
    return {
        CHECK: each_pair(lambda *row: not annotation.is_minimal(dict(zip(_COLUMNS, row, strict=True))), *_COLUMNS)
    }


class Annotation:
    """What treebanks and UniMorph say of forms; the settings of the language say whether diacritics count."""

    def __init__(self, treebanks: Sequence[Path], unimorph: Path | None, language: LanguageSettings) -> None:
        self._sentences: dict[tuple[str, str], Sentence] = {}
        self._features: dict[tuple[str, str], list[Mapping[str, str]]] = defaultdict(list)  # by lemma and form
        for sentence in (prepared(sentence, language) for file in treebanks for sentence in read_treebank(file)):
            self._sentences[sentence.source, sentence.id] = sentence
            for word in sentence.words:
                known = self._features[word.lemma.lower(), word.form.lower()]
                if word.feats not in known:
                    known.append(word.feats)
        self._tags: dict[str, dict[str, list[frozenset[str]]]] = defaultdict(lambda: defaultdict(list))
        for line in read_utf8(unimorph).split("\n") if unimorph is not None else ():
            lemma, form, tags = (*line.strip().split("\t"), "", "")[:3]
            rows = self._tags[in_script(form, language.unimorph_script).lower()][lemma.lower()]
            rows += [_read_tags(cell) for cell in (tags, *language.also.get(tags, ()))]

    def is_minimal(self, pair: Mapping[str, object]) -> bool:
        """Tell whether the verb of a pair and the form in its place differ in the pair's feature alone."""
        feature, wrong = str(pair["feature"]), str(pair["wrong_verb"]).lower()
        for word, subject in self._verbs(pair):
            known = self._features.get((word.lemma.lower(), wrong), ())
            if any(_differ_in(feature, word.feats, other, subject) for other in known):
                return True
            rows = (
                (one, other)
                for lemma, rows in self._tags.get(word.form.lower(), {}).items()
                for one in rows
                for other in self._tags.get(wrong, {}).get(lemma, ())
            )
            if any(_rows_differ_in(feature, one, other, subject) for one, other in rows):
                return True
        return False

    def _verbs(self, pair: Mapping[str, object]) -> Iterator[tuple[Word, Mapping[str, str]]]:
        """Yield the word that a pair changes and its subject's features; nothing where its sentence is not there."""
        sentence = self._sentences.get((str(pair["treebank"]), str(pair["sentence_id"])))
        if sentence is not None:
            for word in sentence.words:
                before = None if word.start is None else sentence.text[: word.start].rstrip()
                if word.form == pair["verb"] and before == pair["prefix"]:
                    subject = sentence.words[word.id - int(str(pair["distance"])) - 1]
                    # Treebanks do not say of a noun that it is of the third person.
                    yield word, {"Person": "3", **subject.feats} if subject.upos == "NOUN" else subject.feats


def _read_tags(cell: str) -> frozenset[str]:
    """Return the features of a row, those of an argument as ``ERG.SG``, those of the subject as ``SG``."""
    tags = set[str]()
    for name in cell.strip().split(";"):
        found = _ARGUMENT.fullmatch(name)
        case = {"NO": "", "NOM": "", "IO": "DAT.", "AC": "ACC."}.get(found[1], f"{found[1]}.") if found else ""
        tags |= {case + tag for tag in (found[2] if found else name).split(",")}
    return frozenset(tags)


def _rows_differ_in(feature: str, one: frozenset[str], other: frozenset[str], subject: Mapping[str, str]) -> bool:
    """Tell whether two rows of UniMorph differ in a feature, and in no other but what one leaves out and fits."""
    base, _, layer = feature.removesuffix("]").partition("[")
    case = f"{layer.upper()}." if layer else ""
    tags = {name: {case + tag for tag in values.values()} for name, values in _TAGS.items()}
    fits = {case + _TAGS[name].get(value, "") for name, value in subject.items() if name in _TAGS} | tags[
        "Number"
    ]
    asked = tags.pop(base)
    if not one & asked or not other & asked or one & other & asked:
        return False
    fitting = all(not other & known or other & known & (one & known or fits) for known in tags.values())
    return fitting and (one ^ other) - asked <= frozenset().union(
        *tags.values(), _POLITE if base == "Person" else ()
    )


def _differ_in(
    feature: str, one: Mapping[str, str], other: Mapping[str, str], subject: Mapping[str, str]
) -> bool:
    """Tell whether the features of two words differ in one alone.

    A gender may go missing, and one that comes in must be the subject's.
    """
    if feature not in one or feature not in other or one[feature] == other[feature]:
        return False
    for name in {*one, *other} - {feature}:
        if one.get(name) == other.get(name):
            continue
        allowed = {*(one.get(name) or subject.get(name, "")).split(",")}
        comes_in = name in other and allowed.isdisjoint(other[name].split(","))
        if name.partition("[")[0] not in _MAY_GO_MISSING or comes_in:
            return False
    return True


def _files_of(made: Mapping[str, Any], keys: Mapping[str, Any]) -> tuple[list[Path], Path | None] | None:
    """Return the treebanks and the file of UniMorph that a folder was made from; None where they are not named.

    Raises:
        UserError: naming the file that is missing or is another one now.
    """
    given = keys.get("treebanks")
    if not given:
        return None
    treebanks = find_treebanks([given] if isinstance(given, str) else list(given))
    unimorph = Path(keys["unimorph"]) if keys.get("unimorph") else None
    found = {file.name: file for file in [*treebanks, *([unimorph] if unimorph is not None else [])]}
    for known in made["inputs"]:
        file = found.get(known["file"])
        if file is None:
            key = "unimorph" if known["file"] == made["settings"].get("unimorph") else "treebanks"
            raise UserError(f"{key}: the folder was made from {known['file']} too; name it")
        if sha256_file(file) != known["sha256"]:
            raise UserError(
                f"{file}: not the file of this name that the folder was made from; its SHA-256 is another"
            )
    return treebanks, unimorph
