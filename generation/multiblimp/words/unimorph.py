"""Rows of UniMorph as entries of a lexicon, in the names of Universal Dependencies (Kirov et al. 2018)."""

import re
from collections import defaultdict
from pathlib import Path

from ucurve.errors import UserError, unknown_name
from ucurve.generation.multiblimp.languages import LanguageSettings, in_script
from ucurve.generation.multiblimp.words.features import Entry, base_of, feature_names
from ucurve.storage.files import read_utf8

_ALTERNATIVE = r"[^,/+\s]+"
_ARGUMENT = re.compile(r"(NOM|ABS|ERG|DAT|ACC)\((.+)\)|ARG(NO|ABS|ERG|IO|AC)(.+)")  # of UniMorph 4.0, and before
_LAYERS = {"NOM": "", "NO": "", "IO": "[dat]", "AC": "[acc]"}  # others have their own names
_OF_FINITE_VERBS = ("Mood", "Tense", "Person", "Number")  # they make a verb finite that is not marked as another form


def unimorph_entries(path: Path, language: LanguageSettings) -> list[Entry]:
    """Read a file of UniMorph: lemma, form and features between tabs; forms of several words or none are passed over.

    Agreement with an argument, as in ``V;PRS;ERG(3,SG)``, is a layer as ``Number[erg]``; with the subject, none.

    Raises:
        UserError: naming the line that is not well formed.
    """
    entries = []
    for number, line in enumerate(read_utf8(path).split("\n"), start=1):
        if line.strip():
            cells = line.rstrip("\r").split("\t")
            if len(cells) < 3 or not cells[0].strip() or not cells[2].strip():
                raise UserError(f"{path}:{number}: lemma, form and features are expected between tabs, not {line!r}")
            lemma, form = (in_script(cell.strip(), language.unimorph_script).lower() for cell in cells[:2])
            for names in (cells[2], *language.also.get(cells[2].strip(), ())):
                entries += _unimorph_entries(lemma, form, names.strip().split(";"), f"{path}:{number}")
    if not entries:
        raise UserError(f"{path}: holds no forms")
    return entries


def _unimorph_entries(lemma: str, form: str, names: list[str], place: str) -> list[Entry]:
    known = feature_names()
    if names[0] not in known.parts:
        raise unknown_name("part of speech", names[0], known.parts, place)
    if not form or " " in form:
        return []
    features: dict[str, set[str]] = defaultdict(set)
    for name, layer in map(_without_argument, names):
        for one in re.findall(_ALTERNATIVE, name.strip("{}")):
            if one in known.from_unimorph:
                feature, value = known.from_unimorph[one]
                features[feature + layer].add(value)
            elif one not in known.parts:
                features[one].add(one)  # so that forms with it can be told from those without
    part = known.parts[names[0]]
    if part == "VERB" and "VerbForm" not in features and any(base_of(name) in _OF_FINITE_VERBS for name in features):
        features["VerbForm"].add("Fin")
    values = {name: frozenset(found) for name, found in features.items()}
    return [Entry(lemma, form, part, values, "unimorph", values)]


def _without_argument(name: str) -> tuple[str, str]:
    """Return the features of an argument and its layer, for others the name and no layer."""
    if (found := _ARGUMENT.fullmatch(name)) is None:
        return name, ""
    argument, values = found[1] or found[3], found[2] or found[4]
    layer = _LAYERS.get(argument, f"[{argument.lower()}]")
    return values, layer
