import numpy as np
import pytest

from ucurve.errors import UserError
from ucurve.eval.scoring.text.layout import delimits_words, number_words


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["the dog barks", "dogs bark"], True),
        (["dog", "gizon"], True),
        (["그 개가 짖는다"], True),
        (["他吃了饭。", "我看书。"], False),
        (["他 吃了 饭 。", "我 看 书 。"], True),
        (["他 吃了 饭 。", "我看书。", "你好。"], False),
        (["เขากินข้าวที่บ้าน แล้วไปโรงเรียน"], False),
        (["Tom 吃了饭。", "他吃了 饭。", "他说了话。", "他看了书。", "他走了。"], False),
    ],
)
def test_whether_white_space_delimits_words(texts, expected):
    assert delimits_words(texts) is expected


def number(text, *places):
    return number_words([text], np.array([0, len(places)]), np.array(places)).owner.tolist()


def test_a_token_counts_to_the_word_it_begins_in():
    assert number("the dog barks", (0, 3), (4, 7), (8, 12), (12, 13)) == [0, 1, 2, 2]
    assert number("of the dog", (0, 6), (7, 10)) == [0, 2]  # one token for two words


def test_white_space_belongs_to_the_word_after_it():
    assert number(" the  dog ", (0, 4), (4, 6), (6, 9), (9, 10)) == [0, 1, 1, 1]


def test_words_of_a_column_divide_text_without_spaces():
    places = np.array([(0, 1), (1, 3), (3, 4), (4, 5), (0, 2)])
    words = number_words(
        ["他吃了饭。", "我看"], np.array([0, 4, 5]), places, {"他吃了饭。": "他 吃了 饭 。", "我看": "我 看"}
    )
    assert words.owner.tolist() == [0, 1, 2, 3, 4]
    assert words.starts.tolist() == [0, 4, 6]
    with pytest.raises(UserError, match="'我 吃' are not the words of '我看'; wanted are the same characters"):
        number_words(["我看"], np.array([0, 1]), places[-1:], {"我看": "我 吃"})


def test_words_of_several_texts_and_their_sums():
    starts, places = np.array([0, 2, 4, 5]), np.array([(0, 1), (1, 3), (0, 3), (4, 6), (0, 7)])
    words = number_words(["a b", "one to", "far off"], starts, places)
    assert words.starts.tolist() == [0, 2, 4, 6]
    assert words.owner.tolist() == [0, 1, 2, 3, 4]
    sums = words.sums(np.array([-1.0, -2.0, np.nan, -4.0, -5.0]))
    # No token begins in "off".
    assert sums == pytest.approx([-1.0, -2.0, np.nan, -4.0, -5.0, np.nan], nan_ok=True)
