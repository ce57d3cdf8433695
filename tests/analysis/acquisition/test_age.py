from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind

from measurements.intervals.time_ratio_levels import simulate
from tests.analysis.studies import scored_of
from tests.analysis.synthetic import MakeRun, score_row
from ucurve.analysis.acquisition.age import age_of_acquisition, age_sections, half_way_times, lateness

TOKENS = np.array([0, *10.0 ** np.arange(3, 7.01, 0.1)])
ENDS = np.array([3.0, 7.0])
MIDDLES = np.array([4.0, 4.6, 5.0, 5.5, 6.0])


def table_of(lines: dict[str, list[float]], middles: np.ndarray = MIDDLES) -> pd.DataFrame:
    """Logistic rises from 50 to 90 % of runs that learn all phenomena later by so many decades."""
    return pd.DataFrame([
        (line, f"{line}{seed}", f"p{place}", tokens, 0.5 + 0.4 * (tokens > 0) / (1 + 10 ** (4 * (middle + later - at))))
        for line, runs in lines.items() for seed, later in enumerate(runs)
        for place, middle in enumerate(middles)
        for tokens, at in zip(TOKENS, np.log10(np.maximum(TOKENS, 1e-3)), strict=True)
    ], columns=["line", "run", "phenomenon", "tokens", "accuracy"])  # fmt: skip


def factors_of(curves: pd.DataFrame, **levels: dict[str, str]) -> pd.DataFrame:
    lines = curves.drop_duplicates("run").set_index("run")["line"]
    return pd.DataFrame({name: lines.map(own) for name, own in levels.items()})


def test_a_level_whose_runs_learn_at_three_times_the_tokens_has_the_ratio_three() -> None:
    later = {"a": [0.4, 0.5, 0.6], "b": [-0.1, 0.0, 0.15]}
    curves = table_of(later)
    [row] = age_of_acquisition(curves, factors_of(curves, model={"a": "x", "b": "y"})).to_dict("records")
    assert (row["factor"], row["level"], row["against"]) == ("model", "x", "y")
    known = ttest_ind(later["a"], later["b"])  # without censoring it is Student's test of the runs' shifts
    bounds = 10 ** np.array(known.confidence_interval(0.95))
    assert row["ratio"] == pytest.approx(10 ** (0.5 - 0.05 / 3), rel=0.02)
    assert [row["low"], row["high"]] == pytest.approx(bounds, rel=0.05)
    assert row["p"] == row["p_holm"] == pytest.approx(known.pvalue, rel=0.1)
    assert (row["runs"], row["phenomena"], row["left"], row["right"]) == (6, 5, 0, 0)


def test_times_are_censored_at_both_ends() -> None:
    curves = table_of({"early": [-1.5], "late": [1.4]})
    times, ends = half_way_times(curves)
    assert ends.to_numpy().tolist() == [pytest.approx(ENDS)] * 2
    assert times.loc["early0", "p0"] == -np.inf
    assert times.loc["late0", "p4"] == np.inf
    assert np.isfinite(times.loc["early0", "p2"])


def test_phenomena_that_do_not_rise_have_no_time() -> None:
    curves = table_of({"a": [0.0], "b": [0.0]})
    flat = curves.assign(phenomenon="flat", accuracy=0.52)
    falling = curves.assign(phenomenon="falling", accuracy=1 - curves["accuracy"])
    times, _ = half_way_times(pd.concat([curves, flat, falling]))
    assert times.columns.tolist() == [f"p{place}" for place in range(5)]


def test_what_is_not_known_of_a_time_does_not_bias_how_late_a_run_is() -> None:
    draw = np.random.default_rng(3)
    shifts, middles = np.repeat([0.0, 1.0], 40), draw.uniform(2.5, 6.5, 30)
    times = shifts[:, None] + middles + 0.2 * draw.standard_normal((80, 30))
    censored = np.where(times < ENDS[0], -np.inf, np.where(times > ENDS[1], np.inf, times))
    late = lateness(censored, np.tile(ENDS, (80, 1)))
    assert np.isinf(censored).mean() > 0.1
    assert late[40:].mean() - late[:40].mean() == pytest.approx(1, abs=0.03)
    clipped = np.clip(times, *ENDS).mean(axis=1)
    assert clipped[40:].mean() - clipped[:40].mean() < 0.95


def test_a_level_with_a_run_that_learns_nothing_has_no_ratio_and_the_others_keep_theirs() -> None:
    curves = table_of({"a": [0.2, 0.3], "b": [0.0, 0.1], "never": [0.0, 9.0]})
    table = age_of_acquisition(curves, factors_of(curves, model={"a": "a", "b": "b", "never": "never"}))
    assert table["ratio"].notna().tolist() == [True, False, False]
    assert table["p_holm"].iloc[0] == table["p"].iloc[0]
    assert table["right"].tolist()[0] == 0


def test_factors_are_told_apart_only_where_the_runs_do() -> None:
    lines = {
        f"{size}{kind}": [0.3 * (size == "L") + shift for shift in (0, 0.1)] for size in "SL" for kind in "cw"
    }
    curves = table_of(lines)
    sizes, kinds = {line: line[0] for line in lines}, {line: line[1] for line in lines}
    table = age_of_acquisition(curves, factors_of(curves, size=sizes, tokenizer=kinds)).set_index("factor")
    assert table.loc["size", "ratio"] == pytest.approx(10**-0.3, rel=0.02)
    assert table.loc["tokenizer", "ratio"] == pytest.approx(1, abs=0.01)
    confounded = curves[curves["line"].isin(["Sc", "Lw"])]
    told = age_of_acquisition(confounded, factors_of(confounded, size=sizes, tokenizer=kinds))
    assert told["ratio"].isna().all()


def test_runs_that_are_equal_have_no_error_and_no_p() -> None:
    curves = table_of({"a": [0.0, 0.0], "b": [0.0, 0.0]})
    assert age_of_acquisition(curves, factors_of(curves, model={"a": "x", "b": "y"}))["p"].isna().all()


@pytest.mark.parametrize("middles", [MIDDLES[:1], np.array([9.0, 9.5])])
def test_without_two_phenomena_that_are_learned_there_is_nothing_to_say(middles: np.ndarray) -> None:
    curves = table_of({"a": [0.0, 0.1], "b": [0.2, 0.3]}, middles)
    assert age_of_acquisition(curves, factors_of(curves, model={"a": "x", "b": "y"})).empty


def test_a_factor_without_effect_is_seldom_said_to_have_one() -> None:
    draw = np.random.default_rng(1)
    curves = [simulate(draw, 3, 0.2, (0.0, 0.0), 15) for _ in range(12)]
    tables = [age_of_acquisition(one, factors_of(one, model={0: "x", 1: "y"})) for one in curves]
    assert (pd.concat(tables)["p"] <= 0.05).sum() <= 2


def make_grid(make_run: MakeRun, seeds: int, models: tuple[str, ...] = ("14m", "llama-14m")) -> None:
    steps = (0, 1, 2, 4, 8, 16, 32, 64, 128)
    for place, model in enumerate(models):
        for seed in range(seeds):
            rows = [
                score_row(step, 0.5 + 0.4 / (1 + (max(step, 1e-9) * 16_384 / (middle * 2**place * 1.05**seed)) ** -3),
                          phenomenon=name)
                for step in steps for name, middle in (("all", 3e5), ("passive", 2e5), ("question", 4e5))
            ]  # fmt: skip
            make_run(rows, model=model, seed=seed)


def test_the_report_has_the_levels_of_factors(make_run: MakeRun, tmp_path: Path) -> None:
    make_grid(make_run, 2)
    [section] = age_sections(scored_of(tmp_path))
    table = section.tables["age_of_acquisition_zho"]
    assert table[["factor", "level", "against"]].to_numpy().tolist() == [["architecture", "llama", "gpt_neox"]]
    assert table["ratio"].iloc[0] == pytest.approx(2, rel=0.05)
    assert table["phenomena"].tolist() == [2]


@pytest.mark.parametrize(("seeds", "models"), [(1, ("14m", "llama-14m")), (2, ("14m",))])
def test_without_two_runs_a_line_or_a_factor_there_is_no_section(
    make_run: MakeRun, tmp_path: Path, seeds: int, models: tuple[str, ...]
) -> None:
    make_grid(make_run, seeds, models)
    assert not list(age_sections(scored_of(tmp_path)))
