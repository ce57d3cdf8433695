"""Models that differ in the tokenizer only: what their tokens are, and how they score (ZhoBLiMP, Tables 4 and 5)."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from ucurve.analysis.data.files import check_types
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.linking.section import SPLITS, linking_by_run, order_by_linking, with_overall
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.huggingface.tokenizer_files import STATISTICS
from ucurve.storage.facts import RunFacts, own_faults
from ucurve.storage.faults import refuse_faults
from ucurve.storage.files import read_json_object
from ucurve.storage.run_folder import TOKENIZER

_CONDITION = ["setting", "step", "benchmark", "scorer", "linking", "ties_rule"]
_TUNED, _OWN = "morcela:", "morcela:own"
_SPLIT_NAMES = {"equal": "equal", "good_longer": "good longer", "bad_longer": "bad longer"}


def average_by_tokenizer(by_run: pd.DataFrame, runs: Iterable[Run]) -> pd.DataFrame:
    """Average ``linking_by_run`` over the runs of one tokenizer, by setting, step and linking function.

    The setting is the label of the line without the tokenizer: its runs differ in the tokenizer and the seed only.
    Where each tokenizer was scored with one MORCELA of parameters of its own, all are
    called ``morcela:own`` (ZhoBLiMP searches them for each model).
    """
    tokenizers = {run.label: run.facts.tokenizer for run in runs if run.facts}
    settings = {run.label: run.line_without("tokenizer") for run in runs if run.facts}
    runs_of_rows = by_run["run"]
    cells = with_overall(
        by_run.assign(setting=runs_of_rows.map(settings), tokenizer=runs_of_rows.map(tokenizers))
    )
    means = {name: (name, "mean") for name in (*SPLITS, "accuracy", "delta_acc")}
    counts = {f"n_{split}": (f"n_{split}", "first") for split in SPLITS}
    # A MORCELA that each tokenizer has once, and not all the same, is called ``_OWN``.
    tuned = cells[cells["linking"].str.startswith(_TUNED)]
    condition = [name for name in _CONDITION if name != "linking"]
    of_tokenizer = tuned.groupby([*condition, "tokenizer"])["linking"].transform("nunique")
    of_setting = tuned.groupby(condition)["linking"].transform("nunique")
    most = of_tokenizer.groupby([tuned[name] for name in condition]).transform("max")
    renamed = cells.index.isin(tuned.index[(most == 1) & (of_setting > 1)])
    groups = cells.assign(linking=cells["linking"].mask(renamed, _OWN)).groupby(
        [*_CONDITION, "tokenizer"], as_index=False, sort=False
    )
    return groups.agg(runs=("run", "nunique"), **counts, **means)


def over_tokenizers(cells: pd.DataFrame) -> pd.DataFrame:
    """Lay out linking functions that several tokenizers have, by tokenizer and length split (``<tokenizer>_<split>``).

    ``accuracy`` and ``delta_acc`` are means over tokenizers of the accuracy over all pairs and of the length bias
    (ZhoBLiMP, Table 5, the right-hand columns).
    """
    rows = cells.groupby(_CONDITION, sort=False).agg(
        tokenizers=("tokenizer", "nunique"), accuracy=("accuracy", "mean"), delta_acc=("delta_acc", "mean")
    )
    wide = cells.pivot(index=_CONDITION, columns="tokenizer", values=list(SPLITS))
    order = [(split, name) for name in dict.fromkeys(cells["tokenizer"]) for split in SPLITS]
    wide = wide[order].set_axis([f"{name}_{split}" for split, name in order], axis=1)
    table = rows[["tokenizers"]].join(wide).join(rows[["accuracy", "delta_acc"]]).reset_index()
    return order_by_linking(table[table["tokenizers"] > 1], "setting")


def pairs_by_tokenizer(cells: pd.DataFrame) -> pd.DataFrame:
    """Count the pairs of each length split in the tokens of each tokenizer (ZhoBLiMP, Table 5, row # pairs)."""
    columns = [f"n_{split}" for split in SPLITS]
    counts = cells.groupby(["benchmark", "tokenizer"], as_index=False, sort=False)[columns].first()
    counts[columns] = counts[columns].fillna(0).astype(int)
    table = counts.rename(columns=dict(zip(columns, SPLITS, strict=True)))
    return table.assign(all=table[list(SPLITS)].sum(axis=1))


@questions.section(questions.LENGTH, place=2, page="docs/length-bias.md")
def tokenizer_sections(scored: BenchmarkScores) -> Iterable[ReportSection]:
    """Make the table of linking functions over tokenizers; nothing where no runs differ in the tokenizer only."""
    cells = average_by_tokenizer(linking_by_run(scored.rows), scored.study.runs)
    table = over_tokenizers(cells)
    if table.empty:
        return
    pairs = pairs_by_tokenizer(cells)
    note = (
        "Accuracy by length split, in the tokens of each tokenizer, at the last checkpoint scored with the function; "
        "mean over seeds. Accuracy over all pairs and Δacc are means over tokenizers. "
        f"{_OWN}: each tokenizer's own parameters. Compared are runs that are equal in all factors but tokenizer "
        f"and seed. Ties counted {scored.ties_rule}."
    )
    first = table_columns(Column("setting", "Model"), "step", "linking")
    splits = [
        Column(f"{tokenizer}_{split}", f"{tokenizer}, {name}", "percent")
        for tokenizer in dict.fromkeys(cells["tokenizer"].tolist())
        for split, name in _SPLIT_NAMES.items()
    ]
    last = table_columns("accuracy", Column("delta_acc", "Δacc (points)", "percent"))
    columns = (*first, *last, *splits)
    counted = "Pairs by length split, counted in the tokens of each tokenizer."
    views = (
        TableView(note, columns, table, {f"linking_tokenizers_{scored.file_name}": table}, "delta_acc"),
        TableView(counted, _PAIRS, pairs, {f"length_pairs_{scored.file_name}": pairs}),
    )
    yield ReportSection(f"Linking functions over tokenizers on {scored.heading}", views)


_PAIRS = table_columns(
    "tokenizer",
    *(Column(split, name.capitalize(), "count") for split, name in _SPLIT_NAMES.items()),
    Column("all", "All", "count"),
)


_COUNTS = ("all", "single_character", "multi_character")
_VIEW = table_columns(
    "tokenizer",
    "data",
    Column("all", "All tokens", "count"),
    Column("single_character", "One Chinese character", "count"),
    Column("multi_character", "Longer, with a Chinese character", "count"),
    "runs",
)
_NOTE = (
    "Tokens by kind, as tokenizer/statistics.json of the runs says. The last two kinds count only tokens that contain "
    "a Chinese character; digits, letters, punctuation and special tokens are in neither."
)


def tokenizer_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Count tokens by kind, NaN where a run does not say (``all``: its vocabulary), and runs, by tokenizer and text.

    Raises:
        UserError: when a ``tokenizer/statistics.json`` is broken.
        DamagedError: when one is not what was written.
    """
    rows = [
        {"tokenizer": run.facts.tokenizer, "data": run.facts.data, **_read_token_counts(run.folder, run.facts)}
        for run in runs
        if run.facts
    ]
    table = pd.DataFrame(rows, columns=["tokenizer", "data", *_COUNTS])
    keys = list(table.columns)
    return table.groupby(keys, as_index=False, dropna=False, sort=False).size().rename(columns={"size": "runs"})


@questions.section(questions.RUNS, place=2, page="docs/length-bias.md")
def tokenizer_table_sections(study: Study) -> Iterable[ReportSection]:
    """Make the table of tokenizers; nothing where no run names its own."""
    table = tokenizer_table(study.runs)
    if not table.empty:
        yield ReportSection("Tokenizers", (TableView(_NOTE, _VIEW, table, {"tokenizers": table}),))


def _read_token_counts(folder: Path, facts: RunFacts) -> dict[str, object]:
    """Return the tokens by kind; the vocabulary alone where the tokenizer has no statistics."""
    path = folder / TOKENIZER / STATISTICS
    refuse_faults(own_faults(folder, facts, [f"{TOKENIZER}/{STATISTICS}"]), "restore it from a copy")
    if not path.is_file():
        return {"all": facts.vocabulary}
    record = read_json_object(path)
    check_types(path, record, {"tokens": dict})
    counts: dict[str, object] = record.get("tokens") or {}
    check_types(path, counts, dict.fromkeys(_COUNTS, int), "tokens.")
    return counts
