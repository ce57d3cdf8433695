import pytest

from ucurve.errors import RunError, UcurveError, UserError, missing_folder, nearest, unknown_name


def test_exit_codes():
    assert (UcurveError.exit_code, RunError.exit_code, UserError.exit_code) == (1, 1, 2)


@pytest.mark.parametrize(
    ("name", "close"),
    [("zhoblmp", "zhoblimp"), ("blimp", "blimp"), ("BLiMP", "blimp"), ("qqq", None), ("", None)],
)
def test_nearest(name, close):
    assert nearest(name, ["zhoblimp", "blimp", "sling"]) == close


def test_unknown_name_says_what_where_and_what_is_allowed():
    error = unknown_name("benchmark", "zhoblmp", {"zhoblimp", "demo"}, where="eval.benchmarks")
    assert isinstance(error, UserError)
    assert str(error) == (
        "unknown benchmark 'zhoblmp' in eval.benchmarks; allowed: demo, zhoblimp. Did you mean 'zhoblimp'?"
    )


def test_unknown_name_without_a_near_one():
    assert str(unknown_name("size", "huge", ["tiny"])) == "unknown size 'huge'; allowed: tiny."


@pytest.mark.parametrize("asked", ["mine", "tiny-1M-char-text-s1-mine"])
def test_a_run_is_found_by_the_name_that_was_given_to_it(tmp_path, asked):
    (tmp_path / "tiny-1M-char-text-s0-mine").mkdir()
    message = str(missing_folder("run", tmp_path / asked))
    assert message.endswith(f"Did you mean '{tmp_path}/tiny-1M-char-text-s0-mine'?")
