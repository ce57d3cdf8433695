"""Make the pictures of the workbench for README and docs: the rooms Explore and Write with the runs of the demo.

python -m measurements.pictures.workbench_pictures [--runs 'runs/demo/*'] [--out docs/images]

The runs are copied first, because Write scores pairs with one of them. The browser is Chromium, driven by Playwright.
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from measurements.speed.workbench import ROOT
from ucurve.storage.run_folder import match_folders

TEMPLATE = "compound_definite"  # its curve falls before it rises
SHOWN = "11|12|13"  # checkpoints of 14 that are scored when the picture is made
SLOW = 180_000  # milliseconds that a page may take
COLORS = 256  # of a picture, which make it a third as large


def main() -> None:
    """Start a workbench on copies of the runs, and take a picture of each room."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", default="runs/demo/*")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    options = parser.parse_args()
    with TemporaryDirectory() as folder, sync_playwright() as play:
        for run in match_folders(options.runs):
            shutil.copytree(run, Path(folder) / "runs" / run.name)
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with started(Path(folder)) as address:
            page = browser.new_page(viewport={"width": 1400, "height": 1290})
            page.set_default_timeout(SLOW)
            page.goto(address)
            explore(page, options.out / "explore.png")
            page.set_viewport_size({"width": 1200, "height": 900})
            write(page, options.out / "workbench-write.png")
    for name in ("explore.png", "workbench-write.png"):
        picture = Image.open(options.out / name).convert("RGB")
        small = picture.quantize(COLORS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        small.save(options.out / name, optimize=True)


@contextmanager
def started(folder: Path) -> Iterator[str]:
    """Start a workbench on the runs of a folder; gives the address that lets a browser in."""
    command = [sys.executable, "-m", "ucurve", "workbench", "port=0", "runs=runs/*"]
    environment = {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    server = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield server.stdout.readline().split()[-1]
    finally:
        server.terminate()
        server.wait()


def explore(page: Page, picture: Path) -> None:
    """Show all phenomena, and the first pair of the first one with its tokens."""
    page.click("text=Open Explore")
    page.wait_for_selector("#shapes table")
    page.locator("#pairs a").first.click()
    page.wait_for_selector("#pinned .tokens")
    expect(page.locator(".panel svg")).to_have_count(page.locator(".panel").count())
    page.mouse.move(0, 0)
    page.screenshot(path=picture)


def write(page: Page, picture: Path) -> None:
    """Make pairs of a template and score them, and take the picture before all checkpoints are scored."""
    page.click("nav >> text=Write")
    page.wait_for_selector("body[data-ready]")
    page.select_option("#template", TEMPLATE)
    expect(page.locator("#uid")).to_have_value(TEMPLATE)
    page.click("#make-button")
    page.wait_for_selector("#yield:has-text('300 pairs')")
    page.click("#score-button")
    page.get_by_text(re.compile(f"Checkpoint ({SHOWN}) of")).wait_for()
    page.wait_for_timeout(1000)  # until the point of that checkpoint is drawn
    page.screenshot(path=picture, full_page=True)


if __name__ == "__main__":
    main()
