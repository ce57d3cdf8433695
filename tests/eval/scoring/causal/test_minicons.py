"""Agreement with minicons, where it is installed (the extra ``bench``)."""

import json

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertTokenizer, PreTrainedTokenizerFast, XLMRobertaTokenizer

from ucurve.eval.scoring.causal import log_probabilities as causal
from ucurve.eval.scoring.masked import frame
from ucurve.eval.scoring.masked import log_probabilities as masked
from ucurve.eval.scoring.text.sentences import encode

scorer = pytest.importorskip("minicons.scorer", reason="minicons is not installed (extra 'bench')")
METRICS = ["original", "within_word_l2r"]
MODELS = {"wordpiece": "bert", "unigram": "xlm-roberta", "bytes": "roberta"}


@pytest.fixture(scope="module", params=MODELS)
def setting(request, masked_tokenizers, make_masked):
    tokenizer = masked_tokenizers[request.param]
    return tokenizer, make_masked(tokenizer, MODELS[request.param])


@pytest.fixture
def masked_scorer(monkeypatch):
    """Build minicons' masked scorer, which calls tokenizers by a name that transformers 5 has dropped."""

    def build(model, tokenizer):
        if not hasattr(tokenizer, "batch_encode_plus"):
            monkeypatch.setattr(type(tokenizer), "batch_encode_plus", type(tokenizer).__call__, raising=False)
        return scorer.MaskedLMScorer(model, "cpu", tokenizer=tokenizer)

    return build


@pytest.fixture(scope="module")
def published(shared):
    """Five pairs of each of the 22 published suites of a condition and two targets."""
    rows = []
    for file in sorted((shared / "benchmarks" / "tse").glob("*.json")):
        for (condition, _), targets in json.loads(file.read_text(encoding="utf-8"))[::200]:
            rows.append([condition, *(f"{condition} {target}" for target in targets)])
    table = pd.DataFrame(rows, columns=["condition", "good", "bad"])
    return table.assign(benchmark="tse", paradigm="tse", pair=range(len(table)))


def ours(model, tokenizer, sentences, metric):
    words = frame.number_words(tokenizer, sentences) if metric == "within_word_l2r" else None
    return masked.token_log_probabilities(model, sentences, frame.read_frame(tokenizer), words, 2000)


def of_tokens(theirs, sentences, **options):
    """Ask minicons for the log probability of every token."""
    parts = (sentences.texts[low : low + 20] for low in range(0, len(sentences.texts), 20))
    found = [theirs.sequence_score(part, reduction=lambda values: values, **options) for part in parts]
    return np.concatenate([token.numpy() for part in found for token in part])


def given_condition(function, pairs, sentences, **options):
    """Ask minicons for the sums of log probabilities of the targets, sentence by sentence as in ``sentences``."""
    scores = np.full(len(sentences.texts), np.nan)
    for side, members in (("good", sentences.good), ("bad", sentences.bad)):
        for low in range(0, len(pairs), 10):
            part = pairs.iloc[low : low + 10]
            targets = [text[len(given) + 1 :] for given, text in zip(part["condition"], part[side], strict=True)]
            sums = function(
                list(part["condition"]), targets, reduction=lambda values: values.sum(0).item(), **options
            )
            scores[members[low : low + 10]] = sums
    return scores


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.long
def test_pseudo_log_likelihoods_of_200_sentences(setting, conditional_pairs, metric, masked_scorer):
    tokenizer, model = setting
    sentences = encode(conditional_pairs.iloc[:100], tokenizer)
    assert len(sentences.texts) == 200
    theirs = masked_scorer(model, tokenizer)
    expected = of_tokens(theirs, sentences, PLL_metric=metric)
    np.testing.assert_allclose(ours(model, tokenizer, sentences, metric), expected, atol=1e-4)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.long
def test_masked_conditional_scores_of_200_pairs(setting, conditional_pairs, metric, masked_scorer):
    tokenizer, model = setting
    sentences = encode(conditional_pairs, tokenizer, "target")
    theirs = masked_scorer(model, tokenizer)
    expected = given_condition(theirs.conditional_score, conditional_pairs, sentences, PLL_metric=metric)
    np.testing.assert_allclose(sentences.sums(ours(model, tokenizer, sentences, metric)), expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_masked_conditional_scores_of_the_published_pairs(kind, published, make_masked, masked_scorer):
    letters = sorted(set("".join(published["good"]) + "".join(published["bad"])) - {" "})
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    scores = [*((one, 0.0) for one in special), *((one, -4.0) for one in ["▁", *letters]), ("<mask>", 0.0)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    tokenizer = {
        "bert": BertTokenizer(vocab={piece: place for place, piece in enumerate(pieces)}, do_lower_case=False),
        "xlm-roberta": XLMRobertaTokenizer(vocab=scores),
    }[kind]
    model = make_masked(tokenizer, kind, max_position_embeddings=200)
    sentences = encode(published, tokenizer, "target")
    theirs = masked_scorer(model, tokenizer)
    expected = given_condition(theirs.conditional_score, published, sentences, PLL_metric="within_word_l2r")
    totals = sentences.sums(ours(model, tokenizer, sentences, "within_word_l2r"))
    np.testing.assert_allclose(totals, expected, atol=1e-4)


@pytest.fixture(scope="module")
def causal_setting(make_model):
    """A causal model and a tokenizer of bytes, whose padding token is none of the text's."""
    units = ["<eos>", "<pad>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    units_model = models.BPE({unit: place for place, unit in enumerate(units)}, merges=[])
    backend = Tokenizer(units_model)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    names = {"eos_token": "<eos>", "bos_token": "<eos>", "pad_token": "<pad>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **names)
    return tokenizer, make_model(vocabulary=len(tokenizer), positions=400)


def test_causal_scores_of_200_sentences(causal_setting, conditional_pairs):
    tokenizer, model = causal_setting
    sentences = encode(conditional_pairs.iloc[:100], tokenizer)
    theirs = scorer.IncrementalLMScorer(model, "cpu", tokenizer=tokenizer)
    expected = of_tokens(theirs, sentences, bos_token=True)
    scores = causal.token_log_probabilities(model, sentences, tokenizer.bos_token_id, 2000)
    np.testing.assert_allclose(scores, expected, atol=1e-4)


@pytest.mark.parametrize("name", ["conditional_pairs", "published"])
def test_causal_conditional_scores(causal_setting, name, request):
    """The target's first token is the space before it, for minicons as for us."""
    tokenizer, model = causal_setting
    pairs = request.getfixturevalue(name)
    sentences = encode(pairs, tokenizer, "target")
    theirs = scorer.IncrementalLMScorer(model, "cpu", tokenizer=tokenizer)
    expected = given_condition(theirs.conditional_score, pairs, sentences, bos_token=True)
    scores = causal.token_log_probabilities(model, sentences, tokenizer.bos_token_id, 2000)
    np.testing.assert_allclose(sentences.sums(scores), expected, atol=1e-4)
