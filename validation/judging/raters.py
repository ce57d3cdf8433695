"""Who rated how: whose answers count, and ratings of single sentences as the file that the analysis takes."""

import math
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field
from pydantic.dataclasses import dataclass

from ucurve.eval.metrics.levels import Array
from ucurve.eval.metrics.ratings import SENTENCE, average_ratings
from ucurve.fields import STRICT, Share, format_names
from ucurve.progress import log_line
from ucurve.validation.answer_files import GOOD
from ucurve.validation.items import CATCH, CONTROL, ITEM, TRAINING


def judge_raters(ratings: pd.DataFrame, item_seconds: "Seconds | None") -> pd.DataFrame:
    """Decide for each rater whether the ratings count, by the least median time for a sentence if there is one.

    Returns:
        ``annotator``, ``answers``, ``mean`` and ``spread`` (population standard deviation) of the ratings;
        ``others`` (Pearson's r with the mean of the other raters' z-scores; NaN where one of the two does not vary);
        ``item_seconds`` (median), ``excluded`` and ``reason``.
    """
    table, by_rater = rating_matrix(ratings), ratings.groupby("annotator")
    own = by_rater["rating"]
    facts = pd.DataFrame({"answers": own.count(), "mean": own.mean(), "spread": own.std(ddof=0)})
    facts["others"] = [_agreement_with_others(table.to_numpy(), place) for place in range(table.shape[1])]
    facts["item_seconds"] = by_rater["seconds"].median().round(3)
    _name_untimed("item_seconds", item_seconds, facts["item_seconds"])
    # No time is below minus infinity, so without a limit nobody is excluded.
    slow = facts["item_seconds"] < (-math.inf if item_seconds is None else item_seconds)
    reasons = [
        f"a median of {seconds:.1f} s for an item, below {item_seconds:g} s" if excluded else ""
        for seconds, excluded in zip(facts["item_seconds"], slow, strict=True)
    ]
    return facts.assign(excluded=slow, reason=reasons).reset_index()


def rating_matrix(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each sentence, in the order of the answers, and a column for each rater, by name."""
    table = ratings.pivot_table(index="item", columns="annotator", values="rating")
    return table.loc[list(dict.fromkeys(ratings["item"]))]


def rating_file(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return the file for ``ratings=``: ``sentence``, and a column for each rater."""
    table = rating_matrix(ratings)
    table.columns = pd.Index([f"rater {name}" for name in table.columns])
    return table.rename_axis(SENTENCE).reset_index()


def _agreement_with_others(numbers: Array, place: int) -> float:
    """Correlate a rater's numbers, a column of float64[sentences, raters], with the mean of the others' z-scores."""
    own, others = numbers[:, place], np.delete(numbers, place, axis=1)
    both = ~np.isnan(own) & ~np.isnan(others).all(axis=1)
    if both.sum() < 2:  # of which there is no correlation
        return math.nan
    mean = average_ratings(others[both])[0]
    if np.ptp(own[both]) == 0 or np.ptp(mean) == 0:
        return math.nan
    return float(np.corrcoef(own[both], mean)[0, 1])


Seconds = Annotated[float, Field(ge=0)]
_KINDS = (CATCH, CONTROL, TRAINING)
_Facts = dict[str, Any]  # of a person: the columns of ``judge_annotators`` without the last two


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Exclusion:
    """The limits of the rules, those of RuBLiMP (section 2.5) and None for none; conf/answers.yaml has the keys."""

    catch: Share | None
    control: Share | None
    training: Share | None
    item_seconds: Seconds | None
    page_seconds: Seconds | None


def judge_annotators(answers: pd.DataFrame, rules: Exclusion) -> pd.DataFrame:
    """Decide for each person whether the answers count.

    Returns:
        ``annotator``; ``answers`` (to items that are judged) and ``chose_good`` (share of them); of each kind of test,
        how many were answered (``catch``) and the share that was right (``catch_right``, NaN without any);
        ``item_seconds`` and ``page_seconds`` (medians, NaN where times are not known); ``excluded`` (bool) and
        ``reason`` (every rule that was broken, in words).
    """
    rows = [_facts(str(name), group) for name, group in answers.groupby("annotator", sort=True)]
    reasons = ["; ".join(_reasons(row, rules)) for row in rows]
    for name in ("item_seconds", "page_seconds"):
        _name_untimed(name, getattr(rules, name), {str(row["annotator"]): row[name] for row in rows})
    return pd.DataFrame(rows).assign(excluded=[bool(reason) for reason in reasons], reason=reasons)


def _name_untimed(rule: str, limit: "Seconds | None", medians: Mapping[str, float] | pd.Series) -> None:
    """Name the people whose answers have no times where a rule on times is asked for."""
    untimed = [str(name) for name, seconds in medians.items() if np.isnan(seconds)]
    if limit is not None and untimed:
        log_line(
            f"exclude.{rule}={limit:g} excludes nobody of {format_names(untimed)}: their answers have no times"
        )


def _facts(name: str, answers: pd.DataFrame) -> _Facts:
    """Summarize the answers of one person, also those to tests."""
    right = answers["choice"] == answers["right"]
    judged = answers[answers["kind"] == ITEM]
    chose_good = float((judged["choice"] == GOOD).mean())
    facts: _Facts = {"annotator": name, "answers": len(judged), "chose_good": chose_good}
    for kind in _KINDS:
        of_kind = answers["kind"] == kind
        facts |= {
            kind: int(of_kind.sum()),
            f"{kind}_right": float(right[of_kind].mean()) if of_kind.any() else np.nan,
        }
    # Every answer on a page has the time of the whole page.
    pages = judged.groupby("page")["page_seconds"].first()
    medians = {"item_seconds": judged["seconds"].median(), "page_seconds": pages.median()}
    return facts | {name: round(float(seconds), 3) for name, seconds in medians.items()}


def _reasons(facts: _Facts, rules: Exclusion) -> list[str]:
    """Say which rules a person has broken; none for somebody whose answers count."""
    shares = [
        f"{facts[f'{kind}_right']:.0%} of {facts[kind]} {kind} items right, not above {limit:.0%}"
        for kind in _KINDS
        if (limit := getattr(rules, kind)) is not None
        and facts[f"{kind}_right"] <= limit  # NaN is below no limit
    ]
    speeds = [
        f"a median of {facts[name]:.1f} s for {what}, below {limit:g} s"
        for name, what in (("item_seconds", "an item"), ("page_seconds", "a page"))
        if (limit := getattr(rules, name)) is not None and facts[name] < limit
    ]
    return shares + speeds
