"""Mistakes that are found while a command works: exit code 2, one message, nothing half-written.

Those in its arguments are in test_first_answers.py.
"""

import gzip
import json
import re

import pytest
import torch

from tests.facts import write_run

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

BROKEN_CORPORA = {
    "record without the field": (
        b'{"text": "a"}\n{"body": "b"}\n',
        r"text_field 'text' in .*train\.jsonl:2; allowed: body",
    ),
    "empty corpus": (b"\n\n", r"the corpus 'corpus' has no document with text"),
}


@pytest.mark.parametrize("mistake", BROKEN_CORPORA)
def test_a_broken_corpus_is_named(run, place, mistake):
    content, message = BROKEN_CORPORA[mistake]
    (place / "corpus" / "train.jsonl").write_bytes(content)
    check(*run("train", *TRAIN), message)


def test_a_torn_gzip_names_the_file(run, place):
    (place / "corpus" / "more.jsonl.gz").write_bytes(gzip.compress("\n".join(TEXT).encode())[:-20])
    check(*run("train", *TRAIN), r"more\.jsonl\.gz")


def test_a_corpus_that_is_too_short(run):
    given = [one for one in TRAIN if not one.startswith(("tokens=", "schedule."))]
    given += ["tokens=1M", "schedule=linear", "schedule.count=5"]
    check(*run("train", *given), r"epochs of data=corpus.*data\.max_epochs=1")


BROKEN_BENCHMARKS = {
    "line that is not JSON": ("{", r"one\.jsonl:1: not JSON \(.* at character 2\)"),
    "no pair": ("", r"bench/zhoblimp/.*: the file is empty"),
    "pair longer than the context": (
        json.dumps(PAIR | {"sentence_good": "天" * 40}),
        r"40 tokens.*context holds 16",
    ),
}


@pytest.mark.parametrize("mistake", BROKEN_BENCHMARKS)
def test_a_broken_benchmark_is_found_before_training(run, place, mistake):
    content, message = BROKEN_BENCHMARKS[mistake]
    (place / "bench" / "zhoblimp" / "one.jsonl").write_text(content + "\n")
    check(*run("train", *TRAIN), message)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is there")
def test_a_device_that_is_not_there(run):
    check(*run("train", *TRAIN, "engine.device=cuda"), r"engine\.device='cuda': no CUDA device")


def test_a_broken_table_of_accuracies(run, place):
    folder = write_run(place / "runs" / "one", "running")
    (folder / "eval").mkdir()
    (folder / "eval" / "accuracy.csv").write_text("step,accuracy\n0,0.5\n")
    check(*run("analyze"), r"accuracy\.csv:1: no column")


def check(code, error, written, message):
    assert code == 2, error
    assert re.search(message, error, re.DOTALL), error
    assert error.count("error: ") == 1
    assert "Traceback" not in error
    assert not written
