"""The ranges of pyproject.toml begin with the versions that ``make lowest`` tries, and hold those that are pinned."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NEEDED = [Requirement(text) for text in PROJECT["dependencies"]]


def pins(name):
    """The versions that a file of constraints names."""
    lines = re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    return {canonicalize_name(package): Version(version) for package, version in lines}


@pytest.mark.parametrize("needed", NEEDED, ids=lambda needed: needed.name)
def test_a_range_begins_with_the_version_that_was_tried(needed):
    [bound] = [Version(one.version) for one in needed.specifier if one.operator == ">="]
    tested, lowest = pins("constraints.txt")[needed.name], pins("constraints-lowest.txt")[needed.name]
    assert needed.specifier.contains(tested)
    if needed.name == "torch":  # other builds are gigabytes
        assert lowest == tested
    else:
        assert lowest == bound
