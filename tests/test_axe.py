"""The search for faults of accessibility finds one; the tests that expect none depend on it."""

from pathlib import Path

import pytest

from tests import axe
from tests.analysis.report.browser import open_browser

_POLICY = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\">"
_HEAD = f"<!DOCTYPE html><html lang='en'><head>{_POLICY}<title>t</title></head>"


def test_a_field_without_a_label_is_found_and_one_with_it_is_none(tmp_path: Path) -> None:
    with open_browser() as browser:
        page = browser.new_page()
        found = []
        for place, field in enumerate(("<input>", "<label>Name <input></label>")):
            path = tmp_path / f"{place}.html"
            path.write_text(f"{_HEAD}<body><main><h1>t</h1>{field}</main></body></html>", encoding="utf-8")
            page.goto(path.as_uri())
            found.append(axe.axe_findings(page))
    assert [(one["rule"], one["impact"], one["elements"]) for one in found[0]] == [
        ("label", "critical", ["<input>"])
    ]
    assert found[1] == []


def test_without_npm_and_cache_the_test_is_skipped_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(axe, "_CACHE", tmp_path / "empty")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match=r"axe-core is not in .*empty.*npm"):
        axe.axe_findings(None)
