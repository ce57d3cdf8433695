"""Ratings of sentences on a scale, made up and published."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

from tests.settings import answers_command
from ucurve.errors import UserError
from ucurve.eval.benchmarks.ratings.load import read_survey
from ucurve.eval.metrics.ratings import average_ratings, read_ratings

HEADER = ("annotator", "sentence", "rating", "seconds")
ROWS = [
    ("ann", "It rains.", 7, 3), ("ann", "It rain.", 1, 3), ("ann", "They, rain.", 4, 3),
    ("bob", "It rains.", 5, 4), ("bob", "It rain.", 2, 4), ("bob", "They, rain.", 3, 4),
    ("eve", "It rains.", 4, 0.2), ("eve", "It rain.", 4, 0.2),
]  # fmt: skip


@pytest.fixture
def judge(tmp_path):
    def call(rows, **given):
        path = tmp_path / "ratings.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([HEADER, *rows])
        columns = {"item": "sentence", "rating": "rating"}
        answers_command(
            {"rule": "tse", "answers": str(path), "out": str(tmp_path / "out"), "columns": columns, **given}
        )
        return tmp_path / "out"

    return call


def test_the_analysis_reads_the_ratings_of_people_who_count(judge, capsys):
    out = judge(ROWS, exclude={"item_seconds": 1})
    ratings = read_ratings(out / "ratings.csv")
    assert ratings["sentence"].tolist() == ["It rains.", "It rain.", "They, rain."]
    assert ratings["raters"].tolist() == [2, 2, 2]
    people = pd.read_csv(out / "annotators.csv").set_index("annotator")
    assert people["excluded"].to_dict() == {"ann": False, "bob": False, "eve": True}
    assert people.loc["eve", "reason"] == "a median of 0.2 s for an item, below 1 s"
    bob = (np.array([5, 2, 3]) - 10 / 3) / np.std([5, 2, 3])
    others = np.corrcoef([7, 1, 4], [bob[0] / 2, bob[1] / 2, bob[2]])[0, 1]  # eve's two z-scores are 0
    assert people.loc["ann", ["mean", "others"]].tolist() == pytest.approx([4, others])
    assert np.isnan(people.loc["eve", "others"])  # a person who gives one number says nothing
    printed = capsys.readouterr().out
    assert "2 of 3 people count; excluded:\n  eve: a median of 0.2 s" in printed
    assert "6 ratings of 3 sentences" in printed


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([*ROWS, ROWS[0]], "ratings.csv:10: 'ann' answered the item 'It rains.' in "),
        ([("ann", "It rains.", "high", 1)], "ratings.csv:2: the rating 'high' is not a number"),
        ([("ann", "It rains.", "nan", 1)], "ratings.csv:2: the rating 'nan' is not a number"),
        ([("ann", "", 1, 1)], "ratings.csv:2: 'sentence' is empty"),
    ],
)
def test_mistakes_in_ratings(rows, message, judge, tmp_path):
    with pytest.raises(UserError) as caught:
        judge(rows)
    assert message in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_the_ratings_of_turblimp(shared, judge):
    pytest.importorskip("openpyxl")
    folder = shared / "benchmarks" / "turblimp" / "human_judgments"
    answers = list(
        read_survey([folder / "base_judgments.xlsx"], folder / "survey_material.xlsx", ["phenomenon", "type"])
    )
    out = judge([(person, sentence, value, "") for sentence, person, value in answers])
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["annotators"], summary["sentences"], summary["ratings"]) == (30, 192, 2880)
    assert summary["krippendorff_alpha_interval"] == pytest.approx(0.693, abs=5e-4)
    table = pd.DataFrame(answers, columns=["sentence", "person", "value"])
    wide = table.pivot_table(index="sentence", columns="person", values="value")
    ratings = read_ratings(out / "ratings.csv").set_index("sentence")["rating"]
    np.testing.assert_allclose(ratings[wide.index], average_ratings(wide.to_numpy())[0])
