"""Small tables that a user gives: a quotation mark takes in no rows that follow it."""

import pytest

from ucurve.errors import UserError
from ucurve.storage.tabular import read_rows

SWALLOWING = {
    "t.tsv": 'sentence\tr1\n"Go, he said.\t1\nThey left.\t2\nHe said "go"\t3\nIt was "so"\t4\n"',
    "t.csv": 'sentence,r1\nThey left.,1\n"Go he said.,2\nIt rains.,3\nHe said go",4\n',
}


@pytest.mark.parametrize("name", SWALLOWING)
def test_a_quotation_mark_takes_in_no_rows(tmp_path, name):
    (tmp_path / name).write_text(SWALLOWING[name])
    with pytest.raises(UserError, match=rf"fit\.ratings: .*{name}"):
        read_rows(tmp_path / name, "fit.ratings", ("sentence",))


def test_the_line_where_the_cell_begins_is_named(tmp_path):
    (tmp_path / "t.csv").write_text(SWALLOWING["t.csv"])
    with pytest.raises(UserError, match=r"t\.csv:3: in the column 'sentence' a quotation mark begins a cell"):
        read_rows(tmp_path / "t.csv", "fit.ratings", ("sentence",))


def test_remarks_of_people_may_have_several_lines(tmp_path):
    (tmp_path / "t.csv").write_text('item,remark\n1,"odd\nbut fine"\n2,\n')
    rows = read_rows(tmp_path / "t.csv", "answers", ("item",), line_breaks=True)
    assert [row for _, row in rows] == [{"item": "1", "remark": "odd\nbut fine"}, {"item": "2", "remark": ""}]


def test_quoted_cells_on_one_line_are_read(tmp_path):
    (tmp_path / "t.csv").write_text('sentence,r1\n"Go, ""he"" said.",1\n')
    assert read_rows(tmp_path / "t.csv", "fit.ratings", ("sentence",)) == [
        (2, {"sentence": 'Go, "he" said.', "r1": "1"})
    ]
