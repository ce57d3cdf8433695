"""Whether a pair changes its own feature and no other, by the treebanks that a folder was made from.

The annotation is read by other code than the maker's, so that a fault of the maker is found.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ucurve.errors import UserError
from ucurve.generation.maker import CheckOf, each_pair
from ucurve.generation.multiblimp.languages import LanguageSettings, prepared
from ucurve.generation.treebank import Sentence, Word, find_treebanks, read_treebank
from ucurve.storage.files import read_utf8, sha256_file

CHECK = "no feature but the asked one changes"
_COLUMNS = ("feature", "verb", "wrong_verb", "prefix", "treebank", "sentence_id")
_MAY_GO_MISSING = ("Gender", "Animacy")  # with number, person or one another, as gender in the Russian plural
# of UniMorph
_TAGS = {"Number": {"SG", "PL", "DU"}, "Person": {"1", "2", "3"}, "Gender": {"MASC", "FEM", "NEUT", "COM"}}


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
            self._tags[form.lower()][lemma.lower()].append(frozenset(tags.split(";")))

    def is_minimal(self, pair: Mapping[str, object]) -> bool:
        """Tell whether the verb of a pair and the form in its place differ in the pair's feature alone."""
        feature, wrong = str(pair["feature"]), str(pair["wrong_verb"]).lower()
        for word in self._verbs(pair):
            known = self._features.get((word.lemma.lower(), wrong), ())
            if any(_differ_in(feature, word.feats, other) for other in known):
                return True
        return any(
            _rows_differ_in(feature.partition("[")[0], one, other)
            for lemma, rows in self._tags.get(str(pair["verb"]).lower(), {}).items()
            for one in rows
            for other in self._tags.get(wrong, {}).get(lemma, ())
        )

    def _verbs(self, pair: Mapping[str, object]) -> Iterator[Word]:
        """Yield the word of the treebank that a pair changes; nothing where its sentence is not there."""
        sentence = self._sentences.get((str(pair["treebank"]), str(pair["sentence_id"])))
        if sentence is not None:
            for word in sentence.words:
                before = None if word.start is None else sentence.text[: word.start].rstrip()
                if word.form == pair["verb"] and before == pair["prefix"]:
                    yield word


def _rows_differ_in(feature: str, one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two rows of UniMorph differ in a feature, and in no other that both specify."""
    asked = _TAGS[feature]
    open_to_all = [tags for name, tags in _TAGS.items() if name != feature]
    swapped = one & asked and other & asked and not one & other & asked
    contradict = any(one & tags and other & tags and one & tags != other & tags for tags in open_to_all)
    return bool(swapped) and not contradict and (one ^ other) - asked <= frozenset().union(*open_to_all)


def _differ_in(feature: str, one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    if feature not in one or feature not in other or one[feature] == other[feature]:
        return False
    return all(_is_same(name, one.get(name), other.get(name)) for name in {*one, *other} - {feature})


def _is_same(name: str, one: str | None, other: str | None) -> bool:
    if one == other:
        return True
    if name.partition("[")[0] not in _MAY_GO_MISSING:
        return False
    return one is None or other is None or bool({*one.split(",")} & {*other.split(",")})


def minimality_check(annotation: Annotation) -> CheckOf:
    """Return the check whether another feature changes too, or a sentence is not in the treebanks."""
    return each_pair(lambda *row: not annotation.is_minimal(dict(zip(_COLUMNS, row, strict=True))), *_COLUMNS)


def files_of(made: Mapping[str, Any], keys: Mapping[str, Any]) -> tuple[list[Path], Path | None] | None:
    """Return the treebanks and the file of UniMorph that a folder was made from; None where they are not named."""
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
            raise UserError(f"{file}: not the file of this name that the folder was made from; its SHA-256 is another")
    return treebanks, unimorph
