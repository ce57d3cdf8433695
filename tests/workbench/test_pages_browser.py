"""The start page and the rooms in a real browser: what is read and reached on which screen, in light and dark."""

import re

import pytest

from tests.analysis.report.browser import open_browser
from tests.axe import axe_findings
from tests.workbench.boxes import text_faults

expect = pytest.importorskip(
    "playwright.sync_api", reason="the browser's driver is not installed (extra dev)"
).expect
pytestmark = pytest.mark.long
expect.set_options(timeout=20_000)
SCREEN, PHONE = {"width": 1400, "height": 1000}, {"width": 390, "height": 844}
SHOWN = {
    "": [".card", "table tbody tr"],
    "write": ["#preview tbody tr", "#editor:not([hidden])"],
    "explore": [".panel svg .mark-line path", "#chart svg .mark-line path", "#shapes table"],
    "judge": ["main form", "body[data-ready]"],
}


@pytest.fixture(scope="module")
def pages(scored_run, tmp_path_factory):
    """A workbench with a scored run, and a browser."""
    from tests.workbench.conftest import Server

    server = Server(tmp_path_factory.mktemp("pages"), f"runs={scored_run}").start()
    with open_browser() as browser:
        yield server, browser
    server.kill()


def open_page(pages, room, size=SCREEN, scheme="light", complaints=None):
    server, browser = pages
    page = browser.new_page(viewport=size, color_scheme=scheme)
    if complaints is not None:
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda one: complaints.append(one.text) if one.type in ("error", "warning") else None)
        page.on("request", lambda one: None if one.url.startswith((server.url, "data:", "blob:"))
                else complaints.append(one.url))  # fmt: skip
    page.goto(server.address(room))
    for wanted in SHOWN[room.partition("?")[0]]:
        page.wait_for_selector(wanted, timeout=30_000)
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [SCREEN, PHONE], ids=["screen", "phone"])
@pytest.mark.parametrize("room", SHOWN)
def test_a_page_has_no_serious_fault_and_fits(pages, room, size, scheme):
    complaints = []
    page = open_page(pages, room, size, scheme, complaints)
    assert axe_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    if room != "explore":  # whose charts are drawn when they are near the window; it has a test of its own
        assert text_faults(page) == []
    red, green, blue = map(
        int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))[:3]
    )
    assert max(red, green, blue) < 60 if scheme == "dark" else min(red, green, blue) > 240
    assert not complaints
    page.close()


@pytest.mark.parametrize("size", [SCREEN, PHONE], ids=["screen", "phone"])
@pytest.mark.parametrize("part", ["words", "phrases", "check"])
def test_the_parts_of_a_project_have_no_serious_fault(pages, part, size):
    page = open_page(pages, "write", size)
    page.wait_for_selector("body[data-ready]")
    page.click(f"#tab-{part}")
    page.wait_for_selector(f"#part-{part}:not([hidden])")
    if part == "check":  # without another button
        page.wait_for_selector("#checked tbody tr")
    assert axe_findings(page) == []
    assert text_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.close()


def test_text_that_cannot_be_read_is_found(pages):
    page = open_page(pages, "")
    page.evaluate("document.querySelector('h1').style.marginBottom = '-3rem'")
    assert any(fault.startswith("over each other: The ucurve workbench") for fault in text_faults(page))
    page.evaluate(
        "document.querySelector('.card').style = 'overflow: hidden; width: 4rem; overflow-wrap: normal'"
    )
    assert any(fault.startswith("cut off") for fault in text_faults(page))
    page.close()


def test_the_start_page_leads_to_runs_projects_and_rooms(pages, scored_run):
    page = open_page(pages, "")
    assert page.locator("nav a").all_inner_texts() == ["ucurve", "Explore", "Write", "Judge"]
    assert page.locator(".card h2").all_inner_texts() == ["Explore", "Write", "Judge"]
    assert page.locator(".card:has-text('You need:')").count() == 3
    row = page.locator("tbody tr").first.inner_text().split("\t")
    assert row[0] == scored_run.name
    assert int(row[2]) == len(list((scored_run / "checkpoints").glob("step*")))
    page.get_by_role("link", name="demo").first.click()
    page.wait_for_selector("#chart svg .mark-line path")
    page.go_back()
    page.locator("#projects-title + ul a").click()
    page.wait_for_selector("body[data-ready]")
    expect(page.locator("#project")).to_have_value("demo")
    page.close()


def test_the_address_says_which_template_and_part_are_open(pages):
    page = open_page(pages, "write")
    page.wait_for_selector("body[data-ready]")
    page.select_option("#template", "numeral_men")
    expect(page.locator("#uid")).to_have_value("numeral_men")
    page.click("#tab-words")
    expect(page).to_have_url(re.compile(r"/write\?project=demo&template=numeral_men&part=words$"))
    server, browser = pages
    other = browser.new_page()  # another browser, which has kept nothing
    other.goto(f"{page.url}&token={server.token}")
    other.wait_for_selector("body[data-ready]")
    expect(other.locator("#part-words")).to_be_visible()
    expect(other.locator("#template")).to_have_value("numeral_men")
    other.goto(page.url.replace("demo", "mine"))
    expect(other.locator("#message")).to_have_text("There is no project mine; demo is shown.")
    other.close()
    page.close()


def test_everything_is_reached_with_the_keyboard(pages):
    page = open_page(pages, "write")
    page.wait_for_selector("body[data-ready]")
    page.focus("#tab-templates")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#part-words")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Tab")
    expect(page.locator("#template")).to_be_focused()
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert outline == "3px"
    page.focus("#phenomenon")
    page.keyboard.type("x")
    page.wait_for_selector("#saved:has-text('kept as a draft')")
    page.keyboard.press("Control+s")
    page.wait_for_selector("#saved:has-text('Saved.')")
    page.focus("#pairs")
    page.keyboard.press("Enter")
    page.wait_for_selector("#yield:has-text('300 pairs')")
    page.close()
    page = open_page(pages, "judge")
    reached = set()
    page.focus("#benchmark")
    for _ in range(15):
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        page.keyboard.press("Tab")
    assert {"benchmark", "name", "per_paradigm", "lists", "show-paradigms", "SUMMARY", "make-button"} <= reached
    page.close()


def test_an_empty_template_is_greeted_with_a_hint(pages):
    page = open_page(pages, "write")
    page.wait_for_selector("body[data-ready]")
    page.fill("#new-template-name", "empty")
    page.keyboard.press("Enter")
    page.wait_for_selector("#preview:has-text('Fill in the slots of both members')")
    expect(page.locator(".problem:visible, .at-slot:not(:empty)")).to_have_count(0)
    page.fill("#new-template-name", "not allowed")
    page.keyboard.press("Enter")
    page.wait_for_selector("#new-template-name-wrong:has-text('letters, digits')")
    page.close()
