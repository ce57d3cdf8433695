"""Tables: accuracies by linking function and length split, headline numbers, what the runs are, what is missing."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from analysis.frames import last_scored, overall, targets
from analysis.runs import Run
from eval.linking import FAMILIES
from eval.metrics import delta_acc
from eval.tables import ACCURACY
from ucurve.run_folder import METRICS

SPLITS = ("equal", "good_longer", "bad_longer")
_LINKING_ORDER = ("lp", "mean_lp", "pen_lp", "slor", "morcela", "slln_lp")


def linking_by_run(scores: pd.DataFrame) -> pd.DataFrame:
    """Tabulate by linking function the last checkpoint of each run scored with it (ZhoBLiMP, Table 5).

    Args:
        scores: rows of ``score_frame``, all linking functions and splits.

    Returns:
        One row per run, benchmark, scorer and linking function: ``step``, ``tokens``, ``n`` (pairs), ``ties``,
        ``ties_rule`` (what a tie counts), ``accuracy`` (all pairs), then accuracy and pairs of each length split, and
        ``delta_acc``: the mean of the two absolute differences to the equal split (section 4.2). A split without pairs
        leaves NaN.
    """
    rows = last_scored(scores[(scores["phenomenon"] == "all") & (scores["paradigm"] == "all")])
    keys = ["run", "group", "step", "tokens", "benchmark", "scorer", "linking", "ties_rule"]
    rows = rows.astype({key: str for key in keys if key not in ("step", "tokens")} | {"split": str})
    whole = rows[rows["split"] == "all"][[*keys, "n", "ties", "accuracy"]]
    on = [key for key in keys if key not in ("group", "tokens")]
    for split in SPLITS:
        part = rows[rows["split"] == split][[*on, "accuracy", "n"]]
        whole = whole.merge(part.rename(columns={"accuracy": split, "n": f"n_{split}"}), on=on, how="left")
    return _ordered(whole.assign(delta_acc=_biases(whole)), "run")


def with_overall(cells: pd.DataFrame) -> pd.DataFrame:
    """Compute from the length splits what they come to (ZhoBLiMP, section 4.2 and Table 5).

    Args:
        cells: accuracy (``equal``, ``good_longer``, ``bad_longer``) and pairs (``n_equal``, ...) of each split; the
            accuracy of a split without pairs is NaN.

    Returns:
        The table with ``accuracy`` (over all pairs: that of the splits weighted by their pairs; NaN without pairs) and
        ``delta_acc``.
    """
    n = cells[[f"n_{split}" for split in SPLITS]].fillna(0).to_numpy(dtype=float)
    right = np.where(n > 0, cells[list(SPLITS)].to_numpy(dtype=float) * n, 0)
    total = n.sum(axis=1)
    accuracy = right.sum(axis=1) / np.where(total > 0, total, np.nan)
    return cells.assign(accuracy=accuracy, delta_acc=_biases(cells))


def linking_by_line(by_run: pd.DataFrame) -> pd.DataFrame:
    """Average ``linking_by_run`` over the runs of each line that stand at the same step.

    Returns:
        One row per line, step, benchmark, scorer, linking function and ties rule: ``runs``, mean ``accuracy``, its
        sample standard deviation ``accuracy_sd``, and the means of the splits' accuracies and of ``delta_acc``.
    """
    keys = ["benchmark", "scorer", "group", "step", "tokens", "linking", "ties_rule"]
    means = {name: (name, "mean") for name in (*SPLITS, "delta_acc")}
    table = by_run.groupby(keys, as_index=False, dropna=False, sort=False).agg(
        runs=("run", "count"), accuracy=("accuracy", "mean"), accuracy_sd=("accuracy", "std"), **means
    )
    return _ordered(table, "group")


def headline(scores: pd.DataFrame, runs: Iterable[Run], linking: str) -> pd.DataFrame:
    """Tabulate the overall accuracy of each run before training and at its last scored checkpoint.

    Returns:
        One row per run and benchmark: ``start`` (step 0, NaN where it has no score), ``accuracy``, ``ci_low``,
        ``ci_high``, ``n`` (pairs), ``ties`` (how many of them score equal), ``ties_rule`` (what a tie counts), ``step``
        and ``tokens`` of the last scored checkpoint, ``checkpoints`` (how many have a score).
    """
    rows = overall(scores[scores["linking"] == linking]).astype({"run": str, "benchmark": str, "scorer": str})
    keys = ["run", "benchmark", "scorer"]
    last = last_scored(rows)[[*keys, "step", "tokens", "n", "ties", "ties_rule", "accuracy", "ci_low", "ci_high"]]
    start = rows[rows["step"] == 0][[*keys, "accuracy"]].rename(columns={"accuracy": "start"})
    counts = rows.groupby(keys, as_index=False).agg(checkpoints=("step", "nunique"))
    status = pd.DataFrame([{"run": run.label, "status": run.status} for run in runs])
    table = last.merge(start, on=keys, how="left").merge(counts, on=keys).merge(status, on="run")
    first = ["run", "status", "benchmark", "scorer", "checkpoints", "start", "accuracy", "ci_low", "ci_high"]
    columns = [*first, "n", "ties", "ties_rule", "step", "tokens"]
    return table[columns].sort_values(["benchmark", "scorer"], kind="stable", ignore_index=True)


def provenance(runs: Iterable[Run]) -> pd.DataFrame:
    """Tabulate what made each run, as its run.json says; a value it does not give is an empty string."""
    return pd.DataFrame([_provenance(run) for run in runs])


def missing(runs: Sequence[Run], scores: pd.DataFrame, linking: str) -> pd.DataFrame:
    """List what is not there: unfinished runs, checkpoints that are absent, benchmarks, scores, ``linking``.

    A benchmark is missing of a run when others were scored on it.

    Returns:
        Columns ``run``, ``missing`` and ``detail``; no rows when nothing is missing.
    """
    rows = [(run.label, *problem) for run in runs for problem in _problems(run, scores, linking)]
    return pd.DataFrame(rows, columns=["run", "missing", "detail"])


def linking_order(name: str) -> tuple[int, float, str]:
    """Return what sorts linking functions as ZhoBLiMP's Table 5 does: by function, then by its first parameter."""
    function, *parameters = name.split(":")
    place = _LINKING_ORDER.index(function) if function in _LINKING_ORDER else len(_LINKING_ORDER)
    defaults = tuple(FAMILIES[function].defaults.values()) if function in FAMILIES else ()
    first = next(iter((*parameters, *defaults)), 0.0)
    return place, _number(first), name


def _number(parameter: object) -> float:
    try:
        return float(str(parameter))
    except ValueError:
        return math.inf


def _biases(cells: pd.DataFrame) -> list[float]:
    return [_delta(row) for row in cells[list(SPLITS)].itertuples(index=False, name=None)]


def _delta(row: Sequence[float]) -> float:
    equal, good_longer, bad_longer = row
    if any(pd.isna(value) for value in row):
        return float("nan")
    return float(delta_acc(good_longer, bad_longer, equal))


def _ordered(table: pd.DataFrame, line: str) -> pd.DataFrame:
    """Order by benchmark, then by line as the lines come in, then the linking functions as the paper does."""
    placed = table.assign(line=pd.factorize(table[line])[0], place=table["linking"].map(linking_order))
    ordered = placed.sort_values(["benchmark", "scorer", "line", "step", "place"])
    return ordered.drop(columns=["line", "place"]).reset_index(drop=True)


def _provenance(run: Run) -> dict[str, object]:
    record = run.record
    revision = str(record.get("code_revision") or "")
    versions = record.get("versions") or {}
    return {
        "run": run.label,
        "folder": str(run.folder),
        "status": run.status,
        "model": record.get("model", ""),
        "parameters": run.parameters or "",
        "tokens": record.get("tokens_budget", ""),
        "tokenizer": record.get("tokenizer", ""),
        "data": record.get("data", ""),
        "seeds": _listed(record.get("seeds") or {}),
        "configuration": str(record.get("config_sha256", ""))[:12],
        "code": revision[:12] + ("+changes" if revision.endswith("+changes") else ""),
        "versions": _listed(versions),
        "hardware": _listed(record.get("hardware") or {}),
    }


def _listed(values: dict[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if value not in (None, [], ""))


def _problems(run: Run, scores: pd.DataFrame, linking: str) -> list[tuple[str, str]]:
    problems = []
    if run.status not in ("finished", "not trained here"):
        problems.append(("finished run", f"status: {run.status}"))
    absent = sorted(set(run.planned) - set(run.saved)) if run.saved else []
    if absent:
        problems.append(("checkpoints", _steps(absent)))
    if run.status != "not trained here" and not (run.folder / METRICS).is_file():
        problems.append(("training metrics", f"no {METRICS}"))
    own = scores[scores["run"] == run.label]
    return problems + _unscored(run, own, linking) + _benchmarks_left_out(own, scores)


def _unscored(run: Run, scores: pd.DataFrame, linking: str) -> list[tuple[str, str]]:
    if scores.empty:
        there = ACCURACY.path(run.folder).is_file()
        return [("scores", f"{ACCURACY.place} has no row to draw" if there else f"no {ACCURACY.place}")]
    problems = []
    for benchmark, scorer in targets(scores):
        rows = scores[(scores["benchmark"] == benchmark) & (scores["scorer"] == scorer)]
        unscored = sorted(set(run.saved) - set(rows["step"]))
        if unscored:
            problems.append((f"scores on {benchmark}", _steps(unscored)))
        if linking not in set(rows["linking"].unique()):
            problems.append((f"{linking} on {benchmark}", "not among the linking functions it was scored with"))
    return problems


def _benchmarks_left_out(own: pd.DataFrame, scores: pd.DataFrame) -> list[tuple[str, str]]:
    if own.empty:
        return []  # said once, of all benchmarks
    left_out = sorted(set(scores["benchmark"].unique()) - set(own["benchmark"].unique()))
    return [(f"scores on {benchmark}", "none, while other runs were scored on it") for benchmark in left_out]


def _steps(steps: Sequence[int], most: int = 12) -> str:
    shown = ", ".join(str(step) for step in steps[:most])
    more = f" and {len(steps) - most} more" if len(steps) > most else ""
    return f"{len(steps)} without: step{'s' if len(steps) > 1 else ''} {shown}{more}"
