"""What has no bound by itself: unpacked sizes, columns, regular expressions, and what a broken archive does."""

import gzip
import json
import time
import tracemalloc
import zipfile

import pandas as pd
import pyarrow as pa
import pytest

from tests.archives import tarred, zipped
from tests.settings import custom_benchmark
from ucurve.config import check, compose
from ucurve.errors import UserError
from ucurve.eval.benchmarks import expressions
from ucurve.eval.benchmarks.custom import custom_card
from ucurve.eval.benchmarks.files.tables import MOST_COLUMNS
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.run import load_benchmarks
from ucurve.eval.settings import ScoreCommand

LINE = '{"sentence_good": "it rains .", "sentence_bad": "it rain ."}\n'
LARGE = 3_000_000  # bytes that compress well
TOO_LARGE = r": what is compressed in a benchmark may hold 1,000,000 bytes together, and this is more; .*benchmark_unpacked=BYTES"


def load(path, unpacked=10**6):
    return load_benchmark(custom_card(custom_benchmark(path=path, language="eng")), unpacked=unpacked)


def text(size=LARGE):
    return (LINE * (size // len(LINE) + 1)).encode()


BOMBS = {
    "p.jsonl.gz": lambda path: path.write_bytes(gzip.compress(text())),
    "p.jsonl": lambda path: path.write_bytes(gzip.compress(text())),
    "p.jsonl.zst": lambda path: path.write_bytes(pa.compress(text(), codec="zstd", asbytes=True)),
    "deflate.zip": lambda path: path.write_bytes(zipped([("p.jsonl", text())])),
    "lzma.zip": lambda path: path.write_bytes(zipped([("p.jsonl", text())], zipfile.ZIP_LZMA)),
    "many.zip": lambda path: path.write_bytes(zipped((f"{number}.jsonl", text(400_000)) for number in range(3))),
    "inner.zip": lambda path: path.write_bytes(zipped([("p.jsonl.gz", gzip.compress(text()))])),
    "p.tar.gz": lambda path: path.write_bytes(tarred([("p.jsonl", text())])),
    "unread.tar.gz": lambda path: path.write_bytes(tarred([("film.mp4", bytes(LARGE)), ("p.jsonl", LINE)])),
    "header.tar.gz": lambda path: path.write_bytes(tarred([("p.jsonl", LINE)], pax={"comment": "x" * LARGE})),
    "empty.tgz": lambda path: path.write_bytes(tarred((f"{number}", b"") for number in range(1200))),
    "p.xlsx": lambda path: path.write_bytes(zipped([("xl/worksheets/sheet1.xml", bytes(LARGE))])),
    "p.parquet": lambda path: pd.DataFrame([json.loads(LINE)] * 80_000).to_parquet(path),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_to_too_much_is_refused(tmp_path, name):
    BOMBS[name](tmp_path / name)
    assert (tmp_path / name).stat().st_size < 400_000
    with pytest.raises(UserError, match=name.replace(".", r"\.") + r"(/\w+\.jsonl(\.gz)?)?" + TOO_LARGE):
        load(tmp_path / name)


def test_no_more_is_unpacked_than_may_be(tmp_path):
    with gzip.open(tmp_path / "p.csv.gz", "wb") as file:
        for _ in range(60):
            file.write(bytes(10**6))
    tracemalloc.start()
    with pytest.raises(UserError, match=TOO_LARGE):
        load(tmp_path / "p.csv.gz")
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


def test_files_of_several_archives_count_together(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.zip").write_bytes(zipped([("p.jsonl", text(600_000))]))
    assert len(load(tmp_path / "a.zip")) > 9000
    with pytest.raises(UserError, match=r"b\.zip/p\.jsonl" + TOO_LARGE):
        load(tmp_path)


def test_a_plain_file_has_no_limit(tmp_path):
    (tmp_path / "p.jsonl").write_bytes(text(1_100_000))
    assert len(load(tmp_path / "p.jsonl")) > 15_000


def test_the_limit_is_a_setting(tmp_path):
    (tmp_path / "p.zip").write_bytes(zipped([("p.jsonl", LINE * 10)]))
    given = ["check=true", "benchmarks=[custom]", f"custom.path={tmp_path / 'p.zip'}"]
    assert len(load_benchmarks(check(ScoreCommand, compose("score", given)))[0]) == 10
    with pytest.raises(UserError, match="may hold 500 bytes together"):
        load_benchmarks(check(ScoreCommand, compose("score", [*given, "benchmark_unpacked=500"])))
    assert len(load_benchmarks(check(ScoreCommand, compose("score", [*given, "benchmark_unpacked=1K"])))[0]) == 10


def damaged(path, method):
    content = bytearray(zipped([("p.csv", "".join(f"{number},b\n" for number in range(2000)))], method))
    content[45:55] = bytes(10)
    path.write_bytes(content)


def changed(path, place, value):
    """Set two bytes in both headers of the one member of a zip."""
    content = bytearray(zipped([("p.csv", "a,b\n")]))
    for start, at in ((0, place - 2), (content.index(b"PK\1\2"), place)):
        content[start + at : start + at + 2] = value
    path.write_bytes(content)


BROKEN = {
    "damaged LZMA": (lambda path: damaged(path, zipfile.ZIP_LZMA), r"p\.zip/p\.csv: the archive is broken \("),
    "damaged bzip2": (lambda path: damaged(path, zipfile.ZIP_BZIP2), r"p\.zip/p\.csv: the archive is broken \("),
    "damaged deflate": (lambda path: damaged(path, zipfile.ZIP_DEFLATED), r"p\.zip/p\.csv: the archive is broken \("),
    "a password": (lambda path: changed(path, 8, b"\1\0"), r"p\.zip/p\.csv: locked with a password; unpack the archive"),
    "an unknown method": (lambda path: changed(path, 10, b"\x63\0"), r"p\.zip/p\.csv: packed in a way that cannot be read \("),
    "cut off": (lambda path: path.write_bytes(b"PK\3\4" + bytes(200)), r"p\.zip: not a zip file"),
    "a name that is no UTF-8": (
        lambda path: (changed(path, 8, b"\0\x08"), path.write_bytes(path.read_bytes().replace(b"p.csv", b"\xd5.csv"))),
        r"p\.zip: not a zip file \(.*utf-8",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
def test_an_archive_that_cannot_be_read_is_one_message(tmp_path, fault):
    make, message = BROKEN[fault]
    make(tmp_path / "p.zip")
    with pytest.raises(UserError, match=message):
        load(tmp_path / "p.zip")


@pytest.mark.parametrize("keep", [40, 300])
def test_a_tar_that_is_cut_off(tmp_path, keep):
    (tmp_path / "p.tar.gz").write_bytes(tarred((f"{number}.jsonl", LINE) for number in range(50))[:keep])
    with pytest.raises(UserError, match=r"p\.tar\.gz: not a tar archive"):
        load(tmp_path / "p.tar.gz")


@pytest.mark.parametrize("suffix", [".tsv", ".json"])
def test_a_hundred_thousand_columns_are_refused_at_once(tmp_path, suffix):
    names = [f"column{number}" for number in range(100_000)]
    row = json.dumps(dict.fromkeys(names, "x"))
    table = "\t".join(names) + "\n" + "\t".join("x" * len(names)) + "\n"
    (tmp_path / f"p{suffix}").write_text(f"[{row}]" if suffix == ".json" else table)
    began = time.process_time()
    with pytest.raises(UserError, match=r"p\.\w+:.*1: 100,000 columns; at most 10,000 are read"):
        load(tmp_path / f"p{suffix}")
    assert time.process_time() - began < 5


def test_columns_that_come_row_by_row_are_counted_too(tmp_path):
    rows = [json.loads(LINE) | {f"column{number}": 1} for number in range(MOST_COLUMNS)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UserError, match=r"p\.jsonl:9999: 10,001 columns"):
        load(tmp_path / "p.jsonl")


def test_two_columns_of_one_name_in_parquet(tmp_path):
    table = pa.table([["a"], ["b"], ["c"]], names=["sentence_good", "sentence_bad", "sentence_bad"])
    pa.parquet.write_table(table, tmp_path / "p.parquet")
    with pytest.raises(UserError, match=r"p\.parquet: two columns are named 'sentence_bad'"):
        load(tmp_path / "p.parquet")


SLOW = "^(a|a)*$"  # doubles its time with each further a


@pytest.mark.parametrize(
    "more",
    [
        f"header: [sentence_good, sentence_bad]\nheader_unless: '{SLOW}'\n",
        f"file_names: '{SLOW}'\n",
        f"sentences: {{sentence: {{last_matching: '{SLOW}'}}}}\n",
    ],
)
def test_a_regular_expression_that_takes_too_long(tmp_path, more, monkeypatch):
    monkeypatch.setattr(expressions, "_SECONDS", 0.1)
    name = "a" * 60 + "!"
    (tmp_path / f"{name}.csv").write_text(f"sentence_good,sentence_bad\n{name},b\n{name},b\n")
    if "header" in more:
        (tmp_path / f"{name}.csv").write_text(f"{name},b\n")
    (tmp_path / "card.yaml").write_text(f"name: own\nlanguage: eng\n{more}")
    message = r"!\.csv:[12]: the regular expression .* takes more than 0\.1 s on 'aaa.*\.\.\.'; write it"
    with pytest.raises(UserError, match=message):
        load_benchmark(str(tmp_path / "card.yaml"))


@pytest.mark.parametrize("key", ["header_unless", "file_names", "sentences.sentence.last_matching"])
@pytest.mark.parametrize("expression", ["(", "a{99999999999999}", "(" * 3000])
def test_an_expression_that_cannot_be(tmp_path, key, expression):
    value = f"'{expression}'"
    for part in reversed(key.split(".")[1:]):
        value = f"{{{part}: {value}}}"
    (tmp_path / "card.yaml").write_text(f"name: own\nlanguage: eng\n{key.split('.')[0]}: {value}\n")
    with pytest.raises(UserError, match=r"card\.yaml:3: .* is not a regular expression \("):
        load_benchmark(str(tmp_path / "card.yaml"))
