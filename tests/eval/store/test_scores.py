import json

import numpy as np
import pandas as pd
import pytest

from eval.store.scores import keep_pairs, read_scores, score_path, write_scores
from eval.store.tables import ACCURACY, STATISTICS, add_rows, drop_scores, read_table
from tests.facts import score_inputs
from ucurve.errors import UserError
from ucurve.storage.facts import RunIdentity, Seeds
from ucurve.storage.locks import scoring_into

INPUTS = score_inputs(settings={"scorer": "sentence", "start_id": 0})
SCORES = pd.DataFrame({"pair": [0, 1], "lp_good": [-1.5, -2.5]})


def accuracies(step=0, benchmark="zhoblimp", accuracy=0.5, **changes):
    row = {
        "run": "r", "step": step, "tokens": 10, "flops": 1e9, "benchmark": benchmark, "scorer": "sentence",
        "linking": "lp", "phenomenon": "NA", "paradigm": "all", "split": "all", "ties_rule": "half", "n": 3, "ties": 0,
        "accuracy": accuracy, "ci_low": 0.1, "ci_high": 0.9,
    }  # fmt: skip
    return pd.DataFrame([row | changes])


def test_scores_are_read_back_by_their_key(tmp_path):
    path = score_path(tmp_path, "zhoblimp", "sentence", 512)
    assert path == tmp_path / "eval" / "zhoblimp" / "sentence" / "step00000512.parquet"
    write_scores(path, SCORES, INPUTS, "m", {"pairs": 2})
    pd.testing.assert_frame_equal(read_scores(path, INPUTS), SCORES)
    record = json.loads(path.with_suffix(".json").read_text())
    assert {"weights_sha256", "tokenizer_sha256", "data_sha256", "settings", "versions"} <= set(record)
    assert record["notes"] == {"pairs": 2}
    assert "torch" in record["versions"]


@pytest.mark.parametrize(
    "change",
    [
        {"weights_sha256": "x"},
        {"config_sha256": "x"},
        {"tokenizer_sha256": "x"},
        {"tokens_sha256": "x"},
        {"data_sha256": "x"},
        {"settings": {"start_id": 1}},
        {"step": 8},
        {"benchmark": "other"},
        {"scorer": "mink"},
        {"run": RunIdentity(name="r", config_sha256="c", seeds=Seeds(init=1, data=0))},
    ],
)
def test_another_key_means_no_score(tmp_path, change):
    write_scores(tmp_path / "step0.parquet", SCORES, INPUTS, "m", {})
    assert read_scores(tmp_path / "step0.parquet", INPUTS.model_copy(update=change)) is None


@pytest.mark.parametrize("suffix", [".parquet", ".json"])
@pytest.mark.parametrize("harm", ["torn", "gone"])
def test_torn_or_missing_files_mean_no_score(tmp_path, suffix, harm):
    path = tmp_path / "step0.parquet"
    write_scores(path, SCORES, INPUTS, "m", {})
    file = path.with_suffix(suffix)
    if harm == "torn":
        file.write_bytes(file.read_bytes()[:-20])
    else:
        file.unlink()
    assert read_scores(path, INPUTS) is None


def test_a_key_that_is_no_object_means_no_score(tmp_path):
    write_scores(tmp_path / "step0.parquet", SCORES, INPUTS, "m", {})
    (tmp_path / "step0.json").write_text("[]")
    assert read_scores(tmp_path / "step0.parquet", INPUTS) is None


def test_accuracy_rows_replace_those_of_the_same_score_linking_and_ties_rule(tmp_path):
    add_rows(
        ACCURACY, tmp_path, [accuracies(accuracy=0.25), accuracies(linking="mean_lp"), accuracies(ties_rule="wrong")]
    )
    add_rows(ACCURACY, tmp_path, [accuracies(accuracy=0.75)])
    table = read_table(ACCURACY, tmp_path / "eval" / "accuracy.csv")
    found = table[["linking", "ties_rule", "accuracy"]].values.tolist()
    assert found == [["lp", "half", 0.75], ["lp", "wrong", 0.5], ["mean_lp", "half", 0.5]]


def test_rows_of_a_score_made_anew_go(tmp_path):
    add_rows(ACCURACY, tmp_path, [accuracies(8), accuracies(0, accuracy=0.25), accuracies(0, "other")])
    drop_scores(ACCURACY, tmp_path, {(0, "zhoblimp", "sentence")})
    add_rows(ACCURACY, tmp_path, [accuracies(0, accuracy=0.75, linking="mean_lp")])
    table = read_table(ACCURACY, tmp_path / "eval" / "accuracy.csv")
    assert tuple(table.columns) == ACCURACY.columns
    found = table[["step", "benchmark", "linking", "accuracy"]].values.tolist()
    assert found == [[0, "other", "lp", 0.5], [0, "zhoblimp", "mean_lp", 0.75], [8, "zhoblimp", "lp", 0.5]]


def test_accuracy_survives_storage(tmp_path):
    wanted = pd.concat([accuracies(-1, tokens=None, flops=None), accuracies(8, accuracy=1 / 3)], ignore_index=True)
    add_rows(ACCURACY, tmp_path, [wanted])
    table = read_table(ACCURACY, tmp_path / "eval" / "accuracy.csv")
    assert table["phenomenon"].tolist() == ["NA", "NA"]  # a name, not a missing value
    assert table["tokens"].isna().tolist() == [True, False]
    assert table["tokens"].iloc[1] == 10
    np.testing.assert_array_equal(table["accuracy"], [0.5, 1 / 3])


def test_names_stay_text(tmp_path):
    add_rows(ACCURACY, tmp_path, [accuracies(run="007", paradigm="0012", phenomenon="1e3", linking="True")])
    table = read_table(ACCURACY, tmp_path / "eval" / "accuracy.csv")
    assert table[["run", "paradigm", "phenomenon", "linking"]].values.tolist() == [["007", "0012", "1e3", "True"]]


@pytest.mark.parametrize("text", ["", "step,accuracy\n1,0.5\n", "\xff", ",".join(ACCURACY.columns) + "\nr,x\n"])
def test_a_broken_table_is_named(tmp_path, text):
    (tmp_path / "accuracy.csv").write_text(text, encoding="latin-1")
    with pytest.raises(UserError, match=r"accuracy\.csv: not a table of accuracies \(.*; remove it and score again"):
        read_table(ACCURACY, tmp_path / "accuracy.csv")


def test_statistics_of_the_first_release_are_read_without_the_signed_differences(tmp_path):
    whole = {column: ["NA"] if kind == "str" else [1] for column, kind in STATISTICS.types.items()}
    older = pd.DataFrame(whole).drop(columns=[name for name in whole if "_minus_equal" in name])
    older.to_csv(tmp_path / "statistics.csv", index=False)
    table = read_table(STATISTICS, tmp_path / "statistics.csv")
    assert table.columns.tolist() == list(STATISTICS.columns)
    assert table["delta_acc"].tolist() == [1]
    assert table["good_longer_minus_equal_low"].isna().all()
    older.drop(columns="p_holm").to_csv(tmp_path / "statistics.csv", index=False)
    with pytest.raises(UserError, match="not a table of accuracies"):
        read_table(STATISTICS, tmp_path / "statistics.csv")


def test_leftovers_go_where_no_other_scorer_is_at_work(tmp_path):
    left = [tmp_path / "eval" / place for place in (".a.tmp-1", "b/.pairs.tmp-1", "b/sentence/.step0.tmp-1")]
    for file in left:
        file.parent.mkdir(parents=True, exist_ok=True)
    with scoring_into(tmp_path):
        for file in left:
            file.write_text("half")
        with scoring_into(tmp_path):
            assert all(file.exists() for file in left)
    with scoring_into(tmp_path):
        assert not any(file.exists() for file in left)


def test_nothing_new_writes_nothing(tmp_path):
    add_rows(ACCURACY, tmp_path, [accuracies().iloc[:0]])
    assert not (tmp_path / "eval").exists()


def test_pairs_are_kept_once(tmp_path, pairs):
    keep_pairs(tmp_path, pairs)
    path = tmp_path / "eval" / "zhoblimp" / "pairs.parquet"
    before = path.stat()
    keep_pairs(tmp_path, pairs)
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    pd.testing.assert_frame_equal(pd.read_parquet(path), pairs)


def test_other_pairs_make_scores_stale(tmp_path, pairs, capsys):
    keep_pairs(tmp_path, pairs)
    path = score_path(tmp_path, "zhoblimp", "sentence", 0)
    write_scores(path, SCORES, INPUTS, "m", {})
    add_rows(ACCURACY, tmp_path, [accuracies(0), accuracies(0, "other")])
    keep_pairs(tmp_path, pairs.iloc[:10])
    assert len(pd.read_parquet(tmp_path / "eval" / "zhoblimp" / "pairs.parquet")) == 10
    assert not list(path.parent.iterdir())
    assert read_table(ACCURACY, tmp_path / "eval" / "accuracy.csv")["benchmark"].tolist() == ["other"]
    assert "are not those asked for" in capsys.readouterr().err


def test_torn_pairs_are_written_again(tmp_path, pairs):
    keep_pairs(tmp_path, pairs)
    path = tmp_path / "eval" / "zhoblimp" / "pairs.parquet"
    path.write_bytes(path.read_bytes()[:100])
    keep_pairs(tmp_path, pairs)
    assert len(pd.read_parquet(path)) == len(pairs)
