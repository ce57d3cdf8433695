"""Tables, pairs and scores are what was written, whatever process was killed when; damaged ones are mended or refused."""

import shutil

import pandas as pd
import pytest

from eval.api import score
from eval.metrics.fitting import FitSettings
from eval.run import score_model, score_run
from eval.settings import ScoreSettings
from eval.store import checksums as sums
from eval.store.checksums import check_summed, new_summed_file, read_sums, sums_path
from eval.store.keys import check_scores
from eval.store.scores import pairs_path, score_path
from eval.store.tables import ACCURACY, FITS, STATISTICS, add_rows
from eval.verify import verify_scores
from tests.eval.store.test_scores import accuracies
from tests.facts import manifest_of, write_run
from ucurve.errors import DamagedError, UserError
from ucurve.storage.facts import write_manifest
from ucurve.storage.files import sha256_file
from ucurve.storage.score_key import read_key
from ucurve.storage.sealed import SUMS


def flip(path, place=-2):
    whole = bytearray(path.read_bytes())
    whole[place] ^= 1
    path.write_bytes(whole)


@pytest.fixture
def settings(tmp_path, records, write_benchmark):
    fit = FitSettings(families=("slln_lp",))
    root = write_benchmark(tmp_path / "benchmarks", records[:40])
    return ScoreSettings(benchmarks=("zhoblimp",), benchmark_root=root, linking=("lp", "slln_lp"), fit=fit)


@pytest.fixture
def scored(run, settings):
    score_run(run, settings)
    return run


def bytes_of(run):
    return {path: path.read_bytes() for path in (run / "eval").rglob("*") if path.is_file()}


def test_the_sums_vouch_for_tables_and_pairs(scored):
    found = read_sums(scored)
    assert sorted(found) == ["accuracy.csv", "fits.csv", "statistics.csv", "zhoblimp/pairs.parquet"]
    assert all(len(digests) == 1 for digests in found.values())
    assert verify_scores(scored).faults == verify_scores(scored).unvouched == []


class Killed(BaseException):
    """Stands for SIGKILL."""


@pytest.mark.parametrize("last", range(1, 4))
def test_a_kill_between_any_two_files_leaves_a_table_that_is_accepted(tmp_path, monkeypatch, last):
    add_rows(ACCURACY, tmp_path, [accuracies(0)])
    replace, done = type(tmp_path).replace, []

    def dying(path, target):
        done.append(target)
        if len(done) == last:
            raise Killed
        return replace(path, target)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(type(tmp_path), "replace", dying)
        add_rows(ACCURACY, tmp_path, [accuracies(8)])
    check_summed(tmp_path, ACCURACY.path(tmp_path))
    assert len(read_sums(tmp_path)["accuracy.csv"]) == (1 if last == 1 else 2)
    add_rows(ACCURACY, tmp_path, [accuracies(16)])
    check_summed(tmp_path, ACCURACY.path(tmp_path))
    assert len(read_sums(tmp_path)["accuracy.csv"]) == 1
    flip(ACCURACY.path(tmp_path))
    with pytest.raises(DamagedError, match=r"accuracy\.csv: not what was written; python score\.py .* makes it again"):
        check_summed(tmp_path, ACCURACY.path(tmp_path))


def test_a_reader_between_two_sums_looks_again(tmp_path, monkeypatch):
    path = tmp_path / "eval" / "accuracy.csv"
    with new_summed_file(tmp_path, path) as temporary:
        temporary.write_text("old")
    path.write_text("new")
    monkeypatch.setattr(
        sums.time, "sleep", lambda _: SUMS.write(sums_path(tmp_path), {"files": {path.name: [sums.sha256_file(path)]}})
    )
    check_summed(tmp_path, path)


@pytest.mark.parametrize("kind", [ACCURACY, STATISTICS], ids=lambda kind: kind.name)
def test_a_damaged_table_is_made_again_from_the_stored_scores(scored, settings, capsys, monkeypatch, kind):
    whole = bytes_of(scored)
    digits = [place for place, byte in enumerate(whole[kind.path(scored)]) if chr(byte).isdigit()]
    monkeypatch.setattr("eval.sweep.sweep.Job.score", None)
    for place in (digits[-1], digits[len(digits) // 2]):
        flip(kind.path(scored), place)
        score_run(scored, settings, steps=[8])
        assert "its rows are made again from the stored scores" in capsys.readouterr().err
        assert bytes_of(scored) == whole


def test_damaged_sums_are_made_anew_with_the_tables_they_vouched_for(scored, settings, capsys):
    whole = {path: content for path, content in bytes_of(scored).items() if path.name != FITS.name}
    flip(sums_path(scored), 30)
    with pytest.raises(
        UserError, match=r"fits\.csv: not what was written, and it cannot be made again \(what was fitted"
    ):
        score_run(scored, settings)
    FITS.path(scored).unlink()
    score_run(scored, settings)
    assert f"{sums_path(scored)} is not what was written; it is made again" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in whole} == whole
    assert verify_scores(scored).faults == []


def test_a_damaged_table_whose_scores_are_gone_is_refused(scored, settings):
    for suffix in (".parquet", ".json"):
        score_path(scored, "zhoblimp", "sentence", 0).with_suffix(suffix).unlink()
    flip(ACCURACY.path(scored))
    before = bytes_of(scored)
    message = r"accuracy\.csv: not what was written, and it cannot be made again \(the scores of step 0, zhoblimp, sentence are not stored\)"
    with pytest.raises(UserError, match=message):
        score_run(scored, settings, steps=[8])
    assert bytes_of(scored) == before


@pytest.mark.parametrize("suffix", [".parquet", ".json"])
def test_a_damaged_score_is_named_and_made_anew(scored, settings, capsys, suffix):
    whole = bytes_of(scored)
    path = score_path(scored, "zhoblimp", "sentence", 8)
    flip(path.with_suffix(suffix), 40)
    with pytest.raises(DamagedError, match=rf"step00000008\{suffix}: (not what was written|cannot be read)"):
        check_scores(scored, path)
    score_run(scored, settings)
    assert f"{path.with_suffix(suffix)}: " in capsys.readouterr().err
    assert bytes_of(scored) == whole


def test_damaged_pairs_are_written_anew_and_no_score_with_them(scored, settings, capsys, monkeypatch):
    whole = bytes_of(scored)
    flip(pairs_path(scored, "zhoblimp"), 100)
    monkeypatch.setattr("eval.sweep.sweep.Job.score", None)
    score_run(scored, settings)
    assert "pairs.parquet is not what was written; it is written again" in capsys.readouterr().err
    assert bytes_of(scored) == whole


def test_scores_read_from_python_are_checked(scored, settings):
    result = score(scored, benchmarks=["zhoblimp"], benchmark_root=settings.benchmark_root, linking=["lp"])
    flip(score_path(scored, "zhoblimp", "sentence", 8), 100)
    with pytest.raises(DamagedError, match=r"step00000008\.parquet: not what was written; score it again"):
        result.pairs(step=8)
    flip(pairs_path(scored, "zhoblimp"), 100)
    with pytest.raises(DamagedError, match=r"pairs\.parquet: not what was written"):
        result.pairs(step=0)


def test_verify_names_what_is_foreign_alone_or_of_another_model(scored):
    place = scored / "eval" / "zhoblimp"
    (scored / "eval" / "notes.txt").write_text("mine")
    (place / "sentence" / ".step00000008.parquet.tmp-0123456789ab").write_text("half")
    (place / "sentence" / "step00000000.json").unlink()
    shutil.copyfile(place / "sentence" / "step00000008.json", place / "sentence" / "step00000016.json")
    weights = sha256_file(scored / "checkpoints" / "step00000008" / "model.safetensors")
    write_manifest(scored / "checkpoints" / "step00000008", manifest_of(8, files={"config.json": "c"}))
    found = verify_scores(scored).faults
    assert weights == read_key(place / "sentence" / "step00000008.parquet").weights_sha256
    assert found == [
        f"{scored}/eval/notes.txt: not part of the scores",
        f"{place}/sentence/.step00000008.parquet.tmp-0123456789ab: left behind by a killed process, or being written",
        f"{place}/sentence/step00000000.json: missing, and the scores are there",
        f"{place}/sentence/step00000008.json: weights_sha256, config_sha256 not that of the checkpoint",
        f"{place}/sentence/step00000016.parquet: missing, and its key is there",
    ]


def test_verify_names_rows_without_scores_and_scores_of_other_pairs(scored, pairs):
    with new_summed_file(scored, pairs_path(scored, "zhoblimp")) as temporary:
        pairs.iloc[:5].to_parquet(temporary, index=False)
    add_rows(ACCURACY, scored, [accuracies(70)])
    found = verify_scores(scored).faults
    keys = [
        f"{scored}/eval/zhoblimp/sentence/step0000000{step}.json: data_sha256 is not that of the pairs"
        for step in (0, 8)
    ]
    rows = f"{scored}/eval/accuracy.csv: rows of step 70, zhoblimp, sentence, whose scores are not stored"
    assert found == [*keys, rows]


def test_a_model_has_its_scores_checked_too(copy_model, settings, tmp_path):
    out = tmp_path / "out"
    score_model(str(copy_model()), out, settings)
    assert verify_scores(out).faults == verify_scores(out).unvouched == []
    flip(ACCURACY.path(out))
    with pytest.raises(DamagedError, match=r"python score\.py model=\.\.\. out="):
        check_summed(out, ACCURACY.path(out))
    assert "accuracy.csv: not what was written" in verify_scores(out).faults[0]
    score_model(str(copy_model()), out, settings)
    assert verify_scores(out).faults == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("config.json", r"config\.json: its hash is not the manifest's; the checkpoint is damaged"),
        ("tokenizer.json", r"tokenizer\.json: its hash is not the manifest's"),
        ("manifest.json", r"manifest\.json: (not what was written|cannot be read)"),
        ("model.safetensors", r"step00000008: the weights are not those of manifest\.json"),
    ],
)
@pytest.mark.parametrize("whole_run", [True, False])
def test_a_damaged_checkpoint_is_not_scored(run, settings, tmp_path, name, message, whole_run):
    folder = run / "checkpoints" / "step00000008"
    flip(folder / name, len((folder / name).read_bytes()) // 2)
    with pytest.raises(DamagedError, match=message):
        score_run(run, settings) if whole_run else score_model(str(folder), tmp_path / "out", settings)
    assert not (run / "eval").exists() and not (tmp_path / "out").exists()


@pytest.mark.parametrize("whole_run", [True, False])
def test_a_file_added_to_a_checkpoint_or_taken_away_is_not_scored(run, settings, tmp_path, whole_run):
    folder = run / "checkpoints" / "step00000008"
    (folder / "added_tokens.json").write_text('{"x": 1}')
    (folder / "tokenizer_config.json").unlink()
    message = r"tokenizer_config\.json: missing; .*added_tokens\.json: not in the manifest"
    with pytest.raises(DamagedError, match=message):
        score_run(run, settings) if whole_run else score_model(str(folder), tmp_path / "out", settings)


@pytest.mark.parametrize("text", ["", '{"weights_sha256": "0"', '{"manifest_sha256": "0", "step": 8}'])
def test_a_manifest_that_was_ours_is_never_taken_for_another_tools(run, settings, tmp_path, text):
    folder = run / "checkpoints" / "step00000008"
    (folder / "manifest.json").write_text(text)
    with pytest.raises(DamagedError, match=r"manifest\.json: "):
        score_model(str(folder), tmp_path / "out", settings)


def test_counts_that_are_not_the_runs_are_refused(run, settings):
    counts = run / "tokenizer" / "unigram_counts.npy"
    write_run(run, files={"tokenizer/unigram_counts.npy": sums.sha256_file(counts)})
    score_run(run, settings)
    flip(counts)
    with pytest.raises(DamagedError, match=r"unigram_counts\.npy: its hash is not run\.json's; restore it from a copy"):
        score_run(run, settings)


def test_a_checkpoint_of_a_finished_run_without_its_manifest_is_refused(run, settings):
    write_run(run)
    (run / "checkpoints" / "step00000008" / "manifest.json").unlink()
    with pytest.raises(DamagedError, match=r"step00000008/manifest\.json: cannot be read"):
        score_run(run, settings)


def test_tables_without_sums_are_built_on(tmp_path):
    rows = accuracies(0)
    path = ACCURACY.path(tmp_path)
    path.parent.mkdir()
    rows.reindex(columns=list(ACCURACY.columns)).fillna(0).to_csv(path, index=False)
    add_rows(ACCURACY, tmp_path, [accuracies(8)])
    assert len(pd.read_csv(path)) == 2
    check_summed(tmp_path, path)
