from dataclasses import asdict, replace

import pytest
import torch

from ucurve.config import compose, plain
from ucurve.errors import UserError
from ucurve.training.config import read_request
from ucurve.training.identity import config_sha256, differing_keys, pick_identity, without_seeds
from ucurve.training.model import precision


def read(*overrides):
    return read_request(compose("train", ["tokens=10M", "tokenizer=char", "data=text", *overrides]))


def test_run_names_are_the_identity():
    named = read("model=14m", "tokenizer=char", "data.path=../shared/corpora/zh-books")
    assert named.run_name == "14m-10M-char-zh_books-s0"
    assert read("seed=3", "name=again").run_name == "14m-10M-char-text-s3-again"
    assert read("seeds.init=1").run_name == "14m-10M-char-text-si1d0"
    assert read("tokens=3e9", "model=160m").run_name == "160m-3B-char-text-s0"


def test_a_log_schedule_has_the_papers_count_or_every_step_of_a_short_run():
    assert read().schedule.count == 47
    assert read("tokens=200K").schedule.count == 13


def test_zero_is_a_seed_and_one_seed_sets_both():
    assert asdict(read("seed=0").seeds) == {"init": 0, "data": 0}
    assert asdict(read("seed=7").seeds) == {"init": 7, "data": 7}
    assert asdict(read("seed=7", "seeds.data=0").seeds) == {"init": 7, "data": 0}


@pytest.mark.parametrize("text", ["3B", "3e9", "3000000000", "3_000_000_000", "3000M", "3000000k"])
def test_a_budget_may_be_written_in_several_ways(text):
    settings = read(f"tokens={text}")
    assert settings.tokens == 3_000_000_000
    assert settings.steps == 183_105


@pytest.mark.parametrize("text", ["10m", "10Mb"])
def test_another_unit_is_refused_with_the_allowed_ones(text):
    with pytest.raises(UserError, match=rf"'{text}' is not a count; allowed: 10M, 1\.5B"):
        read(f"tokens={text}")


def test_a_seed_that_is_none_is_one_problem_of_the_key_that_was_given():
    with pytest.raises(UserError) as caught:
        read("seed=0-2")
    assert str(caught.value) == (
        "seed: got '0-2'; a whole number from 0 is expected, several make a grid: -m seed=0,1,2"
    )
    with pytest.raises(UserError, match=r"seeds\.init: got 'x'; a whole number"):
        read("seeds.init=x")


def test_all_problems_come_in_one_message():
    with pytest.raises(UserError) as caught:
        read("optimizer.clip=-1", "batch.length=1", "tokenizer.vocab_size=many", "seed=-4")
    message = str(caught.value)
    assert "problems in the configuration" in message
    for part in (
        "optimizer.clip: got -1",
        "batch.length: got 1",
        "tokenizer.vocab_size: got 'many'",
        "seed: got -4",
    ):
        assert part in message


@pytest.mark.parametrize(
    "override",
    [
        "optimizer.clip=inf",
        "optimizer.betas=[1,0.95]",
        "model.name=../x",
        "paths.runs=''",
        "tokens=1e40",
        "schedule=pythia schedule.count=20",
    ],
)
def test_values_that_fit_the_type_but_nothing_else_are_refused(override):
    with pytest.raises(UserError, match=override.split("=")[0].split(".")[0]):
        read(*override.split())


def test_a_missing_budget_is_named():
    with pytest.raises(UserError, match=r"tokens: no value given"):
        read_request(compose("train", []))


def test_the_identity_leaves_out_how_and_where():
    base = read()
    same = read(
        "eval.when=never", "engine.micro_batch=8", "paths.runs=elsewhere", "data.path=x", "data.name=text"
    )
    assert config_sha256(base.identity()) != config_sha256(read("seed=1").identity())
    assert config_sha256(base.identity()) == config_sha256(replace(same, data=base.data).identity())
    assert differing_keys(base.identity(), read("model.hidden_dropout=0.1").identity()) == [
        "model.hidden_dropout: 0.0 -> 0.1"
    ]
    assert differing_keys(base.identity(), read("optimizer.clip=2", "schedule.count=9").identity()) == [
        "optimizer.clip: 1.0 -> 2.0",
        "schedule.count: 47 -> 9",
    ]


def test_runs_of_one_cell_differ_in_the_seeds_only():
    assert without_seeds(read("seed=0").identity()) == without_seeds(read("seed=1").identity())
    assert without_seeds(read().identity()) != without_seeds(read("tokens=20M").identity())


def test_the_identity_survives_the_file():
    settings = read("data.path=[a,b]")
    assert pick_identity(plain(asdict(settings))) == plain(settings.identity())


def test_the_precision_belongs_to_the_identity():
    full, half = read("engine.precision=float32"), read("engine.precision=bfloat16")
    assert differing_keys(full.identity(), half.identity()) == ["engine.precision: 'float32' -> 'bfloat16'"]


@pytest.mark.parametrize(
    ("device", "files", "available", "supported", "expected"),
    [
        ("auto", True, True, True, "bfloat16"),
        ("cuda:1", True, True, True, "bfloat16"),
        ("auto", True, True, False, "float32"),
        ("auto", True, False, True, "float32"),
        ("auto", False, True, True, "float32"),
        ("cpu", True, True, True, "float32"),
    ],
)
def test_automatic_precision_follows_the_device(
    monkeypatch, tmp_path, device, files, available, supported, expected
):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(precision, "_DEVICE_FILES", (tmp_path if files else tmp_path / "none",))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: supported)
    assert read(f"engine.device={device}").engine.precision == expected


@pytest.mark.parametrize(
    ("override", "message"),
    [
        *((f"tokens={text}", r"tokens: .* is not a (whole number|count)")
          for text in ("many", "-5", "0", "1.5", "10Q", "true")),
        *((f"tokens={text} data.words=jieba", r"tokens: .*allowed: 10M, 1\.5B, 3e9, 1000000, and 102Mw for words")
          for text in ("0w", "w", "1.5w", "102Mwords", "null")),
        ("tokens=100", r"tokens=100 is less than one global batch of 16384 tokens; .* lower batch.sequences=256 or batch.length=64"),
        ("model=tiny model.heads=3", r"width 64 must be 3 heads times a multiple of 8"),
        ("model=tiny model.hidden_dropout=1", r"model\.hidden_dropout: got 1; .*less than 1"),
        ("engine.micro_batch=0", r"engine\.micro_batch: got 0; allowed: auto, or a number of sequences from 1"),
        ("engine.micro_batch=all", r"engine\.micro_batch: got 'all'; allowed: auto"),
        ("engine.device=gpu", r"engine\.device: got 'gpu'; allowed: auto, cpu, cuda, or one device as cuda:1"),
        ("engine.compile=maybe", r"engine\.compile: got 'maybe'; allowed: auto, true, false"),
        ("engine.precision=float16", r"engine\.precision: got 'float16'.*'float32' or 'bfloat16'"),
    ],
)  # fmt: skip
def test_values_are_refused_with_what_is_allowed(override, message):
    with pytest.raises(UserError, match=message):
        read(*override.split())


def test_a_budget_in_words_names_the_run_and_is_no_number_of_tokens_yet():
    settings = read("tokens=102Mw", "data.words=jieba")
    assert (settings.tokens, settings.words, settings.schedule.count) == (None, 102_000_000, None)
    assert settings.run_name == "14m-102Mw-char-text-s0"
    settled = settings.with_tokens(163_840_000)
    assert (settled.run_name, settled.steps, settled.schedule.count) == (settings.run_name, 10_000, 47)
    assert {"words": 102_000_000}.items() <= settled.identity().items()
    assert settled.identity()["data"]["words"] == "jieba"


def test_a_counter_decides_nothing_in_a_run_of_tokens():
    assert read("data.words=jieba").identity() == read().identity()


def test_interventions_are_in_the_name_and_the_identity():
    step = "name: no_any, do: drop, unit: sentence"
    filtered = read("data.path=texts/en", f'data.interventions=[{{{step}, pattern: "\\bany\\b"}}]')
    assert filtered.run_name == "14m-10M-char-en_no_any-s0"
    wanted = {"name": "no_any", "do": "drop", "unit": "sentence", "pattern": "\\bany\\b"}
    [found] = filtered.identity()["data"]["interventions"]
    assert {key: value for key, value in found.items() if value is not None} == wanted
    assert pick_identity(plain(asdict(filtered))) == plain(filtered.identity())
    listed = [
        read("data.path=texts/en", f"data.interventions=[{{{step}, file: {file}}}]")
        for file in ("a.txt", "b.txt")
    ]
    assert config_sha256(listed[0].identity()) == config_sha256(listed[1].identity()), (
        "its content is part of the data"
    )
