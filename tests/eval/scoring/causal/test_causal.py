from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import accuracy_table, decide
from ucurve.eval.pairs import pair_table
from ucurve.eval.scoring.batching import length_batches
from ucurve.eval.scoring.causal import log_probabilities as causal
from ucurve.eval.scoring.causal.log_probabilities import token_log_probabilities
from ucurve.eval.scoring.output import output_layer
from ucurve.eval.scoring.text.sentences import NotFiniteError, encode


def sentence_scores(model, sentences, start, batch_tokens, advance=None):
    return sentences.sums(token_log_probabilities(model, sentences, start, batch_tokens, advance))


EOS = 0


def wins(sentences, scores):
    return decide(scores[sentences.good], scores[sentences.bad])


@pytest.fixture(scope="module")
def sentences(pairs, tokenizer):
    return encode(pairs, tokenizer)


@pytest.fixture(scope="module")
def plain(model, sentences, plain_score):
    return np.array([plain_score(model, sentences.ids(place), EOS) for place in range(len(sentences.texts))])


@pytest.fixture(params=["forest", "length"])
def way(request, monkeypatch):
    """Score by shared contexts, or by batches of equal lengths."""
    if request.param == "length":
        monkeypatch.setattr(causal, "supports_prefix_sharing", lambda *_: False)


@pytest.mark.parametrize("batch_tokens", [1, 7 * 10, 64 * 10, 10**6])
def test_equals_sentence_at_a_time_whatever_the_batch(model, sentences, plain, batch_tokens, way):
    scores = sentence_scores(model, sentences, EOS, batch_tokens)
    assert np.abs(scores - plain).max() < 1e-4
    np.testing.assert_array_equal(wins(sentences, scores), wins(sentences, plain))
    assert np.ptp(plain) > 10  # the oracle tells sentences apart


def test_published_pairs(shared, make_model, make_tokenizer, plain_score):
    pairs = load_benchmark("zhoblimp", shared / "benchmarks").iloc[::70].iloc[:500].reset_index(drop=True)
    tokenizer = make_tokenizer(sorted(set("".join(pairs["good"]) + "".join(pairs["bad"]))))
    model = make_model(vocabulary=len(tokenizer))
    sentences = encode(pairs, tokenizer)
    plain = np.array([plain_score(model, sentences.ids(place), EOS) for place in range(len(sentences.texts))])
    for batch_tokens in (1, 7 * 12, 64 * 12):
        scores = sentence_scores(model, sentences, EOS, batch_tokens)
        assert np.abs(scores - plain).max() < 1e-4
        np.testing.assert_array_equal(wins(sentences, scores), wins(sentences, plain))


def test_bigram_by_hand(bigram_model, tokenizer):
    probabilities = np.full((6, 6), 1 / 6)
    probabilities[EOS] = [0.1, 0.1, 0.4, 0.2, 0.1, 0.1]
    probabilities[2] = [0.1, 0.1, 0.1, 0.5, 0.1, 0.1]
    pairs = one_pair("一丁", "丁一")  # ids 2 3 and 3 2
    scores = sentence_scores(bigram_model(np.log(probabilities)), encode(pairs, tokenizer), EOS, 100)
    np.testing.assert_allclose(scores, np.log([0.4 * 0.5, 0.2 * 1 / 6]), rtol=1e-6)


def test_certain_token_is_still_a_token(bigram_model, tokenizer):
    logits = np.zeros((6, 6))
    logits[2, 3] = 40.0  # a gap of 40: the log probability is 0 in float32
    sentences = encode(one_pair("一丁", "丁一"), tokenizer)
    scores = sentence_scores(bigram_model(logits), sentences, EOS, 100)
    assert scores[0] == pytest.approx(np.log(1 / 6), abs=1e-6)
    assert sentences.lengths.tolist() == [2, 2]


@pytest.mark.parametrize("shift", [-300.0, 0.0, 300.0])
def test_logits_out_of_the_range_of_exponentials(bigram_model, tokenizer, shift):
    logits = np.random.default_rng(0).normal(size=(6, 6)) + shift
    sentences = encode(one_pair("一丁七", "丁一"), tokenizer)
    scores = sentence_scores(bigram_model(logits), sentences, EOS, 100)
    table = logits - np.log(np.exp(logits - shift).sum(axis=1, keepdims=True)) - shift
    wanted = [table[[EOS, *ids[:-1]], ids].sum() for ids in id_lists(sentences)]
    np.testing.assert_allclose(scores, wanted, atol=1e-4)


def test_model_that_caps_its_logits_is_asked_for_them(bigram_model, tokenizer):
    logits = np.random.default_rng(1).normal(size=(6, 6)) * 5
    model = bigram_model(logits)
    plain_call = type(model).forward

    def capped(self, input_ids, **_):
        answer = plain_call(self, input_ids)
        answer.logits = 3 * torch.tanh(answer.logits / 3)
        return answer

    type(model).forward = capped
    sentences = encode(one_pair("一丁七", "丁一"), tokenizer)
    wanted = sentence_scores(bigram_model(3 * np.tanh(logits / 3)), sentences, EOS, 100)
    np.testing.assert_allclose(sentence_scores(model, sentences, EOS, 100), wanted, atol=1e-5)


@pytest.mark.parametrize("name", ["final_logit_softcapping", "logit_scale", "logits_scaling"])
def test_model_whose_configuration_changes_logits_is_asked_for_them(bigram_model, tokenizer, name):
    """Small logits, as those of the probe, may not show a cap."""
    model = bigram_model(np.zeros((6, 6)))
    capped = SimpleNamespace(vocab_size=6, **{name: 3.0})
    type(model).config = SimpleNamespace(model_type="bigram", get_text_config=lambda: capped)
    assert output_layer(model, torch.tensor([[0, 1]])) is None
    assert output_layer(bigram_model(np.zeros((6, 6))), torch.tensor([[0, 1]])) is not None


@pytest.mark.parametrize("inner", ["takes no cache", "gives no hidden states"])
def test_model_without_the_usual_inner_part_is_asked_for_logits(bigram_model, tokenizer, inner):
    logits = np.random.default_rng(2).normal(size=(6, 6))
    sentences = encode(one_pair("一丁七", "丁一"), tokenizer)
    wanted = sentence_scores(bigram_model(logits), sentences, EOS, 100)
    model = bigram_model(logits)
    table = torch.as_tensor(logits, dtype=torch.float32)
    if inner == "takes no cache":
        type(model).base_model = lambda _, input_ids: SimpleNamespace(last_hidden_state=torch.eye(6)[input_ids])
        type(model).forward = lambda _, input_ids: SimpleNamespace(logits=table[input_ids])
    else:
        type(model).base_model = lambda _, input_ids, **__: (torch.eye(6)[input_ids],)
    np.testing.assert_allclose(sentence_scores(model, sentences, EOS, 100), wanted, atol=1e-5)


def test_sentence_that_spells_the_separator(model, tokenizer, plain_score, way):
    sentences = encode(one_pair("一<eos>丁", "一<eos>"), tokenizer)
    scores = sentence_scores(model, sentences, EOS, 1000)
    wanted = [plain_score(model, ids, EOS) for ids in id_lists(sentences)]
    np.testing.assert_allclose(scores, wanted, atol=1e-4)
    assert sentences.lengths.tolist() == [3, 2]


def test_equal_logits_decide_nothing(make_model, pairs, sentences, way):
    model = make_model()
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
    scores = sentence_scores(model, sentences, EOS, 512)
    np.testing.assert_allclose(scores, -sentences.lengths * np.log(model.config.vocab_size), rtol=1e-6)
    table = pairs[["pair"]].assign(
        lp_good=scores[sentences.good],
        lp_bad=scores[sentences.bad],
        n_good=sentences.lengths[sentences.good],
        n_bad=sentences.lengths[sentences.bad],
        unigram_good=np.nan,
        unigram_bad=np.nan,
    )
    rows = accuracy_table(pairs, table, [parse_linking("lp"), parse_linking("mean_lp")])
    assert (rows[rows["linking"] == "mean_lp"]["accuracy"] == 0.5).all()
    equal = rows[(rows["linking"] == "lp") & (rows["split"] == "equal")]
    assert len(equal)
    assert (equal["accuracy"] == 0.5).all()
    assert (equal["ties"] == equal["n"]).all()


def test_pitfall_23_no_dropout_whatever_mode_the_model_is_in(make_model, model, sentences, way):
    training = make_model().train()
    scores = sentence_scores(training, sentences, EOS, 512)
    np.testing.assert_array_equal(scores, sentence_scores(model, sentences, EOS, 512))
    assert training.training


def test_not_finite_score_names_the_sentence(make_model, tokenizer, way):
    model = make_model()
    pairs = one_pair("一丁万", "一七丁")
    with torch.no_grad():
        model.gpt_neox.embed_in.weight[tokenizer.convert_tokens_to_ids("七")] = torch.nan
    with pytest.raises(NotFiniteError) as caught:
        sentence_scores(model, encode(pairs, tokenizer), EOS, 512)
    assert caught.value.sentence == 1


def test_progress_counts_every_sentence(model, sentences, way):
    done = []
    sentence_scores(model, sentences, EOS, 512, done.append)
    assert sum(done) == len(sentences.texts)


@pytest.mark.parametrize("batch_tokens", [1, 7, 100])
def test_batches(batch_tokens):
    lengths = np.array([3, 1, 3, 20, 1, 3])
    batches = list(length_batches(lengths, batch_tokens))
    assert sorted(np.concatenate(batches).tolist()) == list(range(6))
    for batch in batches:
        assert len(set(lengths[batch])) == 1
        assert len(batch) == 1 or lengths[batch].sum() <= batch_tokens


def one_pair(good, bad):
    record = {"UID": "u", "phenomenon": "p", "sentence_good": good, "sentence_bad": bad}
    return pair_table([("here", record)], "b", "zho")


def id_lists(sentences):
    return [sentences.ids(place).tolist() for place in range(len(sentences.texts))]
