"""Finds an installed browser and opens pages in it, without a display."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@contextmanager
def open_browser() -> Iterator[Any]:
    """Start the browser; skips the test where there is none, or no driver."""
    driver = pytest.importorskip("playwright.sync_api", reason="the browser's driver is not installed (extra dev)")
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no browser on PATH (looked for {', '.join(_NAMES)})")
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses to sandbox root's pages
    with driver.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=[*flags, "--disable-dev-shm-usage"])
        yield browser
        browser.close()
