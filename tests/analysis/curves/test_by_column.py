"""Curves for each value of a published column, against a direct count."""

import shutil

import numpy as np
import pandas as pd
import pytest

from tests.analysis.item_runs import make_item_run, pair_table
from tests.settings import analyze_settings
from ucurve.analysis.api import open_study
from ucurve.analysis.curves.by_column import column_sections, column_table
from ucurve.analysis.items.histories import read_histories
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.run import analyze
from ucurve.errors import UserError
from ucurve.eval.store.scores import pairs_path

STEPS = (0, 1, 2, 4)
PAIRS = pair_table({"p": "first", "q": "second"}, 30).assign(
    attractor=np.tile([True, False, False], 20), domain=["news", None, "fiction"] * 20,
    distance=np.arange(60) % 20, frequency=np.linspace(0.1, 7, 60), marks=[f"{number}" for number in range(60)],
)  # fmt: skip


@pytest.fixture
def made(make_run, tmp_path):
    draw = np.random.default_rng(7)
    verdicts = [draw.integers(0, 3, (len(STEPS), len(PAIRS))).astype(np.uint8) for _ in range(2)]
    for seed, rows in enumerate(verdicts):
        make_item_run(make_run, PAIRS, dict(zip(STEPS, rows, strict=True)), seed=seed)
    return f"{tmp_path}/runs/*", verdicts


def check_counts(table, values, verdicts):
    """Every accuracy of a table is that of a loop over the pairs of its value."""
    assert set(table["value"]) == {value for value in values if value is not None}
    for row in table.to_dict("records"):
        chosen = [number for number, value in enumerate(values) if value == row["value"]]
        shares = [np.mean([run[STEPS.index(row["step"]), one] / 2 for one in chosen]) for run in verdicts]
        assert row["n"] == len(chosen)
        assert row["accuracy"] == pytest.approx(np.mean(shares))
        assert row["high"] - row["accuracy"] == pytest.approx(np.std(shares, ddof=1))


@pytest.mark.parametrize("column", ["attractor", "domain", "paradigm"])
def test_curves_of_names_equal_a_count(made, column):
    runs, verdicts = made
    table = open_study(runs).column_curves(column)
    check_counts(table, [None if pd.isna(value) else str(value) for value in PAIRS[column]], verdicts)


def test_curves_of_two_crossed_columns_equal_a_count(made):
    runs, verdicts = made
    study = open_study(runs)
    table = study.column_curves("attractor*domain")
    cells = zip(PAIRS["attractor"], PAIRS["domain"], strict=True)
    values = [None if pd.isna(domain) else f"{attractor}, {domain}" for attractor, domain in cells]
    check_counts(table, values, verdicts)
    assert list(dict.fromkeys(table["value"])) == sorted({value for value in values if value})
    halves = study.column_curves("attractor*frequency")
    assert halves.drop_duplicates("value")["n"].sum() == len(PAIRS)
    with pytest.raises(UserError, match="unknown column or kind of lines 'domian'"):
        study.column_curves("attractor*domian")


def test_the_report_draws_crossed_columns_and_names_the_unknown_one(made):
    (part,) = sections(made[0], "attractor*phenomenon")
    assert part.drawings[0].name == "curves_by_attractor_x_phenomenon_zho"
    assert part.drawings[0].table["value"].nunique() == 4
    with pytest.raises(UserError, match="unknown column 'attracter' in curves_by"):
        sections(made[0], "phenomenon*attracter")


@pytest.mark.parametrize("column", ["distance", "frequency"])
def test_many_numbers_are_parts_of_equal_numbers_of_pairs(made, column):
    runs, verdicts = made
    table = open_study(runs).column_curves(column)
    names = list(dict.fromkeys(table["value"]))
    parts = pd.IntervalIndex.from_tuples([tuple(map(float, name[1:-1].split(", "))) for name in names])
    assert parts.is_monotonic_increasing
    assert table.drop_duplicates("value")["n"].tolist() == [12] * 5
    check_counts(table, [names[parts.get_loc(value)] for value in PAIRS[column]], verdicts)


def test_curves_of_phenomena_are_those_of_the_stored_accuracies(made):
    scored = open_study(made[0]).benchmarks()[0]
    table = column_table(read_histories(scored), "phenomenon", scored.ties_rule).set_index(["value", "step"])[
        "accuracy"
    ]
    stored = scored.curve_rows()
    stored = (
        stored[stored["phenomenon"] != "all"].groupby(["phenomenon", "step"], observed=True)["accuracy"].mean()
    )
    for key, accuracy in table.items():
        assert accuracy == pytest.approx(stored[key])


def sections(runs, *columns):
    scored = open_study(runs, curves_by=columns).benchmarks()[0]
    return list(column_sections(scored))


def test_the_report_has_a_figure_for_each_column_with_its_note(made):
    distance, domain, marks = (part.drawings[0] for part in sections(made[0], "distance", "domain", "marks"))
    assert [one.name for one in (distance, domain)] == ["curves_by_distance_zho", "curves_by_domain_zho"]
    assert {"value", "n", "accuracy"} <= set(distance.table)
    assert "divided into parts of about as many pairs" in distance.note
    assert "20 pairs have no value and are in no curve" in domain.note
    assert "The 12 values with the most pairs of 60" in marks.note
    assert marks.table["value"].nunique() == 60
    assert not sections(made[0])


def test_an_unknown_column_is_refused_with_those_there_are(made, tmp_path):
    settings = analyze_settings(runs=(made[0],), out=str(tmp_path / "out"), curves_by=("distanse",))
    with pytest.raises(
        UserError, match="unknown column 'distanse' in curves_by; allowed: attractor, distance"
    ) as error:
        analyze(settings)
    assert "Did you mean 'distance'?" in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_column_of_texts_is_refused(make_run, tmp_path):
    pairs = pair_table({"p": "first"}, 1100).assign(text=lambda table: table["pair"])
    make_item_run(make_run, pairs, {step: np.zeros(1100, dtype=np.uint8) for step in STEPS})
    with pytest.raises(UserError, match="column 'text' has 1100 values; at most 1000 are drawn"):
        open_study(f"{tmp_path}/runs/*").column_curves("text")


def test_a_column_without_values_is_refused(make_run, tmp_path):
    pairs = pair_table({"p": "first"}, 20).assign(empty=np.nan)
    make_item_run(make_run, pairs, {step: np.zeros(20, dtype=np.uint8) for step in STEPS})
    with pytest.raises(UserError, match="column 'empty' has no value in any pair"):
        open_study(f"{tmp_path}/runs/*").column_curves("empty")


def test_runs_on_other_pairs_are_left_out_and_named(made, make_run):
    other = make_item_run(
        make_run, PAIRS.iloc[:40], {step: np.zeros(40, dtype=np.uint8) for step in STEPS}, seed=9
    )
    (part,) = sections(made[0], "attractor")
    assert f"Scored on other pairs, and left out: {other.name}." in part.content


def test_a_benchmark_without_the_column_says_so(made, tmp_path):
    for folder in (tmp_path / "runs").iterdir():
        other = pairs_path(folder, "other")
        shutil.copytree(pairs_path(folder, "zho").parent, other.parent)
        pd.read_parquet(other).drop(columns="attractor").to_parquet(other, index=False)
        table = folder / "eval" / "accuracy.csv"
        rows = pd.read_csv(table)
        pd.concat([rows, rows.assign(benchmark="other")]).to_csv(table, index=False)
    study = open_study(made[0], curves_by=["attractor"])
    texts = {
        scored.benchmark: [part.content for part in column_sections(scored)] for scored in study.benchmarks()
    }
    assert texts["other"] == [("Its pairs have no column attractor.",)]
    assert isinstance(texts["zho"][0][0], Drawing)


def test_without_scores_of_single_pairs_there_are_no_curves_by_column(made, tmp_path):
    for folder in (tmp_path / "runs").iterdir():
        pairs_path(folder, "zho").unlink()
    with pytest.raises(UserError, match="no scores of single pairs are stored"):
        open_study(made[0]).items()


def test_a_notebook_draws_a_line_for_each_value(made):
    study = open_study(made[0])
    chart = study.curve(by="attractor")
    assert "attractor" in str(vars(chart))
    with pytest.raises(UserError, match="unknown column or kind of lines 'attracter'") as error:
        study.curve(by="attracter")
    assert "Did you mean 'attractor'?" in str(error.value)
    other = study.curve(by="attractor", linking="slln_lp:0.8")
    # Lengths are equal here.
    assert other.to_dict()["datasets"]["curves"] == chart.to_dict()["datasets"]["curves"]
