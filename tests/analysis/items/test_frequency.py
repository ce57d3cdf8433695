"""How often a pair's words stood in the training text: cutting, counting, and the columns of a study."""

import functools
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tests.analysis.item_runs import BENCHMARK, make_item_run
from tests.analysis.synthetic import MakeRun
from ucurve.analysis.api import open_study
from ucurve.analysis.curves.by_column import column_sections
from ucurve.errors import UserError
from ucurve.eval import edits
from ucurve.eval.edits import FREQUENCIES, edited_ngrams
from ucurve.token_stream.order import Batches
from ucurve.token_stream.seen_text import SeenCounts, count_seen, split_words
from ucurve.token_stream.store import TokenStore

LETTERS = "abc 天地."
EOS = 0
IDS = {letter: number for number, letter in enumerate(LETTERS, 1)}


@functools.cache
def letter_tokenizer() -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.WordLevel({"<eos>": EOS} | IDS, unk_token="<eos>"))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    backend.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>")


def batches_of(documents: list[str], length: int, sequences: int, seed: int = 0, grow: bool = False) -> Batches:
    """The batches over documents whose tokens are letters; in two steps of sequences that ``grow`` they have one."""
    ids = np.array(
        [one for text in documents for one in (EOS, *(IDS[letter] for letter in text))], dtype=np.uint16
    )
    token_bytes = np.array([0, *(len(letter.encode()) for letter in LETTERS)], dtype=np.int32)
    unigrams, starts = np.bincount(ids, minlength=len(token_bytes)), np.flatnonzero(ids == EOS)
    store = TokenStore(
        len(documents), len(ids), "0" * 64, token_bytes, unigrams, None, ((len(ids), 1.0),), (ids,), starts
    )
    return Batches.over(store, seed, length, sequences, [(1, 2 * length * sequences)] * grow)


def test_words_are_cut_at_spaces_and_marks_and_characters_where_there_are_no_spaces() -> None:
    assert split_words("The well-known author's dog, it's here.", spaced=True) == [
        "the", "well-known", "author's", "dog", ",", "it's", "here", ".",
    ]  # fmt: skip
    assert split_words("किताब «déjà-vu» x", spaced=True) == ["किताब", "«", "déjà-vu", "»", "x"]
    assert split_words("读了 A。", spaced=False) == ["读", "了", "a", "。"]


@pytest.mark.parametrize(
    ("good", "bad", "words", "bigrams"),
    [
        ("the cat sees it", "the cat see it", ["sees"], ["cat sees", "sees it"]),
        ("cats see it", "cat see it", ["cats"], ["cats see"]),
        ("it sleeps", "it sleep", ["sleeps"], ["it sleeps"]),
        ("he saw it", "he saw not it", [], ["saw it"]),
        ("he saw not it", "he saw it", ["not"], ["saw not", "not it"]),
        ("who did he see", "he did who see", ["who", "did", "he"], ["who did", "did he", "he see"]),
        ("yes", "no", ["yes"], []),
        ("it is so", "it is so", [], []),
    ],
)
def test_what_a_sentence_has_of_its_own(good: str, bad: str, words: list[str], bigrams: list[str]) -> None:
    found, pairs = edited_ngrams(good.split(), bad.split())
    assert found == words
    assert pairs == bigrams


def test_counts_of_a_small_text_by_hand() -> None:
    tokenizer = letter_tokenizer()
    # One sequence of 12 tokens and its last target: "|ab c ab.|a b" with | for the separator.
    batches = batches_of(["ab c ab.", "a bc"], length=12, sequences=1)
    wanted = {"ab", "ab c", "c ab", "a", "b", "a b", "c"}
    once = count_seen(batches, tokenizer, 1, wanted, spaced=True)
    # The second document is cut after "b", so "b" may be the begin of a longer word and is left out.
    assert once == SeenCounts(5, {"ab": 2, "c": 1, "a": 1, "ab c": 1, "c ab": 1})
    assert count_seen(batches, tokenizer, 3, wanted, spaced=True) == SeenCounts(15, {
        "ab": 6, "c": 3, "a": 3, "ab c": 3, "c ab": 3,
    })  # fmt: skip
    characters = count_seen(
        batches_of(["天地天", "天地"], 6, 1), tokenizer, 1, {"天", "天 地", "地 天"}, spaced=False
    )
    assert characters == SeenCounts(5, {"天": 3, "天 地": 2, "地 天": 1})


@given(
    st.lists(st.text(LETTERS, max_size=12), min_size=4, max_size=12),
    st.integers(1, 9), st.integers(1, 3), st.integers(1, 6), st.integers(0, 3), st.booleans(), st.booleans(),
)  # fmt: skip
def test_counts_are_those_of_a_plain_loop(documents, length, sequences, steps, seed, spaced, grow):
    if sum(map(len, documents)) + len(documents) <= length:
        return
    batches = batches_of(documents, length, sequences, seed, grow)
    words, counts = 0, Counter()
    for step in range(1, steps + 1):
        for window in batches.of_step(step).tolist():
            text = "".join("|" if one == EOS else LETTERS[one - 1] for one in window)
            parts = [
                part.replace(".", " . ").split() if spaced else [*part.replace(" ", "")]
                for part in text.split("|")
            ]
            parts[0] = parts[0][1:]
            if spaced:
                parts[-1] = parts[-1][:-1]
            for part in parts:
                words += len(part)
                counts.update(part)
                counts.update(f"{part[place]} {part[place + 1]}" for place in range(len(part) - 1))
    wanted = set(sorted(counts)[::2]) | {"never"}
    found = count_seen(batches, letter_tokenizer(), steps, wanted, spaced)
    assert found == SeenCounts(words, {ngram: count for ngram, count in counts.items() if ngram in wanted})


PAIRS = pd.DataFrame({
    "pair": range(12), "phenomenon": "p", "paradigm": "q",
    "good": [f"a word{number} b" for number in range(12)], "bad": ["a b"] * 12,
})  # fmt: skip


@pytest.fixture
def study(make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Two runs whose text has word n as often as 10 to the n less one, or not at all."""
    counts = {0: {}, 1: {f"word{number}": 10**number - 1 for number in range(12)}}

    def read(run: Path, step: int, wanted: set[str], spaced: bool) -> SeenCounts:
        assert (step, spaced) == (8, True)
        assert wanted == {ngram for n in range(12) for ngram in (f"word{n}", f"a word{n}", f"word{n} b", "a b")}
        return SeenCounts(1_000_000, counts[int(run.name[-1])] | {"a word3": 99, "word3 b": 9, "a b": 9})

    monkeypatch.setattr(edits, "read_seen_counts", read)
    for seed in (0, 1):
        half_points = np.where(np.arange(12) < 6, 0, 2)
        make_item_run(make_run, PAIRS, {0: half_points, 8: half_points}, seed=seed)
    return open_study(f"{tmp_path}/runs/*", curves_by=["log_frequency_word_good"])


def test_the_columns_of_a_study(study) -> None:
    table = study.frequencies()
    assert list(table.columns[-8:]) == ["word_good", "word_bad", "bigram_good", "bigram_bad", *FREQUENCIES]
    first, second = (table[table["run"].str.endswith(f"s{seed}")].reset_index(drop=True) for seed in (0, 1))
    assert table["pair"].tolist() == 2 * list(range(12))
    assert (first["log_frequency_word_good"] == 0).all(), "a word that is not there counts as seen once"
    np.testing.assert_allclose(second["log_frequency_word_good"], np.arange(12))
    assert second["word_bad"].isna().all()
    assert second["log_frequency_word_bad"].isna().all(), "the bad sentence has no word of its own"
    assert second.loc[3, "bigram_good"] == "word3 b"
    assert second.loc[3, "log_frequency_bigram_good"] == pytest.approx(1)
    assert set(second["bigram_bad"]) == {"a b"}
    merged = study.items().merge(table[["run", "pair", "log_frequency_word_good"]], on=["run", "pair"])
    assert len(merged) == 24


def test_curves_are_split_by_the_mean_frequency_over_the_runs(study) -> None:
    table = study.column_curves("log_frequency_word_good")
    last = table[table["step"] == 8]
    assert last["n"].sum() == 12
    assert len(last) == 5
    assert last["value"].tolist()[0] == "(-0.001, 1.1]"  # half of 0 to 2.2
    assert last["accuracy"].tolist()[0] == 0
    assert last["accuracy"].tolist()[-1] == 1
    (section,) = column_sections(study.scored())
    assert section.heading == "Curves by log_frequency_word_good on zho"
    crossed = study.column_curves("log_frequency_word_good*phenomenon")
    assert crossed["value"].str.endswith(", p").all()
    with pytest.raises(UserError, match="Did you mean 'log_frequency_word_good'"):
        study.curve(by="log_frequency_words_good")


def test_runs_without_text_are_named(make_run: MakeRun, tmp_path: Path) -> None:
    folder = make_item_run(make_run, PAIRS, {0: np.zeros(12)})
    with pytest.raises(UserError, match=f"{folder.name}: only step 0 is scored, at which it had seen no text"):
        open_study(str(folder)).frequencies(BENCHMARK)
    published = make_item_run(make_run, PAIRS, {8: np.zeros(12)}, seed=1)
    (published / "run.json").unlink()
    with pytest.raises(UserError, match="was not trained here, so it is not known how often words stood in its"):
        open_study(str(published)).frequencies()
