"""Steps that change a corpus: what goes, what is counted and listed, and every mistake in them."""

import gzip
import hashlib
import json
import re

import numpy as np
import pytest
from transformers import AutoTokenizer

from tests.settings import corpus_settings, tokenizer_settings
from ucurve.errors import UserError
from ucurve.storage.files import read_json
from ucurve.training.corpus import readers
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.corpus.words import count_words
from ucurve.training.data.store import build_token_store, describe_interventions
from ucurve.training.tokenizer.build import build_tokenizer

DOCUMENTS = [
    "She has not seen any cats. He left.\nNobody came.",
    "Many cats sleep. Any cat does.",
    "有人来了。没有任何人来。天地玄黄。",
    "x",
]


def corpus(path, *steps, documents=DOCUMENTS, unit="record", **more):
    path.mkdir(exist_ok=True)
    lines = (json.dumps({"text": text}, ensure_ascii=False) for text in documents)
    (path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    values = {"kind": "text", "path": str(path), "unit": unit, "interventions": list(steps), **more}
    return Corpus(corpus_settings(**values))


def step(do, unit, name="step", **more):
    return {"name": name, "do": do, "unit": unit, **more}


def changed(path, *steps, **more):
    return list(corpus(path / "texts", *steps, **more).documents())


def test_sentences_with_a_match_go_and_the_rest_stays(tmp_path):
    found = changed(tmp_path, step("drop", "sentence", pattern=r"(?i)\bany\b|任何"))
    assert found == ["He left.\nNobody came.", "Many cats sleep.", "有人来了。天地玄黄。", "x"]


def test_documents_go_and_stay(tmp_path):
    assert changed(tmp_path, step("drop", "document", contains=["cats", "人"])) == ["x"]
    assert changed(tmp_path, step("keep", "document", contains="cats")) == DOCUMENTS[:2]
    assert changed(tmp_path, step("keep", "sentence", pattern="cats?")) == [
        "She has not seen any cats.",
        "Many cats sleep. Any cat does.",
    ]


def test_a_file_lists_texts_and_hashes_of_texts(tmp_path):
    listed = tmp_path / "listed.txt"
    digest = hashlib.sha256(DOCUMENTS[1].encode()).hexdigest()
    listed.write_text(f"x\n\n{digest}\nHe left.\n", encoding="utf-8")
    assert changed(tmp_path, step("drop", "document", file=str(listed))) == [DOCUMENTS[0], DOCUMENTS[2]]
    one = corpus(tmp_path / "texts", step("drop", "sentence", file=str(listed)))
    assert one.settings.interventions[0].describe() == "drop every sentence in listed.txt", (
        "run.json holds no paths"
    )
    found = changed(tmp_path, step("drop", "sentence", file=str(listed)))
    assert found == [DOCUMENTS[0].replace(" He left.", ""), *DOCUMENTS[1:3]]


def test_another_content_of_the_file_is_another_corpus_and_another_place_is_not(tmp_path):
    first, second = tmp_path / "one.txt", tmp_path / "two.txt"
    for file in (first, second):
        file.write_text("x\n")
    prints = [
        corpus(tmp_path / "t", step("drop", "document", file=str(file))).fingerprint() for file in (first, second)
    ]
    assert prints[0] == prints[1]
    second.write_text("y\n")
    assert corpus(tmp_path / "t", step("drop", "document", file=str(second))).fingerprint() != prints[0]


def test_repeating(tmp_path):
    assert changed(tmp_path, step("repeat", "document", times=3, contains="x")) == [*DOCUMENTS, "x", "x"]
    assert changed(tmp_path, step("repeat", "document", times=2)) == [
        text for text in DOCUMENTS for _ in range(2)
    ]
    [*_, chinese, _] = changed(tmp_path, step("repeat", "sentence", times=2, contains="天"))
    assert chinese == "有人来了。没有任何人来。天地玄黄。天地玄黄。"


@pytest.mark.parametrize("unit", ["word", "character", "sentence"])
def test_a_shuffle_keeps_what_there_is_and_depends_on_text_and_seed_alone(tmp_path, unit):
    long = ["one two three four five, six seven eight nine ten. A b c. D e f. G h i.\nJ k l. M n o."] * 2
    first = changed(tmp_path, step("shuffle", unit), documents=long)
    assert first[0] == first[1] != long[0]
    assert sorted(first[0]) == sorted(long[0])
    assert changed(tmp_path, step("shuffle", unit, seed=0), documents=[*long, "more"])[:2] == first
    assert changed(tmp_path, step("shuffle", unit, seed=1), documents=long) != first


def test_a_shuffle_stays_within_sentences_and_leaves_punctuation(tmp_path):
    text = "one two three four, five don't! 天地玄黄，宇宙洪荒。"
    [words] = changed(tmp_path, step("shuffle", "word"), documents=[text])
    assert re.fullmatch(r"[\w']+ [\w']+ [\w']+ [\w']+, [\w']+ [\w']+! \w{4}，\w{4}。", words)
    assert sorted(re.findall(r"[a-z']+", words.partition("!")[0])) == [
        "don't",
        "five",
        "four",
        "one",
        "three",
        "two",
    ]
    [letters] = changed(tmp_path, step("shuffle", "character"), documents=[text])
    assert sorted(letters.partition("!")[2]) == sorted(text.partition("!")[2])
    assert letters[-6] == "，"


def test_steps_follow_each_other(tmp_path):
    shuffle, drop = step("shuffle", "sentence", "mixed"), step("drop", "sentence", "no_cats", contains="cat")
    settings = corpus(tmp_path / "texts", drop, shuffle).settings
    assert settings.run_name == "texts_no_cats_mixed"
    assert Corpus(settings).fingerprint() != corpus(tmp_path / "texts", shuffle, drop).fingerprint()
    assert Corpus(settings).plain.fingerprint() == corpus(tmp_path / "texts").fingerprint()


def test_a_long_document_is_changed_as_a_whole_and_cut_again(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "PIECE_CHARACTERS", 20)
    text = "".join(f"line {number} here\n" for number in range(30))
    (tmp_path / "a.txt").write_text(text)
    values = {
        "kind": "text",
        "path": str(tmp_path),
        "interventions": [step("drop", "sentence", pattern="line 1")],
    }
    parts = list(Corpus(corpus_settings(**values)).documents())
    assert len(parts) > 5
    assert [type(part) is str for part in parts] == [True] + [False] * (len(parts) - 1)
    assert "".join(parts) == "".join(line for line in text.splitlines(keepends=True) if "line 1" not in line)
    keep = {**values, "interventions": [step("keep", "document", contains="line 29")]}
    assert "".join(Corpus(corpus_settings(**keep)).documents()) == text


def test_held_out_text_is_that_of_the_plain_corpus(tmp_path):
    many = [f"文{number}，{number * number}。" for number in range(500)]
    kinds = [(), (step("drop", "sentence", contains="1"),), (step("shuffle", "character"),)]
    samples = []
    for steps in kinds:
        one = corpus(tmp_path / "texts", *steps, documents=many, holdout=0.1)
        held_out = one.held_out()
        training = list(one.documents(held_out))
        samples.append(held_out.sample())
        assert not set(samples[-1]) & set(training)
    assert samples[0] == samples[1] == samples[2]
    assert len(samples[0]) > 20


@pytest.fixture
def built(tmp_path):
    """A store of a filtered corpus, with its tokenizer, and with that of the plain corpus."""
    many = DOCUMENTS * 20
    plain = corpus(tmp_path / "texts", documents=many)
    filtered = corpus(
        tmp_path / "texts", step("drop", "sentence", "no_any", pattern=r"(?i)\bany\b|任何"), documents=many
    )
    char = tokenizer_settings(kind="char", name="char")
    folders = [build_tokenizer(char, one.settings, tmp_path / "tokenizers") for one in (plain, filtered)]
    return filtered, folders, build_token_store(filtered, folders[1], tmp_path / "cache", processes=1)


def test_nothing_is_left_in_the_tokens(tmp_path, built):
    _, folders, store = built
    tokenizer = AutoTokenizer.from_pretrained(folders[1])
    [shard] = tmp_path.glob("cache/tokens-*/shard-*.bin")
    ids = np.fromfile(shard, dtype="<u2")
    text = tokenizer.decode(ids, clean_up_tokenization_spaces=False)
    assert text.count("有人来了") == 20
    assert not re.search(r"\b[Aa]ny\b", text)
    assert "任何" not in text
    assert len(ids) == store.length


def test_the_tokenizer_is_that_of_the_plain_text(built):
    _, (plain, filtered), _ = built
    assert plain != filtered, "the counts of tokens beside them are not the same"
    assert (plain / "tokenizer.json").read_bytes() == (filtered / "tokenizer.json").read_bytes()


def test_what_is_dropped_is_counted_and_listed(tmp_path, built):
    one, folders, store = built
    [facts] = store.interventions
    assert (facts.before.documents, facts.after.documents) == (80, 80)
    assert (facts.before.sentences, facts.after.sentences) == (20 * 9, 20 * 6)
    gone = sum(map(len, ("She has not seen any cats. ", " Any cat does.", "没有任何人来。")))
    assert facts.before.characters - facts.after.characters == 20 * gone
    [listed] = tmp_path.glob("cache/tokens-*/dropped.jsonl.gz")
    lines = [json.loads(line) for line in gzip.decompress(listed.read_bytes()).splitlines()]
    assert len(lines) == 60
    assert lines[0] == {"step": "no_any", "document": 0, "text": "She has not seen any cats."}
    assert lines[-1] == {"step": "no_any", "document": 78, "text": "没有任何人来。"}
    said = describe_interventions(one, folders[1], tmp_path / "cache")
    assert said[0].startswith("no_any: drop every sentence with a match of ")
    assert said[0].endswith("sentences 180 -> 120, characters 1,920 -> 960")
    assert said[1] == f"{listed} lists what was dropped"
    assert describe_interventions(one, None, tmp_path / "cache")[0] == said[0], "counted from the text"


def test_a_damaged_list_is_made_again(tmp_path, built):
    one, folders, _ = built
    [listed] = tmp_path.glob("cache/tokens-*/dropped.jsonl.gz")
    before = listed.read_bytes()
    listed.write_bytes(b"")
    build_token_store(one, folders[1], tmp_path / "cache", processes=1)
    assert listed.read_bytes() == before
    index = read_json(listed.parent / "index.json")
    assert index["files"]["dropped.jsonl.gz"] == hashlib.sha256(before).hexdigest()


def test_words_are_those_that_are_left(tmp_path):
    documents = ["one two. three four five.", "six"]
    one = corpus(
        tmp_path / "t", step("drop", "sentence", contains="two"), documents=documents, words="whitespace"
    )
    assert count_words(one, "whitespace", tmp_path / "cache").words == 4


MISTAKES = [
    (
        {"pattern": "(any"},
        r"interventions\.0\.pattern: '\(any' is not a regular expression of Python \(missing \)",
    ),
    ({}, r"do=drop needs pattern, contains or file, which say what to drop"),
    (
        {"pattern": "a", "contains": "b"},
        r"pattern and contains are given; one of pattern, contains and file is expected",
    ),
    ({"contains": []}, r"an empty text is in everything"),
    ({"contains": ["a", ""]}, r"an empty text is in everything"),
    ({"unit": "word", "pattern": "a"}, r"unit=word is not for do=drop; allowed: document, sentence"),
    (
        {"do": "shuffle", "unit": "document"},
        r"unit=document is not for do=shuffle; allowed: sentence, word, character",
    ),
    ({"do": "shuffle", "pattern": "a"}, r"pattern is not for do=shuffle, which shuffles every document"),
    ({"do": "repeat"}, r"do=repeat needs times, a number from 2"),
    ({"do": "repeat", "times": 1}, r"times: got 1"),
    ({"pattern": "a", "times": 2}, r"times is for do=repeat"),
    ({"pattern": "a", "seed": 2}, r"seed is for do=shuffle"),
    ({"do": "delete"}, r"do: got 'delete'; .*'drop', 'keep', 'repeat' or 'shuffle'"),
    ({"name": "no any", "pattern": "a"}, r"name: got 'no any'"),
    ({"regex": "a"}, r"regex: unknown key"),
    ("drop", r"interventions: got 'drop'; a step is a mapping of keys, as \{name: no_any, do"),
]


@pytest.mark.parametrize(("given", "message"), MISTAKES)
def test_mistakes_are_named(given, message):
    one = {"name": "n", "do": "drop", "unit": "sentence", **given} if isinstance(given, dict) else given
    with pytest.raises(UserError, match=message):
        corpus_settings(kind="demo", interventions=[one])


def test_two_steps_of_one_name_and_files_that_do_not_fit_are_named(tmp_path):
    with pytest.raises(UserError, match="interventions: two steps have one name: step, step"):
        corpus(tmp_path / "t", step("shuffle", "word"), step("shuffle", "sentence"))
    with pytest.raises(UserError, match=r"data\.interventions: step: cannot read .*nowhere\.txt \(No such file"):
        corpus(tmp_path / "t", step("drop", "document", file=str(tmp_path / "nowhere.txt"))).fingerprint()
    (tmp_path / "blank.txt").write_text(" \n\n")
    with pytest.raises(UserError, match=r"data\.interventions: step: .*blank\.txt has no line with text"):
        changed(tmp_path, step("drop", "document", file=str(tmp_path / "blank.txt")))
    with pytest.raises(UserError, match=r"'t_step' has no document with text after data\.interventions"):
        list(corpus(tmp_path / "t", step("keep", "document", contains="nowhere")).documents())
