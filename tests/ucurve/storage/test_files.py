import os
import stat

import pytest
import torch
from safetensors.torch import save_file

from ucurve.errors import UserError
from ucurve.storage.files import new_file, new_folder, read_json, read_json_object, read_json_or_empty, read_utf8


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{\n "a": 1,\n "b"\n}', r"f:4: not JSON \(Expecting ':' delimiter\)"),
        (b"[]", r"f: a JSON object is expected, not a list"),
        (b"[" * 100_000, r"f: not JSON \(maximum recursion"),
        (b"1" * 5000, r"f: not JSON \(Exceeds the limit"),
        (b'{"a": ["\\ud83d"]}', r"f: half a surrogate pair, which is not Unicode text"),
        (b'{"\\uDC00": 1}', r"f: half a surrogate pair, which is not Unicode text"),
        (b'{\n "a": "\xff"}', r"f:2: not UTF-8 \(invalid start byte\)"),
    ],
)
def test_what_is_no_json_object_is_named_by_file_and_line(tmp_path, data, message):
    path = tmp_path / "f"
    path.write_bytes(data)
    with pytest.raises(UserError, match=message):
        read_json_object(path)
    assert read_json_or_empty(path) == {}


def test_a_missing_file(tmp_path):
    with pytest.raises(UserError, match=r"cannot read .*none\.json \(No such file or directory\)"):
        read_json(tmp_path / "none.json")
    assert read_json_or_empty(tmp_path / "none.json") == {}


def test_a_byte_order_mark_is_no_part_of_a_text_and_line_ends_are(tmp_path):
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfa\r\nb\n")
    assert read_utf8(tmp_path / "f") == "a\r\nb\n"
    (tmp_path / "f").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_json_or_empty(tmp_path / "f") == {"a": 1}


def test_both_halves_of_a_surrogate_pair_are_one_character(tmp_path):
    (tmp_path / "f").write_text('{"a": "\\ud83d\\ude00"}')
    assert read_json(tmp_path / "f") == {"a": "😀"}


@pytest.fixture
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o002, 0o077], indirect=True)
def test_files_have_the_mode_of_the_umask_whatever_wrote_them(tmp_path, umask):
    weights = {"a": torch.zeros(2)}
    with new_file(tmp_path / "one.safetensors") as temporary:
        save_file(weights, temporary)  # makes its files with mode 600
    (tmp_path / "elsewhere").touch(mode=0o600)
    with new_folder(tmp_path / "folder") as temporary:
        (temporary / "inner").mkdir()
        save_file(weights, temporary / "inner" / "two.safetensors")
        (temporary / "three").write_text("3")
        (temporary / "link").symlink_to(tmp_path / "elsewhere")
    written = ["one.safetensors", "folder/inner/two.safetensors", "folder/three"]
    assert {mode(tmp_path / name) for name in written} == {0o666 & ~umask}
    assert {mode(tmp_path / name) for name in ("folder", "folder/inner")} == {0o777 & ~umask}
    assert mode(tmp_path / "elsewhere") == 0o600


def test_a_file_that_is_not_written_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="stop"), new_file(tmp_path / "f"):
        raise ValueError("stop")
    assert list(tmp_path.iterdir()) == []
