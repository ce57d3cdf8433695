import numpy as np
import pandas as pd
import pytest

from ucurve.errors import UserError
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.ratings import rating_correlation, rating_pairs, read_ratings


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "ratings.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_ratings_are_z_scored_by_rater_and_averaged(write):
    ratings = read_ratings(write('ann,sentence,bob\n1,一,\n3,二,10\n5,"三,三",30\n,四,20\n'))
    step = np.sqrt(3 / 2)  # ann's and bob's three ratings are equally spaced
    assert ratings["sentence"].tolist() == ["一", "二", "三,三", "四"]
    assert ratings["raters"].tolist() == [1, 2, 2, 1]
    np.testing.assert_allclose(ratings["rating"], [-step, -step / 2, step, 0], atol=1e-12)


def test_the_scale_a_rater_uses_is_of_no_matter(write):
    plain = read_ratings(write("sentence,a,b\nx,1,5\ny,2,3\nz,4,4\n"))["rating"]
    scaled = read_ratings(write("sentence,a,b\nx,10,5\ny,20,3\nz,40,4\n"))["rating"]
    np.testing.assert_allclose(plain, scaled)


def test_a_rater_with_one_answer_says_nothing(write):
    ratings = read_ratings(write("sentence,a,b\nx,1,5\ny,2,5\nz,3,5\n"))
    np.testing.assert_allclose(
        ratings["rating"] * 2, read_ratings(write("sentence,a\nx,1\ny,2\nz,3\n"))["rating"]
    )


def test_rated_sentences_can_be_scored_as_pairs(write):
    pairs = rating_pairs(read_ratings(write("sentence,a\n一,1\n二,2\n一,3\n")))
    assert pairs["good"].tolist() == pairs["bad"].tolist() == ["一", "二", "一"]
    assert pairs["pair"].tolist() == [0, 1, 2]


def test_correlation_with_the_values_themselves_is_one():
    rated = pd.DataFrame({"lp_good": [-1.0, -5.0, -2.0], "n_good": [1, 4, 3], "rating": [-1.0, -5.0, -2.0]})
    assert rating_correlation(rated, parse_linking("lp")) == pytest.approx(1)
    assert rating_correlation(rated, parse_linking("nll")) == pytest.approx(1)
    assert rating_correlation(rated, parse_linking("mean_lp")) == pytest.approx(
        np.corrcoef([-1, -5 / 4, -2 / 3], [-1, -5, -2])[0, 1]
    )
    assert np.isnan(rating_correlation(rated.assign(lp_good=-1.0), parse_linking("lp")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"ratings\.csv:1: no column 'sentence'; the columns are none"),
        ("sentense,a\nx,1\n", r"ratings\.csv:1: no column 'sentence'.* Did you mean 'sentense'\?"),
        ("sentence\nx\n", r"ratings\.csv:1: no column of ratings beside 'sentence'"),
        ("sentence,a\nx,1\ny,2\n", "2 rated sentences; 3 at least are needed"),
        ("sentence,a\nx,1\ny,good\nz,3\n", r"ratings\.csv:3: 'a' is 'good'; a number is expected"),
        ("sentence,a\nx,1\ny,nan\nz,3\n", r"ratings\.csv:3: 'a' is 'nan'; a number is expected"),
        ("sentence,a\nx,1\n ,2\nz,3\n", r"ratings\.csv:3: 'sentence' is empty"),
        ("sentence,a\nx,1\ny\nz,3\n", r"ratings\.csv:3: 2 cells are expected, as in the header"),
        ("sentence,a\nx,1\ny,2,3\nz,3\n", r"ratings\.csv:3: 2 cells are expected, as in the header"),
        ("sentence,a,b\nx,1,1\ny,,\nz,3,3\n", r"ratings\.csv:3: no rating of 'y'"),
        ("sentence,a\nx,1\ny,1\nz,1\n", "the ratings do not vary"),
        (b"sentence,a\n\xff,1\n", r"fit\.ratings: .*ratings\.csv:2: not UTF-8"),
        ('sentence,a\n"x,1\n', r"fit\.ratings: .*ratings\.csv is not CSV"),
    ],
)
def test_broken_ratings(write, text, message):
    with pytest.raises(UserError, match=message):
        read_ratings(write(text))


def test_ratings_that_are_not_there(tmp_path):
    with pytest.raises(UserError, match=r"fit\.ratings: cannot read .*none\.csv \(No such file"):
        read_ratings(tmp_path / "none.csv")
