"""Whether people differ by more than chance in how often they agree with a benchmark."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ucurve.validation.answer_files import GOOD

_LEVEL = 0.05  # a p below it is significant


@dataclass(frozen=True, eq=False)
class PeopleTest:
    """What ``compare_people`` finds."""

    right: pd.Series  # by person, the share of answers that are good
    expected: pd.Series  # by person, the share of good answers that all people gave to the same items
    farthest: str  # the person who is farthest from what is expected, in standard deviations
    statistic: float
    freedom: int  # 0 where no item has answers of two kinds
    p: float  # NaN without freedom

    @property
    def sentence(self) -> str:
        """What it says, for people."""
        if not self.freedom:
            return "People cannot be compared: no item has answers of two kinds."
        p = "< 0.001" if self.p < 0.001 else f"= {self.p:.3f}"
        test = f"chi-square {self.statistic:.1f} with {self.freedom} degrees of freedom, p {p}"
        if self.p >= _LEVEL:
            return (
                f"People do not differ by more than chance in how often they agree with the benchmark ({test})."
            )
        own, all_people = self.right[self.farthest], self.expected[self.farthest]
        return (
            f"People differ by more than chance in how often they agree with the benchmark ({test}). Farthest off is "
            f"{self.farthest}, in {own:.1%} of the answers; all together agree in {all_people:.1%} on these items."
        )


def right_answers(answers: pd.DataFrame) -> pd.DataFrame:
    """Return 1 for each good answer, 0 for another one and NaN for none: a row for each item, a column for a person."""
    right = (answers["choice"] == GOOD).astype(float)
    return answers.assign(right=right).pivot_table(index="item", columns="annotator", values="right")


def compare_people(answers: pd.DataFrame) -> PeopleTest:
    """Test whether people differ: whether it is chance which of them gave the good answers that an item has.

    Items are of different difficulty, and not everybody answers all of them, so people are compared within items. Where
    all answered all items this is Cochran's Q (1950), and in general the Mantel-Haenszel statistic of mean partial
    association between person and answer (Landis, Heyman and Koch 1978).
    """
    from scipy.sparse.csgraph import connected_components
    from scipy.stats import chi2

    table = right_answers(answers)
    # Both are float64[items, people].
    given, right = table.notna().to_numpy(np.float64), table.fillna(0).to_numpy(np.float64)
    people = given.sum(axis=1)
    share = right.sum(axis=1) / people
    # An item that one person answered, or all in the same way, has the weight 0.
    weight = share * (1 - share) / np.maximum(people - 1, 1)
    covariance = np.diag((weight * people) @ given) - (weight[:, None] * given).T @ given
    apart = right.sum(axis=0) - share @ given  # float64[people]: good answers beyond what is expected
    parts, part_of = connected_components(covariance != 0)
    # Within people who share items, differences add up to 0: what is added is nothing to the statistic.
    statistic = float(apart @ np.linalg.solve(covariance + (part_of[:, None] == part_of), apart))
    freedom = len(part_of) - parts
    # Who answered only items with answers of one kind has no variance.
    spread = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    return PeopleTest(
        table.mean(), pd.Series(share @ given / given.sum(axis=0), index=table.columns),
        str(table.columns[np.abs(apart / spread).argmax()]), statistic, freedom,
        float(chi2.sf(statistic, freedom)) if freedom else math.nan,
    )  # fmt: skip
