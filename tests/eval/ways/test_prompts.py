"""What is stored of chat models: by a scripted model, and by one with random weights against its own logits."""

import re
import shutil
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from tests.settings import custom_benchmark
from ucurve.eval.scoring.prompt.chats import ANSWER_TOKENS
from ucurve.eval.scoring.prompt.questions import WORDINGS

TEMPLATE = "{% for message in messages %}<user>{{ message.content }}{% endfor %}<reply>"
PAIRS = 20


@pytest.fixture
def chat(tmp_path, models_of):
    """A model with a chat template, whose tokens are bytes."""
    made = models_of("bytes")
    folder = shutil.copytree(made.folder, tmp_path / "chat")
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return SimpleNamespace(folder=folder, model=made.model, tokenizer=made.tokenizer)


@pytest.fixture
def swedish(tmp_path):
    rows = [f"Flickan såg {number} hönor.,Flickan sett {number} hönor." for number in range(PAIRS)]
    (tmp_path / "swe.csv").write_text("\n".join(["sentence_good,sentence_bad", *rows]) + "\n", encoding="utf-8")
    return {
        "benchmarks": ("custom",),
        "custom": custom_benchmark(path=tmp_path / "swe.csv", name="own", language="swe"),
        "scorer": ("prompt",),
        "linking": None,
    }


class Speaker(torch.nn.Module):
    """Says, byte after byte, what ``say`` makes of a question."""

    def __init__(self, tokenizer, say):
        super().__init__()
        self.tokenizer, self.say, self.device = tokenizer, say, torch.device("cpu")
        text = SimpleNamespace(vocab_size=len(tokenizer), to_dict=dict)
        self.config = SimpleNamespace(get_text_config=lambda: text)

    def forward(self, input_ids):
        logits = torch.zeros(*input_ids.shape, len(self.tokenizer))
        for row, ids in enumerate(input_ids.tolist()):
            question, said = self.tokenizer.decode(ids).split("<reply>")
            answer = [*self.tokenizer(self.say(question))["input_ids"], self.tokenizer.eos_token_id]
            logits[row, -1, answer[min(len(said.encode()), len(answer) - 1)]] = 9.0
        return SimpleNamespace(logits=logits)


def right(question):
    return "A" if "såg" in re.search("A: (.*)", question)[1] else "B"


def test_scripted_model(chat, swedish, stored, monkeypatch, capsys):
    """Grammaticality: right but for every fifth pair, where it says nothing to the point; acceptability: always wrong."""

    def say(question):
        assert question.startswith(f"<user>{WORDINGS['swe'].opening}")
        number = int(re.search(r"\d+", question)[0])
        if WORDINGS["swe"].acceptability in question:
            return f"Svar: {'AB'[right(question) == 'A']}."
        return "Jag vet inte" if number % 5 == 0 else right(question)

    monkeypatch.setattr("ucurve.eval.scoring.base.load_model", lambda *_: Speaker(chat.tokenizer, say))
    result = stored(chat, "own", "prompt", **swedish)
    table, invalid = result.table, np.arange(PAIRS) % 5 == 0
    assert table["grammaticality_good"].tolist() == (~invalid).astype(float).tolist()
    assert table["grammaticality_bad"].tolist() == [0.0] * PAIRS
    assert table["acceptability_bad"].tolist() == [1.0] * PAIRS
    assert set(table["grammaticality_answer"][invalid]) == {"Jag vet inte"}
    assert set(table["acceptability_answer"]) == {"Svar: A.", "Svar: B."}
    assert result.facts["invalid"] == {"grammaticality": 0.2, "acceptability": 0.0}
    assert result.facts["excluded"] is True
    said = "step -1 own prompt: invalid answers: grammaticality 20.0 %, acceptability 0.0 %; over 10 %, so that the model"
    assert f"{said} is excluded, as in the paper" in capsys.readouterr().err
    assert 0 < table["good_first"].sum() < PAIRS
    rows = pd.read_csv(result.out / "eval" / "accuracy.csv").query(
        "phenomenon == 'all' and paradigm == 'all' and split == 'all'"
    )
    found = rows.set_index("linking")["accuracy"]
    # A tie counts one half unless asked otherwise.
    assert found["grammaticality"] == pytest.approx(0.8 + 0.5 * 0.2)
    assert found["acceptability"] == 0.0
    assert found["grammaticality_p"] == pytest.approx(0.8 + 0.5 * 0.2)


def test_a_tenth_of_the_answers_may_be_invalid(chat, swedish, stored, monkeypatch, capsys):
    def say(question):
        return right(question) if int(re.search(r"\d+", question)[0]) >= PAIRS // 10 else "Nej."

    monkeypatch.setattr("ucurve.eval.scoring.base.load_model", lambda *_: Speaker(chat.tokenizer, say))
    result = stored(chat, "own", "prompt", **swedish)
    assert result.facts["excluded"] is False
    assert result.table["grammaticality_good"].sum() == PAIRS - 2
    assert "invalid answers: grammaticality 10.0 %, acceptability 10.0 %\n" in capsys.readouterr().err


@torch.inference_mode()
def test_second_reading_and_greedy_answer(chat, swedish, stored):
    result = stored(chat, "own", "prompt", **swedish)
    letters = {letter: chat.tokenizer.convert_tokens_to_ids(letter) for letter in "AB"}
    words = WORDINGS["swe"]
    for pair, row in zip(result.pairs.head(4).to_dict("records"), result.table.to_dict("records"), strict=False):
        members = ("good", "bad") if row["good_first"] else ("bad", "good")
        question = f"{words.opening}\n\nA: {pair[members[0]]}\nB: {pair[members[1]]}\n\n{words.grammaticality} {words.letter}"
        ids = chat.tokenizer(f"<user>{question}<reply>", return_tensors="pt")["input_ids"]
        logs = chat.model(input_ids=ids).logits[0, -1].double().log_softmax(-1)
        for letter, member in zip("AB", members, strict=True):
            assert row[f"lp_{member}"] == pytest.approx(float(logs[letters[letter]]), abs=1e-4)
        ratio = np.exp(row["lp_good"] - np.logaddexp(row["lp_good"], row["lp_bad"]))
        assert row["grammaticality_p_good"] == pytest.approx(ratio)
        assert row["grammaticality_p_bad"] == pytest.approx(1 - ratio)
        said = []
        while len(said) < ANSWER_TOKENS and chat.tokenizer.eos_token_id not in said:
            read = torch.cat([ids, torch.tensor([said], dtype=torch.int64)], dim=1)
            said.append(int(chat.model(input_ids=read).logits[0, -1].argmax()))
        assert row["grammaticality_answer"] == chat.tokenizer.decode(said, skip_special_tokens=True)


def test_no_start_token_is_put_before_a_chat(chat, swedish, stored, tmp_path):
    """The template is all there is: the policy for sentences, one-token sentences too, does not matter."""
    (tmp_path / "swe.csv").write_text("sentence_good,sentence_bad\na,b\n")
    result = stored(chat, "own", "prompt", **swedish, bos="none")
    assert result.facts["settings"]["start_rule"] == "chat template"
    assert result.facts["start_token"] is None
    assert (result.table[["n_good", "n_bad", "chars_good", "bytes_bad"]] == 1).all(axis=None)
