"""What people's answers say about each paradigm: accuracy with intervals, agreement, and whether it is kept.

Also as the files that ``analyze.py`` takes: ``human=``, ``ratings=`` and ``rating_pairs=``.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from pydantic.dataclasses import dataclass

from ucurve.errors import unknown_name
from ucurve.fields import STRICT
from ucurve.validation.answer_files import BAD, CHOICES, GOOD, NONE
from ucurve.validation.judging import aggregation
from ucurve.validation.judging.aggregation import code_votes
from ucurve.validation.judging.agreement import fleiss_kappa, krippendorff_alpha, raw_agreement
from ucurve.validation.judging.people import right_answers
from ucurve.yaml_files import read_yaml

TIE = "tie"
_SAMPLES = 1000  # the bootstrap draws so many
_BOUNDS = (2.5, 97.5)  # percentiles of a 95 % interval
_RULES = Path(__file__).parent / "rules.yaml"


@dataclass(frozen=True, config=STRICT)
class Rule:
    """A rule by which a paradigm is kept: a share is at least a limit."""

    share: str  # the column of ``judge_paradigms`` that is compared
    limit: float
    words: str  # what the share is, for people


def find_rule(name: str) -> Rule:
    """Return a rule of rules.yaml.

    Raises:
        UserError: naming the rules that there are.
    """
    rules = load_rules()
    if name not in rules:
        raise unknown_name("rule", name, rules)
    return rules[name]


def load_rules() -> dict[str, Rule]:
    """Return the rules of rules.yaml, by name."""
    return read_yaml(_RULES, dict[str, Rule])


def judge_items(answers: pd.DataFrame) -> pd.DataFrame:
    """Find the label of each item, from the answers of the people who count.

    Returns:
        ``item``; ``good``, ``bad`` and ``none`` (votes); ``majority`` (the choice with the most votes, or ``TIE``);
        ``dawid_skene`` and ``p_good`` (the most probable choice and the probability of ``good``);
        ``p_good_converged`` (of ``converged_dawid_skene``); ``wawa`` (the choice with the most votes, weighted by the
        voters' skills).
    """
    votes = code_votes(answers)
    given = aggregation.vote_shares(votes) * np.bincount(votes.item)[:, None]
    counts = votes.table(given).reindex(columns=list(CHOICES), fill_value=0.0).astype(int)
    most = counts.max(axis=1)
    majority = counts.idxmax(axis=1).where(counts.eq(most, axis=0).sum(axis=1) == 1, TIE)
    probabilities = votes.table(aggregation.dawid_skene(votes))
    return counts.assign(
        majority=majority,
        dawid_skene=probabilities.idxmax(axis=1),
        p_good=_of_good(probabilities),
        p_good_converged=_of_good(votes.table(aggregation.converged_dawid_skene(votes))),
        wawa=votes.table(aggregation.wawa(votes)).idxmax(axis=1),
    ).reset_index()


def people_skills(answers: pd.DataFrame) -> pd.Series:
    """Return the WAWA skill of each person whose answers count, by name."""
    votes = code_votes(answers)
    return pd.Series(aggregation.worker_skills(votes), index=list(votes.people), name="skill")


def judge_paradigms(
    answers: pd.DataFrame, judged: pd.DataFrame, items: pd.DataFrame, rule: Rule, seed: int
) -> pd.DataFrame:
    """Summarize the answers that count for each paradigm, and decide whether the rule keeps it.

    Returns:
        ``paradigm``, ``phenomenon``, ``items``, ``annotators``, ``correct`` and ``total`` (answers); ``accuracy`` with
        ``low`` and ``high`` (Wilson's 95 % interval, which takes all answers as independent) and with
        ``clustered_low`` and ``clustered_high`` (of ``clustered_interval``); ``majority_good`` and ``plausible`` (share
        of items whose majority, and whose label of Dawid-Skene, is good); ``wawa`` (share of the votes that equal the
        label of Dawid-Skene, mean over items, as in RuBLiMP); ``raw``, ``kappa`` and ``alpha``; ``keep`` and
        ``reason``.
    """
    named = judged.merge(items[["item", "paradigm", "phenomenon"]], on="item")
    labeled = answers.merge(judged[["item", "dawid_skene"]], on="item")
    agrees = (labeled["choice"] == labeled["dawid_skene"]).groupby(labeled["item"]).mean()
    rows = []
    for name, group in named.groupby("paradigm", sort=True):
        own = answers[answers["paradigm"] == name]
        rows.append(_paradigm_row(str(name), group, own, agrees, seed))
    table = pd.DataFrame(rows)
    keep = table[rule.share] >= rule.limit - 1e-9  # 4 / 5 is not quite .8 in every sum
    sign = keep.map({True: "at least", False: "below"})
    reasons = [
        f"{share:.1%} of {rule.words}, {word} {rule.limit:.0%}"
        for share, word in zip(table[rule.share], sign, strict=True)
    ]
    return table.assign(keep=keep, reason=reasons)


def clustered_interval(answers: pd.DataFrame, seed: int) -> tuple[float, float]:
    """Return a 95 % percentile interval of the share of right answers that draws people and items again.

    Answers to one item resemble each other, and so do answers of one person; items and people are drawn independently
    of each other (the pigeonhole bootstrap, Owen 2007), which gives rather too wide an interval than too narrow a one.
    """
    matrix = right_answers(answers).to_numpy(np.float64)
    given = ~np.isnan(matrix)
    random = np.random.default_rng(seed)
    # How often each item and each person is drawn: int64[samples, items] and int64[samples, people].
    rows, columns = (random.multinomial(size, np.full(size, 1 / size), _SAMPLES) for size in matrix.shape)
    correct = ((rows @ np.where(given, matrix, 0.0)) * columns).sum(axis=1)
    total = ((rows @ given.astype(float)) * columns).sum(axis=1)
    # A sample may have drawn no answer at all.
    low, high = np.percentile(correct[total > 0] / total[total > 0], _BOUNDS)
    return float(low), float(high)


def wilson_interval(right: float, total: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(right, total, method="wilson")
    return float(low), float(high)


def _paradigm_row(
    name: str, judged: pd.DataFrame, answers: pd.DataFrame, agrees: pd.Series, seed: int
) -> dict[str, object]:
    """Summarize the items and the answers of one paradigm, a row of ``judge_paradigms``."""
    counts = judged[list(CHOICES)].to_numpy(np.float64)
    # The first of ``CHOICES`` is the good sentence.
    correct, total = int(counts[:, 0].sum()), int(counts.sum())
    low, high = wilson_interval(correct, total)
    clustered_low, clustered_high = clustered_interval(answers, seed)
    return {
        "paradigm": name, "phenomenon": judged["phenomenon"].iloc[0], "items": len(judged),
        "annotators": int(answers["annotator"].nunique()), "correct": correct, "total": total,
        "accuracy": correct / total, "low": low, "high": high,
        "clustered_low": clustered_low, "clustered_high": clustered_high,
        "majority_good": float((judged["majority"] == GOOD).mean()),
        "plausible": float((judged["dawid_skene"] == GOOD).mean()),
        "wawa": float(agrees[judged["item"]].mean()),
        "raw": raw_agreement(counts), "kappa": fleiss_kappa(counts), "alpha": krippendorff_alpha(counts),
    }  # fmt: skip


def _of_good(probabilities: pd.DataFrame) -> pd.Series:
    return probabilities[GOOD] if GOOD in probabilities else pd.Series(0.0, index=probabilities.index)


def human_table(paradigms: pd.DataFrame) -> pd.DataFrame:
    """Return the file for ``human=`` from a row for each paradigm, also for those that the rule drops."""
    table = paradigms[["paradigm", "correct", "total", "accuracy", "phenomenon"]]
    return table.rename(columns={"paradigm": "UID", "accuracy": "acc"})


def rating_tables(answers: pd.DataFrame, items: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the files for ``ratings=`` (1: chosen) and ``rating_pairs=``; none where the items have no sentences."""
    rated = answers[answers["choice"] != NONE]
    sentences = items[items["item"].isin(rated["item"]) & (items[GOOD] != "") & (items[BAD] != "")]
    if sentences.empty:
        return {}
    chose = rated.assign(chose=(rated["choice"] == GOOD).astype(int))
    chosen = chose.pivot_table(index="item", columns="annotator", values="chose").astype("Int64")
    # So that nobody is named like the other column.
    chosen.columns = pd.Index([f"rater {name}" for name in chosen.columns])
    good = chosen.loc[sentences["item"]].reset_index(drop=True)
    ratings = pd.concat([good, 1 - good], ignore_index=True)
    ratings.insert(0, "sentence", pd.concat([sentences[GOOD], sentences[BAD]]).to_numpy())
    return {"ratings": ratings, "rating_pairs": sentences[[GOOD, BAD]]}
