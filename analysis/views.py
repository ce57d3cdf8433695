"""The sections of the report: which tables and figures stand where, with which words."""

from collections.abc import Sequence

import pandas as pd

from analysis.figures import Drawing
from analysis.report import Column, Section, TableView
from eval.metrics import winner_by_length

_HEADLINE = (
    Column("run", "Run"),
    Column("status", "Status"),
    Column("benchmark", "Benchmark"),
    Column("start", "Step 0 (%)", "percent"),
    Column("accuracy", "Last scored (%)", "percent"),
    Column("ci_low", "95 % from", "percent"),
    Column("ci_high", "to", "percent"),
    Column("n", "Pairs", "count"),
    Column("ties", "Ties", "count"),
    Column("ties_rule", "A tie counts"),
    Column("step", "Step", "count"),
    Column("tokens", "Tokens", "count"),
    Column("checkpoints", "Checkpoints scored", "count"),
)
_LINKING = (
    Column("group", "Model"),
    Column("runs", "Runs", "count"),
    Column("step", "Step", "count"),
    Column("linking", "Linking function"),
    Column("ties_rule", "A tie counts"),
    Column("accuracy", "Accuracy (%)", "percent"),
    Column("accuracy_sd", "sd", "percent"),
    Column("equal", "Equal length (%)", "percent"),
    Column("good_longer", "Good longer (%)", "percent"),
    Column("bad_longer", "Bad longer (%)", "percent"),
    Column("delta_acc", "Δacc (points)", "percent"),
)
_RUNS = (
    Column("run", "Run"),
    Column("status", "Status"),
    Column("model", "Model"),
    Column("parameters", "Parameters", "count"),
    Column("tokens", "Token budget", "count"),
    Column("tokenizer", "Tokenizer"),
    Column("data", "Data"),
    Column("seeds", "Seeds"),
    Column("configuration", "Configuration"),
    Column("code", "Code"),
    Column("versions", "Versions"),
    Column("hardware", "Hardware"),
    Column("folder", "Folder"),
)
_MISSING = (Column("run", "Run"), Column("missing", "Missing"), Column("detail", "Detail"))


def headline_section(table: pd.DataFrame, linking: str) -> Section:
    """The first section: overall accuracy of every run before training and at its last scored checkpoint."""
    note = (
        f"Overall accuracy over all pairs, linking function {linking}, with the exact 95 % interval over pairs; chance "
        "is 50 %. Click a heading to sort. Numbers: headline.csv."
    )
    return Section("Overall accuracy", (_summary(table), TableView(note, _HEADLINE, table)))


def curve_section(benchmark: str, scorer: str, drawings: Sequence[Drawing]) -> Section:
    """The figures of one benchmark."""
    nothing = ("No checkpoints of a training run were scored on it: no curves.",)
    return Section(f"Curves on {benchmark} (scored by {scorer})", tuple(drawings) or nothing)


def linking_section(benchmark: str, table: pd.DataFrame) -> Section:
    """The table of linking functions of one benchmark, from ``linking_by_line``."""
    note = (
        "Last checkpoint scored with each linking function, mean over the runs that differ in the seed only and stand "
        "at the same step (sd: sample standard deviation over them). Length is counted in the model's own tokens. "
        "Δacc, in percentage points, is the mean absolute difference of the two unequal splits to the equal one: the "
        "length bias, 0 is best. Where it is small, chance differences make it larger on average: see the signed "
        "differences with their intervals in eval/statistics.csv of each run."
    )
    said = [text for text in (_length_alone(table),) if text]
    return Section(f"Linking functions and length on {benchmark}", (*said, TableView(note, _LINKING, table)))


def loss_section(drawing: Drawing) -> Section:
    """The training curves."""
    return Section("Training", (drawing,))


def runs_section(runs: pd.DataFrame, missing: pd.DataFrame, unvouched: Sequence[str]) -> Section:
    """What made the numbers, what is not there, and what was read as it is."""
    note = "As run.json of each run says; the full hashes and versions are there."
    absent = (
        TableView("Not there when this was written; nothing was filled in.", _MISSING, missing)
        if len(missing)
        else "Nothing is missing: every run is finished, and every checkpoint is there and scored."
    )
    read_as_it_is = (
        "Read as it is, since no digest vouches for it (an older version wrote it, or another tool): "
        f"{'; '.join(unvouched)}."
    )
    parts = (TableView(note, _RUNS, runs), absent, *([read_as_it_is] if unvouched else []))
    return Section("The runs, and what is missing", parts)


def _length_alone(table: pd.DataFrame) -> str:
    """Name the rows in which length alone decides; nothing where there are none."""
    splits = zip(table["good_longer"], table["bad_longer"], strict=True)
    winners = pd.Series([winner_by_length(*both) for both in splits], index=table.index, dtype=object)
    if winners.isna().all():
        return ""
    found = table[winners.notna()]
    lines = [
        f"{group} by {', '.join(dict.fromkeys(rows['linking']))}" for group, rows in found.groupby("group", sort=False)
    ]
    return (
        f"Length alone decides where lengths differ, and not grammar: {'; '.join(lines)}. There nearly every pair of "
        "one unequal split is right and nearly every pair of the other wrong. A model that has learned nothing does "
        "that under lp, pen_lp and slln_lp: the shorter sentence wins, and Δacc is about 50."
    )


def _summary(table: pd.DataFrame) -> str:
    lines = []
    for benchmark, rows in table.groupby("benchmark"):
        start = rows["start"].dropna()
        before = f"{_span(start)} before training, " if len(start) else ""
        runs = f"{len(rows)} run{'s' if len(rows) > 1 else ''}"
        lines.append(f"{benchmark}, {runs}: {before}{_span(rows['accuracy'])} at the last scored checkpoint.")
    return " ".join(lines)


def _span(values: pd.Series) -> str:
    low, high = f"{100 * values.min():.1f}", f"{100 * values.max():.1f}"
    return f"{low} %" if low == high else f"{low} to {high} %"
