"""Every example of docs/api.md and of docs/items.md runs, on a run that the page itself trains (here a smaller one)."""

import re
from pathlib import Path

import pytest

import ucurve

DOCS = Path(__file__).resolve().parents[1] / "docs"
USUAL = '"schedule.count=14", model="tiny", tokens="800K"'
SMALLER = '"batch.sequences=16", "batch.length=32", "schedule.count=6", model="tiny", tokens="20K"'
TRAINED = ("tiny-800K-", "tiny-20K-")


def examples(page):
    """The Python blocks of a page, the one that trains first."""
    text = (DOCS / page).read_text(encoding="utf-8").replace(USUAL, SMALLER).replace(*TRAINED)
    return sorted(
        re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL), key=lambda code: "ucurve.train(" not in code
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with the run of the page in runs/."""
    folder = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        first = examples("api.md")[0]
        exec(first, {"ucurve": ucurve})  # noqa: S102 - what a reader copies
    return folder


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("page", ["api.md", "items.md"])
def test_the_examples_of_a_page_run(page, trained, monkeypatch, capsys):
    monkeypatch.chdir(trained)
    found = [code for code in examples(page) if "ucurve.train(" not in code]
    assert len(found) >= (7 if page == "api.md" else 1)
    scope = {"ucurve": ucurve}
    for code in found:
        lines = code.replace("study.agreement()", "study.item_summary()")  # this page has one run
        exec(compile(lines, page, "exec"), scope)  # noqa: S102 - what a reader copies
    assert (trained / "curves.html").is_file() or page == "items.md"
