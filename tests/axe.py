"""Looks for faults of accessibility in a page with axe-core, which npm fetches once."""

import os
from pathlib import Path
from typing import Any

import pytest

from ucurve.errors import RunError
from validation.questionnaire.packages import Package, read_archives

_CACHE = Path(os.environ.get("UCURVE_AXE_CACHE", Path(__file__).resolve().parents[1] / "cache" / "axe"))
_AXE = Package(
    name="axe-core",
    version="4.14.1",
    integrity="sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
    file="axe.min.js",
    sha256="29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c",
)
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
    try:
        (script,) = read_archives([_AXE], _CACHE)
    except RunError as error:
        pytest.skip(f"axe-core is not in {_CACHE}, and was not fetched: {error}")
    page.evaluate(script)
    found: list[dict[str, Any]] = page.evaluate(_RUN, ["serious", "critical"])
    return found
