"""People's judgments of TurBLiMP and QFrBLiMP by phenomenon, against tables made of the published files without ucurve.

TurBLiMP: Başar, Padovani, Jumelet and Bisazza 2025 (arXiv 2506.13487) draw the mean z-score of the good and the bad
sentences of 16 phenomena, rated by 30 people. QFrBLiMP: Beauchemin, Veilleux, Khoury and Roy 2026 (arXiv 2509.25664),
20 phenomena judged by 12 people. The numbers that the papers print were not at hand, so the expected tables are computed
here from the columns of the files as their authors name them, without matching any sentence with a pair.
"""

import json

import numpy as np
import pandas as pd
import pytest

from ucurve.analysis.paradigms.human import choices_by_paradigm, human_agreement, majorities_followed
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.ratings.load import load_ratings
from ucurve.eval.benchmarks.registry import find_benchmark
from ucurve.validation.judging.agreement import fleiss_kappa, raw_agreement

# Pairs of each phenomenon, in the order of its numbers: the table in the README of QFrBLiMP's repository.
PUBLISHED_PAIRS = [97, 95, 97, 96, 99, 97, 114, 106, 113, 91, 100, 100, 96, 97, 60, 60, 60, 60, 60, 63]
# Where TurBLiMP's ratings match other sentences than were rated for the phenomenon, with how many do: two bad sentences
# of quantifiers are in no pair, and a good one of scrambling is also in a pair of nominalization.
OTHERWISE = {("nominalization", "good"): 7, ("quantifiers", "bad"): 4}
RATERS = 15  # of each sentence: half of the 30 people


def load(shared, name):
    card = find_benchmark(name)
    pairs = load_benchmark(card, shared / "benchmarks")
    ratings = load_ratings(card, shared / "benchmarks", pairs)
    assert ratings is not None
    return pairs, ratings


@pytest.fixture(scope="module")
def turblimp(shared):
    """Ratings as ucurve reads them, each of a person and a sentence of a phenomenon once, with phenomenon and side."""
    pytest.importorskip("openpyxl")
    pairs, ratings = load(shared, "turblimp")
    sentences = pairs.melt(["pair", "phenomenon"], ["good", "bad"], "side", "sentence")
    sentences["sentence"] = sentences["sentence"].str.strip()
    return ratings.merge(sentences, on=["pair", "side"]).drop_duplicates(
        ["phenomenon", "side", "sentence", "person"]
    )


@pytest.fixture(scope="module")
def workbook(shared):
    """The same from the workbook alone, whose second row names phenomenon and side of each column."""
    path = shared / "benchmarks/turblimp/human_judgments/base_judgments.xlsx"
    values = pytest.importorskip("openpyxl").load_workbook(path, read_only=True).worksheets[0].values
    _, groups, *people = values
    numbers = np.array(people, dtype=float)
    z = (numbers - np.nanmean(numbers, axis=1)[:, None]) / np.nanstd(numbers, axis=1)[:, None]
    names = [group.lower().rsplit("_", 1) for group in groups]
    table = pd.DataFrame({
        "phenomenon": np.tile([name.replace("subject_agr", "subject_verb_agr") for name, _ in names], len(people)),
        "side": np.tile([side for _, side in names], len(people)), "value": numbers.ravel(), "z": z.ravel(),
    })  # fmt: skip
    return table.dropna()


def test_the_mean_ratings_of_turblimps_phenomena(turblimp, workbook):
    names = ["phenomenon", "side"]
    read, expected = (
        table.groupby(names)[["value", "z"]].agg(["mean", "size"]) for table in (turblimp, workbook)
    )
    assert expected.index.tolist() == read.index.tolist()
    assert len(expected) == 2 * 16
    sentences = dict.fromkeys(expected.index, 6)
    assert expected["value"]["size"].to_dict() == {cell: RATERS * number for cell, number in sentences.items()}
    sentences |= OTHERWISE
    assert read["value"]["size"].to_dict() == {cell: RATERS * number for cell, number in sentences.items()}
    read, expected = (table.drop([*OTHERWISE]) for table in (read, expected))
    np.testing.assert_allclose(read["value"]["mean"], expected["value"]["mean"], rtol=1e-12)
    np.testing.assert_allclose(read["z"]["mean"], expected["z"]["mean"], rtol=1e-9)


def test_people_prefer_the_good_sentences_of_every_phenomenon_of_turblimp(turblimp):
    z = turblimp.groupby(["phenomenon", "side"])["z"].mean().unstack()
    assert z["good"].gt(0).all()
    assert z["bad"].lt(0).all()
    assert (z["good"] - z["bad"]).idxmin() == "island_effects"
    assert (z["good"] - z["bad"]).idxmax() == "suspended_affixation"


@pytest.fixture(scope="module")
def qfrblimp(shared):
    return load(shared, "qfrblimp")


@pytest.fixture(scope="module")
def answers(shared):
    """A row for each answer in the published lines, without the pairs of two equal sentences."""
    text = (shared / "benchmarks/qfrblimp/qfrblimp.jsonl").read_text(encoding="utf-8")
    lines = pd.DataFrame(map(json.loads, text.splitlines()))
    people = [name for name in lines if name.startswith("annotator_")]
    assert lines.groupby("type").size().tolist() == PUBLISHED_PAIRS
    lines = lines[lines["sentence_a"].str.strip() != lines["sentence_b"].str.strip()].reset_index(names="line")
    table = lines.melt(["line", "type", "label"], people, "person", "choice")
    return table.assign(right=table["choice"] == table["label"])


def test_the_accuracy_of_people_by_phenomenon_of_qfrblimp(qfrblimp, answers):
    pairs, choices = qfrblimp
    table = human_agreement(
        choices_by_paradigm(choices, pairs), pairs[["phenomenon", "paradigm"]].drop_duplicates()
    )
    read = table.set_index("phenomenon")
    numbers = find_benchmark("qfrblimp").columns["paradigm"].map
    expected = answers.groupby("type")["right"].agg(["mean", "size"])
    expected.index = pd.Index([numbers[str(number)] for number in expected.index])
    np.testing.assert_allclose(read.loc[expected.index, "pooled"], expected["mean"], rtol=1e-12)
    assert read.loc[expected.index, "answers"].tolist() == expected["size"].tolist()
    assert (
        read.loc["all", "pooled"]
        == pytest.approx(answers["right"].mean(), rel=1e-12)
        == pytest.approx(0.8759, abs=5e-5)
    )
    assert read.loc["all", "macro"] == pytest.approx(expected["mean"].mean(), rel=1e-12)
    assert expected["mean"].idxmin() == "orphan preposition"
    assert expected["mean"].idxmax() == "clitics in infinitive negation"


def test_the_accuracy_of_each_person_of_qfrblimp(qfrblimp, answers):
    _, choices = qfrblimp
    read, expected = (table.groupby("person")["right"].mean() for table in (choices, answers))
    assert len(expected) == 12
    np.testing.assert_allclose(read[expected.index].astype(float), expected, rtol=1e-12)
    assert [expected.min(), expected.max()] == pytest.approx([0.7510, 0.9455], abs=5e-5)


def test_people_agree_with_each_other_more_than_by_chance_on_qfrblimp(qfrblimp, answers):
    """Fleiss' kappa is .606 of which sentence was chosen, and .096 of whether the good one was, which nearly all are."""
    pairs, choices = qfrblimp
    good = choices.groupby("pair")["right"].agg(["sum", "size"])
    by_side = np.column_stack([good["sum"], good["size"] - good["sum"]]).astype(float)
    first = answers.groupby("line")["choice"].agg(["sum", "size"])
    by_place = np.column_stack([first["size"] - first["sum"], first["sum"]]).astype(float)
    pairs_of_people = 12 * 11
    observed = ((by_place**2).sum(axis=1) - 12).mean() / pairs_of_people
    assert raw_agreement(by_side) == pytest.approx(observed) == pytest.approx(raw_agreement(by_place))
    for counts, kappa in ((by_place, 0.6062), (by_side, 0.0956)):
        chance = (counts.mean(axis=0) ** 2).sum() / 12**2
        assert (
            fleiss_kappa(counts)
            == pytest.approx((observed - chance) / (1 - chance))
            == pytest.approx(kappa, abs=5e-5)
        )
    share = answers.groupby("line")["right"].mean()
    assert share.min() == 0.5  # the labels are made of these answers, so no majority is against them
    assert majorities_followed(choices, pairs) == (share > 0.5).sum() == 1695
