import base64
import hashlib
import re

import pandas as pd
import pytest
from altair import LayerChart
from matplotlib.figure import Figure

from tests.analysis.report.page import Page
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.report.html import Column, ReportSection, TableView, report_html

COLUMNS = (
    Column("name", "Name"),
    Column("tokens", "Tokens", "count"),
    Column("accuracy", "Accuracy (%)", "percent"),
)


def _page(table: pd.DataFrame) -> Page:
    return Page(report_html("A & B", [ReportSection("Numbers", (TableView("note", COLUMNS, table),))], {}))


def test_cells_are_shown_for_people_and_keep_the_value_for_sorting() -> None:
    page = _page(pd.DataFrame({"name": ["x"], "tokens": [3_000_000_000], "accuracy": [0.87654]}))
    assert page.tables == [[["Name", "Tokens", "Accuracy (%)"], ["x", "3,000,000,000", "87.65"]]]
    values = [attributes["data-value"] for tag, attributes in page.tags if tag == "td" and "data-value" in attributes]
    assert values == ["3000000000", "0.87654"]


def test_missing_values_are_shown_as_missing() -> None:
    page = _page(pd.DataFrame({"name": [""], "tokens": [None], "accuracy": [float("nan")]}))
    assert page.tables[0][1] == ["", "–", "–"]


def test_names_cannot_write_markup() -> None:
    table = pd.DataFrame({"name": ["<script>alert(1)</script>"], "tokens": [1], "accuracy": [0.5]})
    page = _page(table)
    assert page.tables[0][1][0] == "<script>alert(1)</script>"
    assert [tag for tag, _ in page.tags].count("script") == 1  # the one that sorts


@pytest.mark.parametrize("name", ["العدد", "\u202ename", "ערבי"])
def test_a_name_written_from_right_to_left_does_not_turn_the_number_after_it(name: str) -> None:
    page = report_html("t", [ReportSection("s", (f"First learned: {name} (140K) & <b>.",))], {})
    assert re.search(r"First learned: <bdi>[^ <]+</bdi>(name)? \(140K\) &amp; &lt;b&gt;\.", page)


def test_a_figure_is_embedded_with_its_title_and_note() -> None:
    drawing = Drawing("name", "Title", "How to read it", Figure(), pd.DataFrame())
    page = Page(report_html("t", [ReportSection("s", (drawing,))], {"name": b"\x89PNG"}))
    (image,) = [attributes for tag, attributes in page.tags if tag == "img"]
    assert image["src"] == "data:image/png;base64,iVBORw=="
    assert image["alt"] == "Title. How to read it"


def test_a_figure_with_a_chart_has_its_image_for_readers_without_scripts() -> None:
    chart = LayerChart(layer=[], description="</script><img>")
    drawing = Drawing("name", "Title", "How to read it", Figure(), pd.DataFrame(), chart)
    text = report_html("t", [ReportSection("s", (drawing,))], {"name": b"\x89PNG"})
    assert '"\\u003c/script\\u003e\\u003cimg\\u003e"' in text
    page = Page(text)
    assert [attributes["data-name"] for _, attributes in page.tags if "data-name" in attributes] == ["name"]
    tags = [tag for tag, _ in page.tags]
    assert tags[tags.index("noscript") :][:3] == ["noscript", "div", "img"]


def test_the_page_runs_the_scripts_it_was_written_with_and_no_other() -> None:
    text = report_html("t", [ReportSection("s", ("text",))], {})
    (script,) = re.findall("<script>(.*?)</script>", text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall('Content-Security-Policy" content="([^"]*)"', text)
    assert re.search(r"script-src ([^;]*)", policy)[1].split() == [f"'sha256-{digest}'"]


def test_every_heading_sorts_by_keyboard_too() -> None:
    page = _page(pd.DataFrame({"name": ["x"], "tokens": [1], "accuracy": [0.5]}))
    assert [tag for tag, _ in page.tags].count("button") == 3
