"""A full disk is one message and exit code 1, and the same command goes on when there is room.

All sizes and places are tried by ``python -m tests.train.full_disk``.
"""

import pytest

from tests.train.full_disk import (
    PAGE,
    PLACES,
    call,
    can_mount,
    disk,
    make_reference,
    train,
    try_size,
    write_inputs,
)
from ucurve.storage.files import disk_faults


@pytest.fixture(scope="module")
def place_of_trials(tmp_path_factory):
    folder = tmp_path_factory.mktemp("full")
    if not can_mount(folder / "disk"):
        pytest.skip("a small file system cannot be mounted here: that takes the rights of the administrator")
    write_inputs(folder)
    return folder


@pytest.mark.slow
def test_a_run_whose_copy_of_the_tokenizer_does_not_fit_ends_with_1(place_of_trials):
    places = {name: place_of_trials / "small" / name for name in PLACES[:3]}
    with disk(places["runs"], 4 * PAGE):
        full = call(train(place_of_trials, places))
    assert (full.code, full.error.count("error: ")) == (1, 1), full.error
    assert "No space left on device" in full.message
    assert "Traceback" not in full.error


@pytest.mark.long
def test_a_full_disk_is_one_message_and_the_command_goes_on(place_of_trials):
    contents, run, needs = make_reference(place_of_trials)
    for place, need in needs.items():
        full, again = try_size(place_of_trials, place, need // 2 // PAGE * PAGE, contents, run)
        assert (full.code, again.code) == (1, 0), place


def test_a_full_disk_that_a_library_wraps_in_its_own_error_is_what_it_was():
    with pytest.raises(OSError, match="No space left on device") as raised, disk_faults():
        raise Exception("No space left on device (os error 28)")
    assert raised.value.errno == 28
    with pytest.raises(ValueError, match="another"), disk_faults():
        raise ValueError("another")
