import numpy as np
import pandas as pd
import pytest

from ucurve.analysis.ngrams.dips import describe_dips

DIP = {
    "line": "14m", "phenomenon": "NPI_licensing", "runs": 3, "items": 300, "start": 16_384.0, "bottom": 524_288.0,
    "end": 3_145_728.0, "fall": 0.123,
}  # fmt: skip
BEGINNING = "The dip of NPI licensing between 16K and 3.1M tokens (a fall of 12.3 points, lowest at 520K): "
ORDER = {
    "share": 0.78, "share_low": 0.7, "share_high": 0.85, "p": 0.0025, "accounts": False, "named": False, "fits_best": 0.0,
    "fit": 0.3,
}  # fmt: skip
NAMED = {"accounts": True, "named": True, "fits_best": 0.99, "fit": 0.4}


def describe(*orders: dict, **dip) -> str:
    rows = [DIP | dip | {"order": place + 1} | ORDER | order for place, order in enumerate(orders)]
    (sentence,) = describe_dips(pd.DataFrame(rows))
    return sentence


def test_the_order_that_accounts_for_a_dip_is_named_with_its_share() -> None:
    wanted = "2-gram errors account for 78 % of it (95 % interval 70 to 85 %), p = 0.0025 (Holm over orders)."
    assert describe({}, NAMED) == BEGINNING + wanted


def test_a_share_above_100_percent_is_explained() -> None:
    sentence = describe(NAMED | {"share": 1.4})
    assert "1-gram errors account for 140 % of it" in sentence
    assert sentence.endswith("more than all of it, because pairs that the n-gram model gets right gained.")


@pytest.mark.parametrize(("sure", "said"), [(0.8, True), (0.96, False)])
def test_other_orders_are_named_where_the_choice_is_not_sure(sure: float, said: bool) -> None:
    sentence = describe({}, NAMED | {"fits_best": sure}, {"accounts": True})
    also = "3-gram errors would account for it too, and the choice among these orders is the same in only 80 %"
    assert (also in sentence) == said


@pytest.mark.parametrize("sure", [0.8, 1.0])
def test_orders_that_are_wrong_on_the_same_pairs_are_told(sure: float) -> None:
    sentence = describe({}, NAMED | {"fits_best": sure}, NAMED | {"named": False}, {"accounts": True})
    assert "; 3-gram errors fit it just as well" in sentence
    assert ("; 4-gram errors would account for it too" in sentence) == (sure < 0.9)


def test_a_dip_that_no_order_accounts_for_is_said_to_be_so() -> None:
    sentence = describe({"share": 0.1, "p": 1.0}, {"share": 0.3, "p": 0.4})
    assert sentence == BEGINNING + (
        "no n-gram model accounts for it; the largest share is that of 2-gram errors, 30 % of it (95 % interval 70 to "
        "85 %), p = 0.4 (Holm over orders)."
    )


def test_without_a_share_and_with_one_run_the_sentence_says_so() -> None:
    sentence = describe({"share": np.nan, "p": np.nan}, runs=1)
    assert "lowest at 520K, in this run): no n-gram model can account for it" in sentence
