import pytest

from ucurve.errors import UserError
from ucurve.templates.vocabulary import read_vocabulary


@pytest.fixture
def table(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "vocabulary.tsv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


def surfaces(words):
    return sorted(words.vocabulary.surface(row) for row in words.rows)


def test_cells_list_values_and_lines_without_a_word_are_skipped(table):
    vocabulary = read_vocabulary(
        table("expression\tpos\tclass\n书\tN\t本/部\n\tN\t本\n\t\t\n车\tN\n1/2\tCD\t本\n")
    )
    assert len(vocabulary) == 3
    assert surfaces(vocabulary.where((("class", ("部",)),))) == ["书"]
    assert surfaces(vocabulary.where((("class", ("本",)),))) == ["1/2", "书"]
    assert surfaces(vocabulary.where((("pos", ("N", "CD")), ("class", ("部", "本"))))) == ["1/2", "书"]
    assert surfaces(vocabulary.where(())) == ["1/2", "书", "车"]


def test_an_empty_cell_has_no_value_and_matches_nothing(vocabulary):
    ant = vocabulary.where((("expression", ("ant",)),))
    assert not ant.by("class")
    assert not ant.apart("class").rows
    assert not vocabulary.where((("class", ("a", "b")), ("expression", ("ant",)))).rows


def test_a_repeated_word_keeps_its_rows_apart(table):
    vocabulary = read_vocabulary(table("expression\tpos\tclass\n甜\tVA\ta\n甜\tVA\tb\n"))
    assert len(vocabulary.where((("pos", ("VA",)),)).rows) == 2
    assert len(vocabulary.where((("class", ("a",)),)).rows) == 1


def test_parts_shared_values_and_the_words_apart(vocabulary):
    nouns, classifiers = vocabulary.where((("pos", ("N",)),)), vocabulary.where((("pos", ("M",)),))
    assert {value: surfaces(words) for value, words in nouns.by("class").items()} == {
        "a": ["cat", "dog"],
        "b": ["dog", "elk"],
    }
    assert sorted(classifiers.shared(nouns, "class")) == ["a", "b"]
    assert surfaces(nouns.apart("class", ("a",))) == ["elk"]
    assert surfaces(nouns.apart("class")) == ["cat", "dog", "elk"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word\tpos\n书\tN\n", r"vocabulary.tsv:1: .*one of them 'expression'; found \['word', 'pos'\]"),
        ("", "vocabulary.tsv:1: the first line must name the columns"),
        ("expression\tpos\tpos\n书\tN\tx\n", "vocabulary.tsv:1: the column 'pos' occurs twice"),
        ("expression\tpos\n书\tN\tx\n", "vocabulary.tsv:2: 3 cells, but the first line names 2 columns"),
        ("expression\tpos\n\tN\n", "vocabulary.tsv: holds no words"),
    ],
)
def test_a_broken_table_names_its_line(table, text, message):
    with pytest.raises(UserError, match=message):
        read_vocabulary(table(text))


def test_a_missing_file_and_another_encoding_are_named(table, tmp_path):
    with pytest.raises(UserError, match=r"cannot read .*nothing.tsv \(No such file"):
        read_vocabulary(tmp_path / "nothing.tsv")
    with pytest.raises(UserError, match=r"vocabulary.tsv:2: not UTF-8"):
        read_vocabulary(table("expression\tpos\n书\tN\n", "gb18030"))


def test_a_byte_order_mark_is_no_part_of_the_first_name(table):
    assert read_vocabulary(table("\ufeffexpression\tpos\n书\tN\n")).properties == ("expression", "pos")


def test_a_line_ends_at_no_other_character(tmp_path):
    path = tmp_path / "lines.tsv"
    path.write_bytes("expression\tkind\r\na\u2028b\tx\u0085y\r\nc\tz".encode())
    vocabulary = read_vocabulary(path)
    assert [(vocabulary.surface(row), vocabulary.values(row, "kind")) for row in range(len(vocabulary))] == [
        ("a\u2028b", ("x\u0085y",)),
        ("c", ("z",)),
    ]
