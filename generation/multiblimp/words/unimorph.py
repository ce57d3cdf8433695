"""Rows of UniMorph as entries of a lexicon, in the names of Universal Dependencies (Kirov et al. 2018)."""

import re
from collections import defaultdict
from pathlib import Path

from ucurve.errors import UserError, unknown_name
from ucurve.generation.multiblimp.words.features import Entry, feature_names
from ucurve.storage.files import read_utf8

_ALTERNATIVE = r"[^,/+\s]+"
_CELLS = 3  # of a line
_OF_FINITE_VERBS = ("Mood", "Tense", "Person", "Number")


def unimorph_entries(path: Path) -> list[Entry]:
    """Read a file of UniMorph: lemma, form and features between tabs; forms of several words are passed over."""
    entries = []
    for number, line in enumerate(read_utf8(path).split("\n"), start=1):
        if line.strip():
            cells = line.rstrip("\r").split("\t")
            if len(cells) < _CELLS or not all(cell.strip() for cell in cells[:_CELLS]):
                raise UserError(f"{path}:{number}: lemma, form and features are expected between tabs, not {line!r}")
            entries += _unimorph_entries(cells[0], cells[1], cells[2].split(";"), f"{path}:{number}")
    if not entries:
        raise UserError(f"{path}: holds no forms")
    return entries


def _unimorph_entries(lemma: str, form: str, names: list[str], place: str) -> list[Entry]:
    known = feature_names()
    if names[0] not in known.parts:
        raise unknown_name("part of speech", names[0], known.parts, place)
    if " " in form.strip():
        return []
    features: dict[str, set[str]] = defaultdict(set)
    for name in names:
        for one in re.findall(_ALTERNATIVE, name.strip("{}")):
            if one in known.from_unimorph:
                feature, value = known.from_unimorph[one]
                features[feature].add(value)
            elif one not in known.parts:
                features[one].add(one)  # so that forms with it can be told from those without
    part = known.parts[names[0]]
    if part == "VERB" and "VerbForm" not in features and any(name in features for name in _OF_FINITE_VERBS):
        features["VerbForm"].add("Fin")
    values = {name: frozenset(found) for name, found in features.items()}
    return [Entry(lemma.strip().lower(), form.strip().lower(), part, values, "unimorph", values)]
