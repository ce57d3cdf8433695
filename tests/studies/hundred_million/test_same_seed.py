import numpy as np
import pandas as pd
import pytest

from studies.hundred_million.same_seed import compare, kappa


def test_kappa_by_hand():
    one, other = np.array([1, 1, 1, 0, 0, 0, 0, 0], bool), np.array([1, 1, 0, 1, 0, 0, 0, 0], bool)
    by_chance = 3 / 8 * 3 / 8 + 5 / 8 * 5 / 8
    assert kappa(one, other) == pytest.approx((6 / 8 - by_chance) / (1 - by_chance))


def write_run(folder, margins):
    (folder / "eval/b/sentence").mkdir(parents=True)
    phenomena = ["fci_licensing", "fci_licensing", "topicalization", "other"]
    pd.DataFrame({"phenomenon": phenomena}).to_parquet(folder / "eval/b/pairs.parquet")
    scores = pd.DataFrame({"lp_good": margins, "lp_bad": 0.0, "n_good": 4, "n_bad": 9})
    scores.to_parquet(folder / "eval/b/sentence/step00000002.parquet")
    pd.DataFrame({"step": [1, 2], "bits_per_byte": [4.0, 3 - margins[1] / 10]}).to_csv(folder / "held_out.csv")
    return folder


def test_accuracies_and_agreement_of_runs(tmp_path):
    run = write_run(tmp_path / "run", [1.0, -1.0, 1.0, 0.0])
    same = write_run(tmp_path / "same", [1.0, 1.0, 1.0, -1.0])
    other = write_run(tmp_path / "other", [-1.0, -1.0, -1.0, 1.0])
    [row] = compare(run, same, [other], "b").to_dict("records")
    assert (row["step"], row["pairs"]) == (2, 4)
    assert (row["all_run"], row["all_same"]) == (50, 75)  # a tie is not right
    assert (row["fci_licensing_run"], row["topicalization_run"]) == (50, 100)
    assert (row["all_apart"], row["bits_per_byte_apart"]) == (25, pytest.approx(0.2))
    assert row["all_sd_of_seeds"] == pytest.approx(np.std([75, 25], ddof=1))
    assert (row["kappa_same_seed"], row["kappa_other_seeds"]) == (pytest.approx(0.5), pytest.approx(-0.6))
