"""A changed byte in any file of a run is found and never used; many more of them: ``python -m tests.flips``."""

import random

import pytest

from tests.flips import ADDED, GOING_ON, KINDS, Flips, all_changes, try_all


@pytest.fixture(autouse=True)
def one_revision(monkeypatch):
    """A run's record names the commit of the code, which may move while the tests run."""
    monkeypatch.setattr("ucurve.training.run.run.code_revision", lambda: "0" * 40)


def one_of_each(changes, names):
    """Of the three changes of each file (a byte, cut off, taken away) one, in turn."""
    assert len(changes) == 3 * len(names)
    return [changes[3 * place + place % 3] for place in range(len(names))]


@pytest.mark.long
def test_changes_of_every_kind_of_file_are_found_and_never_used(tmp_path):
    flips = Flips(tmp_path)
    finished, cut = all_changes(flips, 1, random.Random(0))
    added = finished[3 * len(KINDS) :]
    assert [change.name for change in added] == list(ADDED)
    finished = [*one_of_each(finished[: -len(added)], KINDS), *added]
    happened = try_all(flips, finished, one_of_each(cut, GOING_ON))
    assert happened["verify: refused"] + happened["verify: nothing is lost"] == len(finished)
    assert happened["verify: nothing is lost"] <= 2  # a table taken away, or a bit of pairs that no value has
    assert happened["going on: refused"] >= len(GOING_ON) // 3
