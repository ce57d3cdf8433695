"""What is stored of causal models, scorer by scorer, against the plain way: a sentence at a time, all logits."""

import json
import unicodedata

import numpy as np
import pytest
import torch

from ucurve.eval.scoring.mink import MIN_K

CAUSAL = ("gpt2", "gpt_neox", "llama", "bytes")


@pytest.fixture(params=CAUSAL)
def subject(request, models_of):
    return models_of(request.param)


def whole(text):
    return 0, len(text)


def target(pair, text):
    return len(pair["condition"]), len(text)


def region(pair, side):
    return tuple(map(int, pair[f"region_{side}"].split(":")))


@pytest.mark.parametrize("bos", ["auto", "bos", "eos"])
def test_sentence(subject, custom, stored, plain, bos):
    if bos == "bos" and subject.tokenizer.bos_token_id is None:
        pytest.skip("this tokenizer has no bos token, which another test is about")
    start = subject.tokenizer.bos_token_id if bos == "bos" else subject.tokenizer.eos_token_id
    if bos == "auto" and subject.tokenizer.bos_token_id is not None:
        start = subject.tokenizer.bos_token_id

    def oracle(pair, text, side):
        scores = plain.causal(subject, text, start)
        return plain.expected(subject, text, scores, [True] * len(scores), whole(text))

    result = stored(subject, "hard", "sentence", bos=bos, **custom)
    plain.check(result, oracle)
    assert result.facts["settings"]["start_id"] == start
    assert result.facts["start_token"] == subject.tokenizer.convert_ids_to_tokens(start)
    assert result.facts["leading_space"] == (subject.kind == "llama")


def test_sentence_without_start_token(subject, custom, stored, plain):
    def oracle(pair, text, side):
        scores = plain.causal(subject, text, None)
        counted = plain.counting(subject, text, whole(text))
        first, second = (plain.characters(subject, text)[place] for place in (0, 1))
        begins = min(max(first) + 1, *second)
        return plain.expected(subject, text, scores, [False, *counted[1:]], (begins, len(text)))

    result = stored(subject, "hard", "sentence", bos="none", **custom)
    plain.check(result, oracle)
    ids = {text: plain.ids(subject, text) for text in (*result.pairs["good"], *result.pairs["bad"])}
    other = [ids[pair["good"]][0] != ids[pair["bad"]][0] for pair in result.pairs.to_dict("records")]
    assert result.facts["pairs_with_other_first_tokens"] == np.mean(other)
    assert result.facts["start_token"] is None
    assert result.facts["settings"]["start_rule"] == "none"


@pytest.mark.parametrize("bos", ["auto", "none"])
def test_target_given_condition(subject, custom, stored, plain, bos):
    start = subject.tokenizer.bos_token_id if subject.tokenizer.bos_token_id is not None else 0

    def oracle(pair, text, side):
        scores = plain.causal(subject, text, start if bos == "auto" else None)
        counted = plain.counting(subject, text, target(pair, text))
        if bos == "none":
            counted[0] = False
        return plain.expected(subject, text, scores, counted, target(pair, text))

    hard = stored(subject, "hard", "conditional", bos=bos, scorer="conditional", **custom)
    plain.check(hard, oracle)


CONTEXTS_CARD = """name: two
language: eng
scorer: conditional
columns:
  condition_good: context_1
  condition_bad: context_2
  good: "{context_1} {target}"
  bad: "{context_2} {target}"
"""


def test_one_target_after_two_contexts(subject, stored, plain, tmp_path):
    rows = [("The dogs", "The dog", "see a doghouse."), ("A dog that", "Dogs", "see the house.")]
    names = ("context_1", "context_2", "target")
    lines = (json.dumps(dict(zip(names, row, strict=True))) for row in rows)
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines))
    (tmp_path / "card.yaml").write_text(CONTEXTS_CARD)
    start = subject.tokenizer.bos_token_id if subject.tokenizer.bos_token_id is not None else 0

    def oracle(pair, text, side):
        span = len(pair[f"condition_{side}"]), len(text)
        counted = plain.counting(subject, text, span)
        return plain.expected(subject, text, plain.causal(subject, text, start), counted, span)

    result = stored(subject, "two", "conditional", benchmarks=(str(tmp_path / "card.yaml"),))
    plain.check(result, oracle)


def straddling(plain, subject, pairs, span):
    """Count the sentences with a token that has characters on both sides of a border of what is scored."""
    found = set()
    for pair in pairs.to_dict("records"):
        for side in ("good", "bad"):
            inside = set(range(*span(pair, side)))
            held = plain.characters(subject, pair[side])
            if any(token & inside and token - inside for token in held):
                found.add((pair[side], min(inside), max(inside)))
    return len(found)


def test_region(subject, custom, stored, plain):
    start = subject.tokenizer.bos_token_id if subject.tokenizer.bos_token_id is not None else 0

    def oracle(pair, text, side):
        counted = plain.counting(subject, text, region(pair, side))
        return plain.expected(subject, text, plain.causal(subject, text, start), counted, region(pair, side))

    result = stored(subject, "hard", "region", scorer="region", **custom)
    plain.check(result, oracle)
    across = straddling(plain, subject, result.pairs, region)
    assert result.facts["sentences_with_a_token_across_a_border"] == across
    assert across == 0 if subject.kind == "bytes" else across > 0


def test_region_of_bytes_by_hand(models_of, custom, stored):
    """A token is a byte: a region holds as many as its UTF-8 form."""
    table = stored(models_of("bytes"), "hard", "region", scorer="region", **custom).table
    assert table["n_good"].tolist() == [3, 8, 15, 6, 9, 3, 6, 10]
    assert table["chars_good"].tolist() == [3, 8, 5, 2, 3, 3, 6, 5]
    assert (table["n_good"] == table["bytes_good"]).all()


def test_a_word_is_the_same_region_with_and_without_its_space(models_of, tmp_path, stored):
    """Whether a tokenizer counts the space to the word's token decides nothing."""
    text = "The dogs see a doghouse."
    spans = ["9:12", "8:12", "9:13", "8:13"]
    lines = [
        "sentence_good\tsentence_bad\tregion_good\tregion_bad",
        *(f"{text}\t{text}\t{span}\t{span}" for span in spans),
    ]
    (tmp_path / "regions.tsv").write_text("\n".join(lines) + "\n")
    for kind in ("gpt2", "gpt_neox"):
        result = stored(
            models_of(kind),
            "spaces",
            "region",
            scorer="region",
            benchmarks=("custom",),
            custom={"path": tmp_path / "regions.tsv", "name": "spaces"},
        )
        assert result.table["lp_good"].nunique() == 1
        assert result.facts["sentences_with_a_token_across_a_border"] == 0
        (result.out / "eval").rename(tmp_path / kind)


def test_mink_by_hand(subject, custom, stored, plain):
    start = subject.tokenizer.bos_token_id if subject.tokenizer.bos_token_id is not None else 0

    def oracle(pair, text, side):
        scores = plain.causal(subject, text, start)
        least = {
            f"mink{percent}": np.mean(sorted(scores)[: max(1, len(scores) * percent // 100)]) for percent in MIN_K
        }
        return plain.expected(subject, text, scores, [True] * len(scores), whole(text)) | least

    plain.check(stored(subject, "hard", "mink", scorer="mink", **custom), oracle)


def test_mink_without_start_token(models_of, custom, stored, plain):
    subject = models_of("gpt2")

    def oracle(pair, text, side):
        scores = sorted(plain.causal(subject, text, None)[1:])
        return {"n": len(scores), "mink50": np.mean(scores[: max(1, len(scores) // 2)])}

    plain.check(stored(subject, "hard", "mink", scorer="mink", bos="none", **custom), oracle)


def ends_a_word(tokenizer, token):
    """Say whether a word ends before a token: the end, the mark of a word, white space, a sign, a control character."""
    if token in tokenizer.all_special_ids:
        return token == tokenizer.eos_token_id
    character = tokenizer.decode([token])[:1]
    marked = tokenizer.convert_ids_to_tokens(token)[0] in "Ġ▁"
    return (
        marked
        or (character != "\ufffd" and unicodedata.category(character or "a")[0] in "PSZ")
        or (unicodedata.category(character or "a") == "Cc")
    )


@torch.inference_mode()
@pytest.mark.parametrize("kind", ["gpt2", "gpt_neox", "llama"])
def test_corrected_region(models_of, stored, plain, tmp_path, kind):
    """The stored score is that of the tokens plus log P(E | region) - log P(E | before it), E what no word goes on with."""
    subject, text = models_of(kind), "The dogs see a dog."
    (tmp_path / "words.csv").write_text(
        f"sentence_good,sentence_bad,region_good,region_bad\n{text},The dogs sees a dog.,4:8,15:19\n"
    )
    own = {
        "benchmarks": ("custom",),
        "custom": {"path": tmp_path / "words.csv", "name": "words"},
        "scorer": ("region",),
    }
    row = stored(subject, "words", "region", **own, bow_correction=True).table.iloc[0]
    ids, counted = plain.ids(subject, text), plain.counting(subject, text, (4, 8))
    first, end = counted.index(True), len(counted) - counted[::-1].index(True)
    start = subject.tokenizer.bos_token_id
    shares = subject.model(input_ids=torch.tensor([[start, *ids]])).logits[0].double().softmax(-1)
    ends = [ends_a_word(subject.tokenizer, token) for token in range(len(subject.tokenizer))]
    correction = float(shares[end, ends].sum().log() - shares[first, ends].sum().log())
    lp = sum(plain.causal(subject, text, start)[first:end])
    assert abs(correction) > 0.01
    assert row["bow_good"] == pytest.approx(correction, abs=1e-4)
    assert row["lp_good"] == pytest.approx(lp + correction, abs=2e-4)
    assert row["n_good"] == end - first


def test_unseen_tokens_are_those_of_what_is_scored(models_of, custom, stored, plain):
    subject = models_of("gpt2")
    counts = np.load(subject.folder / "unigram_counts.npy")
    result = stored(subject, "hard", "conditional", scorer="conditional", **custom)
    members = {
        (pair[side], len(pair["condition"]))
        for pair in result.pairs.to_dict("records")
        for side in ("good", "bad")
    }
    never = [
        token
        for text, first in members
        for token, counted in zip(
            plain.ids(subject, text), plain.counting(subject, text, (first, len(text))), strict=True
        )
        if counted and counts[token] == 0
    ]
    assert len(never) > 0
    assert (result.facts["unseen_tokens"], result.facts["unseen_types"]) == (len(never), len(set(never)))
