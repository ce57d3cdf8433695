"""The report of runs like the demo's: its first screen, its folds in a browser, and the boxes of its figures."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from tests.analysis.report.browser import open_page
from tests.analysis.report.demo import CURVES, make_demo_runs
from tests.analysis.studies import study_of
from tests.analysis.synthetic import MakeRun, score_row
from tests.axe import axe_findings
from tests.chart_boxes import chart_faults, count_lines
from tests.settings import analyze_settings
from ucurve.analysis.acquisition.order import FROM_START, LEARNED, NOT_LEARNED, TOO_FEW, Order
from ucurve.analysis.data.settings import AnalyzeSettings
from ucurve.analysis.data.study import Study
from ucurve.analysis.linking.length_bias import draw_alpha
from ucurve.analysis.overview import _describe_order
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import drawing_style
from ucurve.analysis.report.html import FirstScreen, ReportSection
from ucurve.analysis.run import analyze
from ucurve.analysis.sections import make_report

Made: TypeAlias = tuple[FirstScreen, list[ReportSection]]
SCREEN, PHONE = {"width": 1400, "height": 900}, {"width": 390, "height": 844}
_CLIPPED = """() => [...document.querySelectorAll('h1, h2, h3, p, th, td, summary, a, button')].filter(one => {
  const style = getComputedStyle(one);
  return style.overflow !== 'visible' && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0;
}).map(one => one.textContent.slice(0, 40))"""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> AnalyzeSettings:
    folder = tmp_path_factory.mktemp("first_screen")
    return analyze_settings(runs=(make_demo_runs(folder),), out=str(folder / "figures"), formats=("png",))


@pytest.fixture(scope="module")
def analyzed(settings: AnalyzeSettings) -> tuple[Path, Made]:
    """The report, and what it was written from."""
    made: list[Made] = []

    def keep(study: Study) -> Made:
        made.append(make_report(study))
        return made[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ucurve.analysis.sections.make_report", keep)
        return analyze(settings), made[0]


@pytest.fixture(scope="module")
def made(analyzed: tuple[Path, Made]) -> Made:
    return analyzed[1]


@pytest.fixture(scope="module")
def report(analyzed: tuple[Path, Made]) -> Path:
    return analyzed[0]


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    with open_page(browser, report, SCREEN) as opened:
        yield opened


def test_the_first_screen_tells_what_was_trained_learned_and_turns(
    made: Made,
) -> None:
    first, _ = made
    facts = dict(first.facts)
    assert "3 runs of 14m" in facts["What was trained"][0]
    assert "seeds 0, 1 and 2" in facts["What was trained"][0]
    assert "before training and" in facts["What was learned"][0]
    assert facts["What was learned"][1].startswith("Last, with tokens: compound classifier (")
    assert "not told apart" in facts["What was learned"][2]
    assert "Too few pairs to say: ellipsis." in facts["What was learned"]
    assert facts["Which curves turn"][0].startswith("Compound classifier falls from ")
    assert "U-shaped over pairs and 3 seeds (p " in facts["Which curves turn"][0]
    *sentences, card = facts["Which curves turn"]
    assert first.turns == tuple(sentences)
    assert re.search(r"\(the good sentence first\): pair compound_classifier_\d-\d+, “gcompound_", sentences[-1])
    assert card.startswith("<details><summary>More on these pairs</summary><dl ")
    assert card.count("<dt>Differs</dt><dd>“gcompound_classifier_") == 2
    overall, phenomena = first.pictures
    assert set(overall.table["phenomenon"]) == {"all"}
    assert phenomena.figure.axes[0].get_title() == "compound classifier"
    assert len([axes for axes in phenomena.figure.axes if axes.axison]) == len(CURVES)


def test_runs_that_differ_in_checkpoints_and_pairs_are_told_with_both_numbers(
    make_run: MakeRun, tmp_path: Path
) -> None:
    make_run([score_row(step, 0.6) for step in (0, 4, 8)], seed=0)
    make_run([score_row(step, 0.5, n=90) for step in (0, 4)], seed=1, status="running")
    first, _ = make_report(study_of(tmp_path))
    facts = dict(first.facts)
    assert facts["What was trained"][0].endswith("seeds 0 and 1, with 2 to 3 checkpoints each.")
    assert facts["What was learned"][0] == (
        "Accuracy on zho: 50.0 to 60.0 % before training and 50.0 to 60.0 % at the last scored checkpoint (2 runs, 90 to "
        "100 pairs, by slln_lp; chance is 50 %)."
    )


def test_only_what_is_surely_first_or_last_is_told_as_that() -> None:
    ranks = {
        "BA": (5000, LEARNED, 1, 1), "anaphor": (80_000, LEARNED, 4, 4), "quantifiers": (9000, LEARNED, 2, 3),
        "ellipsis": (12_000, LEARNED, 2, 3), "question": (np.nan, NOT_LEARNED, 5, 5),
        "npi": (1024, FROM_START, np.nan, np.nan), "raising": (np.nan, TOO_FEW, np.nan, np.nan),
    }  # fmt: skip
    table = pd.DataFrame.from_dict(ranks, "index", columns=["onset", "state", "rank_low", "rank_high"])
    table = table.rename_axis("phenomenon").reset_index().assign(name="14m", rank=table["rank_low"].to_numpy())
    table = table.assign(onset_high=2 * table["onset"], onset_censored=["left", *[""] * 6])
    assert list(_describe_order(Order(table, pd.DataFrame()))) == [
        "First learned, with tokens: BA (at most 10K).",
        "Last, with tokens: anaphor (80K).",
        "Learned, with tokens: quantifiers (9K) and ellipsis (12K), not told apart.",
        "Above 55 % from the start: npi.",
        "Not learned at the end: question.",
        "Too few pairs to say: raising.",
        "Learned: the accuracy comes above 55 % to stay, from below it; first and last: in the first and the last half of "
        "the order, with 95 %.",
    ]


def test_what_one_model_cannot_answer_is_left_out_and_named(made: Made, report: Path) -> None:
    left_out = {section.heading: section.left_out for section in made[1] if section.left_out}
    assert left_out["Models side by side on zho"] == "these runs are seeds of one model"
    assert left_out["Accuracy against FLOPs on zho"].startswith("one model and budget")
    assert (report.parent / "heat_map_zho.png").is_file()
    text = report.read_text(encoding="utf-8")
    assert "Models side by side on zho (these runs are seeds of one model)" in text
    assert '"heat_map_zho"' not in text


def test_the_first_screen_fits_a_screen_and_sections_are_folded(page: Any) -> None:
    bottom = page.locator(".pictures").evaluate("one => one.getBoundingClientRect().bottom")
    assert bottom <= SCREEN["height"]
    assert page.locator("details.question[open]").count() == 0
    assert page.evaluate("document.documentElement.scrollHeight") <= 2 * SCREEN["height"]


def test_folds_open_by_keyboard_by_address_and_by_the_button(page: Any, report: Path) -> None:
    summary = page.locator("details.question > summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("details.question").first.evaluate("one => one.open")
    page.goto(f"{report.as_uri()}#shapes")
    assert page.locator("details#shapes").evaluate("one => one.open")
    inner = page.locator("details#shapes details.part").last
    page.evaluate("name => { location.hash = name; }", inner.get_attribute("id"))
    page.wait_for_timeout(100)
    assert inner.evaluate("one => one.open")
    page.get_by_role("button", name="Open all sections").click()
    assert page.locator("details[id]:not([open])").count() == 0
    page.locator(".chart svg.marks").last.wait_for()
    assert page.locator(".chart svg.marks").count() == page.locator(".chart").count()


@pytest.mark.parametrize("size", [SCREEN, PHONE], ids=["screen", "phone"])
def test_nothing_is_clipped_or_wider_than_the_page(page: Any, size: dict[str, int]) -> None:
    page.get_by_role("button", name="Open all sections").click()
    page.set_viewport_size(size)
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert page.evaluate(_CLIPPED) == []


@pytest.mark.parametrize("size", [SCREEN, PHONE], ids=["screen", "phone"])
def test_charts_have_all_phenomena_in_looks_of_their_own_and_no_cut_text(page: Any, size: dict[str, int]) -> None:
    page.set_viewport_size(size)
    page.get_by_role("button", name="Open all sections").click()
    page.locator(".chart svg.marks").last.wait_for()
    assert max(count_lines(page, ".chart svg.marks")) == len(CURVES)
    names = {name.replace("_", " ") for name in CURVES}
    assert names <= set(page.locator(".chart svg text").all_text_contents())
    assert chart_faults(page, ".chart svg.marks") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(page: Any, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.get_by_role("button", name="Open all sections").click()
    assert axe_findings(page) == []


def _text_boxes(figure: Figure) -> list[tuple[str, Any]]:
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    hidden = {text for axes in figure.axes if not axes.axison for text in axes.findobj(Text)}
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            hidden |= {text for tick in ticks if not low <= tick.get_loc() <= high for text in tick.findobj(Text)}
            hidden |= {text for tick in ticks for text in (tick.label1, tick.label2) if not text.get_visible()}
    return [(text.get_text(), text.get_window_extent()) for text in texts if text not in hidden]


def layout_faults(drawing: Drawing) -> list[str]:
    """Texts that leave the canvas, and pairs of texts that overlap, as they are drawn."""
    figure = drawing.figure
    with drawing_style():
        figure.canvas.draw()
        boxes, canvas = _text_boxes(figure), figure.bbox
        faults = [
            f"{drawing.name}: {text!r} leaves the canvas" for text, box in boxes
            if min(box.x0 - canvas.x0, box.y0 - canvas.y0, canvas.x1 - box.x1, canvas.y1 - box.y1) < -0.5
        ]  # fmt: skip
        for (one, box), (other, beside) in itertools.combinations(boxes, 2):
            across = min(box.x1, beside.x1) - max(box.x0, beside.x0)
            up = min(box.y1, beside.y1) - max(box.y0, beside.y0)
            if across > 1 and up > 1:
                faults.append(f"{drawing.name}: {one!r} overlaps {other!r}")
    return faults


def _alpha() -> Drawing:
    alphas = np.linspace(0, 1, 21)
    bands = pd.DataFrame({
        "benchmark": "demo", "line": "char, demo", "alpha": alphas, "models": 1,
        "accuracy_unequal": 0.977 + 0.006 * alphas, "accuracy_unequal_sd": np.nan,
    })  # fmt: skip
    return draw_alpha(bands, "accuracy_unequal")


def test_no_text_of_a_figure_is_clipped_or_overlaps_another(made: Made) -> None:
    drawings = [*made[0].pictures, *(drawing for section in made[1] for drawing in section.drawings), _alpha()]
    names = {drawing.name for drawing in drawings}
    assert {
        "against_zho",
        "change_points_zho_overall",
        "shapes_zho_phenomena",
        "length_bias_accuracy_unequal",
    } <= names
    faults = [fault for drawing in drawings for fault in layout_faults(drawing)]
    assert faults == []


def test_a_fault_of_layout_is_found() -> None:
    figure = Figure()
    matplotlib.backends.backend_agg.FigureCanvasAgg(figure)
    figure.text(0.5, 0.999, "above the edge")
    figure.text(0.1, 0.5, "one on")
    figure.text(0.12, 0.5, "another")
    found = layout_faults(Drawing("faulty", "", "", figure, pd.DataFrame()))
    assert found == ["faulty: 'above the edge' leaves the canvas", "faulty: 'one on' overlaps 'another'"]
