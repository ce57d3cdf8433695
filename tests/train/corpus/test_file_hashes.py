import os
import time

import pytest

from ucurve.storage.files import sha256_file
from ucurve.training.corpus import files
from ucurve.training.corpus.files import FILE_HASHES, hash_file, keep_hashes, recall_hashes


@pytest.fixture
def read(monkeypatch):
    """The files whose bytes are read, in a process that remembers nothing yet."""
    paths = []
    monkeypatch.setattr(files, "_remembered", {})
    monkeypatch.setattr(files, "sha256_file", lambda path: paths.append(path.name) or sha256_file(path))
    return paths


@pytest.fixture
def settled(monkeypatch):
    """Let files just written count as old ones."""
    monkeypatch.setattr(files, "_SETTLED_SECONDS", -3600.0)


def text(folder, content=b"one"):
    path = folder / "a.txt"
    path.write_bytes(content)
    return path


def start_again(monkeypatch):
    monkeypatch.setattr(files, "_remembered", {})


def test_a_file_is_read_once_while_it_stays_as_it_is(tmp_path, read, settled):
    path = text(tmp_path)
    assert hash_file(path) == hash_file(path) == sha256_file(path)
    assert read == ["a.txt"]


def test_another_process_takes_the_hash_from_the_cache(tmp_path, read, settled, monkeypatch):
    digest = hash_file(text(tmp_path))
    keep_hashes(tmp_path)
    start_again(monkeypatch)
    recall_hashes(tmp_path)
    assert hash_file(tmp_path / "a.txt") == digest
    assert read == ["a.txt"]
    keep_hashes(tmp_path)
    assert len((tmp_path / FILE_HASHES).read_text().splitlines()) == 1


def test_other_bytes_of_the_same_size_and_mtime_are_noticed(tmp_path, read, settled):
    path = text(tmp_path)
    before, times = hash_file(path), path.stat()
    time.sleep(0.02)  # ctime is counted in steps of a few milliseconds
    path.write_bytes(b"two")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert hash_file(path) != before


def test_a_file_that_was_just_written_is_read_again(tmp_path, read):
    path = text(tmp_path)
    hash_file(path)
    hash_file(path)
    assert read == ["a.txt", "a.txt"]


@pytest.mark.parametrize(
    "damage", [lambda line: line.replace("a", "b"), lambda line: line[:40], lambda line: "[]"]
)
def test_a_damaged_line_of_the_record_is_not_believed(tmp_path, read, settled, monkeypatch, damage):
    digest = hash_file(text(tmp_path))
    keep_hashes(tmp_path)
    record = tmp_path / FILE_HASHES
    record.write_text(damage(record.read_text()))
    start_again(monkeypatch)
    recall_hashes(tmp_path)
    assert hash_file(tmp_path / "a.txt") == digest
    assert read == ["a.txt", "a.txt"]
