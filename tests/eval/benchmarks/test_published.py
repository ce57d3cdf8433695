"""The real files, with the counts their papers state."""

import numpy as np
import pandas as pd
import pytest

from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.registry import find_benchmark
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import accuracy_table

COUNTS = {
    "zhoblimp": {300: 118},
    "zhoblimp-excluded": {300: 11},
    "blimp": {1000: 67},
    "sling": {1000: 40, 40: 14},
    "rublimp": {1000: 45},
    "swe-blimp": {100: 24, 200: 1},
    "tse/eus": {1000: 8},
    "tse/hin": {1000: 6},
    "tse/swa": {1000: 8},
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_the_published_ones(shared, name, capsys):
    pairs = load_benchmark(name, shared / "benchmarks")
    expected = find_benchmark(name).expected
    assert pairs.groupby("paradigm").size().value_counts().to_dict() == COUNTS[name]
    assert (len(pairs), pairs["paradigm"].nunique(), pairs["phenomenon"].nunique()) == (
        expected.pairs,
        expected.paradigms,
        expected.phenomena,
    )
    assert pairs["pair"].tolist() == list(range(len(pairs)))
    assert set(pairs["language"]) == {find_benchmark(name).language}
    assert capsys.readouterr().err == ""


def test_zhoblimp_phenomena(shared):
    sizes = load_benchmark("zhoblimp", shared / "benchmarks").groupby("phenomenon")["paradigm"].nunique()
    assert sorted(sizes) == sorted([6, 7, 13, 3, 4, 3, 5, 11, 9, 12, 2, 21, 4, 4, 14])  # Table 2


def test_blimp_has_the_papers_phenomena_and_keeps_the_published_terms(shared):
    pairs = load_benchmark("blimp", shared / "benchmarks")
    assert pairs["linguistics_term"].nunique() == 13
    assert (pairs["field"] == "syntax/semantics").sum() == 1000
    assert set(pairs["subfield"]) == {"morphology", "semantics", "syntax", "syntax_semantics"}
    by_phenomenon = pairs.groupby("phenomenon")["paradigm"].nunique()
    assert by_phenomenon["argument_structure"] == 9
    assert sorted(by_phenomenon) == [2, 2, 2, 4, 5, 6, 7, 7, 7, 8, 8, 9]
    assert (pairs["UID"] == pairs["paradigm"]).all()
    assert {"pairID", "one_prefix_word_good", "two_prefix_prefix_bad", "lexically_identical"} <= set(
        pairs.columns
    )


def test_sling_reads_both_spellings_and_marks_the_paper(shared):
    pairs = load_benchmark("sling", shared / "benchmarks")
    assert not {"Paradigm", "Phenomenon"} & set(pairs.columns)
    assert pairs["pair_ID"].dtype == "int64"
    per_paradigm = pairs.groupby("paradigm")
    assert per_paradigm["counted"].first().sum() == 38
    assert pairs.groupby("published_paradigm")["paradigm"].nunique()["Plural"] == 12
    assert per_paradigm["published_phenomenon"].first()["animacy_baseline"] == "animacy_as_subj"
    assert set(per_paradigm["phenomenon"].first()["animacy_baseline"].split("_")) == {"Reflexive", "auto"}
    assert per_paradigm["counted"].first()[["cl_comp_noun", "cl_comp_noun_v2"]].tolist() == [False, True]


def test_rublimp_keeps_its_columns(shared):
    pairs = load_benchmark("rublimp", shared / "benchmarks")
    assert pairs["domain"].value_counts().to_dict() == {"librusec": 32_049, "wikipedia": 8_432, "wikinews": 4_519}
    assert (pairs["subtype"] != pairs["PID"]).groupby(pairs["paradigm"]).any().sum() == 11
    assert pairs["level"].value_counts().to_dict() == {"Syntax": 28_000, "Semantics": 11_000, "Morphology": 6_000}
    assert pairs.groupby("level")["tree_depth"].mean().round(2).to_dict() == {
        "Morphology": 4.02,
        "Semantics": 4.41,
        "Syntax": 4.12,
    }  # the paper's Table 3
    words = pairs[["good", "bad"]].map(lambda sentence: len(sentence.split(" ")))
    assert (words["good"] == words["bad"]).all()


def test_swe_blimp_keeps_the_papers_block(shared):
    pairs = load_benchmark("swe-blimp", shared / "benchmarks")
    assert pairs["paradigm"][~pairs["counted"]].tolist() == ["ELLIPSIS1"] * 100
    pairs = pairs[pairs["counted"]]
    assert (pairs.groupby("paradigm")["handmade"].sum() == 10).all()
    assert pairs["handmade"].to_numpy().reshape(25, 100)[:, :10].all()
    words = pairs[["good", "bad"]].map(lambda sentence: len(sentence.split()))
    unequal = set(pairs["paradigm"][words["good"] != words["bad"]])
    assert unequal == {"NO RESUMPTION", "RESUMPTION 1", "RESUMPTION 2"}  # section 4


@pytest.mark.parametrize("language", ["eus", "hin", "swa"])
def test_suites_are_condition_and_target(shared, language):
    pairs = load_benchmark(f"tse/{language}", shared / "benchmarks")
    for member in ("good", "bad"):
        assert (pairs[member] == pairs["condition"] + " " + pairs[f"target_{member}"]).all()
    assert not pairs[["good", "bad"]].duplicated().any()
    assert language != "hin" or set(pairs["target_good"].str.split().str.len()) == {2}
    failed = set(pairs["paradigm"][~pairs["counted"]]) if "counted" in pairs else set()
    assert failed == ({"N_of_Poss_ni_A", "N_of_Poss_D_A_V1_V2"} if language == "swa" else set())


def test_phenomena_of_the_suites(shared):
    by_language = {
        language: load_benchmark(f"tse/{language}", shared / "benchmarks")
        .groupby("phenomenon")["paradigm"]
        .nunique()
        for language in ("eus", "hin", "swa")
    }
    assert by_language["eus"].to_dict() == {"DO agreement": 2, "IO agreement": 2, "S agreement": 4}
    assert by_language["hin"].to_dict() == {"habitual without ne": 3, "perfective after ne": 3}
    assert by_language["swa"].to_dict() == {"adjectival predicate": 4, "verbal predicate": 4}


@pytest.mark.parametrize(
    ("name", "paradigms", "over_all"), [("sling", 38, 0.937), ("swe-blimp", 25, 0.962), ("tse/swa", 6, 0.75)]
)
def test_a_model_right_on_all_that_the_paper_counts_has_100_percent(shared, name, paradigms, over_all):
    pairs = load_benchmark(name, shared / "benchmarks")
    scores = pd.DataFrame(
        {"pair": pairs["pair"], "lp_good": np.where(pairs["counted"], -1.0, -3.0), "lp_bad": -2.0}
    )
    table = accuracy_table(pairs, scores.assign(n_good=5, n_bad=5), [parse_linking("lp")])
    rows = table.set_index(["split", "phenomenon", "paradigm"])["accuracy"]
    assert (rows["all"] == 1).all()
    assert len(rows["all"].index.unique("paradigm")) == paradigms + 3
    assert rows["published", "all", "all"] == pytest.approx(over_all, abs=0.001)
