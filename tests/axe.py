"""Looks for faults of accessibility in a page with axe-core, which npm fetches once."""

import base64
import hashlib
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

_CACHE = Path(os.environ.get("UCURVE_AXE_CACHE", Path(__file__).resolve().parents[1] / "cache" / "axe"))
_VERSION = "4.14.1"
_ARCHIVE_SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
_RUN = """async impacts => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .filter(one => impacts.includes(one.impact))
  .map(one => ({rule: one.id, impact: one.impact, help: one.help, elements: one.nodes.map(node => node.html)}))"""


def axe_findings(page: Any) -> list[dict[str, Any]]:
    """Return the serious and critical faults of a page that a browser shows, as it looks now.

    The driver hands the script to the browser itself, so that the page's own policy against foreign scripts stays on.
    Skips the test where axe-core is not in the cache and cannot be fetched.

    Returns:
        By fault: ``rule``, ``impact``, ``help`` and ``elements`` (their markup).
    """
    archive = _CACHE / f"axe-core-{_VERSION}.tgz"
    if not archive.is_file():
        _fetch()
    found_hash = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    assert found_hash == _ARCHIVE_SHA512, f"{archive} is not the published one; remove it"
    with tarfile.open(archive) as members:
        page.evaluate(members.extractfile("package/axe.min.js").read().decode())
    found: list[dict[str, Any]] = page.evaluate(_RUN, ["serious", "critical"])
    return found


def _fetch() -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip(f"axe-core is not in {_CACHE}, and npm, which fetches it, is not on PATH")
    _CACHE.mkdir(parents=True, exist_ok=True)
    options = ["--silent", "--ignore-scripts", "--fetch-retries=0", "--fetch-timeout=20000"]
    command = [npm, "pack", *options, f"--pack-destination={_CACHE}", f"axe-core@{_VERSION}"]
    if subprocess.run(command, capture_output=True, timeout=120, check=False, cwd=_CACHE).returncode:
        pytest.skip(f"axe-core is not in {_CACHE}, and npm cannot fetch it")
