import pytest

from ucurve.errors import DamagedError
from ucurve.storage.faults import faults_of, file_faults, foreign_faults, lasting, listed_faults, refuse_faults
from ucurve.storage.files import sha256_file


def test_files_are_compared_with_a_list(tmp_path):
    for name in ("same", "changed", "more"):
        (tmp_path / name).write_text(name)
    listed = {
        name: sha256_file(tmp_path / "same") for name in ("same", "changed", "gone", "tokenizer/a", "tokenizer/b")
    }
    assert listed_faults(tmp_path, listed, ["same", "changed", "more"], "the list") == [
        f"{tmp_path}/gone: missing",
        f"{tmp_path}/tokenizer: missing",
        f"{tmp_path}/more: not in the list",
        f"{tmp_path}/changed: its hash is not the list's",
    ]


def test_files_are_compared_with_their_hashes(tmp_path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").mkdir()
    whole = sha256_file(tmp_path / "a")
    assert file_faults({tmp_path / "a": whole}) == []
    assert file_faults({tmp_path / "a": "0" * 64, tmp_path / "b": whole}) == [
        f"{tmp_path}/a: not what was written",
        f"{tmp_path}/b: missing",
    ]


def test_what_a_killed_process_left_is_told_from_other_files(tmp_path):
    found = foreign_faults([tmp_path / ".a.tmp-0123456789ab", tmp_path / "b"], "not wanted")
    assert found == [
        f"{tmp_path}/.a.tmp-0123456789ab: left behind by a killed process, or being written",
        f"{tmp_path}/b: not wanted",
    ]


@pytest.mark.parametrize("error", [DamagedError("torn"), FileNotFoundError("gone")])
def test_a_reader_tries_again_before_what_it_meets_counts(monkeypatch, error):
    monkeypatch.setattr("ucurve.storage.faults._PAUSE", 0)
    left = [error, error]

    def read():
        if left:
            raise left.pop()

    lasting(read)
    left += [error] * 9
    with pytest.raises(type(error)):
        lasting(read)
    assert len(left) == 4


def test_faults_are_collected_or_refused():
    assert faults_of(lambda: None) == []
    assert faults_of(lambda: refuse_faults(["a", "b"], "do c")) == ["a; b; do c"]
