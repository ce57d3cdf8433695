"""Quotation marks in tables: no row disappears, and those of sentences stay."""

import csv
import io

import pytest

from tests.settings import custom_benchmark
from ucurve.errors import UserError
from ucurve.eval.benchmarks.custom import custom_card
from ucurve.eval.benchmarks.files import tables
from ucurve.eval.benchmarks.load import load_benchmark

HEAD = ["sentence_good", "sentence_bad"]
SWALLOWING = [
    ['"Come in , she says .', "Come in , she say ."],
    ["the birds sing .", "the birds sings ."],
    ['the boy says no"', "the boy say no"],
]
SPEECH = [['"Stop" she cries .', '"Stop" she cry .'], ["the birds sing .", "the birds sings ."]]
PLAIN = [["the birds sing .", "the birds sings ."], ["it rains .", "it rain ."]]
MARKED = [['He says "no".', 'He say "no".'], ['"No", he says.', '"No", he say.'], ["It rains.", "It rain."]]


@pytest.fixture
def load(tmp_path):
    def load(name, text, **settings):
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
        return load_benchmark(custom_card(custom_benchmark(path=tmp_path / name, language="eng", **settings)))

    return load


def joined(rows, delimiter="\t", head=HEAD, end="\n"):
    return end.join(delimiter.join(row) for row in [head, *rows]) + end


def quoted(rows, delimiter="\t", quoting=csv.QUOTE_MINIMAL):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, quoting=quoting).writerows([HEAD, *rows])
    return text.getvalue()


def pairs(table):
    return table[["good", "bad"]].to_numpy().tolist()


@pytest.mark.parametrize("rows", [SWALLOWING, SPEECH])
@pytest.mark.parametrize(
    ("name", "delimiter"), [("p.tsv", "\t"), ("p.txt", "\t"), ("p.csv", "\t"), ("p.csv", "|")]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_quotation_marks_of_sentences_are_text(load, rows, name, delimiter, end):
    assert pairs(load(name, joined(rows, delimiter, end=end))) == rows


@pytest.mark.parametrize("rows", [PLAIN, MARKED])
@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
@pytest.mark.parametrize("delimiter", ["\t", "|", ",", ";"])
def test_a_table_that_quotes_its_fields_is_read_without_the_quotes(load, rows, quoting, delimiter, capsys):
    assert pairs(load("p.tsv" if delimiter == "\t" else "p.csv", quoted(rows, delimiter, quoting))) == rows
    assert "quotation mark" not in capsys.readouterr().err


def test_a_separator_in_quotes_is_part_of_a_sentence(load):
    rows = [["a | b", "a c"], ["it rains .", "it rain ."]]
    assert pairs(load("p.csv", quoted(rows, "|"))) == rows


def test_columns_may_be_quoted_each_in_its_own_way(load):
    rows = [['"a b"', '"a c"', "p"], ['"d e"', '"d f"', "q"]]
    table = load("p.tsv", joined(rows, head=[*HEAD, "paradigm"]))
    assert pairs(table) == [["a b", "a c"], ["d e", "d f"]]
    assert table["paradigm"].tolist() == ["p", "q"]


def test_a_row_in_quotation_marks_among_others_keeps_them_and_is_said(load, capsys):
    rows = [*PLAIN, ['"Go home ."', '"Goes home ."']]
    assert pairs(load("p.tsv", joined(rows))) == rows
    assert "p.tsv:4: a field in quotation marks is read with them" in capsys.readouterr().err
    assert pairs(load("p.tsv", joined(rows), quotes="csv"))[2] == ["Go home .", "Goes home ."]


def test_the_form_is_said_where_the_table_is_read_wrongly_by_itself(load):
    rows = [['"a b"', '"a c"'], ['"d e"', '"d f"']]
    assert pairs(load("p.tsv", joined(rows))) == [["a b", "a c"], ["d e", "d f"]]
    assert pairs(load("p.tsv", joined(rows), quotes="text")) == rows
    assert pairs(load("p.csv", joined(SWALLOWING, ";"), quotes="text")) == SWALLOWING


WHAT_TO_DO = r"\. Where quotation marks are text, say `quotes: text` in the card \(custom\.quotes=text\)"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.csv", joined(SWALLOWING, ";"), r"p\.csv:2: a quotation mark begins a field that does not end on its line.*" + WHAT_TO_DO),
        ("p.csv", joined([*PLAIN, ['"a', "b"]], ";"), r"p\.csv:4: a quotation mark begins a field that does not end"),
        ("p.csv", quoted([*PLAIN, ["a\nb", "c"], *PLAIN], ","), r"p\.csv:4: a quotation mark begins .*must have no line break"),
        ("p.csv", joined(SPEECH, ";"), r"p\.csv:2: not a table with ';' between fields .*" + WHAT_TO_DO),
        ("p.tsv", joined([['"a b"', '"a c"'], ['"d e"', "d f"]], head=[f'"{name}"' for name in HEAD]),
            r"p\.tsv:3: the names of the columns stand in quotation marks, but this line is not quoted in the same way; "
            r"say in the card `quotes: csv` or `quotes: text`"),
    ],
)  # fmt: skip
def test_what_is_neither_is_refused_with_its_line(load, name, text, message):
    with pytest.raises(UserError, match=message):
        load(name, text)


def test_a_card_says_how_its_tables_quote(tmp_path):
    (tmp_path / "p.csv").write_text(joined(SWALLOWING, ";"))
    (tmp_path / "card.yaml").write_text("name: own\nlanguage: eng\nquotes: text\n")
    assert pairs(load_benchmark(str(tmp_path / "card.yaml"))) == SWALLOWING
    (tmp_path / "card.yaml").write_text("name: own\nlanguage: eng\nquotes: no\n")
    with pytest.raises(UserError, match=r"card\.yaml:3: quotes"):
        load_benchmark(str(tmp_path / "card.yaml"))


@pytest.mark.parametrize("delimiter", ["||", '"', ""])
def test_a_delimiter_is_one_character(tmp_path, delimiter):
    (tmp_path / "p.csv").write_text(joined(PLAIN, "|"))
    (tmp_path / "card.yaml").write_text(f"name: own\nlanguage: eng\ndelimiter: '{delimiter}'\n")
    with pytest.raises(UserError, match=r"card\.yaml:3: delimiter: .*one character is expected"):
        load_benchmark(str(tmp_path / "card.yaml"))


def test_rows_are_counted_against_lines_whatever_the_reader_does(load, monkeypatch):
    text = joined([*PLAIN, ["", ""], ["", "  "], *PLAIN]) + "\n \n"
    assert len(load("p.tsv", text)) == 4
    assert len(load("p.csv", quoted([*PLAIN, ["", " "], ['"', '""'], *PLAIN], ";"))) == 5
    whole = tables.without_blank
    monkeypatch.setattr(tables, "without_blank", lambda rows: list(whole(rows))[:3])
    with pytest.raises(
        UserError, match=r"p\.tsv: 5 lines that are not blank became 3 rows; each line must be a row"
    ):
        load("p.tsv", text)
