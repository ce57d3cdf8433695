"""Tables, pairs and scores are what was written, whatever process was killed when; damaged ones are mended or refused."""

import shutil
from dataclasses import replace

import pandas as pd
import pytest

from tests.facts import manifest_of, write_run
from tests.printed import read_printed
from tests.settings import fit_settings
from ucurve.errors import DamagedError, UserError
from ucurve.eval.api import score
from ucurve.eval.run import load_benchmarks, score_model, score_run
from ucurve.eval.settings import score_settings
from ucurve.eval.store import rows as store_rows
from ucurve.eval.store.keys import check_scores
from ucurve.eval.store.rows import read_score_rows, write_rows
from ucurve.eval.store.scores import pairs_path, score_path
from ucurve.eval.store.tables import ACCURACY, FITS, TABLES
from ucurve.eval.store.views import load_table
from ucurve.eval.sweep import store as sweep_store
from ucurve.eval.verify import verify_scores
from ucurve.storage.facts import write_manifest
from ucurve.storage.files import sha256_file
from ucurve.storage.score_key import read_key


def flip(path, place=-2):
    whole = bytearray(path.read_bytes())
    whole[place] ^= 1
    path.write_bytes(whole)


@pytest.fixture(scope="module")
def settings(tmp_path_factory, records, write_benchmark):
    fit = fit_settings(families=("slln_lp",))
    root = write_benchmark(tmp_path_factory.mktemp("benchmarks"), records[:40])
    return score_settings(benchmarks=("zhoblimp",), benchmark_root=root, linking=("lp", "slln_lp"), fit=fit)


@pytest.fixture(scope="module")
def scored_once(untouched_run, settings, tmp_path_factory):
    run = shutil.copytree(untouched_run, tmp_path_factory.mktemp("scored") / untouched_run.name)
    score_run(run, settings)
    return run


@pytest.fixture
def scored(scored_once, tmp_path):
    return shutil.copytree(scored_once, tmp_path / "runs" / scored_once.name)


def bytes_of(run):
    return {path: path.read_bytes() for path in (run / "eval").rglob("*") if path.is_file()}


def test_rows_lie_beside_each_score_and_a_table_is_all_of_them(scored):
    rows = [read_score_rows(score_path(scored, "zhoblimp", "sentence", step)) for step in (0, 8)]
    for kind in TABLES:
        assert kind.path(scored).read_bytes() == kind.header + b"".join(
            one.lines(kind, of) for one in rows for of in one.names(kind)
        )
    assert verify_scores(scored) == verify_scores(scored, deep=True) == []


def test_rows_of_another_version_are_made_again(run, settings, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(store_rows, "VERSION", store_rows.VERSION - 1)
        score_run(run, settings)
        old = bytes_of(run)
    with pytest.raises(DamagedError, match="its numbers are those of another version of this suite"):
        load_table(ACCURACY, run)
    score_run(run, settings)
    assert "another version of this suite computed the accuracies of 2 stored scores" in capsys.readouterr().err
    assert verify_scores(run, deep=True) == []
    new = bytes_of(run)
    assert new.keys() == old.keys()
    assert {path.suffix for path in old if old[path] != new[path]} == {".rows"}


@pytest.mark.parametrize("harm", ["changed", "missing", "torn", "empty"])
@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.name)
def test_a_table_is_made_again_from_the_rows_and_nothing_is_computed(
    scored, settings, capsys, monkeypatch, kind, harm
):
    whole = bytes_of(scored)
    path = kind.path(scored)
    damage(path, harm)
    if harm != "missing":  # a table may be missing, as after a kill
        assert verify_scores(scored) == [f"{path}: not what the rows of the stored scores give"]
        with pytest.raises(
            DamagedError, match=rf"{path.name}: not what was written; python score\.py run=.* makes it"
        ):
            load_table(kind, scored)
    monkeypatch.setattr("ucurve.eval.store.rows.accuracy_table", None)
    score_run(scored, settings, steps=[8])
    assert ("it is made again from the rows" in capsys.readouterr().err) == (harm != "missing")
    assert bytes_of(scored) == whole


def damage(path, harm):
    content = path.read_bytes()
    places = [place for place, byte in enumerate(content) if chr(byte).isdigit()]
    middle = places[len(places) // 2]
    after = {"changed": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
             "torn": content[: len(content) // 2], "empty": b""}  # fmt: skip
    path.unlink()
    if harm in after:
        path.write_bytes(after[harm])


def test_a_table_is_not_believed_where_all_its_rows_are_gone(scored, settings):
    """As after a backup that leaves out files of this kind."""
    whole = bytes_of(scored)
    for rows in (scored / "eval").rglob("*.rows"):
        rows.unlink()
    with pytest.raises(
        DamagedError, match=r"step00000000\.rows: missing, and .*accuracy\.csv is there; score it again"
    ):
        load_table(ACCURACY, scored)
    score_run(scored, settings)
    assert bytes_of(scored) == whole
    for path in (*(scored / "eval").rglob("*.rows"), *(scored / "eval").rglob("step*.json")):
        path.unlink()
    assert len(load_table(ACCURACY, scored)), "as another tool leaves its table"


@pytest.mark.parametrize("harm", ["changed", "missing", "torn", "empty"])
def test_damaged_rows_are_computed_again_from_the_scores(scored, settings, capsys, monkeypatch, harm):
    whole = bytes_of(scored)
    path = score_path(scored, "zhoblimp", "sentence", 8).with_suffix(".rows")
    damage(path, harm)
    assert verify_scores(scored)
    monkeypatch.setattr("ucurve.eval.sweep.compute.Computer.compute", None)
    score_run(scored, settings)
    assert ("they are made again from the scores" in capsys.readouterr().err) == (harm != "missing")
    assert bytes_of(scored) == whole


def test_rows_are_merged_and_only_what_is_new_is_computed(scored, settings, monkeypatch, capsys):
    before = read_score_rows(score_path(scored, "zhoblimp", "sentence", 8))
    asked = []
    compute = store_rows.statistics_table
    monkeypatch.setattr(store_rows, "statistics_table", lambda *given: asked.append(given[2:]) or compute(*given))
    monkeypatch.setattr("ucurve.eval.sweep.compute.Computer.compute", None)
    capsys.readouterr()
    score_run(scored, settings)
    assert asked == []
    said = capsys.readouterr()
    assert f"{scored.name}: 2 of 2 scores are stored already\n" in said.err
    assert [row["step"] for row in read_printed(said.out)] == ["0", "8"]
    score_run(scored, replace(settings, linking=("lp", "nll"), fit=None), steps=[8])
    assert [([linking.name for linking in linkings], rule) for linkings, rule in asked] == [(["nll"], "half")]
    after = read_score_rows(score_path(scored, "zhoblimp", "sentence", 8))
    assert {name: after.blocks[name] for name in before.blocks} == before.blocks
    assert set(load_table(ACCURACY, scored)["linking"]) == {"lp", "slln_lp", "nll"}
    [row] = read_printed(capsys.readouterr().out)
    assert row.keys() >= {"lp", "nll"}, "what was stored and what is new stand on one line"


def test_all_checkpoints_are_shown_by_what_is_asked_for_also_when_all_is_stored(run, settings, capsys):
    def shown(*linking):
        capsys.readouterr()
        score_run(run, replace(settings, linking=linking, fit=None))
        return read_printed(capsys.readouterr().out)

    shown("lp")
    computed = shown("slln_lp:0.3")
    assert [(row["step"], *(set(row) & {"lp", "slln_lp:0.3"})) for row in computed] == [
        ("0", "slln_lp:0.3"),
        ("8", "slln_lp:0.3"),
    ]
    assert shown("slln_lp:0.3") == computed


def test_a_new_fit_is_added_and_a_known_one_is_not_computed(scored, settings, monkeypatch):
    other = replace(settings, fit=fit_settings(families=("slln_lp", "pen_lp"), share=0.25))
    score_run(scored, other)
    table = load_table(FITS, scored)
    assert table.groupby("step").size().tolist() == [3, 3]
    monkeypatch.setattr(sweep_store, "fit", None)
    score_run(scored, other)
    pd.testing.assert_frame_equal(load_table(FITS, scored), table)


@pytest.mark.parametrize("on", ["paradigms", "oracle", "ratings", "ratings that are gone"])
def test_deep_verification_fits_again(run, settings, tmp_path, on):
    ratings = None
    if on.startswith("ratings"):
        pairs = load_benchmarks(settings)[0]
        ratings = tmp_path / "ratings.csv"
        pd.DataFrame({"sentence": pairs["good"][:9], "r": range(9)}).to_csv(ratings, index=False)
    fit = fit_settings(families=("slln_lp",), on=on.partition(" ")[0], ratings=ratings)
    score_run(run, replace(settings, fit=fit))
    assert verify_scores(run, deep=True) == []
    path = score_path(run, "zhoblimp", "sentence", 8)
    rows = read_score_rows(path)
    (of,) = [name for name in rows.blocks if name[0] == "fits.csv"]
    cells = rows.blocks[of].decode().split(",")
    cells[FITS.columns.index("linking")] = "slln_lp:0.77"
    rows.blocks[of] = ",".join(cells).encode()
    write_rows(path, rows)
    for kind in TABLES:
        kind.path(run).unlink()
    if on == "ratings that are gone":
        ratings.unlink()
        assert verify_scores(run, deep=True) == []
        return
    (fault,) = verify_scores(run, deep=True)
    assert fault.startswith(f"{path.with_suffix('.rows')}: the rows of fits.csv, slln_lp, ")


def test_deep_verification_computes_rows_from_the_scores(scored):
    path = score_path(scored, "zhoblimp", "sentence", 8)
    rows = read_score_rows(path)
    of = next(name for name in rows.blocks if name[0] == "accuracy.csv")
    rows.blocks[of] = rows.blocks[of].replace(b"0.5", b"0.6", 1)
    write_rows(path, rows)
    for kind in TABLES:
        kind.path(scored).unlink()
    assert verify_scores(scored) == []
    (fault,) = verify_scores(scored, deep=True)
    assert fault.startswith(f"{path.with_suffix('.rows')}: the rows of accuracy.csv, ")


def test_a_table_of_somebody_else_is_not_replaced(run, settings):
    path = ACCURACY.path(run)
    path.parent.mkdir()
    path.write_text("")
    with pytest.raises(
        UserError, match=r"eval/accuracy\.csv: not a table of scores that are stored here; remove it"
    ):
        score_run(run, settings)
    assert [path.name for path in path.parent.iterdir()] == ["accuracy.csv"]


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
    monkeypatch.setattr("ucurve.eval.sweep.compute.Computer.compute", None)
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
    found = [fault for fault in verify_scores(scored) if ".csv" not in fault]
    assert weights == read_key(place / "sentence" / "step00000008.parquet").weights_sha256
    assert found == [
        f"{scored}/eval/notes.txt: not part of the scores",
        f"{place}/sentence/.step00000008.parquet.tmp-0123456789ab: left behind by a killed process, or being written",
        f"{place}/sentence/step00000000.json: missing, and the scores are there",
        f"{place}/sentence/step00000008.json: weights_sha256, config_sha256 not that of the checkpoint",
        f"{place}/sentence/step00000016.parquet: missing, and its key is there",
    ]


def test_verify_names_rows_without_scores_and_scores_of_other_pairs(scored, pairs):
    path = pairs_path(scored, "zhoblimp")
    pairs.iloc[:5].to_parquet(path, index=False)
    place = scored / "eval" / "zhoblimp" / "sentence"
    shutil.copyfile(place / "step00000008.rows", place / "step00000070.rows")
    found = verify_scores(scored)
    assert [fault for fault in found if not fault.startswith(f"{scored}/eval/") or ".csv" not in fault] == [
        *[f"{path}: not the pairs of {place}/step0000000{step}.parquet" for step in (0, 8)],
        f"{place}/step00000070.json: missing, and step00000070.rows is there",
    ]


def test_a_model_has_its_scores_checked_too(copy_model, settings, tmp_path):
    out = tmp_path / "out"
    score_model(str(copy_model()), out, settings)
    assert verify_scores(out) == []
    flip(ACCURACY.path(out))
    with pytest.raises(DamagedError, match=r"python score\.py model=\.\.\. out="):
        load_table(ACCURACY, out)
    assert "accuracy.csv: not what" in verify_scores(out)[0]
    score_model(str(copy_model()), out, settings)
    assert verify_scores(out) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("config.json", r"config\.json: its hash is not the manifest's; the checkpoint is damaged"),
        ("tokenizer.json", r"tokenizer\.json: its hash is not the manifest's"),
        ("manifest.json", r"manifest\.json: (not what was written|cannot be read)"),
        (
            "model.safetensors",
            r"step00000008: the weights are not those of manifest\.json; the checkpoint is damaged",
        ),
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
    write_run(run, files={"tokenizer/unigram_counts.npy": sha256_file(counts)})
    score_run(run, settings)
    flip(counts)
    with pytest.raises(
        DamagedError, match=r"unigram_counts\.npy: its hash is not run\.json's; restore it from a copy"
    ):
        score_run(run, settings)


def test_a_checkpoint_of_a_finished_run_without_its_manifest_is_refused(run, settings):
    write_run(run)
    (run / "checkpoints" / "step00000008" / "manifest.json").unlink()
    with pytest.raises(DamagedError, match=r"step00000008/manifest\.json: cannot be read"):
        score_run(run, settings)
