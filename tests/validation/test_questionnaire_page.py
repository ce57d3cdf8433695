"""The page of jsPsych, answered in a browser without a display from its first page to its last."""

import csv
import io
import json
import re
from contextlib import contextmanager

import pandas as pd
import pytest

from tests.analysis.report.browser import open_browser
from tests.settings import answers_command
from tests.validation.making import SPOILED, make, read_items, write_benchmark, write_lines

KEYS = (("f", "ArrowLeft"), ("j", "ArrowRight"))
HEADER = "annotator,item,choice,seconds,list,page,position,kind,good_first,page_seconds,questionnaire"


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def questionnaire(tmp_path_factory):
    """A questionnaire of two lists whose sentences hold markup: 6 items, 2 catch trials, 2 pairs of training."""
    return make_questionnaire(tmp_path_factory.mktemp("page"), 0.4)


def make_questionnaire(folder, seconds):
    """The folder of a questionnaire whose pages last at least so many seconds."""
    card = write_benchmark(folder / "mine", spoiled=True)
    with pytest.MonkeyPatch.context() as patch:
        asked = ("per_paradigm=3", "pairs_per_page=4", "training=2", f"min_seconds={seconds}", "formats=jspsych")
        make(patch, f"benchmark={card}", *asked, f"out={folder / 'out'}")
    return folder / "out"


class Person:
    """Somebody at a browser; what the browser says and asks for is noted."""

    def __init__(self, browser, out):
        self.context = browser.new_context()
        self.page = self.context.new_page()
        self.said, self.asked = [], []
        self.out = out
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, query=""):
        self.page.goto((self.out / "index.html").as_uri() + query)
        return self

    def begin(self):
        self.page.locator(".jspsych-btn", has_text="Begin").click()

    def pairs(self):
        return self.page.locator(".question")

    def answer_page(self, choose, way="keys"):
        """Answer all pairs of a page; ``choose`` says of the two texts of a pair which is chosen: 0 or 1."""
        self.pairs().first.wait_for()
        for place in range(self.pairs().count()):
            pair = self.pairs().nth(place)
            buttons = pair.locator("button")
            side = choose(pair.locator("button span").all_text_contents())
            if way == "keys":
                self.page.keyboard.press(KEYS[side][place % 2])
            else:
                buttons.nth(side).click()

    def go_on(self):
        self.page.locator("#next:enabled").click()

    def answers(self):
        text = self.page.locator("#answers").text_content()
        assert text.splitlines()[0] == HEADER
        return list(csv.DictReader(io.StringIO(text)))


@contextmanager
def somebody(browser, out):
    person = Person(browser, out)
    yield person
    person.context.close()
    assert person.said == []
    assert {url.partition("?")[0] for url in person.asked} <= {(out / "index.html").as_uri()}


def answer_all(person, choose):
    """From the first page to the last, one page with keys and one with buttons."""
    person.begin()
    person.answer_page(choose)
    person.go_on()
    person.begin()
    for way in ("buttons", "keys"):
        person.answer_page(choose, way)
        person.go_on()
    return person.answers()


def acceptable(texts):
    """A person who knows: verbs of the bad sentences end in ``sleep`` or ``sleeped``, and catch trials are scrambled."""
    right = [text.startswith("The old") and " sleep " not in text and "sleeped" not in text for text in texts]
    assert sum(right) == 1
    return right.index(True)


@pytest.mark.slow
def test_a_questionnaire_is_answered_from_first_to_last_page_and_read_back(browser, questionnaire):
    name = json.loads((questionnaire / "questionnaire.json").read_text())["id"]
    with somebody(browser, questionnaire) as person:
        answers = answer_all(person.open("?list=2&annotator=ann"), acceptable)
        with person.page.expect_download() as download:
            person.page.locator("#download").click()
        saved = download.value.path().read_text(encoding="utf-8")
        assert download.value.suggested_filename == f"answers-{name}-list-2-ann.csv"
        assert list(csv.DictReader(io.StringIO(saved))) == answers
    key = [row for row in read_items(questionnaire) if row["list"] == "2"]
    for name_of_column in ("item", "kind", "list", "page", "position", "good_first"):
        assert [row[name_of_column] for row in answers] == [row[name_of_column] for row in key]
    assert {row["choice"] for row in answers} == {"good"}
    assert {row["annotator"] for row in answers} == {"ann"}
    assert {row["questionnaire"] for row in answers} == {name}
    assert all(0 <= float(row["seconds"]) <= float(row["page_seconds"]) for row in answers)
    assert min(float(row["page_seconds"]) for row in answers) >= 0.4


@pytest.mark.slow
def test_people_say_whether_they_accept_a_pair_and_honeypots_know_the_answer(browser, tmp_path, monkeypatch):
    card = write_benchmark(tmp_path / "mine")
    for name, number in (("catch", 3), ("training", 1)):
        pairs = [{"sentence_good": f"{name} {n}", "sentence_bad": f"bad {n}", "plausible": ("no", "yes")[n % 2],
                  "phenomenon": "verbs"}
                 for n in range(number)]  # fmt: skip
        write_lines(tmp_path / f"{name}.jsonl", pairs)
    asked = ("question=accept", "per_paradigm=3", "pairs_per_page=3", "min_seconds=0", "formats=jspsych")
    files = (
        f"catch={tmp_path / 'catch.jsonl'}",
        f"training={tmp_path / 'training.jsonl'}",
        f"out={tmp_path / 'out'}",
    )
    make(monkeypatch, f"benchmark={card}", *asked, *files)
    with somebody(browser, tmp_path / "out") as person:
        page = person.open("?list=1&annotator=ann").page
        page.locator("h1").wait_for()
        assert page.locator("h1").inner_text() == "Is this pair right?"
        person.begin()
        person.pairs().first.wait_for()
        page.keyboard.press("1")
        assert page.locator(".feedback").inner_text() == "This is not the right answer."
        person.go_on()
        person.begin()
        for _ in range(3):
            person.pairs().first.wait_for()
            for place in range(person.pairs().count()):
                pair = person.pairs().nth(place)
                text = pair.locator("p.pair").all_text_contents()
                assert text[1].startswith("*")
                assert pair.locator(".progress").inner_text() == "verbs"  # of a honeypot too
                page.keyboard.press("2" if text[0] in ("catch 0", "catch 2") else "1")
            pair.locator("textarea").fill("1, a typo")
            person.go_on()
        answers = list(csv.DictReader(io.StringIO(page.locator("#answers").text_content())))
    kinds = {"item": {"good"}, "training": {"good"}, "catch": {"good", "bad"}}
    assert {kind: {row["choice"] for row in answers if row["kind"] == kind} for kind in kinds} == kinds
    assert [row["comment"] for row in answers].count("1, a typo") == 3
    file = tmp_path / "answers.csv"
    file.write_text(table_of(answers), encoding="utf-8")
    answers_command({"rule": "rublimp", "answers": [str(file)], "items": str(tmp_path / "out" / "items.csv"),
                     "out": str(tmp_path / "judged"), "exclude": {"training": None}})  # fmt: skip
    written = {path.stem for path in (tmp_path / "judged").iterdir()}
    assert written == {"annotators", "items_judged", "paradigms", "summary"}  # nothing about single sentences
    judged = pd.read_csv(tmp_path / "judged" / "annotators.csv")
    assert judged[["catch", "catch_right", "training_right"]].values.tolist() == [[3, 1.0, 0.0]]


def table_of(rows):
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


@pytest.mark.long
def test_a_second_browser_gets_another_list_and_its_choices_are_its_own(browser, questionnaire):
    with somebody(browser, questionnaire) as one, somebody(browser, questionnaire) as two:
        first = answer_all(one.open("?list=1"), lambda texts: 0)
        second = answer_all(two.open("?list=2"), lambda texts: 0)
    assert [row["item"] for row in first] != [row["item"] for row in second]
    assert sorted(row["item"] for row in first) == sorted(row["item"] for row in second)
    assert {row["list"] for row in first} == {"1"}
    chosen = [{row["item"]: row["choice"] for row in answers} for answers in (first, second)]
    # The left one, both times.
    assert all({chosen[0][item], chosen[1][item]} == {"good", "bad"} for item in chosen[0])
    assert first[0]["annotator"] != second[0]["annotator"]


@pytest.mark.slow
def test_training_says_whether_a_choice_was_right_and_the_first_choice_stands(browser, questionnaire):
    with somebody(browser, questionnaire) as person:
        person.open("?list=1").begin()
        person.page.keyboard.press(KEYS[acceptable(person.pairs().nth(0).locator("span").all_text_contents())][0])
        assert person.page.locator(".feedback.good").text_content() == "Right."
        assert person.pairs().nth(0).locator("button:enabled").count() == 0
        person.page.keyboard.press(
            KEYS[1 - acceptable(person.pairs().nth(1).locator("span").all_text_contents())][1]
        )
        assert person.page.locator(".feedback.bad").text_content() == "The other sentence is the right one."


@pytest.mark.slow
def test_sentences_are_shown_as_text_one_pair_at_a_time(browser, questionnaire):
    with somebody(browser, questionnaire) as person:
        person.open("?list=1").begin()
        person.pairs().first.wait_for()
        assert [person.pairs().nth(place).is_visible() for place in range(2)] == [True, False]
        assert SPOILED in person.pairs().nth(0).inner_text()
        assert person.page.title() == "Which sentence sounds better?"
        assert person.page.locator(".question script").count() == 0


@pytest.mark.long
def test_a_page_lasts_its_minimum(browser, tmp_path):
    with somebody(browser, make_questionnaire(tmp_path, 600)) as person:
        person.page.clock.install()  # the time of the page is the test's, not the machine's
        person.open("?list=1").begin()
        person.answer_page(acceptable)
        assert person.page.locator("#next").is_disabled()
        assert person.page.locator(".wait").text_content().startswith("Please take your time.")
        person.page.clock.fast_forward(600_000)
        person.go_on()
        person.page.locator("text=The practice is over.").wait_for()


@pytest.mark.long
def test_a_reload_loses_no_page_and_keeps_the_list_that_was_drawn(browser, questionnaire):
    with somebody(browser, questionnaire) as person:
        person.open().begin()
        person.answer_page(acceptable)
        person.go_on()
        person.begin()
        person.answer_page(lambda texts: 1 - acceptable(texts), "buttons")
        person.go_on()
        person.page.locator("text=Page 3 of 3").wait_for()
        person.page.reload()
        person.begin()
        person.answer_page(acceptable)
        person.go_on()
        answers = person.answers()
        person.page.reload()
        assert person.answers() == answers
    drawn = answers[0]["list"]
    assert [row["item"] for row in answers] == [
        row["item"] for row in read_items(questionnaire) if row["list"] == drawn
    ]
    assert [{row["choice"] for row in answers if row["page"] == page} for page in "123"] == [
        {"good"},
        {"bad"},
        {"good"},
    ]


@pytest.mark.slow
def test_a_list_that_is_not_there_is_named(browser, questionnaire):
    with somebody(browser, questionnaire) as person:
        person.open("?list=7")
        assert person.page.locator("body").inner_text() == "There is no list 7; the lists are 1 to 2."


@pytest.mark.long
def test_answers_are_sent_to_the_address_that_was_given_and_nowhere_else(browser, tmp_path, monkeypatch):
    card = write_benchmark(tmp_path / "mine")
    asked = ("per_paradigm=1", "training=0", "catch_per_page=0", "min_seconds=0", "formats=jspsych")
    address = "https://collector.example/answers"
    make(monkeypatch, f"benchmark={card}", *asked, f"post={address}", f"out={tmp_path}/out")
    person, received = Person(browser, tmp_path / "out"), []

    def answer(route):
        received.append(route.request.post_data)
        route.fulfill(status=200, headers={"Access-Control-Allow-Origin": "*"}, body="")

    person.context.route(address, answer)
    person.open().begin()
    person.answer_page(acceptable)
    person.go_on()
    person.page.locator("text=The answers have been sent.").wait_for()
    shown = person.page.locator("#answers").text_content()
    policy = person.page.locator("meta[http-equiv]").get_attribute("content")
    person.context.close()
    assert received == [shown]
    assert "connect-src https://collector.example" in policy
    assert person.said == []
    assert set(person.asked) == {(tmp_path / "out" / "index.html").as_uri(), address}


@pytest.mark.long
def test_a_frame_gives_the_answers_to_a_page_of_its_own_address_alone(browser, tmp_path, monkeypatch):
    card = write_benchmark(tmp_path / "mine")
    asked = ("per_paradigm=1", "training=0", "catch_per_page=0", "min_seconds=0", "formats=jspsych")
    make(monkeypatch, f"benchmark={card}", *asked, f"out={tmp_path}/out")
    text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    frame = (
        "<script>got = []; addEventListener('message', event => got.push(event.data))</script>"
        "<iframe sandbox='allow-scripts' width=900 height=500 src='https://own.example/page?list=1'></iframe>"
    )
    received = []
    for place in ("https://own.example/", "https://other.example/"):
        context = browser.new_context()
        context.route(place, lambda route: route.fulfill(body=frame, content_type="text/html"))
        context.route(
            "https://own.example/page*", lambda route: route.fulfill(body=text, content_type="text/html")
        )
        page = context.new_page()
        page.goto(place)
        shown = page.frame_locator("iframe")
        shown.locator("#jspsych-instructions-next").click()
        for number in range(2):
            shown.locator(".question").nth(number).locator("button").first.click()
        shown.locator("#next:enabled").click()
        answers = shown.locator("#answers").text_content()
        page.wait_for_timeout(300)  # a message comes a moment later, or never
        received.append([message["text"] == answers for message in page.evaluate("got")])
        context.close()
    assert received == [[True], []]


@pytest.mark.long
def test_answers_of_two_people_become_the_tables_of_the_analysis(browser, questionnaire, tmp_path, run_command):
    saved = []
    for number in (1, 2):
        with somebody(browser, questionnaire) as person:
            answer_all(person.open(f"?list={number}&annotator=person-{number}"), acceptable)
            with person.page.expect_download() as download:
                person.page.locator("#download").click()
            saved.append(tmp_path / download.value.suggested_filename)
            download.value.save_as(saved[-1])
    files = ",".join(map(str, saved))
    arguments = [f"answers=[{files}]", f"items={questionnaire / 'items.csv'}", f"out={tmp_path / 'judged'}"]
    assert run_command("answers", *arguments)[0] == 0
    with (tmp_path / "judged" / "human.csv").open(encoding="utf-8") as file:
        human = {row["UID"]: (row["correct"], row["total"]) for row in csv.DictReader(file)}
    assert human == {"agreement": ("6", "6"), "past": ("6", "6")}


def test_a_small_dark_screen_shows_the_page_whole_and_dark(browser, questionnaire):
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page.goto((questionnaire / "index.html").as_uri())
    page.locator(".jspsych-btn", has_text="Begin").click()
    page.locator(".sentence").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    for element in ("html", ".sentence"):
        color = page.evaluate("one => getComputedStyle(document.querySelector(one)).backgroundColor", element)
        assert max(map(int, re.findall(r"\d+", color))) < 60
    page.close()
