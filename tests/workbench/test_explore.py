"""The room Explore: what it counts against what scoring writes, and against a direct count."""

import itertools
import shutil
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from altair import LayerChart

from tests.facts import write_manifest_of, write_run
from ucurve.analysis.curves.learning import learning_figure
from ucurve.analysis.data.groups import columns, group
from ucurve.analysis.figures.page import draw_small, lay_out
from ucurve.analysis.items.histories import RIGHT, TIE, WRONG
from ucurve.analysis.shape.tables import explain_reservations
from ucurve.errors import UserError
from ucurve.eval.benchmarks import registry
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import accuracy_table, pair_credits
from ucurve.eval.store.reported import Reported, keep_reported
from ucurve.eval.store.scores import pairs_path, score_path
from ucurve.eval.store.tables import ACCURACY
from ucurve.storage.run_folder import checkpoint_folder
from ucurve.workbench.explore.curves import curve_figure, curve_rows, curves, linking_functions, read_asked
from ucurve.workbench.explore.library import Library, list_changes, list_scores
from ucurve.workbench.explore.pairs import list_pairs, pair_kinds, pair_margins
from ucurve.workbench.explore.seen import pair_card
from ucurve.workbench.explore.turns import courses, order, say
from ucurve.workbench.explore.verdicts import shape_verdicts

STEPS = (0, 1, 2, 4, 8, 16, 32, 64)
FUNCTIONS = ("lp", "mean_lp", "pen_lp", "slln_lp", "nll", "ppl", "slor", "morcela", "char_lp", "byte_lp")
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
NAMES = [
    *FUNCTIONS,
    *(f"{family}:{alpha}" for family in ("slln_lp", "pen_lp") for alpha in ALPHAS),
    "morcela:0.6:18",
]


def make_pairs(rng):
    """120 pairs of four paradigms: two identical members, some that do not count, and sets of three bad members."""
    paradigms = np.repeat(["p1", "p2", "p3", "p4"], 30)
    table = pd.DataFrame({
        "benchmark": "toy", "language": "zho", "paradigm": paradigms,
        "phenomenon": np.where(np.isin(paradigms, ["p1", "p2"]), "first", "second"), "pair": np.arange(120),
        "good": [f"good{number // 2} word" for number in range(120)],
        "bad": [f"bad{number // 2} word" for number in range(120)],
        "distance": rng.integers(1, 40, 120), "kind": rng.choice(["a", "b"], 120),
    })  # fmt: skip
    table.loc[[5, 70], "bad"] = table.loc[[5, 70], "good"]
    table["counted"] = ~table["pair"].isin([8, 9, 44])
    table["set"] = np.where(paradigms == "p4", table["pair"] // 3, np.nan)
    return table


def make_scores(pairs, rng):
    # Of the tokenizer, so the same at all steps.
    n_good, n_bad = np.random.default_rng(2).integers(3, 9, (2, len(pairs)))
    good = -rng.integers(8, 14, len(pairs)).astype(float)
    bad = good + rng.choice([-1.0, 0.0, 0.0, 1.0, 1e-9], len(pairs))
    fixed = np.random.default_rng(1)
    return pd.DataFrame({
        "pair": pairs["pair"], "lp_good": good, "lp_bad": bad, "n_good": n_good, "n_bad": n_bad,
        "unigram_good": -fixed.uniform(5, 9, len(pairs)), "unigram_bad": -fixed.uniform(5, 9, len(pairs)),
        "chars_good": 12, "chars_bad": 13, "bytes_good": 30, "bytes_bad": 30,
    })  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return make_library(tmp_path_factory.mktemp("toy"))


def make_library(tmp_path):
    """Two runs of two seeds with scores of eight checkpoints."""
    for seed in (0, 1):
        write_scored_run(tmp_path / f"runs/tiny-1M-char-toy-s{seed}", seed, "x", NAMES)
    return Library(lambda: [str(tmp_path / "runs/*")], tmp_path / "cache")


@cache
def scored_pairs(seed, names, steps):
    """The toy benchmark, its scores by step, and the accuracies that follow from them."""
    linkings = [parse_linking(name) for name in names]
    rng, pairs, scores, rows = np.random.default_rng(seed), make_pairs(np.random.default_rng(7)), {}, []
    for step in steps:
        scores[step] = make_scores(pairs, rng)
        facts = {
            "step": step,
            "tokens": step * 1000,
            "flops": step * 1e9,
            "benchmark": "toy",
            "scorer": "sentence",
        }
        rows.append(accuracy_table(pairs, scores[step], linkings).assign(**facts))
    return pairs, scores, pd.concat(rows)


def write_scored_run(folder, seed, cell, names):
    """Write a run of the toy benchmark with scores of eight checkpoints; runs of one cell are one line."""
    pairs, scores, rows = scored_pairs(seed, frozenset(parse_linking(name).name for name in names), tuple(STEPS))
    for step, of_step in scores.items():
        path = score_path(folder, "toy", "sentence", step)
        path.parent.mkdir(parents=True, exist_ok=True)
        of_step.to_parquet(path, index=False)
    pairs.to_parquet(pairs_path(folder, "toy"), index=False)
    written = rows.assign(run=folder.name).reindex(columns=list(ACCURACY.types), fill_value="")
    written.to_csv(ACCURACY.path(folder), index=False)
    factors = {"model": folder.name.partition("-")[0], "setting": cell}
    write_run(folder, seeds={"init": seed, "data": seed}, factors=factors)


def ask(linking="slln_lp", **values):
    return {"benchmark": "toy", "scorer": "sentence", "linking": linking, **values}


@cache
def accuracies(folder):
    return pd.read_csv(ACCURACY.path(folder))


def stored_rows(library, seed, linking, **where):
    rows = accuracies(library.runs()[seed].folder)
    rows = rows[rows["linking"] == parse_linking(linking).name]
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows.sort_values("step")


SPLITS, GROUPS = ("all", "equal", "good_longer", "bad_longer"), ("all", "phenomenon", "paradigm")
SHOWN = [(name, "all", "paradigm") for name in NAMES]  # every function, and every way to show two of them
SHOWN += [(name, split, by) for name in ("slln_lp", "morcela") for split in SPLITS for by in GROUPS]


@pytest.mark.parametrize(("linking", "split", "by"), dict.fromkeys(SHOWN))
def test_accuracies_are_those_that_scoring_writes(library, linking, split, by):
    label = library.runs()[0].label
    found = curve_rows(library, read_asked(ask(linking, by=by, split=split, runs=label)))
    table = pd.DataFrame(found["rows"], columns=found["columns"])
    assert len(table)
    where, column = ({}, "paradigm") if by == "paradigm" else ({"paradigm": "all"}, "phenomenon")
    for value, rows in table.groupby("value"):
        known = stored_rows(library, 0, linking, split=split, **where, **{column: value})
        assert rows["step"].tolist() == known["step"].tolist()
        np.testing.assert_array_equal(rows["n"].to_numpy(int), known["n"].to_numpy())
        for ours, theirs in (("accuracy", "accuracy"), ("low", "ci_low"), ("high", "ci_high")):
            np.testing.assert_allclose(rows[ours].to_numpy(float), known[theirs], rtol=1e-12)


def test_a_line_of_two_seeds_is_their_mean_with_their_deviation(library):
    found = curve_rows(library, read_asked(ask()))
    table = pd.DataFrame(found["rows"], columns=found["columns"])
    both = [
        stored_rows(library, seed, "slln_lp", split="all", phenomenon="all", paradigm="all")[
            "accuracy"
        ].to_numpy()
        for seed in (0, 1)
    ]
    np.testing.assert_allclose(table["accuracy"].to_numpy(float), np.mean(both, axis=0))
    np.testing.assert_allclose((table["high"] - table["accuracy"]).to_numpy(float), np.std(both, axis=0, ddof=1))
    assert set(table["runs"]) == {2}
    assert table["tokens"].tolist() == [step * 1000 for step in STEPS]


@pytest.mark.parametrize("linking", ["lp", "ppl", "slln_lp:0.3"])
def test_listed_pairs_are_those_of_a_direct_count(library, linking):
    label, bound = library.runs()[1].label, parse_linking(linking)
    pairs = make_pairs(np.random.default_rng(7))
    alone = pairs[pairs["set"].isna() & pairs["counted"] & (pairs["good"] != pairs["bad"])]
    credit = np.array([
        pair_credits(pd.read_parquet(score_path(library.runs()[1].folder, "toy", "sentence", step)), bound, "half")[alone["pair"]]
        for step in STEPS
    ])  # fmt: skip
    for place, step in enumerate(STEPS):
        right = credit == 1
        expected = {
            "right": right[place], "wrong": credit[place] == 0, "tied": credit[place] == 0.5,
            "flipped": credit[place] != credit[place - 1] if place else np.zeros(len(alone), bool),
            "learned": right[place:].all(0) & ~(right[place - 1] if place else np.zeros(len(alone), bool)),
            "forgotten": (right[place - 1] if place else np.zeros(len(alone), bool)) & ~right[place:].any(0),
        }  # fmt: skip
        for kind, mask in expected.items():
            values = ask(linking, by="paradigm", values="p1\np2\np3", run=label, step=str(step), kind=kind)
            found = list_pairs(library, read_asked(values), values)
            assert found["counts"][kind] == mask.sum()
            assert [row["pair"] for row in found["rows"]] == alone["pair"].to_numpy()[mask][:50].tolist()


def test_all_pairs_are_listed_with_their_marks_those_that_flipped_first(library):
    values = ask("lp", by="paradigm", values="p1", run=library.runs()[1].label, step="8")
    found = list_pairs(library, read_asked(values), values)
    flipped = ["flipped" in row["marks"] for row in found["rows"]]
    assert found["counts"]["all"] == found["pairs"] == len(flipped)
    assert flipped == sorted(flipped, reverse=True)
    assert sum(flipped) == found["counts"]["flipped"] > 0


def test_kinds_of_pairs_by_hand():
    verdicts = np.array(
        [[WRONG, RIGHT, RIGHT, TIE], [RIGHT, WRONG, RIGHT, TIE], [RIGHT, WRONG, WRONG, RIGHT]], dtype=np.uint8
    )
    kinds = {name: mask.tolist() for name, mask in pair_kinds(verdicts, 1).items()}
    assert kinds["flipped"] == [True, True, False, False]
    assert kinds["learned"] == [True, False, False, False]
    assert kinds["forgotten"] == [False, True, False, False]
    assert kinds["tied"] == [False, False, False, True]
    assert pair_kinds(verdicts, 0)["forgotten"].sum() == 0


@pytest.mark.parametrize(("linking", "sign"), [("slln_lp:0.3", 1), ("ppl", -1)])
def test_margins_of_a_pair_are_good_minus_bad_with_a_line_for_each_seed(library, linking, sign):
    values = ask(linking, run=library.runs()[1].label, pair="17")
    found, bound = pair_margins(library, read_asked(values), values), parse_linking(linking)
    assert [seed["run"] for seed in found["seeds"]] == [run.label for run in library.runs()]
    for run, seed, line in zip(library.runs(), found["seeds"], found["chart"]["datasets"]["curves"], strict=True):
        tables = [pd.read_parquet(score_path(run.folder, "toy", "sentence", step)) for step in STEPS]
        expected = [sign * (bound.values(table, "good")[17] - bound.values(table, "bad")[17]) for table in tables]
        np.testing.assert_allclose(seed["margins"], expected)
        np.testing.assert_allclose(line["number"], expected, rtol=1e-4)
        judged = [pair_credits(table, bound, "half")[17] for table in tables]
        assert seed["trace"] == "".join(f"{2 * credit:.0f}" for credit in judged)
    LayerChart.from_dict(found["chart"])


def test_a_pair_has_a_card_without_the_text_where_that_is_not_there(library, monkeypatch):
    monkeypatch.setattr(registry, "_own", {})  # other tests make benchmarks of this name
    values = ask(run=library.runs()[1].label, pair="17", step="8")
    card = pair_card(library, read_asked(values), values)["html"]
    assert card.startswith(
        '<dl class="pair-card"><dt>Differs</dt><dd>“good8” (good), “bad8” (bad)</dd><dt>Length</dt><dd>1 '
    )
    # Two pairs have one.
    assert "<dt>Checks</dt><dd>broken, of 4: a good sentence stands once in its paradigm" in card
    assert "Read by then" not in card
    assert pair_margins(library, read_asked(values), values)["card"] == card


def test_pairs_are_found_by_a_part_of_either_sentence(library):
    values = ask("lp", by="paradigm", values="p1", run=library.runs()[1].label, step="8")
    every = list_pairs(library, read_asked(values), values)
    for text, of in (
        ("OOD1 ", ("good1",)),
        ("bad1", ("good1", "good10", "good11", "good12", "good13", "good14")),
    ):
        found = list_pairs(library, read_asked(values), values | {"text": text})
        expected = [row for row in every["rows"] if row["good"].split()[0] in of]
        assert found["rows"] == expected
        assert found["counts"]["all"] == len(expected) == 2 * len(of)
    assert list_pairs(library, read_asked(values), values | {"text": ".*"})["counts"]["all"] == 0


def test_runs_of_other_settings_are_no_seeds_of_a_pair(tmp_path):
    library = make_library(tmp_path)
    write_scored_run(tmp_path / "runs/other-1M-char-toy-s0", 0, "other", ["slln_lp"])
    label = next(run.label for run in library.runs() if run.label.startswith("other"))
    values = ask(run=label, pair="17")
    assert [seed["run"] for seed in pair_margins(library, read_asked(values), values)["seeds"]] == [label]


def test_causal_and_masked_models_are_in_one_chart(tmp_path):
    library = make_library(tmp_path)
    masked = tmp_path / "runs/bert-1M-char-toy-s0"
    write_scored_run(masked, 5, "masked", ["slln_lp"])
    alone = curve_rows(library, read_asked(ask(runs="bert-1M-char-toy-s0")))
    (masked / "eval/toy/sentence").rename(masked / "eval/toy/pll")
    pd.read_csv(ACCURACY.path(masked)).assign(scorer="pll").to_csv(ACCURACY.path(masked), index=False)
    both = {"scorer": "sentence,pll"}
    found = curves(library, read_asked(ask() | both))
    assert {line["line"] for line in found["data"]["curves"]} == {"bert", "tiny (2 runs)"}
    assert {"Scored by pll: bert-1M-char-toy-s0."} < set(found["notes"])
    again = curve_rows(library, read_asked(ask(runs="bert-1M-char-toy-s0") | both))
    assert again["rows"] == alone["rows"]
    assert [run["steps"] for run in list_changes(library, "toy", "sentence,pll")["runs"]] == [8, 8, 8]
    with pytest.raises(UserError, match=r"scorer '\.\.': no run can hold scores of that name"):
        curves(library, read_asked(ask(scorer="pll,..")))


def test_lines_have_their_color_by_the_factor_that_is_asked_for(tmp_path):
    for model, cell in itertools.product(("tiny", "other"), "xy"):
        write_scored_run(tmp_path / f"runs/{model}-{cell}-s0", 0, cell, ["slln_lp"])
    library = Library(lambda: [str(tmp_path / "runs/*")], tmp_path / "cache")
    looks = {}
    for factor in ("model", "setting"):
        values = ask(color=factor)
        looks[factor] = {line["name"]: line["color"] for line in curves(library, read_asked(values))["lines"]}
        assert len(set(looks[factor].values())) == 2
        shown = curves(library, read_asked(values | {"runs": "tiny-x-s0\nother-y-s0"}))["lines"]
        assert {line["name"]: line["color"] for line in shown}.items() <= looks[factor].items()
    assert looks["model"] != looks["setting"]
    assert curve_rows(library, read_asked(ask(color="model"))) == curve_rows(library, read_asked(ask()))
    with pytest.raises(UserError, match="unknown factor 'modl'"):
        curves(library, read_asked(ask(color="modl")))


def test_columns_that_pairs_can_be_grouped_by(library):
    pairs = make_pairs(np.random.default_rng(7))
    assert columns(pairs) == ["all", "phenomenon", "paradigm", "distance", "kind"]
    assert group(pairs, "kind").names == ("a", "b")
    distances = group(pairs, "distance")  # 40 different numbers, in five parts
    assert len(distances.names) == 5
    assert np.bincount(distances.of).min() > 15
    found = curves(library, read_asked(ask(by="distance")))
    assert sum(value["n"] for value in found["values"]) == 120 - 2 - 3 - 20  # a set of three counts once


def test_shapes_are_those_of_the_curves_that_are_shown(library):
    found = shape_verdicts(library, read_asked(ask(by="paradigm", values="p1\np3")))
    assert [row["value"] for row in found["classes"]] == ["p1", "p3"]
    assert all(row["runs"] == 2 for row in found["classes"])
    assert all(row["meanings"] == explain_reservations([row["shape"]]) for row in found["classes"])


def test_changed_scores_are_read_again(tmp_path):
    library = make_library(tmp_path)
    before = curve_rows(library, read_asked(ask()))["rows"]
    path = score_path(library.runs()[0].folder, "toy", "sentence", 64)
    scores = pd.read_parquet(path)
    scores.assign(lp_good=0.0).to_parquet(path, index=False)
    after = curve_rows(library, read_asked(ask()))["rows"]
    assert before[:-1] == after[:-1]
    assert before[-1] != after[-1]


def test_a_score_has_its_place_on_the_axis_before_the_table_has_its_row_and_after_its_checkpoint_is_gone(
    tmp_path,
):
    library = make_library(tmp_path)
    folder = library.runs()[0].folder
    for step in STEPS[4:]:  # those of the others were deleted
        write_manifest_of(checkpoint_folder(folder, step), step, tokens=step * 1000, flops=step * 1e9)
    rows = pd.read_csv(ACCURACY.path(folder), dtype=str)
    rows[rows["step"] != str(STEPS[-1])].to_csv(ACCURACY.path(folder), index=False)
    run = library.runs()[0]
    assert run.saved == STEPS[4:]
    matrix = library.matrix(run.label, "toy", "sentence")
    assert matrix.tokens.tolist() == [step * 1000 for step in STEPS]
    assert matrix.flops.tolist() == [step * 1e9 for step in STEPS]


def test_what_can_be_looked_at_is_listed(library):
    assert list_scores(library.runs()[0]) == [{"benchmark": "toy", "scorer": "sentence", "steps": 8}]
    offered = {
        one["name"]: [part["name"] for part in one["parameters"]]
        for one in linking_functions(library.matrices("toy", "sentence"))
    }
    assert set(FUNCTIONS) <= set(offered)
    assert not {"mink", "grammaticality"} & set(offered)  # of which the scores have no columns
    assert offered["morcela"] == ["beta", "gamma"]


def test_what_a_card_says_is_shown_first(library, tmp_path):
    for run in library.runs():
        shutil.copytree(run.folder, tmp_path / "runs" / run.folder.name)
    own = Library(lambda: [str(tmp_path / "runs/*")], tmp_path / "cache")
    folders = [run.folder for run in own.runs()]
    assert linking_functions(own.matrices("toy", "sentence"))[0]["name"] == "slln_lp"
    for linking, overall in (("ppl", "macro"), ("slln_lp:0.3", "macro_phenomena")):
        keep_reported(folders[0], "toy", Reported(linking, "wrong", overall))
        first = linking_functions(own.matrices("toy", "sentence"))[0]
        assert first["name"] == linking.partition(":")[0]
        assert [part["value"] for part in first["parameters"]] == [0.3] * (linking == "slln_lp:0.3")
        for split in ("all", "good_longer"):
            asked = read_asked(ask(linking, split=split, runs=own.runs()[0].label))
            found, exact = curves(own, asked), curve_rows(own, asked)
            assert (found["ties_rule"], found["overall"]) == ("wrong", overall)
            table = pd.DataFrame(exact["rows"], columns=exact["columns"])
            pairs = pd.read_parquet(pairs_path(folders[0], "toy"))
            for step in (0, 64):
                rows = table[table["step"] == step]
                scores = pd.read_parquet(score_path(folders[0], "toy", "sentence", step))
                known = accuracy_table(pairs, scores, [parse_linking(linking)], ["wrong"])
                known = known[(known["split"] == split) & (known["phenomenon"] == "all")].set_index("paradigm")
                ours = rows[["accuracy", "low", "high", "n"]].to_numpy(float)[0]
                theirs = known.loc[overall, ["accuracy", "ci_low", "ci_high", "n"]].to_numpy(float)
                np.testing.assert_allclose(ours, theirs, rtol=1e-9)
        by = curves(own, read_asked(ask(linking, by="phenomenon")))
        assert (by["ties_rule"], by["overall"]) == ("wrong", "all")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"linking": "sln_lp"}, "unknown linking function 'sln_lp'.*Did you mean 'slln_lp'"),
        ({"linking": "mink"}, "mink reads mink60_good, mink60_bad, which is not stored"),
        ({"split": "longer"}, "unknown split 'longer'"),
        ({"by": "distanc"}, "unknown column 'distanc'.*Did you mean 'distance'"),
        ({"by": "paradigm", "values": "p9"}, "unknown value of paradigm 'p9'"),
        ({"benchmark": "toi"}, "no scores of toi by sentence in"),
        *(
            ({"benchmark": name}, "benchmark .*: no run can hold scores of that name")
            for name in ("../toy", "toy/..", "/toy", "", "toy\0", "x" * 3000)
        ),
        ({"scorer": "../sentence"}, r"scorer '\.\./sentence': no run can hold scores of that name"),
        ({"runs": "tiny"}, "unknown run 'tiny'"),
        ({"benchmark": 3}, "gives no text 'benchmark'"),
    ],
)
def test_what_is_not_there_is_named(library, values, message):
    with pytest.raises(UserError, match=message):
        curves(library, read_asked(ask() | values))


def test_the_charts_have_the_numbers_of_the_table(library):
    asked = read_asked(ask(by="phenomenon"))
    found, exact = curves(library, asked), curve_rows(library, asked)
    table = pd.DataFrame(exact["rows"], columns=exact["columns"])
    assert {line["value"] for line in found["data"]["curves"]} == {"first", "second"}
    for line in found["data"]["curves"]:
        rows = table[table["value"] == line["value"]]
        assert line["accuracy"] == pytest.approx([100 * value for value in rows["accuracy"]], rel=1e-4)
        assert line["n"] == rows["n"].tolist()
    for chart in ("small", "chart"):  # checks them against the schema of Vega-Lite
        LayerChart.from_dict(found[chart] | {"datasets": found["data"]})


def test_all_values_are_shown_and_none_is_cut(library):
    found = curves(library, read_asked(ask(by="distance")))
    assert len(found["values"]) == len({line["value"] for line in found["data"]["curves"]}) == 5


def test_a_slider_changes_the_data_of_the_chart_and_not_the_chart(library):
    found = [curves(library, read_asked(ask(f"slln_lp:{alpha}"))) for alpha in (0.5, 0.55)]
    assert found[0]["chart"] is found[1]["chart"]
    assert found[0]["small"] is found[1]["small"]


def test_a_figure_has_all_curves(library):
    overall, panels = (curve_figure(library, read_asked(ask(by=by))) for by in ("all", "paradigm"))
    assert {line["value"] for line in panels["datasets"]["curves"]} == {"p1", "p2", "p3", "p4"}
    assert {line["value"] for line in overall["datasets"]["curves"]} == {"all"}


def curve_of(**accuracies):
    """Rows of curves of one line each, with a checkpoint before training and four after it."""
    return pd.concat([
        pd.DataFrame({
            "line": "m", "value": value, "step": range(5), "tokens": [0.0, 1e3, 1e4, 1e5, 1e6],
            "accuracy": heights,
        })
        for value, heights in accuracies.items()
    ])  # fmt: skip


def test_curves_are_described_and_those_that_turn_come_first():
    found = courses(curve_of(
        late=[0.5, 0.5, 0.5, 0.6, 0.7], flat=[0.5, 0.5, 0.51, 0.5, 0.52], dip=[0.9, 0.8, 0.5, 0.55, 0.95],
        early=[0.2, 0.9, 0.99, 1.0, 1.0], shallow=[0.5, 0.7, 0.6, 0.9, 0.9], lost=[0.9, 0.9, 0.8, 0.6, 0.5],
    ))  # fmt: skip
    assert order(found) == ["dip", "shallow", "early", "late", "flat", "lost"]
    assert order(found, turned=["shallow"])[:2] == ["shallow", "dip"]
    assert say(found["dip"]) == "falls from 80 to 50 % at 10K tokens and comes back to 95 %"
    assert say(found["early"]) == "rises from 20 to 100 %"
    assert say(found["flat"]) == "stays near 52 %"
    assert say(found["lost"]) == "falls from 90 to 50 %"
    level = pd.DataFrame({"line": ["a model"], "value": "x", "step": -1, "tokens": 0.0, "accuracy": 0.67})
    assert say(courses(level)["x"]) == "is at 67 %"


def test_a_new_checkpoint_is_a_change(tmp_path):
    library = make_library(tmp_path)
    before = list_changes(library, "toy", "sentence")
    assert list_changes(library, "toy", "sentence") == before
    folder = library.runs()[0].folder
    shutil.copy(score_path(folder, "toy", "sentence", 64), score_path(folder, "toy", "sentence", 128))
    after = list_changes(library, "toy", "sentence")
    assert after["version"] != before["version"]
    assert [run["steps"] for run in after["runs"]] == [9, 8]


def test_models_without_checkpoints_are_level_lines():
    table = curve_of(x=[0.5, 0.6, 0.7, 0.8, 0.9]).assign(runs=1, low=np.nan, high=np.nan, whole=True, band="")
    levels = pd.DataFrame({"line": ["a model"], "value": ["x"], "accuracy": [0.75], "low": [0.7]})
    layout = lay_out(replace(learning_figure(table), by="value"), levels, bottom=0.0)
    chart = draw_small(layout).to_dict(validate=False)
    (rule,) = [layer for layer in chart["layer"] if layer.get("data") == {"name": "levels"}]
    assert rule["encoding"]["color"]["scale"]["domain"] == ["m", "a model"]
    LayerChart.from_dict(chart)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"step": "3"}, "has no scores of step 3; there are 0, 1, 2"),
        ({"step": "x"}, "step='x' is not a whole number"),
        ({"kind": "flip"}, "unknown kind of pairs 'flip'.*Did you mean 'flipped'"),
    ],
)
def test_points_that_are_not_there_are_named(library, values, message):
    values = ask(run=library.runs()[0].label, step="8", kind="right") | values
    with pytest.raises(UserError, match=message):
        list_pairs(library, read_asked(values), values)


def test_scores_of_other_pairs_are_refused(tmp_path):
    library = make_library(tmp_path)
    path = score_path(library.runs()[0].folder, "toy", "sentence", 8)
    pd.read_parquet(path).head(50).to_parquet(path, index=False)
    with pytest.raises(UserError, match="its 50 pairs are not the 120 of the benchmark's table"):
        curves(library, read_asked(ask()))
