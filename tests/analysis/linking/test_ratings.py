import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.analysis.studies import study_of, write_pairs
from tests.analysis.synthetic import MakeRun, score_row
from tests.settings import analyze_settings
from ucurve.analysis.linking.ratings import correlation_sections, rating_correlations, read_rating_pairs
from ucurve.errors import UserError
from ucurve.eval.linking import parse_linking

SENTENCES = ["a", "bb", "ccc", "dddd", "eeeee", "ffffff"]
VALUES = [(-4.0, 2), (-6.0, 3), (-5.0, 2), (-9.0, 4), (-7.0, 2), (-3.0, 1)]  # lp, tokens
GOOD, BAD = [0, 2, 5], [1, 3, 4]


def _rated(ratings) -> pd.DataFrame:
    lp, n = np.array(VALUES).T
    return pd.DataFrame({"lp_good": lp, "lp_bad": lp, "n_good": n, "n_bad": n, "rating": ratings})


def _pairs() -> pd.DataFrame:
    return pd.DataFrame({"good": GOOD, "bad": BAD})


def test_a_function_that_is_the_ratings_correlates_perfectly() -> None:
    slln = parse_linking("slln_lp")
    rated = _rated(slln.values(_rated(0.0), "good"))
    table = rating_correlations(rated, [slln, parse_linking("lp")], _pairs()).set_index("linking")
    assert table.loc["slln_lp", ["pointwise", "pairwise"]].tolist() == pytest.approx([1, 1])
    assert (table.loc["lp", ["pointwise", "pairwise"]] < 0.999).all()
    assert table[["sentences", "pairs"]].values.tolist() == [[6, 3], [6, 3]]


def test_the_pair_wise_correlation_is_of_differences() -> None:
    ratings = np.array([2.0, 1.0, 3.0, -1.0, 0.0, 0.5])
    (row,) = rating_correlations(_rated(ratings), [parse_linking("lp")], _pairs()).to_dict("records")
    lp = np.array([value for value, _ in VALUES])
    expected = np.corrcoef(lp[GOOD] - lp[BAD], ratings[GOOD] - ratings[BAD])[0, 1]
    assert row["pairwise"] == pytest.approx(expected)
    assert row["pointwise"] == pytest.approx(np.corrcoef(lp, ratings)[0, 1])


def test_a_function_whose_lower_values_are_better_has_its_sign_turned() -> None:
    table = rating_correlations(_rated(range(6)), [parse_linking("lp"), parse_linking("nll")], _pairs())
    assert table["pointwise"].nunique() == table["pairwise"].nunique() == 1


def test_what_cannot_be_computed_is_left_out_or_empty() -> None:
    rated = _rated(range(6))
    assert rating_correlations(rated, [parse_linking("slor")])["linking"].tolist() == []
    (row,) = rating_correlations(rated, [parse_linking("lp")]).to_dict("records")
    assert (row["pairs"], math.isnan(row["pairwise"])) == (0, True)
    equal = rated.assign(rating=[1, 0, 1, 0, 0, 1])
    (row,) = rating_correlations(equal, [parse_linking("lp")], _pairs()).to_dict("records")
    assert math.isnan(row["pairwise"])  # all differences of ratings are 1


def test_correlations_have_intervals_over_clusters_and_differences_those_of_the_same_draws() -> None:
    random = np.random.default_rng(3)
    ratings = np.repeat(random.standard_normal(40), 2) + 0.1 * random.standard_normal(80)  # pairs are alike
    lp = ratings + random.standard_normal(80)
    n = np.full(80, 5)
    rated = pd.DataFrame({"lp_good": lp, "lp_bad": lp, "n_good": n, "n_bad": n, "rating": ratings})
    linkings = [parse_linking(name) for name in ("lp", "mean_lp", "slln_lp")]
    alone = rating_correlations(rated, linkings)
    paired = rating_correlations(rated, linkings, pd.DataFrame({"good": range(0, 80, 2), "bad": range(1, 80, 2)}))
    assert (set(alone["clusters"]), set(paired["clusters"])) == ({80}, {40})
    spread = [np.std(table["pointwise_draws"].iloc[0]) for table in (alone, paired)]
    assert spread[1] > spread[0]  # two alike sentences say less than two others
    same = paired["pointwise_draws"].iloc[0] - paired["pointwise_draws"].iloc[1]
    assert np.abs(same).max() < 1e-9  # lengths are equal, so that both functions are one


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    lines = [f"{sentence},{place},{place * place}" for place, sentence in enumerate(SENTENCES)]
    path.write_text("\n".join(["sentence,r1,r2", *lines]) + "\n")
    return path


@pytest.fixture
def pairs(tmp_path: Path):
    def write(*lines: str, header: str = "good,bad") -> Path:
        path = tmp_path / "rating_pairs.csv"
        path.write_text("\n".join([header, *lines]) + "\n")
        return path

    return write


def _run(make_run: MakeRun, sentences=SENTENCES, step: int = 8, **options) -> Path:
    folder = make_run([score_row(8, 0.6), score_row(8, 0.6, linking="morcela:0.1:12")], **options)
    values = [(lp, lp, n, n) for lp, n in VALUES]
    write_pairs(folder, "ratings-0123abcd", step, values, -3.0, sentences)
    return folder


def test_stored_scores_of_rated_sentences_are_read_and_averaged_over_seeds(
    make_run, tmp_path, ratings, pairs
) -> None:
    for seed in (0, 1):
        _run(make_run, seed=seed)
    _run(make_run, model="70m", sentences=list(reversed(SENTENCES)))  # another file's sentences
    settings = {"ratings": ratings, "rating_pairs": pairs("a,bb", "ccc,dddd", "ffffff,eeeee")}
    (part,) = correlation_sections(study_of(tmp_path, **settings))
    table = part.tables["rating_correlations"]
    assert table["linking"].tolist() == ["lp", "mean_lp", "pen_lp", "slor", "morcela:0.1:12", "slln_lp"]
    assert set(table["model"]) == {"14m"}
    assert set(table["runs"]) == {2}
    z = [(column - column.mean()) / column.std() for column in (np.arange(6.0), np.arange(6.0) ** 2)]
    expected = np.corrcoef([value for value, _ in VALUES], (z[0] + z[1]) / 2)[0, 1]
    assert table["pointwise"].iloc[0] == pytest.approx(expected)
    assert table["pairwise"].notna().all()
    assert table["pointwise_low"].isna().all()  # three pairs and no other sentence: too few clusters
    assert (set(table["clusters"]), len(part.tables["rating_differences"])) == ({3}, 15)
    (part,) = correlation_sections(study_of(tmp_path, ratings=ratings))
    table = part.tables["rating_correlations"].set_index("linking")
    assert (table["pointwise_low"] <= table["pointwise"]).all()
    assert (table["pointwise"] <= table["pointwise_high"]).all()
    apart = part.tables["rating_differences"].set_index("of").loc["lp - slln_lp"]
    assert apart["pointwise"] == pytest.approx(table["pointwise"]["lp"] - table["pointwise"]["slln_lp"])
    assert apart["pointwise_low"] <= apart["pointwise"] <= apart["pointwise_high"]


def test_without_ratings_there_is_no_table(make_run: MakeRun, tmp_path: Path) -> None:
    _run(make_run)
    assert list(correlation_sections(study_of(tmp_path))) == []


def test_ratings_that_were_not_scored_say_how_to_score_them(
    make_run: MakeRun, tmp_path: Path, ratings: Path
) -> None:
    make_run([score_row(8, 0.6)])
    with pytest.raises(
        UserError,
        match=r"no run has scores of its sentences \(.+, .+ and \d+ more\); make them with: "
        r"(python score\.py|ucurve score) run=\.\.\. benchmarks=\.\.\. fit\.on=ratings fit\.ratings=",
    ):
        list(correlation_sections(study_of(tmp_path, ratings=ratings)))


def test_a_file_that_is_not_there_is_named(make_run: MakeRun, tmp_path: Path) -> None:
    make_run([score_row(8, 0.6)])
    with pytest.raises(UserError, match=r"ratings: no file .*none\.csv"):
        list(correlation_sections(study_of(tmp_path, ratings=tmp_path / "none.csv")))


def test_pairs_must_be_rated_sentences(pairs, tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"rating_pairs\.csv:3: 'dddx' is not a sentence of .* Did you mean 'dddd'\?"
    ):
        read_rating_pairs(pairs("a,bb", "ccc,dddx"), SENTENCES)
    with pytest.raises(UserError, match=r"rating_pairs\.csv: 2 pairs; 3 at least are needed"):
        read_rating_pairs(pairs("a,bb", "ccc,dddd"), SENTENCES)
    with pytest.raises(UserError, match=r"rating_pairs\.csv:1: no column 'bad'; the columns are good, worse"):
        read_rating_pairs(pairs("a,bb", header="good,worse"), SENTENCES)
    with pytest.raises(UserError, match=r"rating_pairs: cannot read .*none\.csv \(No such file"):
        read_rating_pairs(tmp_path / "none.csv", SENTENCES)


def test_pairs_without_ratings_are_refused() -> None:
    message = r"rating_pairs=FILE\.csv names pairs of rated sentences: give ratings=FILE\.csv"
    with pytest.raises(UserError, match=message):
        analyze_settings(rating_pairs="pairs.csv")
