"""Mistakes of a user's, through the commands: exit code 2, one message, nothing half-written.

The commands run in this process, as ``python train.py ...`` would run them; that the scripts themselves call the same
functions is tested where they are started as programs.
"""

import gzip
import json
import re

import pytest
import torch

from eval.store.tables import ACCURACY
from tests.facts import write_manifest_of, write_run

TEXT = [json.dumps({"text": "天地玄黄宇宙洪荒日月盈昃" * 40}, ensure_ascii=False) for _ in range(8)]
PAIR = {"UID": "one", "phenomenon": "P", "sentence_good": "天地", "sentence_bad": "地天", "pairID": 0}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a corpus and a benchmark, as the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "train.jsonl").write_text("\n".join(TEXT) + "\n")
    (tmp_path / "bench" / "zhoblimp").mkdir(parents=True)
    (tmp_path / "bench" / "zhoblimp" / "one.jsonl").write_text(json.dumps(PAIR, ensure_ascii=False) + "\n")
    return tmp_path


@pytest.fixture
def run(place, run_command):
    """A function that runs a command and returns its exit code and what it wrote to standard error."""

    def call(name, *arguments):
        before = entries(place)
        code, _, said = run_command(name, *arguments)
        return code, said, entries(place) - before

    return call


def entries(place):
    """Return what lies below the current folder, without finished caches: those are whole and used again."""
    kept = [path.relative_to(place) for path in place.rglob("*")]
    return {str(path) for path in kept if path.parts[0] not in ("cache", "tokenizers")}


TRAIN = [
    "model=tiny",
    "tokenizer=char",
    "tokens=512",
    "batch.sequences=4",
    "batch.length=16",
    "schedule.count=3",
    "data.path=corpus",
    "benchmark_root=bench",
    "eval.benchmarks=[zhoblimp]",
]

MISTAKES = {
    "unknown tokenizer": (["tokenizer=chars"], r"unknown tokenizer 'chars'; allowed: .*Did you mean 'char'\?"),
    "unknown data": (["data=txt"], r"unknown data 'txt'; allowed: .*Did you mean 'text'\?"),
    "unknown schedule": (["schedule=logs"], r"unknown schedule 'logs'.*Did you mean 'log'\?"),
    "unknown engine": (["engine=torchy"], r"unknown engine 'torchy'.*Did you mean 'torch'\?"),
    "no count": (["tokens=lots"], r"tokens: 'lots' is not a count; allowed: 10M"),
    "options": (["--model", "14m"], r"settings are key=value: .*model=14m\n"),
    "key without its group": (["device=cuda"], r"Did you mean 'engine\.device' or 'eval\.device'\?"),
    "grid without -m": (
        ["seed=0,1"],
        r"seed=0,1: one value is expected; several make a grid: python .*train\.py -m seed=0,1",
    ),
    "a place that takes no folder": (
        ["paths.runs=/proc/nope"],
        r"paths\.runs=/proc/nope: /proc is not a folder that can",
    ),
    "list without brackets": (
        ["eval.benchmarks=demo,zhoblmp"],
        r"unknown benchmark 'zhoblmp'.*Did you mean 'zhoblimp'",
    ),
    "budget below a batch": (["tokens=10"], r"tokens=10 is less than one global batch of 64 tokens"),
    "wrong type": (["optimizer.clip=high"], r"optimizer\.clip: got 'high'"),
    "corpus too short": (
        ["tokens=1M", "schedule=linear", "schedule.count=5"],
        r"epochs of data=corpus.*data\.max_epochs=1",
    ),
    "hub tokenizer without a path": (["tokenizer=hub"], r"tokenizer\.path|path: no tokenizer given"),
    "when is not a time": (["eval.when=always"], r"eval\.when: got 'always'.*'each', 'end', 'later' or 'never'"),
    "name that is not a file name": (["name=a/b"], r"name: got 'a/b'"),
    "unknown key of an intervention": (
        ["data.interventions=[{name: no_a, do: drop, unit: sentence, contain: a}]"],
        r"data\.interventions\.0\.contain: unknown key\. Did you mean 'contains'\?",
    ),
    "Chinese in a list without quotes": (
        ["data.interventions=[{name: x, do: drop, unit: sentence, contains: 他}]"],
        r"cannot be read: .*quote text within a list that has brackets or letters beyond a to z",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_train_is_one_message_and_exit_code_2(run, mistake):
    overrides, message = MISTAKES[mistake]
    keys = {override.split("=")[0] for override in overrides}
    given = [override for override in TRAIN if override.split("=")[0] not in keys]
    code, error, written = run("train", *given, *overrides)
    check(code, error, written, message)


BROKEN_CORPORA = {
    "line that is not JSON": (b'{"text": "a"}\n{"text": \n', r"train\.jsonl:2"),
    "record without the field": (
        b'{"text": "a"}\n{"body": "b"}\n',
        r"text_field 'text' in .*train\.jsonl:2; allowed: body",
    ),
    "field that is not text": (b'{"text": 5}\n', r"train\.jsonl:1"),
    "invalid UTF-8": (b'{"text": "a"}\n{"text": "\xff\xfe"}\n', r"train\.jsonl:2.*UTF-8"),
    "empty corpus": (b"\n\n", r"the corpus 'corpus' has no document with text"),
}


@pytest.mark.parametrize("mistake", BROKEN_CORPORA)
def test_a_broken_corpus_names_file_and_line(run, place, mistake):
    content, message = BROKEN_CORPORA[mistake]
    (place / "corpus" / "train.jsonl").write_bytes(content)
    check(*run("train", *TRAIN), message)


def test_a_torn_gzip_names_the_file(run, place):
    (place / "corpus" / "more.jsonl.gz").write_bytes(gzip.compress("\n".join(TEXT).encode())[:-20])
    check(*run("train", *TRAIN), r"more\.jsonl\.gz")


BROKEN_BENCHMARKS = {
    "line that is not JSON": ("{", r"one\.jsonl:1"),
    "pair without a member": (
        json.dumps({key: PAIR[key] for key in PAIR if key != "sentence_bad"}),
        r"one\.jsonl:1.*sentence_bad",
    ),
    "empty sentence": (json.dumps(PAIR | {"sentence_good": ""}), r"one\.jsonl:1"),
    "no pair": ("", r"bench/zhoblimp/.*: the file is empty"),
    "pair longer than the context": (json.dumps(PAIR | {"sentence_good": "天" * 40}), r"40 tokens.*context holds 16"),
}


@pytest.mark.parametrize("mistake", BROKEN_BENCHMARKS)
def test_a_broken_benchmark_is_found_before_training(run, place, mistake):
    content, message = BROKEN_BENCHMARKS[mistake]
    (place / "bench" / "zhoblimp" / "one.jsonl").write_text(content + "\n")
    check(*run("train", *TRAIN), message)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is there")
def test_a_device_that_is_not_there(run):
    check(*run("train", *TRAIN, "engine.device=cuda"), r"engine\.device='cuda': no CUDA device")


@pytest.fixture
def scored(place):
    """A run folder with a checkpoint of which only the manifest is there, and a line of accuracies."""
    checkpoint = place / "runs" / "one" / "checkpoints" / "step00000000"
    checkpoint.mkdir(parents=True)
    (checkpoint / "config.json").write_text("[]")
    write_manifest_of(checkpoint, 0)
    run = place / "runs" / "one"
    write_run(run, "running")
    (run / "eval").mkdir()
    row = "one,0,0,0.0,zhoblimp,sentence,slln_lp,all,all,all,half,9,0,0.5,0.2,0.8,0.3,0.7,9"
    (run / "eval" / "accuracy.csv").write_text(f"{','.join(ACCURACY.columns)}\n{row}\n")
    return run


SCORE = ["run=runs/one", "benchmarks=[zhoblimp]", "benchmark_root=bench"]
SCORE_MISTAKES = {
    "nothing to score": (["run=null"], r"give exactly one of run=RUN and model=PATH_OR_HUB_ID"),
    "unknown linking": (["linking=[sllnlp]"], r"unknown linking function 'sllnlp'.*Did you mean 'slln_lp'\?"),
    "empty list": (["ties_rules=[]"], r"ties_rules: the list is empty"),
    "no step": (["steps=[]"], r"steps: the list is empty"),
    "unknown key": (["step=[0]"], r"unknown key 'step'.*Did you mean 'steps'\?"),
    "no unigram counts": (["linking=[lp,slor]"], r"slor needs unigram counts, and there is no .*unigram_counts\.npy"),
    "configuration that is none": ([], r"step00000000/config\.json: not a model's configuration"),
    "model without out": (["run=null", "model=runs"], r"out=DIR goes with model="),
    "out below a file": (
        ["run=null", "model=corpus", "out=corpus/train.jsonl/out"],
        r"out=corpus/train\.jsonl/out is a file or lies below one",
    ),
    "out is a run": (["run=null", "model=corpus", "out=runs/one"], r"out=runs/one is a run folder"),
    "no tokens in a pass": (["batch_tokens=0"], r"batch_tokens: got 0"),
}


@pytest.mark.parametrize("mistake", SCORE_MISTAKES)
def test_a_mistake_in_score(run, scored, mistake):
    overrides, message = SCORE_MISTAKES[mistake]
    keys = {override.split("=")[0] for override in overrides}
    given = [override for override in SCORE if override.split("=")[0] not in keys]
    check(*run("score", *given, *overrides), message)


ANALYZE_MISTAKES = {
    "empty list": (["runs=[]"], r"runs: .*the list is empty"),
    "unknown linking": (["linking=sln_lp"], r"unknown linking function 'sln_lp'.*Did you mean 'slln_lp'\?"),
    "unknown benchmark": (["benchmark=zhoblim"], r"unknown benchmark 'zhoblim'.*Did you mean 'zhoblimp'\?"),
    "unknown key": (["run=runs/one"], r"unknown key 'run'.*Did you mean 'runs'\?"),
}


@pytest.mark.parametrize("mistake", ANALYZE_MISTAKES)
def test_a_mistake_in_analyze(run, scored, mistake):
    overrides, message = ANALYZE_MISTAKES[mistake]
    check(*run("analyze", *overrides), message)


def test_a_broken_table_of_accuracies(run, scored):
    (scored / "eval" / "accuracy.csv").write_text("step,accuracy\n0,0.5\n")
    check(*run("analyze"), r"accuracy\.csv:1: no column")


def check(code, error, written, message):
    assert code == 2, error
    assert re.search(message, error, re.DOTALL), error
    assert error.count("error: ") == 1
    assert "Traceback" not in error
    assert not written
