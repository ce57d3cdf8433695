import numpy as np
import pandas as pd
import pytest

from ucurve.analysis.pairs.section import subset_masks, subset_table


def _pairs(categories: int = 3) -> pd.DataFrame:
    names = np.repeat([f"c{number}" for number in range(categories)], 100)
    return pd.DataFrame({"paradigm": names, "handmade": np.tile(np.arange(100) < 10, categories)})


def test_subsets_have_their_sizes_in_every_category() -> None:
    pairs = _pairs()
    masks = subset_masks(pairs)
    sizes = {name: set(mask.groupby(pairs["paradigm"]).sum()) for name, mask in masks.items()}
    assert sizes == {"FIRST-10": {10}, "RANDOM-10": {10}, "RANDOM-50": {50}, "ALL": {100}}
    assert not (masks["FIRST-10"] & masks["RANDOM-10"]).any()
    assert (masks["FIRST-10"] & masks["RANDOM-50"]).any()


def test_draws_repeat_and_differ_by_seed() -> None:
    pairs = _pairs()
    assert subset_masks(pairs)["RANDOM-10"].equals(subset_masks(pairs)["RANDOM-10"])
    assert not subset_masks(pairs)["RANDOM-10"].equals(subset_masks(pairs, seed=1)["RANDOM-10"])


def test_a_seed_effect_is_seen() -> None:
    pairs = _pairs()
    credit = pd.DataFrame({"even": np.ones(300), "seed": np.where(pairs["handmade"], 1.0, 0.0)})
    table = subset_table(pairs, credit).set_index("model")
    assert table.loc["even"].tolist() == pytest.approx([1, 1, 1, 1, 0])
    assert table.loc["seed", ["FIRST-10", "RANDOM-10", "ALL"]].tolist() == pytest.approx([1, 0, 0.1])
    four = table.loc["seed", ["FIRST-10", "RANDOM-10", "RANDOM-50", "ALL"]].to_numpy(dtype=float)
    expected = np.mean([abs(one - other) for place, one in enumerate(four) for other in four[place + 1 :]])
    assert table.loc["seed", "mpad"] == pytest.approx(expected)


def test_a_small_category_gives_what_it_has() -> None:
    pairs = _pairs(1).iloc[:15]
    sizes = {name: int(mask.sum()) for name, mask in subset_masks(pairs).items()}
    assert sizes == {"FIRST-10": 10, "RANDOM-10": 5, "RANDOM-50": 15, "ALL": 15}
