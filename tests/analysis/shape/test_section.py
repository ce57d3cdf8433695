from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from measurements.shapes.simulated_curves import dip, flat, rising
from tests.analysis.item_runs import BENCHMARK, make_curve_runs, make_item_run, pair_table
from tests.analysis.studies import study_of
from tests.analysis.synthetic import TOKENS_PER_STEP, MakeRun, score_row
from tests.settings import analyze_settings
from ucurve.analysis.acquisition.order import acquisition_sections
from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.data.study import read_study
from ucurve.analysis.overview import describe_turns
from ucurve.analysis.report.html import TableView
from ucurve.analysis.sections import make_report
from ucurve.analysis.shape.section import read_shapes, shape_sections
from ucurve.analysis.shape.tables import explain_reservations, reading
from ucurve.eval.metrics.significance import holm

STEPS = [0, *(2**power for power in range(12))]
TOKENS = TOKENS_PER_STEP * np.array(STEPS[1:])
PAIRS = pair_table({"up_1": "up", "up_2": "up", "dip_1": "dip", "dip_2": "dip", "none": "none"}, 100)
CURVES = {"up": rising(0.5, 0.9), "dip": dip(0.8, 0.25), "none": flat(0.5)}


@pytest.fixture
def parts_of(tmp_path):
    def parts_of():
        study = read_study(
            find_runs([f"{tmp_path}/runs/*"]), analyze_settings(runs=(f"{tmp_path}/runs/*",), out="o")
        )
        (scored,) = study.benchmarks()
        return [*shape_sections(scored), *acquisition_sections(scored)]

    return parts_of


def make_line(make_run: MakeRun, seeds: int, pairs: pd.DataFrame = PAIRS, **settings) -> None:
    """Runs whose phenomena go up, dip and stay: half points of every seed, checkpoint and pair."""
    make_curve_runs(make_run, pairs, CURVES, STEPS, seeds, 5, **settings)


def test_every_phenomenon_gets_its_class_with_depth_place_and_onset(make_run: MakeRun, parts_of) -> None:
    make_line(make_run, 3)
    shape, acquisition = parts_of()
    table = shape.tables[f"shapes_{BENCHMARK}"].set_index("phenomenon")
    assert table["shape"][["up", "dip", "none"]].tolist() == ["rising", "U-shaped", "undetermined"]
    assert table["class"].tolist() == table["shape"].tolist()
    assert table["depth"].notna().tolist() == (table["shape"] == "U-shaped").tolist()
    assert table.loc["dip", "turn_from"] < table.loc["dip", "place"] < table.loc["dip", "turn_to"]
    assert table.loc["dip", "depth"] == pytest.approx(0.2, abs=0.08)
    assert np.isnan(table.loc["none", "onset"])
    assert set(table["checkpoints"]) == {12}
    assert set(table["variation"]) == {"items and seeds"}
    order = acquisition.tables[f"acquisition_{BENCHMARK}"].set_index("phenomenon")
    assert order["onset"].equals(table["onset"][order.index])
    pairs = acquisition.tables[f"acquisition_agreement_{BENCHMARK}"]
    assert pairs[["between", "differs_in"]].to_numpy().tolist() == [["runs", "seed"]] * 3


def test_the_note_states_the_test_and_the_family(make_run: MakeRun, parts_of) -> None:
    make_line(make_run, 1)
    shape, acquisition = parts_of()
    view, _ = [part for part in shape.content if isinstance(part, TableView)]
    assert "Holm over all curves of this table" in view.note
    assert "flat where all differences lie within 3 points by an equivalence test" in view.note
    assert "step 0 has no place" in view.note
    assert "ties counted half" in view.note
    assert set(shape.tables[f"shapes_{BENCHMARK}"]["variation"]) == {"items"}
    assert len(acquisition.content) == 1  # one run has nobody to agree with


def test_the_figures_name_the_classes_and_set_step_0_apart(make_run: MakeRun, parts_of) -> None:
    make_line(make_run, 1)
    shape, _ = parts_of()
    overall, panels = shape.drawings
    assert [axes.get_title() for axes in panels.figure.axes] == ["dip", "none", "up"]
    named = [axes.texts[-1].get_text() for axes in panels.figure.axes]
    assert named == ["U (this run)", "undetermined", "rising (this run)"]
    assert len(overall.figure.axes) == 1
    below = " ".join(text.get_text() for text in panels.figure.texts).replace("\n", " ")
    assert "This run: of one run only" in below
    untrained = panels.table[panels.table["tokens"] == 0]
    assert len(untrained) == 3
    assert untrained["smoothed"].isna().all()
    assert (untrained["accuracy"] == 0.5).all()


def test_runs_without_the_scores_of_each_pair_are_named(make_run: MakeRun, parts_of) -> None:
    folder = make_run([score_row(step, 0.5) for step in STEPS])
    (part,) = parts_of()
    assert part.tables == {}
    (text,) = part.content
    assert text.startswith("Shapes are not tested without the scores of each pair")
    assert text.endswith(f"there are none of {folder.name}.")


def test_few_checkpoints_are_not_tested(make_run: MakeRun, parts_of) -> None:
    half_points = np.tile([0, 2], len(PAIRS) // 2)
    make_item_run(make_run, PAIRS, dict.fromkeys((0, 1, 2, 4), half_points))
    (shape,) = parts_of()
    assert set(shape.tables[f"shapes_{BENCHMARK}"]["shape"]) == {"not tested"}
    assert "fewer than 4 trained checkpoints" in shape.content[0]
    assert shape.drawings == []


def test_only_checkpoints_scored_in_all_runs_of_a_line_are_tested(make_run: MakeRun, parts_of, tmp_path) -> None:
    make_line(make_run, 2)
    (folder, _) = sorted((tmp_path / "runs").iterdir())
    (folder / "eval" / BENCHMARK / "sentence" / "step00000004.parquet").unlink()
    shape, _ = parts_of()
    assert set(shape.tables[f"shapes_{BENCHMARK}"]["checkpoints"]) == {11}
    assert "1 checkpoint scored in some of its runs only is left out" in shape.content[1]


@pytest.mark.parametrize("other", [pair_table({"p": "x"}, 12), pair_table({"p": "x"}, 10).assign(bad="other")])
def test_seeds_scored_on_different_pairs_are_not_pooled(make_run: MakeRun, parts_of, other) -> None:
    for seed, pairs in enumerate((pair_table({"p": "x"}, 10), other)):
        make_item_run(make_run, pairs, {step: np.full(len(pairs), 2) for step in STEPS}, seed=seed)
    (part,) = parts_of()
    assert "were scored on different pairs" in part.content[0]


def test_lines_of_two_sizes_are_compared_in_the_order_of_acquisition(make_run: MakeRun, parts_of) -> None:
    make_line(make_run, 1)
    make_line(make_run, 1, model="70m")
    shape, acquisition = parts_of()
    pairs = acquisition.tables[f"acquisition_agreement_{BENCHMARK}"]
    assert pairs[["between", "differs_in"]].to_numpy().tolist() == [["lines", "size"]]  # each line is one run
    assert [axes.get_title() for axes in shape.drawings[1].figure.axes] == ["dip", "none", "up"]
    assert [axes.texts[-1].get_text() for axes in shape.drawings[1].figure.axes] == [
        "2 U (single runs)", "2 undetermined (single runs)", "2 rising (single runs)",
    ]  # fmt: skip


def note_of(part) -> str:
    view, _ = [one for one in part.content if isinstance(one, TableView)]
    return view.note


def test_one_run_is_said_to_be_one_in_the_caption_and_beside_each_class(make_run: MakeRun, parts_of) -> None:
    make_line(make_run, 1)
    shape, _ = parts_of()
    assert "by a bootstrap over pairs;" in note_of(shape)
    assert "p values and intervals are over pairs only and say nothing about another seed" in note_of(shape)
    classes = shape.tables[f"shapes_{BENCHMARK}"].set_index("phenomenon")
    assert classes["shape"][["up", "dip"]].tolist() == ["rising (this run)", "U-shaped (this run)"]
    assert classes["class"][["up", "dip"]].tolist() == ["rising", "U-shaped"]
    assert "1 U-shaped (this run)" in shape.content[0]


def test_several_runs_are_not_said_to_be_one(make_run: MakeRun, parts_of) -> None:
    make_line(make_run, 3)
    shape, _ = parts_of()
    assert "by a bootstrap over pairs and seeds;" in note_of(shape)
    assert "this run" not in note_of(shape)
    assert "indicative" not in note_of(shape)


def test_lines_of_one_run_are_a_family_of_their_own_beside_others(make_run: MakeRun, parts_of) -> None:
    make_line(make_run, 3)
    make_line(make_run, 1, model="70m")
    shape, _ = parts_of()
    table = shape.tables[f"shapes_{BENCHMARK}"]
    assert "over pairs and, where a line has several runs, over seeds" in note_of(shape)
    for _, family in table.groupby("runs"):
        assert family["holm_rise"].tolist() == pytest.approx(holm(family["p_rise"].to_numpy()).tolist())


@pytest.mark.parametrize(
    ("runs", "name", "both", "said"),
    [
        (1, "U-shaped", False, "U-shaped (this run)"),
        (1, "rising", False, "rising (this run)"),
        (1, "undetermined", False, "undetermined"),
        (2, "U-shaped", False, "U-shaped (2 runs: indicative)"),
        (2, "inverted-U", True, "inverted-U, also U-shaped (2 runs: indicative)"),
        (2, "falling", False, "falling"),
        (3, "U-shaped", True, "U-shaped, also inverted-U"),
        (3, "not tested", False, "not tested"),
    ],
)
def test_what_a_class_allows_to_be_said(runs: int, name: str, both: bool, said: str) -> None:
    row = {
        "class": name, "class_these_runs": name, "class_these_pairs": name, "both": both, "runs": runs, "dip": 0.0,
        "bump": 0.0, "p_rise": 0.2, "variation": "items and seeds",
    }  # fmt: skip
    assert reading(row) == said


def test_each_kind_of_reservation_is_explained_once() -> None:
    shapes = [
        "rising",
        "rising (these runs)",
        "U-shaped (these runs)",
        "U-shaped (this run)",
        "falling (these pairs)",
    ]
    explained = explain_reservations(shapes)
    assert [sentence.partition(":")[0] for sentence in explained] == ["These pairs", "These runs", "This run"]
    assert explain_reservations(["rising", "undetermined"]) == []


def test_an_undetermined_curve_says_what_its_runs_do() -> None:
    row = {
        "class": "undetermined", "class_these_runs": "rising", "class_these_pairs": "undetermined", "both": False,
        "runs": 2, "dip": 0.04, "bump": 0.0, "p_rise": 0.2, "variation": "items and seeds",
    }  # fmt: skip
    assert reading(row) == "rising (these runs)"
    assert reading(row | {"dip": 0.16}) == "rising (these runs; dips, unproven)"
    assert reading(row | {"dip": 0.06, "bump": 0.08}) == "rising (these runs; bulges, unproven)"
    assert reading(row | {"class_these_runs": "undetermined", "dip": 0.06}) == "undetermined (dips, unproven)"


def test_a_class_in_a_narrower_scope_is_said_to_be_of_these_pairs_or_these_runs() -> None:
    row = {
        "class": "undetermined", "class_these_runs": "rising", "class_these_pairs": "falling", "both": False, "runs": 3,
        "dip": 0.16, "bump": 0.0, "p_rise": 0.2, "variation": "items and seeds",
    }  # fmt: skip
    assert reading(row | {"dip": 0.0}) == "falling (these pairs)"
    assert reading(row | {"class_these_pairs": "U-shaped"}) == "U-shaped (these pairs)"
    assert reading(row | {"class_these_runs": "U-shaped"}) == "U-shaped (these runs)"
    rising = row | {"class": "rising", "class_these_pairs": "U-shaped"}
    assert reading(rising) == "rising (these pairs: U-shaped)"
    assert reading(rising | {"class_these_pairs": "falling"}) == "rising (dips, unproven)"
    assert reading(rising | {"class": "inverted-U"}) == "inverted-U"
    assert reading(rising | {"class": "not tested"}) == "not tested"
    of_few = row | {"dip": 0.0, "class": "rising", "class_these_pairs": "rising", "variation": "seeds"}
    assert reading(of_few) == "rising (these pairs)"
    assert reading(of_few | {"class": "U-shaped", "runs": 2}) == "U-shaped (2 runs: indicative; these pairs)"
    few = {"class": "undetermined", "class_these_pairs": "undetermined"}
    assert reading(of_few | few) == "rising (these runs)"
    assert reading(of_few | few | {"class_these_runs": "undetermined"}) == "undetermined"


def test_seeds_that_agree_about_a_few_edits_show_a_rise_of_these_pairs_only(make_run: MakeRun, parts_of) -> None:
    """Eight edits, of which two are learned by every seed: of these pairs that is sure, of other edits it is not."""
    edit = np.arange(len(PAIRS)) % 8
    pairs = PAIRS.assign(
        good=[f"{chr(0x5000 + n)}是{chr(0x5200 + one)}" for n, one in enumerate(edit)],
        bad=[f"{chr(0x5000 + n)}不" for n in range(len(PAIRS))],
    )
    draw = np.random.default_rng(3)
    for seed in range(3):
        levels = [np.where((edit < 2) & (place > 6), 0.95, 0.5) for place in range(len(STEPS))]
        rows = {step: 2 * (draw.random(len(PAIRS)) < level) for step, level in zip(STEPS, levels, strict=True)}
        make_item_run(make_run, pairs, rows, seed=seed)
    shape, _ = parts_of()
    table = shape.tables[f"shapes_{BENCHMARK}"].set_index("phenomenon")
    assert table.loc["up", ["class", "class_these_pairs"]].tolist() == ["undetermined", "rising"]
    assert table.loc["up", "shape"] == "rising (these pairs)"
    assert table.loc["up", "p"] <= 0.05 < min(table.loc["up", ["holm_rise", "holm_fall"]])
    assert "of other pairs or templates it says nothing" in note_of(shape)


def test_beside_an_undetermined_curve_stands_what_limits_it(make_run: MakeRun, parts_of) -> None:
    make_line(make_run, 3)
    shape, _ = parts_of()
    table = shape.tables[f"shapes_{BENCHMARK}"].set_index("phenomenon")
    assert table["detectable_dip"].between(0.01, 0.5).all()
    assert table["limited_by"].to_dict() == {
        "all": "",
        "dip": "",
        "none": table.loc["none", "limited_by"],
        "up": "",
    }
    assert table.loc["none", "limited_by"] in {"seeds", "pairs"}
    assert (
        "deep for these runs to show it in 80 % of cases. What limits the undetermined curves most"
        in shape.content[0]
    )
    assert table["detectable_dip"].idxmin() == "all"  # it has the most pairs


def test_the_first_screen_says_what_would_show_a_dip_that_is_seen(make_run: MakeRun, tmp_path: Path) -> None:
    make_line(make_run, 3)
    (scored,) = study_of(tmp_path).benchmarks()
    shapes = read_shapes(scored)
    turned = shapes.classes["phenomenon"] == "dip"

    def said(**values: object) -> str:
        seen = shapes.classes[turned].assign(
            **{"class": "undetermined", "class_these_pairs": "undetermined"} | values
        )
        return list(describe_turns(replace(shapes, classes=seen)))[-1]

    assert "if it is real, 1 more seed would show it in 80 % of cases" in said(more_seeds=1.0)
    assert "what limits it most: edits." in said(more_seeds=np.inf, limited_by="edits")
    assert "On these pairs it is shown for other seeds too (U-shaped); for other pairs it is open." in said(
        class_these_pairs="U-shaped"
    )


def test_one_run_says_nothing_of_these_pairs_in_other_seeds(make_run: MakeRun, parts_of) -> None:
    make_line(make_run, 1)
    table = parts_of()[0].tables[f"shapes_{BENCHMARK}"]
    assert set(table["class_these_pairs"]) == {"not tested"}
    assert table["class_these_runs"].tolist() == table["class"].tolist()


def test_two_runs_that_learn_at_different_times_are_undetermined_but_rise(make_run: MakeRun, parts_of) -> None:
    """One run learns at half of the axis, the other later: of another seed little can be said, of these two much."""
    early, late = (np.where(np.arange(len(STEPS)) > place, 0.95, 0.5) for place in (4, 9))
    draw = np.random.default_rng(1)
    for seed, levels in enumerate((early, late)):
        half_points = {
            step: 2 * (draw.random(len(PAIRS)) < level) for step, level in zip(STEPS, levels, strict=True)
        }
        make_item_run(make_run, PAIRS, half_points, seed=seed)
    shape, _ = parts_of()
    table = shape.tables[f"shapes_{BENCHMARK}"]
    assert set(table["shape"]) == {"rising (these runs)"}
    assert (table["p"] <= 0.05).all()
    assert set(table["class"]) == {"undetermined"}
    assert "says nothing of other seeds" in note_of(shape)


def test_two_runs_are_called_indicative(make_run: MakeRun, parts_of) -> None:
    make_line(make_run, 2)
    shape, _ = parts_of()
    assert "With two runs the variance over seeds is known from one difference only" in note_of(shape)


def test_pairs_with_the_same_edit_are_drawn_together_and_counted(make_run: MakeRun, parts_of) -> None:
    """Twenty edits of five pairs each in each paradigm, but one in those of `up`: its class is of these pairs."""
    words = [chr(0x5200 + number % 20) for number in range(100)]
    goods = [f"{first}是{word}" for first, word in zip(map(chr, range(0x5000, 0x5064)), words, strict=True)]
    pairs = PAIRS.assign(good=goods * 5, bad=[f"{good[:2]}不" for good in goods] * 5)
    pairs.loc[pairs["phenomenon"] == "up", "good"] = [f"{good[:2]}好" for good in goods] * 2
    make_line(make_run, 3, pairs)
    shape, _ = parts_of()
    table = shape.tables[f"shapes_{BENCHMARK}"].set_index("phenomenon")
    assert set(table["drawn"]) == {"edits"}
    assert table["effective_items"].to_dict() == pytest.approx(
        {"all": 11.6, "dip": 40, "none": 20, "up": 2}, abs=0.1
    )
    assert table["clusters"].to_dict() == {"all": 62, "dip": 40, "none": 20, "up": 2}
    assert table.loc["up", ["class", "class_these_pairs", "shape"]].tolist() == ["rising"] * 2 + [
        "rising (these pairs)"
    ]
    assert (table.loc["up", "class_these_runs"], table.loc["up", "limited_by"]) == ("undetermined", "")
    assert table["variation"].to_dict() == {
        "all": "items and seeds", "dip": "items and seeds", "none": "items and seeds", "up": "seeds",
    }  # fmt: skip
    assert table["p"].notna().all()
    assert np.isfinite(table.loc["up", "detectable_dip"])
    assert table.loc["up", ["onset_low", "onset_high", "dip_depth_low"]].notna().all()
    assert "are drawn together (Drawn: edits)" in note_of(shape)
    assert "class, p and intervals of such a curve are of these pairs in other seeds" in note_of(shape)


def test_one_run_of_pairs_with_one_edit_has_no_interval_but_an_onset(make_run: MakeRun, parts_of) -> None:
    """Nothing is known of other edits, nor of other seeds."""
    pairs = PAIRS.assign(good=[f"{chr(0x5000 + n)}好" for n in range(len(PAIRS))])
    make_line(make_run, 1, pairs.assign(bad=[f"{good[:1]}不" for good in pairs["good"]]))
    shape, *_ = parts_of()
    table = shape.tables[f"shapes_{BENCHMARK}"].set_index("phenomenon")
    assert set(table.loc[["dip", "none", "up"], "class"]) == {"undetermined"}
    up = table.loc["up"]
    assert (up["shape"], up["clusters"], up["detectable_dip"]) == ("undetermined (too few edits)", 2, np.inf)
    assert up["onset"] > 0
    assert (
        up[["onset_low", "onset_high", "saturation_low", "dip_depth_low", "dip_place_high", "p_below"]]
        .isna()
        .all()
    )


def test_the_report_has_these_sections(make_run: MakeRun, tmp_path: Path) -> None:
    make_line(make_run, 1)
    headings = [section.heading for section in make_report(study_of(tmp_path))[1]]
    assert {f"The shape of learning on {BENCHMARK}", f"Order of acquisition on {BENCHMARK}"} <= set(headings)


def test_paradigms_and_phenomena_that_stay_wrong_are_listed(make_run: MakeRun, parts_of) -> None:
    draw = np.random.default_rng(8)
    pairs = pair_table({"up_1": "up", "down_1": "down", "down_2": "down"}, 60)
    levels = np.repeat([0.9, 0.2, 0.5], 60)
    for seed in range(2):
        rows = {step: (2 * (draw.random(180) < levels)).astype(np.uint8) for step in STEPS}
        make_item_run(make_run, pairs, rows, seed=seed)
    shape, *_ = parts_of()
    classes = shape.tables[f"shapes_{BENCHMARK}"].set_index("phenomenon")
    assert classes["below"].to_dict() == {"all": "", "down": "stable and wrong (2 runs: indicative)", "up": ""}
    paradigms = shape.tables[f"below_chance_{BENCHMARK}"].set_index("paradigm")
    assert paradigms["below"].to_dict() == {
        "up_1": "",
        "down_1": "stable and wrong (2 runs: indicative)",
        "down_2": "",
    }
    assert paradigms.loc["down_1", "below_from"] == TOKENS[0]
    _, view = [part for part in shape.content if isinstance(part, TableView)]
    assert view.table["paradigm"].tolist() == ["down 1"]
    assert "1 of 3 curves" in view.note
