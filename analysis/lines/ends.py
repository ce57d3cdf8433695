"""The lines of a grid at the end of their training, and what one factor changes there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ucurve.analysis.data.design import Design
from ucurve.analysis.data.files import Kind, read_records
from ucurve.analysis.data.frames import OF_MASKED
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import Study, describe_scorers
from ucurve.analysis.lines.along import describe_along, read_along
from ucurve.analysis.lines.over_seeds import (
    DIFFERENCE,
    Seeds,
    contrast,
    level_pairs,
    moderate_table,
    p_of_contrast,
)
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView
from ucurve.analysis.summary import headline
from ucurve.eval.metrics.sampling import CONFIDENCE
from ucurve.eval.metrics.significance import holm
from ucurve.gather import gather
from ucurve.storage.run_folder import METRICS

_NUMBERS = ("accuracy", "low", "high", "against_best", "runs", "bits_per_byte", "flops", "hours")
_SHOWN = (
    Column("accuracy", "At the end, % (95 % interval)", "percent", ("low", "high")),
    Column("against_best", "Against the best"),
    Column("bits_per_byte", "Bits per byte", "number"),
    Column("flops", "FLOPs", "number"),
    Column("hours", "Hours", "number"),
    Column("runs", "Seeds", "count"),
)
BEST, NOT_APART, LOWER = "best", "not told apart", "lower"
_NOTE = (
    "Every line at its last scored checkpoint, the mean over its seeds that have it, with the 95 % interval over seeds "
    "where there are several (the variance of few seeds is moderated by that of the other lines), else over the pairs "
    f"of the one run. Against the best: {LOWER} in other seeds (p < .05 after Holm over the other lines), or "
    f"{NOT_APART}. Bits per byte are those of held-out text, which masked models do not have; FLOPs (of matrix "
    "products, where they were counted) and hours are of one run, hours of its steps alone. Click a heading to sort."
)
_MOST_LEVELS = 5  # columns of levels in the table of lines; of more, the line's label tells them
_MOST_NAMED = 3  # lines in a sentence; the table has all
_COMPARED = (
    "benchmark", "among", "level", "other", "accuracy", "accuracy_other", "difference", "low", "high", "p"
)  # fmt: skip


@dataclass(frozen=True)
class LineEnds:
    """The lines of a study at their last scored checkpoints."""

    table: pd.DataFrame  # see ``line_ends``
    seeds: Mapping[tuple[str, str], Seeds]  # by benchmark and line


def line_ends(study: Study) -> LineEnds:
    """Read every line at its end, a row for each benchmark and line, the highest accuracy first.

    The columns are ``benchmark``, ``line``, the factors that vary (``Design.varying``), ``accuracy`` (mean over the
    runs of the line at its last scored checkpoint, without those that are not there yet) with ``low`` and ``high``
    (95 %: over the runs, whose variances are moderated over lines by ``over_seeds``, or over the pairs of one run),
    ``against_best`` (``best``, ``lower`` in other seeds by p < .05 after Holm over the other lines of the benchmark,
    ``not told apart``, or empty where a line has one run), ``runs``, ``bits_per_byte`` (held-out), ``flops`` (up
    to that checkpoint) and ``hours`` (of the steps so far), of a run. A benchmark scored in several ways is one, with
    the lines of each. A line that was scored in several ways itself, as a hybrid one is, is named with each; it is
    compared by that of causal models.
    """
    factors, keys = study.design.varying, ["benchmark", "scorer", "line"]
    runs = {run.label: run for run in study.runs}
    ends = headline(study)
    ends = ends.assign(line=ends["run"].map({label: run.line for label, run in runs.items()}))
    # A mean over runs at different steps would mix amounts of training.
    ends = ends[ends["step"] == ends.groupby(keys)["step"].transform("max")]
    ways = ends.groupby(keys[::2], observed=True)["scorer"].nunique().to_dict()
    cells, rows, seeds = moderate_table(ends, keys), [], dict[tuple[str, str], Seeds]()
    for (benchmark, scorer, line), own in ends.groupby(keys, sort=False):
        first = str(own["run"].iloc[0])
        named = str(line) if ways[benchmark, line] == 1 else f"{line}, by {scorer}"
        for name in (named, str(line)) if scorer in OF_MASKED else (named,):
            seeds[str(benchmark), name] = cells[benchmark, scorer, line]
        mean = contrast([cells[benchmark, scorer, line]], [1.0])
        # A single run says nothing of other seeds, so its interval is the one over pairs.
        of_pairs = (mean.value, *own[["ci_low", "ci_high"]].iloc[0]) if len(own) == 1 else mean
        reached = own[["run", "tokens"]].itertuples(index=False, name=None)
        cost = pd.DataFrame([_costs(runs[run], tokens, study.held_out) for run, tokens in reached]).mean()
        levels = [study.design.level(first, factor) for factor in factors]
        rows.append((benchmark, named, *levels, *np.clip(of_pairs, 0, 1), "", len(own), *cost))
    table = pd.DataFrame(rows, columns=["benchmark", "line", *factors, *_NUMBERS])
    table = table.sort_values(
        ["benchmark", "accuracy"], ascending=[True, False], kind="stable", ignore_index=True
    )
    of_benchmarks = [own for _, own in table.groupby("benchmark", sort=False)]
    table["against_best"] = [place for own in of_benchmarks for place in _against_best(own, seeds)]
    return LineEnds(table, seeds)


def _against_best(rows: pd.DataFrame, seeds: Mapping[tuple[str, str], Seeds]) -> list[str]:
    """Compare the lines of one benchmark with the first of them."""
    every = [seeds[key] for key in rows[["benchmark", "line"]].itertuples(index=False, name=None)]
    p = np.array([p_of_contrast([every[0], one], DIFFERENCE) for one in every])
    lower = np.zeros(len(p), dtype=bool)
    accuracy = rows["accuracy"].to_numpy()
    # A line as accurate as the best one is not tested, because it cannot be lower.
    tested = ~np.isnan(p) & (accuracy < accuracy[0])
    lower[tested] = holm(p[tested]) <= 1 - CONFIDENCE
    kinds = [accuracy == accuracy[0], lower, np.array([one.freedom > 0 for one in every])]
    return [str(kind) for kind in np.select(kinds, [BEST, LOWER, NOT_APART], "")]


def _costs(run: Run, tokens: float, held_out: pd.DataFrame) -> dict[str, float]:
    """Return what a run has come to after so many tokens, and at what cost."""
    bits = held_out.loc[(held_out["run"] == run.label) & (held_out["tokens"] <= tokens), "bits_per_byte"]
    flops = (run.flops_per_token or 6.0 * (run.parameters or np.nan)) * tokens
    hours = np.nan
    if run.facts is not None and (run.folder / METRICS).is_file():
        columns: dict[str, Kind] = {"step": "integer", "tokens": "number", "tokens_per_second": "number"}
        steps = read_records(run.folder / METRICS, columns).drop_duplicates("step", keep="last")
        of_step = steps["tokens"].diff().fillna(steps["tokens"])
        # The speed of a step is of the step alone, so checkpoints and pauses take none of these hours.
        hours = float((of_step / steps["tokens_per_second"]).sum(min_count=1)) / 3600
    return {"bits_per_byte": bits.iloc[-1] if len(bits) else np.nan, "flops": flops, "hours": hours}


def compare_levels(study: Study, ends: LineEnds, factor: str) -> pd.DataFrame:
    """Return the differences that a factor makes between lines that are equal in all others.

    The columns are ``benchmark``, ``among`` (the label of the lines without the factor), ``level`` and ``other`` (of
    the factor), the ``accuracy`` of each, their ``difference`` with its 95 % interval over seeds, ``low`` to ``high``,
    and ``p`` (``over_seeds``). Where several pairs of lines differ in two levels, the row of their mean follows, whose
    ``among`` is ``mean of 4``.
    """
    if factor not in ends.table:
        return pd.DataFrame(columns=list(_COMPARED))
    without = {run.line: run.line_without(factor) for run in study.runs}
    rows = []
    for benchmark in dict.fromkeys(ends.table["benchmark"]):
        seeds = {line: one for (name, line), one in ends.seeds.items() if name == benchmark}
        for levels, pairs in level_pairs(study.runs, factor).items():
            known = [(one, two) for one, two in pairs if one in seeds and two in seeds]
            both = [(seeds[one], seeds[two]) for one, two in known]
            for (line, _), each in zip(known, both, strict=True):
                rows.append((benchmark, without[line], *levels, *_mean_difference([each])))
            if len(both) > 1:
                rows.append((benchmark, f"mean of {len(both)}", *levels, *_mean_difference(both)))
    return pd.DataFrame(rows, columns=list(_COMPARED))


def _mean_difference(pairs: Sequence[tuple[Seeds, Seeds]]) -> tuple[float, ...]:
    """Return the mean accuracy of both sides, and their difference with its interval and p."""
    firsts, seconds = zip(*pairs, strict=True)
    sides, weights = [*firsts, *seconds], [weight / len(pairs) for weight in DIFFERENCE for _ in pairs]
    means = (float(np.mean([one.mean for one in side])) for side in (firsts, seconds))
    return *means, *contrast(sides, weights), p_of_contrast(sides, weights)


def lines_view(ends: pd.DataFrame, design: Design) -> TableView:
    """Show the table of ``line_ends`` with a column for each factor that varies, and the line where no factor does."""
    levels = [Column(name, name.capitalize()) for name in design.varying]
    told = ends[["benchmark", *design.varying]]
    # The levels name the lines where they differ between all lines, every line has one, and the numbers have room.
    is_named = (
        0 < len(levels) <= _MOST_LEVELS
        and told[list(design.varying)].notna().any(axis=1).all()
        and not told.duplicated().any()
    )
    columns = [*levels, *_SHOWN] if is_named else [Column("line", "Line"), *_SHOWN, *levels]
    if ends["benchmark"].nunique() > 1:
        columns = [Column("benchmark", "Benchmark"), *columns]
    return TableView(_NOTE, tuple(columns), ends, {"lines": ends})


def describe_ends(study: Study, ends: LineEnds) -> Iterator[str]:
    """Say of each benchmark which line ends highest, which lines do not, and what each factor changes."""
    for benchmark in dict.fromkeys(ends.table["benchmark"]):
        own = replace(ends, table=ends.table[ends.table["benchmark"] == benchmark])
        if len(own.table) > 1:
            yield _describe_highest(benchmark, own.table)
            along = next(read_along(scored)[1] for scored in study.benchmarks() if scored.benchmark == benchmark)
            for factor in study.design.varying:
                yield from _describe_factor(compare_levels(study, own, factor), factor, along)


def _describe_highest(benchmark: str, rows: pd.DataFrame) -> str:
    """Say which line ends highest, which ones are lower, and which are not told apart from it."""
    highest = rows[rows["against_best"] == BEST]
    first = highest.iloc[0]
    bounds = "" if np.isnan(first["low"]) else f" (95 %: {100 * first['low']:.1f} to {100 * first['high']:.1f})"
    said = (
        f"On {benchmark}, {'; '.join(highest['line'])} end{'s' if len(highest) == 1 else ''} highest, at "
        f"{100 * first['accuracy']:.1f} %{bounds}."
    )
    for place, words in ((LOWER, "Lower, in other seeds too"), (NOT_APART, "Not told apart from it")):
        if lines := rows.loc[rows["against_best"] == place, "line"].tolist():
            more = f" and {len(lines) - _MOST_NAMED} more" if len(lines) > _MOST_NAMED else ""
            said += f" {words}: {'; '.join(lines[:_MOST_NAMED])}{more}."
    return said


def _describe_factor(found: pd.DataFrame, factor: str, along: pd.DataFrame) -> Iterator[str]:
    """Say what the level of a factor changes at the end and before, of the two levels that differ most."""
    if found.empty:
        return
    means = found.drop_duplicates(["level", "other"], keep="last")  # of several pairs, the row that follows them
    row = means.iloc[int(means["difference"].abs().argmax())]
    pairs = found[(found["level"] == row["level"]) & (found["other"] == row["other"])]
    sign = 1 if row["difference"] >= 0 else -1
    better, worse = (row["level"], row["other"])[::sign]
    said = f"{factor.capitalize()}: {better} ends {100 * abs(row['difference']):.1f} points above {worse}"
    if len(pairs) == 1:
        said += ", in two lines that differ in it alone"
    else:
        each = 100 * sign * pairs["difference"].iloc[:-1]
        said += (
            f" on average of {len(each)} pairs of lines that differ in it alone ({each.min():+.1f} to "
            f"{each.max():+.1f} in them)"
        )
    if np.isnan(row["p"]):
        yield f"{said}."
        return
    low, high = sorted(100 * sign * row[name] for name in ("low", "high"))
    shown = "which is shown" if row["p"] <= 1 - CONFIDENCE else "which may be chance"
    before = describe_along(along, factor, better, worse)
    yield f"{said}, {shown}: 95 % over seeds {low:.1f} to {high:.1f}, on these sentence pairs. {before}".strip()


@questions.section(None, place=1)
def line_sections(study: Study) -> Iterator[ReportSection]:
    """Tabulate the lines at the end of their training; nothing where there is one line."""
    ends = line_ends(study) if len(study.scores) else None
    if ends and len(ends.table) > 1:
        view = lines_view(ends.table, study.design)
        yield ReportSection("The lines at the end", (*describe_ends(study, ends), *_describe_ways(study), view))


def _describe_ways(study: Study) -> Iterator[str]:
    """Say by which scorers masked models were scored, also where hybrid ones were scored by them and the others."""
    told: dict[str, list[str]] = gather(headline(study)[["scorer", "run"]].itertuples(index=False, name=None))
    for causal, others in OF_MASKED.items():
        if causal in told:
            masked = [one for one in others if set(told.get(one, ())).difference(told[causal])]
            yield from describe_scorers(causal, masked)
