"""Mistakes in files of answers: exit code 2, one message with file and line, and nothing left behind."""

import json

import pytest

from tests.settings import answers_command
from ucurve.errors import UserError


@pytest.fixture
def fail(questionnaire, tmp_path):
    """A function that gives the command what it refuses, and returns its message."""

    def call(answers, items=True, **given):
        source = questionnaire.items_csv() if items is True else items
        before = set(tmp_path.iterdir())
        with pytest.raises(UserError) as caught:
            answers_command(
                {
                    "rule": "tse",
                    "answers": str(answers),
                    "items": source and str(source),
                    "out": str(tmp_path / "out"),
                    **given,
                }
            )
        assert set(tmp_path.iterdir()) == before
        return str(caught.value).replace(f"{tmp_path}/", "")

    return call


def test_the_command_ends_with_exit_code_2_and_one_message(questionnaire, tmp_path, run_command):
    answers, items = f"answers=[{questionnaire.plain()},no.csv]", f"items={questionnaire.items_csv()}"
    code, _, said = run_command("answers", answers, items, f"out={tmp_path / 'out'}")
    assert (code, said) == (2, "error: cannot read no.csv (No such file or directory)\n")
    assert not (tmp_path / "out").exists()


ANSWERS = {
    "an item that is not known": (
        "ann,itm-001,good,1", "answers.csv:2: the item 'itm-001' is not in items.csv. Did you mean 'item-001'?"),
    "an answer given twice": (
        "ann,item-001,good,1\nbob,item-001,bad,2\nann,item-001,bad,3",
        "answers.csv:4: 'ann' answered the item 'item-001' in answers.csv:2 already"),
    "a choice that is not allowed": (
        "ann,item-001,left,1", "answers.csv:2: the choice 'left' is not allowed; allowed: good, bad, none"),
    "no number": (
        "ann,item-001,good,fast",
        "answers.csv:2: 'fast' is not a number of seconds; allowed: 0 or more, or nothing"),
    "a negative number": (
        "ann,item-001,good,-1", "answers.csv:2: '-1' is not a number of seconds; allowed: 0 or more, or nothing"),
    "a number without end": (
        "ann,item-001,good,inf", "answers.csv:2: 'inf' is not a number of seconds; allowed: 0 or more, or nothing"),
    "nobody": (" ,item-001,good,1", "answers.csv:2: 'annotator' is empty"),
    "no line": ("", "answers: answers.csv has a header and no line below it"),
    "a cell too many": ("ann,item-001,good,1,2", "answers: answers.csv:2: 4 cells are expected, as in the header"),
    "an open quotation mark": ('ann,"item-001,good,1', "answers: answers.csv is not CSV (unexpected end of data)"),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "message"), ANSWERS.values(), ids=ANSWERS.keys())
def test_lines_of_answers(lines, message, questionnaire, fail):
    assert fail(questionnaire.write("answers.csv", f"annotator,item,choice,seconds\n{lines}\n")) == message


def test_a_missing_column(questionnaire, fail):
    path = questionnaire.write("answers.csv", "annotator,item,choise\nann,item-001,good\n")
    expected = "no column 'choice'; the columns are annotator, item, choise. Did you mean 'choise'?"
    assert fail(path) == f"answers: answers.csv:1: {expected}"


def test_a_file_that_is_not_there(tmp_path, fail):
    assert fail(tmp_path / "no.csv") == "cannot read no.csv (No such file or directory)"


def test_a_file_that_is_not_utf8(tmp_path, fail):
    (tmp_path / "answers.csv").write_bytes(b"annotator,item,choice\nann,item-001,good\nRen\xe9,item-001,good\n")
    assert fail(tmp_path / "answers.csv") == "answers.csv:3: not UTF-8 (invalid continuation byte)"


def test_a_wide_table_without_people(questionnaire, fail):
    path = questionnaire.write("wide.csv", "item,paradigm,p1\n1,one,0\n")
    message = fail(path, items=None, columns={"item": "item", "annotators": "q*", "paradigm": "paradigm"})
    assert message == "wide.csv:1: no column matches columns.annotators=q*; the columns are item, paradigm, p1"


def test_a_choice_of_a_wide_table(questionnaire, fail):
    path = questionnaire.write("wide.csv", "item,paradigm,p1\n1,one,0\n2,one,2\n")
    columns = {"annotators": "p?", "paradigm": "paradigm", "good": 0, "bad": 1}
    assert (
        fail(path, items=None, columns=columns)
        == "wide.csv:3: p1: the choice '2' is not allowed; allowed: 0, 1, none"
    )


def test_an_item_of_two_paradigms(questionnaire, fail):
    path = questionnaire.write("long.csv", "annotator,item,choice,paradigm\na,1,good,one\nb,1,good,two\n")
    message = fail(path, items=None, columns={"paradigm": "paradigm"})
    assert message == "long.csv:3: the item '1' is of 'two' here and of 'one' before"


def test_no_items_given(questionnaire, fail):
    message = fail(questionnaire.plain(), items=None)
    assert message == (
        "items: no file given; give the questionnaire's items.csv, or the column of the answers that names the paradigm "
        "(columns.paradigm=NAME)"
    )


@pytest.mark.parametrize("made", [True, False])
def test_answers_to_two_questionnaires(made, questionnaire, fail):
    if made:
        questionnaire.write("questionnaire.json", json.dumps({"id": "aa"}))
    path = questionnaire.write(
        "answers.csv", "annotator,item,choice,questionnaire\nann,item-001,good,aa\nann,item-002,good,bb\n"
    )
    where = "questionnaire.json beside items.csv" if made else "answers.csv:2"
    assert fail(path) == f"answers.csv:3: an answer to the questionnaire 'bb', and not to 'aa' ({where})"


ITEMS = {
    "an unknown kind": (
        "item-001,itm,agreement,1",
        "unknown kind 'itm' in items.csv:2; allowed: catch, control, item, training. Did you mean 'item'?"),
    "an item without a paradigm": ("item-001,item,,1", "items.csv:2: 'paradigm' is empty"),
    "an item twice in a list": (
        "item-001,item,order,1\nitem-001,item,order,1", "items.csv:3: the item 'item-001' stands in line 2 already"),
    "an item that is two things": (
        "item-001,item,order,1\nitem-001,item,agreement,2",
        "items.csv:3: paradigm of 'item-001' is 'agreement' here and 'order' in line 2"),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "message"), ITEMS.values(), ids=ITEMS.keys())
def test_lines_of_items(lines, message, questionnaire, fail):
    items = questionnaire.write("items.csv", f"item,kind,paradigm,list\n{lines}\n")
    assert fail(questionnaire.plain(), items=items) == message


def test_a_paradigm_of_two_benchmarks(questionnaire, fail):
    lines = "item-001,item,order,one\nitem-002,item,order,two\n"
    items = questionnaire.write("items.csv", f"item,kind,paradigm,benchmark\n{lines}")
    message = fail(questionnaire.plain(), items=items)
    assert message == "items.csv:3: the paradigm 'order' is of 'two' here and of 'one' before"


def test_no_answers_are_left(questionnaire, fail):
    questionnaire.choices = {key: "bad" for key in questionnaire.choices if key[0] in ("ann", "bob")}
    reason = "0% of 2 catch items right, not above 75%; 0% of 2 control items right, not above 75%; "
    reason += "0% of 4 training items right, not above 70%"
    assert fail(questionnaire.plain()) == f"no answers are left: ann: {reason}; bob: {reason}"


def test_nobody_answered_what_is_judged(questionnaire, fail):
    questionnaire.choices = {("ann", "catch-001"): "good"}
    assert fail(questionnaire.plain()) == "no answers are left: nobody answered an item that is judged"


def test_a_folder_that_is_there_is_not_replaced(questionnaire, tmp_path, fail):
    (tmp_path / "out").mkdir()
    assert fail(questionnaire.plain()) == "out=out exists already; name a folder that does not"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rule": "blimp"}, "rule: "),
        ({"exclude": {"catch": 75}}, "exclude.catch: "),
        ({"exclude": {"page_seconds": -1}}, "exclude.page_seconds: "),
        ({"limit": 2}, "limit: "),
        ({"columns": {"persons": "p*"}}, "columns.persons: unknown key"),
    ],
)
def test_settings_that_are_not_allowed(given, message, questionnaire, fail):
    assert fail(questionnaire.plain(), **given).startswith(message)


JSON = {
    "broken": ('[{"data": 1,]', "export.json:1: not JSON (Illegal trailing comma before end of object)"),
    "no list": ("{}", "export.json: a list of tasks is expected, as in the JSON export of Label Studio"),
    "no annotations": ("[]", "export.json: no task has annotations; nothing was answered"),
    "no item": (
        '[{"data": {"good_first": true}, "annotations": []}]',
        "export.json: task 1: no 'item', or not of the kind that Label Studio exports"),
    "no side": (
        '[{"data": {"item": "item-001"}, "annotations": []}]',
        "export.json: task 1: no 'good_first', or not of the kind that Label Studio exports"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), JSON.values(), ids=JSON.keys())
def test_exports_of_label_studio(text, message, questionnaire, fail):
    found = fail(questionnaire.write("export.json", text))
    # Python says what is wrong with JSON in its own words.
    assert found.partition(" (")[0] == message.partition(" (")[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"result": [{"value": {"text": "x"}}]}, "export.json: task 1: its result holds no choice"),
        ({"result": [{"value": {"choices": ["left"]}}]},
         "export.json: task 1: the choice 'left' is not allowed; allowed: first, second"),
        ({"completed_by": None},
         "export.json: task 1: no 'completed_by', or not of the kind that Label Studio exports"),
        ({"lead_time": "long"},
         "export.json: task 1: 'long' is not a number of seconds; allowed: 0 or more, or nothing"),
    ],
)  # fmt: skip
def test_annotations_of_label_studio(change, message, questionnaire, fail):
    tasks = json.loads(questionnaire.label_studio().read_text())
    tasks[0]["annotations"][0] |= change
    assert fail(questionnaire.write("export.json", json.dumps(tasks))) == message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("# 12. EventTime.\n", "", "no column 'EventTime'; the comments above name "),
        ("Selection,good", "Selection,left", "the choice 'left' is not allowed; allowed: good, bad, none"),
        ("good,5500", "good,late", "'late' is not a number of seconds; allowed: 0 or more, or nothing"),
        ("good,5500,ann,item-001", "good,5500,ann,", "'item' is missing or empty"),
        (
            "good,5500",
            "good" + "x" * 200_000 + ",5500",
            "not a line of CSV (field larger than field limit (131072))",
        ),
        ("Selector,choice", "Selector,picked", "no line with the choice of a Selector named 'choice'"),
    ],
)
def test_results_of_pcibex(old, new, message, questionnaire, fail):
    text = questionnaire.pcibex().read_text()
    assert old in text
    found = fail(questionnaire.write("results.csv", text.replace(old, new)))
    assert found.startswith("results.csv:")
    assert message in found
