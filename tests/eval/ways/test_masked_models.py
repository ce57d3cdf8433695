"""What is stored of masked models against masking one token at a time, and all logits."""

import numpy as np
import pytest

from ucurve.eval.scoring.mink import MIN_K


@pytest.fixture(params=["bert", "xlm_roberta"])
def subject(request, models_of):
    return models_of(request.param)


@pytest.mark.parametrize(("scorer", "bos"), [("pll", "none"), ("pll_l2r", "auto")])
def test_whole_sentence(subject, custom, stored, plain, scorer, bos):
    """The frame is the tokenizer's, whatever the start token of causal models is to be."""

    def oracle(pair, text, side):
        scores = plain.masked(subject, text, scorer == "pll_l2r")
        return plain.expected(subject, text, scores, [True] * len(scores), (0, len(text)))

    result = stored(subject, "hard", scorer, scorer=scorer, bos=bos, **custom)
    plain.check(result, oracle)
    assert result.facts["start_token"] is None
    framed = subject.tokenizer("a")["input_ids"]
    assert result.facts["settings"]["frame"] == [framed[:1], framed[-1:], subject.tokenizer.mask_token_id]


def test_unknown_tokens_are_counted(models_of, custom, stored, plain):
    table = stored(models_of("bert"), "hard", "pll", scorer="pll", **custom).table
    assert table["unk_good"].sum() > 0


def test_target_with_the_condition_in_view(subject, custom, stored, plain):
    def oracle(pair, text, side):
        span = len(pair["condition"]), len(text)
        counted = plain.counting(subject, text, span)
        return plain.expected(subject, text, plain.masked(subject, text, True), counted, span)

    result = stored(subject, "hard", "pll_conditional", scorer="pll_conditional", bos="none", **custom)
    plain.check(result, oracle)
    assert (result.table["n_good"] < result.pairs["good"].map(lambda text: len(plain.ids(subject, text)))).all()


def test_least_probable_tokens_when_each_is_masked(subject, custom, stored, plain):
    def oracle(pair, text, side):
        scores = plain.masked(subject, text, False)
        least = {
            f"mink{percent}": np.mean(sorted(scores)[: max(1, len(scores) * percent // 100)]) for percent in MIN_K
        }
        return plain.expected(subject, text, scores, [True] * len(scores), (0, len(text))) | least

    plain.check(stored(subject, "hard", "pll_mink", scorer="pll_mink", **custom), oracle)
