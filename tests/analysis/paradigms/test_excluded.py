from pathlib import Path

import pytest

from tests.analysis.studies import paradigm_rows, study_of
from tests.analysis.synthetic import MakeRun
from ucurve.analysis.paradigms.phenomena import excluded_sections


def _rows(benchmark: str, *values: float, **changes):
    accuracies = {("A", f"{benchmark}{place}"): value for place, value in enumerate(values)}
    return paradigm_rows(8, accuracies, benchmark=benchmark, **changes)


def test_included_and_excluded_stand_side_by_side_under_each_function(make_run: MakeRun, tmp_path: Path) -> None:
    rows = _rows("zho", 0.8, 0.9, linking="lp") + _rows("zho", 0.9, 1.0)
    make_run(rows + _rows("zho-excluded", 0.6, linking="lp") + _rows("zho-excluded", 0.7))
    human = tmp_path / "human.csv"
    human.write_text("UID,correct,total\nzho0,9,10\nzho1,30,30\nzho-excluded0,6,10\n")
    (part,) = excluded_sections(study_of(tmp_path, human=human))
    table = part.tables["excluded_zho"]
    assert table["linking"].tolist() == ["agreement over answers", "lp", "slln_lp"]
    assert table["included"].tolist() == pytest.approx([39 / 40, 0.85, 0.95])
    assert table["excluded"].tolist() == pytest.approx([0.6, 0.6, 0.7])
    assert table["difference"].tolist() == pytest.approx([0.375, 0.25, 0.25])
    assert table[["paradigms_included", "paradigms_excluded"]].values.tolist() == [[2, 1]] * 3


@pytest.mark.parametrize("subset", ["20", "first20"])
def test_subsets_of_both_are_found_too(make_run: MakeRun, tmp_path: Path, subset: str) -> None:
    make_run(_rows(f"zho@{subset}", 0.8) + _rows(f"zho-excluded@{subset}", 0.6))
    (part,) = excluded_sections(study_of(tmp_path))
    assert part.tables[f"excluded_zho@{subset}"]["difference"].tolist() == pytest.approx([0.2])


def test_without_answers_of_people_there_is_no_row_of_them(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(_rows("zho", 0.8) + _rows("zho-excluded", 0.6))
    (part,) = excluded_sections(study_of(tmp_path))
    assert part.tables["excluded_zho"]["model"].tolist() == ["14m"]


def test_a_benchmark_whose_excluded_paradigms_were_not_scored_has_no_table(
    make_run: MakeRun, tmp_path: Path
) -> None:
    make_run(_rows("zho", 0.8))
    assert list(excluded_sections(study_of(tmp_path))) == []


def test_a_model_without_scores_of_both_has_no_row(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(_rows("zho", 0.8) + _rows("zho-excluded", 0.6))
    make_run(_rows("zho", 0.8), model="70m")
    (part,) = excluded_sections(study_of(tmp_path))
    assert part.tables["excluded_zho"]["model"].tolist() == ["14m"]


def test_different_checkpoints_are_not_compared(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(_rows("zho", 0.8) + _rows("zho-excluded", 0.6))
    make_run([row | {"step": 4} for row in _rows("zho-excluded", 0.6)] + _rows("zho", 0.8), model="70m")
    (part,) = excluded_sections(study_of(tmp_path))
    assert part.tables["excluded_zho"][["model", "step"]].values.tolist() == [["14m", 8]]


def test_nothing_at_one_checkpoint_makes_no_table(make_run: MakeRun, tmp_path: Path) -> None:
    make_run([row | {"step": 4} for row in _rows("zho-excluded", 0.6)] + _rows("zho", 0.8))
    assert list(excluded_sections(study_of(tmp_path))) == []
