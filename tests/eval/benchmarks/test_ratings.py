"""Judgments of people beside the pairs: every published form, what does not match, and mistakes in cards and files."""

import json

import pandas as pd
import pytest

from ucurve.errors import UserError
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.ratings.load import load_ratings, rating_files
from ucurve.eval.benchmarks.registry import find_benchmark, find_card

ROWS = [
    ("Die Hunde bellen.", "Die Hunde bellt."),
    ("Er hilft ihm.", "Er hilft ihn."),
    ("Sie lacht.", "Sie lachen."),
]
CARD = """name: own
language: deu
files: pairs.csv
columns: {good: right, bad: wrong}
ratings:
"""


JUDGED = ["pair", "side", "person", "value"]


@pytest.fixture
def load(tmp_path):
    def call(section, content=None, name="people.csv"):
        (tmp_path / "card.yaml").write_text(CARD + section, encoding="utf-8")
        table = "right,wrong\n" + "".join(f"{good},{bad}\n" for good, bad in ROWS)
        (tmp_path / "pairs.csv").write_text(table, encoding="utf-8")
        if content is not None:
            (tmp_path / name).write_text(content, encoding="utf-8")
        card = find_card(str(tmp_path / "card.yaml"))
        return load_ratings(card, None, load_benchmark(card))

    return call


def test_choices_are_right_where_the_good_sentence_was_chosen_whatever_its_place(load, capsys):
    rows = [
        {"a": "Die Hunde bellt.", "b": " Die Hunde bellen.", "p1": 1, "p2": 0},
        {"a": "Er hilft ihm.", "b": "Er hilft ihn.", "p1": 0, "p2": None},
        {"a": "Er hilft.", "b": "Er hilft ihn.", "p1": 0, "p2": 0},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    table = load("  files: people.jsonl\n  choices: {a: a, b: b, people: 'p*'}\n", text, "people.jsonl")
    assert table.values.tolist() == [[0, "p1", True], [0, "p2", False], [1, "p1", True]]
    assert "own: 1 of 3 rows of people's choices are left out" in capsys.readouterr().err


def test_the_choices_may_stand_in_the_files_of_the_pairs(load):
    with pytest.raises(UserError, match=r"pairs\.csv:2: ratings: no column p\*; the columns are right, wrong"):
        load("  choices: {a: right, b: wrong, people: 'p*'}\n")


def test_a_column_for_each_rater(load, capsys):
    text = "s,r1,r2\nSie lacht. ,7,\nSie lachen.,1,2.5\nWer lacht?,4,4\n"
    table = load("  files: people.csv\n  raters: {sentence: s, people: ['r1', 'r2']}\n", text)
    found = sorted(table[JUDGED].itertuples(index=False, name=None))
    assert found == [(2, "bad", "r1", 1.0), (2, "bad", "r2", 2.5), (2, "good", "r1", 7.0)]
    assert capsys.readouterr().err == (
        "own: 1 of 3 sentences that people rated are in no pair; their 2 of 5 ratings are left out: 'Wer lacht?'\n"
    )


def test_z_scores_are_among_all_that_a_person_rated_also_sentences_of_no_pair(load):
    text = "s,r1,r2\nSie lacht. ,7,3\nSie lachen.,1,3\nWer lacht?,4,3\n"
    table = load("  files: people.csv\n  raters: {sentence: s, people: ['r1', 'r2']}\n", text)
    z = {
        (side, person): value
        for side, person, value in zip(table["side"], table["person"], table["z"], strict=True)
    }
    spread = 6**0.5  # of 7, 1 and 4
    assert z == pytest.approx(
        {("good", "r1"): 3 / spread, ("bad", "r1"): -3 / spread, ("good", "r2"): 0, ("bad", "r2"): 0}
    )


def test_a_row_for_each_judgment(load):
    text = "s,who,score\nSie lacht.,x,7\nSie lacht.,y,6\nEr hilft ihn.,y,2\n"
    table = load("  files: people.csv\n  judgments: {sentence: s, person: who, value: score}\n", text)
    found = sorted(table[JUDGED].itertuples(index=False, name=None))
    assert found == [(1, "bad", "y", 2.0), (2, "good", "x", 7.0), (2, "good", "y", 6.0)]


def _workbook(path, **sheets):
    book = pytest.importorskip("openpyxl").Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)


def test_a_survey_takes_the_sentences_of_a_group_in_the_order_of_its_columns(load, tmp_path):
    section = "  files: people.xlsx\n  survey: {sentences: material.xlsx, group: [kind, type]}\n"
    first = [["v1", "kind", "type"], ["Sie lacht.", "SV", "good"], ["Er hilft ihn.", "SV", "bad"]]
    second = [["v2", "kind", "type"], ["Er hilft ihm. ", "SV", "good"], ["Sie lachen.", "SV", "bad"]]
    _workbook(tmp_path / "material.xlsx", v1=first, v2=second)
    groups = ["SV_good", "SV_bad", "SV_bad", "SV_good"]
    _workbook(tmp_path / "people.xlsx", all=[list("abcd"), groups, [7, 2, None, None], [None, None, 1, 6]])
    found = sorted(load(section)[JUDGED].itertuples(index=False, name=None))
    one, two = "people 3", "people 4"
    assert found == [(1, "bad", one, 2.0), (1, "good", two, 6.0), (2, "bad", two, 1.0), (2, "good", one, 7.0)]
    _workbook(tmp_path / "people.xlsx", all=[list("abc"), groups[:3], [7, 2, 1]])
    with pytest.raises(
        UserError, match=r"people\.xlsx:2: ratings: 1 columns of the group 'SV_good', and 2 sentences"
    ):
        load(section)


@pytest.mark.parametrize(
    ("section", "content", "message"),
    [
        (
            "  raters: {sentence: s, people: r}\n  choices: {a: a, b: b, people: p}\n",
            None,
            r"give exactly one of choi",
        ),
        ("  raters: {sentense: s, people: r}\n", None, r"card\.yaml:\d: .*sentense.*Did you mean 'sentence'"),
        (
            "  files: none.csv\n  raters: {sentence: s, people: r}\n",
            None,
            r"card\.yaml: ratings\.files: no none\.csv",
        ),
        (
            "  files: people.csv\n  raters: {sentence: s, people: r}\n",
            "S,r\nx,1\n",
            r":2: ratings: no column 's'; the columns are S, r",
        ),
        (
            "  files: people.csv\n  raters: {sentence: s, people: r}\n",
            "s,r\nx,often\n",
            r":2: 'r' is 'often'; a number",
        ),
        ("  files: people.csv\n  choices: {a: a, b: b, people: p}\n", None, r"ratings\.files: no people\.csv"),
        (
            "  files: people.csv\n  choices: {a: a, b: b, people: p}\n",
            "a,b,p\nSie lacht.,Sie lachen.,2\n",
            r"people\.csv:2: 'p' is '2'; allowed are 0, 1, or nothing",
        ),
    ],
)
def test_mistakes_are_named(load, section, content, message):
    with pytest.raises(UserError, match=message):
        load(section, content)


def test_a_published_card_needs_no_judgments(tmp_path):
    (tmp_path / "turblimp").mkdir()
    assert load_ratings(find_benchmark("turblimp"), tmp_path, pd.DataFrame()) is None


@pytest.mark.parametrize(
    ("name", "rows", "people", "pairs"), [("qfrblimp", 20916, 12, 1743), ("turblimp", 2955, 30, 100)]
)
def test_the_published_judgments(shared, name, rows, people, pairs):
    if name == "turblimp":
        pytest.importorskip("openpyxl")
    card = find_benchmark(name)
    table = load_ratings(card, shared / "benchmarks", load_benchmark(card, shared / "benchmarks"))
    assert (len(table), table["person"].nunique(), table["pair"].nunique()) == (rows, people, pairs)
    if "right" in table:
        assert table["right"].mean() == pytest.approx(0.8759, abs=1e-4)
    else:
        assert table.groupby("side")["value"].mean().round(2).to_dict() == {"good": 6.45, "bad": 2.41}


def test_a_published_survey_without_the_package_for_workbooks_is_left_out(tmp_path, monkeypatch, capsys):
    for name in ("base/augmented_binding.csv", "human_judgments/base_judgments.xlsx"):
        (tmp_path / "turblimp" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "turblimp" / name).write_text("no workbook")
    card = find_benchmark("turblimp")
    assert rating_files(card, tmp_path)
    monkeypatch.setattr("ucurve.eval.benchmarks.ratings.load.find_spec", lambda _: None)
    assert load_ratings(card, tmp_path, pd.DataFrame()) is None
    assert "xlsx files, which need the extra xlsx; they are left out" in capsys.readouterr().err
