"""What ``ucurve power`` prints and writes."""

import numpy as np
import pandas as pd
import pytest

from measurements.shapes.simulated_curves import SLOW, flat, simulate
from tests.analysis.item_runs import BENCHMARK, make_item_run, pair_table
from tests.analysis.synthetic import TOKENS_PER_STEP, MakeRun
from tests.settings import power_command
from ucurve.errors import UserError

STEPS = [2**power for power in range(12)]
PAIRS = pair_table({"a_1": "a_phenomenon_with_a_name_that_is_far_too_long", "b_1": "small"}, 200).iloc[:240]


def make_runs(make_run: MakeRun, seeds: int, pairs: pd.DataFrame = PAIRS) -> None:
    """Flat curves, by default of a phenomenon of 200 pairs and one of 40."""
    tokens = TOKENS_PER_STEP * np.array(STEPS)
    half_points = simulate(flat(0.7), tokens, SLOW, np.random.default_rng(1), seeds=seeds, items=len(pairs))
    for seed, credits_ in enumerate(half_points):
        make_item_run(make_run, pairs, dict(zip(STEPS, credits_, strict=True)), seed=seed)


def found(table: pd.DataFrame, phenomenon: str) -> pd.DataFrame:
    return table[table["phenomenon"] == phenomenon].pivot_table(
        index="depth", columns="more_seeds", values="found"
    )


def test_the_table_says_how_often_dips_are_found_now_and_with_more_seeds(
    make_run: MakeRun, tmp_path, capsys
) -> None:
    make_runs(make_run, 2)
    power_command({"runs": f"{tmp_path}/runs/*", "out": f"{tmp_path}/out"})
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 120
    [head] = [line for line in lines if line.startswith("phenomenon")]
    assert head.split("  ")[-4:] == ["with 2 runs", "with 1 more", "with 2 more", "with 5 more"]
    assert "at 5% after Holm over 3 curves" in " ".join(lines)
    table = pd.read_csv(tmp_path / f"out/power_{BENCHMARK}.csv")
    assert set(table["phenomenon"]) == {"all", "small", PAIRS["phenomenon"].iloc[0]}
    large, small = (found(table, name) for name in ("all", "small"))
    assert list(large.columns) == [0, 1, 2, 5]
    for each in (large, small):
        assert (np.diff(each, axis=0) > 0).all()
        assert (np.diff(each.loc[0.1]) > 0).all()
    assert (large > small).all(axis=None)


def test_of_one_run_nothing_is_said_about_more_seeds(make_run: MakeRun, tmp_path, capsys) -> None:
    make_runs(make_run, 1)
    power_command({"runs": f"{tmp_path}/runs/*", "out": f"{tmp_path}/out"})
    printed = capsys.readouterr().out
    assert "with 1 more" not in printed
    assert "it does not say how other seeds would differ" in printed
    assert set(pd.read_csv(tmp_path / f"out/power_{BENCHMARK}.csv")["more_seeds"]) == {0}


def test_curves_with_too_few_edits_are_undetermined(make_run: MakeRun, tmp_path, capsys) -> None:
    few = pair_table({"c_1": "few"}, 100)
    few = few.assign(good=few["good"] + " a", bad=few["good"] + " b")
    make_runs(make_run, 2, pd.concat([PAIRS, few], ignore_index=True))
    power_command({"runs": f"{tmp_path}/runs/*", "out": f"{tmp_path}/out"})
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("few ")]
    assert line.split()[2:] == ["undetermined", "too", "few", "edits", "-", "-", "-", "-"]
    table = pd.read_csv(tmp_path / f"out/power_{BENCHMARK}.csv")
    assert (table["found"].isna() == (table["phenomenon"] == "few")).all()


def test_runs_without_a_curve_are_a_mistake_with_a_reason(make_run: MakeRun, tmp_path) -> None:
    make_item_run(make_run, PAIRS, {1: np.full(len(PAIRS), 2), 2: np.full(len(PAIRS), 2)})
    with pytest.raises(
        UserError, match=r"no curve could be tested\. 14m: not tested, .* fewer than 4 trained check"
    ):
        power_command({"runs": f"{tmp_path}/runs/*", "out": f"{tmp_path}/out"})
    assert not (tmp_path / "out").exists()


def test_a_line_that_is_not_tested_is_named_beside_one_that_is(make_run: MakeRun, tmp_path, capsys) -> None:
    make_runs(make_run, 1)
    make_item_run(make_run, PAIRS, {step: np.full(len(PAIRS), 2) for step in (1, 2)}, model="70m")
    power_command({"runs": f"{tmp_path}/runs/*", "out": f"{tmp_path}/out"})
    assert f"{BENCHMARK}: 70m: not tested, as the runs of a line share fewer than 4" in capsys.readouterr().out
