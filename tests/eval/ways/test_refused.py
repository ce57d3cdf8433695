"""Ways to score that do not fit a model, a tokenizer or the pairs: refused before weights are loaded, nothing written."""

import json
import shutil

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from ucurve.errors import UserError
from ucurve.eval.models.folder import model_kind
from ucurve.eval.run import score_model
from ucurve.eval.scoring.loading import load_model
from ucurve.eval.settings import score_settings

RECORD = {"sentence_good": "The dogs see a doghouse.", "sentence_bad": "The dogs sees a doghouse."}
REGIONS = {"region_good": "9:12", "region_bad": "9:13"}
PLACE = "benchmark own, paradigm own, pair 0"


@pytest.fixture
def refused(tmp_path, monkeypatch):
    """Score one pair and give the message it is refused with."""

    def no_model(*_):
        raise AssertionError("weights are loaded")

    def score(folder, *records, **settings):
        monkeypatch.setattr("ucurve.eval.scoring.base.load_model", no_model)
        path, out = tmp_path / "own.jsonl", tmp_path / "refused"
        path.write_text("".join(json.dumps(record) + "\n" for record in records or (RECORD,)))
        columns = {"condition": "condition"} if any("condition" in record for record in records) else {}
        custom = {"path": path, "name": "own", "columns": columns}
        with pytest.raises(UserError) as caught:
            score_model(str(folder), out, score_settings(benchmarks=["custom"], custom=custom, **settings))
        assert not out.exists()
        return str(caught.value)

    return score


@pytest.fixture
def changed(tmp_path, models_of):
    """Copy a model's folder with other values in one of its files of JSON."""

    def copy(kind, file, **values):
        folder = shutil.copytree(models_of(kind).folder, tmp_path / "changed", dirs_exist_ok=True)
        path = folder / file
        path.write_text(json.dumps(json.loads(path.read_text()) | values))
        return folder

    return copy


@pytest.mark.parametrize("scorer", ["sentence", "conditional", "region", "mink", "prompt"])
def test_masked_model_by_a_causal_way(models_of, refused, scorer):
    message = refused(models_of("bert").folder, scorer=scorer)
    assert f"a masked model by its config.json; the scorer {scorer!r} is for causal ones" in message
    assert message.endswith("allowed here: pll, pll_l2r, pll_conditional, pll_mink")


@pytest.mark.parametrize(
    ("kind", "scorer", "column"),
    [
        ("gpt2", "conditional", "condition"),
        ("bert", "pll_conditional", "condition"),
        ("gpt2", "region", "region_good"),
    ],
)
def test_pairs_without_the_part(models_of, refused, kind, scorer, column):
    message = refused(models_of(kind).folder, scorer=scorer)
    assert message.startswith(
        f"benchmark own: the pairs have no column {column!r}, which this way to score needs; "
    )
    assert message.endswith("good, bad")


def test_one_scorer_of_several(models_of, refused):
    assert "no column 'condition'" in refused(models_of("gpt2").folder, scorer=["sentence", "conditional"])


def test_token_that_the_tokenizer_has_not(models_of, refused):
    message = refused(models_of("bytes").folder, bos="bos")
    assert message.endswith(
        "the tokenizer has no bos token; bos=none scores without a start token, bos=TOKEN takes any other"
    )


def test_nothing_to_score_without_start_token(models_of, refused):
    record = {"sentence_good": "a", "sentence_bad": "ab"}
    message = refused(models_of("bytes").folder, record, bos="none")
    assert message == f"{PLACE}, sentence 'a': bos=none leaves no token to score"


def test_a_region_of_the_first_token_without_start_token(models_of, refused):
    record = RECORD | {"region_good": "0:1", "region_bad": "1:2"}
    message = refused(models_of("bytes").folder, record, bos="none", scorer="region")
    assert message == f"{PLACE}, sentence 'The dogs see a doghouse.': bos=none leaves no token to score"


def test_a_part_of_no_token(models_of, refused):
    record = {"condition": "a", "sentence_good": "a \u200b", "sentence_bad": "a b"}
    message = refused(models_of("bert").folder, record, scorer="pll_conditional")
    assert message == f"{PLACE}, sentence 'a \\u200b': the part that is asked for has no token"


# what is too long, for each kind


def test_context_of_a_causal_model(changed, refused, models_of):
    size = len(models_of("bytes").tokenizer(RECORD["sentence_bad"])["input_ids"])
    assert size == 25
    message = refused(changed("bytes", "config.json", max_position_embeddings=size - 1))
    assert message.startswith(
        f"{PLACE}, sentence 'The dogs sees a doghouse.': 25 tokens, but the model's context"
    )
    assert "holds 24 (1 of 2 sentences are too long; 0 of 1 pairs fit)" in message
    message = refused(changed("bytes", "config.json", max_position_embeddings=size - 2), bos="none")
    assert "holds 24 (1 of 2" in message  # the first token is read, the last one is not


@pytest.mark.parametrize(("kind", "positions", "held"), [("bert", 7, 5), ("xlm_roberta", 9, 5)])
def test_context_of_a_masked_model(changed, refused, kind, positions, held):
    """The frame takes two places, and XLM-R counts positions from behind its padding token."""
    folder = changed(kind, "config.json", max_position_embeddings=positions)
    assert f"tokens, but the model's context holds {held} (" in refused(folder, scorer="pll")


def test_context_of_what_follows_a_region(changed, refused, models_of):
    text = "The dogs see a doghouse"
    size = len(models_of("gpt_neox").tokenizer(text)["input_ids"])
    record = {"sentence_good": "The dog", "sentence_bad": text, "region_good": "4:7", "region_bad": "15:23"}
    folder = changed("gpt_neox", "config.json", max_position_embeddings=size)
    assert refused(folder, record, scorer="region", bow_correction=True) == (
        f"{text!r}: the correction for the ends of words reads {size + 1} tokens, but the model's context holds {size}"
    )


def test_context_of_a_chat(changed, refused, models_of):
    folder = changed("bytes", "config.json", max_position_embeddings=120)
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }}")
    message = refused(folder, scorer="prompt")
    assert message.startswith("benchmark own, paradigm own, pair 0, acceptability: the question has ")
    assert message.endswith("tokens and an answer up to 16, but the model's context holds 120")


# the correction of regions


def test_correction_inside_words(models_of, refused):
    record = RECORD | {"region_good": "15:18", "region_bad": "9:13"}
    message = refused(models_of("gpt2").folder, record, scorer="region", bow_correction=True)
    assert (
        "the region 'dog' of 'The dogs see a doghouse.' begins or ends inside a word, as 1 of 2 regions do"
        in message
    )


def test_correction_of_a_first_word_without_start_token(models_of, refused):
    record = RECORD | {"region_good": "0:8", "region_bad": "0:8"}
    message = refused(models_of("gpt2").folder, record, scorer="region", bow_correction=True, bos="none")
    assert message.startswith(
        "the first word of 'The dogs see a doghouse.' has no probability without a start token"
    )


def test_correction_of_something_else(models_of, refused):
    assert "it goes with scorer=region" in refused(models_of("gpt2").folder, bow_correction=True)


# models that are not what they seem


def test_prompt_without_chat_template(models_of, refused):
    folder = models_of("gpt2").folder
    message = refused(folder, scorer="prompt")
    assert message == f"{folder}: the tokenizer has no chat template; the scorer 'prompt' is for chat models"


def test_parts_of_sentences_need_to_know_the_characters_of_tokens(models_of, refused, monkeypatch):
    monkeypatch.setattr(PreTrainedTokenizerFast, "is_fast", False)
    message = refused(models_of("gpt2").folder, RECORD | REGIONS, scorer="region")
    assert "the tokenizer does not say which characters a token stands for" in message


def test_masked_model_without_mask_token(changed, refused):
    folder = changed("bert", "tokenizer_config.json", mask_token=None)
    assert refused(folder, scorer="pll").endswith("the tokenizer has no mask token, which masked scoring needs")


def test_an_encoder_that_is_saved_as_a_decoder(tmp_path, models_of):
    """It would read the token it is to predict."""
    config = AutoConfig.from_pretrained(models_of("bert").folder, is_decoder=False)
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    message = "its predictions change with the tokens that follow, so that it is not a causal model"
    with pytest.raises(UserError, match=message):
        load_model(tmp_path)
    for kind in ("gpt2", "gpt_neox", "llama"):
        load_model(models_of(kind).folder)


def test_models_that_may_be_of_either_kind():
    """XLM has one class for both; its configuration says which."""
    config = {"architectures": ["XLMWithLMHeadModel"], "model_type": "xlm"}
    assert model_kind(config) == "masked"
    assert model_kind(config | {"causal": True}) == "causal"


def test_a_tokenizer_that_knows_no_words(tmp_path, models_of, refused):
    """Within-word scores need words; the original ones do not."""
    folder = shutil.copytree(models_of("bert").folder, tmp_path / "whole")
    pieces = {piece: place for place, piece in enumerate(["[PAD]", "[UNK]", "[MASK]", *"abcdeghosu T."])}
    whole = Tokenizer(models.BPE(pieces, [], unk_token="[UNK]"))
    whole.pre_tokenizer = pre_tokenizers.Split("\n", "isolated")
    PreTrainedTokenizerFast(tokenizer_object=whole, mask_token="[MASK]").save_pretrained(folder)
    message = refused(folder, scorer="pll_l2r")
    assert message.endswith(
        "does not split a text into words: it takes 'a b' for one; the scorer 'pll' needs no words"
    )


def test_a_chat_has_no_sentence_to_put_a_space_before(models_of, refused):
    message = refused(models_of("gpt2").folder, scorer="prompt", leading_space=True)
    assert (
        message == "leading_space=true is for scorers that read a sentence; scorer=prompt asks about two of them"
    )


def test_questions_in_a_language_of_which_there_is_no_text(models_of, refused):
    message = refused(models_of("gpt2").folder, scorer="prompt", prompt={"language": "sve"})
    assert message.startswith("unknown language 'sve' in prompt.language; allowed: deu, eng,")
    assert message.endswith("Did you mean 'swe'?")
