import json
from dataclasses import replace

import pandas as pd
import pytest

from tests.facts import score_inputs
from ucurve.errors import UserError
from ucurve.eval.store.scores import has_scores, keep_pairs, score_path, write_scores
from ucurve.eval.store.tables import ACCURACY, Labels, as_lines, make_blocks, read_labels, read_table
from ucurve.storage.facts import RunIdentity, Seeds
from ucurve.storage.locks import scoring_into

INPUTS = score_inputs(settings={"scorer": "sentence", "start_id": 0})
SCORES = pd.DataFrame({"pair": [0, 1], "lp_good": [-1.5, -2.5]})


LABELS = Labels("r", 8, 10, 1e9, "zhoblimp", "sentence")


def accuracies(accuracy=0.5, **changes):
    row = {
        "linking": "lp", "phenomenon": "NA", "paradigm": "all", "split": "all", "ties_rule": "half", "n": 3, "ties": 0,
        "accuracy": accuracy, "ci_low": 0.1, "ci_high": 0.9, "exact_low": 0.2, "exact_high": 0.8, "clusters": 3,
    }  # fmt: skip
    return pd.DataFrame([row | changes])


def test_scores_are_read_back_by_their_key(tmp_path):
    path = score_path(tmp_path, "zhoblimp", "sentence", 512)
    assert path == tmp_path / "eval" / "zhoblimp" / "sentence" / "step00000512.parquet"
    write_scores(path, SCORES, INPUTS, "m", {"pairs": 2})
    assert has_scores(path, INPUTS)
    pd.testing.assert_frame_equal(pd.read_parquet(path), SCORES)
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
    assert not has_scores(tmp_path / "step0.parquet", INPUTS.model_copy(update=change))


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
    assert not has_scores(path, INPUTS)


def test_a_key_that_is_no_object_means_no_score(tmp_path):
    write_scores(tmp_path / "step0.parquet", SCORES, INPUTS, "m", {})
    (tmp_path / "step0.json").write_text("[]")
    assert not has_scores(tmp_path / "step0.parquet", INPUTS)


def table_of(tmp_path, rows, **labels):
    blocks = make_blocks(ACCURACY, rows, replace(LABELS, **labels))
    path = tmp_path / "accuracy.csv"
    path.write_bytes(ACCURACY.header + b"".join(as_lines(blocks[of]) for of in sorted(blocks)))
    return read_table(ACCURACY, path)


def test_accuracy_survives_storage(tmp_path):
    table = table_of(tmp_path, accuracies(1 / 3, phenomenon="NA"), tokens=None, flops=None)
    assert table["phenomenon"].tolist() == ["NA"]  # a name, not a missing value
    assert table["tokens"].isna().tolist() == table["flops"].isna().tolist() == [True]
    assert table["accuracy"].tolist() == [1 / 3]
    assert table_of(tmp_path, accuracies())[["tokens", "step"]].values.tolist() == [[10, 8]]


def test_blocks_are_by_linking_and_ties_rule_and_know_what_they_are_of(tmp_path):
    rows = pd.concat([accuracies(linking="slor"), accuracies(), accuracies(ties_rule="wrong")], ignore_index=True)
    blocks = make_blocks(ACCURACY, rows, LABELS)
    assert sorted(blocks) == [("lp", "half"), ("lp", "wrong"), ("slor", "half")]
    assert read_labels(blocks["slor", "half"]) == LABELS
    none = replace(LABELS, tokens=None, flops=None)
    assert read_labels(make_blocks(ACCURACY, rows, none)["lp", "half"]) == none


def test_names_stay_text(tmp_path):
    table = table_of(tmp_path, accuracies(paradigm="0012", phenomenon="1e3", linking="True"), run="007")
    assert table[["run", "paradigm", "phenomenon", "linking"]].values.tolist() == [["007", "0012", "1e3", "True"]]


@pytest.mark.parametrize("text", ["", "step,accuracy\n1,0.5\n", "\xff", ",".join(ACCURACY.columns) + "\nr,x\n"])
def test_a_broken_table_is_named(tmp_path, text):
    (tmp_path / "accuracy.csv").write_text(text, encoding="latin-1")
    with pytest.raises(
        UserError, match=r"accuracy\.csv: not a table of accuracies \(.*; remove it and score again"
    ):
        read_table(ACCURACY, tmp_path / "accuracy.csv")


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
    path.with_suffix(".rows").touch()
    table = tmp_path / "eval" / "accuracy.csv"
    table.touch()
    keep_pairs(tmp_path, pairs.iloc[:10])
    assert len(pd.read_parquet(tmp_path / "eval" / "zhoblimp" / "pairs.parquet")) == 10
    assert not list(path.parent.iterdir())
    assert not table.exists()
    said = capsys.readouterr().err
    assert "are not those asked for; all scores of them are removed" in said


def test_torn_pairs_are_written_again(tmp_path, pairs):
    keep_pairs(tmp_path, pairs)
    path = tmp_path / "eval" / "zhoblimp" / "pairs.parquet"
    path.write_bytes(path.read_bytes()[:100])
    keep_pairs(tmp_path, pairs)
    assert len(pd.read_parquet(path)) == len(pairs)
