import pandas as pd
import pytest

from ucurve.errors import UserError
from ucurve.eval.scoring.text.spans import find_spans


def pairs(**columns):
    row = {"benchmark": "b", "paradigm": "p", "pair": 7, "good": "the dog", "bad": "the dogs"}
    return pd.DataFrame([row | columns])


def spans(part, side="good", **columns):
    found = find_spans(pairs(**columns), side, part)
    return found["first"][0], found["end"][0]


def test_all_of_a_sentence():
    assert (spans("whole"), spans("whole", "bad")) == ((0, 7), (0, 8))


@pytest.mark.parametrize("condition", ["the", "the ", ""])
def test_target_is_what_follows_the_condition(condition):
    assert spans("target", condition=condition) == (len(condition), 7)
    assert spans("target", "bad", condition=condition) == (len(condition), 8)


def test_each_member_has_a_condition_of_its_own():
    columns = {"condition_good": "the", "condition_bad": "the d"}
    assert (spans("target", **columns), spans("target", "bad", **columns)) == ((3, 7), (5, 8))


def test_a_published_column_of_the_name_is_named():
    message = r"columns: \{condition: condition\} in the card, or custom\.columns\.condition=condi"
    with pytest.raises(UserError, match=message):
        spans("target", published_condition="the")


@pytest.mark.parametrize("condition", ["a", "the dog", "the dog ", None, 3.0])
def test_a_condition_that_is_none(condition):
    message = r"benchmark b, paradigm p, pair 7: 'the dog' must begin with its condition .* and go on after it"
    with pytest.raises(UserError, match=message):
        spans("target", condition=condition)


def test_each_member_has_a_region_of_its_own():
    columns = {"region_good": "4:7", "region_bad": "0:8"}
    assert (spans("region", **columns), spans("region", "bad", **columns)) == ((4, 7), (0, 8))


@pytest.mark.parametrize("region", ["4:8", "4:4", "5:4", "-1:3", "4", "4:", "a:b", " 4:7", "4:7\n", None, 4])
def test_a_region_that_is_none(region):
    message = r"pair 7: the region .* of 'the dog' must be FROM:TO, characters with 0 <= FROM < TO <= 7"
    with pytest.raises(UserError, match=message):
        spans("region", region_good=region, region_bad="0:1")


@pytest.mark.parametrize(("part", "column"), [("target", "condition"), ("region", "region_good")])
def test_a_column_that_is_not_there(part, column):
    message = (
        f"benchmark b: the pairs have no column {column!r}, which this way to score needs; the columns are bench"
    )
    with pytest.raises(UserError, match=message):
        spans(part)
