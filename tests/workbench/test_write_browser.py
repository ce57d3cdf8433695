"""The room Write in a real browser, with a real server and a real run."""

import json
import re
import signal

import pytest

from tests.analysis.report.browser import open_browser
from tests.workbench.conftest import Server

expect = pytest.importorskip(
    "playwright.sync_api", reason="the browser's driver is not installed (extra dev)"
).expect
pytestmark = pytest.mark.long
expect.set_options(timeout=20_000)

WORDS = [
    ("猫", "N", "只"), ("狗", "N", "条"), ("马", "N", "匹"), ("鸡", "N", "只"), ("蛇", "N", "条"), ("驴", "N", "匹"),
    ("只", "M", "只"), ("条", "M", "条"), ("匹", "M", "匹"), ("看见", "V", ""), ("喜欢", "V", ""), ("我们", "P", ""),
]  # fmt: skip
GOOD = ["pos:P", "pos:V", "三", "pos:M mPos:4 mPro:classifier", "pos:N", "。"]
BAD = ["pos:P", "pos:V", "三", "pos:M mmPos:4 mmPro:classifier", "pos:N", "。"]


@pytest.fixture
def page():
    """A page that has nothing to complain about when the test is over."""
    with open_browser() as browser:
        complaints = []
        page = browser.new_page()
        watch(page, complaints)
        yield page
        assert not complaints


def watch(page, complaints):
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None,
    )
    page.on("request", lambda request: None if "127.0.0.1" in request.url or request.url.startswith(("data:", "blob:"))
            else complaints.append(request.url))  # fmt: skip


def open_write(page, server):
    page.goto(server.address("write"))
    page.wait_for_selector("body[data-ready]")


def open_again(page, server):
    """Open the address that the server printed when it was started again, in another tab."""
    other = page.context.new_page()
    other.goto(server.address("explore"))
    other.close()


def new_project(page, name):
    page.fill("#new-project-name", name)
    page.click("#new-project button")
    expect(page.locator("#folder")).to_have_text(re.compile(f"/{name}$|^mine/{name}$"))


def new_template(page, name):
    page.fill("#new-template-name", name)
    page.click("#new-template button:has-text('Make empty')")
    page.wait_for_selector("#editor:not([hidden])")


def kept(page):
    expect(page.locator("#saved")).to_contain_text("kept as a draft")


def test_from_an_empty_project_to_a_curve(serve, demo_run, page, tmp_path):
    with serve(tmp_path, f"runs={demo_run}", "projects=mine") as server:
        open_write(page, server)
        new_project(page, "classifiers")
        page.click("#tab-words")
        page.fill("#new-column-name", "classifier")
        page.click("#new-column button")
        page.wait_for_selector("#new-word input[name=classifier]")
        for number, (word, pos, classifier) in enumerate(WORDS, start=1):
            for name, value in (("expression", word), ("pos", pos), ("classifier", classifier)):
                page.fill(f"#new-word input[name={name}]", value)
            page.keyboard.press("Enter")
            expect(page.locator("#words-place")).to_contain_text(f"({number} words)")
        page.click("#save-words")
        expect(page.locator("#words-state")).to_have_text("Saved.")

        page.click("#tab-templates")
        new_template(page, "classifier_noun")
        page.fill("#phenomenon", "classifier")
        for _ in GOOD[1:]:
            page.click("#add-slot")
        for slot, texts in enumerate(zip(GOOD, BAD, strict=True)):
            for member, text in zip(("good", "bad"), texts, strict=True):
                page.fill(f"#{member}-{slot}", text)
        expect(page.locator("#preview tbody tr")).to_have_count(10)
        row = page.inner_text("#preview tbody tr:first-child").split("\t")
        assert row[0] != row[1]
        assert len(row[0]) == len(row[1])

        page.fill("#good-1", "pos:W")
        expect(page.locator("#good-1-problem")).to_contain_text("no word")
        page.fill("#good-1", "pos:V")
        expect(page.locator("#good-1-problem")).to_have_text("")

        page.click("#save")
        expect(page.locator("#saved")).to_have_text("Saved.")
        page.fill("#pairs", "12")
        page.click("#make button")
        page.wait_for_selector("#yield:has-text('12 pairs')")
        page.click("#score button")
        page.wait_for_selector("#curve svg .mark-line path", timeout=120_000)
        expect(page.locator("#curve svg .mark-symbol path").nth(2)).to_be_attached()
        page.click("#further a")
        page.wait_for_selector("#chart svg .mark-line path")
        expect(page.locator("#benchmark option:checked")).to_contain_text("classifiers-classifier_noun")
    stored = json.loads(
        (tmp_path / "mine/classifiers/templates/classifier_noun.json").read_text(encoding="utf-8")
    )
    assert (stored["good_rule"], stored["bad_rule"]) == (GOOD, BAD)
    assert len((tmp_path / "mine/classifiers/vocabulary.tsv").read_text(encoding="utf-8").splitlines()) == 13


# Python runs it at the start of each process: the scorer then waits after each checkpoint until it may go on.
HELD = """
import sys
if "score" in sys.orig_argv:
    import itertools, pathlib, time
    import ucurve.eval.store.scores as scores
    write, count = scores.write_scores, itertools.count(1)
    def write_and_wait(*given, **named):
        key = write(*given, **named)
        number = next(count)
        while not any(pathlib.Path(name).exists() for name in (f"go-{number}", "go-all")):
            time.sleep(0.05)
        return key
    scores.write_scores = write_and_wait
"""


def test_the_curve_grows_while_it_is_scored_and_is_found_again(demo_run, page, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(HELD, encoding="utf-8")
    server = Server(tmp_path, f"runs={demo_run}", libraries=[tmp_path]).start()
    try:
        of = len(list((demo_run / "checkpoints").glob("step*")))
        open_write(page, server)
        page.select_option("#template", "adverb_order")
        expect(page.locator("#uid")).to_have_value("adverb_order")
        page.fill("#pairs", "20")
        page.click("#make-button")
        page.wait_for_selector("#yield:has-text('20 pairs')")
        page.click("#score-button")
        said, points = page.locator("#progress"), page.locator("#curve svg .mark-symbol path")
        expect(said).to_contain_text(f"it will score {of} checkpoints of {demo_run.name}")
        expect(said).to_contain_text(f"Checkpoint 1 of {of} is scored", timeout=120_000)
        expect(page.locator("#bar")).to_have_attribute("value", "1")
        page.wait_for_selector("#curve svg .mark-symbol path", state="attached")
        first = points.count()
        (tmp_path / "go-1").touch()
        expect(said).to_contain_text(f"Checkpoint 2 of {of} is scored", timeout=120_000)
        expect(points).not_to_have_count(first)
        assert points.count() > first

        page.reload()
        expect(said).to_contain_text(f"Checkpoint 2 of {of} is scored")
        expect(page.locator("#yield")).to_contain_text("20 pairs")
        page.goto(server.url)
        page.go_back()
        expect(said).to_contain_text(f"Checkpoint 2 of {of} is scored")
        page.select_option("#template", "numeral_men")  # the scoring is that of another template
        expect(page.locator("#uid")).to_have_value("numeral_men")
        expect(page.locator("#job")).to_be_hidden()
        expect(page.locator("#curve")).to_be_hidden()
        page.select_option("#template", "adverb_order")
        page.click("#cancel")
        whole = f"{of} checkpoints of {demo_run.name}"
        expect(said).to_have_text(f"Stopped. 2 of {whole} are scored; go on to score the others.")
        (tmp_path / "go-1").unlink()
        page.click("#go-on")
        expect(said).to_contain_text(f"Checkpoint 3 of {of} is scored", timeout=120_000)

        page.goto("about:blank")
        server.process.send_signal(signal.SIGTERM)  # which ends the scoring too
        server.process.wait()
        server.start()
        page.goto(f"{server.url}/write?template=adverb_order&token={server.token}")
        expect(said).to_have_text(f"Stopped. 3 of {whole} are scored; go on to score the others.")
        page.wait_for_selector("#curve svg .mark-symbol path", state="attached")
        (tmp_path / "go-all").touch()
        page.click("#go-on")
        expect(said).to_contain_text(f"{of} of {of} checkpoints of {demo_run.name} are scored.", timeout=120_000)
    finally:
        server.kill()
    with_scores = Server(tmp_path, f"runs={demo_run}").start()  # which knows nothing of the scoring
    try:
        page.goto(f"{with_scores.url}/write?template=adverb_order&token={with_scores.token}")
        expect(said).to_contain_text(f"{of} of {of} checkpoints of {demo_run.name} are scored.")
        page.wait_for_selector("#curve svg .mark-line path", state="attached")
        page.click("#make-button")  # other pairs in their place
        page.wait_for_selector("#yield:has-text('300 pairs')")
        page.reload()
        page.wait_for_selector("#yield:has-text('300 pairs')")
        expect(page.locator("#job")).to_be_hidden()
    finally:
        with_scores.kill()


def test_a_scoring_that_fails_says_why(demo_run, tmp_path):
    with open_browser() as browser:
        page = browser.new_page()
        server = Server(tmp_path, f"runs={demo_run}").start()
        try:
            open_write(page, server)
            page.click("#make-button")
            page.wait_for_selector("#yield:has-text('300 pairs')")
            for weights in demo_run.glob("checkpoints/*/model.safetensors"):
                weights.unlink()
            page.click("#score-button")
            page.wait_for_selector("#job-problem:not([hidden])", timeout=120_000)
            expect(page.locator("#progress")).to_contain_text("failed after 0 of")
            expect(page.locator("#job-problem")).to_have_text(
                re.compile(r"step00000000: no \*\.safetensors file$")
            )
            assert "Traceback" not in page.inner_text("#job-problem")
        finally:
            server.kill()


def test_of_two_browsers_the_second_save_is_refused_with_both_versions(serve, tmp_path):
    with serve(tmp_path) as server, open_browser() as browser:
        first, second = (browser.new_context().new_page() for _ in range(2))
        for page in (first, second):
            open_write(page, server)
            page.select_option("#template", "classifier_noun")
            expect(page.locator("#uid")).to_have_value("classifier_noun")
        for page, text in ((first, "one"), (second, "two")):
            page.fill("#phenomenon", text)
            kept(page)
            page.click("#save")
            if page is first:  # whose version the second one must meet
                expect(page.locator("#saved")).to_have_text("Saved.")
        second.wait_for_selector("#conflict:not([hidden])")
        expect(second.locator("#theirs")).to_contain_text('"phenomenon": "one"')
        expect(second.locator("#mine")).to_contain_text('"phenomenon": "two"')
        file = tmp_path / "projects/demo/templates/classifier_noun.json"
        assert json.loads(file.read_text(encoding="utf-8"))["phenomenon"] == "one"
        second.click("#take-theirs")
        expect(second.locator("#phenomenon")).to_have_value("one")
        second.click("[data-step=undo]")  # what was typed is not lost either
        expect(second.locator("#phenomenon")).to_have_value("two")
        second.click("#save")
        expect(second.locator("#saved")).to_have_text("Saved.")
        assert json.loads(file.read_text(encoding="utf-8"))["phenomenon"] == "two"


def test_what_was_typed_outlives_the_server_and_a_reload(serve, tmp_path):
    with serve(tmp_path) as server, open_browser() as browser:
        page = browser.new_context().new_page()  # of a context, so that it may have another tab
        open_write(page, server)
        page.select_option("#template", "numeral_men")
        expect(page.locator("#uid")).to_have_value("numeral_men")
        page.fill("#good-0", "first")
        kept(page)
        page.fill("#good-0", "second")
        kept(page)
        server.kill()
        page.type("#good-0", " third")  # typed while nobody listens
        expect(page.locator("#saved")).to_contain_text("does not answer")
        server.start()
        expect(page.locator("#saved")).to_contain_text(
            "This browser is not let in. In another tab, open the address"
        )
        open_again(page, server)
        expect(page.locator("#saved")).to_contain_text("kept as a draft")
        page.reload()
        page.wait_for_selector("body[data-ready]")
        expect(page.locator("#template")).to_have_value("numeral_men")
        expect(page.locator("#good-0")).to_have_value("second third")
        for expected in ("second", "first"):
            page.click("[data-step=undo]")
            expect(page.locator("#good-0")).to_have_value(expected)
        server.kill()
        server.start()
        open_again(page, server)
        page.reload()
        page.wait_for_selector("body[data-ready]")
        expect(page.locator("#good-0")).to_have_value("first")
        page.click("[data-step=redo]")
        expect(page.locator("#good-0")).to_have_value("second")
    stored = json.loads((tmp_path / "projects/demo/templates/numeral_men.json").read_text(encoding="utf-8"))
    assert stored["good_rule"][0] != "second"  # nothing was saved


def test_properties_values_and_phrases_are_offered_while_typing(serve, page, tmp_path):
    with serve(tmp_path) as server:
        open_write(page, server)
        page.fill("#good-0", "")
        page.type("#good-0", "po")
        page.wait_for_selector("#good-0 + ul:not([hidden]) li")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator("#good-0")).to_have_value("pos:")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator("#good-0")).to_have_value(re.compile("^pos:N"))
        page.fill("#good-0", "")
        page.type("#good-0", "phrase:Per")
        page.wait_for_selector("#good-0 + ul:not([hidden]) li:has-text('phrase:Person')")
        page.keyboard.press("Escape")
        page.click("#tab-check")
        page.click("#check")
        page.wait_for_selector("#checked table")
        expect(page.locator("#checked")).to_contain_text(re.compile("templates have a problem|1 of 36"))
