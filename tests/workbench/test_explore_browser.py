"""The room Explore in a real browser, on a trained and scored run."""

import io
import itertools
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from tests.analysis.report.browser import open_browser
from tests.axe import axe_findings
from tests.chart_boxes import chart_faults, count_lines
from tests.workbench import test_explore
from tests.workbench.boxes import text_faults
from tests.workbench.conftest import ALPHAS, Server
from tests.workbench.test_explore import write_scored_run
from ucurve.analysis.items.seen_before import find_seen_pair
from ucurve.errors import UserError
from ucurve.eval.store.scores import pairs_path, score_path
from ucurve.eval.store.views import remove_tables
from ucurve.training.replay import open_batches

expect = pytest.importorskip(
    "playwright.sync_api", reason="the browser's driver is not installed (extra dev)"
).expect
pytestmark = pytest.mark.long
expect.set_options(timeout=20_000)

CHARTS = ".panel svg, #chart svg"
SEPARATOR = "<eos>"
LINES = 9  # more than there are colors


@pytest.fixture(scope="module")
def server(scored_run, trained_run, tmp_path_factory):
    """A workbench with the scored run and the text that it was trained on."""
    folder = tmp_path_factory.mktemp("explore")
    shutil.copytree(trained_run.parents[1] / "cache", folder / "cache")
    first = folder / "runs" / scored_run.name
    shutil.copytree(scored_run, first)
    server = Server(folder, f"runs={folder}/runs/*").start()
    server.run = first
    yield server
    server.kill()


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


@pytest.fixture
def visit(server, browser):
    """Open an address of the room; what the browser complains about, or asks of the network, is an error."""
    complaints, pages = [], []

    def open_page(address="", width=1400, scheme="light", height=1000):
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda one: complaints.append(one.text) if one.type in ("error", "warning") else None)
        page.on("request", lambda one: None if one.url.startswith((server.url, "data:", "blob:"))
                else complaints.append(one.url))  # fmt: skip
        page.on(
            "response", lambda one: complaints.append(f"{one.status} {one.url}") if one.status >= 500 else None
        )
        page.goto(server.address("explore"))
        if address:
            page.goto(f"{server.url}/explore?{address}")
        page.wait_for_selector("body[data-ready]")
        expect(page.locator(".panel svg").first).to_be_visible()
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert complaints == []


def test_curves_are_those_of_the_scores(visit, server):
    page = visit("by=all")
    accuracy = pd.read_csv(server.run / "eval/accuracy.csv")
    overall = accuracy[(accuracy["phenomenon"] == "all") & (accuracy["split"] == "all")]
    slider = page.locator("#parameters input[type=range]")
    for alpha in ALPHAS:
        slider.evaluate("(one, value) => { one.value = value; one.dispatchEvent(new Event('input')); }", alpha)
        named = f"Linking function slln_lp:{float(alpha):g}"
        expect(page.locator("#curve-notes")).to_contain_text(named)
        shown = downloaded(page, "#save-csv")
        known = overall[(overall["linking"] == f"slln_lp:{float(alpha):g}") & (overall["paradigm"] == "all")]
        assert shown["accuracy"].tolist() == pytest.approx(
            known.sort_values("step")["accuracy"].tolist(), abs=1e-12
        )
    expect(page.locator("#curve-notes")).to_have_text(re.compile("band: .*interval"))
    expect(page.locator("#shapes")).to_contain_text(re.compile("rising|undetermined|not tested"))
    assert "0.0000" not in page.inner_text("#shapes")


def test_the_page_says_while_shapes_are_tested(visit):
    page = visit()
    expect(page.locator("#shapes table")).to_be_visible()
    held = []
    page.route("**/explore/api/shapes*", lambda request: held.append(request))  # noqa: PLW0108
    page.select_option("#by", "paradigm")
    expect(page.locator("#testing")).to_have_text(re.compile(r"Testing the shapes of \d+ curves"))
    page.route("**/explore/api/shapes*", lambda request: request.continue_())
    for request in held:
        request.continue_()
    expect(page.locator("#testing")).to_be_empty()
    expect(page.locator("#shapes table")).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_all_phenomena_are_drawn_and_nothing_is_cut(visit, server, width, scheme):
    page = visit(width=width, scheme=scheme)
    accuracy = pd.read_csv(server.run / "eval/accuracy.csv")
    names = set(accuracy["phenomenon"]) - {"all"}
    assert set(page.locator(".panel").evaluate_all("all => all.map(one => one.dataset.name)")) == names
    for panel in page.locator(".panel").all():
        panel.scroll_into_view_if_needed()
        expect(panel.locator(".mark-line path").first).to_be_attached()
    ticks = page.locator(".panel .role-axis-label text").all_text_contents()
    assert {"0", "50", "100"} <= set(ticks)
    assert not {"110", "-10"} & set(ticks)
    assert chart_faults(page, CHARTS) == []
    assert text_faults(page) == []
    assert min(count_lines(page, CHARTS)) >= 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_findings(page) == []


def test_no_two_of_many_lines_look_alike(browser, tmp_path):
    for number in range(LINES):
        write_scored_run(tmp_path / f"runs/m{number}-1M-char-toy-s0", 0, f"cell {number}", ["slln_lp"])
    server = Server(tmp_path).start()
    try:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(server.address("explore"))
        page.wait_for_selector("body[data-ready]")
        expect(page.locator("#legend button")).to_have_count(LINES)
        expect(page.locator(".panel svg")).to_have_count(2)
        assert count_lines(page, CHARTS) == [LINES] * 3
        assert chart_faults(page, CHARTS) == []
        assert text_faults(page) == []
        page.locator("#legend button").nth(3).click()
        expect(page.locator("#legend button[aria-pressed=true]")).to_have_count(1)
        page.evaluate(
            "for (const line of document.querySelectorAll('.mark-line path')) line.setAttribute('stroke', '#000')"
        )
        assert any("look alike" in fault for fault in chart_faults(page, CHARTS))
        page.close()
    finally:
        server.kill()


def test_lines_of_a_level_are_hidden_and_colors_are_by_a_factor(browser, tmp_path):
    for model, cell in itertools.product(("tiny", "other"), "xy"):
        write_scored_run(tmp_path / f"runs/{model}-{cell}-s0", 0, cell, ["slln_lp"])
    server = Server(tmp_path).start()
    try:
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(60_000)
        page.goto(server.address("explore"))
        page.wait_for_selector("body[data-ready]")
        level, legend = page.get_by_role("button", name="tiny", exact=True), page.locator("#legend button")
        expect(legend).to_have_count(4)
        before = page.locator("#legend").inner_html()
        level.focus()
        page.keyboard.press("Space")
        expect(legend).to_have_count(2)
        expect(level).to_have_attribute("aria-pressed", "false")
        expect(page.locator("#shapes table")).to_be_visible(timeout=60_000)
        assert "tiny" not in page.inner_text("#drawn #shapes") + page.inner_text("#legend")
        page.get_by_role("button", name="other", exact=True).click()
        expect(page.locator("#message")).to_contain_text("cannot be hidden")
        expect(legend).to_have_count(2)
        page.reload()
        expect(legend).to_have_count(2)
        page.go_back()
        expect(legend).to_have_count(4)
        page.select_option("#color", index=1)
        expect(page).to_have_url(re.compile("color="))
        page.wait_for_function("before => document.querySelector('#legend').innerHTML !== before", arg=before)
        assert axe_findings(page) == []
        page.close()
    finally:
        server.kill()


def test_a_view_is_in_its_address_and_the_back_button_works(visit, browser, server):
    page = visit()
    phenomena = page.locator(".panel").count()
    page.locator(".panel").nth(2).click()
    name = page.locator(".panel").nth(2).get_attribute("data-name")
    page.check("#kinds input[value=right]", force=True)
    expect(page.locator("#kinds .note")).to_contain_text("right: ")  # the list has come
    page.locator("#pairs li a").nth(1).click()
    expect(page.locator("#pinned .tokens")).to_be_visible(timeout=60_000)
    pair = page.locator(".pair.open").get_attribute("data-pair")
    expect(page).to_have_url(re.compile("pair="))
    again = visit(page.url.partition("?")[2])
    expect(again.locator(".panel[aria-current]")).to_have_attribute("data-name", name)
    expect(again.locator(".pair.open")).to_have_attribute("data-pair", pair)
    expect(again.locator("#pinned .tokens")).to_be_visible(timeout=60_000)
    expect(again.locator("#kinds input[value=right]")).to_be_checked()
    expect(again.locator("#step-text")).to_have_text(page.inner_text("#step-text"))
    page.go_back()
    expect(page.locator("#pinned")).to_be_hidden()
    page.go_back()
    expect(page.locator("#kinds input[value=all]")).to_be_checked()
    page.select_option("#by", "paradigm")
    expect(page.locator(".panel")).not_to_have_count(phenomena)
    expect(page).to_have_url(re.compile("by=paradigm"))
    page.go_back()
    expect(page.locator("#by")).to_have_value("phenomenon")


def test_a_pair_is_reached_by_keyboard_alone(visit):
    page = visit()
    page.focus("#find")
    page.keyboard.type("a")
    page.keyboard.press("Backspace")
    while page.evaluate("!document.activeElement.matches('.panel')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    name = page.evaluate("document.activeElement.dataset.name")
    says = re.compile(r": (rises|falls|stays) .* \(\d+ pairs(; (not )?shown|; not tested|\))")
    expect(page.locator(".panel:focus")).to_contain_text(says)
    expect(page.locator("#point-title")).to_have_text(name.replace("_", " "))
    page.keyboard.press("Home")
    expect(page.locator("#step-text")).to_contain_text("step 0")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#step-text")).to_contain_text(", 2 of")
    step = re.match(r"step (\d+) ", page.inner_text("#step-text"))[1]
    expect(page.locator("#kinds legend")).to_contain_text(f"at step {step} ")  # the list of this point has come
    page.keyboard.press("Enter")
    expect(page.locator(".panel[aria-current]")).to_have_attribute("data-name", name)
    expect(page.locator("#pairs li").first).to_be_visible()
    while page.evaluate("!document.activeElement.matches('#pairs a')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#pinned .of-tokens")).to_contain_text("Sums:", timeout=60_000)
    sums = [float(number) for number in re.findall(r"-\d+\.\d+", page.inner_text(".of-tokens .note"))]
    assert sums[:2] == pytest.approx(sums[2:], abs=2e-3)
    expect(page.locator(".pair.open a:focus")).to_have_count(1)
    assert axe_findings(page) == []


def test_an_open_pair_stays_over_twenty_steps_runs_and_kinds(browser, tmp_path, monkeypatch):
    steps = [0, *(2**power for power in range(19))]
    monkeypatch.setattr(test_explore, "STEPS", steps)
    for seed in (0, 1):
        test_explore.write_scored_run(tmp_path / f"runs/tiny-1M-char-toy-s{seed}", seed, "x", ["slln_lp"])
    server = Server(tmp_path).start()
    try:
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(server.address("explore"))
        page.wait_for_selector("body[data-ready]")
        page.locator("#pairs li a").nth(4).click()
        pinned = page.locator("#pinned")
        expect(pinned.locator(".history svg")).to_be_visible()
        assert count_lines(page, ".history svg") == [2]
        name = pinned.locator("h3").inner_text()
        page.focus("#step")
        page.keyboard.press("Home")
        rules, places = (
            pinned.locator(".role-mark.mark-rule line"),
            set(),
        )  # the last of them is at the checkpoint
        for step in steps:
            expect(pinned.locator(".facts")).to_contain_text(f"at step {step:,}")
            expect(pinned.locator("h3")).to_have_text(name)
            page.wait_for_timeout(100)  # while the chart is drawn again
            places.add(round(rules.last.bounding_box()["x"]))
            page.keyboard.press("ArrowRight")
        assert len(places) == len(steps)
        for kind in ("wrong", "right", "tied"):
            page.check(f"#kinds input[value={kind}]", force=True)
            expect(page.locator("#kinds .note")).to_contain_text(f"{kind}: ")
            expect(pinned.locator("h3")).to_have_text(name)
        margin = pinned.locator(".facts").inner_text()
        page.select_option("#run", index=1)
        expect(pinned.locator(".facts")).not_to_have_text(margin)
        expect(pinned.locator("h3")).to_have_text(name)
        page.click("#pinned button")
        expect(pinned).to_be_hidden()
        page.close()
    finally:
        server.kill()


def test_six_pairs_are_whole_beside_the_curves(visit):
    page = visit(height=900)
    expect(page.locator("#shapes table")).to_be_visible()
    boxes = [one.bounding_box() for one in page.locator("#pairs li").all()[:6]]
    assert all(box["y"] >= 0 and box["y"] + box["height"] <= 900 for box in boxes)
    assert page.locator(".panel").first.bounding_box()["x"] + 300 < boxes[0]["x"]


def test_what_a_run_had_read_of_a_pair_is_that_of_its_batches(visit, server):
    page = visit("curve=verb_phrase")
    page.locator("#pairs li a").first.click()
    page.locator("#pinned .why > summary").click()
    expect(page.locator("#pinned .members")).to_be_visible(timeout=60_000)
    card = page.locator("#pinned .pair-card")
    expect(card.locator("dt")).to_have_text(["Differs", "Read by then", "Length", "Checks"])
    seen = list(open_batches(server.run, server.folder / "cache").between(0, last_step(page)))
    items = page.locator("#pinned .members > div > ul > li").all()
    assert items
    for item in items:
        ngram, said = item.locator("strong").first.inner_text(), item.inner_text()
        count = sum(text[place:].startswith(ngram) for one in seen for text in one.text[1:].split(SEPARATOR)
                    for place in range(len(text)))  # fmt: skip
        told = re.search(r"never|once|([\d,]+) times", said)
        assert {"never": 0, "once": 1}.get(told[0]) == count or int((told[1] or "-1").replace(",", "")) == count
    with_lines = next(item for item in items if item.locator("summary").count())
    with_lines.locator("summary").click()
    ngram = with_lines.locator("strong").inner_text()
    assert all(ngram in line for line in with_lines.locator("ul li").all_inner_texts())
    page.focus("#step")
    page.keyboard.press("Home")
    expect(page.locator("#pinned .members strong + *")).to_have_count(0)  # of nothing
    expect(page.locator("#pinned .members > div > ul > li").first).to_contain_text("never")
    expect(card.locator("dd").nth(1)).to_have_text(re.compile(r"^“.*” never.* \(good\); “.*” never.* \(bad\)$"))


def test_a_sentence_is_found_by_a_part_of_it_and_the_view_is_in_the_address(visit):
    page = visit("curve=verb_phrase")
    expect(page.locator("#pairs li")).to_have_count(50)
    text = page.locator("#pairs li .of-bad").nth(7).text_content().removeprefix("Bad: ")[:4]
    every = page.locator("#kinds b").first.inner_text()
    page.get_by_label("Find a sentence").fill(text)
    expect(page.locator("#kinds b").first).not_to_have_text(every)
    found = page.locator("#pairs li").all_text_contents()
    assert 0 < len(found) < 50
    assert all(text in one for one in found)
    expect(page).to_have_url(re.compile("text="))
    page.reload()
    expect(page.locator("#pairs li")).to_have_count(len(found))
    expect(page.get_by_label("Find a sentence")).to_have_value(text)


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ("U-shaped", "shown by the test"), ("U-shaped (2 runs: indicative)", "2 runs: indicative"),
        ("U-shaped (this run)", "shown by the test, this run"), ("rising", "not shown: may be chance"),
    ],
)  # fmt: skip
def test_a_tile_says_of_a_dip_what_the_table_says(visit, shape, said):
    rows = {"classes": [{"value": "a", "line": "x", "shape": shape}]}
    script = "async rows => (await import('/static/shapes.js')).isShown(rows, {name: 'a', line: 'x', dips: true})"
    assert visit().evaluate(script, rows) == [said]


def test_steps_and_pairs_that_are_not_there_are_named(server):
    pairs = pd.read_parquet(pairs_path(server.run, "demo"))
    with pytest.raises(UserError, match="step 99 is none of its training, which has the steps 0 to 6"):
        find_seen_pair(server.run, 99, pairs, 0)
    with pytest.raises(UserError, match="there is no pair 9999; they are 0 to 3599"):
        find_seen_pair(server.run, 6, pairs, 9999)


def test_a_word_of_the_page_is_explained_where_it_stands(visit):
    page = visit()
    expect(page.locator("#shapes table")).to_be_visible()
    words = page.locator("a.term:visible").all()
    assert len(words) >= 6
    for word in words:
        word.dispatch_event("pointerover")  # a pointer that moves over a curve would hide other words
        assert len(word.get_attribute("title")) > 20
        assert page.locator(word.get_attribute("href")).count() == 1


def test_a_pair_of_a_list_that_is_about_to_change_opens_where_it_was_listed(visit):
    page = visit()
    expect(page.locator("#shapes table")).to_be_visible()  # after which the curves keep their order
    shown, other = (page.locator(".panel").nth(number).get_attribute("data-name") for number in (0, 1))
    pair = page.locator("#pairs li").first.get_attribute("data-pair")
    held = []
    page.route("**/explore/api/pairs*", lambda request: held.append(request))  # noqa: PLW0108
    with page.expect_request("**/explore/api/pairs*"):
        page.locator(".panel").nth(1).click()
    expect(page.locator("#point-title")).to_have_text(other.replace("_", " "))
    page.locator("#pairs li a").first.click()
    page.route("**/explore/api/pairs*", lambda request: request.continue_())
    for request in held:
        request.continue_()
    expect(page.locator(".pair.open")).to_have_attribute("data-pair", pair)
    expect(page.locator("#pinned .of-tokens")).to_contain_text("Sums:", timeout=60_000)
    expect(page.locator(".panel[aria-current]")).to_have_attribute("data-name", shown)
    expect(page).to_have_url(re.compile(f"curve={shown}&.*pair={pair}"))


def test_pointing_at_a_curve_shows_its_pairs_for_a_while(visit):
    page = visit()
    chosen, other = page.locator(".panel").nth(0), page.locator(".panel").nth(3)
    expect(page.locator("#point-title")).to_have_text(chosen.get_attribute("data-name").replace("_", " "))
    other.hover()
    expect(page.locator("#point-title")).to_have_text(other.get_attribute("data-name").replace("_", " "))
    page.locator("h1").hover()
    expect(page.locator("#point-title")).to_have_text(chosen.get_attribute("data-name").replace("_", " "))


def test_the_kinds_of_pairs_are_chosen_by_arrow_keys(visit):
    page = visit()
    page.focus("#kinds input:checked")
    for kind in ("right", "wrong"):
        page.keyboard.press("ArrowRight")
        expect(page.locator("#kinds .note")).to_contain_text(f"{kind}: ")
        expect(page.locator(f"#kinds input[value={kind}]")).to_be_focused()
        expect(page).to_have_url(re.compile(f"kind={kind}"))


def test_runs_are_drawn_once_they_are_there(browser, scored_run, tmp_path):
    server = Server(tmp_path).start()
    try:
        page = browser.new_page()
        page.goto(server.address("explore"))
        expect(page.locator("#message")).to_contain_text("There are no runs in runs/ yet.")
        shutil.copytree(scored_run, tmp_path / "runs" / scored_run.name)
        expect(page.locator(".panel svg").first).to_be_visible(timeout=60_000)
        expect(page.locator("#message")).to_be_hidden()
        page.close()
    finally:
        server.kill()


def test_figures_are_saved(visit):
    page = visit()
    for kind in ("svg", "png"):
        with page.expect_download() as one:
            page.click(f"#save-{kind}")
        assert one.value.suggested_filename == f"curves.{kind}"
    names = page.locator(".panel").evaluate_all("all => all.map(one => one.dataset.name.replaceAll('_', ' '))")
    with page.expect_download() as one:
        page.click("#save-svg")
    saved = one.value.path().read_text(encoding="utf-8")
    assert all(f">{name}<" in saved or f">{name.replace(' ', '_')}<" in saved for name in names)


def test_new_checkpoints_are_drawn_without_a_reload(visit, server, tmp_path):
    folder = score_path(server.run, "demo", "sentence", 0).parent
    steps = sorted({path.name.partition(".")[0] for path in folder.glob("step*.parquet")})
    kept = [Path(shutil.move(path, tmp_path)) for path in folder.glob(f"{steps[-1]}.*")]
    remove_tables(server.run)  # as scoring does before it stores a score
    try:
        page = visit()
        page.locator(".panel").nth(1).click()
        expect(page.locator("#step-text")).to_contain_text(f"of {len(steps) - 1}")
        address = page.url
    finally:
        for path in kept:
            shutil.move(path, folder)
        remove_tables(server.run)
    expect(page.locator("#step-text")).to_contain_text(f"of {len(steps)}", timeout=60_000)
    expect(page).to_have_url(address)


def downloaded(page, button):
    with page.expect_download() as one:
        page.click(button)
    return pd.read_csv(io.StringIO(one.value.path().read_text(encoding="utf-8")))


def last_step(page):
    return int(re.match(r"step (\d+) ", page.inner_text("#step-text"))[1])
