"""Weights of the hub: one revision after the other, the next one in the meantime, and removed where that is asked."""

import hashlib
import shutil
import threading
from types import SimpleNamespace

import pytest

from ucurve.errors import DamagedError, RunError, UserError
from ucurve.eval.models.hub_weights import HubFile, HubWeights, loaded_weights
from ucurve.eval.sweep.load import WeightFetcher
from ucurve.storage.run_folder import EVAL

MB = 1_000_000


class Cache:
    """A cache of the hub's client on a disk of some megabytes, and what the hub would send."""

    def __init__(self, folder):
        self.repository = folder / "models--owner--name"
        self.contents, self.fetched, self.capacity = {}, [], 100 * MB
        (self.repository / "blobs").mkdir(parents=True)

    def revision(self, commit, letter, size=MB):
        content = letter.encode() * size
        self.contents[commit] = content
        folder = self.repository / "snapshots" / commit
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
        file = HubFile("model.safetensors", hashlib.sha256(content).hexdigest(), size)
        return HubWeights("owner/name", commit, folder, (file,))

    def fetch(self, name, file, commit, quietly=False):
        self.fetched.append((commit, threading.current_thread() is threading.main_thread()))
        content = self.contents[commit]
        blob = self.repository / "blobs" / hashlib.sha256(content).hexdigest()
        blob.write_bytes(content)
        (self.repository / "snapshots" / commit / file).symlink_to(blob)

    def used(self):
        return sum(blob.stat().st_size for blob in (self.repository / "blobs").iterdir())


@pytest.fixture
def cache(tmp_path, monkeypatch):
    cache = Cache(tmp_path / "cache")
    monkeypatch.setattr("ucurve.huggingface.pretrained.fetch_file", cache.fetch)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=cache.capacity - cache.used()))
    return cache


def there(*revisions):
    return [not one.missing() for one in revisions]


def test_the_next_revision_is_fetched_while_this_one_is_used(cache, tmp_path):
    one, two, three = (cache.revision(f"commit{letter}", letter) for letter in "abc")
    fetcher = WeightFetcher(tmp_path / "out", keep=False)
    fetcher.prepare([one, two, three], [])
    fetcher.have(one)
    fetcher.fetch_ahead(lambda: two)
    fetcher.fetch_ahead(lambda: pytest.fail("one at a time"))
    fetcher.have(two)
    assert cache.fetched == [("commita", True), ("commitb", False)]
    assert there(one, two, three) == [False, True, False]
    fetcher.have(three)
    fetcher.finish()
    assert there(one, two, three) == [False, False, False]
    assert cache.used() == 0
    assert [*(tmp_path / "out" / EVAL).rglob("commit*")] == []
    assert (one.folder / "config.json").exists()


def test_what_is_kept_stays(cache, tmp_path):
    one, two = cache.revision("commita", "a"), cache.revision("commitb", "b")
    fetcher = WeightFetcher(tmp_path / "out")
    for weights in (one, two):
        fetcher.have(weights)
    fetcher.finish()
    assert there(one, two) == [True, True]
    assert not (tmp_path / "out").exists()


def test_what_was_there_before_stays_and_so_does_what_another_commit_has(cache, tmp_path):
    before, same, other = (
        cache.revision("commita", "a"),
        cache.revision("commitb", "a"),
        cache.revision("commitc", "c"),
    )
    before.fetch()
    assert same.bytes_to_fetch() == {}
    fetcher = WeightFetcher(tmp_path / "out", keep=False)
    for weights in (before, same, other):
        fetcher.have(weights)
    fetcher.finish()
    assert there(before, same, other) == [True, False, False]
    assert (before.folder / "model.safetensors").read_bytes() == b"a" * MB


def test_the_last_process_that_uses_a_revision_removes_it(cache, tmp_path):
    one, two = cache.revision("commita", "a"), cache.revision("commitb", "b")
    first, second = (WeightFetcher(tmp_path / "out", keep=False) for _ in range(2))
    first.have(one)
    second.have(one)
    first.have(two)
    assert there(one) == [True]
    second.have(two)
    assert there(one) == [False]
    first.finish()
    assert there(two) == [True]
    second.finish()
    assert there(two) == [False]


def test_what_a_killed_command_has_fetched_is_removed_by_the_same_command(cache, tmp_path):
    one, two, three = (cache.revision(f"commit{letter}", letter) for letter in "abc")
    killed = WeightFetcher(tmp_path / "out", keep=False)
    killed.have(one)
    killed.fetch_ahead(lambda: two)
    killed._ahead.join()
    killed.close()
    parts = [cache.repository / "blobs" / f"{weights.files[0].sha256}.0000.incomplete" for weights in (one, two)]
    for part in parts:
        part.write_bytes(b"a part")
        lock = cache.repository.parent / ".locks" / cache.repository.name / f"{part.name.split('.')[0]}.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.touch()
    cache.capacity = 3 * MB // 2  # the second revision has to go before the third one
    fetcher = WeightFetcher(tmp_path / "out", keep=False)
    fetcher.prepare([two, three], [one])
    assert there(one, two) == [False, True]
    assert not any(part.exists() for part in parts)
    fetcher.have(two)
    fetcher.have(three)
    assert there(two, three) == [False, True]
    assert [commit for commit, _ in cache.fetched] == ["commita", "commitb", "commitc"]


def test_what_somebody_elses_scores_name_is_not_removed(cache, tmp_path):
    one, names, precious = (
        cache.revision("commita", "a"),
        tmp_path / "out" / EVAL / ".fetched",
        tmp_path / "precious",
    )
    precious.write_text("mine")
    one.fetch()
    names.mkdir(parents=True)
    elsewhere = [f"{inode} {file.name}" for inode in (0, one.folder.stat().st_ino + 1) for file in one.files]
    named = [
        str(precious),
        f"{one.folder.stat().st_ino} {precious}",
        "model.safetensors",
        "config.json",
        *elsewhere,
    ]
    (names / "commita").write_text("".join(f"{line}\n" for line in named))
    fetcher = WeightFetcher(tmp_path / "out", keep=False)
    fetcher.prepare([], [one])
    fetcher.finish()
    assert precious.exists()
    assert there(one) == [True]
    assert (one.folder / "config.json").exists()
    assert not (names / "commita").exists()


def test_a_disk_that_holds_too_little_is_named_before_anything_is_fetched(cache, tmp_path):
    revisions = [cache.revision(f"commit{letter}", letter, 3 * MB) for letter in "abc"]
    cache.capacity = 5 * MB
    with pytest.raises(UserError, match=r"owner/name: 9 MB of weights .revisions: 3. .*, 9 MB of them at one time, and "
                       r"5 MB are free there: keep=false removes each revision .*HF_HUB_CACHE"):  # fmt: skip
        WeightFetcher(tmp_path / "out").prepare(revisions, [])
    fetcher = WeightFetcher(tmp_path / "out", keep=False)
    fetcher.prepare(revisions, [])
    fetcher.have(revisions[0])
    fetcher.fetch_ahead(lambda: revisions[1])  # there is no room for two
    assert cache.fetched == [("commita", True)]
    fetcher.have(revisions[1])
    cache.capacity = 2 * MB
    with pytest.raises(UserError, match="3 MB of them at one time, and 2 MB are free there: HF_HUB_CACHE"):
        cache.used = lambda: 0
        WeightFetcher(tmp_path / "out", keep=False).prepare(revisions[2:], [])
    with pytest.raises(
        RunError, match=r"owner/name commitc: 3 MB .* where 2 MB are free; the scores made so far"
    ):
        fetcher.have(revisions[2])


def test_other_bytes_than_the_hub_lists_are_refused(cache, tmp_path):
    one = cache.revision("commita", "a")
    cache.contents["commita"] = b"b" * MB
    with pytest.raises(DamagedError, match="not the file that the hub has"):
        WeightFetcher(tmp_path / "out").have(one)


def test_what_failed_ahead_is_tried_again(cache, tmp_path, monkeypatch):
    one, two = cache.revision("commita", "a"), cache.revision("commitb", "b")
    fetcher = WeightFetcher(tmp_path / "out", keep=False)
    fetcher.have(one)
    with monkeypatch.context() as broken:
        broken.setattr("ucurve.huggingface.pretrained.fetch_file", lambda *_: 1 / 0)
        fetcher.fetch_ahead(lambda: two)
        fetcher._ahead.join()
        fetcher.have(one)
        with pytest.raises(
            RunError, match=r"does not give the weights of owner/name commitb \(ZeroDivisionError"
        ):
            fetcher.have(two)
    fetcher.have(two)
    assert there(two) == [True]


def test_files_that_are_not_loaded_are_not_fetched(tmp_path):
    def chosen(*names, weights="safetensors"):
        files = [HubFile(name, "0", 1) for name in names]
        return [file.name for file in loaded_weights("owner/name", None, tmp_path, files, weights).files]

    shards = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    assert chosen("consolidated.safetensors", "model.safetensors") == ["model.safetensors"]
    assert chosen("consolidated.safetensors", *shards) == ["consolidated.safetensors", *shards]  # no index tells
    (tmp_path / "model.safetensors.index.json").write_text(
        '{"weight_map": {"a": "%s", "b": "%s"}}' % tuple(shards)  # noqa: UP031
    )
    assert chosen("consolidated.safetensors", *shards) == shards
    assert chosen(shards[0], "other.safetensors") == [
        shards[0],
        "other.safetensors",
    ]  # loading says what is missing
    assert chosen("pytorch_model.bin", "pytorch_model.fp16.bin", weights="bin") == ["pytorch_model.bin"]
