import pytest

from ucurve.errors import UserError
from ucurve.storage.files import read_json, read_json_object, read_json_or_empty, read_utf8


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
