"""The bytes of a token stream are read once on a machine, until it is started again or a file changes."""

import errno
import os
import threading
import time

import pytest
from filelock import FileLock

from tests.train.data.test_store import DOCUMENTS, tokenizer_for, write_corpus
from ucurve.token_stream import store
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.data import read_once
from ucurve.training.data.store import build_token_store


@pytest.fixture
def reads(monkeypatch):
    """The number of times that a stream's bytes were read."""
    read, found = store._stream_hash, []
    monkeypatch.setattr(store, "_stream_hash", lambda *given: found.append(1) or read(*given))
    monkeypatch.setattr(read_once, "_SETTLED_SECONDS", -1)
    return found


@pytest.fixture
def start(tmp_path):
    """Find the stream as a run does that starts."""
    corpus = write_corpus(tmp_path / "books", DOCUMENTS)
    folder = tokenizer_for(corpus, tmp_path)

    def start():
        return build_token_store(Corpus(corpus.settings), folder, tmp_path / "cache", processes=1).sha256

    start()
    return start


def test_once_for_all_starts(start, reads):
    assert start() == start() == start()
    assert len(reads) == 1


def test_again_on_another_machine_or_after_a_start_of_this_one(start, reads, tmp_path, monkeypatch):
    start()
    boot = tmp_path / "boot_id"
    boot.write_text("other\n")
    monkeypatch.setattr(read_once, "_BOOT", boot)
    start()
    start()
    assert len(reads) == 2


def test_at_every_start_where_the_system_does_not_number_its_starts(start, reads, tmp_path, monkeypatch):
    monkeypatch.setattr(read_once, "_BOOT", tmp_path / "nothing")
    start()
    start()
    assert len(reads) == 2


def test_a_changed_byte_is_found_though_size_and_time_are_as_they_were(start, reads, tmp_path):
    start()
    (shard,) = (tmp_path / "cache").glob("tokens-*/shard-00000.bin")
    before, content = shard.stat(), bytearray(shard.read_bytes())
    content[5] ^= 1
    shard.write_bytes(content)
    os.utime(shard, ns=(before.st_atime_ns, before.st_mtime_ns))
    start()
    assert len(reads) > 1
    assert shard.read_bytes() != bytes(content), "built again"


def test_files_that_were_written_just_now_are_read_again(start, reads, monkeypatch):
    monkeypatch.setattr(read_once, "_SETTLED_SECONDS", 1e6)
    start()
    start()
    assert len(reads) == 2


def test_a_full_disk_keeps_no_run_from_starting(start, reads, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(read_once, "write_json", full)
    start()
    start()
    assert len(reads) == 2


def test_the_lock_of_who_builds_keeps_no_machine_from_reading(start, reads, tmp_path):
    (folder,) = (tmp_path / "cache").glob("tokens-*")
    reading = threading.Thread(target=start)
    with FileLock(folder.with_name(f".{folder.name}.lock")):
        reading.start()
        reading.join(timeout=60)
        assert not reading.is_alive()
    assert len(reads) == 1


def test_of_two_processes_of_a_machine_one_reads(start, reads, monkeypatch):
    read = store._stream_hash
    monkeypatch.setattr(store, "_stream_hash", lambda *given: (time.sleep(0.3), read(*given))[1])
    both = [threading.Thread(target=start) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join(timeout=60)
    assert len(reads) == 1
