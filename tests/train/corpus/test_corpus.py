import gzip
import json
import os
import shutil
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.settings import corpus_settings
from ucurve.errors import UserError
from ucurve.templates import demo
from ucurve.training.corpus.corpus import Corpus, _demo_records


def corpus(path, **values):
    paths = [str(one) for one in path] if isinstance(path, list) else str(path)
    return Corpus(corpus_settings(kind="text", path=paths, **values))


def documents(path, **values):
    return list(corpus(path, **values).documents())


def json_lines(*records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def write(path, content, compression=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    if compression == ".gz":
        content = gzip.compress(content)
    elif compression == ".zst":
        content = bytes(pa.compress(content, codec="zstd", asbytes=True))
    target = path.with_name(path.name + compression)
    target.write_bytes(content)
    return target


def parquet_bytes(table):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
class TestFormats:
    def test_text_file_is_one_record(self, tmp_path, compression):
        file = write(tmp_path / "a.txt", "一行\r\n\n二行 \n".encode(), compression)
        assert documents(file) == ["一行\r\n\n二行 \n"]

    def test_text_lines(self, tmp_path, compression):
        file = write(tmp_path / "a.txt", "一行\r\n\n \n二行 \u2028三".encode(), compression)
        assert documents(file, unit="line") == ["一行", "二行 \u2028三"]

    def test_json_records_and_lines(self, tmp_path, compression):
        content = json_lines({"text": "甲\n乙"}, {"text": " "}, {"text": "丙", "other": 1})
        file = write(tmp_path / "a.jsonl", content + b"\n", compression)
        assert documents(file) == ["甲\n乙", "丙"]
        assert documents(file, unit="line") == ["甲", "乙", "丙"]

    def test_parquet_records(self, tmp_path, compression):
        table = pa.table({"body": ["甲\n乙", "丙"], "n": [1, 2]})
        file = write(tmp_path / "a.parquet", parquet_bytes(table), compression)
        assert documents(file, text_field="body") == ["甲\n乙", "丙"]
        assert documents(file, text_field="body", unit="line") == ["甲", "乙", "丙"]


@pytest.mark.parametrize("compression", [".gz", ".zst"])
class TestCompression:
    def test_cut_off_file_is_named(self, tmp_path, compression):
        lines = json_lines(*({"text": str(n**5)} for n in range(2000)))
        file = write(tmp_path / "a.jsonl", lines, compression)
        file.write_bytes(file.read_bytes()[:-40])
        with pytest.raises(UserError, match=rf"a\.jsonl{compression}: damaged or cut off after line \d+"):
            documents(file)

    def test_parts_compressed_one_by_one_are_one_file(self, tmp_path, compression):
        first, second = (write(tmp_path / f"{n}.txt", b"line\n" * n, compression) for n in (1, 2))
        first.write_bytes(first.read_bytes() + second.read_bytes())
        assert documents(first) == ["line\n" * 3]


def test_byte_order_mark_is_no_text(tmp_path):
    assert documents(write(tmp_path / "a.txt", b"\xef\xbb\xbfx")) == ["x"]


def test_documents_are_read_lazily(tmp_path):
    file = write(tmp_path / "a.jsonl", json_lines({"text": "good"}) + b"{broken\n")
    stream = corpus(file).documents()
    assert next(stream) == "good"
    with pytest.raises(UserError, match=r"a\.jsonl:2: not a line of JSON"):
        next(stream)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"text": "x"', r"a\.jsonl:2: not a line of JSON"),
        (b"\xff\xfe", r"a\.jsonl:2: not valid UTF-8 \(byte 1 of the line\)"),
        (b'["x"]', r"a\.jsonl:2: a record must be an object with a field 'text', not a list"),
        (
            b'{"texts": "x"}',
            r"unknown data.text_field 'text' in .*a\.jsonl:2; allowed: texts.*Did you mean 'texts'",
        ),
        (b'{"text": 3}', r"a\.jsonl:2: field 'text' holds a number, not text"),
        (b'{"text": null}', r"a\.jsonl:2: field 'text' holds null, not text"),
        (b'{"text": {"a": 1}}', r"a\.jsonl:2: field 'text' holds an object, not text"),
        (b'{"text": "\\ud800"}', r"a\.jsonl:2: field 'text' holds half a surrogate pair"),
    ],
)
def test_bad_line_is_named(tmp_path, line, message):
    file = write(tmp_path / "a.jsonl", json_lines({"text": "good"}) + line + b"\n")
    with pytest.raises(UserError, match=message):
        documents(file)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "好\n".encode() + "坏".encode("gb18030"), r"a\.txt:2: not valid UTF-8"),
        ("a.txt.gz", b"plain text", r"a\.txt\.gz: damaged or cut off after line 0"),
        ("a.parquet", b"plain text", r"a\.parquet: damaged or no Parquet file"),
        ("a.parquet", {"body": ["x"]}, r"unknown data.text_field 'text' in .*a\.parquet; allowed: body"),
        ("a.parquet", {"text": ["x", None]}, r"a\.parquet: row 2: field 'text' holds null"),
        ("a.parquet", {"text": [1]}, r"a\.parquet: row 1: field 'text' holds a number"),
    ],
)
def test_a_bad_file_is_named(tmp_path, name, content, message):
    file = write(tmp_path / name, content if isinstance(content, bytes) else parquet_bytes(pa.table(content)))
    with pytest.raises(UserError, match=message):
        documents(file)


def test_a_parquet_file_is_not_read_whole(tmp_path):
    texts = [f"{number}" + "x" * 500 for number in range(30_000)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet", compression="none", use_dictionary=False)
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == 1
    stream, before, held = corpus(tmp_path / "a.parquet").documents(), pa.total_allocated_bytes(), 0
    tracemalloc.start()
    for _ in stream:
        held = max(held, pa.total_allocated_bytes() - before)
    held += tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held < (tmp_path / "a.parquet").stat().st_size / 2


class TestFiles:
    def test_folder_is_read_in_sorted_order_without_validation_test_and_hidden_files(self, tmp_path):
        for name in [
            "b/train-1.txt",
            "a/z.txt",
            "train-0.txt",
            "validation.txt",
            "a/test-0.txt",
            ".c/x.txt",
            ".d.txt",
        ]:
            write(tmp_path / name, name.encode())
        write(tmp_path / "README.md", b"not text")
        assert documents(tmp_path) == ["a/z.txt", "b/train-1.txt", "train-0.txt"]

    def test_exclusion_is_a_setting(self, tmp_path):
        for name in ["train.txt", "validation.txt"]:
            write(tmp_path / name, name.encode())
        assert documents(tmp_path, exclude=[]) == ["train.txt", "validation.txt"]
        assert documents(tmp_path / "*.txt") == ["train.txt"]
        assert documents(tmp_path / "validation.txt") == ["validation.txt"]

    def test_glob_to_any_depth_and_list(self, tmp_path):
        for name in ["a/b/1.txt", "a/2.txt", "c/3.txt"]:
            write(tmp_path / name, name.encode())
        assert documents(tmp_path / "a" / "**" / "*.txt") == ["a/2.txt", "a/b/1.txt"]
        assert documents([tmp_path / "c", tmp_path / "a" / "2.txt", tmp_path / "a" / "2.txt"]) == [
            "a/2.txt",
            "c/3.txt",
        ]

    @pytest.mark.parametrize(
        ("path", "message"),
        [
            ("bokos", r"data.path: no file or folder '.*bokos'\. Did you mean '.*books'"),
            ("none/x", r"data.path: no file or folder .*; the folder '.*none' does not exist either"),
            (
                "*.jsonl",
                r"data.path: no text file in .*; allowed: text \(\.txt, \.train, \.raw, \.tokens\), \.jsonl, .* each plain or with",
            ),
            ("only", r"1 left out by data.exclude=\['validation\*', 'test\*'\]"),
            ("books/a.pdf", r"a\.pdf: not a format that is read; allowed: text \(\.txt"),
        ],
    )
    def test_no_file(self, tmp_path, path, message):
        write(tmp_path / "books" / "a.pdf", b"x")
        write(tmp_path / "only" / "validation.txt", b"x")
        with pytest.raises(UserError, match=message):
            documents(tmp_path / path)

    @pytest.mark.parametrize("path", [None, "", []])
    def test_no_path(self, path):
        settings = corpus_settings(kind="text", path=path)
        assert settings.run_name == "text"
        with pytest.raises(UserError, match=r"data\.path: no value given"):
            list(Corpus(settings).documents())

    @pytest.mark.parametrize("content", ["", " \n\n"])
    def test_empty_corpus(self, tmp_path, content):
        with pytest.raises(UserError, match=r"the corpus 'books' has no document with text: .*books"):
            documents(write(tmp_path / "books" / "a.txt", content.encode()).parent)


class TestFingerprint:
    def test_moved_corpus_is_the_same_and_changed_bytes_or_names_are_not(self, tmp_path):
        for folder in ["one", "deep/two"]:
            write(tmp_path / folder / "a.txt", b"x")
            write(tmp_path / folder / "b" / "c.txt", b"y")
        one, two = tmp_path / "one", tmp_path / "deep" / "two"
        assert corpus(one).fingerprint() == corpus(two).fingerprint()
        before = corpus(one).fingerprint()
        (two / "a.txt").write_bytes(b"z")
        assert corpus(two).fingerprint() != before
        (one / "a.txt").rename(one / "d.txt")
        assert corpus(one).fingerprint() != before

    def test_unit_and_field_count_and_name_and_epochs_do_not(self, tmp_path):
        file = write(tmp_path / "a.txt", b"x")
        before = corpus(file).fingerprint()
        assert corpus(file, unit="line").fingerprint() != before
        assert corpus(file, text_field="body").fingerprint() != before
        assert corpus(file, name="other", max_epochs=3).fingerprint() == before


class TestSettings:
    @pytest.mark.parametrize(
        ("path", "name"),
        [
            ("../shared/corpora/zh-books", "zh_books"),
            ("zh--books!/", "zh_books"),
            ("x/Tales (v1.2).jsonl.gz", "Tales_v1_2"),
            ("x/part-*.txt.zst", "part"),
            (["x/one.txt", "y/two.txt"], "one_and_1_more"),
            ("红楼梦.txt", "红楼梦"),
            ("*", "text"),
        ],
    )
    def test_name_comes_from_the_last_part_of_the_path(self, path, name):
        assert corpus_settings(kind="text", path=path).run_name == name

    def test_name_of_a_folder_given_by_dots(self, tmp_path, monkeypatch):
        (tmp_path / "my-texts").mkdir()
        monkeypatch.chdir(tmp_path / "my-texts")
        assert corpus_settings(kind="text", path=".").run_name == "my_texts"

    def test_given_name_wins(self):
        assert corpus_settings(kind="text", path="x", name="mine").run_name == "mine"

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"kind": "txt"}, "kind: got 'txt'"),
            ({"kind": "demo", "path": "x"}, "path is for data=text only; this is data.kind=demo"),
            ({"kind": "text", "path": "x", "dataset": "y"}, "dataset is for data=hub only"),
            ({"kind": "hub"}, "dataset: no dataset given"),
            ({"kind": "text", "max_epochs": 0}, "max_epochs: got 0"),
            ({"kind": "text", "unit": "word"}, "unit: got 'word'"),
            ({"kind": "text", "name": "a-b"}, "name: got 'a-b'"),
            ({"kind": "text", "pth": "x"}, "pth: unknown key"),
        ],
    )
    def test_what_is_not_allowed(self, values, message):
        with pytest.raises(UserError, match=message):
            corpus_settings(**values)


class TestDemo:
    def test_trains_on_the_text_of_the_grammar(self, monkeypatch):
        made = []
        monkeypatch.setattr(demo, "training_text", lambda: made.append(1) or iter(["一\n二", "", "三"]))
        _demo_records.cache_clear()
        corpus = Corpus(corpus_settings(kind="demo"))
        assert corpus.settings.run_name == "demo"
        assert list(corpus.documents()) == ["一\n二", "三"]
        assert list(corpus.documents()) == ["一\n二", "三"]
        assert made == [1]
        _demo_records.cache_clear()

    def test_fingerprint_follows_the_grammar(self, monkeypatch, tmp_path):
        settings = corpus_settings(kind="demo")
        original = Path(demo.__file__).parent
        shutil.copytree(original, tmp_path / "generation", ignore=shutil.ignore_patterns("__pycache__"))
        before = Corpus(settings).fingerprint()
        monkeypatch.setattr(demo, "__file__", str(tmp_path / "generation" / "demo.py"))
        assert Corpus(settings).fingerprint() == before
        with (tmp_path / "generation" / "demo_grammar" / "vocabulary.tsv").open("a") as file:
            file.write("x")
        assert Corpus(settings).fingerprint() != before


class TestHub:
    @pytest.fixture(autouse=True)
    def offline(self, monkeypatch):
        datasets = pytest.importorskip("datasets")
        monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)

    def hub(self, **values):
        return Corpus(corpus_settings(kind="hub", **values))

    @pytest.fixture
    def dataset(self, tmp_path):
        write(tmp_path / "zh-set" / "train.jsonl", json_lines(*({"body": f"文{n}\n行"} for n in range(5))))
        return str(tmp_path / "zh-set")

    def test_local_dataset_is_streamed(self, dataset):
        stream = self.hub(dataset=dataset, text_field="body", max_documents=2)
        assert stream.settings.run_name == "zh_set"
        assert list(stream.documents()) == ["文0\n行", "文1\n行"]
        assert len(list(self.hub(dataset=dataset, text_field="body", unit="line").documents())) == 10

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({}, r"unknown data.text_field 'text' in .*zh-set: record 1; allowed: body"),
            ({"split": "dev"}, r"split dev\) cannot be read: Bad split: dev"),
            ({"dataset": "some/set"}, r"data\.dataset=some/set .* cannot be read: Couldn't reach 'some/set'"),
        ],
    )
    def test_what_is_not_there(self, dataset, given, message):
        with pytest.raises(UserError, match=message):
            list(self.hub(**{"dataset": dataset} | given).documents())


def test_a_link_is_read_by_its_own_name(tmp_path):
    (tmp_path / "blob-abc").write_text('{"text": "天"}\n')
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.jsonl").symlink_to(tmp_path / "blob-abc")
    assert list(Corpus(corpus_settings("text", path=str(folder))).documents()) == ["天"]


def test_the_current_folder_leaves_hidden_folders_out(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.txt").write_text("no text")
    (tmp_path / "a.txt").write_text("天")
    monkeypatch.chdir(tmp_path)
    assert list(Corpus(corpus_settings("text", path=".")).documents()) == ["天"]


def test_a_file_name_that_is_not_utf8_is_no_obstacle(tmp_path):
    name = os.fsdecode(b"\xd5\xc5.txt")  # GBK
    (tmp_path / name).write_text("天")
    corpus = Corpus(corpus_settings("text", path=str(tmp_path)))
    assert list(corpus.documents()) == ["天"]
    assert len(corpus.fingerprint()) == 64
