"""Tables, JSON arrays and compressions; the other forms are read in test_corpus.py."""

import bz2
import csv
import gzip
import json
import lzma

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ucurve.errors import UserError
from ucurve.training.corpus.readers import read_documents


def read(path, content, unit="record", field="text"):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_documents(path, unit, field))


@pytest.mark.parametrize("name", ["a.train", "a.dev", "a.valid", "a.test", "a.raw", "a.tokens", "A.TRAIN"])
def test_text_by_other_names(tmp_path, name):
    assert read(tmp_path / name, "one\n\ntwo\n", "line") == ["one", "two"]
    assert read(tmp_path / name, "one\n\ntwo\n") == ["one\n\ntwo\n"]


@pytest.mark.parametrize(("end", "pack"), [(".xz", lzma.compress), (".bz2", bz2.compress)])
class TestCompression:
    def test_every_form(self, tmp_path, end, pack):
        assert read(tmp_path / f"a.txt{end}", pack(b"one\ntwo\n"), "line") == ["one", "two"]
        assert read(tmp_path / f"a.jsonl{end}", pack(b'{"text": "one"}\n')) == ["one"]
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"text": ["one"]}), sink)
        assert read(tmp_path / f"a.parquet{end}", pack(sink.getvalue().to_pybytes())) == ["one"]

    @pytest.mark.parametrize("name", ["a.txt", "a.parquet"])
    def test_damaged(self, tmp_path, end, pack, name):
        whole = pack(b"".join(b"%d\n" % (number**5) for number in range(2000)))
        with pytest.raises(UserError, match=rf"{name}{end}: damaged"):
            read(tmp_path / f"{name}{end}", whole[:-40])
        with pytest.raises(UserError, match=rf"{name}{end}: damaged"):
            read(tmp_path / f"{name}{end}", b"no such form")


def test_compression_that_the_name_does_not_say(tmp_path):
    text = b'{"text": "one"}\n'
    zstd = bytes(pa.compress(text, codec="zstd", asbytes=True))
    for content in (gzip.compress(text), lzma.compress(text), bz2.compress(text), zstd):
        assert read(tmp_path / "a.jsonl", content) == ["one"]


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.json.gz", "a.parquet"])
def test_a_pointer_in_place_of_the_file(tmp_path, name):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    message = rf"{name}: a pointer of Git LFS, not the file itself; 'git lfs pull' fetches it"
    with pytest.raises(UserError, match=message):
        read(tmp_path / name, pointer)


class TestJson:
    def test_lines(self, tmp_path):
        assert read(tmp_path / "a.json", '\n{"text": "one\\ntwo"}\n{"text": "three"}\n', "line") == [
            "one",
            "two",
            "three",
        ]
        assert read(tmp_path / "a.json.gz", gzip.compress(b'{"text": "one"}\n')) == ["one"]

    def test_array(self, tmp_path):
        records = [{"text": "one"}, {"text": "two"}]
        assert read(tmp_path / "a.json", json.dumps(records, indent=1)) == ["one", "two"]
        assert read(tmp_path / "a.json", "") == []

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ('{"text": "a"}\n{', r"a\.json:2: not a line of JSON"),
            ('{\n"text": "a"}', r"a\.json:1: not a line of JSON"),
            (
                '[{"text": "a"}, {"body": "b"}]',
                r"unknown data.text_field 'text' in .*a\.json: record 2; allowed: body",
            ),
            ('[{"text": 1}]', r"a\.json: record 1: field 'text' holds a number"),
            ('["a"]', r"a\.json: record 1: a record must be an object"),
            ('[{"text": "a"}', r"a\.json: neither lines of JSON nor one JSON array \("),
            (f"[{'9' * 5000}]", r"a\.json: neither lines of JSON nor one JSON array \("),
            ("[" * 100_000, r"a\.json: neither lines of JSON nor one JSON array \("),
        ],
    )
    def test_broken(self, tmp_path, content, message):
        with pytest.raises(UserError, match=message):
            read(tmp_path / "a.json", content)


class TestTables:
    def test_csv_has_fields_in_quotation_marks(self, tmp_path):
        table = 'id,text\n1,"one, ""two""\nthree"\n\n2,four\n3,\n'
        assert read(tmp_path / "a.csv", table) == ['one, "two"\nthree', "four"]
        assert read(tmp_path / "a.csv", table, "line") == ['one, "two"', "three", "four"]

    def test_tsv_has_none(self, tmp_path):
        table = 'text\tid\n"one\t1\r\ntwo"\t2\r\n'
        assert read(tmp_path / "a.tsv", table) == ['"one', 'two"']

    def test_an_empty_one(self, tmp_path):
        assert read(tmp_path / "a.csv", "\n\n") == []

    def test_a_long_field(self, tmp_path):
        assert read(tmp_path / "a.csv", f"body\n{'x' * 200_000}\n", field="body") == ["x" * 200_000]
        assert csv.field_size_limit() == 131_072, "the limit of other tables stays"

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("id,body\n1,x\n", r"unknown data.text_field 'text' in .*a\.csv:1; allowed: body, id"),
            ('id,text\n1,"x\ny"\n2,x,y\n', r"a\.csv:4: 3 fields; the header has 2$"),
            ('id,text\n1,x\n2,"x\ny\n', r"a\.csv:3: not a table \(unexpected end of data\)"),
            ('id,text\n1,"Go" he says\n', r"a\.csv:2: not a table \(',' expected after '\"'\)"),
            (b"text\n\xff\n", r"a\.csv:2: not valid UTF-8"),
        ],
    )
    def test_broken(self, tmp_path, content, message):
        with pytest.raises(UserError, match=message):
            read(tmp_path / "a.csv", content)
