"""What is stored of single tokens and words, against models asked one sentence at a time and sums by hand."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

from tests.settings import custom_benchmark
from ucurve.errors import UserError
from ucurve.eval.scoring.causal.bow_correction import word_marks
from ucurve.eval.store.tokens import read_sentences, read_tokens


@pytest.fixture
def spaced(tmp_path):
    """Two pairs of texts with words, the first with an unequal number of them."""
    rows = [
        ("The dogs see a doghouse.", "The dogs see the dog and."),
        ("Mtoto huyu ni mzuri.", "Mtoto hawa ni mzuri."),
    ]
    lines = [json.dumps({"sentence_good": good, "sentence_bad": bad}) for good, bad in rows]
    (tmp_path / "spaced.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"benchmarks": ("custom",), "custom": custom_benchmark(path=tmp_path / "spaced.jsonl", name="spaced")}


def read(result, benchmark, scorer):
    found = read_tokens(result.out, benchmark, scorer, -1)
    return found, read_sentences(result.out, benchmark, found.sentences)


def of(sentences, place, values):
    return values[sentences.starts[place] : sentences.starts[place + 1]]


@pytest.mark.parametrize(
    ("kind", "scorer", "bos"),
    [
        ("gpt2", "sentence", "eos"),
        ("llama", "sentence", "none"),
        ("gpt2", "region", "eos"),
        ("llama", "mink", "eos"),
        ("bert", "pll_conditional", "auto"),
    ],
)
def test_tokens_as_the_model_scores_them(models_of, custom, stored, plain, kind, scorer, bos):
    subject = models_of(kind)
    result = stored(subject, "hard", scorer, scorer=scorer, bos=bos, tokens=True, **custom)
    found, sentences = read(result, "hard", scorer)
    start = None if bos == "none" else subject.tokenizer.eos_token_id
    for place, text in enumerate(sentences.texts):
        values, scored = of(sentences, place, found.values), of(sentences, place, sentences.scored)
        assert of(sentences, place, sentences.tokens).tolist() == plain.ids(subject, text)
        if kind == "bert":
            wanted = np.where(scored, plain.masked(subject, text, scorer == "pll_conditional"), np.nan)
        else:  # it has read all tokens, those that do not count as well
            wanted = plain.causal(subject, text, start)
        assert values == pytest.approx(np.array(wanted), abs=2e-4, nan_ok=True)
        held = plain.characters(subject, text)
        assert of(sentences, place, sentences.places).tolist() == [[min(one), max(one) + 1] for one in held]
    sums = [
        of(sentences, place, np.where(sentences.scored, found.values, 0)).sum()
        for place in range(len(sentences.texts))
    ]
    table = result.table.merge(sentences.members, on="pair", validate="one_to_one")
    assert len(table) == len(result.pairs)
    for side in ("good", "bad"):
        assert table[f"lp_{side}"].to_numpy() == pytest.approx(np.array(sums)[table[side]], abs=1e-5)
        assert [sentences.texts[place] for place in table[side]] == result.pairs[side].tolist()


@pytest.mark.parametrize(("kind", "scorer"), [("gpt2", "sentence"), ("llama", "sentence"), ("bert", "pll")])
def test_words_are_sums_of_the_tokens_that_begin_in_them(models_of, spaced, stored, plain, kind, scorer):
    subject = models_of(kind)
    result = stored(subject, "spaced", scorer, scorer=scorer, words=True, **spaced)
    found, sentences = read(result, "spaced", scorer)
    by_hand = []
    for place, text in enumerate(sentences.texts):
        words = text.split()
        edges = np.cumsum([len(word) + 1 for word in words])  # a word ends before the space after it
        sums = np.zeros(len(words))
        for value, held in zip(of(sentences, place, found.values), plain.characters(subject, text), strict=True):
            sums[np.searchsorted(edges, min(held), side="right")] += value
        by_hand += sums.tolist()
    assert found.words == pytest.approx(by_hand, abs=1e-5)
    assert len(found.words) == 5 + 4 + 6 + 4


def test_words_are_added_to_stored_tokens_without_the_model(models_of, spaced, stored, monkeypatch):
    subject = models_of("gpt2")
    before = read(stored(subject, "spaced", "sentence", tokens=True, **spaced), "spaced", "sentence")[0]
    assert before.words is None
    monkeypatch.setattr("ucurve.eval.scoring.base.load_model", lambda *_: pytest.fail("a model is loaded"))
    after = read(stored(subject, "spaced", "sentence", words=True, **spaced), "spaced", "sentence")[0]
    assert after.values.tolist() == before.values.tolist()
    assert len(after.words) == 19
    kept = read(stored(subject, "spaced", "sentence", tokens=True, **spaced), "spaced", "sentence")[0]
    assert kept.words.tolist() == after.words.tolist()


def test_probabilities_of_words_take_the_place_of_sums_of_tokens(models_of, spaced, stored):
    """They are scored again for that; in the sum of a sentence only the ends of it and the start are left."""
    subject = models_of("gpt2")
    before, sentences = read(stored(subject, "spaced", "sentence", words=True, **spaced), "spaced", "sentence")
    asked = {"words": True, "bow_correction": True, **spaced}
    after = read(stored(subject, "spaced", "sentence", **asked), "spaced", "sentence")[0]
    assert after.values.tolist() == before.values.tolist()
    gaps = after.words - before.words
    assert (np.abs(gaps) > 0.01).all()
    marks = word_marks(subject.tokenizer)
    for place, first, end in zip(range(4), after.word_starts, [*after.word_starts[1:]], strict=False):
        ids = of(sentences, place, sentences.tokens)
        read_by_hand = torch.tensor([[subject.tokenizer.eos_token_id, *ids]])
        logits = subject.model(read_by_hand).logits.detach()[0, [0, -1]].double().log_softmax(-1)
        entry = logits[0, ~marks.begins if not marks.begins[ids[0]] else marks.borders].logsumexp(-1)
        assert gaps[first:end].sum() == pytest.approx(
            float(logits[1, marks.borders].logsumexp(-1) - entry), abs=1e-4
        )
    kept = read(stored(subject, "spaced", "sentence", **asked), "spaced", "sentence")[0]
    assert kept.words.tolist() == after.words.tolist()


def test_probabilities_of_words_need_a_model_that_predicts_the_next_token(models_of, spaced, stored):
    with pytest.raises(UserError, match="bow_correction=true: pll predicts no next token; leave it out"):
        stored(models_of("bert"), "spaced", "pll", scorer="pll", words=True, bow_correction=True, **spaced)


def test_text_without_words_is_refused(models_of, custom, stored):
    with pytest.raises(
        UserError, match=r"words=true: hard: white space does not delimit the words .* tokens=true"
    ):
        stored(models_of("gpt2"), "hard", "sentence", words=True, **custom)


def test_answers_have_no_tokens(chat_folder, spaced, stored):
    with pytest.raises(
        UserError, match="tokens=true: the scorer 'prompt' adds up no log probabilities of tokens"
    ):
        stored(chat_folder, "spaced", "prompt", scorer=("prompt",), linking=None, tokens=True, **spaced)


@pytest.fixture
def chat_folder(tmp_path, models_of):
    folder = shutil.copytree(models_of("bytes").folder, tmp_path / "chat")
    (folder / "chat_template.jinja").write_text("{% for message in messages %}{{ message.content }}{% endfor %}")
    return SimpleNamespace(folder=folder)


def test_a_tokenizer_that_names_no_characters_has_tokens_and_no_words(models_of, spaced, stored, monkeypatch):
    monkeypatch.setattr(PreTrainedTokenizerFast, "is_fast", False)
    with pytest.raises(UserError, match=r"words=true: .* does not say which characters a token stands for"):
        stored(models_of("gpt2"), "spaced", "sentence", words=True, **spaced)
    sentences = read(
        stored(models_of("gpt2"), "spaced", "sentence", tokens=True, **spaced), "spaced", "sentence"
    )[1]
    assert sentences.places is None
    assert sentences.words is None
