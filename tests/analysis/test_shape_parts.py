import numpy as np
import pytest

from analysis.config import AnalyzeSettings
from analysis.report import TableView
from analysis.results import OF_BENCHMARK
from analysis.runs import find_runs
from analysis.shape_parts import shape_parts
from analysis.study import read_study
from tests.analysis.item_runs import BENCHMARK, make_item_run, pair_table
from tests.analysis.simulated_curves import SLOW, dip, flat, rising, simulate
from tests.analysis.synthetic import TOKENS_PER_STEP, MakeRun, score_row

STEPS = [0, *(2**power for power in range(12))]
TOKENS = TOKENS_PER_STEP * np.array(STEPS[1:])
PAIRS = pair_table({"up_1": "up", "up_2": "up", "dip_1": "dip", "dip_2": "dip", "none": "none"}, 100)
CURVES = {"up": rising(0.5, 0.9), "dip": dip(0.8, 0.25), "none": flat(0.5)}


@pytest.fixture
def parts_of(tmp_path):
    def parts_of():
        study = read_study(find_runs([f"{tmp_path}/runs/*"]), AnalyzeSettings(runs=(f"{tmp_path}/runs/*",), out="o"))
        return list(shape_parts(study.benchmarks()[0]))

    return parts_of


def make_line(make_run: MakeRun, seeds: int, **settings) -> None:
    """Runs whose phenomena go up, dip and stay: half points of every seed, checkpoint and pair."""
    draw = np.random.default_rng(5)
    phenomena = PAIRS["phenomenon"].to_numpy()
    half_points = np.zeros((seeds, len(TOKENS), len(PAIRS)), dtype=np.uint8)
    for name, curve in CURVES.items():
        chosen = phenomena == name
        half_points[:, :, chosen] = simulate(curve, TOKENS, SLOW, draw, seeds=seeds, items=int(chosen.sum()))
    for seed in range(seeds):
        before = {0: np.tile([0, 2], len(PAIRS) // 2)}
        after = dict(zip(STEPS[1:], half_points[seed], strict=True))
        make_item_run(make_run, PAIRS, before | after, seed=seed, **settings)


def test_every_phenomenon_gets_its_class_with_depth_place_and_onset(make_run: MakeRun, parts_of) -> None:
    make_line(make_run, 2)
    shape, acquisition = parts_of()
    table = shape.tables[f"shapes_{BENCHMARK}"].set_index("phenomenon")
    assert table["shape"][["up", "dip", "none"]].tolist() == ["rising", "U-shaped", "flat"]
    assert table["depth"].notna().tolist() == (table["shape"] == "U-shaped").tolist()
    assert table.loc["dip", "turn_from"] < table.loc["dip", "place"] < table.loc["dip", "turn_to"]
    assert table.loc["dip", "depth"] == pytest.approx(0.2, abs=0.06)
    assert np.isnan(table.loc["none", "onset"])
    assert set(table["checkpoints"]) == {12}
    assert set(table["variation"]) == {"items and seeds"}
    order = acquisition.tables[f"acquisition_{BENCHMARK}"]
    assert order["phenomenon"].tolist() == ["dip", "up", "none"]
    pairs = acquisition.tables[f"acquisition_agreement_{BENCHMARK}"]
    assert pairs[["between", "differs_in", "phenomena"]].to_numpy().tolist() == [["runs", "seed", 3]]


def test_the_note_states_the_test_and_the_family(make_run: MakeRun, parts_of) -> None:
    make_line(make_run, 1)
    shape, acquisition = parts_of()
    (view,) = [part for part in shape.section.parts if isinstance(part, TableView)]
    assert "Holm over all curves of this table" in view.note
    assert "step 0 has no place" in view.note
    assert "ties counted half" in view.note
    assert set(shape.tables[f"shapes_{BENCHMARK}"]["variation"]) == {"items"}
    assert len(acquisition.tables) == 1  # one run has nobody to agree with


def test_the_figures_name_the_classes_and_set_step_0_apart(make_run: MakeRun, parts_of) -> None:
    make_line(make_run, 1)
    shape, _ = parts_of()
    overall, panels = shape.drawings
    assert [axes.get_title() for axes in panels.figure.axes] == ["dip: U", "none: flat", "up: rising"]
    assert len(overall.figure.axes) == 1
    untrained = panels.table[panels.table["tokens"] == 0]
    assert len(untrained) == 3
    assert untrained["smoothed"].isna().all()
    assert (untrained["accuracy"] == 0.5).all()


def test_runs_without_the_scores_of_each_pair_are_named(make_run: MakeRun, parts_of) -> None:
    folder = make_run([score_row(step, 0.5) for step in STEPS])
    (part,) = parts_of()
    assert part.tables == {}
    (text,) = part.section.parts
    assert text.startswith("Shapes are not tested without the scores of each pair")
    assert text.endswith(f"there are none of {folder.name}.")


def test_few_checkpoints_are_not_tested(make_run: MakeRun, parts_of) -> None:
    half_points = np.tile([0, 2], len(PAIRS) // 2)
    make_item_run(make_run, PAIRS, dict.fromkeys((0, 1, 2, 4), half_points))
    (shape,) = parts_of()
    assert set(shape.tables[f"shapes_{BENCHMARK}"]["shape"]) == {"not tested"}
    assert "fewer than 4 trained checkpoints" in shape.section.parts[0]
    assert shape.drawings == []


def test_only_checkpoints_scored_in_all_runs_of_a_line_are_tested(make_run: MakeRun, parts_of, tmp_path) -> None:
    make_line(make_run, 2)
    (folder, _) = sorted((tmp_path / "runs").iterdir())
    (folder / "eval" / BENCHMARK / "sentence" / "step00000004.parquet").unlink()
    shape, _ = parts_of()
    assert set(shape.tables[f"shapes_{BENCHMARK}"]["checkpoints"]) == {11}
    assert "1 checkpoint scored in some of its runs only is left out" in shape.section.parts[1]


def test_seeds_scored_on_different_pairs_are_not_pooled(make_run: MakeRun, parts_of) -> None:
    for seed, n in enumerate((10, 12)):
        pairs = pair_table({"p": "x"}, n)
        make_item_run(make_run, pairs, {step: np.full(n, 2) for step in STEPS}, seed=seed)
    (part,) = parts_of()
    assert "were scored on different pairs" in part.section.parts[0]


def test_lines_of_two_sizes_agree_on_the_order_of_acquisition(make_run: MakeRun, parts_of) -> None:
    make_line(make_run, 1)
    make_line(make_run, 1, model="70m")
    shape, acquisition = parts_of()
    pairs = acquisition.tables[f"acquisition_agreement_{BENCHMARK}"]
    assert pairs[["between", "differs_in"]].to_numpy().tolist() == [["lines", "size"]]  # each line is one run
    assert pairs["tau"].tolist() == pytest.approx([1])  # the same scores
    assert [axes.get_title() for axes in shape.drawings[1].figure.axes] == ["dip", "none", "up"]
    assert [axes.texts[-1].get_text() for axes in shape.drawings[1].figure.axes] == ["2 U", "2 flat", "2 rising"]


def test_the_report_has_these_parts() -> None:
    assert shape_parts in OF_BENCHMARK
