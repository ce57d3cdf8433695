"""The first and last sections of the report: headline numbers, curves, what the runs are, and what is missing."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

import pandas as pd

from ucurve.analysis.data.frames import last_scored, overall, targets
from ucurve.analysis.data.runs import NOT_TRAINED_HERE, Run, describe_copies, equal_steps
from ucurve.analysis.data.study import MEANS_OVER, Study
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.eval.metrics.accuracy import PUBLISHED
from ucurve.eval.metrics.sampling import FEWEST_CLUSTERS
from ucurve.eval.store.tables import ACCURACY
from ucurve.storage.run_folder import METRICS

_MOST_PRINTED = 12  # rows on a terminal
_OF_TRAINING = (
    *("model", "parameters", "tokens", "tokenizer", "data", "seeds"),
    *("configuration", "code", "versions", "hardware"),
)


def headline(study: Study) -> pd.DataFrame:
    """Tabulate the overall accuracy of each run before training and at its last scored checkpoint.

    ``overall`` is what the accuracy is a mean over (``all`` pairs, ``macro``: paradigms, ``macro_phenomena``),
    ``start`` that of step 0 (NaN without a score), ``checkpoints`` how many have a score. Where a benchmark has pairs
    that its paper does not count, ``n_published`` and ``accuracy_published`` are over all its pairs.
    """
    shown = study.shown_rows()
    rows = overall(shown).astype(dict.fromkeys(("run", "benchmark", "scorer", "linking"), str))
    keys = ["run", "benchmark", "scorer"]
    numbers = ["step", "tokens", "n", "ties", "ties_rule", "accuracy", "ci_low", "ci_high", "clusters"]
    last = last_scored(rows)[[*keys, "linking", "overall", *numbers]]
    start = rows[rows["step"] == 0][[*keys, "accuracy"]].rename(columns={"accuracy": "start"})
    counts = rows.groupby(keys, as_index=False).agg(checkpoints=("step", "nunique"))
    status = pd.DataFrame([{"run": run.label, "status": run.status} for run in study.runs])
    table = last.merge(start, on=keys, how="left").merge(counts, on=keys).merge(status, on="run")
    first = ["run", "status", "benchmark", "scorer", "linking", "overall", "checkpoints", "start", *numbers[-4:]]
    columns = [*first, "n", "ties", "ties_rule", "step", "tokens"]
    published = shown[shown["split"] == PUBLISHED]
    if len(published):
        every = published[(published["phenomenon"] == "all") & (published["paradigm"] == "all")]
        every = last_scored(every.astype({"run": str, "benchmark": str, "scorer": str}))[[*keys, "n", "accuracy"]]
        table = table.merge(every, on=keys, how="left", suffixes=("", "_published"))
        columns += ["n_published", "accuracy_published"]
    return table[columns].sort_values(["benchmark", "scorer"], kind="stable", ignore_index=True)


def headline_lines(table: pd.DataFrame) -> list[str]:
    """Write the first rows of ``headline`` as a table for the terminal, accuracies in percent."""
    shown = table.head(_MOST_PRINTED)
    cells = [("run", "benchmark", "before", "last", "95 %", "linking function, mean over", "tokens")]
    for row in shown.to_dict("records"):
        before = "" if math.isnan(row["start"]) else f"{100 * row['start']:.1f}"
        mean = f"{row['linking']}, {MEANS_OVER.get(row['overall'], 'pairs')}"
        band = f"{100 * row['ci_low']:.1f} to {100 * row['ci_high']:.1f}"
        if math.isnan(row["ci_low"]):
            band = f"none ({row['clusters']:.0f} different edits)"
        tokens = "" if math.isnan(row["tokens"]) else f"{row['tokens']:,.0f}"
        cells.append((row["run"], row["benchmark"], before, f"{100 * row['accuracy']:.1f}", band, mean, tokens))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells
    ]
    more = len(table) - len(shown)
    return [*lines, *([f"and {more} more in headline.csv"] if more else [])]


def provenance(study: Study) -> pd.DataFrame:
    """Tabulate the settings, code and hardware of each run, as far as they are known."""
    rows = []
    for run in study.runs:
        row: dict[str, object] = {"run": run.label, "folder": str(run.folder), "status": run.status}
        row |= dict.fromkeys(_OF_TRAINING, "")
        if facts := run.facts:
            revision = facts.code_revision or ""
            row |= {
                "model": facts.model,
                "parameters": facts.parameters["total"],
                "tokens": facts.tokens_budget,
                "tokenizer": facts.tokenizer,
                "data": facts.data,
                "seeds": _format_values(asdict(facts.seeds)),
                "configuration": facts.config_sha256[:12],
                "code": revision[:12] + ("+changes" if revision.endswith("+changes") else ""),
                "versions": _format_values(facts.versions),
                "hardware": _format_values(facts.hardware),
            }
        rows.append(row)
    return pd.DataFrame(rows)


def missing(study: Study, not_made: Iterable[ReportSection] = ()) -> pd.DataFrame:
    """List what is missing: checkpoints, scores, linking functions, and benchmarks on which other runs were scored.

    The sections that could not be made follow, of ``all`` runs. The columns are ``run``, ``missing`` (the kind) and
    ``detail``.
    """
    rows = [(run.label, *problem) for run in study.runs for problem in _find_problems(run, study)]
    other = "scored on other pairs than the other runs, so that accuracies do not compare"
    rows += [(run, f"pairs of {one.label}", other) for one in study.benchmarks() for run in one.on_other_pairs]
    for one in study.benchmarks():
        for run, names in one.mixed_settings.items():
            detail = f"its steps were scored with different settings ({', '.join(names)}), which its curve mixes"
            rows.append((run, f"one way to score {one.label}", detail))
    rows += [("all", section.heading, section.left_out) for section in not_made]
    return pd.DataFrame(rows, columns=["run", "missing", "detail"])


def _format_values(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if value not in (None, [], ""))


def _find_problems(run: Run, study: Study) -> list[tuple[str, str]]:
    """Say what a run lacks: its kind and what exactly."""
    problems = []
    if run.status not in ("finished", NOT_TRAINED_HERE):
        problems.append(("finished run", f"status: {run.status}"))
    # Checkpoints may be removed after scoring, so a run without any does not count as incomplete.
    absent = sorted(set(run.planned) - set(run.saved)) if run.saved else []
    if absent:
        problems.append(("checkpoints", _format_steps(absent)))
    if run.status != NOT_TRAINED_HERE and not (run.folder / METRICS).is_file():
        problems.append(("training metrics", f"no {METRICS}"))
    return problems + _find_unscored(run, study)


def _find_unscored(run: Run, study: Study) -> list[tuple[str, str]]:
    """Say which scores a run lacks, beside those of other runs too."""
    scores = study.scores[study.scores["run"] == run.label]
    if scores.empty:
        there = ACCURACY.path(run.folder).is_file()
        return [("scores", f"{ACCURACY.place} has no row to draw" if there else f"no {ACCURACY.place}")]
    problems = []
    for benchmark, scorers in targets(scores):
        rows = scores[(scores["benchmark"] == benchmark) & scores["scorer"].isin(scorers)]
        unscored = sorted(set(run.saved) - set(rows["step"]))
        if unscored:
            problems.append((f"scores on {benchmark}", _format_steps(unscored)))
        linking = study.linkings[benchmark, scorers[0]]
        if linking not in set(rows["linking"].unique()):
            problems.append((f"{linking} on {benchmark}", "not among the linking functions it was scored with"))
    others = sorted(set(study.scores["benchmark"].unique()) - set(scores["benchmark"].unique()))
    return problems + [(f"scores on {name}", "none, while other runs were scored on it") for name in others]


def _format_steps(steps: Sequence[int], most: int = 12) -> str:
    shown = ", ".join(str(step) for step in steps[:most])
    more = f" and {len(steps) - most} more" if len(steps) > most else ""
    return f"{len(steps)} without: step{'s' if len(steps) > 1 else ''} {shown}{more}"


_HEADLINE = table_columns(
    "run",
    "benchmark",
    Column("start", "Step 0 (%)", "percent"),
    Column("accuracy", "Last scored, % (95 % interval)", "percent", ("ci_low", "ci_high")),
    "n",
    Column("ties", "Ties", "count"),
    "ties_rule",
    "linking",
    Column("over", "Mean over"),
    "status",
    Column("clusters", "Edits", "count"),
    "step",
    "tokens",
    Column("checkpoints", "Checkpoints scored", "count"),
)
_PUBLISHED = (
    Column("n_published", "Pairs published", "count"),
    Column("accuracy_published", "On all of them (%)", "percent"),
)
_RUNS = table_columns(
    "run",
    "status",
    "model",
    Column("parameters", "Parameters", "count"),
    Column("tokens", "Token budget", "count"),
    "tokenizer",
    "data",
    Column("seeds", "Seeds"),
    Column("configuration", "Configuration"),
    Column("code", "Code"),
    Column("versions", "Versions"),
    Column("hardware", "Hardware"),
    Column("folder", "Folder"),
)
_MISSING = table_columns("run", Column("missing", "Missing"), Column("detail", "Detail"))


@questions.section(questions.RUNS, place=1)
def headline_sections(study: Study) -> Iterator[ReportSection]:
    """Tabulate the overall accuracy of every run before training and at its last scored checkpoint."""
    if study.scores.empty:
        return
    table = headline(study)
    note = (
        "Overall accuracy, with its 95 % interval; chance is 50 %. Pairs of a template that differ in the same words "
        "(the same edit) are right or wrong together, so the interval is over the different edits of these templates; "
        f"with fewer than {FEWEST_CLUSTERS} there is none. Linking function, mean and what a tie counts are those that "
        "the card of the benchmark names, or what was asked for."
    )
    shown = table.assign(over=table["overall"].map(MEANS_OVER).fillna("pairs"))
    columns: tuple[Column, ...] = _HEADLINE
    if "n_published" in table:
        columns += _PUBLISHED
        note += " Pairs that the paper of a benchmark does not count are in the last two columns alone."
    view = TableView(note, columns, shown, {"headline": table})
    lines = []
    for benchmark, rows in table.groupby("benchmark"):
        start = rows["start"].dropna()
        before = f"{format_range(start)} before training, " if len(start) else ""
        runs = f"{len(rows)} run{'s' if len(rows) > 1 else ''}"
        lines.append(
            f"{benchmark}, {runs}: {before}{format_range(rows['accuracy'])} at the last scored checkpoint."
        )
    yield ReportSection("Overall accuracy", (" ".join(lines), view))


@questions.section(questions.RUNS, place=1)
def runs_sections(study: Study, not_made: list[ReportSection]) -> Iterator[ReportSection]:
    """Tabulate the runs and what is missing, with the sections that could not be made; name steps of equal weights."""
    runs, absent = provenance(study), missing(study, not_made)
    note = "As run.json of each run says; the full hashes and versions are there."
    gaps = (
        TableView("Not there when this was written; nothing was filled in.", _MISSING, absent)
        if len(absent)
        else "Nothing is missing: every run is finished, and every checkpoint is there and scored."
    )
    view = TableView(note, _RUNS, runs, {"runs": runs, "missing": absent})
    one_model = [
        f"{run.label} has steps of equal weights, which are one model and not several checkpoints, although every "
        f"curve has a point for each: {steps}."
        for run in study.runs
        if (steps := equal_steps(run))
    ]
    copies = [f"{text}." for text in describe_copies(study.runs)]
    content = (view, gaps, *one_model, *copies)
    yield ReportSection("The runs, and what is missing", content)


def format_range(values: pd.Series) -> str:
    """Write fractions as one percentage or, where they differ, as the lowest and the highest."""
    low, high = f"{100 * values.min():.1f}", f"{100 * values.max():.1f}"
    return f"{low} %" if low == high else f"{low} to {high} %"
