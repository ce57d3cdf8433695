import pytest

from ucurve.storage.run_folder import match_folders, parse_metrics, parse_step, step_name


def test_step_names():
    assert [step_name(512), step_name(-1)] == ["step00000512", "step-0000001"]
    assert [parse_step(step_name(step)) for step in (512, -1, 123456789)] == [512, -1, 123456789]
    assert [parse_step(name) for name in ("step512.json", "last", "step", "step512.tmp")] == [None] * 4


def test_a_folder_with_brackets_in_its_name_is_meant_literally(tmp_path):
    for name in ("a[1]", "a1", "a2"):
        (tmp_path / name / "run").mkdir(parents=True)
    assert match_folders(f"{tmp_path}/a[1]/r*") == [tmp_path / "a[1]" / "run"]
    assert match_folders(f"{tmp_path}/a[12]/run") == [tmp_path / "a1" / "run", tmp_path / "a2" / "run"]
    assert match_folders(f"{tmp_path}/none*") == []


@pytest.mark.parametrize("line", ['{"step": 3, "lo', "", "[1, 2]", b"\xff{}"])
def test_a_line_that_is_no_json_object_has_no_metrics(line):
    assert parse_metrics(line) is None


def test_a_line_of_metrics():
    assert parse_metrics('{"step": 3}\n') == parse_metrics(b'{"step": 3}\n') == {"step": 3}
