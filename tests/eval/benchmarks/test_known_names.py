import pytest

from ucurve.errors import UserError
from ucurve.eval.benchmarks.registry import benchmarks_meant, known_names
from ucurve.eval.pairs import full_name, split_name


@pytest.mark.parametrize(
    ("benchmark", "parts", "full"),
    [
        ("blimp", ("blimp", "", ""), "blimp"),
        ("blimp@first20", ("blimp", "", "@first20"), "blimp"),
        ("tse/hin", ("tse", "hin", ""), "tse/hin"),
        ("tse/hin@6", ("tse", "hin", "@6"), "tse/hin"),
    ],
)
def test_a_name_is_family_language_and_subset(benchmark: str, parts: tuple[str, ...], full: str) -> None:
    assert split_name(benchmark) == parts
    assert full_name(benchmark) == full


def test_a_benchmark_is_known_by_its_own_name_first() -> None:
    assert known_names("blimp") == ("blimp",)
    assert known_names("tse/hin@6") == ("tse/hin@6", "tse/hin", "tse")
    assert known_names("suites/hin@6", "hin", "tse") == ("suites/hin@6", "suites/hin", "suites", "tse/hin", "tse")
    assert known_names("mine", "swe", "sweblimp") == ("mine", "swe-blimp/swe", "swe-blimp")
    assert known_names("mine", "zho", "templates") == ("mine",)  # no published benchmark has this maker


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("tse", ["tse/eus", "tse/hin@6"]),
        ("tse/hin", ["tse/hin@6"]),
        ("tse/hin@6", ["tse/hin@6"]),
        ("blimp", ["blimp"]),  # and not its subset, which is another benchmark where both were scored
        ("blimp@6", ["blimp@6"]),
    ],
)
def test_a_name_means_the_benchmark_or_its_subsets_and_languages(asked: str, meant: list[str]) -> None:
    assert benchmarks_meant(asked, ["blimp", "blimp@6", "tse/eus", "tse/hin@6"]) == meant


def test_a_name_that_means_none_is_refused() -> None:
    with pytest.raises(
        UserError, match=r"unknown benchmark 'tso' in benchmark; allowed: blimp, tse/eus\."
    ) as error:
        benchmarks_meant("tso", ["tse/eus", "blimp"])
    assert error.value.exit_code == 2
