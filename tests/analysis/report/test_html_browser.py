"""The report in a real browser: an error in its script or a page wider than a phone shows nowhere else."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pandas as pd
import pytest

from tests.analysis.report.browser import open_page
from tests.analysis.synthetic import run_maker, score_row
from tests.axe import axe_findings
from tests.settings import analyze_settings
from ucurve.analysis.report.html import Column, ReportSection, TableView, report_html
from ucurve.analysis.run import analyze

PHONE = {"width": 375, "height": 667}
SCREEN = {"width": 1280, "height": 900}
RUNS = 11


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on runs with long names, many of them, so that tables are long and wide."""
    folder = tmp_path_factory.mktemp("browser")
    make = run_maker(folder)
    for seed in range(RUNS):
        rows = [
            score_row(step, 0.5 + (RUNS - seed) * step / 400, phenomenon=name)
            for step in (0, 4, 16)
            for name in ("all", "BA")
        ]
        rows += [row | {"linking": linking} for row in rows for linking in ("lp", "mean_lp")]
        run = make(rows, seed=seed)  # seeds of one line, whose report shows every table whole
        run.rename(run.with_name(run.name + ("-" + "long_name_without_a_break" * 3 if seed else "")))
    settings = analyze_settings(runs=f"{folder}/runs/*", out=str(folder / "figures"), formats=("png",))
    return analyze(settings)


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    """The report opened on a screen, with all of its sections."""
    with open_page(browser, report, SCREEN) as opened:
        opened.get_by_role("button", name="Open all sections").click()
        opened.locator(".chart svg.marks").nth(1).wait_for()
        yield opened


def _headline(page: Any) -> Any:
    return page.locator('table:has(th:has-text("Last scored"))')


def _column(page: Any, place: int) -> list[str]:
    return _headline(page).locator(f"tbody tr td:nth-child({place})").all_inner_texts()


def _numbers(page: Any, place: int) -> list[float]:
    return [float(text.partition(" (")[0]) for text in _column(page, place)]  # the interval stands behind it


def test_the_page_and_its_figures_are_drawn(page: Any) -> None:
    assert page.title() == "Learning curves on minimal pairs"
    pixels = matplotlib.image.imread(io.BytesIO(page.screenshot()))[::4, ::4]
    assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 20
    assert float(pixels.std()) > 0.05
    charts = page.locator(".chart svg.marks").evaluate_all("all => all.map(one => one.clientWidth)")
    assert len(charts) >= 2
    assert min(charts) > 300


def test_a_heading_sorts_up_then_down_and_numbers_as_numbers_in_text_too(page: Any) -> None:
    headings = _headline(page).locator("thead th").all_inner_texts()
    place = headings.index("Last scored, % (95 % interval)") + 1
    heading = _headline(page).locator(f"thead th:nth-child({place})")
    before = sorted(_numbers(page, place))
    assert before[0] != before[-1]
    heading.locator("button").click()
    assert _numbers(page, place) == before
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.locator("button").press("Enter")
    assert _numbers(page, place) == before[::-1]
    assert heading.get_attribute("aria-sort") == "descending"
    _headline(page).locator("thead th:nth-child(1) button").click()
    seeds = [int(name.split("-s")[1].split("-")[0]) for name in _column(page, 1)]
    assert seeds == list(range(RUNS))


def test_the_page_is_as_wide_as_a_phone_and_no_wider(page: Any) -> None:
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate("[...document.querySelectorAll('.image')].every(one => one.clientWidth <= 375)")


def test_names_stay_on_one_line_and_very_long_ones_break(page: Any) -> None:
    page.set_viewport_size(PHONE)
    cells = _headline(page).locator("tbody tr td:first-child")
    lines = "one => new Set([...(r => (r.selectNodeContents(one), r.getClientRects()))(new Range())].map(b => b.top)).size"
    assert cells.first.inner_text() == "14m-10M-char-demo-s0"
    assert cells.first.evaluate(lines) == 1
    assert cells.nth(1).evaluate(lines) > 1
    page.emulate_media(media="print")  # where nothing scrolls
    assert cells.first.evaluate("one => getComputedStyle(one).whiteSpace") == "normal"


def test_a_single_panel_has_a_good_part_of_the_page(browser: Any, report: Path) -> None:
    context = browser.new_context(viewport=SCREEN, java_script_enabled=False)  # images take the place of charts
    page = context.new_page()
    page.goto(report.as_uri())
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")
    alone = page.locator("details img:not(.wide)")
    assert alone.count() > 0
    alone.evaluate_all("all => Promise.all(all.map(one => one.decode()))")
    widths = alone.evaluate_all("all => all.map(one => [one.width, one.naturalWidth])")
    assert all(width >= 600 and natural > 1.5 * width for width, natural in widths)  # large, and not blurred
    page.set_viewport_size(PHONE)
    assert all(width < PHONE["width"] for width in alone.evaluate_all("all => all.map(one => one.width)"))
    context.close()


def test_the_contents_name_every_question_and_tables_are_whole(page: Any) -> None:
    links = page.locator("nav a")
    assert links.count() == page.locator("details.question").count() >= 3
    targets = [link.get_attribute("href") for link in links.all()]
    assert all(page.locator(f'details[id="{target[1:]}"]').count() == 1 for target in targets)
    assert page.locator(".table").evaluate_all(
        "all => all.every(one => one.scrollHeight <= one.clientHeight + 1)"
    )


def test_a_table_that_goes_on_sideways_says_so(page: Any) -> None:
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(200)
    cues = page.locator(".table").evaluate_all(
        "all => all.map(one => [one.scrollWidth > one.clientWidth + 1, one.previousElementSibling.hidden])"
    )
    assert any(goes_on for goes_on, _ in cues)
    assert all(goes_on != hidden for goes_on, hidden in cues)


def test_it_prints_with_every_row(page: Any) -> None:
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 300})  # as wide as A4 between its margins
    assert page.locator(".table").first.evaluate("one => one.scrollHeight <= one.clientHeight + 1")
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    lines = "one => { const all = new Range(); all.selectNodeContents(one); return all.getClientRects().length; }"
    numbers = page.locator("td.number")
    assert numbers.count() > RUNS
    assert set(numbers.evaluate_all(f"all => all.map({lines})")) == {1}  # a number in two lines would be misread
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_a_long_name_leaves_room_for_numbers_on_a_phone_and_stays_in_view(browser: Any) -> None:
    name, version = "pythia-160m-3B-char-zh-books-hadamard-s0", "torch 2.13.0, " * 12
    numbers = tuple(Column(f"n{place}", f"Number {place}", "number") for place in range(12))
    table = pd.DataFrame({"run": [name] * 6, "versions": version} | {column.name: 1.234 for column in numbers})
    view = TableView("note", (Column("run", "Run"), *numbers, Column("versions", "Versions")), table)
    page = browser.new_page(viewport=PHONE)
    page.set_content(report_html("t", [ReportSection("s", (view,))], {}))
    first = page.locator("tbody tr").first.locator("td:first-child")
    assert 140 <= first.bounding_box()["width"] <= PHONE["width"] / 2
    line = page.evaluate("parseFloat(getComputedStyle(document.querySelector('td')).lineHeight)")
    assert first.evaluate("one => one.parentElement.offsetHeight") <= 10 * line  # the versions, 168 letters
    left = first.bounding_box()["x"]
    page.locator(".table").evaluate("one => { one.scrollLeft = 400; }")
    assert first.bounding_box()["x"] == left
    page.set_viewport_size(SCREEN)
    assert first.evaluate("one => getComputedStyle(one).whiteSpace") == "nowrap"
    page.close()


@pytest.mark.parametrize("size", [SCREEN, PHONE], ids=["screen", "phone"])
def test_axe_finds_no_serious_fault(page: Any, size: dict[str, int]) -> None:
    page.set_viewport_size(size)
    assert axe_findings(page) == []
