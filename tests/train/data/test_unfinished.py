"""A data set of the hub whose tokenizing is killed goes on where it was, to the bytes of one that was left alone."""

import json
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hub import Hub, serve
from tests.train.data.test_store import tokenizer_for, write_corpus

ROOT = Path(__file__).resolve().parents[3]
FILES = 6
DROPS = [{"name": "no_x", "do": "drop", "unit": "document", "contains": "地"}]


def texts(file):
    chance = random.Random(file)
    return ["\n".join("".join(chance.choices("天地玄黄宇宙洪荒", k=30)) for _ in range(3)) for _ in range(20)]


@pytest.fixture(scope="module")
def hub():
    with serve(Hub()) as hub:
        rows = {
            f"data/part-{file}.jsonl": "".join(json.dumps({"text": text}) + "\n" for text in texts(file)).encode()
            for file in range(FILES)
        }
        hub.commit("datasets", "me/texts", rows)
        yield hub


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    place = tmp_path_factory.mktemp("tokenizer")
    return tokenizer_for(write_corpus(place / "books", texts(0)), place)


@pytest.fixture(scope="module")
def worker(hub, tmp_path_factory):
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(tmp_path_factory.mktemp("hf")),
        "HF_HUB_OFFLINE": "0",
    }
    command = [sys.executable, str(Path(__file__).with_name("stream_worker.py"))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env=environment, **pipes) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def tokenize(hub, tokenizer, worker, tmp_path):
    """Tokenize into a cache in a process of its own; return its exit code and what it said."""

    def tokenize(cache, interventions=(), die_at=0):
        del hub.requests[:]
        commit = hub.repositories["datasets", "me/texts"].branches["main"]
        request = {"cache": str(tmp_path / cache), "tokenizer": str(tokenizer), "commit": commit}
        request |= {"interventions": interventions, "die_at": die_at}
        worker.stdin.write(json.dumps(request) + "\n")
        worker.stdin.flush()
        return int(worker.stdout.readline()), (tmp_path / f"{cache}.log").read_text()

    return tokenize


def contents(cache):
    return {
        str(path.relative_to(cache)): path.read_bytes()
        for path in cache.rglob("*")
        if path.is_file() and not path.name.endswith(".lock")
    }


def requested_parts(hub):
    return {
        int(part) for line in hub.requests if line.startswith("GET") for part in re.findall(r"part-(\d)", line)
    }


@pytest.mark.long
@pytest.mark.parametrize("interventions", [[], DROPS], ids=["plain", "drops"])
def test_a_kill_costs_no_more_than_what_was_read_since_the_last_mark(hub, tokenize, tmp_path, interventions):
    code, said = tokenize("alone", interventions)
    assert code == 0, said
    assert requested_parts(hub) == set(range(FILES))
    for die_at in (2, -3, 3):
        code, said = tokenize("killed", interventions, die_at)
        assert code == -signal.SIGKILL, said
    assert len(list((tmp_path / "killed").glob(".tokens-*.unfinished"))) == 1
    code, said = tokenize("killed", interventions)
    assert code == 0, said
    assert "going on after" in said
    assert 0 < len(requested_parts(hub)) < FILES
    assert contents(tmp_path / "killed") == contents(tmp_path / "alone")
    assert any(name.endswith("dropped.jsonl.gz") for name in contents(tmp_path / "alone")) == bool(interventions)


@pytest.mark.long
def test_progress_of_files_that_are_damaged_is_not_used(hub, tokenize, tmp_path):
    assert tokenize("alone")[0] == 0
    assert tokenize("killed", die_at=4)[0] == -signal.SIGKILL
    (shard,) = (tmp_path / "killed").glob(".tokens-*/shard-00001.bin")
    shard.write_bytes(shard.read_bytes()[:-2])
    code, said = tokenize("killed")
    assert (code, "going on" in said) == (0, False)
    assert contents(tmp_path / "killed") == contents(tmp_path / "alone")


def test_an_error_before_the_first_mark_leaves_nothing(hub, tokenize, tmp_path, monkeypatch):
    hub.commit("datasets", "me/texts", {"data/part-0.jsonl": b'{"body": "x"}\n'}, branch="broken")
    repository = hub.repositories["datasets", "me/texts"]
    monkeypatch.setitem(repository.branches, "main", repository.branches["broken"])
    code, said = tokenize("broken")
    assert code == 1
    assert "data.text_field" in said
    assert not list((tmp_path / "broken").glob(".tokens*"))
