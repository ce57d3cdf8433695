"""The room judge in a browser without a display: a questionnaire is made, answered, and the paradigms are judged."""

import re
import threading
from contextlib import contextmanager

import pytest

pytest.importorskip("uvicorn", reason="the workbench's server is not installed (extra workbench)")
import uvicorn

from tests.analysis.report.browser import open_browser
from tests.settings import workbench_settings
from ucurve.workbench.judge.room import judge_room
from ucurve.workbench.login import Login
from ucurve.workbench.server import make_app

expect = pytest.importorskip(
    "playwright.sync_api", reason="the browser's driver is not installed (extra dev)"
).expect
PARADIGMS = ("A_not_A_order", "adverb_order")


@contextmanager
def opened(projects):
    """The workbench with this room alone, on a port that is free."""
    settings = workbench_settings(projects=projects, port=0)
    login = Login(None)
    app = make_app(settings, [judge_room(settings)], login)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            thread.join(0.05)
            assert thread.is_alive()
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/judge?token={login.token}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def page(tmp_path, monkeypatch):
    """The room's page; what the browser complains about is an error."""
    monkeypatch.chdir(tmp_path)
    with opened(tmp_path / "projects") as address, open_browser() as browser:
        page = browser.new_page()
        page.set_default_timeout(30_000)
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(address)
        yield page
        assert [text for text in said if "status of 400" not in text] == []  # the browser tells of each refusal


def answer(frame, side):
    """Answer all pairs from the first page to the last, always with the same side."""
    frame.locator("#jspsych-instructions-next").click()  # in the language of the pairs
    while frame.locator("#answers, #next").get_attribute("id") == "next":
        for _ in range(frame.locator(".question").count()):
            frame.locator(".question:not([hidden]) button:enabled").nth(side).click()
        frame.locator("#next:enabled").click()


@pytest.mark.slow
def test_a_questionnaire_is_made_answered_and_judged(page, tmp_path):
    page.wait_for_selector("body[data-ready]")
    assert page.get_by_role("combobox", name="Benchmark").input_value() == "demo"
    assert page.get_by_label("Name of the questionnaire").input_value() == "demo-1"
    page.get_by_label("Name of the questionnaire").fill("pilot-1")
    page.get_by_text("More settings").click()
    page.get_by_label("Pairs of each paradigm").fill("1")
    page.get_by_label("Pairs of training").fill("0")
    page.get_by_label("Shortest time on a page").fill("0")
    page.get_by_role("button", name="Choose paradigms").click()
    for paradigm in PARADIGMS:
        page.get_by_label(paradigm).check()
    page.get_by_role("button", name="Make the questionnaire").click()
    expect(page).to_have_url(re.compile(r"\?benchmark=demo&questionnaire=pilot-1$"))
    assert "The questionnaire pilot-1 is made" in page.inner_text("#making")
    page.get_by_role("combobox", name="List", exact=True).select_option("1")
    page.get_by_label("Your name").fill("ann")
    page.get_by_role("button", name="Answer it here").click()
    frame = page.frame_locator("iframe")
    answer(frame, 0)
    # So it cannot make requests as the workbench's own page.
    assert page.frames[1].evaluate("self.origin") == "null"
    page.get_by_text("Kept: answers-").wait_for()
    page.get_by_label("right catch trials").fill("")
    page.get_by_role("button", name="Judge").click()
    expect(page.locator("#verdict")).to_contain_text("1 of 1 people count")
    expect(page.locator("#people")).to_have_text("People cannot be compared: no item has answers of two kinds.")
    assert "Differs" in page.locator(".judged li .pair-card").first.inner_text()
    table = page.get_by_role("region", name="Paradigms")
    lines = table.locator("tbody tr")
    for order, names in (("ascending", PARADIGMS), ("descending", PARADIGMS[::-1])):
        table.get_by_role("button", name="Paradigm").click()
        table.locator(f"th[aria-sort={order}]").wait_for()
        assert lines.locator("td:first-child").all_text_contents() == list(names)
    assert set(lines.locator("td:nth-child(2)").all_text_contents()) <= {"kept", "dropped"}
    kept = list((tmp_path / "projects" / "questionnaires" / "pilot-1" / "answers").iterdir())
    assert len(kept) == 1
    assert frame.locator("#answers").text_content() == kept[0].read_text(encoding="utf-8")


def test_a_questionnaire_is_made_answered_and_judged_with_the_keyboard_alone(page):
    page.wait_for_selector("body[data-ready]")

    def go_to(selector):
        for _ in range(40):
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"the tab key does not reach {selector}")

    for field, value in (("#name", "keys"), ("#per_paradigm", "1")):
        go_to(field)
        page.keyboard.press("Control+a")
        page.keyboard.type(value)
    page.keyboard.press("Enter")
    page.get_by_text("The questionnaire keys is made").wait_for()
    expect(page.locator("#about")).to_contain_text("questionnaires/keys")
    go_to("#annotator")
    page.keyboard.type("ann")
    page.keyboard.press("Enter")
    page.frame_locator("iframe").locator("#jspsych-instructions-next").wait_for()
    expect(page.locator("iframe")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    frame = page.frame_locator("iframe")
    frame.locator(".question:not([hidden]) button:enabled").first.wait_for()
    page.keyboard.press("Tab")
    expect(frame.locator(".question:not([hidden]) button:focus")).to_have_count(1)


def test_a_mistake_stands_beside_its_field(page, tmp_path):
    (tmp_path / "projects" / "questionnaires" / "taken").mkdir(parents=True)
    page.wait_for_selector("body[data-ready]")
    page.get_by_label("Name of the questionnaire").fill("taken")
    page.get_by_role("button", name="Make the questionnaire").click()
    expect(page.locator("#name-wrong")).to_contain_text("there is a questionnaire 'taken' already")
    expect(page.locator("#name")).to_have_attribute("aria-describedby", "name-wrong")
    expect(page.locator("#name")).to_be_focused()
    page.get_by_label("Name of the questionnaire").fill("many")
    page.get_by_label("Lists").fill("101")
    page.get_by_label("Pairs of each paradigm").fill("201")
    page.get_by_role("button", name="Make the questionnaire").click()
    expect(page.locator("#lists-wrong")).to_contain_text("lists: got 101")
    expect(page.locator("#per_paradigm-wrong")).to_contain_text("per_paradigm: got 201")
    expect(page.locator("#name-wrong")).to_have_count(0)


def test_the_questionnaire_of_the_address_is_shown(page, tmp_path):
    page.wait_for_selector("body[data-ready]")
    for name in ("first", "second"):
        page.get_by_label("Name of the questionnaire").fill(name)
        page.get_by_label("Pairs of each paradigm").fill("1")
        page.get_by_role("button", name="Make the questionnaire").click()
        expect(page.locator("#about")).to_contain_text(f"questionnaires/{name}")
    page.select_option("#questionnaire", "first")
    expect(page.locator("#about")).to_contain_text("questionnaires/first")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    expect(page.locator("#questionnaire")).to_have_value("first")
    page.goto(page.url.split("?")[0] + "?questionnaire=second&benchmark=blimp")
    page.wait_for_selector("body[data-ready]")
    expect(page.locator("#questionnaire")).to_have_value("second")
    expect(page.locator("#benchmark")).to_have_value("blimp")
    expect(page.locator("#where")).to_contain_text("needs a network")
