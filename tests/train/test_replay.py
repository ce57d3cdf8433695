"""What a model saw between two steps, from the run folder and the token stream alone."""

import csv
import json
import shutil
import time

import numpy as np
import pytest

from tests.facts import change_run
from tests.settings import batches_command
from tests.train.tiny_models import TINY
from ucurve.errors import UserError
from ucurve.storage.facts import read_run_facts
from ucurve.storage.files import sha256_file
from ucurve.token_stream.order import Batches
from ucurve.training.model.design import NOT_PREDICTED
from ucurve.training.objective.masks import MaskedBatches
from ucurve.training.replay import open_batches
from ucurve.training.run.run import train_run
from ucurve.training.run_folder.config_file import stored_config_sha256


@pytest.fixture
def run(finished_run):
    """A finished run of 12 steps."""
    return finished_run()


def lengthen(run, tokens):
    """Make of a run one that is going to be long, as it stands when it has taken a few steps."""
    config = run / "config.yaml"
    config.write_text(config.read_text().replace("tokens: 1536", f"tokens: {tokens}"))
    files = {**read_run_facts(run).files, "config.yaml": sha256_file(config)}
    change_run(run, config_sha256=stored_config_sha256(run), status="running", files=files)


def show(run, capsys, first, last, **more):
    batches_command({"run": str(run), "from": first, "to": last} | more)
    return capsys.readouterr().out


def test_it_shows_what_the_loop_feeds(settings_of, monkeypatch, capsys):
    fed, feed = {}, Batches.of_step
    monkeypatch.setattr(Batches, "of_step", lambda self, step: fed.setdefault(step, feed(self, step)))
    settings = settings_of("tokens=7680", "data.max_epochs=2", "seeds.data=3", "model=tiny", "batch.sequences=6")
    train_run(settings)
    assert sorted(fed) == list(range(1, 81))
    run = settings.folder
    lines = [json.loads(line) for line in show(run, capsys, 1, 80, format="jsonl", ids=True).splitlines()]
    assert [(line["step"], line["sequence"]) for line in lines] == [
        (s, n) for s in range(2, 81) for n in range(6)
    ]
    shown = np.array([line["ids"] for line in lines]).reshape(79, 6, 17)
    assert all((shown[step - 2] == fed[step]).all() for step in range(2, 81))
    assert {line["epoch"] for line in lines} == {0, 1}


def test_masked_tokens_are_shown_as_the_model_sees_them(settings_of, monkeypatch, capsys):
    fed, feed = {}, MaskedBatches.of_step
    monkeypatch.setattr(MaskedBatches, "of_step", lambda self, step: fed.setdefault(step, feed(self, step)))
    settings = settings_of(*TINY["bert-14m"])
    train_run(settings)
    seen = open_batches(settings.folder)
    for one in seen.of_step(2):
        inputs, targets = fed[2][one.sequence]
        assert one.masked == seen.tokenizer.decode(inputs.tolist(), clean_up_tokenization_spaces=False)
        assert (targets[targets != NOT_PREDICTED] == np.array(one.ids)[targets != NOT_PREDICTED]).all()
    shown = show(settings.folder, capsys, 1, 2).splitlines()
    assert "every sequence with what the model sees of it below" in shown[0]
    assert not any("<mask>" in line for line in shown[3::4])
    assert any("<mask>" in line for line in shown[4::4])
    assert shown[4::4] == [one.masked for one in seen.of_step(2)]
    [line, *_] = show(settings.folder, capsys, 1, 2, format="jsonl").splitlines()
    assert list(json.loads(line))[-2:] == ["text", "masked"]
    with_ids = show(settings.folder, capsys, 1, 2, format="jsonl", ids=True).splitlines()
    read = [[(record := json.loads(line))["inputs"], record["targets"]] for line in with_ids]
    np.testing.assert_array_equal(read, fed[2])


def test_epochs_documents_and_text_are_those_of_the_corpus(run, corpus):
    lengthen(run, 12800)
    texts = [json.loads(line)["text"] for line in (corpus / "train.jsonl").read_text().splitlines()]
    stream = [(number, token) for number, text in enumerate(texts) for token in ("<eos>", *text)]
    seen = list(open_batches(run).between(0, 100))
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
    assert text.splitlines()[0].endswith(
        ": steps 4 to 4, 8 x 16 tokens each; every sequence ends with its last target"
    )
    assert "step 4  sequence 0  epoch 0  document" in text
    assert first.text in text.splitlines()
    assert " ".join(map(str, first.ids)) in text.splitlines()
    assert text.count("step 4 ") == 8


def test_a_million_steps_on_it_is_as_fast(run):
    lengthen(run, 256_000_000)
    started = time.perf_counter()
    batches = open_batches(run)
    seen = list(batches.between(999_999, 1_000_000))
    assert time.perf_counter() - started < 1
    assert batches.run.steps == 2_000_000
    assert [one.ids for one in seen] == batches.batches.of_step(1_000_000).tolist()
    assert seen[0].epoch == 999_999 * 8 // batches.batches.order.sequences


def test_the_cache_is_enough_and_so_is_the_corpus(run, corpus, tmp_path, capsys):
    expected = show(run, capsys, 0, 12)
    away = corpus.rename(tmp_path / "away")
    assert show(run, capsys, 0, 12) == expected
    (tmp_path / "cache").rename(tmp_path / "moved")
    with pytest.raises(
        UserError, match=r"not in .*cache and cannot be rebuilt: .*small-corpus.*\n  cache=FOLDER"
    ):
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
    with pytest.raises(
        UserError, match=r"gives another token stream now, [0-9a-f]{16}, than the run is trained on"
    ):
        show(run, capsys, 0, 12)


def test_steps_that_are_none(run, capsys):
    mistakes = {
        r"to=13: .*s0 has 12 steps": (0, 13),
        r"from=5 to=5: no steps": (5, 5),
        r"from=7 to=2: no steps": (7, 2),
        r"from: got -1": (-1, 2),
        r"from: got 'x'": ("x", 2),
    }
    for message, (first, last) in mistakes.items():
        with pytest.raises(UserError, match=message):
            show(run, capsys, first, last)


def test_other_mistakes(run, capsys, tmp_path):
    with pytest.raises(UserError, match="format: got 'xml'"):
        show(run, capsys, 0, 1, format="xml")
    with pytest.raises(UserError, match=r"out=.* is a folder; a file is expected"):
        show(run, capsys, 0, 1, out=str(tmp_path))
    with pytest.raises(UserError, match="from: no value given"):
        batches_command({"run": str(run), "to": 3})
    config = run / "config.yaml"
    config.write_text(config.read_text().replace("sequences: 8", "sequences: 4"))
    with pytest.raises(UserError, match=r"config\.yaml: its hash is not run\.json's; restore it"):
        show(run, capsys, 0, 1)
    (run / "run.json").unlink()
    with pytest.raises(UserError, match=r"run\.json: missing; it records which data"):
        show(run, capsys, 0, 1)


def test_the_command_line(run, run_command, capsys):
    expected = show(run, capsys, 3, 5, format="csv", ids=True)
    arguments = [f"run={run}", "from=3", "to=5", "format=csv", "ids=true"]
    assert run_command("batches", *arguments)[:2] == (0, expected)
    code, _, said = run_command("batches", f"run={run}", "from=3", "til=5")
    assert code == 2
    assert "unknown key 'til'; the keys are those of conf/batches.yaml" in said
