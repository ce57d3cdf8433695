import numpy as np
import pandas as pd
import pytest

from ucurve.analysis.linking.length_bias import ALPHAS, alpha_curve, best_alpha
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import accuracy_table


def planted(alpha, seed=0, size=900, same_length=False):
    """Build pairs that SLLN-LP decides best, and without bias to length, at ``alpha``."""
    draw = np.random.default_rng(seed)
    n = draw.integers(3, 30, size=(size, 2)).astype(float)
    n[: size // 3, 1] = n[: size // 3, 0]
    if same_length:
        n[:, 1] = n[:, 0]
    lp = (-5 + np.array([0.1, -0.1]) + draw.normal(0, 0.2, size=(size, 2))) * n**alpha
    pairs = pd.DataFrame({"paradigm": np.arange(size) % 5, "phenomenon": "X", "pair": range(size)}).astype(
        {"paradigm": str}
    )
    pairs = pairs.assign(good=[f"g{row}" for row in range(size)], bad=[f"{row}b" for row in range(size)])
    return pairs, pd.DataFrame(
        {"pair": pairs["pair"], "lp_good": lp[:, 0], "lp_bad": lp[:, 1], "n_good": n[:, 0], "n_bad": n[:, 1]}
    )


def test_the_curve_is_that_of_the_accuracies():
    pairs, scores = planted(0.4)
    curve = alpha_curve(pairs, scores, [0.0, 0.3, 1.0], "wrong")
    linkings = [parse_linking(f"slln_lp:{alpha}") for alpha in (0, 0.3, 1)]
    table = accuracy_table(pairs, scores, linkings, ["wrong"]).query("phenomenon == 'all' and paradigm == 'all'")
    for place, linking in enumerate(linkings):
        wanted = table[table["linking"] == linking.name].set_index("split")["accuracy"]
        found = curve.iloc[place]
        for name, split in (("accuracy", "all"), ("equal",) * 2, ("good_longer",) * 2, ("bad_longer",) * 2):
            assert found[name] == pytest.approx(wanted[split])
        assert found["accuracy_unequal"] == pytest.approx((wanted["good_longer"] + wanted["bad_longer"]) / 2)


def test_the_ends_favour_the_shorter_and_the_longer_member():
    curve = alpha_curve(*planted(0.5)).set_index("alpha")
    assert curve.loc[0.0, "bad_longer"] > 0.95
    assert curve.loc[0.0, "good_longer"] < 0.3
    assert curve.loc[1.0, "good_longer"] > 0.95
    assert curve.loc[1.0, "bad_longer"] < 0.3
    assert curve["equal"].nunique() == 1
    assert len(curve) == len(ALPHAS) == 21


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.75])
def test_the_planted_alpha_is_best_by_every_criterion(alpha):
    found = best_alpha(*planted(alpha), samples=200)
    assert [best.criterion for best in found] == ["accuracy", "accuracy_unequal", "delta_acc"]
    for best in found:
        assert best.alpha == pytest.approx(alpha, abs=0.051)
        assert best.low <= alpha <= best.high
        assert best.high - best.low <= 0.3


def test_fewer_pairs_leave_a_wider_interval():
    few, many = (best_alpha(*planted(0.5, size=size), samples=200)[0] for size in (60, 3000))
    assert few.high - few.low > many.high - many.low


def test_without_unequal_pairs_there_is_no_bias_to_speak_of():
    pairs, scores = planted(0.5, same_length=True)
    assert alpha_curve(pairs, scores)["delta_acc"].isna().all()
    accuracy, unequal, bias = best_alpha(pairs, scores, samples=20)
    assert accuracy.alpha == 0.0  # every alpha decides alike, and the smallest is given
    assert np.isnan([unequal.alpha, unequal.low, bias.alpha, bias.high]).all()
