"""What scoring says: one line for each score, and what is left out of it."""

import pandas as pd

from eval.jobs import Job
from eval.pairs import identical
from eval.settings import ScoreSettings
from ucurve.progress import say

_USUAL = ("all", "all")
_AGGREGATES = {"all": _USUAL, "macro": ("all", "macro"), "macro_phenomena": ("all", "macro_phenomena")}
_SHOWN = ("slln_lp", "lp")  # the linking function that a line shows where it is there, else the first one


def say_pairs(pairs: pd.DataFrame) -> None:
    """Say how many pairs of a benchmark count in no accuracy."""
    left_out = int(identical(pairs).sum())
    if left_out:
        say(f"{pairs['benchmark'].iloc[0]}: {left_out} pairs of identical sentences are left out of every accuracy")


def say_score(job: Job, scores: pd.DataFrame, accuracies: pd.DataFrame, settings: ScoreSettings) -> None:
    """Say the overall accuracies of one score: under a preset its linking functions and its aggregate."""
    preset = settings.chosen
    aggregate = preset.aggregate if preset else "all"
    names = list(dict.fromkeys(accuracies["linking"]))
    shown = names if preset else [name for name in (*_SHOWN, *names) if name in names][:1]
    phenomenon, paradigm = _AGGREGATES[aggregate]
    rows = accuracies[
        (accuracies["phenomenon"] == phenomenon) & (accuracies["paradigm"] == paradigm) & (accuracies["split"] == "all")
    ]
    place = f"step {job.target.step} {job.benchmark} {job.scorer.name}"
    unknown = int((scores["unk_good"] + scores["unk_bad"]).sum()) if "unk_good" in scores else 0
    for row in rows[rows["linking"].isin(shown)].to_dict("records"):
        low, mean, high = (100 * float(row[name]) for name in ("ci_low", "accuracy", "ci_high"))
        say(
            f"{place} {row['linking']}: {mean:.2f} % ({low:.2f} to {high:.2f}; {aggregate}, ties {row['ties_rule']}), "
            f"{row['n']:,} pairs, {row['ties']:,} ties, {unknown:,} unknown tokens"
        )
