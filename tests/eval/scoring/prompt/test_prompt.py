import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import GenerationConfig, PreTrainedTokenizerFast

from tests.eval.scoring.three_threads import share_in_three
from ucurve.errors import RunError, UserError
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import accuracy_table
from ucurve.eval.scoring.prompt.answers import ask_pairs, prompt_notes, prompt_table
from ucurve.eval.scoring.prompt.chats import ANSWER_TOKENS, chat_prompts, check_prompt_length, good_is_first
from ucurve.eval.scoring.prompt.questions import QUESTIONS, WORDINGS, questions_for, read_letter
from ucurve.huggingface.pretrained import load_tokenizer

TEMPLATE = (
    "{{ '<user>' }}{% for message in messages %}{{ message.content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<reply>' }}{% endif %}"
)
CHARACTERS = sorted({chr(code) for code in range(32, 127)} | set("\nåäöÅÄÖé一丁"))
PIECES = ["<eos>", "<unk>", "<user>", "<reply>", *CHARACTERS, "ĠA", "ĠB"]


@pytest.fixture(scope="module")
def chat_tokenizer():
    tokenizer = Tokenizer(
        models.WordLevel({piece: place for place, piece in enumerate(PIECES)}, unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    special = {"eos_token": "<eos>", "unk_token": "<unk>", "additional_special_tokens": ["<user>", "<reply>"]}
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
    wrapped.chat_template = TEMPLATE
    return wrapped


def some_pairs(number, seed=0):
    """Pairs of which the good member has as many å as it has letters, and the bad one has none; lengths differ."""
    draw = np.random.default_rng(seed)
    rows = []
    for pair in range(number):
        words = "".join(draw.choice(list("bcd e"), size=draw.integers(1, 9)))
        rows.append({"pair": pair, "good": f"å{words}{pair}", "bad": f"e{words}{pair}"})
    return pd.DataFrame(rows).assign(benchmark="toy", language="swe", paradigm="p", phenomenon="ph")


class Speaker(torch.nn.Module):
    """A chat model without a cache: what it says is a function of the text of its own chat."""

    def __init__(self, tokenizer, say):
        super().__init__()
        self.tokenizer, self.say, self.asked = tokenizer, say, []
        self.device = torch.device("cpu")
        limits = {"max_position_embeddings": 400}
        self.config = SimpleNamespace(
            get_text_config=lambda: SimpleNamespace(vocab_size=len(PIECES), to_dict=lambda: limits)
        )

    def forward(self, input_ids):
        assert not self.training
        logits = torch.zeros(*input_ids.shape, len(PIECES))
        for row, ids in enumerate(input_ids):
            chat, said = self.tokenizer.decode(ids).split("<reply>")
            self.asked.append(chat)
            reply = [*self.tokenizer(self.say(chat), add_special_tokens=False)["input_ids"], 0]
            logits[row, -1, reply[min(len(said), len(reply) - 1)]] = 5.0
        return SimpleNamespace(logits=logits)


def members(chat):
    return re.search(r"A: (.*)\nB: (.*)\n", chat).groups()


def says_right(chat):
    return "A" if members(chat)[0].startswith("å") else "B"


def ask(tokenizer, say, pairs, batch_tokens=2000, language="swe", seed=0):
    model = Speaker(tokenizer, say)
    scores = ask_pairs(
        model, tokenizer, chat_prompts(tokenizer, pairs, questions_for(language), seed), batch_tokens
    )
    return scores, prompt_table(scores), model


def accuracy(pairs, table, linking="grammaticality", ties_rule="wrong"):
    columns = table.drop(columns=["good_first"])
    rows = accuracy_table(pairs, columns, [parse_linking(linking)], [ties_rule])
    return rows.query("phenomenon == 'all' and paradigm == 'all' and split == 'all'")["accuracy"].iloc[0]


def test_several_processes_share_the_chats_and_have_what_one_has(chat_tokenizer):
    pairs = some_pairs(40)
    say = lambda chat: members(chat)[0][:3] if "3" in chat else says_right(chat)  # noqa: E731
    _, alone, model = ask(chat_tokenizer, say, pairs)
    shares = share_in_three(lambda _: ask(chat_tokenizer, say, pairs)[1:])
    for table, _ in shares:
        pd.testing.assert_frame_equal(table, alone, check_exact=True)
    asked = [set(one.asked) for _, one in shares]
    assert all(asked)
    assert sum(map(len, asked)) == len(set.union(*asked)) == len(set(model.asked)) == 80


def test_an_error_of_one_process_that_asks_is_one_of_all(chat_tokenizer):
    pairs = some_pairs(40)

    def say(chat):
        if members(chat)[0].endswith("17"):
            raise ValueError("odd")
        return "A"

    assert all("odd" in str(error) for error in share_in_three(lambda _: ask(chat_tokenizer, say, pairs)))


# what is asked


def test_chats_hold_both_sentences_once_and_the_question(chat_tokenizer):
    pairs = some_pairs(30)
    _, table, model = ask(chat_tokenizer, says_right, pairs)
    wording = WORDINGS["swe"]
    first_asked = {members(chat): chat for chat in model.asked if wording.grammaticality in chat}
    assert len(first_asked) == 30
    for (one, other), chat in first_asked.items():
        assert chat == (
            f"<user>{wording.opening}\n\nA: {one}\nB: {other}\n\n{wording.grammaticality} {wording.letter}"
        )
    for pair, good_first in zip(pairs.itertuples(), table["good_first"], strict=True):
        assert ((pair.good, pair.bad) if good_first else (pair.bad, pair.good)) in first_asked
    assert {members(chat) for chat in model.asked if wording.acceptability in chat} == set(first_asked)


def test_order_is_balanced_and_depends_on_the_pair_alone():
    pairs = some_pairs(2000)
    order = [good_is_first(good, bad, 0) for good, bad in zip(pairs["good"], pairs["bad"], strict=True)]
    assert 0.45 < np.mean(order) < 0.55
    assert order != [good_is_first(good, bad, 1) for good, bad in zip(pairs["good"], pairs["bad"], strict=True)]


def test_order_of_a_pair_is_the_same_among_other_pairs(chat_tokenizer):
    pairs = some_pairs(40)
    whole = chat_prompts(chat_tokenizer, pairs, questions_for("swe"), 0)
    part = chat_prompts(chat_tokenizer, pairs.iloc[7::3], questions_for("swe"), 0)
    np.testing.assert_array_equal(part.good_first, whole.good_first[7::3])
    assert 0 < whole.good_first.sum() < 40


@pytest.mark.parametrize("language", sorted(WORDINGS))
def test_every_language_asks_for_a_letter(language):
    questions = questions_for(language)
    assert questions.source == language
    texts = [questions.ask(question, "<1>", "<2>") for question in QUESTIONS]
    assert texts[0] != texts[1]
    for text in texts:
        assert text.index("A: <1>") < text.index("B: <2>")
        assert re.search(r"A\W.*B", text.splitlines()[-1].replace("か", " "))
    others = [questions_for(other).texts["grammaticality"] for other in WORDINGS if other != language]
    assert questions.texts["grammaticality"] not in others


def test_languages_of_the_benchmarks():
    assert {"swe", "zho", "eng", "rus", "nld", "eus", "hin", "swa", "jpn", "deu", "fra", "heb"} <= set(WORDINGS)


def test_a_language_without_text_gets_english_and_it_is_noted(chat_tokenizer):
    scores, _, model = ask(chat_tokenizer, says_right, some_pairs(3), language="isl")
    assert WORDINGS["eng"].grammaticality in model.asked[-1] or WORDINGS["eng"].acceptability in model.asked[-1]
    notes = prompt_notes(scores)
    assert (notes["question_language"], notes["question_text"]) == ("isl", "eng")


def test_own_text(chat_tokenizer):
    own = {"grammaticality": "1 {a}, 2 {b}?", "acceptability": "{b} or {a}"}
    questions = questions_for("swe", own)
    assert questions.source == "own"
    assert questions.ask("grammaticality", "x {b}", "y {a} {a.__class__}") == "1 x {b}, 2 y {a} {a.__class__}?"
    assert questions.ask("acceptability", "x", "y") == "y or x"


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"grammaticality": "{a} {b}"}, "have no 'acceptability'; both questions"),
        ({"gramaticality": "{a} {b}"}, "unknown question 'gramaticality'.*Did you mean 'grammaticality'"),
        (
            {"grammaticality": "{a} {a}", "acceptability": "{a} {b}"},
            "must hold {a} and {b}, once each, not as in",
        ),
        (
            {"grammaticality": "A or B?", "acceptability": "{a} {b}"},
            "text of 'grammaticality' must hold {a} and {b}",
        ),
    ],
)
def test_own_text_is_checked(own, message):
    with pytest.raises(UserError, match=message):
        questions_for("swe", own)


# how an answer is read

ANNOUNCED = questions_for("swe").answer


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("A", "A"), ("B", "B"), (" A", "A"), ("b", "B"), ("(A)", "A"), ("A.", "A"), ("**B**", "B"), ("\n\nA\n", "A"),
        ("Svar: A", "A"), ("svar : B.", "B"), ("Svar: Svar: A", "A"), ("Answer: B", "B"), ("**Svar:** B", "B"),
        ("Ａ。", "A"), ("А", "A"), ("A) Han gick hem", "A"), ("B. A man left", "B"), ("A\neftersom B", "A"), ("A, ja", "A"),
        ("", None), ("C", None), ("1", None), ("AB", None), ("A eller B", None), ("A/B", None), ("A, B", None),
        ("A\nB", None), ("A (B)", None), ("a sentence", None), ("Mening A", None), ("Svaret är A", None), ("Atlas", None),
        ("Pris: A", None), ("Bra: A", None), ("Jag vet inte. A", None),
    ],
)  # fmt: skip
def test_rule_for_letters(answer, letter):
    assert read_letter(answer, ANNOUNCED) == letter


@given(st.text(alphabet="()[]\"'*.:-_ \n"), st.sampled_from("ABab"), st.text(alphabet=')].!*" \n'))
def test_signs_around_a_letter_change_nothing(before, letter, after):
    assert read_letter(before + letter + after, ANNOUNCED) == letter.upper()


@given(st.text(max_size=12))
def test_nothing_breaks_the_rule(answer):
    assert read_letter(answer, ANNOUNCED) in ("A", "B", None)


def test_announced_in_the_language_of_the_question():
    assert read_letter("答案：B", questions_for("zho").answer) == "B"
    assert read_letter("उत्तर: A", questions_for("hin").answer) == "A"
    assert read_letter("Réponse : A", questions_for("fra").answer) == "A"
    assert read_letter("Réponse : A", ANNOUNCED) is None


# answers


def test_always_a_is_right_as_often_as_a_is_good(chat_tokenizer):
    pairs = some_pairs(60)
    _, table, _ = ask(chat_tokenizer, lambda _: "A", pairs)
    assert 0 < table["good_first"].sum() < 60
    for linking in ("grammaticality", "acceptability", "grammaticality_p", "acceptability_p"):
        assert accuracy(pairs, table, linking) == table["good_first"].mean()


def test_a_model_that_knows_is_right_by_both_readings(chat_tokenizer):
    pairs = some_pairs(40)
    scores, table, _ = ask(chat_tokenizer, says_right, pairs)
    for linking in ("grammaticality", "acceptability", "grammaticality_p", "acceptability_p", "lp"):
        assert accuracy(pairs, table, linking) == 1
    assert set(table["grammaticality_answer"]) == {"A", "B"}
    assert prompt_notes(scores)["excluded"] is False


def test_questions_are_answered_apart(chat_tokenizer):
    def say(chat):
        right = says_right(chat)
        return right if WORDINGS["swe"].grammaticality in chat else "BA"[right == "B"]

    pairs = some_pairs(20)
    _, table, _ = ask(chat_tokenizer, say, pairs)
    assert accuracy(pairs, table, "grammaticality") == 1
    assert accuracy(pairs, table, "acceptability") == 0


@pytest.mark.parametrize("batch_tokens", [1, 500, 10**5])
def test_a_chat_for_each_pair(chat_tokenizer, batch_tokens):
    """What else is asked changes no answer, and no chat holds another pair."""
    pairs = some_pairs(25)
    scores, table, model = ask(chat_tokenizer, lambda chat: f"Svar: {says_right(chat)}", pairs, batch_tokens)
    alone = pd.concat(
        [ask(chat_tokenizer, lambda chat: f"Svar: {says_right(chat)}", pairs.iloc[[row]])[1] for row in range(25)]
    )
    pd.testing.assert_frame_equal(table, alone.reset_index(drop=True))
    assert all(chat.count("A: ") == 1 for chat in model.asked)
    assert scores.answers["grammaticality"].texts[0].startswith("Svar: ")


def test_table_is_in_the_order_of_the_pairs_and_complete(chat_tokenizer):
    pairs = some_pairs(12).iloc[::-1].assign(pair=lambda table: table["pair"] + 100)
    _, table, _ = ask(chat_tokenizer, says_right, pairs)
    assert table["pair"].tolist() == pairs["pair"].tolist()
    assert (table[["n_good", "n_bad", "chars_good", "bytes_bad"]] == 1).all(axis=None)
    assert not table.drop(columns=["unigram_good", "unigram_bad"]).isna().any(axis=None)
    sides = {name[:-5] for name in table if name.endswith("_good")}
    assert sides == {name[:-4] for name in table if name.endswith("_bad")}


# invalid answers


@pytest.mark.parametrize(("invalid", "excluded"), [(0, False), (4, False), (5, True)])
def test_excluded_above_ten_percent(chat_tokenizer, invalid, excluded):
    pairs = some_pairs(40)
    mute = {f"{pair}" for pair in range(invalid)}

    def say(chat):
        number = re.search(r"\d+$", members(chat)[0])[0]
        return "vet inte" if number in mute and WORDINGS["swe"].acceptability in chat else says_right(chat)

    scores, table, _ = ask(chat_tokenizer, say, pairs)
    notes = prompt_notes(scores)
    assert notes["invalid"] == {"grammaticality": 0, "acceptability": invalid / 40}
    assert notes["excluded"] is excluded
    assert len(table) == 40  # marked, not dropped
    assert accuracy(pairs, table, "acceptability", "wrong") == pytest.approx(1 - invalid / 40)
    assert accuracy(pairs, table, "acceptability", "half") == pytest.approx(1 - invalid / 80)
    assert (table["acceptability_answer"] == "vet inte").sum() == invalid


def test_endless_answers_are_cut(chat_tokenizer):
    scores, _, _ = ask(chat_tokenizer, lambda _: "na " * 40, some_pairs(3))
    assert scores.answers["grammaticality"].texts == [("na " * 40)[:ANSWER_TOKENS]] * 3
    assert prompt_notes(scores)["excluded"] is True


# the second reading


def test_probability_sums_over_the_tokens_of_a_letter(chat_tokenizer):
    pairs = some_pairs(8)
    ids = chat_tokenizer.get_vocab()

    class Torn(Speaker):
        def forward(self, input_ids):
            logits = torch.full((*input_ids.shape, len(PIECES)), -40.0)
            for piece, probability in {"A": 0.2, "ĠA": 0.1, "B": 0.05, "ĠB": 0.15, "c": 0.5}.items():
                logits[:, -1, ids[piece]] = np.log(probability)
            return SimpleNamespace(logits=logits)

    prompts = chat_prompts(chat_tokenizer, pairs, questions_for("swe"), 0)
    table = prompt_table(ask_pairs(Torn(chat_tokenizer, None), chat_tokenizer, prompts, 1000))
    first = prompts.good_first
    np.testing.assert_allclose(table["grammaticality_p_good"], np.where(first, 0.6, 0.4), atol=1e-6)
    np.testing.assert_allclose(table["lp_good"], np.log(np.where(first, 0.3, 0.2)), atol=1e-6)
    np.testing.assert_allclose(table["lp_bad"], np.log(np.where(first, 0.2, 0.3)), atol=1e-6)
    assert set(table["grammaticality_answer"]) == {"c" * ANSWER_TOKENS}


@pytest.fixture
def chat_model(make_model):
    return make_model(vocabulary=len(PIECES), positions=400, spread=0.2)


def test_probabilities_of_the_two_letters_sum_to_one(chat_model, chat_tokenizer):
    prompts = chat_prompts(chat_tokenizer, some_pairs(20), questions_for("swe"), 0)
    table = prompt_table(ask_pairs(chat_model, chat_tokenizer, prompts, 1000))
    for question in QUESTIONS:
        np.testing.assert_allclose(table[f"{question}_p_good"] + table[f"{question}_p_bad"], 1, atol=1e-12)
        assert table[f"{question}_p_good"].nunique() == 20
        wins = table["grammaticality_p_good"] > table["grammaticality_p_bad"]
        np.testing.assert_array_equal(wins, table["lp_good"] > table["lp_bad"])


# a real model


def test_equals_the_librarys_greedy_generation(chat_model, chat_tokenizer):
    """One chat at a time, with the cache, by transformers; settings of the model's own must not matter to us."""
    chat_model.generation_config = GenerationConfig(eos_token_id=[0, PIECES.index("q")], repetition_penalty=3.0)
    prompts = chat_prompts(chat_tokenizer, some_pairs(10), questions_for("swe"), 0)
    done = []
    scores = ask_pairs(chat_model.train(), chat_tokenizer, prompts, 700, done.append)
    assert chat_model.training
    assert sum(done) == 20
    chat_model.eval().generation_config = GenerationConfig()
    found = [text for question in QUESTIONS for text in scores.answers[question].texts]
    settings = GenerationConfig(
        do_sample=False, max_new_tokens=ANSWER_TOKENS, eos_token_id=[0, PIECES.index("q")], pad_token_id=0
    )
    for ids, text in zip(prompts.ids, found, strict=True):
        with torch.inference_mode():
            answer = chat_model.generate(torch.from_numpy(ids)[None], generation_config=settings)[0, len(ids) :]
        said = [int(token) for token in answer if int(token) not in (0, PIECES.index("q"))]
        assert text == chat_tokenizer.decode(said, skip_special_tokens=True)
    assert len(set(found)) > 1


def test_batches_change_no_answer(chat_model, chat_tokenizer):
    prompts = chat_prompts(chat_tokenizer, some_pairs(30), questions_for("swe"), 0)
    one, many = (prompt_table(ask_pairs(chat_model, chat_tokenizer, prompts, size)) for size in (1, 5000))
    pd.testing.assert_frame_equal(one, many, rtol=1e-4)
    pd.testing.assert_frame_equal(many, prompt_table(ask_pairs(chat_model, chat_tokenizer, prompts, 5000)))


# what is refused


def test_a_special_token_that_is_read_as_text_is_refused(chat_tokenizer, tmp_path):
    chat_tokenizer.save_pretrained(tmp_path)
    content = json.loads((tmp_path / "tokenizer.json").read_text())
    content["added_tokens"] = [token for token in content["added_tokens"] if token["content"] != "<reply>"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    message = "the chat template writes the special token '<reply>', which the tokenizer rea"
    with pytest.raises(UserError, match=message):
        chat_prompts(load_tokenizer(tmp_path), some_pairs(2), questions_for("swe"), 0)


def test_no_chat_template(tokenizer):
    with pytest.raises(UserError, match="no chat template; the scorer 'prompt' is for chat models"):
        chat_prompts(tokenizer, some_pairs(2), questions_for("swe"), 0)


def with_template(chat_tokenizer, template):
    other = PreTrainedTokenizerFast(tokenizer_object=chat_tokenizer.backend_tokenizer, eos_token="<eos>")
    other.chat_template = template
    return other


def test_broken_template(chat_tokenizer):
    broken = with_template(chat_tokenizer, "{{ raise_exception('a system message is needed') }}")
    with pytest.raises(UserError, match=r"the chat template fails .*a system message is needed"):
        chat_prompts(broken, some_pairs(2), questions_for("swe"), 0)


def test_template_with_a_date_or_thoughts_gets_neither_today_nor_thoughts(chat_tokenizer):
    dated = with_template(
        chat_tokenizer,
        "{{ date_string }}{% if enable_thinking is not false %}<think>{% endif %}{{ messages[0].content }}",
    )
    prompts = chat_prompts(dated, some_pairs(1), questions_for("eng"), 0)
    assert dated.decode(prompts.ids[0]).startswith("26 Jul 2024Here are two")


def test_hashes_tell_templates_and_orders_apart(chat_tokenizer):
    pairs, questions = some_pairs(10), questions_for("swe")
    one = chat_prompts(chat_tokenizer, pairs, questions, 0)
    other = chat_prompts(with_template(chat_tokenizer, TEMPLATE + " "), pairs, questions, 0)
    turned = chat_prompts(chat_tokenizer, pairs, questions, 1)
    assert one.template_sha256 == turned.template_sha256 != other.template_sha256
    assert len({one.sha256, other.sha256, turned.sha256}) == 3
    assert one.sha256 == chat_prompts(chat_tokenizer, pairs, questions, 0).sha256


def test_no_token_spells_a_letter(tokenizer):
    tokenizer.chat_template = TEMPLATE
    try:
        with pytest.raises(UserError, match="no token spells the letter 'A'"):
            chat_prompts(tokenizer, some_pairs(2), questions_for("swe"), 0)
    finally:
        tokenizer.chat_template = None


def test_a_chat_that_does_not_fit(chat_tokenizer, make_model):
    pairs = some_pairs(3).assign(good=lambda table: table["good"] + pd.Series(["", "x" * 50, ""]))
    prompts = chat_prompts(chat_tokenizer, pairs, questions_for("swe"), 0)
    longest = max(len(ids) for ids in prompts.ids)
    message = f"paradigm p, pair 1, .*the question has {longest} tokens and an answer up to {ANSWER_TOKENS}, but .* holds"
    check_prompt_length(prompts, None)
    with pytest.raises(UserError, match=message):
        check_prompt_length(prompts, longest + ANSWER_TOKENS - 2)
    model = make_model(vocabulary=len(PIECES), positions=longest + ANSWER_TOKENS - 2)
    with pytest.raises(UserError, match=message):
        ask_pairs(model, chat_tokenizer, prompts, 1000)
    model = make_model(vocabulary=len(PIECES), positions=longest + ANSWER_TOKENS - 1)
    assert len(prompt_table(ask_pairs(model, chat_tokenizer, prompts, 1000))) == 3


def test_what_is_not_finite_names_the_pair(chat_tokenizer):
    pairs = some_pairs(3)

    class Broken(Speaker):
        def forward(self, input_ids):
            logits = super().forward(input_ids).logits
            for row, ids in enumerate(input_ids):
                if "2" in "".join(members(self.tokenizer.decode(ids))):
                    logits[row] = torch.nan
            return SimpleNamespace(logits=logits)

    prompts = chat_prompts(chat_tokenizer, pairs, questions_for("swe"), 0)
    with pytest.raises(RunError, match=r"benchmark toy, paradigm p, pair 2, .*is not finite"):
        ask_pairs(Broken(chat_tokenizer, says_right), chat_tokenizer, prompts, 1000)
