"""The lines of a grid at the end of their training, and what one factor changes there."""

import itertools
from collections.abc import Iterator

import numpy as np
import pandas as pd

from ucurve.analysis.data.design import Design
from ucurve.analysis.data.files import Kind, read_records
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import Study
from ucurve.analysis.lines.over_seeds import contrast, moderate_table
from ucurve.analysis.report.html import Column, ReportSection, TableView
from ucurve.analysis.summary import headline
from ucurve.storage.run_folder import METRICS

_NUMBERS = ("accuracy", "low", "high", "runs", "bits_per_byte", "flops", "hours")
_SHOWN = (
    Column("accuracy", "At the end, % (95 % interval)", "percent", ("low", "high")),
    Column("bits_per_byte", "Bits per byte", "number"), Column("flops", "FLOPs", "number"),
    Column("hours", "Hours", "number"), Column("runs", "Seeds", "count"),
)  # fmt: skip
_NOTE = (
    "Every line at its last scored checkpoint, the mean over its seeds, with the 95 % interval over seeds where there "
    "are several (the variance of few seeds is moderated by that of the other lines), else over the pairs of the one "
    "run. Bits per byte are those of held-out text, which masked models do not have; FLOPs and hours are of one run, "
    "hours of its steps alone. Click a heading to sort."
)
_MOST_NAMED = 3


def line_ends(study: Study) -> pd.DataFrame:
    """Return a row for each benchmark and line, the highest accuracy first.

    The columns are ``benchmark``, ``line``, the factors that vary (``Design.varying``), ``accuracy`` (mean over the
    runs of the line at their last scored checkpoints) with ``low`` and ``high`` (95 %: over the runs, whose variances
    are moderated over lines by ``over_seeds``, or over the pairs of one run), ``runs``, ``bits_per_byte`` (held-out),
    ``flops`` (up to that checkpoint) and ``hours`` (of the steps so far), of a run. A benchmark scored in several ways
    is one, with the lines of each.
    """
    factors = study.design.varying
    ends = headline(study)
    runs = {run.label: run for run in study.runs}
    keys = ["benchmark", "scorer", "line"]
    ends = ends.assign(line=ends["run"].map({label: run.line for label, run in runs.items()}))
    cells, rows = moderate_table(ends, keys), []
    for (benchmark, scorer, line), own in ends.groupby(keys, sort=False):
        first = str(own["run"].iloc[0])
        mean = contrast([cells[benchmark, scorer, line]], [1.0])
        of_pairs = (mean.value, *own[["ci_low", "ci_high"]].iloc[0]) if len(own) == 1 else mean
        reached = own[["run", "tokens"]].itertuples(index=False, name=None)
        cost = pd.DataFrame([_costs(runs[run], tokens, study.held_out) for run, tokens in reached]).mean()
        levels = [study.design.level(first, factor) for factor in factors]
        rows.append((benchmark, line, *levels, *np.clip(of_pairs, 0, 1), len(own), *cost))
    table = pd.DataFrame(rows, columns=["benchmark", "line", *factors, *_NUMBERS])
    return table.sort_values(["benchmark", "accuracy"], ascending=[True, False], kind="stable", ignore_index=True)


def _costs(run: Run, tokens: float, held_out: pd.DataFrame) -> dict[str, float]:
    """Return what a run has come to after so many tokens, and at what cost."""
    bits = held_out.loc[held_out["run"] == run.label, "bits_per_byte"]
    flops = (run.flops_per_token or 6.0 * (run.parameters or np.nan)) * tokens
    return {"bits_per_byte": bits.iloc[-1] if len(bits) else np.nan, "flops": flops, "hours": _hours(run)}


def _hours(run: Run) -> float:
    """Return the hours of the steps of a run, without checkpoints and pauses; NaN where its metrics do not tell."""
    if run.facts is None or not (run.folder / METRICS).is_file():
        return np.nan
    columns: dict[str, Kind] = {"step": "integer", "tokens": "number", "tokens_per_second": "number"}
    steps = read_records(run.folder / METRICS, columns).drop_duplicates("step", keep="last")
    tokens = steps["tokens"].diff().fillna(steps["tokens"])
    return float((tokens / steps["tokens_per_second"]).sum(min_count=1)) / 3600


def compare_levels(study: Study, ends: pd.DataFrame, factor: str) -> pd.DataFrame:
    """Return the differences that a factor makes between lines that are equal in all others.

    ``ends`` are those of ``line_ends``. The columns are ``benchmark``, ``among`` (the label of the lines without the
    factor), ``level`` and ``other`` (of the factor), the ``accuracy`` of each and their ``difference``.
    """
    without = {run.line: run.line_without(factor) for run in study.runs}
    columns = ["benchmark", "among", "level", "other", "accuracy", "accuracy_other", "difference"]
    if factor not in ends:
        return pd.DataFrame(columns=columns)
    known = ends.assign(among=ends["line"].map(without)).dropna(subset=factor)
    rows = []
    for (benchmark, among), own in known.groupby(["benchmark", "among"], sort=False):
        cells = own.drop_duplicates(factor).sort_values(factor)[[factor, "accuracy"]].itertuples(index=False, name=None)
        for (one, value), (other, value_of_other) in itertools.combinations(cells, 2):
            rows.append((benchmark, among, one, other, value, value_of_other, value - value_of_other))
    return pd.DataFrame(rows, columns=columns)


def lines_view(ends: pd.DataFrame, design: Design) -> TableView:
    """Show ``line_ends`` with a column for each factor that varies, and the line where these do not name it."""
    levels = [Column(name, name.capitalize()) for name in design.varying]
    is_named = bool(levels) and ends[list(design.varying)].notna().any(axis=1).all()
    columns = ([] if is_named else [Column("line", "Line")]) + levels
    if ends["benchmark"].nunique() > 1:
        columns = [Column("benchmark", "Benchmark"), *columns]
    return TableView(_NOTE, (*columns, *_SHOWN), ends, {"lines": ends})


def describe_ends(study: Study, ends: pd.DataFrame) -> Iterator[str]:
    """Say of each benchmark which line ends highest, whose interval meets its own, and what each factor changes."""
    for benchmark, rows in ends.groupby("benchmark", sort=False):
        if len(rows) > 1:
            yield _describe_highest(str(benchmark), rows)
            for factor in study.design.varying:
                yield from _describe_factor(compare_levels(study, rows, factor), factor)


def _describe_highest(benchmark: str, rows: pd.DataFrame) -> str:
    best = rows["accuracy"].max()
    highest, others = rows[rows["accuracy"] == best], rows[rows["accuracy"] < best]
    names = "; ".join(highest["line"])
    low = highest["low"].min()
    meeting = others[others["high"] >= low]["line"].tolist()
    said = f"On {benchmark}, {names} end{'s' if len(highest) == 1 else ''} highest, at {100 * best:.1f} %"
    if np.isnan(low) or others["high"].isna().all():
        return f"{said}."
    if not meeting:
        return f"{said} (95 % from {100 * low:.1f}); no other line's interval reaches that."
    more = f" and {len(meeting) - _MOST_NAMED} more" if len(meeting) > _MOST_NAMED else ""
    return f"{said} (95 % from {100 * low:.1f}); the intervals of {'; '.join(meeting[:_MOST_NAMED])}{more} reach that."


def _describe_factor(found: pd.DataFrame, factor: str) -> Iterator[str]:
    """Say what the level of a factor changes, of the two levels that differ most."""
    if found.empty:
        return
    means = found.groupby(["level", "other"], as_index=False)["difference"].agg(["mean", "min", "max", "count"])
    row = means.sort_values("mean", key=abs).iloc[-1]
    sign = 1 if row["mean"] >= 0 else -1
    better, worse = (row["level"], row["other"])[::sign]
    low, high = sorted(100 * sign * row[name] for name in ("min", "max"))
    said = f"{factor.capitalize()}: {better} ends {100 * abs(row['mean']):.1f} points above {worse}"
    if row["count"] > 1:
        lines = f"{row['count']:.0f} pairs of lines that differ in it alone"
        yield f"{said} on average, from {low:+.1f} to {high:+.1f} in {lines}."
    else:
        yield f"{said}, in two lines that differ in it alone."


def line_sections(study: Study) -> Iterator[ReportSection]:
    """Tabulate the lines at the end of their training; nothing where there is one line."""
    ends = line_ends(study) if len(study.scores) else pd.DataFrame()
    if len(ends) > 1:
        yield ReportSection("The lines at the end", (*describe_ends(study, ends), lines_view(ends, study.design)))
