from pathlib import Path

import pytest

from analysis.documents import read_json
from ucurve.errors import UserError


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n "a": 1,\n "b"\n}', r"f:4: broken JSON"),
        ("[]", r"f:1: expected a mapping .* found list"),
        (b"\xff", r"f: not UTF-8"),
    ],
)
def test_broken_mapping_names_file_and_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError, match=message):
        read_json(path)
