"""Sets of one good sentence and several bad ones: right, wrong or tied as a whole, and counted once."""

import pandas as pd
import pytest

from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import accuracy_table

LP = [parse_linking("lp")]
PARADIGMS = ["p"] * 8 + ["q"] * 2
SETS = ["1", "1", "1", "2", "2", "3", "3", None, "1", None]
# right, right, right | right, wrong | tie, right | alone: right || another paradigm's set 1: tie | alone: wrong
BAD = [-2.0, -3, -4, -3, 0, -1, -2, -2, -1, 0]
LONGER = [0, 0, 1, 0, 0, 1, 1, 0, 0, 0]


def pairs() -> pd.DataFrame:
    table = pd.DataFrame({"phenomenon": "a", "paradigm": PARADIGMS, "pair": range(10), "set": SETS})
    return table.assign(good=[f"good {n}" for n in range(10)], bad=[f"bad {n}" for n in range(10)])


def scores() -> pd.DataFrame:
    table = pd.DataFrame({"pair": range(10), "lp_good": -1.0, "lp_bad": BAD, "n_good": 4})
    return table.assign(n_bad=[4 + longer for longer in LONGER])


@pytest.mark.parametrize(("rule", "tie"), [("half", 0.5), ("wrong", 0.0), ("right", 1.0)])
def test_a_set_is_judged_as_a_whole_and_counts_once(rule, tie):
    rows = accuracy_table(pairs(), scores(), LP, [rule]).set_index(["split", "phenomenon", "paradigm"])
    assert list(rows.loc[("all", "a", "p"), ["n", "ties"]]) == [4, 1]
    assert list(rows.loc[("all", "a", "q"), ["n", "ties"]]) == [2, 1]
    accuracy = rows["accuracy"]
    assert accuracy["all", "a", "p"] == (2 + tie) / 4
    assert accuracy["all", "a", "q"] == tie / 2
    assert accuracy["all", "all", "all"] == pytest.approx((2 + 2 * tie) / 6)
    assert accuracy["all", "all", "macro"] == pytest.approx(((2 + tie) / 4 + tie / 2) / 2)


def test_a_set_is_in_a_length_split_when_all_its_pairs_are():
    n = accuracy_table(pairs(), scores(), LP).set_index(["split", "phenomenon", "paradigm"])["n"]
    assert n["all", "all", "all"] == 6
    assert n["equal", "all", "all"] == 4  # the first set has pairs of both kinds
    assert n["bad_longer", "all", "all"] == 1


def test_a_table_of_sets_of_one_pair_is_that_without_sets():
    alone = pairs().assign(set=[f"set {number}" for number in range(10)])
    without = accuracy_table(alone.drop(columns="set"), scores(), LP)
    pd.testing.assert_frame_equal(accuracy_table(alone, scores(), LP), without)
    assert set(without.query("paradigm == 'all' and phenomenon == 'all' and split == 'all'")["n"]) == {10}
