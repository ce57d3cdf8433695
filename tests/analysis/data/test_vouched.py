"""Files that are not what was written are refused by name."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.analysis.item_runs import pair_table, score_table
from tests.analysis.synthetic import MakeRun, score_row
from tests.facts import change_run, store_rows, store_scores
from tests.settings import analyze_settings
from ucurve.analysis.data.files import stored_pairs, stored_scores
from ucurve.analysis.data.frames import score_frame
from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.data.study import read_study
from ucurve.analysis.linking.tokenizers import tokenizer_table
from ucurve.errors import DamagedError
from ucurve.eval.pairs import data_hash
from ucurve.eval.store.scores import keep_pairs, score_path
from ucurve.eval.store.tables import ACCURACY
from ucurve.storage.files import sha256_file

ROWS = [score_row(step, 0.5) for step in (0, 8)]
BITS = {1: 3.0, 8: 2.0}


@pytest.fixture
def folder(make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run as training and scoring leave it, everything vouched for."""
    monkeypatch.chdir(tmp_path)
    run = make_run(ROWS, bits=BITS)
    statistics = run / "tokenizer" / "statistics.json"
    statistics.write_text(json.dumps({"tokens": {"all": 5}}))
    files = {"tokenizer/statistics.json": sha256_file(statistics)}
    change_run(run, files=files, metrics_sha256=sha256_file(run / "metrics.jsonl"))
    pairs = pair_table({"a": "p"}, 2).assign(benchmark="zho")
    keep_pairs(run, pairs)
    for step in (0, 8):
        store_scores(run, "zho", "sentence", step, score_table(pairs, pairs.index.to_numpy()))
    store_rows(run)
    return run


def read_all(folder: Path) -> None:
    runs = find_runs([str(folder)])
    read_study(runs, analyze_settings(runs=str(folder), out="figures"))
    tokenizer_table(runs)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("run.json", r"run\.json: not what was written"),
        ("metrics.jsonl", r"metrics\.jsonl: not what was written; restore it from a copy"),
        ("eval/accuracy.csv", r"accuracy\.csv: not what was written; python score\.py run=.* makes it again"),
        ("eval/zho/sentence/step00000008.json", r"step00000008\.json: not what was written"),
        ("eval/zho/sentence/step00000008.rows", r"step00000008\.rows: not what was written"),
        ("tokenizer/statistics.json", r"statistics\.json: its hash is not run\.json's"),
        ("checkpoints/step00000008/manifest.json", r"manifest\.json: not what was written"),
    ],
)
def test_a_changed_digit_is_refused(folder: Path, name: str, message: str) -> None:
    read_all(folder)
    path = folder / name
    whole = bytearray(path.read_bytes())
    whole[max(place for place, byte in enumerate(whole) if chr(byte).isdigit())] ^= 1
    path.write_bytes(whole)
    with pytest.raises(DamagedError, match=message):
        read_all(folder)


@pytest.mark.parametrize("name", ["metrics.jsonl", "tokenizer/statistics.json"])
def test_a_file_that_was_taken_away_is_refused(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(DamagedError, match=rf"{Path(name).name}: missing"):
        read_all(folder)


def test_a_run_without_its_record_is_refused(folder: Path) -> None:
    (folder / "run.json").rename(folder / "config.yaml")
    with pytest.raises(DamagedError, match=r"run\.json: missing, and the folder is a run's"):
        read_all(folder)


def test_a_checkpoint_in_the_place_of_another_is_refused(folder: Path) -> None:
    (folder / "checkpoints" / "step00000008").rename(folder / "checkpoints" / "step00000009")
    with pytest.raises(DamagedError, match=r"step00000009/manifest\.json: of step 8, in the folder of step 9"):
        read_all(folder)


def test_damaged_scores_and_pairs_are_refused(tmp_path: Path) -> None:
    pairs = pair_table({"a": "p"}, 2).assign(benchmark="zho")
    keep_pairs(tmp_path, pairs)
    path = score_path(tmp_path, "zho", "sentence", 8)
    table = score_table(pairs, pairs.index.to_numpy())
    store_scores(tmp_path, "zho", "sentence", 8, table, data_sha256=data_hash(pairs))
    store_scores(tmp_path, "zho", "sentence", 4, table, data_sha256=data_hash(pairs))
    assert stored_pairs(tmp_path, "zho") is not None and stored_scores(tmp_path, "zho", "sentence", 8) is not None
    for file in (path, path.with_suffix(".json")):
        whole = file.read_bytes()
        file.write_bytes(whole[:60] + bytes([whole[60] ^ 1]) + whole[61:])
        message = r"step00000008\.\w+: (not what was written|cannot be read).*score it again, or delete"
        with pytest.raises(DamagedError, match=message):
            stored_scores(tmp_path, "zho", "sentence", 8)
        file.unlink()
        with pytest.raises(DamagedError, match=r"step00000008\.\w+: missing, and"):
            stored_scores(tmp_path, "zho", "sentence", 8)
        file.write_bytes(whole)
    file = tmp_path / "eval" / "zho" / "pairs.parquet"
    file.write_bytes(file.read_bytes()[:-9])
    message = r"pairs\.parquet: not what was written; python score\.py .* writes it again"
    with pytest.raises(DamagedError, match=message):
        stored_pairs(tmp_path, "zho")


def test_a_missing_table_is_read_from_the_rows_of_the_scores(folder: Path) -> None:
    frame = score_frame(find_runs([str(folder)]))
    ACCURACY.path(folder).unlink()
    pd.testing.assert_frame_equal(score_frame(find_runs([str(folder)])), frame)
    assert frame["step"].tolist() == [0, 8]
