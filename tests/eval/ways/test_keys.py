"""A score is made again exactly when something it depends on has changed."""

import json
import shutil
from fnmatch import fnmatch

import numpy as np
import pandas as pd
import pytest

from tests.facts import without_network
from tests.settings import prompt_settings
from ucurve.eval.models.targets import model_targets
from ucurve.eval.run import load_benchmarks
from ucurve.eval.settings import score_settings
from ucurve.eval.sweep.jobs import prepare
from ucurve.eval.sweep.load import SweepCache
from ucurve.huggingface.tokenizer_files import encoding_sha256, tokenizer_sha256

TEMPLATE = "{{ messages[0].content }}"
ASKED = {"grammaticality": "{a} or {b}?", "acceptability": "{b} or {a}?"}


def edit(folder, file, **values):
    path = folder / file
    held = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(held | values))


def counts(folder):
    path = folder / "unigram_counts.npy"
    np.save(path, np.load(path) + 1)


def template(folder):
    (folder / "chat_template.jinja").write_text(TEMPLATE + "!")


def keys_of(folder, custom, **settings):
    """Return the keys of the scores of a model by each scorer, without scoring."""
    asked = score_settings(**custom, **settings)
    return [
        job.inputs
        for job in prepare(model_targets(str(folder), None)[0], load_benchmarks(asked), asked, SweepCache())
    ]


@pytest.fixture
def copied(tmp_path, models_of):
    """Copy a model and give it a chat template."""

    def copy(kind):
        folder = shutil.copytree(models_of(kind).folder, tmp_path / kind)
        (folder / "chat_template.jinja").write_text(TEMPLATE)
        return folder

    return copy


SCORERS = {"gpt2": ("sentence", "mink", "region"), "bytes": ("prompt",), "bert": ("pll_l2r",)}


@pytest.mark.parametrize(
    ("kind", "change", "settings", "again"),
    [
        ("gpt2", None, {}, False),
        ("gpt2", None, {"batch_tokens": 64}, False),
        ("gpt2", None, {"linking": ("mean_lp",), "ties_rules": ("wrong",)}, False),
        ("gpt2", None, {"bos": "none"}, True),
        ("gpt2", None, {"dtype": "bfloat16"}, True),
        ("gpt2", counts, {}, True),
        ("gpt2", template, {}, False),
        ("bytes", None, {}, False),
        ("bytes", counts, {}, False),  # an answer has no unigram probability
        ("bytes", template, {}, True),
        ("bytes", None, {"bos": "none"}, False),
        ("bytes", lambda folder: edit(folder, "generation_config.json", eos_token_id=[0, 40]), {}, True),
        ("bytes", None, {"prompt": prompt_settings(own=ASKED)}, True),
        ("bert", None, {"bos": "none"}, False),  # a masked model has a frame of its own
        ("bert", lambda folder: edit(folder, "tokenizer_config.json", mask_token="[PAD]"), {}, True),
        ("bert", lambda folder: edit(folder, "config.json", layer_norm_eps=0.1), {}, True),
    ],
)
def test_what_a_score_depends_on(copied, custom, kind, change, settings, again):
    folder, scorers = copied(kind), SCORERS[kind]
    before = keys_of(folder, custom, scorer=scorers)
    if change is not None:
        change(folder)
    after = keys_of(folder, custom, **{"scorer": scorers, **settings})
    assert [one != other for one, other in zip(before, after, strict=True)] == [again] * len(scorers)


def test_the_correction_of_regions_is_part_of_the_key(copied, tmp_path):
    words = [("The dogs see a dog.", "The dogs sees a dog.", "9:12", "9:13")]
    columns = ["sentence_good", "sentence_bad", "region_good", "region_bad"]
    pd.DataFrame(words, columns=columns).to_csv(tmp_path / "words.csv", index=False)
    own = {"benchmarks": ("custom",), "custom": {"path": tmp_path / "words.csv", "name": "words"}}
    folder = copied("gpt2")
    plain, corrected = (keys_of(folder, own, scorer=("region",), bow_correction=value) for value in (False, True))
    assert plain != corrected


def test_int8_of_another_device_is_another_score(models_of, custom, monkeypatch):
    """The processor and an accelerator quantize in different ways."""
    folder, settings = models_of("gpt2").folder, {"dtype": "int8", "scorer": ("sentence",)}
    here = keys_of(folder, custom, **settings)
    assert here == keys_of(folder, custom, **settings)
    monkeypatch.setattr("ucurve.eval.scoring.base.int8_method", lambda device: "LLM.int8")
    assert here != keys_of(folder, custom, **settings)


def test_the_percentages_of_mink_are_part_of_its_key(models_of, custom, monkeypatch):
    folder = models_of("gpt2").folder
    mink, sentence = keys_of(folder, custom, scorer=("mink", "sentence"))
    monkeypatch.setattr("ucurve.eval.scoring.mink.MIN_K", (20,))
    other, same = keys_of(folder, custom, scorer=("mink", "sentence"))
    assert (mink != other, sentence == same) == (True, True)


def test_how_answers_are_read_is_part_of_the_key(copied, custom):
    """The same questions in another language are read for other words that may announce an answer."""
    folder = copied("bytes")
    asked = [prompt_settings(own=ASKED, language=language) for language in ("swe", "nld")]
    one, other = (keys_of(folder, custom, scorer=("prompt",), prompt=prompt) for prompt in asked)
    assert one != other


# what is kept from one checkpoint to the next


def test_every_benchmark_is_tokenised_once_however_many_there_are(tmp_path, models_of):
    for copy in ("step1", "step2"):
        shutil.copytree(models_of("bert").folder, tmp_path / copy)
    pairs = [
        pd.DataFrame(
            [{"benchmark": f"b{number}", "language": "eng", "paradigm": "p", "phenomenon": "p", "pair": 0}]
        ).assign(good=f"a {number}", bad=f"b {number}")
        for number in range(12)
    ]
    cache, targets = SweepCache(), model_targets(str(tmp_path), ["step1", "step2"])
    first, second = (prepare(target, pairs, score_settings(), cache) for target in targets)
    assert cache.made == {"tokenizer": 1, "sentences": 12}
    assert all(one.scorer.sentences is other.scorer.sentences for one, other in zip(first, second, strict=True))
    assert first[0].scorer.info.tokenizer is second[0].scorer.info.tokenizer


def test_parts_of_one_benchmark_are_kept_apart(models_of, custom):
    target = model_targets(str(models_of("gpt2").folder), None)[0]

    def counts_of(bos):
        settings = score_settings(**custom, scorer=("sentence", "conditional", "region"), bos=bos)
        made = prepare(target, load_benchmarks(settings), settings, SweepCache())
        return [int(job.scorer.sentences.counts().sum()) for job in made], len(made[0].scorer.sentences.texts)

    (whole, target_only, region), sentences = counts_of("auto")
    assert whole > target_only > region
    assert counts_of("none")[0] == [whole - sentences, target_only, region]


@pytest.mark.parametrize("name", ["spm.model", "sentencepiece.bpe.model", "bpe.codes"])
def test_tokenizers_of_one_file_are_known_by_it(tmp_path, name):
    """DeBERTa-v3, XLM-R and BERTweet are published without tokenizer.json in some places."""
    (tmp_path / name).write_text("one")
    hashes = tokenizer_sha256(tmp_path), encoding_sha256(tmp_path)
    (tmp_path / name).write_text("two")
    assert tokenizer_sha256(tmp_path) != hashes[0]
    assert encoding_sha256(tmp_path) != hashes[1]


def test_what_a_tokenizer_needs_is_fetched_from_the_hub(models_of, monkeypatch, tmp_path):
    """A chat template has a file of its own, and some tokenizers have no tokenizer.json."""
    asked, folder = {}, models_of("bytes").folder
    without_network(monkeypatch, lambda name, **options: asked.update(options) or str(folder))
    monkeypatch.chdir(tmp_path)
    assert model_targets("owner/name", None)[0].folder == folder
    files = ["chat_template.jinja", "generation_config.json", "spm.model", "sentencepiece.bpe.model", "bpe.codes"]
    assert all(any(fnmatch(file, pattern) for pattern in asked["allow_patterns"]) for file in files)
