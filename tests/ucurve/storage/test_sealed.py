import json

import pytest

from ucurve.errors import DamagedError
from ucurve.storage.sealed import KEY, MANIFEST, RECORD

VALUES = {"name": "天", "steps": [1, 2], "part": {"b": 1.5, "a": None}, "text": "x" * 9}


@pytest.mark.parametrize("seal", [MANIFEST, RECORD])
def test_what_was_written_is_read_back_without_its_digest(tmp_path, seal):
    path = tmp_path / "record.json"
    seal.write(path, VALUES)
    assert seal.read(path) == VALUES
    assert list(json.loads(path.read_text()))[-1 if seal is RECORD else 0] in (seal.key, "manifest_sha256")


@pytest.mark.parametrize("seal", [MANIFEST, RECORD])
def test_every_changed_bit_is_found(tmp_path, seal):
    path = tmp_path / "record.json"
    seal.write(path, VALUES)
    whole = path.read_bytes()
    for place in range(len(whole)):
        for bit in (0, 2, 5):
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            path.write_bytes(changed)
            with pytest.raises(DamagedError, match=r"record\.json: "):
                seal.read(path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": NaN}', '{"a": 1e999, "key_sha256": "0"}', '"\\ud800"'])
def test_what_is_no_record_is_named(tmp_path, text):
    (tmp_path / "record.json").write_text(text)
    with pytest.raises(DamagedError, match=r"record\.json: cannot be read \("):
        KEY.read(tmp_path / "record.json")
    with pytest.raises(DamagedError, match=r"nothing\.json: cannot be read \("):
        KEY.read(tmp_path / "nothing.json")


def test_a_line_end_that_changed_is_found(tmp_path):
    RECORD.write(tmp_path / "run.json", VALUES)
    (tmp_path / "run.json").write_bytes((tmp_path / "run.json").read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(DamagedError, match=r"not what was written \(its digest does not match\)"):
        RECORD.read(tmp_path / "run.json")


@pytest.mark.parametrize("values", [VALUES, {}])
def test_a_record_without_a_digest_is_refused(tmp_path, values):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(values))
    with pytest.raises(DamagedError, match=r"run\.json: not what was written \(it lacks record_sha256"):
        RECORD.read(path)
