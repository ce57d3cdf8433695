from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import pytest

from ucurve.analysis.data.files import read_records, read_stored, read_table
from ucurve.errors import UserError

COLUMNS = {"name": "name", "step": "integer", "value": "number"}


def _write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_table_reads_only_asked_columns_with_names_categorical_and_empty_numbers_missing(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.csv", "step,other,name,value\n1,x,NA,0.5\n2,y,,\n")
    frame = read_table(path, COLUMNS)
    assert list(frame.columns) == ["name", "step", "value"]
    assert frame["name"].astype(str).tolist() == ["NA", ""]  # a phenomenon may be called NA
    assert frame["name"].dtype == "category"
    assert frame["value"].tolist()[0] == 0.5
    assert np.isnan(frame["value"].tolist()[1])


def test_table_keeps_only_matching_rows(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.csv", "name,step,value\na,1,1\nb,2,2\na,3,3\n")
    frame = read_table(path, COLUMNS, pyarrow.compute.field("name") == "a")
    assert frame["step"].tolist() == [1, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,step,value\na,1,1\nb,2\n", r"a\.csv:3: 2 cells where the header has 3"),
        ("name,step,value\na,1,1\nb,2,high\n", r"a\.csv:3: column value holds 'high', which is not a number"),
        ("name,step\na,1\n", r"a\.csv:1: no column value; found: name, step"),
        ("", r"a\.csv:1: no column name, step, value; found: an empty file"),
        (b"name,step,value\n\xff,1,1\n", r"a\.csv:2: column name is not UTF-8"),
    ],
)
def test_broken_table_names_file_and_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_table(_write(tmp_path / "a.csv", text), COLUMNS)


def test_records_miss_what_a_line_lacks(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "m.jsonl", '{"step": 1, "value": 2, "more": [1]}\n{"step": 2, "value": null}\n{"step": 3}\n'
    )
    frame = read_records(path, {"step": "integer", "value": "number"})
    assert frame["step"].tolist() == [1, 2, 3]
    assert frame["value"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize(("tail", "steps"), [('{"step": 2, "va', [1]), ('{"step": 2}', [1, 2]), ("", [1])])
def test_a_last_line_being_written_is_left_out(tmp_path: Path, tail: str, steps: list[int]) -> None:
    path = _write(tmp_path / "m.jsonl", '{"step": 1, "value": 2}\n' + tail)
    assert read_records(path, {"step": "integer", "value": "number"})["step"].tolist() == steps


def test_empty_records_give_an_empty_frame(tmp_path: Path) -> None:
    frame = read_records(_write(tmp_path / "m.jsonl", ""), {"step": "integer"})
    assert frame.empty
    assert list(frame.columns) == ["step"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"step": 2,', r"m\.jsonl:2: broken JSON"),
        ("[1]", r"m\.jsonl:2: expected a JSON object, found list"),
        ('{"step": 2, "value": "high"}', r"m\.jsonl:2: field value holds 'high', which is not a number"),
    ],
)
def test_broken_record_names_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = _write(tmp_path / "m.jsonl", f'{{"step": 1, "value": 1}}\n{line}\n{{"step": 3}}\n')
    with pytest.raises(UserError, match=message):
        read_records(path, {"step": "integer", "value": "number"})


def test_what_pandas_wrote_about_its_columns_is_not_needed(tmp_path):
    frame = pd.DataFrame({"pair": [0, 1], "good": ["a", "b"]})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(table.replace_schema_metadata({"pandas": "{,"}), tmp_path / "pairs.parquet")
    pd.testing.assert_frame_equal(read_stored(tmp_path / "pairs.parquet"), frame)
