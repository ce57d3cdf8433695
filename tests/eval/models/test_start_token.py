"""The token that sentences are scored after: by its text, by its id, and where it belongs to the messages of a chat."""

import json

import pandas as pd
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from ucurve.errors import UserError
from ucurve.eval.models.folder import between_documents, delimits_messages, start_token
from ucurve.eval.run import check_benchmarks, score_model
from ucurve.eval.settings import score_settings

END, BEGIN, STOP = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
WORDS = ("the", "dog", "sees", "see", "it", ".", "user", "assistant")
CHATML = "{% for m in messages %}{{ '<|im_start|>' + m['role'] + ' ' + m['content'] + '<|im_end|>' }}{% endfor %}"
LLAMA = "{% for m in messages %}{{ bos_token if m['role'] == 'user' else '' }}{{ m['content'] }}{% endfor %}"
ONCE = "<|im_start|>{% for m in messages %}{{ m['content'] }}{% endfor %}"


@pytest.fixture(scope="module")
def make():
    def make(template=None, **special):
        vocabulary = {token: number for number, token in enumerate([END, BEGIN, STOP, *WORDS])}
        tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=END))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.add_special_tokens([END, BEGIN, STOP])
        names = {"bos_token": BEGIN, "eos_token": STOP, "unk_token": END} | special
        return PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, chat_template=template, name_or_path="smol", **names
        )

    return make


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (END, (0, END, "token")),
        (0, (0, END, "token")),
        ("dog", (4, "dog", "token")),
        (10, (10, "assistant", "token")),
        (BEGIN, (1, BEGIN, "bos")),  # the score that the word asks for
        (2, (2, STOP, "eos")),
        ("auto", (1, BEGIN, "bos")),
        ("none", (None, None, "none")),
    ],
)
def test_a_token_or_its_id(make, asked, expected):
    start = start_token(make(cls_token="dog"), False, asked)
    assert (start.id, start.text, start.rule) == expected


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("<|endofext|>", r"bos: the tokenizer of smol has no token '<\|endofext\|>'; allowed: auto, bos, eos, none, a tok.*"
                         r"Did you mean '<\|endoftext\|>'\?"),
        ("eoss", r"has no token 'eoss'; .* Did you mean 'eos'\?"),
        (11, r"bos=11: the tokenizer of smol has no token of that id; its ids go from 0 to 10"),
    ],
)  # fmt: skip
def test_a_token_that_is_not_there(make, asked, message):
    with pytest.raises(UserError, match=message):
        start_token(make(), False, asked)


@pytest.mark.parametrize(("asked", "word"), [("bos", "bos token"), ("auto", "bos or eos token to start")])
def test_a_word_without_its_token(make, asked, word):
    tokenizer = make(bos_token=None, eos_token=None)
    with pytest.raises(UserError, match=rf"has no {word}.*bos=none scores without .*, bos=TOKEN takes any other"):
        start_token(tokenizer, False, asked)


@pytest.mark.parametrize(
    ("template", "special", "expected"),
    [
        (CHATML, {}, True),
        (CHATML, {"bos_token": END}, False),
        (CHATML, {"bos_token": None}, True),  # then it is the end token, which ends messages
        (LLAMA, {}, False),  # written by its name: the base model's own
        (ONCE, {}, False),  # only where the chat begins
        (CHATML + "{{ raise_exception('roles') if messages | length > 1 }}", {}, True),
        (None, {}, False),
    ],
)
def test_whether_the_token_delimits_messages(make, template, special, expected):
    tokenizer = make(template, **special)
    assert delimits_messages(tokenizer, start_token(tokenizer, False).text) is expected


def test_the_token_between_documents(make):
    assert between_documents(make(CHATML)) == END
    assert between_documents(make(CHATML + END)) is None
    tokenizer = make(CHATML.replace("m['role']", "'<|endoftext|>'"), pad_token="<pad>")
    assert between_documents(tokenizer) == "<pad>"


@pytest.fixture
def place(tmp_path, make, make_model, write_checkpoint):
    """A chat model from elsewhere, and two pairs."""
    write_checkpoint(tmp_path / "model", make_model(vocabulary=11), manifest=False, tokenizer=make(CHATML))
    rows = [("the dog sees it .", "the dog see it ."), ("dog sees .", "dog see .")]
    lines = [json.dumps({"sentence_good": good, "sentence_bad": bad}) for good, bad in rows]
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines))
    return tmp_path


def settings_of(place, **values):
    custom = {"path": str(place / "pairs.jsonl")}
    return score_settings(benchmarks=["custom"], custom=custom, linking=["lp"], **values)


def score(place, out, **values):
    score_model(str(place / "model"), place / out, settings_of(place, **values))
    (scores,) = (place / out).rglob("step*.parquet")
    record = json.loads(scores.with_suffix(".json").read_text())
    return pd.read_parquet(scores), {**record["settings"], "start_token": record["notes"]["start_token"]}


def test_scores_after_a_token_are_those_after_it_and_its_key_says_so(place, capsys, plain_score, make_model):
    usual, _ = score(place, "auto")
    line = (
        "custom sentence: warning: sentences are scored after '<|im_start|>', which the chat template writes at every "
        "message, and which no plain text may have followed in training; bos='<|endoftext|>' takes one"
    )
    assert capsys.readouterr().err.count(line) == 1
    asked, key = score(place, "asked", bos=END)
    assert (key["start_id"], key["start_rule"], key["start_token"]) == (0, "token", END)
    assert "chat template" not in capsys.readouterr().err
    ids = [3, 4, 5, 7, 8]
    assert usual["lp_good"][0] == pytest.approx(plain_score(make_model(vocabulary=11), ids, 1), abs=1e-4)
    assert asked["lp_good"][0] == pytest.approx(plain_score(make_model(vocabulary=11), ids, 0), abs=1e-4)
    assert score(place, "by-id", bos=0)[0].equals(asked)


def test_the_unknown_token_of_a_run_is_named_before_it_trains(place, make):
    with pytest.raises(UserError, match="has no token '<s>'"):
        check_benchmarks(settings_of(place, bos="<s>"), make(), 64)
    check_benchmarks(settings_of(place, bos="dog"), make(), 64)
