"""The room Explore in a real browser, on a trained and scored run."""

import io
import re

import pandas as pd
import pytest

from tests.analysis.report.browser import open_browser
from tests.workbench.conftest import ALPHAS

expect = pytest.importorskip("playwright.sync_api", reason="the browser's driver is not installed (extra dev)").expect
pytestmark = pytest.mark.long


def test_curves_pairs_and_tokens(serve, scored_run, tmp_path):
    complaints = []
    with serve(tmp_path, f"runs={scored_run}") as server, open_browser() as browser:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda one: complaints.append(one.text) if one.type in ("error", "warning") else None)
        page.on(
            "request",
            lambda one: None if one.url.startswith((server.url, "data:", "blob:")) else complaints.append(one.url),
        )
        page.goto(server.address("explore"))
        page.wait_for_selector("#chart svg .mark-line path")

        accuracy = pd.read_csv(scored_run / "eval/accuracy.csv")
        overall = accuracy[(accuracy["phenomenon"] == "all") & (accuracy["split"] == "all")]
        slider = page.locator("#parameters input[type=range]")
        for alpha in ALPHAS:
            slider.evaluate("(one, value) => { one.value = value; one.dispatchEvent(new Event('input')); }", alpha)
            expect(page.locator("#curve-notes")).to_contain_text(
                f"Linking function slln_lp:{float(alpha):g}" if float(alpha) else "Linking function slln_lp:0"
            )
            shown = downloaded(page, "#save-csv")
            known = overall[(overall["linking"] == f"slln_lp:{float(alpha):g}") & (overall["paradigm"] == "all")]
            assert shown["accuracy"].tolist() == pytest.approx(
                known.sort_values("step")["accuracy"].tolist(), abs=1e-12
            )
        expect(page.locator("#shapes")).to_contain_text(re.compile("rising|undetermined|not tested"), timeout=60_000)

        page.select_option("#by", "phenomenon")
        expect(page.locator("#chart svg .mark-line path")).to_have_count(12)
        page.locator("#chart svg .mark-symbol path").nth(40).click(force=True)
        expect(page.locator("#kinds")).to_contain_text("that are")
        page.check("#kinds input[value=right]")
        expect(page.locator("#pairs tbody tr").first).to_be_visible()
        number = int(re.search(r"right \((\d+)\)", page.inner_text("#kinds"))[1])
        assert int(page.inner_text("#place").rsplit(" ", 1)[1]) == number
        page.locator("#pairs button").first.click()
        expect(page.locator("#tokens")).to_contain_text("Sums:", timeout=60_000)
        sums = [float(value) for value in re.findall(r"-\d+\.\d+", page.locator("#tokens .note").inner_text())]
        assert sums[:2] == pytest.approx(sums[2:], abs=2e-3)
        assert page.locator("#history svg .mark-line path").count() == 2
        for kind in ("svg", "png"):
            with page.expect_download() as one:
                page.click(f"#save-{kind}")
            assert one.value.suggested_filename == f"curves.{kind}"
    assert not complaints


def downloaded(page, button):
    with page.expect_download() as one:
        page.click(button)
    return pd.read_csv(io.StringIO(one.value.path().read_text(encoding="utf-8")))
