import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucurve.generation.differences import (
    Member,
    describe_differences,
    find_differences,
    in_lemma,
    in_several_places,
    stretches,
)

LEMMAS = {
    "sings": {"sing"},
    "sing": {"sing"},
    "runs": {"run"},
    "run": {"run"},
    "saw": {"saw", "see"},
    "see": {"see"},
}


@pytest.mark.parametrize(
    ("good", "bad", "several"),
    [
        ("the dog sings .", "the dog sing .", False),
        ("the dog now sings .", "the dogs now sing .", True),
        ("a dog sings .", "an old cat sings .", False),  # one stretch of several words
        ("the dog sings .", "sings the dog .", False),  # another order
        ("Never has he slept .", "He has never slept .", False),
        ("三条裤子", "三张裤子", False),
        ("三条长裤", "三张长海", True),
        ("same", "same", False),
    ],
)
def test_whether_sentences_differ_in_several_places(good, bad, several):
    assert in_several_places(good, bad) is several


@pytest.mark.parametrize(
    ("bad", "other"),
    [
        ("the dog sing .", False),
        ("the dog run .", True),
        ("the dog jump .", False),  # a word that is not known tells nothing
        ("the dog .", False),
        ("the sings dog .", False),
    ],
)
def test_whether_another_lemma_stands_there(bad, other):
    assert in_lemma(LEMMAS, "the dog sings .", bad) is other


def test_a_word_of_two_lemmas_is_a_form_of_either_and_marks_are_no_part_of_it():
    assert not in_lemma(LEMMAS, "They saw.", "They see.")
    assert in_lemma(LEMMAS, "They saw.", "They run.")


@given(st.text("ab ", max_size=12), st.text("ab ", max_size=12))
def test_what_is_not_in_a_stretch_is_equal_in_both(good, bad):
    one, other = (sum(len(stretch[side]) for stretch in stretches(good, bad)) for side in (0, 1))
    size = (lambda text: len(text.split())) if " " in good + bad else len
    assert size(good) - one == size(bad) - other >= 0


def test_each_kind_is_told_with_its_count_and_three_examples():
    members = [Member("near", "the dog sings .", f"the dog {verb} .") for verb in ("run", "sing")]
    members += [Member("far", "the dogs run .", "the dog sings .")] * 3
    assert {kind: len(found) for kind, found in find_differences(members, LEMMAS).items()} == {
        "several_places": 0, "other_lemma": 4, "unequal_length": 5}  # fmt: skip
    assert "other_lemma" not in find_differences(members, None)
    lemma, _ = describe_differences(members, LEMMAS)
    assert lemma == (
        "4 of 5 pairs have another word, not another form of one lemma, where they differ (far 3, near 1): "
        "sings / run; dogs run / dog sings"
    )
