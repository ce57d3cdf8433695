import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.facts import write_manifest_of
from ucurve.errors import RunError, UserError
from ucurve.eval.run import score_model, score_run
from ucurve.eval.settings import score_settings
from ucurve.eval.store.tables import ACCURACY, read_table
from ucurve.eval.sweep.load import SweepCache

FIRST = {"pairs of zhoblimp": 1, "tokenizer": 1, "sentences": 1}  # what is made for the first checkpoint of a run


def read_accuracy(path):
    return read_table(ACCURACY, path)


@pytest.fixture
def root(tmp_path, records, write_benchmark):
    return write_benchmark(tmp_path / "benchmarks", records)


@pytest.fixture
def settings(root):
    return score_settings(benchmarks=("zhoblimp",), benchmark_root=root)


@pytest.fixture
def cache():
    """What all sweeps of a test share; it counts what they had to make."""
    return SweepCache()


def folder_of(run):
    return run / "eval" / "zhoblimp" / "sentence"


def test_files_of_the_contract(run, settings, pairs, model, plain_score, tokenizer, make_model):
    score_run(run, settings)
    files = sorted(
        str(path.relative_to(run / "eval")) for path in (run / "eval").rglob("[!.]*") if path.is_file()
    )
    scores = [
        f"zhoblimp/sentence/step0000000{step}.{kind}" for step in (0, 8) for kind in ("json", "parquet", "rows")
    ]
    assert files == ["accuracy.csv", "statistics.csv", "zhoblimp/pairs.parquet", *scores]
    table = pd.read_parquet(folder_of(run) / "step00000008.parquet")
    assert table.columns.tolist() == [
        "pair", "lp_good", "lp_bad", "n_good", "n_bad", "unigram_good", "unigram_bad", "unk_good", "unk_bad",
        "chars_good", "chars_bad", "bytes_good", "bytes_bad",
    ]  # fmt: skip
    assert table["pair"].tolist() == list(range(500))
    kept = pd.read_parquet(run / "eval" / "zhoblimp" / "pairs.parquet").iloc[13]
    ids = tokenizer(kept["good"], add_special_tokens=False)["input_ids"]
    row = table.iloc[13]
    assert row["lp_good"] == pytest.approx(plain_score(make_model(seed=8), ids, 0), abs=1e-4)
    assert row["n_good"] == len(kept["good"])
    assert row["unk_good"] == kept["good"].count("。")
    counts = np.arange(42) + 1.0
    assert row["unigram_good"] == pytest.approx(np.log(counts[ids] / counts[1:].sum()).sum())


def test_accuracy_rows(run, settings):
    score_run(run, settings)
    table = read_accuracy(run / "eval" / "accuracy.csv")
    assert set(table["linking"]) == {"lp", "mean_lp", "pen_lp", "slln_lp", "slor"}
    overall = table.query("phenomenon == 'all' and paradigm == 'all' and split == 'all' and linking == 'lp'")
    assert overall[["run", "step", "tokens", "flops", "n"]].values.tolist() == [
        ["tiny-1M-char-text-s0", 0, 0, 0.0, 500],
        ["tiny-1M-char-text-s0", 8, 8000, 8e9, 500],
    ]
    assert set(table["paradigm"]) == {
        *(f"paradigm_{number}" for number in range(5)),
        "all",
        "macro",
        "macro_phenomena",
    }


def test_one_tokenisation_and_one_load_each(run, settings, cache):
    score_run(run, settings, cache=cache)
    assert cache.made == {**FIRST, "model step00000000": 1, "model step00000008": 1}
    score_run(run, settings, steps=[0], cache=cache)
    score_run(run, settings, cache=cache)
    assert cache.made == {**FIRST, "model step00000000": 1, "model step00000008": 1}


def test_given_steps_only(run, settings, cache):
    score_run(run, settings, steps=[8], cache=cache)
    assert cache.made == {**FIRST, "model step00000008": 1}
    assert read_accuracy(run / "eval" / "accuracy.csv")["step"].unique().tolist() == [8]


def test_torn_score_is_computed_again(run, settings, cache):
    score_run(run, settings, cache=cache)
    path = folder_of(run) / "step00000008.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:-50])
    cache.made.clear()
    score_run(run, settings, cache=cache)
    assert cache.made == {"model step00000008": 1}
    assert path.read_bytes() == whole


def test_other_weights_are_scored_again(run, settings, cache, make_model, write_checkpoint):
    score_run(run, settings, cache=cache)
    before = pd.read_parquet(folder_of(run) / "step00000008.parquet")
    write_checkpoint(run / "checkpoints" / "step00000008", make_model(seed=99), 8)
    cache.made.clear()
    score_run(run, settings, cache=cache)
    assert cache.made == {"model step00000008": 1}
    assert not before.equals(pd.read_parquet(folder_of(run) / "step00000008.parquet"))


def test_no_row_of_weights_that_are_gone(run, settings, root, make_model, write_checkpoint):
    score_run(run, settings)
    write_checkpoint(run / "checkpoints" / "step00000008", make_model(seed=99), 8)
    score_run(run, score_settings(benchmarks=("zhoblimp",), benchmark_root=root, linking=("nll",)))
    table = read_accuracy(run / "eval" / "accuracy.csv")
    assert set(table[table["step"] == 8]["linking"]) == {"nll"}
    assert set(table[table["step"] == 0]["linking"]) == {"lp", "mean_lp", "pen_lp", "slln_lp", "slor", "nll"}


def test_pairs_with_columns_of_any_kind_are_scored_once(run, settings, root, records, write_benchmark, cache):
    odd = [{"spans": [[0, 1]], "meta": {}}, {"ok": True, "size": 2**70}, {"spans": None, "mix": 1}, {"mix": "x"}]
    write_benchmark(root, [record | odd[place % 4] for place, record in enumerate(records[:40])])
    score_run(run, settings, cache=cache)
    rows = read_accuracy(run / "eval" / "accuracy.csv")
    cache.made.clear()
    score_run(run, settings, steps=[0], cache=cache)
    assert cache.made == {}
    assert len(list(folder_of(run).glob("*.parquet"))) == 2
    pd.testing.assert_frame_equal(read_accuracy(run / "eval" / "accuracy.csv"), rows)


def test_torn_weights_leave_nothing(copy_model, tmp_path, settings):
    folder = copy_model()
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(UserError, match="the model does not load"):
        score_model(str(folder), tmp_path / "out", settings)
    assert not (tmp_path / "out").exists()


def test_old_scores_stay_when_the_model_does_not_load(run, settings, root, records, write_benchmark):
    score_run(run, settings)
    before = {path: path.read_bytes() for path in (run / "eval").rglob("*") if path.is_file()}
    write_benchmark(root, records[:250])
    config = run / "checkpoints" / "step00000000" / "config.json"
    config.write_text(config.read_text().replace('"hidden_size": 32', '"hidden_size": 16'))
    write_manifest_of(config.parent, 0)
    with pytest.raises(UserError, match="the model does not load"):
        score_run(run, settings)
    assert {path: path.read_bytes() for path in (run / "eval").rglob("*") if path.is_file()} == before


def test_what_a_killed_scorer_left_goes(run, settings):
    folder_of(run).mkdir(parents=True)
    (folder_of(run) / ".step00000000.parquet.tmp-0123456789ab").write_text("half")
    score_run(run, settings, steps=[0])
    assert not list(folder_of(run).glob(".*"))


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_another_configuration_is_another_score(run, settings, cache, file):
    score_run(run, settings, cache=cache)
    path = run / "checkpoints" / "step00000008" / file
    change = {"layer_norm_eps": 0.1} if file == "config.json" else {"unk_token": "<eos>"}
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    write_manifest_of(path.parent, 8)
    cache.made.clear()
    score_run(run, settings, cache=cache)
    assert cache.made == {"tokenizer": 1, "sentences": 1, "model step00000008": 1}


def test_a_tokenizer_whose_ids_have_gaps(run, settings, make_model, make_tokenizer, write_checkpoint):
    far = make_tokenizer()
    far.add_tokens(["unused"])
    state = json.loads(far.backend_tokenizer.to_str())
    state["added_tokens"][-1]["id"] = 60
    letter = next(iter(sorted(state["model"]["vocab"], key=state["model"]["vocab"].get, reverse=True)))
    state["model"]["vocab"][letter] = 59
    holed = type(far)(tokenizer_object=type(far.backend_tokenizer).from_str(json.dumps(state)), eos_token="<eos>")
    assert max(holed.get_vocab().values()) >= len(holed)
    write_checkpoint(run / "checkpoints" / "step00000008", make_model(vocabulary=61), 8, tokenizer=holed)
    np.save(run / "tokenizer" / "unigram_counts.npy", np.arange(len(holed), dtype=np.int64))
    score_run(run, settings, steps=[8])
    assert pd.read_parquet(folder_of(run) / "step00000008.parquet")["unigram_good"].notna().all()


def test_other_pairs_are_scored_again(run, settings, cache, root, records, write_benchmark):
    score_run(run, settings, cache=cache)
    write_benchmark(root, records[:250])
    cache.made.clear()
    score_run(run, settings, steps=[0], cache=cache)
    assert cache.made == {"pairs of zhoblimp": 1, "sentences": 1, "model step00000000": 1}
    table = read_accuracy(run / "eval" / "accuracy.csv")
    assert table["step"].unique().tolist() == [0]  # the other step's rows were of the old pairs
    assert table["n"].max() == 250
    assert not (folder_of(run) / "step00000008.parquet").exists()


def test_other_counts_are_another_score(run, settings, cache):
    score_run(run, settings, cache=cache)
    np.save(run / "tokenizer" / "unigram_counts.npy", np.ones(42, dtype=np.int64))
    cache.made.clear()
    score_run(run, settings, steps=[0], cache=cache)
    assert cache.made == {"model step00000000": 1}


def test_no_counts_no_slor(run, settings):
    (run / "tokenizer" / "unigram_counts.npy").unlink()
    score_run(run, settings)
    table = pd.read_parquet(folder_of(run) / "step00000000.parquet")
    assert table[["unigram_good", "unigram_bad"]].isna().all(axis=None)
    assert "slor" not in set(read_accuracy(run / "eval" / "accuracy.csv")["linking"])


def test_other_linking_costs_no_pass(run, settings, root, cache):
    score_run(run, settings, cache=cache)
    cache.made.clear()
    more = score_settings(
        benchmarks=("zhoblimp",), benchmark_root=root, linking=("slln_lp:0.3",), ties_rules=("wrong",)
    )
    score_run(run, more, cache=cache)
    assert cache.made == {}
    table = read_accuracy(run / "eval" / "accuracy.csv")
    assert set(table["linking"]) == {"lp", "mean_lp", "pen_lp", "slln_lp", "slor", "slln_lp:0.3"}
    assert set(table[table["linking"] == "slln_lp:0.3"]["ties_rule"]) == {"wrong"}
    assert not table.duplicated(["step", "linking", "phenomenon", "paradigm", "split", "ties_rule"]).any()


def test_several_benchmarks_in_one_load(run, root, records, write_benchmark, cache):
    write_benchmark(root, records[:20], name="zhoblimp-excluded")
    score_run(
        run,
        score_settings(benchmarks=("zhoblimp", "zhoblimp-excluded"), benchmark_root=root),
        steps=[0],
        cache=cache,
    )
    both = {"pairs of zhoblimp": 1, "pairs of zhoblimp-excluded": 1, "tokenizer": 1, "sentences": 2}
    assert cache.made == {**both, "model step00000000": 1}
    assert set(read_accuracy(run / "eval" / "accuracy.csv")["benchmark"]) == {"zhoblimp", "zhoblimp-excluded"}


def test_model_alone(copy_model, tmp_path, settings):
    out = tmp_path / "out"
    score_model(str(copy_model()), out, settings)
    assert (out / "eval" / "zhoblimp" / "sentence" / "step-0000001.parquet").exists()
    table = read_accuracy(out / "eval" / "accuracy.csv")
    assert table[["run", "step"]].drop_duplicates().values.tolist() == [["model", -1]]
    assert table[["tokens", "flops"]].isna().all(axis=None)


def test_not_a_number_names_item_and_checkpoint(run, settings, tokenizer, root, capsys):
    folder = run / "checkpoints" / "step00000008"
    weights = load_file(folder / "model.safetensors")
    weights["gpt_neox.embed_in.weight"][tokenizer.convert_tokens_to_ids("丁")] = torch.nan
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    write_manifest_of(folder, 8)
    message = r"step00000008: the score is not finite; benchmark zhoblimp, paradigm \w+, pair \d+, sentence '.*丁"
    with pytest.raises(RunError, match=message):
        score_run(run, settings)
    assert sorted(path.name for path in folder_of(run).iterdir()) == [
        "step00000000.json", "step00000000.parquet", "step00000000.rows",
    ]  # fmt: skip
    assert read_accuracy(run / "eval" / "accuracy.csv")["step"].unique().tolist() == [0]


def test_context_too_short_before_anything_is_scored(run, settings, make_model, write_checkpoint):
    write_checkpoint(run / "checkpoints" / "step00000008", make_model(positions=10), 8)
    with pytest.raises(
        UserError, match=r"benchmark zhoblimp, paradigm \w+, pair \d+, .*the model's context holds 10"
    ):
        score_run(run, settings)
    assert not (run / "eval").exists()


@pytest.fixture
def short_run(run, make_model, write_checkpoint):
    """The same weights, of models that read 12 tokens at most."""
    folder = run.parent / "short"
    for step in (0, 8):
        write_checkpoint(folder / "checkpoints" / f"step{step:08d}", make_model(seed=step, positions=12), step)
    shutil.copytree(run / "tokenizer", folder / "tokenizer")
    return folder


def test_pairs_that_are_too_long_are_left_out_where_that_is_wanted(run, short_run, settings, capsys):
    with pytest.raises(UserError, match="500 pairs fit, and too_long=skip scores these alone"):
        score_run(short_run, settings)
    score_run(run, replace(settings, linking=("lp",)))
    score_run(short_run, replace(settings, linking=("lp",), too_long="skip"))
    whole = pd.read_parquet(folder_of(run) / "step00000008.parquet").set_index("pair")
    fits = whole[["n_good", "n_bad"]].max(axis=1) <= 12  # the last token is not read, the start token is
    kept = pd.read_parquet(short_run / "eval/zhoblimp/pairs.parquet")
    assert 0 < fits.sum() < 500
    assert kept["pair"].tolist() == np.flatnonzero(fits).tolist()
    found = pd.read_parquet(folder_of(short_run) / "step00000008.parquet").set_index("pair")
    np.testing.assert_allclose(found["lp_good"], whole.loc[found.index, "lp_good"], atol=1e-4)
    overall = read_accuracy(short_run / "eval/accuracy.csv").query("phenomenon == 'all' and split == 'all'")
    assert set(overall.query("paradigm == 'all'")["n"]) == {fits.sum()}
    left_out = 500 - fits.sum()
    assert (
        json.loads((folder_of(short_run) / "step00000008.json").read_text())["notes"]["pairs_too_long"]
        == left_out
    )
    told = capsys.readouterr()
    assert (
        f"zhoblimp: {left_out} of 500 pairs have a sentence that is longer than the model's context" in told.err
    )
    assert f"zhoblimp ({fits.sum()} pairs that fit the context)" in told.out


def test_a_benchmark_of_which_no_pair_fits_is_refused(
    make_model, write_checkpoint, write_benchmark, records, tmp_path, settings
):
    folder = tmp_path / "runs" / "shortest"
    write_checkpoint(folder / "checkpoints" / "step00000000", make_model(positions=1), 0)
    long = [record for record in records if len(record["sentence_good"]) > 1]
    root = write_benchmark(tmp_path / "long", long)
    with pytest.raises(UserError, match=rf"0 of {len(long)} pairs fit\)"):
        score_run(folder, replace(settings, benchmark_root=root, too_long="skip"))
