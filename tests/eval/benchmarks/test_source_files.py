"""Which files of a folder or an archive are read, what they are called, and what stands in their place."""

import gzip
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest

from tests.archives import tarred, zipped
from tests.settings import custom_benchmark
from ucurve.errors import UserError
from ucurve.eval.benchmarks.custom import custom_card
from ucurve.eval.benchmarks.load import load_benchmark

ROOT = Path(__file__).resolve().parents[3]
ROWS = [
    {"sentence_good": "it rains .", "sentence_bad": "it rain ."},
    {"sentence_good": "好", "sentence_bad": "坏"},
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
TABLE = "sentence_good,sentence_bad\nit rains .,it rain .\n好,坏\n"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
GBK = "照应.jsonl".encode("gbk")
ESCAPED = GBK.decode("utf-8", "backslashreplace").removesuffix(".jsonl")


def load(path):
    return load_benchmark(custom_card(custom_benchmark(path=path, language="zho")))


def fill(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def pack(path, files):
    """Write files to a folder, a zip or a tar, by the ending of its name."""
    if not path.suffix:
        return fill(path, files)
    path.write_bytes((zipped if path.suffix == ".zip" else tarred)(files.items()))
    return path


BESIDE = {  # what lies beside pairs and is none
    ".ipynb_checkpoints/p-checkpoint.jsonl": LINES, "._p.jsonl": "\0\5\x16", ".DS_Store": "\0", "__MACOSX/p.jsonl": "\0",
    ".cache/huggingface/p.jsonl": LINES, "x/.hidden.csv": TABLE, "dataset_infos.json": '{"default": {}}',
    "x/dataset_info.json": '{"features": {}}', "state.json": '{"_data_files": []}', "README.txt": "Pairs\nof mine\n",
    "LICENSE.txt": "Do\nwhat you want\n", "README.md": "# Pairs\n", ".gitattributes": "*.csv filter=lfs\n",
}  # fmt: skip


@pytest.mark.parametrize("name", ["pairs", "pairs.tar.gz", "pairs.zip"])
def test_hidden_files_and_those_about_a_data_set_are_no_pairs(tmp_path, name, capsys):
    table = load(pack(tmp_path / name, BESIDE | {"p.jsonl": LINES, "x/q.csv": TABLE}))
    assert table["paradigm"].tolist() == ["p", "p", "q", "q"]
    assert "several files" in capsys.readouterr().err  # and nothing of what is hidden


@pytest.mark.parametrize("pattern", ["'*.jsonl'", "'**/*.jsonl'", "['*.csv', '**']", "."])
def test_patterns_find_no_hidden_files(tmp_path, pattern):
    fill(tmp_path, BESIDE | {"p.jsonl": LINES, "card.yaml": f"name: own\nlanguage: zho\nfiles: {pattern}\n"})
    assert load_benchmark(str(tmp_path))["paradigm"].tolist() == ["p", "p"]


@pytest.mark.parametrize(
    "pattern", [".cache/huggingface/p.jsonl", "'.cache/*/*.jsonl'", "'**/.cache/**/*.jsonl'", ".cache"]
)
def test_what_is_named_is_read_even_if_it_is_hidden(tmp_path, pattern):
    fill(tmp_path, BESIDE | {"card.yaml": f"name: own\nlanguage: zho\nfiles: {pattern}\n"})
    assert load_benchmark(str(tmp_path))["good"].tolist() == ["it rains .", "好"]
    assert len(load(tmp_path / "x" / ".hidden.csv")) == 2


@pytest.mark.parametrize("archive", ["a.tgz", "a.zip"])
@pytest.mark.parametrize("name", ["./p.csv", "./x/p.csv", "x//p.csv", "x/./p.csv"])
def test_archives_of_the_folder_itself(tmp_path, archive, name):
    assert load(pack(tmp_path / archive, {name: TABLE}))["paradigm"].tolist() == ["p", "p"]


def test_an_archive_that_tar_makes_of_a_folder(tmp_path):
    fill(tmp_path / "pairs", {"p.csv": TABLE, "x/q.jsonl": LINES})
    # Tar keeps one of two equal files as a link.
    os.link(tmp_path / "pairs" / "p.csv", tmp_path / "pairs" / "z.csv")
    subprocess.run(["tar", "-C", tmp_path / "pairs", "-czf", tmp_path / "a.tar.gz", "."], check=True)
    assert sorted(set(load(tmp_path / "a.tar.gz")["paradigm"])) == ["p", "q", "z"]


def test_a_file_that_stands_twice_in_an_archive_is_the_last_one(tmp_path):
    (tmp_path / "a.tar").write_bytes(tarred([("./p.csv", TABLE + "x,y\n"), ("p.csv", TABLE)], "w"))
    assert len(load(tmp_path / "a.tar")) == 2


def test_file_names_that_are_not_utf8_are_escaped(tmp_path):
    folder = tmp_path / "pairs"
    fill(folder, {os.fsdecode(GBK): LINES})
    assert set(load(folder)["paradigm"]) == {ESCAPED}
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(folder, arcname="")
    assert set(load(tmp_path / "a.tar")["paradigm"]) == {ESCAPED}
    load(tmp_path / "a.tar").to_parquet(tmp_path / "pairs.parquet")


@pytest.mark.parametrize(("name", "paradigm"), [("照应.jsonl".encode(), "照应"), (GBK, ESCAPED)])
def test_names_in_a_zip_that_does_not_say_their_encoding(tmp_path, name, paradigm):
    plain = b"x" * len(name.removesuffix(b".jsonl")) + b".jsonl"
    pack(tmp_path / "a.zip", {plain.decode(): LINES})
    packed = (tmp_path / "a.zip").read_bytes()
    assert packed.count(plain) == 2
    (tmp_path / "a.zip").write_bytes(packed.replace(plain, name))
    assert set(load(tmp_path / "a.zip")["paradigm"]) == {paradigm}


@pytest.mark.long
def test_names_under_a_locale_of_ascii(tmp_path):
    fill(tmp_path, {"照应/数.jsonl": LINES, "card.yaml": "name: own\nlanguage: zho\nfiles: 照应/数.jsonl\n"})
    pack(tmp_path / "a.zip", {"数.jsonl": LINES})
    code = (
        "import sys; from pathlib import Path; from tests.settings import custom_benchmark\n"
        "from ucurve.eval.benchmarks.custom import *; from ucurve.eval.benchmarks.load import *\n"
        "for path in sys.argv[2:]:\n"
        "    assert set(load_benchmark(custom_card(custom_benchmark(path=Path(path))))['paradigm']) == {'\\u6570'}, path\n"
        "assert set(load_benchmark(sys.argv[1])['paradigm']) == {'\\u6570'}"
    )
    paths = [tmp_path, tmp_path / "照应", tmp_path / "照应" / "数.jsonl", tmp_path / "a.zip"]
    ascii_only = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", code, *paths]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | ascii_only, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: pa.compress(data, codec="zstd", asbytes=True)])
@pytest.mark.parametrize(("name", "text"), [("p.jsonl", LINES), ("p.csv", TABLE), ("p.json", LINES)])
def test_compressed_data_without_its_ending(tmp_path, pack, name, text):
    (tmp_path / name).write_bytes(pack(text.encode()))
    assert load(tmp_path / name)["good"].tolist() == ["it rains .", "好"]


@pytest.mark.parametrize(
    "text", [LINES, "\ufeff" + LINES, LINES.splitlines()[0], "\n" + LINES.replace("\n", "\r\n")]
)
def test_json_lines_under_the_name_of_json(tmp_path, text):
    (tmp_path / "p.json").write_text(text, encoding="utf-8", newline="")
    assert load(tmp_path / "p.json")["good"].tolist() == ["it rains .", "好"][: text.count("{")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.csv", POINTER, r"p\.csv: a Git LFS pointer and not the file itself; run `git lfs pull`"),
        ("p.jsonl.gz", POINTER, r"p\.jsonl\.gz: a Git LFS pointer"),
        ("p.parquet", POINTER, r"p\.parquet: a Git LFS pointer"),
        ("p.xlsx", POINTER, r"p\.xlsx: a Git LFS pointer"),
        ("p.zip", POINTER, r"p\.zip: a Git LFS pointer"),
        ("p.tar.gz", POINTER, r"p\.tar\.gz: a Git LFS pointer"),
        ("p.csv", b"PK\3\4\0", r"p\.csv: a zip archive \(\.zip\) or a workbook \(\.xlsx\) and not text, whatever its name says"),
        ("p.json", b"PAR1\0", r"p\.json: Parquet \(\.parquet\) and not text"),
        ("p.csv.gz", gzip.compress(gzip.compress(b"x", mtime=0), mtime=0), r"p\.csv\.gz: gzip data \(\.gz\) in gzip data"),
        ("p.json", LINES + "{x\n", r"p\.json:3: not JSON"),
        ("p.json", '{"a": 1,\n "b": 2}', r"p\.json:1: an array of pairs is expected, not dict; .*`files` of a card can leave it out"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_named(tmp_path, name, content, message):
    fill(tmp_path, {name: content})
    with pytest.raises(UserError, match=message):
        load(tmp_path / name)


def test_a_pointer_in_an_archive_is_named(tmp_path):
    with pytest.raises(UserError, match=r"a\.zip/x/p\.csv: a Git LFS pointer"):
        load(pack(tmp_path / "a.zip", {"x/p.csv": POINTER}))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(tmp_path):
    fill(tmp_path, {"p.csv": TABLE})
    (tmp_path / "p.csv").chmod(0)
    with pytest.raises(UserError, match=r"cannot read .*p\.csv \(Permission denied\)"):
        load(tmp_path / "p.csv")
