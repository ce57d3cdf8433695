from pathlib import Path

import pandas as pd
import pytest

from analysis.data.user_tables import read_human
from analysis.paradigms.human import human_agreement, human_sections, load_human_agreement
from tests.analysis.studies import paradigm_rows, scored_of, study_of
from tests.analysis.synthetic import MakeRun
from ucurve.errors import UserError

HEADER = "UID,correct,total,acc,phenomenon"
PARADIGMS = {("A", "a1"): 0.6, ("A", "a2"): 0.8, ("B", "b1"): 0.9}


@pytest.fixture
def file(tmp_path: Path):
    def write(*lines: str, header: str = HEADER) -> Path:
        path = tmp_path / "human.csv"
        path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
        return path

    return write


def _paradigms() -> pd.DataFrame:
    return pd.DataFrame([{"paradigm": name, "phenomenon": phenomenon} for phenomenon, name in PARADIGMS])


def test_agreement_is_joined_by_paradigm_not_by_the_phenomenon_of_the_file(file) -> None:
    human = read_human(file("a1,20,20,1.0,X", "a2,5,10,0.5,Y", "b1,9,10,0.9,", "other,1,10,0.1,A"))
    table = human_agreement(human, _paradigms()).set_index("phenomenon")
    assert table.index.tolist() == ["A", "B", "all"]
    assert table["macro"].tolist() == pytest.approx([0.75, 0.9, 0.8])
    assert table["pooled"].tolist() == pytest.approx([25 / 30, 0.9, 34 / 40])
    assert table["answers"].tolist() == [30, 10, 40]


def test_a_phenomenon_without_all_its_paradigms_stays_empty(file) -> None:
    table = human_agreement(read_human(file("a1,20,20,1,A", "b1,9,10,.9,B")), _paradigms()).set_index("phenomenon")
    assert table["macro"].isna().tolist() == table["pooled"].isna().tolist() == [True, False, True]
    assert table[["paradigms", "answered"]].values.tolist() == [[2, 1], [1, 1], [3, 2]]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a1,20,20,1,A", "a2,21,20,1,A"], r"human\.csv:3: a2: 21 correct of 20 is not a count of answers"),
        (["a1,0,0,1,A"], r"human\.csv:2: a1: 0 correct of 0 is not a count of answers; allowed: 0 to the total"),
        (["a1,,20,1,A"], r"human\.csv:2: a1: nan correct of 20"),
        (["a1,1,2,1,A", "a1,1,2,1,A"], r"human\.csv:3: a1 stands in line 2 already"),
        (["a1,many,20,1,A"], r"human\.csv:2: 'correct' is 'many'; a number is expected"),
    ],
)
def test_broken_lines_are_named(file, lines, message) -> None:
    with pytest.raises(UserError, match=message):
        read_human(file(*lines))


def test_a_missing_file_or_column_is_named(file, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"human: cannot read .*nothing\.csv \(No such file"):
        read_human(tmp_path / "nothing.csv")
    with pytest.raises(UserError, match=r"human\.csv:1: no column 'total'; the columns are UID, correct"):
        read_human(file("a1,1", header="UID,correct"))


def test_the_table_of_people_has_every_benchmark_the_file_is_about(make_run: MakeRun, file, tmp_path: Path) -> None:
    other = {("C", "c1"): 0.5}
    make_run(paradigm_rows(0, PARADIGMS) + paradigm_rows(0, other, benchmark="blimp"))
    path = file("a1,20,20,1,A", "a2,5,10,.5,A", "b1,9,10,.9,B")
    (part,) = human_sections(study_of(tmp_path, human=path))
    assert part.tables["human_agreement"]["benchmark"].unique().tolist() == ["zho"]
    assert load_human_agreement(scored_of(tmp_path, "blimp", human=path)) is None
    assert load_human_agreement(scored_of(tmp_path)) is None
    assert list(human_sections(study_of(tmp_path))) == []


def test_a_file_about_nothing_that_was_scored_is_refused(make_run: MakeRun, file, tmp_path: Path) -> None:
    make_run(paradigm_rows(0, PARADIGMS))
    with pytest.raises(UserError, match=r"human=.*human\.csv: no UID of it is a paradigm of zho; its lines"):
        list(human_sections(study_of(tmp_path, human=file("x,1,2,.5,A"))))
