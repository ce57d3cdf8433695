import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucurve.analysis.ngrams.scores import group_kappa, ngram_agreement, pearson
from ucurve.eval.metrics.accuracy import TiesRule


def one_group(values: np.ndarray) -> np.ndarray:
    return np.zeros(len(values), dtype=np.int64)


def kappa_by_hand(table: dict[tuple[bool, bool], int]) -> float:
    """Cohen's kappa from the four cells of a table of counts."""
    n = sum(table.values())
    agreed = (table[True, True] + table[False, False]) / n
    first = (table[True, True] + table[True, False]) / n
    second = (table[True, True] + table[False, True]) / n
    chance = first * second + (1 - first) * (1 - second)
    return (agreed - chance) / (1 - chance)


def test_kappa_is_that_of_a_worked_example() -> None:
    counts = {(True, True): 20, (True, False): 5, (False, True): 10, (False, False): 15}
    said = np.array([cell for cell, count in counts.items() for _ in range(count)])
    (found,) = group_kappa(one_group(said), said[:, 0], said[:, 1], 1)
    assert found == pytest.approx(0.4)  # 35 of 50 agree where 25 would by chance
    assert found == pytest.approx(kappa_by_hand(counts))


@given(st.tuples(*[st.integers(1, 30)] * 4))
def test_kappa_equals_the_count_by_cells(counts: tuple[int, int, int, int]) -> None:
    cells = dict(zip(itertools.product((True, False), repeat=2), counts, strict=True))
    said = np.array([cell for cell, count in cells.items() for _ in range(count)])
    assert group_kappa(one_group(said), said[:, 0], said[:, 1], 1)[0] == pytest.approx(
        kappa_by_hand(cells), abs=1e-12
    )


@pytest.mark.filterwarnings("error")
def test_what_is_not_defined_is_nan_without_a_warning() -> None:
    same = np.full(6, True)
    assert np.isnan(group_kappa(one_group(same), same, same, 1)[0])
    assert group_kappa(one_group(same), same, np.arange(6) < 3, 1)[0] == 0
    constant, other = np.full(6, 0.1), np.arange(6.0)
    assert np.isnan(pearson(one_group(same), constant, other, 1)[0])
    table = ngram_agreement(pd.Series(["a"] * 6), (np.full(6, 2, np.uint8),) * 2, (constant, constant), "half")
    assert table[["pearson", "kappa", "accuracy_where_wrong"]].isna().all().all()
    assert table["ngram_wrong"].tolist() == [0, 0]


def test_correlations_by_group_are_numpy_s() -> None:
    draw = np.random.default_rng(1)
    groups = draw.integers(0, 3, 400)
    one = draw.standard_normal(400) + 50
    other = one + draw.standard_normal(400)
    wanted = [np.corrcoef(one[groups == group], other[groups == group])[0, 1] for group in range(3)]
    np.testing.assert_allclose(pearson(groups, one, other, 4), [*wanted, np.nan], rtol=1e-9)


@pytest.mark.parametrize(("rule", "credit"), [("half", 0.5), ("wrong", 0.0), ("right", 1.0)])
def test_the_table_counts_a_tie_as_not_right_and_not_wrong(rule: TiesRule, credit: float) -> None:
    phenomena = pd.Series(["a", "a", "a", "b", "b", ""])
    ours = np.array([2, 0, 2, 0, 2, 2], np.uint8)
    theirs = np.array([0, 0, 1, 1, 2, 0], np.uint8)
    draw = np.random.default_rng(2)
    margins = draw.standard_normal((2, 6))
    table = ngram_agreement(phenomena, (ours, theirs), (margins[0], margins[1]), rule).set_index("phenomenon")
    assert table.index.tolist() == ["all", "a", "b"]
    assert table["pairs"].tolist() == [6, 3, 2]
    assert table["accuracy"].tolist() == pytest.approx([4 / 6, 2 / 3, 1 / 2])
    assert table["ngram_accuracy"].tolist() == pytest.approx([(1 + 2 * credit) / 6, credit / 3, (1 + credit) / 2])
    assert table["ngram_wrong"].tolist() == [3, 2, 0]
    assert table.loc[["all", "a"], "accuracy_where_wrong"].tolist() == pytest.approx([2 / 3, 1 / 2])
    assert np.isnan(table.loc["b", "accuracy_where_wrong"])
    assert table.loc["b", "kappa"] == pytest.approx(1)  # a tie and a wrong verdict are both not right
    assert table.loc["all", "pearson"] == pytest.approx(np.corrcoef(margins)[0, 1])
