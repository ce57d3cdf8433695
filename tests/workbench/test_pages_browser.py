"""The pages of all rooms in a real browser: accessibility, small screens, and what they ask of the network."""

import pytest

from tests.analysis.report.browser import open_browser
from tests.axe import axe_findings

pytestmark = pytest.mark.long
SCREEN, PHONE = {"width": 1400, "height": 1000}, {"width": 390, "height": 844}
SHOWN = {
    "write": ["#preview tbody tr", "#editor:not([hidden])"],
    "explore": ["#chart svg .mark-line path", "#shapes table"],
    "judge": ["main form"],
}


@pytest.fixture(scope="module")
def pages(scored_run, tmp_path_factory):
    """Each room on a large and a small screen, with the complaints of the browser."""
    from tests.workbench.conftest import Server

    server = Server(tmp_path_factory.mktemp("pages"), f"runs={scored_run}").start()
    with open_browser() as browser:
        yield server, browser
    server.kill()


@pytest.mark.parametrize("size", [SCREEN, PHONE], ids=["screen", "phone"])
@pytest.mark.parametrize("room", SHOWN)
def test_a_room_has_no_serious_fault_and_fits(pages, room, size):
    server, browser = pages
    complaints = []
    page = browser.new_page(viewport=size)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda one: complaints.append(one.text) if one.type in ("error", "warning") else None)
    page.on("request", lambda one: None if one.url.startswith((server.url, "data:", "blob:"))
            else complaints.append(one.url))  # fmt: skip
    page.goto(server.address(room))
    for wanted in SHOWN[room]:
        page.wait_for_selector(wanted, timeout=30_000)
    assert axe_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert not complaints
    page.close()


@pytest.mark.parametrize("part", ["words", "phrases", "check"])
def test_the_parts_of_a_project_have_no_serious_fault(pages, part):
    server, browser = pages
    page = browser.new_page(viewport=SCREEN)
    page.goto(server.address("write"))
    page.wait_for_selector("body[data-ready]")
    page.click(f"#tab-{part}")
    page.wait_for_selector(f"#part-{part}:not([hidden])")
    assert axe_findings(page) == []
    page.close()
