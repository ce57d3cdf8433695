"""The words of a corpus: exact, cached by content, whatever the form of the files and the number of processes."""

import importlib.util
import json
import tempfile

import pytest

from tests.settings import corpus_settings
from ucurve.errors import UserError
from ucurve.training.corpus import parallel, words
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.corpus.words import check_counter, count_words, find_word_count, most_tokens_per_word

needs_jieba = pytest.mark.skipif(importlib.util.find_spec("jieba") is None, reason="jieba is not installed")
RECORDS = ["我来到北京清华大学。\n第二 行", "one two  three", "天地玄黄，宇宙洪荒。"] * 3


def corpus_of(folder, texts, **settings):
    folder.mkdir(exist_ok=True)
    lines = (json.dumps({"text": text}, ensure_ascii=False) for text in texts)
    (folder / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return Corpus(corpus_settings(kind="text", path=str(folder), **settings))


def count(corpus, counter, cache, processes=1):
    return count_words(corpus, counter, cache, processes).words


@needs_jieba
def test_jieba_counts_whole_records_as_the_challenge_does(tmp_path):
    import jieba

    jieba.setLogLevel("WARNING")
    expected = sum(len(list(jieba.cut(text))) for text in RECORDS)
    counted = count_words(
        corpus_of(tmp_path / "books", RECORDS, unit="line", holdout=0.5), "jieba", tmp_path / "cache"
    )
    assert (counted.words, counted.by) == (expected, "jieba 0.42.1")
    assert list(jieba.cut(RECORDS[0]))[:4] == ["我", "来到", "北京", "清华大学"]


@needs_jieba
def test_jiebas_dictionary_is_not_read_from_a_folder_that_others_write(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    words._jieba_cut.cache_clear()
    (tmp_path / "jieba.cache").write_bytes(b"not what jieba wrote")
    assert count(corpus_of(tmp_path / "books", ["清华大学"]), "jieba", tmp_path / "cache") == 1
    assert (tmp_path / "jieba.cache").read_bytes() == b"not what jieba wrote"


def test_words_between_spaces(tmp_path):
    corpus = corpus_of(tmp_path / "books", ["a b\n\tc ", "d", "  "])
    assert count_words(corpus, "whitespace", tmp_path / "cache").words == 4


def test_a_long_text_file_is_counted_in_parts_and_in_processes(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel, "_CHARACTERS_AT_ONCE", 40_000)
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("one two three\r\nfour  five\n\n" * 40_000)
    corpus = Corpus(corpus_settings(kind="text", path=str(folder), unit="line"))
    assert count(corpus, "whitespace", tmp_path / "one", 1) == 200_000
    assert count(corpus, "whitespace", tmp_path / "two", 2) == 200_000


def test_the_same_text_is_counted_once(tmp_path, monkeypatch, capfd):
    corpus = corpus_of(tmp_path / "books", RECORDS)
    assert find_word_count(corpus, "whitespace", tmp_path / "cache") is None
    first = count_words(corpus, "whitespace", tmp_path / "cache", 1)
    monkeypatch.setattr(words, "_count", pytest.fail)
    assert count_words(corpus, "whitespace", tmp_path / "cache") == first
    assert find_word_count(corpus, "whitespace", tmp_path / "cache") == first
    assert f"{first.words:,} words" in capfd.readouterr().err


def test_other_text_and_a_damaged_record_are_counted_again(tmp_path):
    cache = tmp_path / "cache"
    assert count(corpus_of(tmp_path / "books", ["a b"]), "whitespace", cache) == 2
    assert count(corpus_of(tmp_path / "books", ["a b c"]), "whitespace", cache) == 3
    for record in cache.glob("words-*/count.json"):
        record.write_text(record.read_text().replace('"words": 3', '"words": 9'))
    assert find_word_count(corpus_of(tmp_path / "books", ["a b c"]), "whitespace", cache) is None
    assert count(corpus_of(tmp_path / "books", ["a b c"]), "whitespace", cache) == 3


def test_the_estimate_is_an_upper_bound_for_characters_as_tokens(tmp_path):
    corpus = corpus_of(tmp_path / "books", ["ab c", "d\ne"])
    assert most_tokens_per_word(corpus, "whitespace") == ((4 + 1 + 3 + 1) / 4, "measured in its first records")
    hub = Corpus(corpus_settings(kind="hub", dataset="owner/name"))
    assert most_tokens_per_word(hub, "jieba") == (2.0, "assumed, as nothing is fetched")


def test_a_counter_that_is_not_installed_is_named_with_its_extra(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    message = r"data\.words=jieba: the package jieba is not installed; .* the extra \[words\]"
    with pytest.raises(UserError, match=message):
        check_counter("jieba")
    check_counter("whitespace")
