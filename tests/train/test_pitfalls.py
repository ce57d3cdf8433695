"""The rows about training and tokenizers of docs/tables/pitfalls.csv; the others are in tests/eval."""

import json
import os
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from tests.settings import corpus_settings, tokenizer_settings
from ucurve.config import Composed, compose
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.pairs import pair_table
from ucurve.eval.scoring.causal.log_probabilities import token_log_probabilities
from ucurve.eval.scoring.text.sentences import encode
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.training.grid.cells import grid_cells
from ucurve.training.run.prepare import expect_run, prepare
from ucurve.training.run.run import train_run
from ucurve.training.tokenizer.build import build_tokenizer

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("UCURVE_SHARED", ROOT.parent / "shared"))
KINDS = ("char", "word", "bpe")


def build(folder, texts, kind):
    """Build a tokenizer of a kind on some texts; return its folder."""
    folder.mkdir(exist_ok=True)
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    sizes = {"word": len({*"".join(texts)}) + 20, "bpe": 300}
    coverage = None if kind == "bpe" else 1.0
    settings = tokenizer_settings(kind=kind, name=kind, vocab_size=sizes.get(kind), coverage=coverage)
    return build_tokenizer(
        settings, corpus_settings(kind="text", path=str(folder / "texts.jsonl")), folder / "built"
    )


def train(settings):
    train_run(settings)
    return settings.folder


def test_pitfall_08_the_start_token_is_one_that_training_saw(corpus, settings_of):
    """Documents that begin in a way of their own: the model knows them after the document token, and not without it."""
    chance = random.Random(0)
    middles = ["".join(chance.choices("宇宙洪荒", k=12)) for _ in range(300)]
    (corpus / "train.jsonl").write_text(
        "".join(json.dumps({"text": f"天地玄黄{middle}天宙"}) + "\n" for middle in middles)
    )
    settings = settings_of("tokens=12800", "data.max_epochs=3", "schedule.count=2")
    prepared = prepare(settings)
    stream = prepared.store.windows(np.array([0]), prepared.store.length)[0]
    tokenizer = load_tokenizer(prepared.tokenizer)
    document = tokenizer.eos_token_id
    assert (stream == document).sum() == 300
    assert (stream[1:][stream[:-1] == document] == tokenizer.convert_tokens_to_ids("天")).all()
    last = sorted((train(settings) / "checkpoints").iterdir())[-1]
    records = [
        (middle, {"UID": "a", "phenomenon": "p", "sentence_good": f"天地玄黄{middle}", "sentence_bad": "天"})
        for middle in middles[:20]
    ]
    sentences = encode(pair_table(records, "b", "zho"), tokenizer)
    model = AutoModelForCausalLM.from_pretrained(last)
    scores = {start: token_log_probabilities(model, sentences, start, 500) for start in (document, None)}
    seconds = sentences.starts[:-1][sentences.lengths > 1] + 1
    with_it, without = (-scores[start][seconds].mean() for start in (document, None))
    assert with_it < 0.2 < without
    assert -scores[document].mean() < np.log(len(tokenizer))


@pytest.mark.parametrize("kind", KINDS)
def test_pitfall_09_tokens_spell_every_sentence_of_a_benchmark(tmp_path, kind):
    pairs = load_benchmark("demo")
    sentences = sorted({*pairs["good"], *pairs["bad"]})
    tokenizer = load_tokenizer(build(tmp_path / "corpus", sentences[:400], kind))
    assert_spelt(tokenizer, sentences, {*"".join(sentences[:400])} if kind != "bpe" else None)


def assert_spelt(tokenizer, sentences, letters=None):
    spelt = tokenizer.batch_decode(tokenizer(sentences, add_special_tokens=False)["input_ids"])
    wrong = [text for text, again in zip(sentences, spelt, strict=True) if text != again]
    assert [text for text in wrong if letters is None or letters.issuperset(text)] == []
    assert len(wrong) < len(sentences) / 2


@pytest.mark.parametrize("name", ["zhoblimp", "rublimp", "swe-blimp"])
def test_pitfall_09_tokens_spell_every_sentence_of_the_published_benchmarks(tmp_path, name):
    if not (SHARED / "benchmarks" / name).is_dir():
        pytest.skip("the published benchmark files are not here (../shared or $UCURVE_SHARED)")
    pairs = load_benchmark(name, SHARED / "benchmarks")
    tokenizer = load_tokenizer(build(tmp_path / "corpus", pairs["good"][::500].tolist(), "bpe"))
    assert_spelt(tokenizer, sorted({*pairs["good"], *pairs["bad"]})[::10])


TEXTS = ["天地 玄黄，an\tab  é", "an ab"]
GOLDEN = {
    "char": [[3, 2, 6, 4, 5, 12, 7, 9, 10, 7, 8, 6, 6, 11], [7, 9, 6, 7, 8]],
    "word": [[13, 3, 14, 12, 19, 2, 18, 3, 3, 7], [19, 3, 18]],
    "bpe": [[265, 221, 266, 172, 121, 235, 271, 198, 270, 221, 221, 128, 103], [271, 221, 270]],
}


@pytest.mark.parametrize("kind", KINDS)
def test_pitfall_10_ids_are_the_same_by_every_way_to_load_a_tokenizer(tmp_path, kind):
    folder = build(tmp_path / "corpus", [*TEXTS, "天地玄黄" * 9], kind)
    by_library = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ours = AutoTokenizer.from_pretrained(folder)
    again = tmp_path / "again"
    ours.save_pretrained(again)
    assert isinstance(ours, PreTrainedTokenizerFast)
    for text in TEXTS:
        ids = by_library.encode(text, add_special_tokens=False).ids
        assert ids == ours(text, add_special_tokens=False)["input_ids"]
        assert ids == AutoTokenizer.from_pretrained(again)(text, add_special_tokens=False)["input_ids"]
        assert ours.decode(ids) == text
    assert [ours(text, add_special_tokens=False)["input_ids"] for text in TEXTS] == GOLDEN[kind]


def test_pitfall_27_seeds_are_cells_of_a_grid():
    cells = grid_cells([Composed(compose("train", ["experiment=demo"]), ("experiment=demo",))])
    settings = [cell.settings for cell in cells]
    assert len({cell.run_name for cell in settings}) == len(settings) > 1
    assert {cell.seeds.init for cell in settings} == {cell.seeds.data for cell in settings} == {0, 1, 2}


def test_pitfall_28_a_plan_tells_whether_embeddings_are_tied_and_the_first_rate(settings_of):
    plan = expect_run(settings_of("tokens=10752")).describe()
    assert "embeddings     not tied to the output layer" in plan
    rate = float(plan.partition("learning rate  ")[2].split()[0])
    assert rate > 0


def test_pitfall_28_step_1_differs_from_step_0_in_every_group_of_weights(settings_of):
    run = train(settings_of())
    before, after = (
        AutoModelForCausalLM.from_pretrained(run / "checkpoints" / f"step{step:08d}") for step in (0, 1)
    )
    assert before.config.tie_word_embeddings is False
    assert before.get_input_embeddings().weight.data_ptr() != before.get_output_embeddings().weight.data_ptr()
    for part in ("embed_in", "attention.dense.weight", "mlp.dense_h_to_4h.weight", "lm_head"):
        (name,) = [name for name in dict(before.named_parameters()) if name.endswith((part, f"{part}.weight"))][
            :1
        ]
        assert not torch.equal(dict(before.named_parameters())[name], dict(after.named_parameters())[name])
    rates = [json.loads(line)["lr"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert rates[0] > 0
