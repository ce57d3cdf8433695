from pathlib import Path

import pandas as pd
import pytest

from tests.analysis.studies import paradigm_rows, scored_of, study_of
from tests.analysis.synthetic import MakeRun
from ucurve.analysis.data.user_tables import read_human
from ucurve.analysis.paradigms.human import (
    choices_by_paradigm,
    human_agreement,
    human_sections,
    load_human_agreement,
    majorities_followed,
    reference_lines,
)
from ucurve.analysis.paradigms.phenomena import phenomenon_sections
from ucurve.errors import UserError
from ucurve.eval.store.ratings import keep_ratings
from ucurve.storage.run_folder import CHOICE_COLUMNS

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
    table = human_agreement(read_human(file("a1,20,20,1,A", "b1,9,10,.9,B")), _paradigms()).set_index(
        "phenomenon"
    )
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


def test_the_table_of_people_has_every_benchmark_the_file_is_about(
    make_run: MakeRun, file, tmp_path: Path
) -> None:
    other = {("C", "c1"): 0.5}
    make_run(paradigm_rows(0, PARADIGMS) + paradigm_rows(0, other, benchmark="blimp"))
    path = file("a1,20,20,1,A", "a2,5,10,.5,A", "b1,9,10,.9,B")
    (part,) = human_sections(study_of(tmp_path, human=path))
    assert part.tables["human_agreement"]["benchmark"].unique().tolist() == ["zho"]
    assert load_human_agreement(scored_of(tmp_path, "blimp", human=path)) is None
    assert load_human_agreement(scored_of(tmp_path)) is None
    assert list(human_sections(study_of(tmp_path))) == []


def choices_of(rows) -> pd.DataFrame:
    """A row for each pair: what each person chose, 1 for the good sentence."""
    table = [
        {"pair": pair, "person": f"p{person}", "right": bool(right)}
        for pair, row in enumerate(rows)
        for person, right in enumerate(row)
        if right is not None
    ]
    return pd.DataFrame(table)


def pairs_of(number: int) -> pd.DataFrame:
    names = [f"{'ab'[pair % 2]}1" for pair in range(number)]
    table = pd.DataFrame(
        {"pair": range(number), "paradigm": names, "phenomenon": [name[0].upper() for name in names]}
    )
    return table.assign(good="yes", bad="no", benchmark="zho", language="und")


def test_answers_are_compared_with_the_majority_of_the_other_people() -> None:
    rows = [[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, None, 1], [1, None, None, None]]
    table = choices_by_paradigm(choices_of(rows), pairs_of(4)).set_index("paradigm")
    # a1: three of 1 1 1 0 agree with the others and 0 does not; of 0 0 1 each 0 meets a divided pair, 1 stands alone
    assert table.loc["a1", ["correct", "total", "with_others"]].tolist() == [4, 7, 3 + 0.5 + 0.5]
    # b1: of 1 1 0 0 each is against two of three others; one person alone has no others
    assert table.loc["b1", ["correct", "total", "with_others"]].tolist() == [3, 5, 0 + 0.5]
    found = human_agreement(table.reset_index(), pairs_of(4)[["paradigm", "phenomenon"]].drop_duplicates())
    shares = found.set_index("phenomenon")["leave_one_out"].to_dict()
    assert shares == pytest.approx({"A": 4 / 7, "B": 0.1, "all": 4.5 / 12})


def test_labels_that_follow_every_majority_are_found() -> None:
    followed, divided, against = [1, 1, 0], [1, 0], [0, 0, 1]
    assert majorities_followed(choices_of([*[followed] * 120, *[divided] * 9]), pairs_of(129)) == 120
    assert majorities_followed(choices_of([*[followed] * 120, against]), pairs_of(121)) is None
    assert majorities_followed(choices_of([followed] * 99), pairs_of(99)) is None  # too few to tell
    uncounted = pairs_of(121).assign(counted=[True] * 120 + [False])
    assert majorities_followed(choices_of([*[followed] * 120, against]), uncounted) == 120


@pytest.mark.parametrize("circular", [True, False])
def test_circular_agreement_is_marked_wherever_it_stands(
    make_run: MakeRun, tmp_path: Path, circular: bool
) -> None:
    folder = make_run(paradigm_rows(0, {("A", "a1"): 0.6, ("B", "b1"): 0.9}))
    place = folder / "eval/zho"
    place.mkdir()
    pairs_of(120).to_parquet(place / "pairs.parquet")
    last = [1, 1, 0] if circular else [0, 0, 1]
    keep_ratings(folder, "zho", choices_of([*[[1, 1, 0]] * 119, last])[list(CHOICE_COLUMNS)])
    (part,) = human_sections(study_of(tmp_path))
    table = part.tables["human_agreement"].set_index("phenomenon")
    scored = scored_of(tmp_path)
    (phenomena,) = phenomenon_sections(scored)
    notes = [part.content[0].note, phenomena.content[0].note]
    levels = set(reference_lines(scored)["reference"])
    if circular:
        assert table["majorities_followed"].tolist() == [120, 120, 120]
        assert all(
            "On zho the agreement of people is circular: in all 120 pairs of which" in note for note in notes
        )
        assert all("33.3% of answers agree, against 66.7% with the benchmark" in note for note in notes)
        assert levels == {"human (circular)"}
    else:
        assert table["majorities_followed"].isna().all()
        assert not any("circular" in note for note in notes)
        assert levels == {"human"}
    assert "leave_one_out" in [column.name for column in part.content[0].columns]


def test_a_file_about_nothing_that_was_scored_is_refused(make_run: MakeRun, file, tmp_path: Path) -> None:
    make_run(paradigm_rows(0, PARADIGMS))
    with pytest.raises(
        UserError,
        match=r"human=.*human\.csv: none of its lines .* paradigms \(UID\) x, and the study has a1, a2, b1",
    ):
        list(human_sections(study_of(tmp_path, human=file("x,1,2,.5,A"))))


def test_answers_about_a_name_that_two_phenomena_have_are_refused(
    make_run: MakeRun, file, tmp_path: Path
) -> None:
    make_run(paradigm_rows(0, PARADIGMS | {("B", "a1"): 0.7}))
    scored = scored_of(tmp_path, human=file("a1,1,2,.5,A"))
    with pytest.raises(UserError, match=r"human\.csv: a1 of zho is in several phenomena, .* a name of its own"):
        load_human_agreement(scored)
    scored = scored_of(tmp_path, human=file("b1,1,2,.5,B"))
    assert load_human_agreement(scored)["answered"].tolist() == [0, 1, 1]
