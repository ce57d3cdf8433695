"""Which people's answers count: rules about catch trials, controls, training items and speed."""

from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field
from pydantic.dataclasses import dataclass

from ucurve.fields import STRICT, Share
from ucurve.validation.answer_files import GOOD
from ucurve.validation.items import CATCH, CONTROL, ITEM, TRAINING

Seconds = Annotated[float, Field(ge=0)]
_KINDS = (CATCH, CONTROL, TRAINING)
_Facts = dict[str, Any]  # of a person: the columns of ``judge_annotators`` without the last two


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Exclusion:
    """The limits of the rules, those of RuBLiMP (section 2.5) and None for none; conf/answers.yaml has the keys."""

    catch: Share | None = 0.75
    control: Share | None = 0.75
    training: Share | None = 0.70
    item_seconds: Seconds | None = None
    page_seconds: Seconds | None = None


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
    return pd.DataFrame(rows).assign(excluded=[bool(reason) for reason in reasons], reason=reasons)


def _facts(name: str, answers: pd.DataFrame) -> _Facts:
    right = answers["choice"] == answers["right"]
    judged = answers[answers["kind"] == ITEM]
    chose_good = float((judged["choice"] == GOOD).mean())
    facts: _Facts = {"annotator": name, "answers": len(judged), "chose_good": chose_good}
    for kind in _KINDS:
        of_kind = answers["kind"] == kind
        facts |= {kind: int(of_kind.sum()), f"{kind}_right": float(right[of_kind].mean()) if of_kind.any() else np.nan}
    pages = judged.groupby("page")["page_seconds"].first()
    medians = {"item_seconds": judged["seconds"].median(), "page_seconds": pages.median()}
    return facts | {name: round(float(seconds), 3) for name, seconds in medians.items()}


def _reasons(facts: _Facts, rules: Exclusion) -> list[str]:
    shares = [
        f"{facts[f'{kind}_right']:.0%} of {facts[kind]} {kind} items right, not above {limit:.0%}"
        for kind in _KINDS
        if (limit := getattr(rules, kind)) is not None and facts[f"{kind}_right"] <= limit  # NaN is below no limit
    ]
    speeds = [
        f"a median of {facts[name]:.1f} s for {what}, below {limit:g} s"
        for name, what in (("item_seconds", "an item"), ("page_seconds", "a page"))
        if (limit := getattr(rules, name)) is not None and facts[name] < limit
    ]
    return shares + speeds
