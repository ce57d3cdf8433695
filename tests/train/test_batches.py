"""What a model saw between two steps, from the run folder and the token stream alone."""

import csv
import json
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from train.batches import batches_command, open_batches
from train.corpus import Corpus
from train.engine import StepResult
from train.loop import Callbacks, run_steps
from train.records import RunRecord
from train.run import Prepared, _batches, _facts, _lay_out, prepare
from ucurve.errors import UserError

NOTHING = Callbacks(lambda values: None, lambda step: None, lambda step: None)


class Listener:
    """Stands in for an engine and keeps what the loop feeds it."""

    def __init__(self):
        self.fed = {}

    def step(self, windows, rate, number):
        self.fed[number] = windows.copy()
        return StepResult(float(windows.size), 1.0)


@pytest.fixture
def laid_out(settings_of):
    """A function from overrides to a run folder as it stands before its first step, and what it was prepared from."""

    def build(*more: str) -> tuple[Path, Prepared]:
        prepared = prepare(settings_of("data.max_epochs=100000000", *more))
        prepared.folder.mkdir(parents=True)
        _lay_out(prepared)
        RunRecord(prepared.folder, _facts(prepared)).write("running")
        return prepared.folder, prepared

    return build


@pytest.fixture
def run(laid_out):
    return laid_out()[0]


def show(run, capsys, first, last, **more):
    batches_command({"run": str(run), "from": first, "to": last} | more)
    return capsys.readouterr().out


def test_it_shows_what_the_loop_feeds(laid_out, capsys):
    run, prepared = laid_out("tokens=12800")  # 100 steps, several epochs
    listener = Listener()
    run_steps(listener, _batches(prepared), prepared.plan, 1, NOTHING)
    lines = [json.loads(line) for line in show(run, capsys, 1, 100, format="jsonl", ids=True).splitlines()]
    assert [(line["step"], line["sequence"]) for line in lines] == [(s, n) for s in range(2, 101) for n in range(8)]
    shown = np.array([line["ids"] for line in lines]).reshape(99, 8, 17)
    assert all((shown[step - 2] == windows).all() for step, windows in listener.fed.items())
    assert len(listener.fed) == 99


def test_epochs_documents_and_text_are_those_of_the_corpus(laid_out):
    run, prepared = laid_out("tokens=12800")
    texts = list(Corpus(prepared.settings.data).documents())
    separator = "<eos>"
    stream = [(number, token) for number, text in enumerate(texts) for token in (separator, *text)]
    batches = open_batches(run)
    seen = list(batches.between(0, 100))
    in_epoch = (len(stream) - 1) // 16
    assert [one.epoch for one in seen] == [place // in_epoch for place in range(len(seen))]
    assert seen[-1].epoch >= 1
    for one in seen:
        expected = stream[one.position : one.position + 17]
        assert one.text == "".join(token for _, token in expected)
        assert one.documents == sorted({number for number, _ in expected})
    first_epoch = [one.position for one in seen if one.epoch == 0]
    assert sorted(first_epoch) == [place * 16 for place in range(in_epoch)]


def test_from_one_checkpoint_to_the_next_is_neither_more_nor_less(run, capsys):
    whole = show(run, capsys, 0, 12, format="jsonl")
    parts = [show(run, capsys, first, last, format="jsonl") for first, last in ((0, 1), (1, 2), (2, 5), (5, 12))]
    assert whole == "".join(parts)
    assert '"ids"' not in whole


def test_as_csv_and_into_a_file(run, capsys, tmp_path):
    out = tmp_path / "deep" / "batches.csv"
    assert show(run, capsys, 3, 5, format="csv", out=str(out)) == ""
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    seen = list(open_batches(run).between(3, 5))
    assert list(rows[0]) == ["step", "sequence", "epoch", "position", "documents", "text"]
    assert [(int(row["step"]), row["text"], row["documents"].split()) for row in rows] == [
        (one.step, one.text, list(map(str, one.documents))) for one in seen
    ]
    rows = list(csv.DictReader(show(run, capsys, 3, 5, format="csv", ids=True).splitlines()))
    assert [row["ids"] for row in rows] == [" ".join(map(str, one.ids)) for one in seen]


def test_text_is_for_people(run, capsys):
    text = show(run, capsys, 3, 4, ids=True)
    first = next(open_batches(run).of_step(4))
    assert text.splitlines()[0].endswith(": steps 4 to 4, 8 x 16 tokens each; every sequence ends with its last target")
    assert "step 4  sequence 0  epoch 0  document" in text
    assert first.text in text.splitlines()
    assert " ".join(map(str, first.ids)) in text.splitlines()
    assert text.count("step 4 ") == 8


def test_a_million_steps_on_it_is_as_fast(laid_out):
    run, prepared = laid_out("tokens=256_000_000")
    started = time.perf_counter()
    seen = list(open_batches(run).between(999_999, 1_000_000))
    assert time.perf_counter() - started < 1
    windows = _batches(prepared).of_step(1_000_000)
    assert [one.ids for one in seen] == windows.tolist()
    assert seen[0].epoch == 999_999 * 8 // _batches(prepared).order.sequences


def test_the_cache_is_enough_and_so_is_the_corpus(run, corpus, tmp_path, capsys):
    expected = show(run, capsys, 0, 12)
    away = corpus.rename(tmp_path / "away")
    assert show(run, capsys, 0, 12) == expected
    (tmp_path / "cache").rename(tmp_path / "moved")
    with pytest.raises(UserError, match=r"not in .*cache and cannot be built anew: .*small-corpus.*\n  cache=FOLDER"):
        show(run, capsys, 0, 12)
    assert show(run, capsys, 0, 12, cache=str(tmp_path / "moved")) == expected
    shutil.rmtree(tmp_path / "moved")
    assert show(run, capsys, 0, 12, data_path=str(away)) == expected


def test_a_damaged_stream_is_not_shown(run, tmp_path, capsys):
    expected = show(run, capsys, 0, 12)
    shard = max((tmp_path / "cache").rglob("*"), key=lambda path: path.stat().st_size if path.is_file() else 0)
    shard.write_bytes(bytes(shard.stat().st_size))
    assert show(run, capsys, 0, 12) == expected  # built anew


def test_another_corpus_is_refused(run, corpus, tmp_path, capsys):
    shutil.rmtree(tmp_path / "cache")
    with (corpus / "train.jsonl").open("a") as file:
        file.write(json.dumps({"text": "天地"}) + "\n")
    with pytest.raises(UserError, match=r"gives another token stream now, [0-9a-f]{16}, than the run is trained on"):
        show(run, capsys, 0, 12)


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        (0, 13, r"to=13: .*s0 has 12 steps"),
        (5, 5, r"from=5 to=5: no steps"),
        (7, 2, r"from=7 to=2: no steps"),
        (-1, 2, r"from: got -1"),
        ("x", 2, r"from: got 'x'"),
    ],
)
def test_steps_that_are_none(run, capsys, first, last, message):
    with pytest.raises(UserError, match=message):
        show(run, capsys, first, last)


def test_other_mistakes(run, capsys, tmp_path):
    with pytest.raises(UserError, match=r"run: no folder .*s1\. Did you mean"):
        show(run.with_name(run.name.replace("-s0", "-s1")), capsys, 0, 1)
    with pytest.raises(UserError, match="format: got 'xml'"):
        show(run, capsys, 0, 1, format="xml")
    with pytest.raises(UserError, match=r"out=.* is a folder; a file is expected"):
        show(run, capsys, 0, 1, out=str(tmp_path))
    with pytest.raises(UserError, match="from: no value given"):
        batches_command({"run": str(run), "to": 3})
    config = run / "config.yaml"
    config.write_text(config.read_text().replace("sequences: 8", "sequences: 4"))
    with pytest.raises(UserError, match=r"config\.yaml is not the configuration that run\.json was written with"):
        show(run, capsys, 0, 1)
    (run / "run.json").unlink()
    with pytest.raises(UserError, match=r"run\.json: missing; it says which data"):
        show(run, capsys, 0, 1)
