"""The report of a grid in a real browser: short, nothing over anything else, and no wider than a phone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from measurements.shapes.simulated_curves import SLOW, dip, rising, simulate
from tests.analysis.item_runs import make_item_run, pair_table
from tests.analysis.report.browser import open_page
from tests.analysis.synthetic import TOKENS_PER_STEP, run_maker
from tests.settings import analyze_settings
from ucurve.analysis.run import analyze

pytestmark = pytest.mark.long
SCREEN, PHONE = {"width": 1400, "height": 900}, {"width": 390, "height": 844}
PHENOMENA = 12
STEPS = [2**power for power in range(13)]
OVERLAPS = """all => all.flatMap(chart => {
    const boxes = [...chart.querySelectorAll('text')].filter(one => one.textContent.trim())
        .map(one => [one.textContent, one.getBoundingClientRect()]).filter(([, box]) => box.width && box.height);
    return boxes.flatMap(([name, a], place) => boxes.slice(place + 1)
        .filter(([, b]) => a.left + 1 < b.right && b.left + 1 < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom)
        .map(([other]) => `${name} / ${other}`));
})"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models with two tokenizers and two seeds each; in one line a phenomenon gets worse before it gets better."""
    folder, draw = tmp_path_factory.mktemp("grid"), np.random.default_rng(4)
    pairs = pair_table({f"phenomenon_{place}": f"phenomenon_{place}" for place in range(PHENOMENA)}, 30)
    tokens, make = TOKENS_PER_STEP * np.array(STEPS), run_maker(folder)
    for model, tokenizer in (("14m", "char"), ("14m", "bpe"), ("70m", "char"), ("70m", "bpe")):
        points = np.concatenate([
            simulate(dip(0.8, 0.7) if (model, place) == ("14m", 0) else rising(0.5, 0.9), tokens, SLOW, draw,
                     seeds=2, items=30)
            for place in range(PHENOMENA)
        ], axis=2)  # fmt: skip
        for seed in range(2):
            scores = {0: np.tile([0, 2], len(pairs) // 2)} | dict(zip(STEPS, points[seed], strict=True))
            losses = {step: 8 - 0.5 * place for place, step in enumerate(STEPS)}
            make_item_run(make, pairs, scores, seed=seed, model=model, tokenizer=tokenizer, bits=losses)
    return analyze(analyze_settings(runs=f"{folder}/runs/*", out=str(folder / "figures"), formats=("png",)))


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    """The report with every fold open."""
    with open_page(browser, report, SCREEN) as opened:
        opened.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")
        for chart in opened.locator(".chart").all():
            chart.locator("svg.marks").wait_for()
        yield opened


def test_it_is_short_with_every_fold_open(page: Any) -> None:
    assert page.evaluate("document.documentElement.scrollHeight / 900") < 15
    assert page.evaluate("document.body.innerText.split(/\\s+/).length") < 4_200  # with the cards of pairs


def test_no_label_lies_over_another(page: Any) -> None:
    assert page.locator(".chart text").count() > 40
    assert page.locator(".chart svg.marks").evaluate_all(OVERLAPS) == []


def test_tables_have_few_columns_and_rows_and_say_how_many_more(page: Any) -> None:
    sizes = page.locator("table").evaluate_all(
        "all => all.map(one => [one.rows[0].cells.length, one.rows.length])"
    )
    assert len(sizes) > 5
    assert max(columns for columns, _ in sizes) <= 8
    assert max(rows for _, rows in sizes) <= 9
    shapes = page.locator("details.part", has_text="The shape of learning")
    assert f"First 4 of {4 * (PHENOMENA + 1)} rows." in shapes.inner_text()
    assert shapes.locator("tbody tr").first.inner_text().startswith("14m")


def test_a_screen_scrolls_no_table_sideways(page: Any) -> None:
    widths = page.locator(".table").evaluate_all("all => all.map(one => [one.scrollWidth, one.clientWidth])")
    assert len(widths) > 5
    assert all(needed <= there for needed, there in widths)
    assert page.evaluate("document.documentElement.scrollWidth") <= SCREEN["width"]


def test_no_number_is_infinite_and_no_link_is_dead(page: Any, report: Path) -> None:
    assert not {"inf", "-inf", "nan"} & set(page.locator("td").all_inner_texts())
    names = page.locator(":is(.note, figcaption) a").all_inner_texts()
    assert len(names) > 20
    assert [name for name in names if not (report.parent / name).is_file()] == []


def test_a_phone_scrolls_nothing_sideways_but_tables(page: Any) -> None:
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_pictures_are_dark_on_a_dark_page(page: Any) -> None:
    look = "[...document.querySelectorAll('.picture')].map(one => getComputedStyle(one).filter)"
    assert set(page.evaluate(look)) == {"none"}
    page.emulate_media(color_scheme="dark")
    assert all("invert" in found for found in page.evaluate(look))


def test_a_curve_that_turns_has_two_of_the_pairs_that_it_lost(page: Any) -> None:
    turns = page.locator(".facts div", has_text="Which curves turn").locator("p").first.inner_text()
    assert turns.startswith("Phenomenon 0 of 14m")
    assert turns.count("and “b”") == 2
