import numpy as np
import pandas as pd
import pytest

from tests.analysis.papers import printed
from ucurve.analysis.languages.section import group_members, group_table, language_table, resource_splits
from ucurve.eval.benchmarks.registry import find_card

# MultiBLiMP, Table 3: the column All of the models whose column of Table 5 is legible
ALL = {
    "Llama3-8B": 86.9, "Llama3-8B-it": 85.6, "Llama3-tulu3": 84.9, "Aya-8B": 80.4, "Aya-32B": 86.4,
    "Gemma3-12B-it": 82.9, "Gemma3-27B": 90.2, "OLMo2-32B-it": 81.5, "EuroLLM-9B": 85.8, "GPT2-xl": 63.4,
}  # fmt: skip
# the plain means over languages of the same columns (P18)
OVER_LANGUAGES = (81.4, 80.3, 78.9, 75.3, 80.3, 77.0, 83.2, 75.7, 78.2, 65.2)


def _points() -> pd.DataFrame:
    table = printed("multiblimp_table5").rename_axis("language").reset_index()
    return table.melt(["language", "n"], var_name="model", value_name="accuracy")


def test_all_of_multiblimp_table_3_is_weighted_by_pairs() -> None:
    """P18: within .14 (one n reads 187 in the text, the pairs of another language); not a mean over languages."""
    table = group_table(_points()).set_index("model")
    assert list(table.index) == list(ALL)
    off = (table["over_pairs"] - pd.Series(ALL)).abs()
    assert off.max() < 0.145
    assert table["over_languages"].round(1).tolist() == list(OVER_LANGUAGES)
    assert (table["over_languages"] - pd.Series(ALL)).abs().min() > 1.7
    assert table["languages"].tolist() == [101] * 10


def test_the_pairs_of_table_5_are_fewer_than_section_5_says() -> None:
    """128,321 are printed. Without Tatar and Chinese, whose treebanks give none here either."""
    table = printed("multiblimp_table5")
    assert (len(table), int(table["n"].sum())) == (101, 121_480)
    published = {name.partition("/")[2] for name in find_card("multiblimp").members}
    assert published.isdisjoint({"tat", "zho"})
    assert published >= {"eus", "tur", "rus", "eng", "nld", "uig", "san", "swe"}


def test_resource_splits_are_60_30_and_10_percent() -> None:
    frequency = pd.Series([*np.geomspace(1, 1e9, 10), np.nan])
    assert resource_splits(frequency).tolist() == ["low"] * 6 + ["mid"] * 3 + ["high", ""]
    counts = resource_splits(pd.Series(range(1, 102), dtype=float)).value_counts()
    assert counts.to_dict() == {"low": 60, "mid": 30, "high": 11}


def _languages() -> pd.DataFrame:
    return pd.DataFrame({
        "language": ["nld", "tur", "eus"], "name": ["Dutch", "Turkish", "Basque"], "frequency": [100.0, 10.0, 1.0],
        "EU": [True, False, False],
    })  # fmt: skip


def test_groups_are_averaged_in_both_ways() -> None:
    points = pd.DataFrame({
        "model": "m", "language": ["nld", "tur", "eus"], "n": [300, 100, 100], "accuracy": [0.9, 0.7, 0.5],
    })  # fmt: skip
    table = group_table(points, group_members(_languages())).set_index("group")
    assert table.loc["all", ["over_pairs", "over_languages"]].tolist() == pytest.approx([0.78, 0.7])
    assert table.loc["low", "over_pairs"] == 0.5
    assert table.loc["mid", "over_pairs"] == 0.7
    assert table.loc["high", "over_pairs"] == table.loc["EU", "over_pairs"] == 0.9
    assert table["n"].to_dict() == {"all": 500, "low": 100, "mid": 100, "high": 300, "EU": 300}


def test_languages_stand_by_name_with_what_is_known_of_them() -> None:
    points = pd.DataFrame({
        "model": ["m", "m", "k"], "language": ["tur", "xxx", "tur"], "n": [10, 20, 10], "accuracy": [0.7, 0.5, 0.6],
    })  # fmt: skip
    table = language_table(points, _languages())
    assert table["name"].tolist() == ["Turkish", "xxx"]
    assert table["split"].tolist() == ["high", ""]
    assert table[["m", "k"]].to_numpy().tolist()[0] == [0.7, 0.6]
    assert np.isnan(table.loc[1, "k"])
    assert language_table(points)["name"].tolist() == ["tur", "xxx"]
