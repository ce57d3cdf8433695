"""The report's charts in a real browser: what they show, what a reader can do with them, and what names cannot do."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.studies import scored_of
from tests.analysis.synthetic import run_maker, score_row
from ucurve.analysis.curves.flops import draw_flops_curves, flops_table
from ucurve.analysis.curves.learning import curve_table, curve_tables, draw_learning_curves
from ucurve.analysis.curves.loss import draw_loss_curves, loss_table
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.plotting.figures import Drawing, render
from ucurve.analysis.report.html import ReportSection, report_html

MARKUP = "<img src=x onerror=alert(1)>"
HOSTILE = f"70m, {MARKUP}"
SCREEN = {"width": 1400, "height": 900}
PHONE = {"width": 390, "height": 844}
OVERALL, PHENOMENA = "learning_overall", "learning_phenomena"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on two lines of runs; a tokenizer, a phenomenon and a linking function have markup for a name."""
    folder = tmp_path_factory.mktemp("charts")
    make = run_maker(folder)
    for model, tokenizer, gain in (("14m", "char", 0.02), ("70m", MARKUP, 0.01)):
        rows = [
            score_row(step, 0.5 + gain * step - 0.1 * (linking != "slln_lp"), phenomenon=name, linking=linking)
            for step in (0, 4, 16) for name in ("all", "BA", MARKUP) for linking in ("slln_lp", MARKUP)
        ]  # fmt: skip
        make(rows, model=model, tokenizer=tokenizer, bits={1: 8.0, 4: 7.0, 16: 6.0})
    drawings = _drawings(scored_of(folder))
    images = {drawing.name: render(drawing, "png") for drawing in drawings}
    path = folder / "report.html"
    path.write_text(report_html("Report", [ReportSection("Curves", drawings)], images), encoding="utf-8")
    return path


def _drawings(scored: BenchmarkScores) -> tuple[Drawing, ...]:
    runs, table = scored.study.runs, curve_table(scored.curve_rows(), scored.study.runs)
    learning = draw_learning_curves(table, "learning", scored.title, every=curve_tables(scored))
    flops = draw_flops_curves(flops_table(table, runs), "flops", scored.title)
    loss = draw_loss_curves(loss_table(scored.study.metrics), "loss")
    return *learning, *flops, loss


@pytest.fixture(scope="module")
def opened(browser: Any, report: Path) -> Iterator[tuple[Any, list[str]]]:
    """The report with its charts drawn, opened once, and all that it said or asked for."""
    page, said = browser.new_page(viewport=SCREEN), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append("a dialog opened"), dialog.dismiss()))
    page.on("request", lambda request: said.append(request.url) if request.url != report.as_uri() else None)
    page.goto(report.as_uri())
    page.locator(".chart svg.marks").nth(4).wait_for()
    yield page, said
    page.close()


@pytest.fixture
def page(opened: tuple[Any, list[str]]) -> Iterator[Any]:
    """The opened report; any message, request or dialog fails the test in which it comes."""
    yield opened[0]
    assert not opened[1]


def _chart(page: Any, name: str) -> Any:
    return page.locator(f'figure:has([data-name="{name}"])')


def _labels(chart: Any) -> list[str]:
    return chart.locator(".role-legend-label text").all_text_contents()


def _points(chart: Any) -> list[tuple[float, float]]:
    """Where the points of full color are drawn, line by line."""
    marks = chart.locator(".role-mark.mark-symbol").first.locator("path")
    found = marks.evaluate_all("all => all.filter(one => one.getAttribute('opacity') !== '0.08')"
                               ".map(one => one.getAttribute('transform'))")  # fmt: skip
    return [tuple(float(value) for value in re.findall(r"-?[\d.]+", text)[:2]) for text in found]


def _ticks(chart: Any) -> list[tuple[str, str]]:
    """The labels of the axis of tokens and their places."""
    labels = chart.locator(".role-axis-label").first.locator("text")
    return sorted(
        map(tuple, labels.evaluate_all("all => all.map(one => [one.textContent, one.getAttribute('transform')])"))
    )


def _legend_is_whole(chart: Any) -> bool:
    svg = chart.locator("svg.marks").bounding_box()
    last = chart.locator(".role-legend-label text").last.bounding_box()
    return last["y"] + last["height"] <= svg["y"] + svg["height"] + 1


def _wait_until(page: Any, holds: Callable[[], bool]) -> None:
    """Wait for a chart that is drawn again; how long that takes is the machine's."""
    for _ in range(100):
        if holds():
            return
        page.wait_for_timeout(100)
    raise AssertionError("the chart is not what it should be after 10 s")


def _point_at(page: Any, chart: Any, place: tuple[float, float]) -> str:
    """Move the pointer to a place of the panel and return the text of the tooltip."""
    panel = chart.locator("svg .role-frame .background").first.bounding_box()
    page.mouse.move(panel["x"] + place[0], panel["y"] + place[1] + 1)
    page.mouse.move(panel["x"] + place[0], panel["y"] + place[1])
    page.locator("#vg-tooltip-element.visible").wait_for()
    return page.locator("#vg-tooltip-element").inner_text()


def test_every_curve_is_a_chart_and_its_image_is_for_readers_without_scripts(page: Any) -> None:
    names = page.locator(".chart").evaluate_all("all => all.map(one => one.dataset.name)")
    assert names == [OVERALL, PHENOMENA, "flops_overall", "flops_phenomena", "loss"]
    assert page.locator(".chart svg.marks").count() == 5
    widths = page.locator(".chart svg.marks").evaluate_all("all => all.map(one => one.clientWidth)")
    assert [width > 1000 for width in widths] == [True, False, True, True, True]  # two panels need less
    assert page.locator("figure:has(.chart) img").count() == 0
    assert all(chart.get_attribute("aria-label").startswith("Learning curves") for chart in (
        _chart(page, OVERALL).locator(".chart [role=graphics-document]"),
        _chart(page, PHENOMENA).locator(".chart [role=graphics-document]"),
    ))  # fmt: skip


def test_without_scripts_the_images_are_shown(browser: Any, report: Path) -> None:
    context = browser.new_context(viewport=SCREEN, java_script_enabled=False)
    opened = context.new_page()
    opened.goto(report.as_uri())
    assert opened.locator("figure:has(.chart) img").count() == 5
    assert opened.locator("figure:has(.chart) img").first.bounding_box()["width"] > 500
    context.close()


def test_names_with_markup_are_text_in_legend_menu_and_tooltip(page: Any) -> None:
    overall, phenomena = _chart(page, OVERALL), _chart(page, PHENOMENA)
    assert _labels(overall) == ["14m, char", HOSTILE]
    assert _labels(phenomena) == _labels(overall)
    titles = phenomena.locator(".column_header text, .role-column-header text, .role-title-text text")
    assert [text for text in titles.all_text_contents() if text in (MARKUP, "BA")] == [MARKUP, "BA"]
    assert phenomena.locator("select[name=linking] option").all_inner_texts() == ["slln_lp", MARKUP]
    overall.scroll_into_view_if_needed()
    assert MARKUP in _point_at(page, overall, _points(overall)[-1])
    assert page.locator("#vg-tooltip-element img, .chart img").count() == 0


def test_the_tooltip_has_the_values_of_a_point(page: Any) -> None:
    overall = _chart(page, OVERALL)
    overall.scroll_into_view_if_needed()
    text = _point_at(page, overall, _points(overall)[2])
    cells = [cell for cell in re.split(r"\s*[\t\n]\s*", text) if cell]
    assert dict(zip(cells[::2], cells[1::2], strict=True)) == {
        "Linking function": "slln_lp", "Line": "14m, char", "Phenomenon": "all phenomena",
        "Accuracy (%)": "82.00", "Band (%)": "72.00 to 92.00", "Number of runs": "1", "Step": "16", "Tokens": "262,144",
    }  # fmt: skip


def test_a_click_on_the_legend_isolates_a_line_and_shift_adds_one(page: Any) -> None:
    chart = _chart(page, OVERALL)
    chart.scroll_into_view_if_needed()
    both = len(_points(chart))
    chart.locator(".role-legend-label text").first.click()
    _wait_until(page, lambda: len(_points(chart)) == both / 2)
    chart.locator(".role-legend-label text").last.click(modifiers=["Shift"])
    _wait_until(page, lambda: len(_points(chart)) == both)
    chart.locator(".role-legend-label text").last.click()
    _wait_until(page, lambda: len(_points(chart)) == both / 2)
    panel = chart.locator("svg .role-frame .background").first.bounding_box()
    page.mouse.dblclick(panel["x"] + 300, panel["y"] + 20)
    _wait_until(page, lambda: len(_points(chart)) == both)


def test_the_menus_choose_linking_function_runs_and_a_line(page: Any) -> None:
    chart = _chart(page, OVERALL)
    before = _points(chart)
    chart.get_by_role("combobox", name="Linking function").select_option(MARKUP)
    _wait_until(page, lambda: _points(chart) != before)
    after = _points(chart)
    assert [x for x, _ in after] == [x for x, _ in before]
    assert all(lower > higher for (_, lower), (_, higher) in zip(after, before, strict=True))  # y grows downward
    chart.get_by_role("combobox", name="Phenomenon").select_option("BA")
    chart.get_by_role("combobox", name="Only line").select_option(HOSTILE)
    _wait_until(page, lambda: len(_points(chart)) == len(before) / 2)
    for menu in chart.get_by_role("combobox").all():
        menu.select_option(index=0)
    _wait_until(page, lambda: _points(chart) == before)


def test_the_wheel_zooms_with_the_control_key_only_and_a_double_click_resets(page: Any) -> None:
    chart = _chart(page, OVERALL)
    chart.scroll_into_view_if_needed()
    before = _ticks(chart)
    panel = chart.locator("svg .role-frame .background").first.bounding_box()
    page.mouse.move(panel["x"] + 300, panel["y"] + 150)
    page.mouse.wheel(0, 3)
    page.wait_for_timeout(100)
    assert _ticks(chart) == before
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    _wait_until(page, lambda: _ticks(chart) != before)
    page.keyboard.up("Control")
    panel = chart.locator("svg .role-frame .background").first.bounding_box()
    page.mouse.dblclick(panel["x"] + 300, panel["y"] + 150)
    _wait_until(page, lambda: _ticks(chart) == before)


def test_charts_fit_a_phone_and_paper(page: Any) -> None:
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    assert page.locator(".menus").first.is_visible()  # what was chosen belongs to the printed chart
    page.emulate_media(media="screen")
    page.set_viewport_size(PHONE)
    _wait_until(page, lambda: page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"])
    for chart in page.locator("figure:has(.chart)").all():
        _wait_until(page, partial(_legend_is_whole, chart))
