"""Names with a language, of subsets and of own pairs, from the configuration to run folders, tables and figures."""

import json
import shutil

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.settings import analyze_settings
from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.data.study import read_study
from ucurve.analysis.sections import make_report
from ucurve.analysis.summary import runs_sections
from ucurve.config import check, compose
from ucurve.errors import UserError
from ucurve.eval.pairs import data_hash
from ucurve.eval.run import execute
from ucurve.eval.settings import ScoreCommand
from ucurve.eval.store.tables import ACCURACY, STATISTICS, read_table


@pytest.fixture
def root(tmp_path, records, write_benchmark):
    """ZhoBLiMP, two suites of Basque and one of Hindi, and MultiBLiMP's Dutch, in the letters of the tokenizer."""
    root = write_benchmark(tmp_path / "benchmarks", records[:60])
    (root / "tse").mkdir()
    suite = [[["一丁", "一丁"], [target, "丈三" + target]] for target in ("七万", "丈三上")]
    for name in ("basque-DO-S_DO_V_AUX", "basque-S-S_V_AUX", "hindi-S_O_V"):
        (root / "tse" / f"{name}.json").write_text(json.dumps(suite, ensure_ascii=False))
    (root / "multiblimp").mkdir()
    rows = ["一丁七\t一丁万\tSV-#\tSG -> PL\t1", "丈三上\t丈下\tSV-#\tPL -> SG\t-1"]
    text = "sen\twrong_sen\tphenomenon\tfeature_vals\tdistance\n" + "\n".join(rows) + "\n"
    (root / "multiblimp" / "nld.tsv").write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def score(run, root):
    def call(*overrides):
        execute(
            check(
                ScoreCommand,
                compose("score", [f"run={run}", f"benchmark_root={root}", "linking=[lp]", *overrides]),
            )
        )
        return read_table(ACCURACY, ACCURACY.path(run))

    return call


def of_model(model, *overrides):
    """Score a model; Hydra's own function to compose takes ``model=`` for a group of train.py."""
    execute(check(ScoreCommand, compose("score", list(overrides)) | {"model": str(model)}))


def study_of(run):
    settings = analyze_settings(runs=[str(run)], out="figures", linking="lp")
    return read_study(find_runs(settings.runs), settings)


def test_languages_have_folders_and_rows_of_their_own(run, score):
    table = score("benchmarks=[tse,multiblimp/nld]")
    assert table[["benchmark", "scorer"]].drop_duplicates().values.tolist() == [
        ["multiblimp/nld", "sentence"], ["tse/eus", "conditional"], ["tse/hin", "conditional"],
    ]  # fmt: skip
    assert (run / "eval" / "tse" / "eus" / "conditional" / "step00000008.parquet").is_file()
    assert (run / "eval" / "multiblimp" / "nld" / "pairs.parquet").is_file()


def test_one_language_changes_and_the_other_keeps_its_scores(run, score, root):
    score("benchmarks=[tse]")
    file = root / "tse" / "basque-S-S_V_AUX.json"
    file.write_text(json.dumps(json.loads(file.read_text())[:1]))
    hindi = (run / "eval" / "tse" / "hin" / "conditional" / "step00000000.parquet").stat().st_mtime_ns
    table = score("benchmarks=[tse]", "steps=[0]")
    assert (run / "eval" / "tse" / "hin" / "conditional" / "step00000000.parquet").stat().st_mtime_ns == hindi
    assert set(table[table["benchmark"] == "tse/eus"]["step"]) == {0}
    assert set(table[table["benchmark"] == "tse/hin"]["step"]) == {0, 8}


def test_a_subset_is_never_mixed_with_the_whole(run, score, capsys):
    score("benchmarks=[zhoblimp]")
    whole = pd.read_parquet(run / "eval" / "zhoblimp" / "pairs.parquet")
    table = score("benchmarks=[zhoblimp]", "subset=5")
    part = pd.read_parquet(run / "eval" / "zhoblimp@5" / "pairs.parquet")
    assert data_hash(pd.read_parquet(run / "eval" / "zhoblimp" / "pairs.parquet")) == data_hash(whole)
    assert set(part["benchmark"]) == {"zhoblimp@5"}
    assert part["paradigm"].value_counts().unique().tolist() == [5]
    assert set(part["pair"]) < set(whole["pair"])  # the numbers of the whole, so that pairs can be found again
    assert table.groupby("benchmark")["n"].max().to_dict() == {"zhoblimp": 60, "zhoblimp@5": 25}
    scores = {name: run / "eval" / name / "sentence" / "step00000008.json" for name in ("zhoblimp", "zhoblimp@5")}
    hashes = {name: json.loads(file.read_text())["data_sha256"] for name, file in scores.items()}
    assert len(set(hashes.values())) == 2
    assert set(read_table(STATISTICS, STATISTICS.path(run))["benchmark"]) == {"zhoblimp", "zhoblimp@5"}
    assert f"{run.name}, zhoblimp@5: accuracy" in capsys.readouterr().out


def test_the_first_pairs_and_a_draw_are_kept_apart(run, score, capsys):
    score("benchmarks=[zhoblimp]", "subset=5")
    table = score("benchmarks=[zhoblimp]", "subset=first:5")
    assert table.groupby("benchmark")["n"].max().to_dict() == {"zhoblimp@5": 25, "zhoblimp@first5": 25}
    first = pd.read_parquet(run / "eval" / "zhoblimp@first5" / "pairs.parquet")
    assert set(first["benchmark"]) == {"zhoblimp@first5"}
    assert first.groupby("paradigm")["pair"].agg(lambda pairs: pairs.max() - pairs.min()).unique().tolist() == [4]
    assert f"{run.name}, zhoblimp@first5: accuracy" in capsys.readouterr().out


def test_scores_of_a_subset_are_those_of_the_whole(run, score):
    score("benchmarks=[zhoblimp]")
    score("benchmarks=[zhoblimp]", "subset=5")
    tables = (
        pd.read_parquet(run / "eval" / name / "sentence" / "step00000008.parquet")
        for name in ("zhoblimp", "zhoblimp@5")
    )
    both = pd.merge(*tables, on="pair", suffixes=("", "_part"))
    assert len(both) == 25
    assert (both["lp_good"] - both["lp_good_part"]).abs().max() < 1e-4


def test_a_subset_of_a_language_and_other_sizes(run, score):
    score("benchmarks=[tse/eus]", "subset=1")
    table = score("benchmarks=[zhoblimp,multiblimp/nld]", "subset=3")
    assert set(table["benchmark"]) == {"tse/eus@1", "zhoblimp@3", "multiblimp/nld@3"}


def test_own_pairs_under_their_own_name(run, score, tmp_path):
    pairs = tmp_path / "mine.csv"
    pairs.write_text("ok,wrong,kind\n一丁七,一丁万,a\n丈三上,丈下,b\n", encoding="utf-8")
    columns = "custom.columns={good: ok, bad: wrong, paradigm: kind}"
    table = score("benchmarks=[custom,zhoblimp]", f"custom.path={pairs}", "custom.name=mine", columns)
    assert set(table["benchmark"]) == {"mine", "zhoblimp"}
    assert {"a", "b"} < set(table[table["benchmark"] == "mine"]["paradigm"])
    assert pd.read_parquet(run / "eval" / "mine" / "pairs.parquet")["good"].tolist() == ["一丁七", "丈三上"]
    table = score("benchmarks=[custom]", f"custom.path={pairs}", "custom.name=mine", columns, "subset=1")
    assert "mine@1" in set(table["benchmark"])


def test_figures_and_tables_of_every_kind_of_name(run, score, tmp_path):
    pairs = tmp_path / "mine.jsonl"
    pairs.write_text(json.dumps({"sentence_good": "一丁七", "sentence_bad": "一丁万"}) + "\n")
    score("benchmarks=[tse/eus,custom]", "subset=1", f"custom.path={pairs}", "custom.name=mine")
    _, sections = make_report(study_of(run))
    names = {name for one in sections for name in (*one.tables, *(drawing.name for drawing in one.drawings))}
    assert not any("/" in name for name in names), "files of the figures are in one folder"
    for benchmark in ("tse-eus@1", "mine@1"):
        assert {f"linking_by_run_{benchmark}", f"learning_curves_{benchmark}_overall"} <= names


def test_own_pairs_that_changed_are_scored_again(run, score, tmp_path, capsys):
    pairs = tmp_path / "mine.jsonl"
    line = {"sentence_good": "一丁七", "sentence_bad": "一丁万"}
    pairs.write_text(json.dumps(line) + "\n")
    score("benchmarks=[custom]", f"custom.path={pairs}")
    pairs.write_text(json.dumps(line | {"sentence_bad": "一丁丈"}) + "\n")
    score("benchmarks=[custom]", f"custom.path={pairs}", "steps=[8]")
    assert "the pairs in" in capsys.readouterr().err
    assert [path.name for path in sorted((run / "eval" / "custom" / "sentence").glob("*.parquet"))] == [
        "step00000008.parquet"
    ]


@pytest.mark.parametrize("name", ["accuracy.csv", "zhoblimp", "a/b", "a@5"])
def test_names_that_own_pairs_cannot_have(run, score, tmp_path, name):
    pairs = tmp_path / "mine.jsonl"
    pairs.write_text(json.dumps({"sentence_good": "一丁七", "sentence_bad": "一丁万"}) + "\n")
    with pytest.raises(UserError, match=rf"custom\.name: .*{name!r} is"):
        score("benchmarks=[custom]", f"custom.path={pairs}", f"custom.name={name}")
    assert not (run / "eval").exists()


@pytest.fixture
def report(root, capsys):
    def call(*overrides):
        execute(check(ScoreCommand, compose("score", ["check=true", f"benchmark_root={root}", *overrides])))
        return capsys.readouterr().out

    return call


def test_data_report_of_every_benchmark(report, tmp_path):
    text = report("benchmarks=[zhoblimp,tse,multiblimp/nld]")
    for name in ("zhoblimp", "tse/eus", "tse/hin", "multiblimp/nld"):
        assert f"{name}: " in text
    assert "length in characters" in text
    assert "length in tokens" not in text
    assert "zhoblimp@5: 25 pairs" in report("benchmarks=[zhoblimp]", "subset=5")


def test_data_report_in_the_tokens_of_a_run_or_a_model(report, run, copy_model, root, capsys):
    for given in (f"run={run}", f"run='{run.parent}/*'"):
        assert "length in tokens" in report("benchmarks=[zhoblimp]", given)
    of_model(copy_model(), "check=true", f"benchmark_root={root}", "benchmarks=[zhoblimp]")
    assert "length in tokens" in capsys.readouterr().out
    assert not (run / "eval").exists()


def test_data_report_of_what_is_not_there(report, run):
    with pytest.raises(UserError, match=r"run: no folder .*text-s0x"):
        report("benchmarks=[zhoblimp]", f"run={run}x")
    with pytest.raises(UserError, match=r"benchmark 'sling'"):
        report("benchmarks=[sling]")


def test_revisions_of_a_model_are_steps(copy_model, make_model, write_checkpoint, root, tmp_path, capsys):
    folder = copy_model("family")
    for step in (0, 512):
        write_checkpoint(folder / f"step{step}", make_model(seed=step), manifest=False)
    out = tmp_path / "out"
    asked = [f"out={out}", f"benchmark_root={root}", "benchmarks=[zhoblimp]", "linking=[lp]"]
    of_model(folder, *asked, "revisions=[step512,step0]")
    table = read_table(ACCURACY, ACCURACY.path(out))
    assert table[["run", "step"]].drop_duplicates().values.tolist() == [["family", 0], ["family", 512]]
    assert table[["tokens", "flops"]].isna().all(axis=None)
    assert (out / "eval" / "zhoblimp" / "sentence" / "step00000512.parquet").is_file()
    of_model(folder, *asked)
    assert set(read_table(ACCURACY, ACCURACY.path(out))["step"]) == {-1, 0, 512}


@pytest.mark.parametrize("ours", [(), (0,), (0, 512)])
def test_revisions_with_the_same_weights_are_named(
    copy_model, make_model, write_checkpoint, root, tmp_path, capsys, ours
):
    """A manifest of ours vouches for the step of its weights; of other revisions, all are scored, with one warning."""
    folder, out = copy_model("family"), tmp_path / "out"
    for step, seed in ((0, 1), (8, 2), (512, 1)):
        write_checkpoint(folder / f"step{step}", make_model(seed=seed), step, manifest=step in ours)
    asked = [f"out={out}", f"benchmark_root={root}", "benchmarks=[zhoblimp]", "linking=[lp]"]
    of_model(folder, *asked, "revisions=[step0,step8,step512]")
    assert set(read_table(ACCURACY, ACCURACY.path(out))["step"]) == {0, 8, 512}
    warnings = [line for line in capsys.readouterr().err.splitlines() if "same weights" in line]
    if ours == (0, 512):
        assert not warnings
        return
    (warning,) = warnings
    assert warning.startswith(
        "warning: family: of 3 revisions, these have the same weights: 2 (step0, step512); "
    )
    (section,) = runs_sections(study_of(out), [])
    (said,) = [text for text in section.content if isinstance(text, str) and "equal weights" in text]
    assert said.startswith("out has steps of equal weights")
    assert said.endswith("2 (0, 512).")


@pytest.mark.parametrize("weights", ["safetensors", "bin"])
def test_a_revision_with_a_part_of_another_one_is_named(
    copy_model, make_model, write_checkpoint, root, tmp_path, capsys, weights
):
    folder = copy_model("family")
    for step in (0, 8, 512):
        revision = write_checkpoint(folder / f"step{step}", make_model(seed=step), step, manifest=False)
        state = load_file(revision / "model.safetensors")
        (revision / "model.safetensors").unlink()
        names, suffix = sorted(state), "safetensors" if weights == "safetensors" else "bin"
        stem = "model" if weights == "safetensors" else "pytorch_model"
        files = {name: f"{stem}-0000{1 + (place >= 2)}-of-00002.{suffix}" for place, name in enumerate(names)}
        for file in set(files.values()):
            part = {name: state[name].clone() for name in names if files[name] == file}
            (save_file if weights == "safetensors" else torch.save)(part, revision / file)
        (revision / f"{stem}.{suffix}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": files}))
    first = f"{stem}-00001-of-00002.{suffix}"
    shutil.copy(folder / "step512" / first, folder / "step8" / first)
    asked = [f"out={tmp_path / 'out'}", f"benchmark_root={root}", "benchmarks=[zhoblimp]", "linking=[lp]"]
    of_model(folder, *asked, "revisions=[all]", f"weights={weights}")
    (warning,) = [
        line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: family: of 3")
    ]
    assert "these have the same file of weights: 2 (step8, step512); at most one of them can own" in warning


@pytest.mark.parametrize(
    "how", ["another model of the same step", "another model of another step", "the same revision anew"]
)
def test_a_folder_with_the_scores_of_another_model(copy_model, make_model, write_checkpoint, root, tmp_path, how):
    folder, out = copy_model("family"), tmp_path / "out"
    write_checkpoint(folder / "step0", make_model(seed=0), manifest=False)
    asked = [f"out={out}", f"benchmark_root={root}", "benchmarks=[zhoblimp]", "linking=[lp]"]
    of_model(folder, *asked, "revisions=[step0]")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    if how == "the same revision anew":
        other, revision = folder, "step0"
    else:
        other, revision = tmp_path / "cousin", "step0" if how == "another model of the same step" else "step9"
    shutil.rmtree(folder / "step0")
    write_checkpoint(other / revision, make_model(seed=7), manifest=False)
    message = r"out=.*out holds scores of another model \(.*step00000000\.json\); give another"
    with pytest.raises(UserError, match=message):
        of_model(other, *asked, f"revisions=[{revision}]")
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_run_that_fails_stops_no_other(run, root, capsys):
    names = [f"tiny-1M-char-text-s{seed}" for seed in range(3)]
    for name in names[1:]:
        shutil.copytree(run, run.with_name(name))
    weights = run.with_name(names[1]) / "checkpoints" / "step00000008" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    asked = [f"run='{run.parent}/tiny-*'", f"benchmark_root={root}", "benchmarks=[zhoblimp]", "linking=[lp]"]
    with pytest.raises(
        UserError, match=rf"1 of 3 runs were not scored:\n  .*{names[1]}: .*the checkpoint is damaged"
    ):
        execute(check(ScoreCommand, compose("score", asked)))
    scored = [name for name in names if (run.with_name(name) / "eval" / "accuracy.csv").exists()]
    assert scored == [names[0], names[2]]
    assert [line.split(",")[0] for line in capsys.readouterr().out.splitlines() if ": accuracy" in line] == scored
