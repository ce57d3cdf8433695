"""The JSON of a leaderboard, from scores that were stored before, against numbers written by hand."""

import json
import shutil

import pandas as pd
import pytest
import yaml

from tests.facts import store_scores
from tests.settings import leaderboard_command
from ucurve.config_files import CONFIGURATION
from ucurve.errors import DamagedError, UserError
from ucurve.eval.leaderboard.export import FOLDER, find_form
from ucurve.eval.pairs import data_hash, pair_table
from ucurve.eval.presets import find_preset
from ucurve.eval.store.scores import keep_pairs, score_path
from ucurve.yaml_files import file_names

# UID, phenomenon, lp of good and bad, unknown tokens in good and bad: "=" is a pair of identical sentences, a tie
SYNTAX = [
    ("ba", "BA", -5, -6, 0, 0), ("ba", "BA", -6, -5, 0, 0), ("ba", "BA", -5, -5, 0, 0), ("ba", "BA", "=", "=", 0, 0),
    ("bei", "BEI", -5, -9, 2, 1), ("bei", "BEI", -9, -5, 0, 0), ("bei", "BEI", -9, -5, 0, 0),
]  # fmt: skip
STRUCTURE = [
    ("where", "left", -1, -2, 0, 0), ("where", "top", -1, -2, 1, 0), ("where", "top", -1, -2, 0, 1),
    ("which", "left", -1, -2, 0, 0),
]  # fmt: skip
PINYIN = [("same", "same", -2, -1, 0, 0), ("same", "same", -3, -3, 1, 1)]
TABLES = {"zhoblimp-2026": SYNTAX, "hanzi-structure": STRUCTURE, "hanzi-pinyin": PINYIN}

# ZhoBLiMP: ba 3 of 4, bei 1 of 3. Structure: where 1 of 3 without those with unknown tokens, which 1 of 1. Pinyin: none.
EXPECTED = """{
  "zhoblimp": {
    "accuracy": 0.5417000000000001
  },
  "hanzi_structure": {
    "accuracy": 0.6667000000000001
  },
  "hanzi_pinyin": {
    "accuracy": 0.0
  }
}
"""


def store(folder, benchmark, rows, step=8, scorer="sentence", start_rule="none", tokens="", **facts):
    """Store pairs and scores as scoring would."""
    records = [
        {"UID": uid, "phenomenon": phenomenon, "sentence_good": f"{n}好", "sentence_bad": f"{n}{'好' if lp == '=' else '坏'}"}
        for n, (uid, phenomenon, lp, *_) in enumerate(rows)
    ]  # fmt: skip
    pairs = pair_table(((f"line {n}", record) for n, record in enumerate(records)), benchmark, "zho")
    keep_pairs(folder, pairs)
    values = [
        (-4.0 if good == "=" else good, -4.0 if bad == "=" else bad, *unknown)
        for _, _, good, bad, *unknown in rows
    ]
    scores = pd.DataFrame(values, columns=["lp_good", "lp_bad", "unk_good", "unk_bad"])
    scores = scores.astype({"lp_good": float, "lp_bad": float}).assign(n_good=2, n_bad=2)
    scores.insert(0, "pair", range(len(scores)))
    hashes = {"tokens_sha256": tokens, "data_sha256": data_hash(pairs)}
    store_scores(folder, benchmark, scorer, step, scores, facts, **hashes, settings={"start_rule": start_rule})


@pytest.fixture
def scored(tmp_path):
    """A run with a last checkpoint of step 8, scored on all the challenge's minimal pairs."""
    folder = tmp_path / "runs" / "14m-102Mw-char-babylm_zho-s0"
    for step in (0, 8):
        (folder / "checkpoints" / f"step{step:08d}").mkdir(parents=True)
    for benchmark, rows in TABLES.items():
        store(folder, benchmark, rows)
    return folder


def export(folder, out, **more):
    leaderboard_command({"run": str(folder), "form": "chinese_babylm", "out": str(out), **more})


def test_the_file_is_what_the_challenge_takes(scored, tmp_path, capsys):
    export(scored, tmp_path / "results.json")
    assert (tmp_path / "results.json").read_text() == EXPECTED
    said = capsys.readouterr().out
    assert "2026 Chinese BabyLM challenge, step 8\n  zhoblimp 54.17 % (7 pairs, 2 paradigms)\n" in said
    assert (
        "  hanzi_structure 66.67 % (4 pairs, 2 paradigms)\n  hanzi_pinyin 0.00 % (2 pairs, 1 paradigms)\n" in said
    )
    assert "left out, as no minimal pairs: word_fmri, fmri, afqmc, ocnli, tnews, cluewsc2020" in said


def test_a_model_that_is_right_everywhere_gets_one(scored, tmp_path):
    for benchmark, rows in TABLES.items():
        shutil.rmtree(scored / "eval" / benchmark)
        store(scored, benchmark, [(uid, phenomenon, -1, -2, 0, 0) for uid, phenomenon, *_ in rows])
    export(scored, tmp_path / "results.json")
    numbers = json.loads((tmp_path / "results.json").read_text())
    assert numbers == {name: {"accuracy": 1.0} for name in ("zhoblimp", "hanzi_structure", "hanzi_pinyin")}


def test_a_masked_model_alone_is_exported_from_its_folder(tmp_path):
    for benchmark, rows in TABLES.items():
        store(tmp_path / "scored", benchmark, rows, step=-1, scorer="pll", start_rule="frame")
    export(tmp_path / "scored", tmp_path / "results.json")
    assert (tmp_path / "results.json").read_text() == EXPECTED


def test_what_is_missing_is_named_with_the_line_that_scores_it(scored, tmp_path):
    shutil.rmtree(scored / "eval" / "hanzi-structure")
    (scored / "eval" / "hanzi-pinyin").rename(scored / "eval" / "hanzi-pinyin@first100")
    shutil.rmtree(scored / "eval" / "zhoblimp-2026")
    store(scored, "zhoblimp-2026", SYNTAX, step=0)
    with pytest.raises(UserError) as caught:
        export(scored, tmp_path / "results.json")
    assert str(caught.value) == (
        f"run={scored} lacks what the 2026 Chinese BabyLM challenge takes:\n"
        "  zhoblimp-2026: not scored at this step, only at 0\n"
        "  hanzi-structure: not scored by sentence or pll\n"
        "  hanzi-pinyin: only a part of it is scored (hanzi-pinyin@first100), and all its pairs count\n"
        f"this scores them: python score.py run={scored} 'steps=[8]' preset=chinese_babylm "
        "'benchmarks=[zhoblimp-2026,hanzi-structure,hanzi-pinyin]'"
    )
    assert not (tmp_path / "results.json").exists()


def test_scores_after_a_token_that_the_challenge_does_not_put_there_are_refused(scored, tmp_path):
    store(scored, "hanzi-pinyin", PINYIN, start_rule="eos", tokens="others")
    with pytest.raises(UserError, match=r"hanzi-pinyin: scored after the eos token, .* \(bos=none\)"):
        export(scored, tmp_path / "results.json")
    store(scored, "hanzi-pinyin", PINYIN, start_rule="token", tokens="more", start_token="<s>")
    with pytest.raises(
        UserError, match=r"hanzi-pinyin: scored after the token '<s>', which the tokenizer does not"
    ):
        export(scored, tmp_path / "results.json")


def test_changed_scores_are_refused(scored, tmp_path):
    path = score_path(scored, "hanzi-pinyin", "sentence", 8)
    pd.read_parquet(path).assign(lp_good=0.0).to_parquet(path)
    with pytest.raises(DamagedError, match="not what was written"):
        export(scored, tmp_path / "results.json")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"form": "chinese_babylmm"}, r"unknown form 'chinese_babylmm'.*Did you mean 'chinese_babylm'"),
        ({"run": "nowhere"}, r"run: no folder"),
        ({"step": "first"}, r"step\S*: got 'first'"),
        ({"step": 4}, r"zhoblimp-2026: not scored at this step, only at 8"),
        ({"out": "."}, r"out=\. is a folder; a file is expected"),
    ],
)
def test_mistakes(scored, tmp_path, given, message):
    values = {"run": str(scored), "form": "chinese_babylm", "out": str(tmp_path / "results.json")} | given
    with pytest.raises(UserError, match=message):
        leaderboard_command(values)


def test_a_folder_without_scores_is_refused(tmp_path):
    with pytest.raises(UserError, match="no checkpoint and no score there; score it first"):
        export(tmp_path, tmp_path / "results.json")


@pytest.mark.parametrize("name", file_names(FOLDER))
def test_a_form_its_preset_and_its_experiment_name_the_same_benchmarks(name):
    form = find_form(name)
    benchmarks = [task.benchmark for task in form.tasks.values()]
    assert form.name == name
    assert benchmarks == list(find_preset(form.preset).benchmarks)
    assert not set(form.not_scored) & set(form.tasks)
    experiment = yaml.safe_load((CONFIGURATION / "experiment" / f"{name}.yaml").read_text(encoding="utf-8"))
    assert experiment["eval"] == {"benchmarks": benchmarks, "preset": form.preset}
    [group] = experiment["defaults"]
    corpus = yaml.safe_load(
        (CONFIGURATION / "data" / f"{group['override /data']}.yaml").read_text(encoding="utf-8")
    )
    assert corpus["benchmarks"] == benchmarks
