from pathlib import Path

import pytest

from analysis.documents import read_json, read_yaml
from ucurve.errors import UserError


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (read_json, '{\n "a": 1,\n "b"\n}', r"f:4: broken JSON"),
        (read_json, "[]", r"f:1: expected a mapping .* found list"),
        (read_json, b"\xff", r"f: not UTF-8"),
        (read_yaml, "a: 1\nb: [1\nc: 2\n", r"f:3: broken YAML"),
        (read_yaml, "- 1", r"f:1: expected a mapping .* found list"),
        (read_yaml, b"a: \xff", r"f: not UTF-8"),
    ],
)
def test_broken_mapping_names_file_and_line(tmp_path: Path, reader, text: str | bytes, message: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError, match=message):
        reader(path)
