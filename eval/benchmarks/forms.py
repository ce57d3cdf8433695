"""What the published records of each benchmark mean, and the faults of the files that are put right here."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.benchmarks.readers import Row, read_json, read_tables
from eval.pairs import UNNAMED, text_value

HANDMADE = 10  # pairs at the head of each block of Swe-BLiMP (section 4)
SLING_REPLACED = ("cl_adj_comp_noun", "cl_comp_noun")  # the paper counts their second versions, ..._v2


def named(record: Mapping[str, Any], paradigm: str, phenomenon: str) -> dict[str, Any]:
    """Give a record our paradigm and phenomenon; a published value of that name becomes ``published_<name>``."""
    ours = {"paradigm": paradigm, "phenomenon": phenomenon}
    moved = {f"published_{key}" if key in ours and value != ours[key] else key: value for key, value in record.items()}
    return moved | ours


def blimp(row: Row) -> dict[str, Any]:
    """Fold ``s-selection`` into argument structure, the 12th phenomenon of the paper, and spell ``field`` one way."""
    term = text_value(row.record, "linguistics_term", row.place)
    subfield = text_value(row.record, "field", row.place).replace("/", "_")
    phenomenon = "argument_structure" if term == "s-selection" else term
    return named(row.record | {"subfield": subfield}, text_value(row.record, "UID", row.place), phenomenon)


def sling(row: Row) -> dict[str, Any]:
    """Name the paradigm by its file, as several files share a published name, and read both spellings of the keys."""
    record = {key: value for key, value in row.record.items() if key.lower() not in {"paradigm", "phenomenon"}}
    upper = "Phenomenon" in row.record
    phenomenon = text_value(row.record, "Phenomenon" if upper else "phenomenon", row.place)
    paradigm = text_value(row.record, "Paradigm" if "Paradigm" in row.record else "paradigm", row.place)
    later = phenomenon.startswith("Reflexive")
    if str(record.get("pair_ID")).isdigit():
        record["pair_ID"] = int(record["pair_ID"])
    return record | {
        "paradigm": row.part,
        "phenomenon": phenomenon,
        "published_paradigm": paradigm,
        "published_phenomenon": row.record.get("phenomenon", phenomenon),
        "in_paper": not later and row.part not in SLING_REPLACED,
    }


def rublimp(row: Row) -> dict[str, Any]:
    """Take ``PID`` as the paradigm; ``subtype`` differs from it in 11 paradigms and stays as it is."""
    paradigm, phenomenon = (text_value(row.record, key, row.place) for key in ("PID", "phenomenon"))
    return named(row.record, paradigm, phenomenon)


def swe_blimp(row: Row) -> dict[str, Any]:
    """Take the published category as the paradigm and as the phenomenon: there is one level."""
    category = text_value(row.record, "phenomenon", row.place)
    return named(row.record, category, category)


def read_swe_blimp(files: Sequence[Path]) -> list[Row]:
    """Read Swe-BLiMP, keep the last block of a category that has several, and mark the hand-made pairs."""
    rows = read_tables(files, ";", text=("phenomenon", "sentence_good", "sentence_bad"))
    blocks = [(name, list(block)) for name, block in itertools.groupby(rows, lambda row: row.record.get("phenomenon"))]
    last = {name: number for number, (name, _) in enumerate(blocks)}
    return [
        row._replace(record=row.record | {"handmade": place < HANDMADE})
        for number, (name, block) in enumerate(blocks)
        if last[name] == number
        for place, row in enumerate(block)
    ]


def multiblimp(row: Row) -> dict[str, Any]:
    """Name the paradigm by phenomenon and the two values of the feature, as ``SV-# SG -> PL``."""
    phenomenon, values = (text_value(row.record, key, row.place) for key in ("phenomenon", "feature_vals"))
    return named(row.record, f"{phenomenon} {values}", phenomenon)


def read_blimp_nl(files: Sequence[Path]) -> list[Row]:
    """Read BLiMP-NL as JSON lines or as CSV."""
    if files[0].suffix == ".jsonl":
        return read_json(files)
    return read_tables(files, ",", text=("sentence_good", "sentence_bad", "linguistic_phenomenon", "paradigm"))


def blimp_nl(row: Row) -> dict[str, Any]:
    """Take paradigm and phenomenon from their columns, or from a part named ``phenomenon__paradigm``."""
    phenomenon, _, paradigm = row.part.rpartition("__")
    return named(
        row.record,
        row.record.get("paradigm") or paradigm,
        row.record.get("linguistic_phenomenon") or phenomenon or UNNAMED,
    )
