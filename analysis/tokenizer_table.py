"""How many tokens the tokenizers of a study have, and how many are Chinese characters or longer (ZhoBLiMP, Table 4)."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from analysis.documents import check_types
from analysis.report import Column, Part, Section, TableView
from analysis.runs import Run
from analysis.study import Study
from ucurve.files import read_json_object
from ucurve.run_folder import TOKENIZER, own_faults, refuse_faults
from ucurve.tokenizer_files import STATISTICS

_COUNTS = ("all", "single_character", "multi_character")
_VIEW = (
    Column("tokenizer", "Tokenizer"),
    Column("data", "Data"),
    Column("all", "All tokens", "count"),
    Column("single_character", "One Chinese character", "count"),
    Column("multi_character", "Longer, with a Chinese character", "count"),
    Column("runs", "Runs", "count"),
)
_NOTE = (
    "Tokens by kind, as tokenizer/statistics.json of the runs says. The last two kinds count only tokens that contain "
    "a Chinese character; digits, letters, punctuation and special tokens are in neither. Numbers: tokenizers.csv."
)


def tokenizer_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Tabulate the tokenizers of runs.

    Returns:
        One row per tokenizer and training text: ``tokenizer``, ``data``, ``all``, ``single_character`` and
        ``multi_character`` (NaN where the run does not say; ``all`` is then the vocabulary of run.json) and ``runs``.

    Raises:
        UserError: when a ``tokenizer/statistics.json`` is broken.
        DamagedError: when one is not what was written.
    """
    rows = [_row(run) for run in runs if run.record.get("tokenizer")]
    table = pd.DataFrame(rows, columns=["tokenizer", "data", *_COUNTS])
    keys = list(table.columns)
    return table.groupby(keys, as_index=False, dropna=False, sort=False).size().rename(columns={"size": "runs"})


def tokenizer_table_parts(study: Study) -> Iterable[Part]:
    """Make the table of tokenizers; none where no run names its own."""
    table = tokenizer_table(study.runs)
    if not table.empty:
        yield Part(Section("Tokenizers", (TableView(_NOTE, _VIEW, table),)), {"tokenizers": table})


def _row(run: Run) -> dict[str, Any]:
    counts = _counts(run)
    named = {"tokenizer": run.record["tokenizer"], "data": run.record.get("data") or ""}
    return named | {name: counts.get(name, float("nan")) for name in _COUNTS}


def _counts(run: Run) -> dict[str, Any]:
    path = run.folder / TOKENIZER / STATISTICS
    refuse_faults(own_faults(run.folder, run.record, [f"{TOKENIZER}/{STATISTICS}"]), "restore it from a copy")
    if not path.is_file():
        return {"all": run.record.get("vocabulary", float("nan"))}
    record = read_json_object(path)
    check_types(path, record, {"tokens": dict})
    counts: dict[str, Any] = record.get("tokens") or {}
    check_types(path, counts, dict.fromkeys(_COUNTS, int), "tokens.")
    return counts
