"""Resources of the published pipeline: aspect pairs, frequencies of lemmas, collocations of adjectives of time."""

import csv
import gzip
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from ucurve.errors import UserError
from ucurve.gather import gather
from ucurve.storage.files import decode_utf8

ASPECT_PAIRS, FREQUENCIES = "aspect_pair_zal.csv.gz", "freqrnc2011.csv.gz"
SUFFIXES, PREFIXES = "suffix_root_concordance.csv.gz", "prefix_root_concordance.csv.gz"
PAST_MARKERS, FUTURE_MARKERS = "past_tense_markers.json.gz", "futr_tense_markers.json.gz"

Key = tuple[str, str]
"""A lemma and its part of speech, as the list of frequencies names it: ``v``, ``s``, ``a``."""

VERB, NOUN = "v", "s"

MINIMUM_IPM: Final = 1.0
"""Frequency, in a million words, from which a word of the list of frequencies widens ours."""


@dataclass(frozen=True)
class Resources:
    """What rules may use beside the lists that ship with the project; what is not given is empty."""

    # The most frequent perfective partner of each verb.
    aspect_pairs: Mapping[str, str] = field(default_factory=dict)
    frequencies: Mapping[Key, float] = field(default_factory=dict)  # occurrences in a million words
    # Adjectives of past time by their noun.
    past_markers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    future_markers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    words_per_place: int | None = (
        None  # how many words are tried where many fit, drawn by the sentence; None for all
    )
    suffixes: Mapping[str, Sequence[str]] = field(default_factory=dict)  # that a root stands with
    prefixes: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def common(self) -> Mapping[str, tuple[str, ...]]:
        """The lemmas of each part of speech that occur at least ``MINIMUM_IPM`` times in a million words."""
        found = gather((pos, lemma) for (lemma, pos), ipm in self.frequencies.items() if ipm >= MINIMUM_IPM)
        return {pos: tuple(lemmas) for pos, lemmas in found.items()}


def read_resources(folder: Path, words_per_place: int | None = None) -> Resources:
    """Read the files of the published pipeline that are in a folder; a file that is not there leaves its part empty.

    Raises:
        UserError: when there is no such folder, or naming the line that cannot be read.
    """
    if not folder.is_dir():
        raise UserError(f"resources: {folder} is no folder")
    frequencies = _frequencies(folder / FREQUENCIES)
    return Resources(
        aspect_pairs=_aspect_pairs(folder / ASPECT_PAIRS, frequencies),
        frequencies=frequencies,
        past_markers=_markers(folder / PAST_MARKERS),
        future_markers=_markers(folder / FUTURE_MARKERS),
        words_per_place=words_per_place,
        suffixes=_affixes(folder / SUFFIXES, "suffixes"),
        prefixes=_affixes(folder / PREFIXES, "prefixes"),
    )


def _text(path: Path) -> str | None:
    if not path.exists():
        return None
    try:
        return decode_utf8(gzip.decompress(path.read_bytes()), str(path))
    except (EOFError, OSError, zlib.error) as error:
        raise UserError(f"{path}: not a gzip file ({error})") from error


def _rows(path: Path, delimiter: str, columns: Sequence[str]) -> list[tuple[int, list[str]]]:
    """Return the named columns of a table with the numbers of its lines."""
    text = _text(path)
    if text is None:
        return []
    lines = csv.reader(text.splitlines(), delimiter=delimiter)
    header = next(lines, [])
    missing = [name for name in columns if name not in header]
    if missing:
        raise UserError(f"{path}:1: no column {missing[0]!r}; columns: {', '.join(header)}")
    places = [header.index(name) for name in columns]
    found = []
    for number, row in enumerate(lines, start=2):
        if len(row) != len(header):
            raise UserError(f"{path}:{number}: {len(row)} fields where the header has {len(header)}")
        found.append((number, [row[place] for place in places]))
    return found


def _frequencies(path: Path) -> dict[Key, float]:
    """Read how often each lemma occurs in a million words."""
    found: dict[Key, float] = {}
    for number, (lemma, pos, ipm) in _rows(path, "\t", ("Lemma", "PoS", "Freq(ipm)")):
        try:
            found[(lemma, pos)] = float(ipm)
        except ValueError as error:
            raise UserError(f"{path}:{number}: the frequency {ipm!r} is no number") from error
    return found


def _aspect_pairs(path: Path, frequencies: Mapping[Key, float]) -> dict[str, str]:
    """Read the perfective partner of each imperfective verb."""
    found: dict[str, str] = {}
    for _, (imperfective, perfective) in _rows(path, ",", ("Imp", "Perf")):
        known = found.get(imperfective)
        # Of several partners the most frequent one stays.
        if known is None or frequencies.get((perfective, VERB), 0.0) > frequencies.get((known, VERB), 0.0):
            found[imperfective] = perfective
    return found


def _markers(path: Path) -> dict[str, list[str]]:
    """Read the adjectives of time that go with each noun."""
    text = _text(path)
    if text is None:
        return {}
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{path}:{error.lineno}: not JSON ({error.msg})") from error
    ok = isinstance(content, dict) and all(isinstance(value, list) for value in content.values())
    if not ok:
        raise UserError(f"{path}:1: expected nouns with lists of adjectives")
    return {str(noun): [str(word) for word in words] for noun, words in content.items()}


def _affixes(path: Path, column: str) -> dict[str, list[str]]:
    """Read the affixes that each root stands with, those of all its homonyms together."""
    found: dict[str, dict[str, None]] = {}
    for number, (root, affixes) in _rows(path, ",", ("root", column)):
        # The cells are lists as Python writes them, which are read without running them.
        if not re.fullmatch(r"\[('[^',]+'(, '[^',]+')*)?\]", affixes):
            raise UserError(f"{path}:{number}: expected a list of {column}, as ['ик', 'ок'], not {affixes!r}")
        found.setdefault(root.rpartition("_")[0], {}).update(dict.fromkeys(re.findall(r"'([^']+)'", affixes)))
    return {root: list(affixes) for root, affixes in found.items()}
