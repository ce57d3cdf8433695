"""Commands killed at random times end as if left alone; the long version is ``python -m tests.launch.kills 15``."""

import random

import pytest

from tests.launch.kills import kill, make_works, pair


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("kills")


@pytest.fixture(scope="module")
def works(place):
    return make_works(place)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", ["trunk", "smaller budget", "publish", "workers"])
def test_a_command_that_is_killed_ends_as_if_left_alone(works, place, name):
    assert kill(works[name], place, 1, seed=random.randrange(1000)).total() >= 1


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", ["smaller budget", "publish"])
def test_two_of_a_command_at_once_end_as_one(works, place, name):
    pair(works[name], place)
