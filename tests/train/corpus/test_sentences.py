"""Where sentences end, and that dropping and repeating them leaves the rest of a text as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucurve.training.corpus.interventions import (
    count_sentences,
    repeat_sentences,
    select_sentences,
    split_sentences,
)

TEXTS = st.text(alphabet="ab .!?…。！？”\"'）)\n\r\t", max_size=60)


@pytest.mark.parametrize(
    ("line", "sentences"),
    [
        ("One. Two!  Three", ["One. ", "Two!  ", "Three"]),
        ('He said "No." Then he left.', ['He said "No." ', "Then he left."]),
        ("It costs 3.50 now... ok?", ["It costs 3.50 now... ", "ok?"]),
        ("天地。“玄黄！”宇宙？洪荒", ["天地。", "“玄黄！”", "宇宙？", "洪荒"]),
        ("Mr. Smith left.", ["Mr. ", "Smith left."]),
        ("", []),
    ],
)
def test_where_sentences_end(line, sentences):
    assert split_sentences(line) == sentences


@given(TEXTS)
def test_the_sentences_of_a_line_are_the_line(text):
    for line in text.split("\n"):
        assert "".join(split_sentences(line)) == line


def test_lines_are_sentences_too_and_blank_ones_are_none():
    assert count_sentences("One. Two\n\n  \n三。四\n") == 4


def test_a_line_goes_with_its_last_sentence_and_blank_lines_stay():
    text = "A one. B two.\n\nA three.\nB four. A five."
    assert select_sentences(text, lambda sentence: "A" not in sentence) == "B two.\n\nB four."
    assert select_sentences(text, lambda sentence: "B" not in sentence) == "A one.\n\nA three.\nA five."


@given(TEXTS)
def test_what_is_all_wanted_stays_as_it_is(text):
    assert select_sentences(text, lambda _: True) == text


@given(TEXTS)
def test_of_two_halves_every_sentence_is_in_one(text):
    def without_spaces(part):
        return "".join(part.split())

    for has_a in (True, False):
        half = select_sentences(text, lambda one, has_a=has_a: ("a" in one) == has_a)
        chosen = [one for line in text.split("\n") for one in split_sentences(line) if ("a" in one) == has_a]
        assert without_spaces(half) == without_spaces("".join(chosen))


def test_repeated_sentences_have_the_spaces_of_their_text_between_them():
    assert repeat_sentences("One. Two.\n天。地。", 2, lambda _: True) == "One. One. Two. Two.\n天。天。地。地。"
    assert repeat_sentences("One. Two.", 3, lambda one: one == "Two.") == "One. Two. Two. Two."
