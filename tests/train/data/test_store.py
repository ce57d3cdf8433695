import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Metaspace, Sequence, Split
from transformers import ByT5Tokenizer, PreTrainedTokenizerFast

from tests.settings import corpus_settings, tokenizer_settings
from ucurve.errors import RunError, UserError
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.training.corpus import parallel, readers
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.data.encode import character_encoder, encode, encode_documents, make_recipe
from ucurve.training.data.store import build_token_store, check_budget, save_unigram_counts
from ucurve.training.tokenizer.build import build_tokenizer
from ucurve.training.tokenizer.characters import survey

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = ["天地玄黄", "a<eos>b\n\n宇宙 洪荒", "x", "日月盈昃，辰宿列张。" * 5] * 7


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path / "books", DOCUMENTS)


def write_corpus(folder, documents):
    folder.mkdir(exist_ok=True)
    lines = (json.dumps({"text": text}, ensure_ascii=False) for text in documents)
    (folder / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return Corpus(corpus_settings(kind="text", path=str(folder)))


def tokenizer_for(corpus, root, kind="char"):
    sizes = {"word": 60, "bpe": 300}
    return build_tokenizer(
        tokenizer_settings(kind=kind, name=kind, vocab_size=sizes.get(kind)), corpus.settings, root
    )


def whole(store):
    return store.windows(np.array([0]), store.length)[0]


def naive_stream(folder, documents):
    tokenizer = load_tokenizer(folder)
    ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in documents]
    return [token for one in ids for token in [tokenizer.eos_token_id, *one]]


def inode(cache):
    return [path.stat().st_ino for path in sorted(cache.glob("tokens-*/*"))]


class TestStream:
    @pytest.mark.parametrize("kind", ["char", "word", "bpe"])
    def test_is_every_document_after_the_document_token(self, tmp_path, corpus, kind):
        folder = tokenizer_for(corpus, tmp_path, kind)
        store = build_token_store(corpus, folder, tmp_path / "cache", processes=1)
        expected = naive_stream(folder, DOCUMENTS)
        assert whole(store).tolist() == expected
        assert (store.length, store.documents) == (len(expected), len(DOCUMENTS))
        assert store.unigram_counts.tolist() == np.bincount(expected, minlength=len(store.token_bytes)).tolist()
        assert store.unigram_counts[0] == len(DOCUMENTS)
        assert (store.token_bytes @ store.unigram_counts) == sum(len(text.encode()) for text in DOCUMENTS)

    def test_of_a_python_tokenizer(self, tmp_path, corpus):
        ByT5Tokenizer().save_pretrained(tmp_path / "byt5")
        folder = tmp_path / "byt5"
        store = build_token_store(corpus, folder, tmp_path / "cache", processes=1)
        assert whole(store).tolist() == naive_stream(folder, DOCUMENTS)

    def test_processes_and_shards_change_nothing(self, tmp_path, corpus, monkeypatch):
        monkeypatch.setattr(parallel, "_CHARACTERS_AT_ONCE", 40)
        folder = tokenizer_for(corpus, tmp_path, "bpe")
        ways = {"one": (1, 2**20), "two": (2, 7), "small": (1, 1)}
        stores = []
        for name, (processes, shard_tokens) in ways.items():
            monkeypatch.setattr("ucurve.training.data.store._SHARD_TOKENS", shard_tokens)
            stores.append(build_token_store(corpus, folder, tmp_path / name, processes))
        assert len({store.sha256 for store in stores}) == 1
        assert all((whole(store) == whole(stores[0])).all() for store in stores)
        assert len(list((tmp_path / "two").glob("tokens-*/shard-*.bin"))) == -(-stores[0].length // 7)

    def test_wide_vocabulary_takes_four_bytes(self, tmp_path):
        characters = [chr(code) for code in range(0x20000, 0x20000 + 66000)]
        corpus = write_corpus(tmp_path / "wide", ["".join(characters)] * 2)  # a character seen once has no token
        folder = tokenizer_for(corpus, tmp_path)
        store = build_token_store(corpus, folder, tmp_path / "cache", processes=1)
        assert whole(store).tolist() == [0, *range(2, 66002)] * 2

    def test_process_that_is_killed(self, tmp_path, corpus, monkeypatch):
        monkeypatch.setattr(parallel, "_CHARACTERS_AT_ONCE", 40)
        monkeypatch.setattr(parallel, "_prepare_process", os.abort)
        with pytest.raises(RunError, match="a process that tokenizes was killed"):
            build_token_store(corpus, tokenizer_for(corpus, tmp_path), tmp_path / "cache", processes=2)
        assert inode(tmp_path / "cache") == []

    def test_bad_line_leaves_nothing_half_written(self, tmp_path, corpus):
        folder = tokenizer_for(corpus, tmp_path)
        with (tmp_path / "books" / "a.jsonl").open("a") as file:
            file.write("\n{broken")
        with pytest.raises(UserError, match=r"a\.jsonl:29: not a line of JSON"):
            build_token_store(Corpus(corpus.settings), folder, tmp_path / "cache")
        assert not (tmp_path / "cache").exists()


@pytest.fixture(scope="module")
def sharded(tmp_path_factory):
    root = tmp_path_factory.mktemp("sharded")
    corpus = write_corpus(root / "books", DOCUMENTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ucurve.training.data.store._SHARD_TOKENS", 13)
        return build_token_store(corpus, tokenizer_for(corpus, root), root / "cache", processes=1)


class TestWindows:
    @given(data=st.data())
    @settings(deadline=None)
    def test_are_slices_of_the_stream(self, sharded, data):
        stream = whole(sharded)
        length = data.draw(st.integers(1, sharded.length))
        starts = data.draw(st.lists(st.integers(0, sharded.length - length), max_size=9))
        windows = sharded.windows(np.array(starts, dtype=np.int64), length)
        assert windows.dtype == np.int64
        assert windows.shape == (len(starts), length)
        for start, window in zip(starts, windows, strict=True):
            assert (window == stream[start : start + length]).all()

    @pytest.mark.parametrize("start", [-1, 10**6])
    def test_outside_the_stream(self, sharded, start):
        with pytest.raises(IndexError, match="leaves the stream"):
            sharded.windows(np.array([start]), 2)

    def test_document_of(self, sharded):
        stream = whole(sharded)
        expected = np.cumsum(stream == 0) - 1
        assert [sharded.find_document(place) for place in range(sharded.length)] == expected.tolist()
        with pytest.raises(IndexError, match="is not in the stream"):
            sharded.find_document(sharded.length)


class TestCache:
    def build(self, corpus, folder, tmp_path):
        return build_token_store(Corpus(corpus.settings), folder, tmp_path / "cache", processes=1)

    def test_is_used_while_nothing_changed(self, tmp_path, corpus):
        folder = tokenizer_for(corpus, tmp_path)
        self.build(corpus, folder, tmp_path)
        before = inode(tmp_path / "cache")
        (tmp_path / "books" / "a.jsonl").touch()
        save_unigram_counts(self.build(corpus, folder, tmp_path), folder)
        self.build(corpus, folder, tmp_path)
        assert inode(tmp_path / "cache") == before

    def test_bytes_are_read_again_unless_another_process_has_just_done_it(self, tmp_path, corpus):
        folder = tokenizer_for(corpus, tmp_path)
        self.build(corpus, folder, tmp_path)
        before = inode(tmp_path / "cache")
        shard = next((tmp_path / "cache").glob("tokens-*/shard-*"))
        flipped = bytearray(shard.read_bytes())
        flipped[3] ^= 1
        shard.write_bytes(flipped)
        build_token_store(Corpus(corpus.settings), folder, tmp_path / "cache", processes=1, read_all=False)
        assert inode(tmp_path / "cache") == before
        self.build(corpus, folder, tmp_path)
        assert inode(tmp_path / "cache") != before

    def test_a_shard_cut_off_is_built_again_also_where_its_bytes_are_not_read(self, tmp_path, corpus):
        folder = tokenizer_for(corpus, tmp_path)
        whole_length = self.build(corpus, folder, tmp_path).length
        shard = next((tmp_path / "cache").glob("tokens-*/shard-*"))
        shard.write_bytes(shard.read_bytes()[:-2])
        store = build_token_store(
            Corpus(corpus.settings), folder, tmp_path / "cache", processes=1, read_all=False
        )
        assert len(whole(store)) == whole_length

    def test_is_another_for_another_tokenizer_or_text(self, tmp_path, corpus):
        first = self.build(corpus, tokenizer_for(corpus, tmp_path), tmp_path)
        second = self.build(corpus, tokenizer_for(corpus, tmp_path, "bpe"), tmp_path)
        changed = write_corpus(tmp_path / "books", DOCUMENTS[1:])
        third = self.build(changed, tokenizer_for(changed, tmp_path), tmp_path)
        assert len({first.sha256, second.sha256, third.sha256}) == 3
        assert len(list((tmp_path / "cache").glob("tokens-*"))) == 3

    @pytest.mark.parametrize("name", ["shard-00000.bin", "documents.bin", "token_bytes.npy", "index.json"])
    def test_is_built_anew_when_a_byte_flipped_or_a_file_is_gone(self, tmp_path, corpus, name):
        folder = tokenizer_for(corpus, tmp_path)
        good = whole(self.build(corpus, folder, tmp_path))
        (file,) = (tmp_path / "cache").glob(f"tokens-*/{name}")
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
        again = self.build(corpus, folder, tmp_path)
        assert (whole(again) == good).all()
        file.unlink()
        assert self.build(corpus, folder, tmp_path).sha256 == again.sha256

    def test_is_built_anew_when_the_folder_is_of_another_stream(self, tmp_path, corpus):
        char, bpe = (tokenizer_for(corpus, tmp_path, kind) for kind in ("char", "bpe"))
        self.build(corpus, char, tmp_path)
        (foreign,) = (tmp_path / "cache").glob("tokens-*")
        good = self.build(corpus, bpe, tmp_path)
        (mine,) = set((tmp_path / "cache").glob("tokens-*")) - {foreign}
        for file in mine.iterdir():
            file.write_bytes((foreign / file.name).read_bytes())
        assert self.build(corpus, bpe, tmp_path).sha256 == good.sha256

    def test_what_a_killed_writer_left_is_removed(self, tmp_path, corpus):
        folder = tokenizer_for(corpus, tmp_path)
        self.build(corpus, folder, tmp_path)
        (built,) = (tmp_path / "cache").glob("tokens-*")
        left = built.with_name(f".{built.name}.tmp-0123456789ab")
        left.mkdir()
        (built / "index.json").unlink()
        self.build(corpus, folder, tmp_path)
        assert not left.exists()

    @pytest.mark.usefixtures("corpus")
    @pytest.mark.long
    def test_two_processes_build_at_once(self, tmp_path):
        code = (
            "import sys; from pathlib import Path; from ucurve.training.corpus.corpus import *; from ucurve.training.tokenizer.build import *; "
            "from tests.settings import corpus_settings, tokenizer_settings; from ucurve.training.data.store import *; root = Path(sys.argv[1]); "
            "settings = corpus_settings(kind='text', path=str(root / 'books')); "
            "folder = build_tokenizer(tokenizer_settings(kind='char', name='char'), settings, root / 'out'); "
            "print(build_token_store(Corpus(settings), folder, root / 'cache', processes=1).sha256)"
        )
        start = [subprocess.PIPE, subprocess.PIPE]
        command = [sys.executable, "-c", code, str(tmp_path)]
        runs = [
            subprocess.Popen(command, cwd=ROOT, stdout=start[0], stderr=start[1], text=True) for _ in range(2)
        ]
        results = [run.communicate(timeout=120) for run in runs]
        assert [run.returncode for run in runs] == [0, 0], results
        assert results[0][0] == results[1][0]
        assert sum(err.count("building the tokenizer") for _, err in results) == 1
        assert sum(err.count("tokenizing") for _, err in results) == 1

    def test_cache_that_cannot_be_written(self, tmp_path, corpus):
        (tmp_path / "file").write_text("")
        with pytest.raises(RunError, match="cannot be built"):
            build_token_store(corpus, tokenizer_for(corpus, tmp_path), tmp_path / "file" / "cache")


class TestBudget:
    @pytest.mark.parametrize(("tokens", "epochs"), [(1, 1), (100, 1), (101, 2), (300, 3)])
    def test_that_fits(self, tokens, epochs):
        check_budget(101, 10, tokens, epochs, "data=x")

    def test_that_does_not(self):
        message = (
            r"tokens=1,250 means 2\.50 epochs of data=x, which has 500 tokens in whole sequences; data\.max_epochs=2 "
            r"allows 1,000 tokens\. Lower tokens, or set data\.max_epochs=3"
        )
        with pytest.raises(UserError, match=message):
            check_budget(501, 10, 1250, 2, "data=x")

    def test_of_a_store(self, sharded):
        whole = (sharded.length - 1) // 4 * 4
        check_budget(sharded.length, 4, whole, 1, "data=x")
        with pytest.raises(UserError, match=r"data\.max_epochs=1 allows"):
            check_budget(sharded.length, 4, whole + 1, 1, "data=x")

    @pytest.mark.parametrize("length", [0, 1, 64])
    def test_of_a_stream_without_a_whole_sequence(self, length):
        with pytest.raises(
            UserError,
            match=rf"data=x has {length} tokens, too few for one sequence of 64 .* lower batch.length=64",
        ):
            check_budget(length, 64, 64, 100, "data=x")


class TestEncoding:
    @given(
        text=st.text(
            alphabet=st.one_of(st.sampled_from("天地 \n<eos>🎈"), st.characters(exclude_categories=["Cs"]))
        )
    )
    @settings(deadline=None)
    def test_look_up_gives_what_the_tokenizer_gives(self, char_folder, text):
        pipeline = json.loads((char_folder / "tokenizer.json").read_text())
        tokenizer = load_tokenizer_once(char_folder)
        (looked_up,) = character_encoder(pipeline)([text])
        assert looked_up.tolist() == tokenizer(text, add_special_tokens=False)["input_ids"]

    @pytest.mark.parametrize("kind", ["word", "bpe"])
    def test_tokens_of_several_characters_are_not_looked_up(self, tmp_path, corpus, kind):
        folder = tokenizer_for(corpus, tmp_path, kind)
        assert character_encoder(json.loads((folder / "tokenizer.json").read_text())) is None

    def test_truncation_and_padding_of_a_foreign_tokenizer_are_off(self, tmp_path, corpus):
        folder = tokenizer_for(corpus, tmp_path, "bpe")
        tokenizer = load_tokenizer(folder)
        before = encode(make_recipe(folder, tokenizer, "<u2"), DOCUMENTS).tokens
        tokenizer.backend_tokenizer.enable_truncation(3)
        tokenizer.backend_tokenizer.enable_padding(length=9, **{"pad_token": "<eos>"})
        tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
        recipe = make_recipe(folder, load_tokenizer(folder), "<u4")
        assert recipe.from_file
        assert encode(recipe, DOCUMENTS).tokens.tolist() == before.tolist()

    def test_memory_does_not_grow_with_the_corpus(self, tmp_path, monkeypatch):
        monkeypatch.setattr(parallel, "_CHARACTERS_AT_ONCE", 20_000)
        self.check_peaks(
            tmp_path, lambda size: write_corpus(tmp_path / f"books{size}", ["天地玄黄宇宙洪荒" * 500] * size)
        )

    def check_peaks(self, tmp_path, corpus_of):
        peaks = []
        for size in (20, 200):
            corpus = corpus_of(size)
            folder = tokenizer_for(corpus, tmp_path)
            tracemalloc.start()
            build_token_store(corpus, folder, tmp_path / "cache", processes=1)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert peaks[1] < 1.2 * peaks[0]

    def test_memory_does_not_grow_with_a_document_of_many_lines(self, tmp_path, monkeypatch):
        monkeypatch.setattr(parallel, "_CHARACTERS_AT_ONCE", 20_000)
        monkeypatch.setattr(readers, "PIECE_CHARACTERS", 20_000)
        lines = "天地玄黄宇宙洪荒" * 50 + "\n"
        self.check_peaks(tmp_path, lambda size: write_text(tmp_path / f"{size}.txt", lines * 10 * size))

    def test_processes_are_not_fed_far_ahead_of_what_is_taken(self, char_folder, monkeypatch):
        monkeypatch.setattr(parallel, "_CHARACTERS_AT_ONCE", 10)
        drawn = []
        documents = (drawn.append(number) or "天地玄黄宇宙洪荒日月" for number in range(60))  # a batch each
        recipe = make_recipe(char_folder, load_tokenizer_once(char_folder), "<u2")
        ahead = [len(drawn) - taken for taken, _ in enumerate(encode_documents(documents, recipe, 2), 1)]
        assert len(ahead) == 60
        assert max(ahead) <= 2 * parallel._BATCHES_PER_PROCESS + 1  # one is held back for its next part


def write_text(path, text):
    path.write_text(text, encoding="utf-8")
    return Corpus(corpus_settings(kind="text", path=str(path)))


class TestLongTextFile:
    TEXT = "天地 玄黄\n宇宙\n\n洪荒 日月\n 盈昃\n辰宿列张 \nlining up\nends\n" * 9

    @pytest.mark.parametrize("processes", [1, 2])
    @pytest.mark.parametrize("kind", ["char", "word", "bpe"])
    def test_is_one_document_with_the_ids_of_the_whole(self, tmp_path, monkeypatch, kind, processes):
        corpus = write_text(tmp_path / "a.txt", self.TEXT)
        folder = tokenizer_for(corpus, tmp_path, kind)
        monkeypatch.setattr(readers, "PIECE_CHARACTERS", 10)
        monkeypatch.setattr(parallel, "_CHARACTERS_AT_ONCE", 30)
        assert len(list(corpus.documents())) > 9
        store = build_token_store(corpus, folder, tmp_path / "cache", processes)
        assert store.documents == 1
        assert whole(store).tolist() == naive_stream(folder, [self.TEXT])

    def test_is_not_cut_where_the_tokenizer_would_notice(self, tmp_path, monkeypatch):
        backend = Tokenizer(
            WordLevel({"<eos>": 0, "<unk>": 1, "▁": 2, "▁一": 3, "一": 4, "\n": 5}, unk_token="<unk>")
        )
        backend.pre_tokenizer = Sequence(
            [Metaspace(prepend_scheme="always", split=False), Split("\n", "isolated")]
        )
        folder = tmp_path / "foreign"
        PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>", unk_token="<unk>").save_pretrained(
            folder
        )
        corpus = write_text(tmp_path / "a.txt", "一\n" * 9)
        monkeypatch.setattr(readers, "PIECE_CHARACTERS", 4)
        assert len(list(corpus.documents())) > 3
        stream = whole(build_token_store(corpus, folder, tmp_path / "cache", 1)).tolist()
        assert stream == naive_stream(folder, ["一\n" * 9]) == [0, 3, 5] + [4, 5] * 8

    def test_is_one_document_of_the_survey(self, monkeypatch):
        monkeypatch.setattr(readers, "PIECE_CHARACTERS", 10)
        parts = list(readers.cut_document(["天地玄黄\n"] * 30))
        found = survey([*parts, "x"], 10**6)
        assert (found.documents, found.characters, "".join(found.sample)) == (2, 151, "天地玄黄\n" * 30 + "x")

    @given(
        st.lists(st.sampled_from(["一", " ", "二三", "\t"]).map(lambda word: word + "\n"), max_size=30),
        st.integers(1, 9),
    )
    def test_parts_join_to_the_text_and_none_is_blank(self, lines, size):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(readers, "PIECE_CHARACTERS", size)
            parts = list(readers.cut_document(lines))
        text = "".join(lines)
        assert "".join(parts) == (text if text.strip() else "")
        assert all(part.strip() for part in parts)
        assert [isinstance(part, readers.Continuation) for part in parts] == [False, *[True] * (len(parts) - 1)][
            : len(parts)
        ]


@pytest.fixture(scope="module")
def char_folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("char")
    return tokenizer_for(write_corpus(root / "books", DOCUMENTS), root)


_loaded = {}


def load_tokenizer_once(folder):
    return _loaded.setdefault(folder, load_tokenizer(folder))
