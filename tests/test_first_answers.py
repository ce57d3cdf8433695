"""A mistake is answered before torch is imported, which takes most of ten seconds, and leaves nothing behind."""

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml

from tests.facts import write_manifest_of
from tests.facts import write_run as write_run_json
from ucurve.config import compose, plain
from ucurve.training.config import read_settings

ROOT = Path(__file__).resolve().parents[1]
CHARACTERS = "天地玄黄宇宙洪荒日月盈昃"
PAIR = {"UID": "one", "phenomenon": "P", "sentence_good": "天地", "sentence_bad": "地天", "pairID": 0}
SMALL = ["model=tiny", "tokenizer=char", "tokens=512", "batch.sequences=4", "batch.length=16", "schedule.count=2"]
TRAIN = ["train.py", *SMALL, "data.path=corpus", "benchmark_root=bench", "eval.benchmarks=[zhoblimp]"]
BUILD = ["tokenizers/build.py", "data.path=corpus", "tokenizer=char"]
SCORE = ["score.py", "run=done", "benchmarks=[zhoblimp]", "benchmark_root=bench"]
GENERATE = ["generate.py", "source=templates", "templates=t", "vocabulary=v", "phrases=p", "out=o"]
LISTED = ["schedule=list", "schedule.count=null"]

MISTAKES = [
    (["train.py"], "tokens: no value given"),
    (["train.py", "model=160m", "tokens=3B"], r"allenai/c4 cannot be fetched.*data\.path=TEXTS.*experiment=demo"),
    (["train.py", "model=160m", "tokens=3B", "data.path=null"], r"data\.path: no value given"),
    ([*TRAIN, "--local_rank=0", "seed=-1"], "seed: got -1"),
    ([*TRAIN, "eval.benchmark_revision={zhoblimp: v1}"], r"benchmark_root=DIR reads local files"),
    ([*SCORE, "benchmark_root=null", "benchmark_revision={blimp: v1}"], r"'blimp' is not among benchmarks="),
    (["train.py", "model=15m", "tokens=3B"], r"unknown model '15m'; allowed: .*Did you mean '14m'\?"),
    ([*TRAIN, "optimizer.clp=1"], r"optimizer\.clp.*Did you mean 'optimizer\.clip'"),
    ([*TRAIN, "modle=14m"], r"modle.*Did you mean 'model'\?"),
    ([*TRAIN, "batch.length=[16"], r"batch\.length.* cannot be read"),
    ([*TRAIN, "experiment=dem"], r"unknown experiment 'dem'.*Did you mean 'demo'\?"),
    ([*TRAIN, "data.path=korpus"], r"data\.path: no file or folder 'korpus'.*corpus"),
    ([*TRAIN, "data.path='corpus/*.txt'"], r"no text file in 'corpus/\*\.txt'"),
    ([*TRAIN, *LISTED, "schedule.steps=[1,2,99999]"], "99999 is outside the run; allowed: 0 to 8"),
    ([*TRAIN, *LISTED, "schedule.steps=[3,2]"], "2 follows 3"),
    ([*TRAIN, "schedule.count=47"], r"schedule\.count=47 does not fit a run of 8 steps"),
    ([*TRAIN, "tokenizer=hub", "tokenizer.path=/nowhere"], r"tokenizer\.path: no folder /nowhere"),
    ([*TRAIN, "tokenizer=hub", "tokenizer.path=corpus"], r"tokenizer\.path: corpus: no tokenizer files"),
    ([*TRAIN, "tokenizer=bpe", "tokenizer.vocab_size=3"], r"vocab_size=3 is too small: byte-level BPE needs 257"),
    (
        [*TRAIN, "tokenizer=word", "tokenizer.vocab_size=3"],
        r"vocab_size=3 is too small: tokenizer=word needs at least 8",
    ),
    ([*TRAIN, "benchmark_root=benhc"], "benhc.*Did you mean .*bench"),
    ([*TRAIN, "eval.benchmarks=[blimp]"], "benchmark 'blimp': no folder bench/blimp"),
    ([*TRAIN, "eval.benchmarks=[zhoblim]"], r"unknown benchmark 'zhoblim'.*Did you mean 'zhoblimp'\?"),
    ([*TRAIN, "eval.benchmarks=demo,zhoblmp"], r"unknown benchmark 'zhoblmp'.*Did you mean 'zhoblimp'"),
    ([*TRAIN, "eval.when=always"], r"eval\.when: got 'always'.*'each', 'end', 'later' or 'never'"),
    ([*TRAIN, "optimizer.clip=high"], r"optimizer\.clip: got 'high'"),
    (
        [*TRAIN, "data.interventions=[{name: no_a, do: drop, unit: sentence, contain: a}]"],
        r"data\.interventions\.0\.contain: unknown key\. Did you mean 'contains'\?",
    ),
    (
        [*TRAIN, "data.interventions=[{name: x, do: drop, unit: sentence, contains: 他}]"],
        r"cannot be read: .*quote text within a list that has brackets or letters beyond a to z",
    ),
    ([*TRAIN, "name=a/b"], r"name: got 'a/b'"),
    ([*TRAIN, "paths.runs=/proc/nope"], r"paths\.runs=/proc/nope: /proc is not a folder that can"),
    ([*TRAIN, "engine=deepspeed", "engine.config=none.json"], r"engine\.config=none\.json: no readable"),
    ([*TRAIN, "paths.runs=corpus/train.jsonl"], r"paths\.runs=.* is not a folder that can be written to"),
    ([*TRAIN, "paths.runs=foreign"], "exists and is not a run of this suite"),
    ([*TRAIN, "name=done", "paths.runs=.", "schedule.count=3"], r"these keys differ: schedule\.count: 2 -> 3"),
    (["train.py", "-m", "seed=0,1", *TRAIN[1:], "schedule.count=47"], "does not fit a run of 8 steps"),
    (
        [*TRAIN, "dry_run=true", "tokenizer=hub", "tokenizer.path=/nowhere"],
        r"tokenizer\.path: no folder /nowhere",
    ),
    (["tokenizers/build.py"], r"allenai/c4 cannot be fetched"),
    (["tokenizers/build.py", "data.path=null"], r"data\.path: no value given"),
    (["tokenizers/build.py", "data.path=korpus"], "no file or folder 'korpus'"),
    ([*BUILD, "tokenizer=words"], "unknown tokenizer 'words'"),
    ([*BUILD, "tokenizer=gpt2"], r"unknown tokenizer 'gpt2'; .*your own is tokenizer\.path=gpt2\."),
    ([*BUILD, "tokenizer=hub", "tokenizer.path=/nowhere"], r"tokenizer\.path: no folder /nowhere"),
    ([*BUILD, "tokenizer=hub"], "tokenizer: path: no tokenizer given"),
    ([*BUILD, "tokenizer=bpe", "tokenizer.vocab_size=3"], "byte-level BPE needs 257"),
    ([*BUILD, "data.path=broken.jsonl"], r"broken\.jsonl:1: not a line of JSON"),
    (["verify.py"], "run: no value given"),
    (["verify.py", "run=/nowhere"], "run: no folder /nowhere"),
    (["verify.py", "rnu=done"], r"rnu.*Did you mean 'run'\?"),
    (["verify.py", "run=corpus"], r"run=corpus is not a run folder, which holds config\.yaml and run\.json"),
    (["verify.py", "run=unfinished"], "the run is running, not finished", 1),
    (["score.py"], r"give 'benchmarks=\[\.\.\.\]'; there are bl2mp, .*zhoblimp"),
    ([*SCORE, "run=dome"], "no folder dome. Did you mean 'done'"),
    ([*SCORE, "run='dome*'"], r"no run folder matches 'dome\*'"),
    ([*SCORE, "benchmark_root=benhc"], r"no folder benhc.*Did you mean 'bench'"),
    ([*SCORE, "steps=[5]"], "no checkpoint of step 5; there are 0, 8"),
    ([*SCORE, "benchmarks=[blimp]"], "no folder bench/blimp"),
    ([*SCORE, "benchmarks=[zhoblim]"], r"unknown benchmark 'zhoblim'.*Did you mean 'zhoblimp'\?"),
    ([*SCORE, "step=[0]"], r"unknown key 'step'.*Did you mean 'steps'\?"),
    ([*SCORE, "linking=[sllnlp]"], r"unknown linking function 'sllnlp'.*Did you mean 'slln_lp'\?"),
    ([*SCORE, "scorer=sentense"], "unknown scorer 'sentense'"),
    ([*SCORE, "scorer=pll"], "a causal model by its config.json; the scorer 'pll' is for masked ones"),
    ([*SCORE, "scorer=conditional"], "the pairs have no column 'condition'"),
    ([*SCORE, "scorer=region"], "the pairs have no column 'region_good'"),
    ([*SCORE, "linking=mink"], "mink reads mink60, which the scorer 'sentence' does not give"),
    ([*SCORE, "unigrams.path=none.json"], r"unigrams: cannot read none\.json"),
    ([*SCORE, "fit.on=ratings", "fit.ratings=none.csv"], r"fit\.ratings: cannot read none\.csv"),
    ([*SCORE, "check=true", "benchmarks=[blimp]"], "no folder bench/blimp"),
    ([*SCORE, "run=null", "model=./modle", "out=scores"], "model: no folder modle"),
    ([*SCORE, "run=null", "model=corpus", "out=scores"], r"corpus"),
    (["analyze.py", "runs='none/*'"], r"no run folder matches 'none/\*'"),
    (["analyze.py", "runs=[]"], r"runs: .*the list is empty"),
    (["analyze.py", "run=done"], r"unknown key 'run'.*Did you mean 'runs'\?"),
    (["analyze.py", "runs=done", "formats=[gif]"], r"formats\.0: got 'gif'.*'png', 'svg' or 'pdf'"),
    (["analyze.py", "runs=done", "out=broken.jsonl"], r"out=broken\.jsonl is a file or lies below one"),
    (["-m", "launch.status", "runs='none/*'"], "no run folder there"),
    (["-m", "launch.status", "format=xml"], "format: got 'xml'"),
    (["-m", "launch.cost", "model=tiny"], "tokens: no value given"),
    (["-m", "launch.cost", *TRAIN[1:], "schedule.count=47"], "does not fit a run of 8 steps"),
    (["-m", "launch.emit", "format=slrm", *TRAIN[1:]], "format: got 'slrm'"),
    (["-m", "launch.emit", *TRAIN[1:], "schedule.count=47"], "does not fit a run of 8 steps"),
    (["-m", "train.batches"], "run: no value given"),
    (["-m", "train.batches", "run=done", "from=5", "to=5"], "no steps"),
    (["-m", "train.batches", "run=done", "from=7", "to=9"], "to=9: done has 8 steps"),
    (["-m", "train.batches", "run=dome", "from=0", "to=1"], "no folder dome. Did you mean 'done'"),
    (["-m", "launch.publish", "run=done"], "out: no value given"),
    (["-m", "launch.publish", "run=dome", "out=x"], "no folder dome. Did you mean 'done'"),
    (
        ["-m", "launch.publish", "run=done", "out=corpus"],
        "out=corpus is there already; publishing needs a new folder",
    ),
    (["-m", "launch.publish", "run=unfinished", "out=x"], "the run is running, not finished", 1),
    (GENERATE, r"cannot read v \(No such file"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a corpus, a benchmark, and what of a run is read before its weights are."""
    place = tmp_path_factory.mktemp("place")
    (place / "corpus").mkdir()
    (place / "corpus/train.jsonl").write_text((json.dumps({"text": CHARACTERS * 40}) + "\n") * 8)
    (place / "bench/zhoblimp").mkdir(parents=True)
    (place / "bench/zhoblimp/one.jsonl").write_text(json.dumps(PAIR) + "\n")
    (place / "broken.jsonl").write_text("{\n")
    settings = read_settings(compose("train", [*SMALL, "data.path=corpus", "name=done"]))
    for name, status in ((settings.run_name, "finished"), ("done", "finished"), ("unfinished", "running")):
        write_run(place / name, settings, status)
    foreign = place / "foreign" / settings.run_name.removesuffix("-done")
    foreign.mkdir(parents=True)
    (foreign / "thesis.txt").write_text("mine")
    return place


def write_run(run, settings, status):
    for step in (0, settings.steps):
        folder = run / "checkpoints" / f"step{step:08d}"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps({"architectures": ["GPTNeoXForCausalLM"]}))
        write_manifest_of(folder, step)
    (run / "config.yaml").write_text(yaml.safe_dump(plain(asdict(settings))))
    corpus = {"documents": 8, "tokens": 3848, "start_tokens_seen": 8}
    write_run_json(run, status, data_sha256="0", vocabulary=14, corpus=corpus)


@pytest.fixture(scope="module")
def answers(place):
    """The answer to each mistake, all made in one process."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.mistakes_worker"],
        input=json.dumps([command for command, *_ in MISTAKES]),
        cwd=place,
        env=os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("number", range(len(MISTAKES)), ids=[" ".join(command) for command, *_ in MISTAKES])
def test_a_mistake_is_answered_before_torch_is_imported(answers, number):
    (_, message, *code), answer = MISTAKES[number], answers[number]
    assert answer["code"] == (code or [2])[0], answer
    assert re.search(message, answer["error"], re.DOTALL), answer["error"]
    assert answer["error"].count("error: ") == 1
    assert answer["left"] == []
    assert answer["imported"] == []
