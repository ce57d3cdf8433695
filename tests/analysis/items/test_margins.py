"""Margins over training, against numbers by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from tests.analysis.item_runs import make_item_run, pair_table
from ucurve.analysis.api import open_study
from ucurve.analysis.items.histories import History
from ucurve.analysis.items.margins import margin_sections, margin_table
from ucurve.analysis.report.html import TableView

PAIRS = pair_table({"p": "first", "q": "second"}, 10)
STEPS = (0, 1, 2, 4)


@pytest.fixture
def study(make_run, tmp_path):
    draw = np.random.default_rng(3)
    for seed in range(2):
        verdicts = draw.integers(0, 3, (len(STEPS), len(PAIRS))).astype(np.uint8)
        make_item_run(make_run, PAIRS, dict(zip(STEPS, verdicts, strict=True)), seed=seed)
    return open_study(f"{tmp_path}/runs/*")


def test_quantiles_and_shares_equal_those_of_the_margins_of_single_pairs(study):
    table = study.margin_summary(linking="lp", beyond=0.5)
    margins = study.margins(linking="lp")
    assert len(table) == 2 * 3 * len(STEPS)
    for row in table.to_dict("records"):
        own = margins[(margins["run"] == row["run"]) & (margins["step"] == row["step"])]
        if row["phenomenon"] != "all":
            own = own[own["phenomenon"] == row["phenomenon"]]
        assert row["n"] == len(own)
        assert row["margin_median"] == pytest.approx(own["margin"].median())
        assert row["margin_q05"] == pytest.approx(own["margin"].quantile(0.05))
        assert row["wrong"] == pytest.approx((own["margin"] < 0).mean())
        assert row["wrong_by_more"] == pytest.approx((own["margin"] < -0.5).mean())
        assert row["d_prime"] == pytest.approx(np.sqrt(2) * own["margin"].mean() / own["margin"].std(ddof=0))


def test_d_prime_of_normal_margins_is_that_of_their_accuracy(study):
    (first, *_) = study._histories(study.scored())
    draw = np.random.default_rng(4)
    items = np.arange(len(PAIRS))
    margins = draw.normal(0.7, 1.3, (1, 200_000))
    many = first.shared.table.iloc[np.resize(items, margins.shape[1])]
    shared = type(first.shared)(many.reset_index(drop=True))
    history = History(first.run, first.checkpoints[:1], shared, np.arange(margins.shape[1]), margins > 0, margins)
    row = margin_table([history]).iloc[0]
    assert norm.cdf(row["d_prime"] / np.sqrt(2)) == pytest.approx(1 - row["wrong"], abs=0.005)


def test_the_report_shows_the_last_checkpoint_of_each_line(study):
    (section,) = margin_sections(study.scored())
    (drawing,) = section.drawings
    (view,) = [part for part in section.content if isinstance(part, TableView)]
    assert drawing.name == "margins_zho_overall"
    assert view.table["phenomenon"].tolist() == ["all", "first", "second"]
    assert set(view.table["step"]) == {4}
    assert view.table["runs"].tolist() == [2, 2, 2]
    assert isinstance(section.tables["margins_zho"], pd.DataFrame)


def test_equal_margins_have_no_d_prime(make_run, tmp_path):
    make_item_run(make_run, PAIRS, {step: np.full(len(PAIRS), 2) for step in STEPS})
    table = open_study(f"{tmp_path}/runs/*").margin_summary(linking="lp")
    assert table["d_prime"].isna().all()
    assert (table["wrong_by_more"] == 0).all()
