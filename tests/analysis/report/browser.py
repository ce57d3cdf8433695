"""Finds an installed browser and opens pages in it, without a display."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@contextmanager
def open_browser() -> Iterator[Any]:
    """Start the browser; skips the test where there is none, or no driver."""
    driver = pytest.importorskip(
        "playwright.sync_api", reason="the browser's driver is not installed (extra dev)"
    )
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no browser on PATH (looked for {', '.join(_NAMES)})")
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses to sandbox root's pages
    with driver.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=[*flags, "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@contextmanager
def open_page(browser: Any, path: Path, viewport: dict[str, int]) -> Iterator[Any]:
    """Open a file of the report; errors and warnings of the console fail the test that opened it."""
    context = browser.new_context(viewport=viewport)
    opened, said = context.new_page(), []
    opened.on(
        "console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None
    )
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.goto(path.as_uri())
    yield opened
    context.close()
    assert not said
