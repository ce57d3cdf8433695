"""The command that reads answers, on a small questionnaire whose results are known."""

import json

import pandas as pd
import pytest

from tests.settings import answers_command
from ucurve.analysis.data.user_tables import read_human
from ucurve.analysis.linking.ratings import read_rating_pairs
from ucurve.eval.metrics.ratings import read_ratings
from ucurve.storage.files import sha256_file


@pytest.fixture
def judge(questionnaire, tmp_path):
    """A function that runs the command and returns the tables it wrote."""

    def call(*files, **given):
        out = tmp_path / given.pop("out", "out")
        answers = [str(file) for file in files or [questionnaire.plain()]]
        answers_command(
            {"rule": "tse", "answers": answers, "items": str(questionnaire.items_csv()), "out": str(out), **given}
        )
        return {path.stem: pd.read_csv(path) for path in out.glob("*.csv")} | {
            "summary": json.loads((out / "summary.json").read_text())
        }

    return call


def choose(questionnaire, choice, people, items):
    for person in people:
        for item in items:
            questionnaire.choices[person, item] = choice


def test_every_answer_right(judge, capsys):
    tables = judge()
    assert tables["paradigms"]["accuracy"].tolist() == [1, 1]
    assert tables["paradigms"]["keep"].all()
    assert tables["items_judged"]["majority"].eq("good").all()
    assert tables["items_judged"]["p_good"].eq(1).all()
    assert tables["summary"]["krippendorff_alpha"] is None  # nothing varies
    assert "4 of 4 people count" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["plain", "jspsych", "pcibex", "label_studio", "several"])
def test_each_form_of_answers_gives_the_same_tables(form, questionnaire, judge):
    choose(questionnaire, "bad", ("ann", "bob"), ("item-001", "item-007"))
    choose(questionnaire, "bad", ("cat",), ("item-002",))
    if form != "pcibex":  # a Selector always has a choice
        choose(questionnaire, "none", ("dan",), ("item-003",))
    more = ("list", "page", "position", "kind", "good_first", "page_seconds")
    columns = ("annotator", "item", "choice", "seconds")
    files = {
        "plain": lambda: [questionnaire.plain()],
        "jspsych": lambda: [questionnaire.plain(columns=(*columns, *more))],
        "pcibex": lambda: [questionnaire.pcibex()],
        "label_studio": lambda: [questionnaire.label_studio()],
        "several": lambda: one_file_a_person(questionnaire),
    }
    expected = judge(out="expected")
    found = judge(*files[form]())
    for name in ("items_judged", "paradigms", "human", "ratings", "rating_pairs"):
        pd.testing.assert_frame_equal(found[name], expected[name])
    assert found["annotators"]["item_seconds"].eq(4.5).all()
    right = 20 - (3 if form == "pcibex" else 4)
    assert found["human"].set_index("UID").loc["agreement", ["correct", "total"]].tolist() == [right, 20]
    assert found["items_judged"].set_index("item").loc["item-001", ["good", "bad", "majority"]].tolist() == [
        2,
        2,
        "tie",
    ]


def one_file_a_person(questionnaire):
    everything = questionnaire.choices
    files = []
    for person in ("ann", "bob", "cat", "dan"):
        questionnaire.choices = {key: choice for key, choice in everything.items() if key[0] == person}
        files.append(questionnaire.plain(f"{person}.csv"))
    questionnaire.choices = everything
    return files


def test_people_are_excluded_by_each_rule_with_its_reason(questionnaire, judge, capsys):
    choose(questionnaire, "bad", ("ann",), ("catch-001",))
    choose(questionnaire, "none", ("bob",), ("control-002",))
    choose(questionnaire, "bad", ("cat",), ("training-001", "training-002"))
    people = judge()["annotators"].set_index("annotator")
    assert people["excluded"].to_dict() == {"ann": True, "bob": True, "cat": True, "dan": False}
    assert people.loc["ann", "reason"] == "50% of 2 catch items right, not above 75%"
    assert people.loc["bob", "reason"] == "50% of 2 control items right, not above 75%"
    assert people.loc["cat", "reason"] == "50% of 4 training items right, not above 70%"
    assert people["skill"].notna().to_dict() == {"ann": False, "bob": False, "cat": False, "dan": True}
    assert "1 of 4 people count; excluded:\n  ann: 50% of 2 catch items right" in capsys.readouterr().out


def test_a_test_can_ask_for_no_where_people_are_asked_whether_they_accept_a_pair(questionnaire, judge):
    for row in questionnaire.items:
        row["right"] = "bad" if row["item"] == "catch-001" else ""
    choose(questionnaire, "bad", ("ann", "bob"), ("catch-001",))
    people = judge()["annotators"].set_index("annotator")
    assert people["catch_right"].tolist() == [1, 1, 0.5, 0.5]
    assert people["excluded"].to_dict() == {"ann": False, "bob": False, "cat": True, "dan": True}


def test_a_share_must_be_above_the_limit_and_a_rule_can_be_left_out(questionnaire, judge):
    choose(questionnaire, "bad", ("cat",), ("training-001",))
    assert not judge()["annotators"]["excluded"].any()
    assert judge(exclude={"training": 0.75}, out="strict")["annotators"]["excluded"].sum() == 1
    choose(questionnaire, "bad", ("ann",), ("catch-001", "catch-002"))
    assert not judge(exclude={"catch": None}, out="without")["annotators"]["excluded"].any()


def test_the_fast_are_excluded_by_their_median_time(questionnaire, judge, capsys):
    slow = questionnaire.plain(columns=("annotator", "item", "choice", "seconds", "page", "page_seconds"))
    fast = slow.with_name("fast.csv")
    lines = [line for line in slow.read_text().splitlines() if line.startswith(("annotator", "dan"))]
    fast.write_text("\n".join(lines).replace("dan", "eve").replace("4.5", "0.4").replace(",26", ",3"))
    by_item = (
        judge(slow, fast, exclude={"item_seconds": 1})["annotators"].set_index("annotator")["reason"].dropna()
    )
    assert by_item.to_dict() == {"eve": "a median of 0.4 s for an item, below 1 s"}
    by_page = judge(slow, fast, exclude={"page_seconds": 25}, out="page")["annotators"].set_index("annotator")
    assert by_page["reason"].dropna().to_dict() == {"eve": "a median of 3.0 s for a page, below 25 s"}
    capsys.readouterr()
    unknown = judge(exclude={"page_seconds": 25}, out="unknown")["annotators"]
    assert "exclude.page_seconds=25 excludes nobody of ann, bob, cat and 1 more" in capsys.readouterr().err
    assert not unknown["excluded"].any()  # where pages have no times, nobody is excluded by them


def test_a_paradigm_is_kept_by_the_rule_of_the_paper(questionnaire, judge):
    # the majority is wrong in two of five pairs of one paradigm, and is no majority in one of five of the other
    choose(questionnaire, "bad", ("ann", "bob", "cat"), ("item-001", "item-002"))
    choose(questionnaire, "bad", ("ann", "bob"), ("item-006",))
    tse = judge(rule="tse")["paradigms"].set_index("paradigm")
    assert tse["keep"].to_dict() == {"agreement": False, "order": True}
    assert (
        tse.loc["agreement", "reason"]
        == "60.0% of pairs of which the majority chose the good sentence, below 80%"
    )
    assert (
        tse.loc["order", "reason"] == "80.0% of pairs of which the majority chose the good sentence, at least 80%"
    )
    zhoblimp = judge(rule="zhoblimp", out="z")["paradigms"].set_index("paradigm")
    assert zhoblimp["keep"].to_dict() == {
        "agreement": True,
        "order": True,
    }  # 14 and 18 of 20 answers: 70 % and 90 %
    assert zhoblimp.loc["agreement", "reason"] == "70.0% of answers that chose the good sentence, at least 70%"
    assert (
        not judge(rule="zhoblimp", limit=0.71, out="l")["paradigms"]
        .set_index("paradigm")
        .loc["agreement", "keep"]
    )
    rublimp = judge(rule="rublimp", out="r")["paradigms"].set_index("paradigm")
    assert rublimp.loc["agreement", "reason"] == "60.0% of pairs of which Dawid-Skene's label is good, below 75%"


def test_intervals_hold_the_accuracy_and_the_clustered_one_is_wider_where_answers_to_an_item_agree(
    questionnaire, judge
):
    choose(questionnaire, "bad", ("ann", "bob", "cat", "dan"), ("item-001", "item-002"))
    row = judge()["paradigms"].set_index("paradigm").loc["agreement"]
    assert row["accuracy"] == 0.6
    assert (row["low"], row["high"]) == pytest.approx((0.38658, 0.78119), abs=1e-5)  # Wilson's formula by hand
    assert row["clustered_low"] < row["low"] < 0.6 < row["high"] < row["clustered_high"]


def test_the_analysis_reads_what_is_written(questionnaire, judge, tmp_path):
    choose(questionnaire, "bad", ("ann",), ("item-001", "item-007"))
    choose(questionnaire, "none", ("dan",), ("item-002",))
    judge()
    human = read_human(tmp_path / "out" / "human.csv")
    assert human.to_dict("records") == [
        {"paradigm": "agreement", "correct": 18, "total": 20},
        {"paradigm": "order", "correct": 19, "total": 20},
    ]
    ratings = read_ratings(tmp_path / "out" / "ratings.csv")
    assert len(ratings) == 20
    rated = ratings.set_index("sentence")
    assert rated.loc["good item-002, really", "raters"] == 3
    assert rated.loc["good item-001, really", "rating"] < rated.loc["good item-003, really", "rating"]
    pairs = read_rating_pairs(tmp_path / "out" / "rating_pairs.csv", ratings["sentence"].tolist())
    assert (ratings["sentence"].iloc[pairs["bad"]].str.startswith("bad")).all()


def test_an_item_that_several_lists_show_is_one_item(questionnaire, judge):
    questionnaire.items += [{**row, "list": "2"} for row in questionnaire.items]
    assert len(judge()["items_judged"]) == 10


def test_the_order_of_the_answers_changes_nothing(questionnaire, judge):
    choose(questionnaire, "bad", ("ann",), ("item-001", "item-007"))
    first = judge()
    questionnaire.choices = dict(reversed(questionnaire.choices.items()))
    second = judge(out="second")
    for name in ("annotators", "items_judged", "paradigms", "human"):
        pd.testing.assert_frame_equal(first[name], second[name])


def test_the_summary_tells_what_it_was_made_from(questionnaire, judge):
    path = questionnaire.plain()
    summary = judge(path, seed=3)["summary"]
    assert summary["settings"]["seed"] == 3
    assert summary["inputs"][str(path)] == sha256_file(path)
    assert {"ucurve", "python", "numpy"} <= summary["versions"].keys()
    assert (summary["annotators"], summary["items"], summary["answers"]) == (4, 10, 40)


def test_a_table_with_a_column_for_each_person(tmp_path, capsys):
    path = tmp_path / "wide.tsv"
    path.write_text("id\ttype\tp_1\tp_2\tnote\n1\tone\t0\t1\tx\n2\tone\t0\t0\ty\n3\ttwo\t1\t\tz\n")
    columns = {"item": "id", "paradigm": "type", "annotators": "p_*", "good": 0, "bad": 1}
    answers_command({"rule": "tse", "answers": str(path), "out": str(tmp_path / "out"), "columns": columns})
    human = pd.read_csv(tmp_path / "out" / "human.csv", index_col="UID")
    assert human[["correct", "total"]].to_numpy().tolist() == [[3, 4], [0, 1]]
    assert "dropped: one, two" in capsys.readouterr().out
    assert not (tmp_path / "out" / "ratings.csv").exists()
