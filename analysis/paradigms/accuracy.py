"""Accuracies by paradigm at the last scored checkpoints, and their means by phenomenon and overall."""

from collections.abc import Sequence

import pandas as pd

from ucurve.analysis.data.frames import last_scored, score_frame, stack
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.eval.metrics.levels import MEANS, levels_of

AGGREGATE_OF = {"all": "pairs", "macro": "paradigms", "macro_phenomena": "phenomena"}
_ROW = ["run", "line", "step", "tokens", "linking", "phenomenon", "paradigm", "n", "accuracy"]


def last_paradigm_rows(scored: BenchmarkScores, linkings: Sequence[str]) -> pd.DataFrame:
    """Read the accuracies by paradigm of every run at its last scored checkpoint, all lengths together."""
    rows = scored.rows
    wanted = last_scored(rows[rows["linking"].isin(list(linkings))])
    steps = wanted.groupby("run", observed=True)["step"].unique()
    runs = [run for run in scored.study.runs if run.label in steps.index]
    names = dict.fromkeys(["run", "line", "linking", "phenomenon", "paradigm"], str)
    parts = (score_frame([run], scored.all_lengths(steps[run.label].tolist())) for run in runs)
    table = stack((part.astype(names)[_ROW] for part in parts), _ROW)
    last = wanted[["run", "linking", "step"]].drop_duplicates().astype({"run": str, "linking": str})
    named = table[~table["paradigm"].isin(("all", *MEANS))]
    return named.merge(last, on=["run", "linking", "step"]).reset_index(drop=True)


def line_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Average each paradigm over the runs of a line; of runs at different steps, those at the last step count."""
    furthest = rows.groupby(["line", "linking"])["step"].transform("max")
    keys = ["line", "linking", "step", "phenomenon", "paradigm"]
    return (
        rows[rows["step"] == furthest]
        .groupby(keys, as_index=False, sort=False)
        .agg(tokens=("tokens", "first"), runs=("run", "nunique"), n=("n", "first"), accuracy=("accuracy", "mean"))
    )


def by_level(paradigms: pd.DataFrame) -> pd.DataFrame:
    """Compute accuracies by phenomenon and overall from those by paradigm, at one step for each line and function.

    A phenomenon is the mean over its ``pairs`` (``aggregate``); overall (``phenomenon`` is ``all``) there are the means
    over ``pairs``, ``paradigms`` and ``phenomena``. ZhoBLiMP's OVERALL is the mean over paradigms (Table 6).
    """
    parts = (
        _average_levels(part).assign(line=str(line), linking=str(linking), step=part["step"].iloc[0])
        for (line, linking), part in paradigms.groupby(["line", "linking"], sort=False)
    )
    columns = ["line", "linking", "step", "phenomenon", "aggregate", "paradigms", "accuracy"]
    return stack(parts, columns)[columns]


def _average_levels(part: pd.DataFrame) -> pd.DataFrame:
    levels = levels_of(part)
    n = levels.sums(part["n"].to_numpy())
    means = levels.means(levels.sums((part["n"] * part["accuracy"]).to_numpy()), n)
    table = levels.labels.assign(accuracy=means, paradigms=levels.totals((n > 0).astype(float)).astype(int))
    table = table[table["paradigm"].isin(list(AGGREGATE_OF))]
    return table.assign(aggregate=table["paradigm"].map(AGGREGATE_OF))
