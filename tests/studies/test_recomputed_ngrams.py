"""What n-gram models account for of a dip: by hand, and as the program says for the same pairs."""

import numpy as np
import pandas as pd
import pytest

from studies.recomputed import ngrams
from ucurve.analysis.ngrams.dips import Dip, account_of_dip

PAIRS = 240


def test_the_share_is_the_attributable_fraction():
    loss, wrong = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0])
    assert ngrams.share_of(loss, wrong) == 0  # both kinds of pairs lose the same
    assert ngrams.share_of(loss, np.array([1.0, 1.0, 0.0, 0.0])) == 1
    assert ngrams.share_of(loss, np.array([1.0, 0.0, 0.0, 0.0])) == pytest.approx((0.5 - 0.25) / 0.75)
    assert np.isnan(ngrams.share_of(loss, np.ones(4)))


def made_up_dip():
    """Make losses that follow the errors of the second of three orders, in four paradigms of 20 edits each."""
    random = np.random.default_rng(3)
    clusters, paradigms = np.arange(PAIRS) // 3, np.arange(PAIRS) // 60
    wrong = random.binomial(1, 0.5, (3, PAIRS // 3))[:, clusters].astype(float)
    wrong[2] = 0.5
    loss = 0.4 * wrong[1] + random.normal(0, 0.3, PAIRS)
    return loss, 0.5 - loss, wrong, paradigms, clusters


def test_accounts_are_those_of_the_program():
    loss, after, wrong, paradigms, clusters = made_up_dip()
    again = ngrams._shares_and_tests(loss, after, wrong, paradigms, clusters)
    expected = account_of_dip([1, 2, 3], Dip(loss, after, wrong, paradigms, clusters))
    for name in ("wrong", "raw_share", "share", "fit"):
        assert again[name].to_numpy() == pytest.approx(expected[name].to_numpy(), nan_ok=True)
    for name in ("share_low", "share_high", "fits_best", "p_loss", "p_follows", "p"):
        known = expected[name].notna()
        assert (again[f"{name}_least"] - 1e-9 <= expected[name])[known].all()
        assert (expected[name] <= again[f"{name}_most"] + 1e-9)[known].all()
        assert again[name].isna().tolist() == expected[name].isna().tolist()
    assert again["named"].tolist() == expected["named"].tolist() == [False, True, False]


def test_orders_of_single_runs_are_counted():
    dip = {"line": "a", "phenomenon": "x", "linking": "lp"}
    rows = [
        {**dip, "of": "s0", "order": 1, "share": 0.9, "named": False},
        {**dip, "of": "s0", "order": 2, "share": 0.8, "named": True},
        {**dip, "of": "s1", "order": 1, "share": 0.2, "named": False},
        {**dip, "of": ngrams.ALL_RUNS, "order": 1, "share": 0.7, "named": True},
    ]
    (counts,) = ngrams.counts_of_named(pd.DataFrame(rows)).to_dict("records")
    assert counts["share"] == pytest.approx(0.5)
    assert (counts["dips"], counts["runs"], counts["named"], counts["orders"]) == (2, 2, 1, "2-gram 1")


def test_dips_that_are_none_and_dips_that_are_missing_are_named():
    tests = {"line": ["a"], "phenomenon": ["x"], "linking": ["lp"]}
    lines = pd.DataFrame(
        {**tests, "p_holm_low": [0.01], "p_holm_high": [0.02], "possible_these_runs": [{"rising"}]}
    )
    alone = pd.DataFrame({**tests, "run": [0], "p_holm_low": [0.2], "p_holm_high": [0.4]})
    found = ngrams.found_dips(lines, alone, {"a": ["s0"]})
    assert ngrams.check_dips(found, [("a", "all runs", "x", "lp")]) == []
    said = ngrams.check_dips(found, [("a", "s0", "x", "lp")])
    assert [one.rpartition("] ")[2] for one in said] == ["is no dip", "is missing"]
