"""A space before every sentence, as lm-eval's tasks read BLiMP, against the plain request for the text with a space."""

import pytest

CAUSAL = ("gpt2", "gpt_neox", "llama", "bytes")


def spaced(span):
    return tuple(place + 1 for place in span)


def usual_start(subject):
    tokenizer = subject.tokenizer
    return tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id


@pytest.mark.parametrize("kind", CAUSAL)
@pytest.mark.parametrize("scorer", ["sentence", "region"])
def test_causal_models_read_the_space_and_count_no_character_of_it(
    models_of, custom, stored, plain, kind, scorer
):
    subject = models_of(kind)

    def oracle(pair, text, side):
        read = f" {text}"
        span = (0, len(text)) if scorer == "sentence" else tuple(map(int, pair[f"region_{side}"].split(":")))
        scores = plain.causal(subject, read, usual_start(subject))
        counts = [True] * len(scores) if scorer == "sentence" else plain.counting(subject, read, spaced(span))
        return plain.expected(subject, read, scores, counts, spaced(span))

    result = stored(subject, "hard", scorer, scorer=(scorer,), leading_space=True, tokens=True, **custom)
    plain.check(result, oracle)
    assert result.facts["settings"]["leading_space"] is True


@pytest.mark.parametrize("kind", ["bert", "xlm_roberta"])
def test_masked_models_read_the_space(models_of, custom, stored, plain, kind):
    subject = models_of(kind)

    def oracle(pair, text, side):
        read = f" {text}"
        scores = plain.masked(subject, read, True)
        return plain.expected(subject, read, scores, [True] * len(scores), spaced((0, len(text))))

    plain.check(stored(subject, "hard", "pll_l2r", scorer=("pll_l2r",), leading_space=True, **custom), oracle)


def test_without_it_nothing_changes_in_a_key(models_of, custom, stored):
    usual = stored(models_of("gpt2"), "hard", "sentence", **custom).facts["settings"]
    assert "leading_space" not in usual
    spaced = stored(models_of("gpt2"), "hard", "sentence", leading_space=True, **custom).facts["settings"]
    assert spaced == usual | {"leading_space": True}
    assert list(usual) == list({key: value for key, value in spaced.items() if key != "leading_space"})
