"""Runs on mixtures, in stages and on filtered text: shares at every checkpoint, the same text for every budget, resuming."""

import random
import re
import shutil

import numpy as np
import pytest
from transformers import AutoTokenizer

from tests.train.run.interrupting import train_cut_off
from ucurve.config import compose
from ucurve.errors import UserError
from ucurve.storage.facts import read_manifest, read_run_facts
from ucurve.storage.run_folder import checkpoints
from ucurve.token_stream.run import RunTokens
from ucurve.training.config import read_request
from ucurve.training.replay import open_batches
from ucurve.training.run.prepare import expect_run
from ucurve.training.run.run import train_run
from ucurve.training.verify import run_faults

LETTERS = {"zh": "天地玄黄宇宙洪荒日月", "en": "abcdefghij"}


@pytest.fixture
def texts(tmp_path):
    """Two files of 150 lines, of Chinese characters and of letters."""
    chance = random.Random(0)
    for name, letters in LETTERS.items():
        lines = ("".join(chance.choices(letters, k=chance.randint(20, 60))) for _ in range(150))
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


@pytest.fixture
def choice(texts, settings_of):
    """A function from a corpus of the two files and further overrides to settings."""

    def build(kind, first, *more, second="weight: .3"):
        parts = f"[{{path: {texts}/zh.txt, {first}}}, {{path: {texts}/en.txt, {second}}}]"
        return settings_of(f"data={kind}", f"data.parts={parts}", *more)

    return build


@pytest.fixture
def overrides(overrides):
    return [one for one in overrides if not one.startswith("data.path")]


@pytest.fixture
def settings_of(overrides):
    return lambda *more: read_request(compose("train", [*overrides, *more]))


def written(sequences):
    return [re.sub(r"<.*?>", "", seen.text) for seen in sequences]


def test_a_mixture_has_its_shares_at_every_checkpoint(choice):
    settings = choice("mixture", "weight: .7", "schedule.count=12")
    train_run(settings)
    run = settings.folder
    assert run.name == "tiny-1536-char-zh_70_en_30-s0"
    assert run_faults(run) == []
    seen = open_batches(run)
    for folder in checkpoints(run):
        manifest = read_manifest(folder)
        sequences = written(seen.between(0, manifest.step))
        chinese = sum(text[1] in LETTERS["zh"] for text in sequences)
        assert manifest.parts == {"zh": chinese * 16, "en": (len(sequences) - chinese) * 16}
        assert abs(chinese - 0.7 * len(sequences)) < 1
    facts = read_run_facts(run)
    assert [(part.name, part.tokens_seen) for part in facts.parts] == [("zh", 67 * 16), ("en", 29 * 16)]
    assert sum(part.tokens for part in facts.parts) == facts.corpus.tokens
    share = sum(part.tokens_seen * part.documents / part.tokens for part in facts.parts)
    assert facts.corpus.start_tokens_seen == round(share)


def test_parts_are_counted_in_sequences_of_each_length(choice):
    settings = choice("mixture", "weight: .7", "name=grows", "batch.shorter=[{length: 4, tokens: 256}]")
    train_run(settings)
    assert run_faults(settings.folder) == []
    seen, parts = open_batches(settings.folder), read_run_facts(settings.folder).parts
    for folder in checkpoints(settings.folder):
        manifest = read_manifest(folder)
        sequences = [*seen.between(0, manifest.step)]
        tokens = sum(len(one.ids) - 1 for one in sequences if one.position < parts[0].tokens)
        assert manifest.parts == {"zh": tokens, "en": manifest.tokens - tokens}


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [("mixture", "weight: .7", "weight: .3"), ("stages", "tokens: 600", "max_epochs: 1")],
)
def test_a_shorter_budget_is_a_prefix_and_a_killed_run_goes_on_to_the_same_bytes(
    choice, kind, first, second, monkeypatch
):
    whole = choice(kind, first, second=second)
    train_run(whole)
    short = choice(kind, first, "tokens=768", second=second)
    train_run(short)
    assert written(open_batches(short.folder).between(0, 6)) == written(open_batches(whole.folder).between(0, 6))
    weights = {folder.name: (folder / "model.safetensors").read_bytes() for folder in checkpoints(whole.folder)}
    manifests = {folder.name: (folder / "manifest.json").read_bytes() for folder in checkpoints(whole.folder)}
    shutil.rmtree(whole.folder)
    again = choice(kind, first, "resume.seconds=0", second=second)
    train_cut_off(again, monkeypatch, 5)
    train_run(again)
    assert weights == {
        folder.name: (folder / "model.safetensors").read_bytes() for folder in checkpoints(again.folder)
    }
    assert manifests == {
        folder.name: (folder / "manifest.json").read_bytes() for folder in checkpoints(again.folder)
    }


def test_stages_follow_each_other(choice):
    settings = choice("stages", "tokens: 600", second="max_epochs: 1")
    train_run(settings)
    assert settings.folder.name == "tiny-1536-char-zh_600_then_en-s0"
    first = [text[1] in LETTERS["zh"] for text in written(open_batches(settings.folder).between(0, 12))]
    assert first == [True] * 37 + [False] * 59
    assert read_manifest(checkpoints(settings.folder)[-1]).parts == {"zh": 592, "en": 944}


def test_the_stream_of_a_mixture_is_found_and_built_again(choice, tmp_path):
    settings = choice("mixture", "weight: .7")
    train_run(settings)
    before = written(open_batches(settings.folder).between(0, 12))
    shutil.rmtree(tmp_path / "cache")
    assert RunTokens.of(settings.folder).find_stream() is None
    assert written(open_batches(settings.folder).between(0, 12)) == before
    store = RunTokens.of(settings.folder).find_stream()
    assert store.unigram_counts.sum() == pytest.approx(store.length, abs=20)
    [joined] = [path for path in tmp_path.glob("cache/tokens-*") if not list(path.glob("shard*"))]
    assert [path.name for path in joined.iterdir()] == ["index.json"]
    with pytest.raises(UserError, match="data_path=elsewhere is for a corpus of files"):
        shutil.rmtree(joined)
        open_batches(settings.folder, data_path="elsewhere")


def test_a_plan_names_the_parts(choice):
    text = expect_run(choice("mixture", "weight: .7", "tokenizer.vocab_size=50")).describe()
    assert "part           zh: 1,072 tokens (69.79 %)\npart           en: 464 tokens (30.21 %)" in text


def test_a_stage_that_the_budget_does_not_reach_is_told(choice, capsys):
    settings = choice("stages", "tokens: 2K", second="max_epochs: 1")
    assert (
        "part           en: 0 tokens (0 %); the budget ends before this part" in expect_run(settings).describe()
    )
    train_run(settings)
    told = "warning: no token of the part en is trained on: a budget of 1,536 ends before it"
    assert told in capsys.readouterr().err


def test_a_part_that_is_too_short_is_named(choice):
    settings = choice("mixture", "weight: .5", "tokens=60K", second="weight: .5")
    with pytest.raises(UserError, match=r"the part zh of data=zh_50_en_50 gives 29,952 tokens, 4\.\d\d epochs of its .*"
                                        r"max_epochs=1 allows .* give this one max_epochs: 5"):  # fmt: skip
        train_run(settings)
    train_run(choice("mixture", "weight: .5, max_epochs: 1", "tokens=6K", second="weight: .5"))


def test_a_run_on_filtered_text_sees_no_match(texts, settings_of):
    step = "{name: no_aa, do: drop, unit: sentence, pattern: '[a-c]d'}"
    settings = settings_of(f"data.path={texts}/en.txt", f"data.interventions=[{step}]", "data.max_epochs=9")
    train_run(settings)
    run = settings.folder
    assert run.name == "tiny-1536-char-en_no_aa-s0"
    assert run_faults(run) == []
    [facts] = read_run_facts(run).interventions
    assert 0 < facts.after.documents < facts.before.documents == 150 - read_run_facts(run).held_out.documents
    tokenizer = AutoTokenizer.from_pretrained(run / "tokenizer")
    [shard] = texts.glob("cache/tokens-*/shard-*.bin")
    text = tokenizer.decode(np.fromfile(shard, dtype="<u2"), clean_up_tokenization_spaces=False)
    assert re.search("[a-c]e", text)
    assert not re.search("[a-c]d", text)
