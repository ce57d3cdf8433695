import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.item_runs import make_item_run, pair_table, score_table
from tests.analysis.studies import scored_of, study_of
from tests.analysis.synthetic import MakeRun, Row, score_row, write_metrics, write_scores
from tests.facts import store_scores
from ucurve.analysis.data.frames import score_frame
from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.linking.section import linking_by_line, linking_by_run, linking_sections
from ucurve.analysis.overview import Story, first_screen
from ucurve.analysis.report.html import TableView
from ucurve.analysis.summary import headline, missing, provenance

SPLITS = {"all": (0.80, 100), "equal": (0.84, 60), "good_longer": (0.60, 25), "bad_longer": (0.96, 15)}


def _splits(step: int, shift: float = 0.0, **changes) -> list[Row]:
    return [
        score_row(step, round(acc + shift, 4), split=split, n=n, **changes) for split, (acc, n) in SPLITS.items()
    ]


@pytest.fixture
def study(tmp_path):
    def read():
        runs = find_runs([f"{tmp_path}/runs/*"])
        return runs, score_frame(runs)

    return read


def test_length_splits_and_their_bias_equal_hand_computed_ones(make_run: MakeRun, study) -> None:
    make_run(_splits(0, -0.3) + _splits(8))
    (row,) = linking_by_run(study()[1]).to_dict("records")
    assert (row["step"], row["linking"], row["n"], row["accuracy"]) == (8, "slln_lp", 100, 0.80)
    assert (row["equal"], row["good_longer"], row["bad_longer"]) == (0.84, 0.60, 0.96)
    assert (row["n_equal"], row["n_good_longer"], row["n_bad_longer"]) == (60, 25, 15)
    assert row["delta_acc"] == pytest.approx((0.24 + 0.12) / 2)


def test_a_split_without_pairs_stays_empty(make_run: MakeRun, study) -> None:
    make_run([row for row in _splits(8) if row["split"] != "bad_longer"])
    (row,) = linking_by_run(study()[1]).to_dict("records")
    assert row["good_longer"] == 0.60
    assert math.isnan(row["bad_longer"])
    assert math.isnan(row["delta_acc"])


def test_a_score_that_follows_length_alone_is_named(make_run: MakeRun, tmp_path) -> None:
    untrained = {"all": (0.50, 100), "equal": (0.51, 60), "good_longer": (0.0, 20), "bad_longer": (1.0, 20)}
    rows = [score_row(8, acc, split=split, n=n, linking="lp") for split, (acc, n) in untrained.items()]
    make_run(rows + _splits(8))
    [section] = linking_sections(scored_of(tmp_path))
    said, view = section.content
    assert isinstance(said, str)
    assert said.startswith("Length alone decides where lengths differ, and not grammar: 14m by lp. ")
    assert "the shorter sentence wins, and Δacc is about 50" in said
    assert isinstance(view, TableView)
    assert "see the signed differences" in view.note


def test_scores_that_know_more_than_length_are_not_named(make_run: MakeRun, tmp_path) -> None:
    make_run(_splits(8))
    [section] = linking_sections(scored_of(tmp_path))
    assert len(section.content) == 1


def test_linking_functions_stand_in_the_papers_order(make_run: MakeRun, study) -> None:
    names = [
        "slor",
        "slln_lp:0.7",
        "slln_lp:0.3",
        "morcela:x",
        "pen_lp",
        "own",
        "slln_lp",
        "morcela",
        "mean_lp",
        "lp",
    ]
    make_run([row for name in names for row in _splits(8, linking=name)])
    slln = ["slln_lp:0.3", "slln_lp", "slln_lp:0.7"]
    expected = ["lp", "mean_lp", "pen_lp", "slor", "morcela", "morcela:x", *slln, "own"]
    assert linking_by_run(study()[1])["linking"].tolist() == expected


def test_a_line_is_averaged_over_its_runs_at_one_step(make_run: MakeRun, study) -> None:
    make_run(_splits(8), seed=0)
    make_run(_splits(8, 0.02), seed=1)
    make_run(_splits(4), seed=2)  # a run that has not come as far is not mixed in
    table = linking_by_line(linking_by_run(study()[1])).set_index("step")
    assert table["runs"].to_dict() == {4: 1, 8: 2}
    assert table.loc[8, "accuracy"] == pytest.approx(0.81)
    assert table.loc[8, "accuracy_sd"] == pytest.approx(0.02 / 2**0.5)
    assert table.loc[8, "delta_acc"] == pytest.approx(0.18)
    assert math.isnan(table.loc[4, "accuracy_sd"])


def test_headline_has_step_0_and_the_last_score_of_each_run(make_run: MakeRun, tmp_path) -> None:
    make_run([score_row(0, 0.51), score_row(3, 0.6), score_row(9, 0.9)], seed=0)
    make_run([score_row(3, 0.7), score_row(9, 0.1, linking="lp")], seed=1, status="running")
    first, second = headline(study_of(tmp_path)).to_dict("records")
    assert (first["start"], first["accuracy"], first["step"], first["checkpoints"]) == (0.51, 0.9, 9, 3)
    assert (first["ci_low"], first["ci_high"]) == (0.8, 1.0)
    assert (second["accuracy"], second["step"], second["status"]) == (0.7, 3, "running")
    assert math.isnan(second["start"])


def test_what_is_missing_is_listed(make_run: MakeRun, tmp_path) -> None:
    make_run([score_row(0, 0.5)], seed=0, bits={1: 1.0})
    make_run([score_row(0, 0.5)], seed=1, bits={1: 1.0}, planned=[0, 1, 2], saved=[0, 1], status="running")
    make_run(None, seed=2, bits={1: 1.0})
    make_run([score_row(0, 0.5, linking="lp")], seed=3)
    write_scores(tmp_path / "runs" / "zz", [score_row(-1, 0.5)])
    rows = [
        (row["run"][-2:], row["missing"], row["detail"]) for row in missing(study_of(tmp_path)).to_dict("records")
    ]
    assert rows == [
        ("s1", "finished run", "status: running"),
        ("s1", "checkpoints", "1 without: step 2"),
        ("s1", "scores on zho", "1 without: step 1"),
        ("s2", "scores", "no eval/accuracy.csv"),
        ("s3", "training metrics", "no metrics.jsonl"),
        ("s3", "slln_lp on zho", "not among the linking functions it was scored with"),
    ]


def test_runs_that_were_scored_on_other_sentences_are_named(make_run: MakeRun, tmp_path) -> None:
    pairs = pair_table({"p": "x"}, 4)
    for seed in range(3):
        own = pairs.assign(good=pairs["good"] + " anew") if seed == 0 else pairs
        folder = make_item_run(make_run, own, {1: np.full(4, 2)}, seed=seed)
        write_metrics(folder, {1: 2.0})
    study = study_of(tmp_path)
    (row,) = missing(study).to_dict("records")
    assert (row["run"][-2:], row["missing"]) == ("s0", "pairs of zho")
    assert dict(first_screen(study, []).facts)["What was trained"][-1] == (
        f"On zho {row['run']} was scored on other pairs than the other runs: accuracies on different pairs do not "
        "compare."
    )


def test_a_benchmark_that_only_other_runs_were_scored_on_is_missing(make_run: MakeRun, tmp_path) -> None:
    make_run([score_row(0, 0.5), score_row(0, 0.5, benchmark="tse", scorer="pll")], seed=0, bits={1: 1.0})
    make_run([score_row(0, 0.5, scorer="pll")], seed=1, bits={1: 1.0})
    (row,) = missing(study_of(tmp_path)).to_dict("records")
    assert (row["run"][-2:], row["missing"]) == ("s1", "scores on tse")


def test_tables_say_how_many_ties_there_are_and_what_they_count(make_run: MakeRun, tmp_path) -> None:
    make_run([score_row(3, 0.6, ties=7, ties_rule="wrong")])
    (first,) = headline(study_of(tmp_path)).to_dict("records")
    assert (first["n"], first["ties"], first["ties_rule"]) == (100, 7, "wrong")
    by_run = linking_by_run(scored_of(tmp_path).rows)
    assert by_run["ties_rule"].tolist() == linking_by_line(by_run)["ties_rule"].tolist() == ["wrong"]


def test_many_missing_steps_are_shortened(make_run: MakeRun, tmp_path) -> None:
    make_run([score_row(0, 0.5)], saved=range(40), bits={1: 1.0})
    (detail,) = missing(study_of(tmp_path))["detail"]
    assert detail == "39 without: steps 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 27 more"


def test_provenance_says_what_made_a_run(make_run: MakeRun, tmp_path) -> None:
    make_run([score_row(0, 0.5)])
    (row,) = provenance(study_of(tmp_path)).to_dict("records")
    assert row["parameters"] == 14_000_000
    assert row["seeds"] == "init 0, data 0"
    assert row["code"] == "fedcba987654+changes"
    assert row["versions"] == "ucurve 0.1.0, torch 2.0"
    assert row["hardware"] == "cores 2"


def test_the_first_screen_says_once_what_holds_of_several_benchmarks(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(bits={1: 8.0})
    one, other = (
        Story(name, (f"Accuracy on {name}.",), (), ("No curve turns.",), ()) for name in ("one", "other")
    )
    told = first_screen(study_of(tmp_path), [one, other])
    assert dict(told.facts)["Which curves turn"] == told.turns == ("No curve turns.",)
    told = first_screen(
        study_of(tmp_path), [one, replace(other, order=("First learned: NPI.",), turns=("NPI falls.",))]
    )
    assert dict(told.facts)["What was learned"] == (
        "Accuracy on one.",
        "Accuracy on other.",
        "other: First learned: NPI.",
    )
    assert told.turns == ("one: No curve turns.", "other: NPI falls.")
    many = first_screen(study_of(tmp_path), [one, one, one, replace(other, tested=True)])
    assert dict(many.facts)["What was learned"][0] == "Accuracy on other."


def test_the_first_screen_names_the_factors_of_a_grid(make_run: MakeRun, tmp_path: Path) -> None:
    for suffix in ("", "-objective=masked", "-objective=mntp-optimizer.eps=1e-06"):
        make_run(suffix=suffix, bits={1: 8.0})
    told = dict(first_screen(study_of(tmp_path), []).facts)["What was trained"]
    assert told == (
        "3 runs in 3 lines, 1 seed each, on 10M tokens of demo: they differ in objective (causal, masked, mntp).",
    )


def test_the_first_screen_says_how_many_runs_have_no_scores(make_run: MakeRun, tmp_path: Path) -> None:
    make_run([score_row(1, 0.5)], bits={1: 8.0})
    for tokenizer in ("word", "bpe"):
        make_run(tokenizer=tokenizer, bits={1: 8.0})
    told = dict(first_screen(study_of(tmp_path), []).facts)["What was trained"]
    assert told[-1] == "2 runs have no scores."


def test_the_first_screen_of_a_grid_draws_the_benchmark_that_it_tells_first(
    make_run: MakeRun, tmp_path: Path
) -> None:
    for tokenizer in ("char", "word"):
        make_run([score_row(1, 0.5, benchmark=name) for name in ("a", "z")], tokenizer=tokenizer, bits={1: 8.0})
    stories = [Story(name, (), (), (), (), tested=name == "z") for name in ("a", "z")]
    told = first_screen(study_of(tmp_path), stories)
    assert told.pictures[0].title == "All pairs of z"


def test_the_first_screen_of_a_grid_draws_the_lines_of_every_way_to_score(
    make_run: MakeRun, tmp_path: Path
) -> None:
    """A hybrid model is scored in two ways, so that those of all runs are not put together."""
    for tokenizer, scorers in {"char": ("pll", "sentence"), "word": ("sentence",)}.items():
        levels = [{"scorer": scorer, "phenomenon": name} for scorer in scorers for name in ("all", "BA")]
        make_run([score_row(1, 0.5, **level) for level in levels], tokenizer=tokenizer, bits={1: 8.0})
    study = study_of(tmp_path)
    told = first_screen(study, [Story(one.heading, (), (), (), ()) for one in study.benchmarks()])
    titles = [picture.title for picture in told.pictures]
    assert sorted(titles[:2]) == ["All pairs of zho", "All pairs of zho (scored by pll)"]
    assert titles[2:] == [titles[0].replace("All pairs", "Phenomena")]


def test_a_run_whose_steps_were_scored_in_several_ways_is_named(make_run: MakeRun, tmp_path: Path) -> None:
    """As after ``score.py run=RUN steps=9 bos=none`` of a run that was scored after another token before."""
    pairs, verdicts = pair_table({"BA_1": "BA"}, 8), np.array([0, 2] * 4)
    folders = [make_item_run(make_run, pairs, dict.fromkeys((1, 2, 3), verdicts), seed=seed) for seed in (0, 1)]
    study = study_of(tmp_path)
    for folder, rules in zip(folders, (("eos", "eos", "none"), ("eos", "eos", "eos")), strict=True):
        for step, rule in enumerate(rules, start=1):
            given = {"scorer": "sentence", "start_rule": rule}
            store_scores(folder, "zho", "sentence", step, score_table(pairs, verdicts), settings=given)
    (scored,) = study.benchmarks()
    mixed = study.runs[0].label
    assert scored.mixed_settings == {mixed: ["start_rule"]}
    table = missing(study).set_index("missing")
    assert table.loc["one way to score zho", "run"] == mixed
    told = dict(first_screen(study, []).facts)["What was trained"]
    assert [sentence for sentence in told if "different settings (start_rule)" in sentence]
