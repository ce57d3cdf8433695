"""What the room judge answers to its page: questionnaires, their answers and what they say, and every refusal."""

import csv
import io
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("starlette", reason="the workbench's server is not installed (extra workbench)")
from tests.settings import workbench_settings
from tests.validation.making import write_benchmark
from tests.workbench.clients import open_client
from ucurve.workbench.judge import questionnaires
from ucurve.workbench.judge.room import judge_room

ORIGIN = "http://127.0.0.1:7860"
SMALL = {"per_paradigm": 2, "training": 2, "pairs_per_page": 3, "formats": ["pcibex", "labelstudio"]}


class Browser:
    """The requests of the page."""

    def __init__(self, projects):
        self.projects = projects
        settings = workbench_settings(projects=projects)
        self.client = open_client(settings, [judge_room(settings)], ORIGIN, headers={"origin": ORIGIN})

    def get(self, path, **query):
        return self.client.get(f"/judge/{path}", params=query)

    def send(self, method, path, **values):
        return self.client.request(method, f"/judge/api/{path}", content=json.dumps(values))

    def do(self, method, path, **values):
        reply = self.send(method, path, **values)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def refused(self, method, path, status=400, **values):
        reply = self.send(method, path, **values)
        assert reply.status_code == status, reply.text
        return reply.json()["error"]

    def items(self, name):
        return list(csv.DictReader(io.StringIO(self.get(f"files/{name}/items.csv").text)))

    def load(self, name, **files):
        uploads = [{"name": file.replace("_csv", ".csv").replace("_json", ".json"), "text": text}
                   for file, text in files.items()]  # fmt: skip
        return {"method": "POST", "path": f"questionnaires/{name}/answers", "files": uploads}


@pytest.fixture
def browser(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    projects = tmp_path / "projects"
    (projects / "french" / "made").mkdir(parents=True)
    write_benchmark(projects / "french" / "made" / "mine")
    return Browser(projects)


@pytest.fixture
def made(browser):
    """A questionnaire of two paradigms, with two pairs of each in each of its two lists."""
    browser.do("POST", "questionnaires", benchmark="french/made/mine", name="first", **SMALL)
    return browser


def answers(browser, person, wrong=(), kinds=("item", "catch", "training")):
    """A table of somebody's answers to list 1; of the paradigms in ``wrong``, all are."""
    lines = [
        f"{person},{row['item']},{'bad' if row['kind'] == 'item' and row['paradigm'] in wrong else 'good'},3.5"
        for row in browser.items("first")
        if row["list"] == "1" and row["kind"] in kinds
    ]
    return "\n".join(["annotator,item,choice,seconds", *lines]) + "\n"


def test_benchmarks_are_those_made_in_projects_and_the_published_ones(browser):
    listed = browser.do("GET", "benchmarks")
    assert listed[0] == {"name": "french/made/mine", "made_here": True}
    assert {"name": "demo", "made_here": False} in listed
    assert {"name": "multiblimp/fra", "made_here": False} in listed


def test_paradigms_are_listed_with_the_pairs_that_can_be_drawn(browser):
    listed = browser.get("api/paradigms", benchmark="french/made/mine").json()
    assert listed == [{"paradigm": "agreement", "pairs": 12}, {"paradigm": "past", "pairs": 12}]


def test_the_page_begins_with_the_settings_of_the_commands(browser):
    settings = browser.do("GET", "settings")
    assert settings["questionnaire"]["per_paradigm"] == 5
    assert settings["questionnaire"]["min_seconds"] == 25
    assert settings["answers"]["rule"] == "tse"
    assert settings["answers"]["exclude"]["training"] == 0.7
    assert [rule["name"] for rule in settings["rules"]] == ["rublimp", "tse", "zhoblimp"]


def test_a_questionnaire_is_in_its_folder_and_described(made):
    assert made.do("GET", "questionnaires") == ["first"]
    described = made.do("GET", "questionnaires/first")
    assert described["counts"] == {"item": 4, "catch": 2, "training": 2}
    assert described["lists"] == 2
    assert described["answers"] == []
    assert not described["has_page"]
    assert "pcibex/main.js" in described["files"]
    assert (made.projects / "questionnaires" / "first" / "items.csv").is_file()


def test_settings_that_are_not_given_are_those_of_the_command(browser):
    browser.do(
        "POST", "questionnaires", benchmark="french/made/mine", name="usual", formats=["pcibex"], per_paradigm=1
    )
    about = json.loads(browser.get("files/usual/questionnaire.json").text)
    assert (about["settings"]["training"], about["settings"]["min_seconds"]) == (10, 25)


def test_only_the_paradigms_that_are_chosen_are_asked_about(browser):
    chosen = {**SMALL, "paradigms": ["past"]}
    browser.do("POST", "questionnaires", benchmark="french/made/mine", name="one", **chosen)
    assert {row["paradigm"] for row in browser.items("one") if row["kind"] == "item"} == {"past"}


MAKING = {
    "an unknown benchmark": (
        {"benchmark": "dem"}, "unknown benchmark 'dem'", "Did you mean 'demo'?"),
    "a misspelled benchmark of a project": (
        {"benchmark": "french/made/mime"}, "unknown benchmark 'french/made/mime'", "Did you mean 'french/made/mine'?"),
    "a path": (
        {"benchmark": "projects/french/made/mine"}, "unknown benchmark 'projects/french/made/mine'", "allowed: "),
    "a path after a name": (
        {"benchmark": "demo/../projects/french/made/mine"}, "unknown ", "'demo/../projects/french/made/mine'"),
    "a family without a language": (
        {"benchmark": "multiblimp"}, "benchmark 'multiblimp' has a part for each language", "name one, as "),
    "a name that leads out": ({"name": "../out"}, "name: '../out' is not allowed; allowed are up to 64 letters", ""),
    "a hidden name": ({"name": ".git"}, "name: '.git' is not allowed", ""),
    "a name with an end of line": ({"name": "a\n"}, "name: 'a\\n' is not allowed", ""),
    "a long name": ({"name": "a" * 65}, f"name: '{'a' * 65}' is not allowed", ""),
    "no name": ({"name": None}, "", "name: got None; a text is expected"),
    "a name that is taken": (
        {"name": "first"}, "name: there is a questionnaire 'first' already; choose another name", ""),
    "a file of pairs": (
        {"training": "/etc/passwd"}, "", "training: got '/etc/passwd'; "),
    "a key that is no setting here": ({"post": "https://a.b"}, "", "post: unknown key"),
    "more lists than are made here": (
        {"lists": 3000}, "", "lists: got 3000; Input should be less than or equal to 100"),
    "more pairs than are made here": (
        {"per_paradigm": 201}, "", "per_paradigm: got 201; Input should be less than or"),
    "many lists of many pairs": (
        {"lists": 100, "per_paradigm": 21}, "",
        "lists=100 with per_paradigm=21 show more than 2,000 items of each paradigm, which is what is made here; "),
    "long pages": ({"pairs_per_page": 201}, "", "pairs_per_page: got 201; "),
    "a long training": ({"training": 201}, "", "training: got 201; "),
    "a day for a page": ({"min_seconds": 86400}, "", "min_seconds: got 86400"),
    "true for a number": ({"lists": True}, "", "lists: got True; "),
    "no pair of a paradigm": ({"per_paradigm": 0}, "", "per_paradigm: got 0; "),
    "an unknown paradigm": (
        {"paradigms": ["pst"]}, "unknown paradigm 'pst' in paradigms; allowed: agreement, past.", "mean 'past'?"),
    "an unknown form": ({"formats": ["paper"]}, "", "formats.0: got 'paper'; "),
    "no form": ({"formats": []}, "", "formats: got []; Value should have at least 1"),
}  # fmt: skip


@pytest.mark.parametrize(("given", "begins", "holds"), MAKING.values(), ids=MAKING.keys())
def test_what_cannot_be_made(given, begins, holds, made):
    values = {"benchmark": "french/made/mine", "name": "second", **SMALL, **given}
    message = made.refused("POST", "questionnaires", **values)
    assert message.startswith(begins)
    assert holds in message
    assert [path.name for path in made.projects.rglob("*") if path.parent.name == "questionnaires"] == ["first"]


def test_while_a_questionnaire_is_made_others_are_answered_and_a_second_is_refused(browser, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()
    make = questionnaires.make_questionnaire

    def slowly(settings):
        begun.set()
        assert go_on.wait(60)
        return make(settings)

    monkeypatch.setattr(questionnaires, "make_questionnaire", slowly)
    given = {"benchmark": "french/made/mine", **SMALL}
    with ThreadPoolExecutor() as pool:
        first = pool.submit(browser.do, "POST", "questionnaires", name="first", **given)
        try:
            assert begun.wait(60)
            message = "another questionnaire is being made; wait until that is done"
            assert {browser.refused("POST", "questionnaires", name="second", **given) for _ in range(40)} == {
                message
            }
            assert browser.do("GET", "questionnaires") == []
        finally:
            go_on.set()
        assert first.result()["name"] == "first"
    browser.do("POST", "questionnaires", name="second", **given)


def test_a_full_disk_is_a_message(browser, monkeypatch):
    def fail(_):
        raise OSError(28, "No space left on device", "projects/questionnaires/first")

    monkeypatch.setattr(questionnaires, "make_questionnaire", fail)
    message = browser.refused("POST", "questionnaires", 500, benchmark="french/made/mine", name="first", **SMALL)
    assert message == "[Errno 28] No space left on device: 'projects/questionnaires/first'"


def test_a_questionnaire_that_is_not_there(made):
    assert made.refused("GET", "questionnaires/frist") == (
        "unknown questionnaire 'frist'; allowed: first. Did you mean 'first'?"
    )
    assert made.refused("POST", "questionnaires/.git/judge").startswith("name: '.git' is not allowed")


@pytest.mark.parametrize(("text", "message"), [
    ("{\n", "questionnaire.json:2: not JSON (Expecting property name enclosed in double quotes)"),
    ('{"id": "0", "counts": {}, "settings": {}}',
     "questionnaire.json: benchmark: no value given"),
])  # fmt: skip
def test_a_questionnaire_whose_description_is_broken(text, message, made):
    folder = made.projects / "questionnaires" / "first"
    (folder / "questionnaire.json").write_text(text, encoding="utf-8")
    assert made.refused("GET", "questionnaires/first") == f"{folder}/{message}"


def test_files_are_sent_as_text_of_no_origin(made):
    reply = made.get("files/first/pcibex/main.js")
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert reply.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_the_page_runs_its_own_scripts_and_is_of_no_origin(made):
    (made.projects / "questionnaires" / "first" / "index.html").write_text("<p>page</p>", encoding="utf-8")
    reply = made.get("files/first/index.html")
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(
        part.strip().partition(" ")[::2] for part in reply.headers["content-security-policy"].split(";")
    )
    assert policy["sandbox"] == "allow-scripts allow-downloads"
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'unsafe-inline'"


@pytest.mark.parametrize("path", [
    "first/../../french/made/mine/card.yaml", "first/%2e%2e/%2e%2e/french/made/mine/card.yaml", "first//etc/passwd",
    "first/link.txt", "first/", "first", "french/made/mine/card.yaml", "no/items.csv", "first/pcibex",
])  # fmt: skip
def test_other_files_are_not_sent(path, made):
    secret = made.projects / "secret.txt"
    secret.write_text("secret", encoding="utf-8")
    (made.projects / "questionnaires" / "first" / "link.txt").symlink_to(secret)
    assert made.get(f"files/{path}").status_code == 404


def test_answers_are_kept_and_judged(made):
    made.do(**made.load("first", ann_csv=answers(made, "ann"), bob_csv=answers(made, "bob", wrong=["past"])))
    described = made.do(**made.load("first", cat_csv=answers(made, "cat", wrong=["past"])))
    assert described["kept"] == ["cat.csv"]
    assert described["answers"] == ["ann.csv", "bob.csv", "cat.csv"]
    found = made.do("POST", "questionnaires/first/judge", rule="zhoblimp")
    assert [(row["paradigm"], row["keep"], row["correct"], row["total"]) for row in found["paradigms"]] == [
        ("past", False, 2, 6), ("agreement", True, 6, 6)]  # fmt: skip
    assert found["paradigms"][0]["reason"] == "33.3% of answers that chose the good sentence, below 70%"
    votes = ["1 of 3 answers confirm it"] * 2 + ["3 of 3 answers confirm it"] * 2
    assert [(pair["paradigm"], pair["votes"]) for pair in found["pairs"]] == list(
        zip(["past", "past", "agreement", "agreement"], votes, strict=True))  # fmt: skip
    assert "<dt>Differs</dt><dd>“slept” (good), “sleeped” (bad)</dd>" in found["pairs"][0]["card"]
    assert found["summary"]["people"] in found["lines"]
    assert found["rule_share"] == "accuracy"
    assert found["summary"]["dropped"] == ["past"]
    assert "dropped: past" in found["lines"]
    assert [row["excluded"] for row in found["annotators"]] == [False] * 3
    human = csv.DictReader(io.StringIO(made.get("files/first/judged/human.csv").text))
    assert {row["UID"]: row["correct"] for row in human} == {"agreement": "6", "past": "2"}


def test_an_export_of_label_studio_is_judged(made):
    tasks = made.get("files/first/labelstudio/list-1.json").json()
    for task in tasks:
        chosen = "first" if task["data"]["good_first"] else "second"
        result = [{"value": {"choices": [chosen]}}]
        task["annotations"] = [{"completed_by": 7, "lead_time": 4.5, "result": result}]
    made.do(**made.load("first", export_json=json.dumps(tasks)))
    found = made.do("POST", "questionnaires/first/judge")
    assert [(row["annotator"], row["chose_good"]) for row in found["annotators"]] == [("7", 1.0)]


def test_the_limit_and_the_exclusion_are_those_that_are_asked_for(made):
    wrong = answers(made, "bob").replace("catch-001,good", "catch-001,bad")
    made.do(**made.load("first", ann_csv=answers(made, "ann", wrong=["past"]), bob_csv=wrong))
    judged = "questionnaires/first/judge"
    assert [row["reason"] for row in made.do("POST", judged)["annotators"]] == [
        "", "50% of 2 catch items right, not above 75%"]  # fmt: skip
    lenient = made.do("POST", judged, rule="zhoblimp", limit=0.5, exclude={"catch": None, "training": None})
    assert [row["excluded"] for row in lenient["annotators"]] == [False, False]
    assert {row["paradigm"]: row["keep"] for row in lenient["paradigms"]} == {"agreement": True, "past": True}


@pytest.mark.parametrize(("given", "message"), [
    ({"rule": "ruby"}, "rule: unknown rule 'ruby'; allowed: rublimp, tse, zhoblimp."),
    ({"limit": 80}, "limit: got 80; Input should be less than or equal to 1"),
    ({"exclude": {"catches": 1}}, "exclude.catches: unknown key"),
    ({"exclude": "none"}, "exclude: got 'none'; "),
])  # fmt: skip
def test_settings_of_the_judging_that_are_not_allowed(given, message, made):
    made.do(**made.load("first", ann_csv=answers(made, "ann")))
    assert message in made.refused("POST", "questionnaires/first/judge", **given)


def test_there_are_no_answers_yet(made):
    assert made.refused("POST", "questionnaires/first/judge") == (
        "there are no answers to 'first' yet; answer it here, or load files of answers"
    )


def test_nobody_is_left(made):
    made.do(**made.load("first", ann_csv=answers(made, "ann").replace("catch-001,good", "catch-001,bad")))
    message = made.refused("POST", "questionnaires/first/judge")
    assert message == "no answers are left: ann: 50% of 2 catch items right, not above 75%"


HEAD = "annotator,item,choice,seconds\n"
BROKEN = {
    "a choice that is not allowed": (
        {"ann_csv": f"{HEAD}ann,item-001,left,1\n"},
        "ann.csv:2: the choice 'left' is not allowed; allowed: good, bad, none"),
    "an item of no questionnaire": (
        {"ann_csv": f"{HEAD}ann,item-009,good,1\n"}, "ann.csv:2: the item 'item-009' is not in items.csv."),
    "an answer that is there already": (
        {"two_csv": f"{HEAD}dan,item-001,good,1\n"},
        "two.csv:2: 'dan' answered the item 'item-001' in answers/dan.csv:2 already"),
    "another questionnaire": (
        {"ann_csv": "annotator,item,choice,questionnaire\nann,item-001,good,0123\n"},
        "ann.csv:2: an answer to the questionnaire '0123', and not to '"),
    "no JSON": ({"ann_json": "[\n{,\n]"}, "ann.json:2: not JSON (Expecting property name enclosed in double quotes)"),
    "no export": ({"ann_json": "{}"}, "ann.json: a list of tasks is expected, as in the JSON export of Label Studio"),
    "the second of two": (
        {"ann_csv": f"{HEAD}ann,item-001,good,1\n", "bob_csv": f"{HEAD}bob,item-001,good,no\n"},
        "bob.csv:2: 'no' is not a number of seconds; allowed: 0 or more, or nothing"),
    "a name that is taken": (
        {"dan_csv": f"{HEAD}ann,item-001,good,1\n"},
        "files: there is a file 'dan.csv' already; remove it first, or give another name"),
    "a name that leads out": ({"../ann_csv": HEAD}, "files: the name '../ann.csv' is not allowed; allowed are "),
    "a hidden name": ({".ann_csv": HEAD}, "files: the name '.ann.csv' is not allowed; allowed are "),
    "another ending": ({"ann.xlsx": HEAD}, "files: the name 'ann.xlsx' is not allowed; allowed are "),
    "half a letter": ({"ann_csv": "\ud800"}, "files: a file holds something that is not text (surrogates not allowed)"),
    "no file": ({}, "files: no file of answers was given"),
}  # fmt: skip


@pytest.mark.parametrize(("files", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_files_of_answers_that_are_refused_leave_nothing_behind(files, message, made):
    made.do(**made.load("first", dan_csv=f"{HEAD}dan,item-001,good,1\n"))
    before = sorted(made.projects.rglob("*"))
    assert made.refused(**made.load("first", **files)).startswith(message)
    assert sorted(made.projects.rglob("*")) == before


def test_files_that_are_too_large(made, monkeypatch):
    monkeypatch.setattr("ucurve.workbench.judge.room.LARGEST_UPLOAD", 1024**2)
    assert made.refused(**made.load("first", ann_csv="a" * 3 * 1024**2)) == (
        "files: 3.0 MB of answers; at most 1 MB are loaded at once"
    )


def test_what_is_no_list_of_files(made):
    path = "questionnaires/first/answers"
    assert made.refused("POST", path, files="ann.csv") == "files: no file of answers was given"
    assert "text: no value given" in made.refused("POST", path, files=[{"name": "ann.csv"}])


def test_a_file_of_answers_is_removed(made):
    made.do(**made.load("first", ann_csv=answers(made, "ann")))
    path = "questionnaires/first/answers"
    assert made.refused("DELETE", f"{path}/an.csv") == (
        "unknown file of answers 'an.csv'; allowed: ann.csv. Did you mean 'ann.csv'?"
    )
    assert made.do("DELETE", f"{path}/ann.csv")["answers"] == []


def test_questionnaires_of_two_names_do_not_share_answers(made):
    made.do(**made.load("first", ann_csv=answers(made, "ann")))
    made.do("POST", "questionnaires", benchmark="french/made/mine", name="second", **SMALL)
    assert made.do("GET", "questionnaires/second")["answers"] == []
