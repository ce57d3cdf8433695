import base64
import hashlib
import re
from dataclasses import replace

import pandas as pd
import pytest
from altair import LayerChart
from matplotlib.figure import Figure

from tests.analysis.report.page import Page
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.report.html import Column, Question, ReportSection, TableView, brief, report_html

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
    values = [
        attributes["data-value"] for tag, attributes in page.tags if tag == "td" and "data-value" in attributes
    ]
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


def test_a_brief_section_has_its_sentences_one_figure_the_rows_that_matter_and_links() -> None:
    figures = [Drawing(name, name, "How to read it.", Figure(), pd.DataFrame()) for name in ("one", "two")]
    columns = (Column("name", "Name"), Column("p", "p", "p"))
    table = pd.DataFrame(
        {"name": [f"n{place}" for place in range(20)], "p": [1 - place / 20 for place in range(20)]}
    )
    ranked = TableView("The first sentence.", columns, table, {"ranked": table}, "p")
    views = ranked, TableView("No row matters more.", columns, table, {"long": table})
    section = brief(ReportSection("s", ("Said.", *views, *figures), page="docs/shape.md"), "pdf")
    assert [type(item) for item in section.content] == [str, Drawing, TableView]
    text = report_html("t", [replace(section, question=Question("q", "Which?"))], {"one": b"", "two": b""})
    page = Page(text)
    assert [row[0] for row in page.tables[0]] == ["Name", *(f"n{place}" for place in range(19, 15, -1))]
    assert "First 4 of 20 rows." in page.text
    assert "How: docs/shape.md." in page.text
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    assert [link for link in links if link != "#q"] == ["one.csv", "ranked.csv", "long.csv", "one.pdf", "two.pdf"]


def test_the_largest_difference_comes_first_whatever_its_sign() -> None:
    table = pd.DataFrame(
        {"name": [f"n{place}" for place in range(9)], "tokens": 1, "accuracy": [0.1] * 8 + [-0.9]}
    )
    section = brief(ReportSection("s", (TableView("note", COLUMNS, table, {"all": table}, "accuracy"),)), "png")
    page = Page(report_html("t", [replace(section, question=Question("q", "Which?"))], {}))
    assert page.tables[0][:2] == [["Name", "Accuracy (%)"], ["n8", "-90.00"]]
    assert "In all rows: Tokens: 1." in page.text


def test_an_interval_stands_behind_its_number_which_the_column_is_sorted_by() -> None:
    columns = (Column("name", "Name"), Column("mean", "Mean (95 % interval)", "percent", ("low", "high")))
    rows = {"name": ["x", "y"], "mean": [0.612, 0.5], "low": [0.589, None], "high": [0.634, None]}
    page = Page(report_html("t", [ReportSection("s", (TableView("note", columns, pd.DataFrame(rows)),))], {}))
    assert page.tables[0][1:] == [["x", "61.20 (58.90 to 63.40)"], ["y", "50.00"]]
    values = [
        attributes["data-value"] for tag, attributes in page.tags if tag == "td" and "data-value" in attributes
    ]
    assert values == ["0.612", "0.5"]


def test_rows_whose_intervals_differ_are_not_alike() -> None:
    columns = (Column("name", "Name"), Column("mean", "Mean", "percent", ("low", "high")))
    table = pd.DataFrame({"name": list("abcd"), "mean": 0.5, "low": [0.1, 0.2, 0.3, 0.4], "high": 0.9})
    page = Page(report_html("t", [ReportSection("s", (TableView("note", columns, table),))], {}))
    assert page.tables[0][0] == ["Name", "Mean"]


def test_a_table_has_at_most_eight_columns_and_its_csv_all() -> None:
    columns = tuple(Column(f"c{place}", f"C{place}", "count") for place in range(12))
    table = pd.DataFrame({column.name: [place] for place, column in enumerate(columns)})
    html = report_html("t", [ReportSection("s", (TableView("A note.", columns, table, {"all": table}),))], {})
    page = Page(html)
    assert page.tables[0][0] == [f"C{place}" for place in range(8)]
    assert "A note. 4 more columns are in the CSV." in html
    assert ("a", {"href": "all.csv"}) in page.tags


def test_an_infinite_number_is_told_in_words_and_sorts_as_the_largest() -> None:
    page = _page(pd.DataFrame({"name": ["x"], "tokens": [float("inf")], "accuracy": [0.5]}))
    assert page.tables[0][1][1] == "beyond"
    assert [attributes["data-value"] for tag, attributes in page.tags if "data-value" in attributes] == [
        "Infinity",
        "0.5",
    ]
