"""The room Write without a browser: what it answers, keeps and refuses, also to those who mean no good."""

import json
import time

import pytest

from tests.settings import workbench_settings
from tests.workbench.clients import open_client
from ucurve.templates.template import parse_phrases
from ucurve.workbench.server import make_rooms
from ucurve.workbench.write.journal import Journal
from ucurve.workbench.write.phrase_text import phrase_file, phrase_lines
from ucurve.workbench.write.preview import placed
from ucurve.workbench.write.words import parse_table

OWN = {"Origin": "http://127.0.0.1"}


class Browser:
    """Asks as a page does, under one browser's name."""

    def __init__(self, client, name="b1", project="demo"):
        self.client, self.own = client, {"browser": name, "project": project}

    def get(self, what, **values):
        return self.client.get(f"/write/api/{what}", params=self.own | values)

    def post(self, what, method="POST", **values):
        return self.client.request(method, f"/write/api/{what}", json=self.own | values, headers=OWN)

    def open(self, name):
        return self.get("document", name=name).json()

    def type(self, name, text, base):
        return self.post("document", "PUT", name=name, text=text, base=base)


@pytest.fixture
def projects(tmp_path):
    return tmp_path / "projects"


@pytest.fixture
def start(projects):
    """Start the workbench; a second start is one after the first was killed."""

    def start():
        settings = workbench_settings(projects=projects, runs=("nothing/*",))
        return open_client(settings, make_rooms(settings))

    return start


@pytest.fixture
def browser(start):
    client = start()
    assert client.get("/write/api/projects").json() == [{"project": "demo", "templates": 36}]
    return Browser(client)


def template(good, bad=None, **fields):
    record = {
        "uid": "u",
        "phenomenon": "p",
        "strict_MP": False,
        "sep": "",
        "good_rule": good,
        "bad_rule": bad or [*good, "x"][1:],
    }
    return json.dumps(record | fields)


def test_pairs_are_drawn_of_what_is_typed(browser):
    found = browser.post("preview", text=browser.open("anaphor_number")["text"]).json()
    assert len(found["pairs"]) == 10
    assert len({pair["good"] for pair in found["pairs"]}) == 10
    assert found["problems"] == found["failures"] == []


def test_what_differs_in_the_pairs_is_told_while_one_types(browser):
    found = browser.post("preview", text=template(["他", "了", "走", "x"], ["她", "了", "去", "xy"])).json()
    assert found["differences"] == [
        "1 of 1 pairs differ in more than one place: 他 … 走 … - / 她 … 去 … y",
        "1 of 1 pairs are of unequal length in characters: 他 … 走 … - / 她 … 去 … y",
    ]
    other = template(["的", "pos:NN"], ["的", "pos:NN animate:1"], sep=" ")
    assert "drawn anew" in "".join(browser.post("preview", text=other).json()["differences"])


@pytest.mark.parametrize(
    ("good", "bad", "member", "slot", "message"),
    [
        (
            ["pos:NN", "subcat:kinn"],
            ["pos:NN", "x"],
            "good",
            1,
            "no word of the vocabulary has subcat:kinn. Did you mean 'kin'?",
        ),
        (["的", "phrase:Persn"], ["的", "x"], "good", 1, "unknown phrase 'Persn'"),
        (["的", "x"], ["的", "pos:NN mPos:7 mPro:number"], "bad", 1, "there is no slot 7"),
        (["的", "pos:NN mPos:x mPro:number"], ["的", "x"], "good", 1, "mPos must be the number of a slot"),
        (["的", "pos:NN x"], ["的", "x"], "good", 1, "cannot read 'pos:NN x'"),
        (
            ["的", f"pos:NN mPos:{'9' * 5000} mPro:number"],
            ["的", "x"],
            "good",
            1,
            "mPos must be the number of a slot",
        ),
    ],
)
def test_problems_stand_at_their_slots(browser, good, bad, member, slot, message):
    found = browser.post("preview", text=template(good, bad)).json()
    (problem,) = found["problems"]
    assert (problem["member"], problem["slot"]) == (member, slot)
    assert message in problem["text"]
    assert not found["pairs"]


def test_failed_draws_stand_at_their_slots(browser):
    found = browser.post(
        "preview", text=template(["pos:NN animate:0", "subcat:kin mPos:0 mPro:classifier"], ["x", "y"])
    ).json()
    assert {(one["member"], one["slot"], one["reason"]) for one in found["failures"]} >= {
        ("good", 1, "no shared value")
    }
    found = browser.post("preview", text=template(["的", "了"], ["的", "了"])).json()
    assert [(one["slot"], one["reason"]) for one in found["failures"]] == [(None, "equal")]


def test_messages_without_a_slot_stand_above():
    assert placed("phrases, line 3: no name") == [
        {"member": None, "slot": None, "text": "phrases, line 3: no name"}
    ]
    assert placed("template: good_rule has 2 slots and bad_rule 1; they must be equally many")[0]["slot"] is None


def test_drafts_outlive_the_server_with_their_way_back(browser, start):
    base = browser.open("numeral_men")["base"]
    for text in ("one", "two", "three"):
        browser.type("numeral_men", text, base)
    browser.post("step", name="numeral_men", to="undo")
    again = Browser(start())
    found = again.open("numeral_men")
    assert (found["text"], found["saved"], found["can_undo"], found["can_redo"]) == ("two", False, True, True)
    assert again.post("step", name="numeral_men", to="redo").json()["text"] == "three"
    for _ in range(5):
        last = again.post("step", name="numeral_men", to="undo").json()
    assert (last["saved"], last["can_undo"]) == (True, False)  # what the file holds
    assert Browser(browser.client, "b2").open("numeral_men")["saved"]  # another browser sees no draft


def test_a_journal_that_was_cut_off_keeps_what_is_whole(tmp_path):
    journal = Journal(tmp_path / "j.jsonl", whole=True)
    journal.begin("h", ["a"])
    journal.add("b")
    with (tmp_path / "j.jsonl").open("ab") as file:
        file.write(b'{"add": "c')
    assert Journal(tmp_path / "j.jsonl", whole=True).current == ["a", "b"]


def test_a_long_journal_of_whole_texts_forgets_the_oldest(tmp_path, monkeypatch):
    monkeypatch.setattr("ucurve.workbench.write.journal._LARGEST", 2000)
    texts, words = (Journal(tmp_path / name, whole=name == "t") for name in ("t", "w"))
    for journal in (texts, words):
        journal.begin("h", [])
        for number in range(100):
            text = f"text {number} " + "x" * 20
            journal.add(text if journal is texts else {"do": text})
    assert texts.current[-1] == words.current[-1]["do"] == Journal(tmp_path / "t", whole=True).current[-1]
    assert len(texts.current) < 100
    assert len(Journal(tmp_path / "w", whole=False).current) == 100  # of changes of cells none may go


def test_saving_never_overwrites_another_change(browser, projects):
    file = projects / "demo/templates/numeral_men.json"
    base = browser.open("numeral_men")["base"]
    file.write_text("theirs", encoding="utf-8")
    browser.type("numeral_men", "mine", base)  # typed on a page that was opened before
    reply = browser.post("save", name="numeral_men", text="mine", base=base)
    assert (reply.status_code, reply.json()["theirs"], reply.json()["mine"]) == (409, "theirs", "mine")
    assert file.read_text(encoding="utf-8") == "theirs"
    assert browser.open("numeral_men")["changed_on_disk"]
    taken = browser.post("theirs", name="numeral_men").json()
    assert (taken["text"], taken["saved"]) == ("theirs", True)
    assert browser.post("step", name="numeral_men", to="undo").json()["text"] == "mine"
    assert browser.post("save", name="numeral_men", text="mine", base=reply.json()["sha256"]).json()["saved"]
    assert file.read_text(encoding="utf-8") == "mine"


def test_words_are_filtered_sorted_changed_and_saved(browser, projects):
    first = browser.get("words").json()
    assert first["words"] == 218
    found = browser.get("words", filter="pos:NR 林").json()
    assert found["found"] == 4
    assert all(row["cells"][0].startswith("林") for row in found["rows"])
    cells = [row["cells"][0] for row in browser.get("words", sort="expression", descending="true").json()["rows"]]
    assert cells == sorted(cells, reverse=True)

    def change(**what):
        return browser.post("words", change=what, base=first["base"])

    change(do="set", row=0, column="expression", value="林博士")
    change(do="add", words=[{"expression": "猫咪", "pos": "NN"}])
    change(do="delete", row=1)
    change(do="column", name="tone")
    assert browser.get("properties").json()["properties"]["pos"][0] == "NN"
    assert browser.post("words/step", to="undo").json()["columns"] == first["columns"]
    browser.post("words/save", base=first["base"])
    lines = (projects / "demo/vocabulary.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[1].startswith("林博士\tNR")
    assert lines[2].startswith("林女士")
    assert lines[-1] == "猫咪\tNN"
    assert parse_table("\n".join(lines) + "\n").text() == "\n".join(lines) + "\n"


def test_words_that_someone_else_saved_are_not_overwritten(browser, projects):
    first, other = browser.get("words").json(), Browser(browser.client, "b2")
    new = {"do": "add", "words": [{"expression": "新"}]}
    browser.post("words", change=new, base=first["base"])
    other.post("words", change={"do": "delete", "row": 0}, base=first["base"])
    assert other.post("words/save", base=first["base"]).status_code == 200
    reply = browser.post("words/save", base=first["base"])
    assert reply.status_code == 409
    # Mine has the deleted word and the new one.
    assert reply.json()["mine"].count("\n") == reply.json()["theirs"].count("\n") + 2
    assert browser.get("words").json()["changed_on_disk"]
    third = Browser(browser.client, "b3")
    assert "someone else saved other words" in third.post("words", change=new, base=first["base"]).json()["error"]
    assert browser.post("words/theirs").json()["words"] == 217


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"do": "set", "row": 9999, "column": "pos", "value": "x"}, "no row 9999"),
        (
            {"do": "set", "row": 0, "column": "poss", "value": "x"},
            "unknown column 'poss' in the vocabulary.*Did you mean 'pos'",
        ),
        ({"do": "set", "row": 0, "column": "pos", "value": "x\ty"}, "a text of one line without tabs"),
        ({"do": "add", "words": [{"pos": "NN"}]}, "a new word needs a cell 'expression'"),
        ({"do": "column", "name": "a b"}, "a new name without"),
        ({"do": "drop"}, "unknown change 'drop'"),
        ("x", "is not a change of the vocabulary"),
    ],
)
def test_changes_that_cannot_be_are_refused(browser, change, message):
    import re

    reply = browser.post("words", change=change, base=browser.get("words").json()["base"])
    assert reply.status_code == 400
    assert re.search(message, reply.json()["error"])
    assert browser.get("words").json()["words"] == 218


def test_phrases_are_the_same_as_lines_and_as_their_file(browser, projects):
    content = (projects / "demo/phrases.json").read_text(encoding="utf-8")
    text = phrase_lines(content)
    assert text.splitlines()[1:3] == ["Person = pos:NR", "Person = pos:PN subcat:person"]
    assert parse_phrases(json.loads(phrase_file(text)), "") == parse_phrases(json.loads(content), "")
    strange = '{"A": [[{"type": "Direct", "rule": ["a + b", "c d"]}]]}'  # no line says this
    assert phrase_lines(strange) == phrase_file(strange) == strange


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Person pos:NR", "phrases, line 1: a phrase is written as NAME = element"),
        ("A = x\nB = x | y", "phrases, line 2: '|' separates the alternatives of a slot"),
        ("A = phrase:B", "unknown phrase 'B'"),
        ("A = x + phrase:A", "phrase 'A' can never end"),
        ("A = pos:NN x", "phrases, line 1: cannot read"),
        ('{"A": 1}', "phrase 'A' must be a list of expansions"),
    ],
)
def test_phrases_that_cannot_be_read_are_named_in_the_preview(browser, text, message):
    browser.type("phrases", text, browser.open("phrases")["base"])
    found = browser.post("preview", text=template(["phrase:A"], ["x"])).json()
    assert any(message in problem["text"] for problem in found["problems"])


def test_a_whole_project_is_checked(browser):
    rows = browser.post("validate").json()
    assert len(rows) == 36
    assert not any(row["problem"] for row in rows)
    broken = template(["pos:XX"], ["x"], uid="anaphor_number")
    browser.type("numeral_men", broken, browser.open("numeral_men")["base"])
    problems = {row["template"]: row["problem"] for row in browser.post("validate").json() if row["problem"]}
    assert set(problems) == {"numeral_men", "anaphor_number"}
    assert problems["numeral_men"].startswith("good, slot 0: no word of the vocabulary has pos:XX")
    assert "uid 'anaphor_number' is that of another template too" in problems["anaphor_number"]


def test_pairs_are_made_of_what_is_saved(browser, projects):
    made = browser.post("generate", name="numeral_men", pairs=20).json()
    assert made["report"]["kept"] == 20
    lines = (projects / "demo/made/demo-numeral_men/numeral_men.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 20
    browser.type("numeral_men", template(["x"], ["y"]), browser.open("numeral_men")["base"])
    assert (
        "not saved yet: numeral_men; save first" in browser.post("generate", name="numeral_men").json()["error"]
    )
    assert "pairs=0" in browser.post("generate", name="anaphor_number", pairs=0).json()["error"]


def test_new_templates_and_projects(browser, projects):
    assert browser.post("templates", name="mine", copy="numeral_men").json() == {"template": "mine"}
    assert json.loads(browser.open("mine")["text"])["uid"] == "mine"
    assert "exists already" in browser.post("templates", name="mine").json()["error"]
    assert browser.post("projects", name="second").json() == {"project": "second"}
    assert (projects / "second/vocabulary.tsv").read_text(encoding="utf-8") == "expression\tpos\n"
    for name in ("second", "questionnaires"):
        assert "exists already" in browser.post("projects", name=name).json()["error"]


@pytest.mark.parametrize(
    "name", ["../x", "..", "a/b", "/etc/passwd", "a\\b", "", "x" * 200, ".workbench", "a\x00b"]
)
def test_names_outside_the_project_are_refused(browser, projects, name):
    before = sorted(projects.rglob("*"))
    replies = [
        browser.post("projects", name=name), browser.post("templates", name=name), browser.get("document", name=name),
        browser.post("document", "PUT", name=name, text="x", base=None), browser.post("generate", name=name),
        Browser(browser.client, name).get("document", name="numeral_men"), Browser(browser.client, "b1", name).get("words"),
        Browser(browser.client, name).type("numeral_men", "x", None),
    ]  # fmt: skip
    assert {reply.status_code for reply in replies} == {400}
    assert sorted(projects.rglob("*")) == before


def test_a_link_out_of_the_projects_is_no_project(browser, projects, tmp_path):
    (tmp_path / "elsewhere/templates").mkdir(parents=True)
    (projects / "link").symlink_to(tmp_path / "elsewhere")
    assert [one["project"] for one in browser.client.get("/write/api/projects").json()] == ["demo"]


def test_other_origins_change_nothing(browser, projects):
    before = {path: path.read_bytes() for path in projects.rglob("*") if path.is_file()}
    body = {"browser": "b1", "project": "demo", "name": "numeral_men", "text": "evil", "base": None}
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {}, {"Origin": "http://127.0.0.1:9"}):
        for method, path in (("PUT", "document"), ("POST", "save"), ("POST", "score"), ("POST", "generate")):
            reply = browser.client.request(method, f"/write/api/{path}", json=body, headers=headers)
            assert reply.status_code == 403
    assert browser.client.get("/write/api/projects", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert browser.client.get("/write", headers={"Host": "evil.example"}).status_code == 403
    assert {path: path.read_bytes() for path in projects.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x" * 1_000_000, id="letters"), pytest.param("1" * 1_000_000, id="digits"),
        pytest.param("a:" * 500_000, id="colons"), pytest.param("<1:" * 300_000, id="overrides"),
        pytest.param("a | " * 250_000, id="alternatives"), pytest.param("[" * 1_000_000, id="brackets"),
        pytest.param(template(["x" * 1_000_000], ["y"]), id="one slot"),
        pytest.param(template(["1" * 1_000_000], ["y"]), id="a slot of digits"),
        pytest.param(template(["a | " * 250_000], ["y"]), id="a slot of alternatives"),
        pytest.param(template(["pos:" + "N/" * 400_000], ["y"]), id="a slot of values"),
        pytest.param(template([f"w{n}" for n in range(60_000)], [f"v{n}" for n in range(60_000)]), id="slots"),
    ],
)  # fmt: skip
def test_a_template_of_a_megabyte_is_answered(browser, text):
    start = time.process_time()
    reply = browser.post("preview", text=text)
    assert reply.status_code == 200
    assert len(reply.content) < 200_000
    assert time.process_time() - start < 10
    assert browser.type("numeral_men", text, browser.open("numeral_men")["base"]).status_code == 200
    assert browser.open("numeral_men")["text"] == text  # nothing is lost


def test_what_is_too_large_is_refused_and_nothing_is_lost(browser):
    opened = browser.open("numeral_men")
    assert "at most" in browser.type("numeral_men", "x" * 3_000_000, opened["base"]).json()["error"]
    assert "larger than 24 MB" in browser.post("preview", text="x" * 26_000_000).json()["error"]
    for body in (b"[" * 100_000, b"{", b"[]", b'"x"', b"\xff"):
        reply = browser.client.post("/write/api/preview", content=body, headers=OWN)
        assert reply.status_code == 400
    assert browser.open("numeral_men") == opened


def test_phrases_that_grow_without_end_are_answered(browser):
    blowing = (
        "\n".join(f"P{level} = " + " + ".join([f"phrase:P{level + 1}"] * 200) for level in range(8)) + "\nP8 = x"
    )
    browser.type("phrases", blowing, browser.open("phrases")["base"])
    (failure,) = browser.post("preview", text=template(["phrase:P0", "。"], ["y", "。"])).json()["failures"]
    assert (failure["slot"], failure["reason"]) == (0, "too long")
    browser.type("phrases", "A = phrase:A + phrase:A\nA = x", browser.open("phrases")["base"])
    assert browser.post("preview", text=template(["phrase:A", "。"], ["y", "。"])).json()["pairs"]


def test_a_vocabulary_of_a_hundred_thousand_words_is_answered(browser):
    base = browser.get("words").json()["base"]
    words = [{"expression": f"w{number}", "pos": "NN", "animate": str(number % 2)} for number in range(100_000)]
    start = time.process_time()
    assert browser.post("words", change={"do": "add", "words": words}, base=base).json()["words"] == 100_218
    found = browser.get("words", filter="w9999", sort="expression", descending="true").json()
    assert (found["found"], len(found["rows"])) == (11, 11)
    assert browser.post("preview", text=template(["pos:NN animate:1", "。"], ["x", "。"])).json()["pairs"]
    assert browser.post("words/step", to="undo").json()["words"] == 218
    assert time.process_time() - start < 30
