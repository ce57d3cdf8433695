import os
from pathlib import Path

import pandas as pd
import pytest

from ucurve.errors import UserError
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.metrics.clusters import edit, pair_clusters
from ucurve.eval.metrics.levels import levels_of
from ucurve.eval.metrics.sampling import clusters_of

PAIRS = pd.DataFrame({
    "paradigm": ["a", "a", "a", "b", "b"],
    "good": ["他吃了饭", "她吃了面", "他吃过饭", "the cat sleeps", "a dog sleeps"],
    "bad": ["他吃着饭", "她吃着面", "他吃着饭", "the cat sleep", "a dog sleep"],
    "verb": ["eat", "eat", "eat", "sleep", None],
})  # fmt: skip


@pytest.mark.parametrize(
    ("good", "bad", "left"),
    [
        ("他吃了饭", "他吃着饭", ("了", "着")),
        ("他吃了", "他吃", ("了", "")),
        ("the cat sleeps", "the cat sleep", ("sleeps", "sleep")),
        ("who saw him", "who him saw", ("saw him", "him saw")),
        ("same", "same", ("", "")),
        ("aa", "aaa", ("", "a")),
    ],
)
def test_an_edit_is_what_differs(good: str, bad: str, left: tuple[str, str]) -> None:
    assert edit(good, bad) == left


@pytest.mark.parametrize(
    ("cluster", "sizes"),
    [("edit", [2, 1, 2]), ("pair", [1] * 5), ("paradigm", [3, 2]), ("verb", [3, 1, 1])],
)
def test_pairs_are_put_together(cluster: str, sizes: list[int]) -> None:
    clusters = pair_clusters(PAIRS, cluster)
    assert sorted(pd.Series(clusters).value_counts()) == sorted(sizes)


def test_the_same_edit_in_two_paradigms_is_two_clusters() -> None:
    pairs = pd.DataFrame({"paradigm": ["a", "b"], "good": ["他了", "我了"], "bad": ["他着", "我着"]})
    assert len(set(pair_clusters(pairs, "edit"))) == 2


def test_pairs_with_the_same_edit_are_put_together_however_many_edits_there_are() -> None:
    words = [chr(0x4E00 + number // 2) for number in range(80)]
    pairs = pd.DataFrame({"phenomenon": "p", "paradigm": "a", "good": words, "bad": "好"})
    assert len(set(pair_clusters(pairs))) == 40


def test_pairs_of_a_set_are_put_together_with_those_that_have_the_edit_of_its_first() -> None:
    """The pair without a set comes first, so that sets are not numbered in the order of the rows."""
    pairs = pd.DataFrame({
        "phenomenon": "p", "paradigm": "a", "set": [None, "x", "x", "y", "y"],
        "good": ["他了", "我了", "我了", "你好", "你好"], "bad": ["他着", "我着", "我过", "你坏", "你差"],
    })  # fmt: skip
    assert pd.factorize(pair_clusters(pairs))[0].tolist() == [0, 0, 0, 1, 1]


def test_the_clusters_of_tests_of_shape_are_those_of_accuracies() -> None:
    pairs = PAIRS.assign(phenomenon="p")
    of_accuracies = clusters_of(pairs, levels_of(pairs)).of
    assert len(set(zip(of_accuracies, pair_clusters(pairs), strict=True))) == len(set(of_accuracies))


def test_an_unknown_column_is_named_with_the_nearest_one() -> None:
    with pytest.raises(
        UserError, match=r"unknown cluster 'verbs' in pairs.parquet; allowed: .*Did you mean 'verb'"
    ):
        pair_clusters(PAIRS, "verbs", "pairs.parquet")


def test_the_39_paradigms_of_zhoblimp_with_one_edit() -> None:
    shared = Path(os.environ.get("UCURVE_SHARED", Path(__file__).resolve().parents[4] / "shared")) / "benchmarks"
    if not (shared / "zhoblimp").is_dir():
        pytest.skip("the published benchmark files are not here (../shared or $UCURVE_SHARED)")
    zhoblimp_pairs = load_benchmark("zhoblimp", shared)
    clusters = pd.Series(pair_clusters(zhoblimp_pairs, "edit")).groupby(zhoblimp_pairs["paradigm"].to_numpy())
    assert (clusters.nunique() == 1).sum() == 39
    assert clusters.nunique().median() == 16
