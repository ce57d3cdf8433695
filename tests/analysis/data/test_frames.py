import math
from pathlib import Path

import pandas as pd
import pytest

from tests.analysis.synthetic import TOKENS_PER_STEP, MakeRun, score_row, write_held_out
from tests.facts import change_run
from ucurve.analysis.data.frames import (
    AGGREGATES,
    held_out_frame,
    last_scored,
    metric_frame,
    one_ties_rule,
    overall,
    score_frame,
    targets,
    with_gaps,
)
from ucurve.analysis.data.runs import find_runs
from ucurve.errors import DamagedError, UserError


def test_frame_has_every_row_with_its_run_and_line(make_run: MakeRun, tmp_path) -> None:
    make_run([score_row(0, 0.5), score_row(1, 0.6, paradigm="p", phenomenon="x")], seed=0)
    make_run([score_row(0, 0.4)], seed=1)
    make_run(None, seed=2)
    frame = score_frame(find_runs([f"{tmp_path}/runs/*"]))
    assert frame["run"].astype(str).tolist() == ["14m-10M-char-demo-s0"] * 2 + ["14m-10M-char-demo-s1"]
    assert set(frame["line"].astype(str)) == {"14m"}
    assert frame["accuracy"].tolist() == [0.5, 0.6, 0.4]
    assert frame["phenomenon"].astype(str).tolist() == ["all", "x", "all"]
    assert frame["phenomenon"].dtype == "category"


def test_aggregates_leave_out_paradigms_and_means_over_them(make_run: MakeRun, tmp_path) -> None:
    rows = [score_row(0, 0.1), score_row(0, 0.2, phenomenon="x"), score_row(0, 0.3, phenomenon="x", paradigm="p")]
    make_run([*rows, score_row(0, 0.4, paradigm="macro")])
    frame = score_frame(find_runs([f"{tmp_path}/runs/*"]), AGGREGATES)
    assert frame["accuracy"].tolist() == [0.1, 0.2]
    assert overall(frame)["accuracy"].tolist() == [0.1]


def test_of_several_ties_rules_half_is_used_and_a_lone_other_is_kept(make_run: MakeRun, tmp_path) -> None:
    rows = [score_row(0, 0.7, ties_rule="right"), score_row(0, 0.6), score_row(0, 0.5, ties_rule="wrong")]
    make_run([*rows, score_row(0, 0.3, benchmark="tse", ties_rule="wrong")])
    frame = one_ties_rule(score_frame(find_runs([f"{tmp_path}/runs/*"])))
    assert dict(zip(frame["benchmark"].astype(str), frame["accuracy"], strict=True)) == {"zho": 0.6, "tse": 0.3}


def test_all_runs_of_a_benchmark_are_read_under_one_ties_rule(make_run: MakeRun, tmp_path) -> None:
    make_run([score_row(0, 0.6), score_row(0, 0.5, ties_rule="wrong")], seed=0)
    make_run([score_row(0, 0.4, ties_rule="wrong")], seed=1)
    frame = one_ties_rule(score_frame(find_runs([f"{tmp_path}/runs/*"])))
    assert frame["accuracy"].tolist() == [0.5, 0.4]


def test_runs_without_a_ties_rule_in_common_are_refused(make_run: MakeRun, tmp_path) -> None:
    make_run([score_row(0, 0.6)], seed=0)
    make_run([score_row(0, 0.4, ties_rule="wrong")], seed=1)
    frame = score_frame(find_runs([f"{tmp_path}/runs/*"]))
    message = r"zho was scored under different rules .*-s0: half; .*-s1: wrong\).*ties_rules="
    with pytest.raises(UserError, match=message):
        one_ties_rule(frame)


def test_the_last_step_of_one_linking_function_does_not_hide_another(make_run: MakeRun, tmp_path) -> None:
    make_run([score_row(4, 0.2), score_row(9, 0.3, linking="lp")])
    last = last_scored(score_frame(find_runs([f"{tmp_path}/runs/*"])))
    assert dict(zip(last["linking"].astype(str), last["step"], strict=True)) == {"slln_lp": 4, "lp": 9}


def test_last_scored_step_is_that_of_each_run_and_benchmark(make_run: MakeRun, tmp_path) -> None:
    make_run([score_row(0, 0.1), score_row(4, 0.2), score_row(2, 0.3, benchmark="b")], seed=0)
    make_run([score_row(2, 0.4)], seed=1)
    frame = score_frame(find_runs([f"{tmp_path}/runs/*"]))
    assert sorted(last_scored(frame)["accuracy"]) == [0.2, 0.3, 0.4]
    assert targets(frame) == [("b", ("sentence",)), ("zho", ("sentence",))]


@pytest.mark.parametrize(("scored", "ways"), [
    ([("a", "sentence"), ("b", "pll")], [("pll", "sentence")]),
    ([("a", "sentence"), ("b", "pll"), ("b", "pll_l2r")], [("pll",), ("pll_l2r", "sentence")]),
    ([("a", "sentence"), ("a", "pll")], [("pll",), ("sentence",)]),  # one run by both
    ([("a", "sentence"), ("a", "mink"), ("b", "pll"), ("b", "pll_mink")], [("mink", "pll_mink"), ("pll", "sentence")]),
    ([("a", "pll"), ("b", "prompt")], [("pll",), ("prompt",)]),
])  # fmt: skip
def test_masked_models_join_the_scorer_of_causal_ones(scored, ways) -> None:
    frame = pd.DataFrame(
        [{"benchmark": "zho", "run": run, "scorer": name, "linking": "lp"} for run, name in scored]
    )
    assert sorted(tuple(sorted(way)) for _, way in targets(frame)) == ways


def test_scorers_without_a_common_linking_function_stay_apart() -> None:
    rows = [{"run": "a", "scorer": "sentence", "linking": "slor"}, {"run": "b", "scorer": "pll", "linking": "lp"}]
    assert targets(pd.DataFrame(rows).assign(benchmark="zho")) == [("zho", ("pll",)), ("zho", ("sentence",))]


def test_gaps_stay_gaps_at_their_place_on_the_axis(make_run: MakeRun, tmp_path) -> None:
    rows = [score_row(step, 0.5 + step / 100, phenomenon=name) for step in (0, 1, 4) for name in ("all", "x")]
    make_run([row for row in rows if (row["step"], row["phenomenon"]) != (1, "x")], planned=[0, 1, 2, 4, 8])
    runs = find_runs([f"{tmp_path}/runs/*"])
    frame = with_gaps(score_frame(runs), runs)
    table = frame.pivot(index="step", columns="phenomenon", values="accuracy")
    assert table.index.tolist() == [0, 1, 2, 4, 8]
    assert table["all"].isna().tolist() == [False, False, True, False, True]
    assert table["x"].isna().tolist() == [False, True, True, False, True]
    tokens = frame[frame["phenomenon"] == "all"].set_index("step")
    assert tokens.loc[2, "tokens"] == 2 * TOKENS_PER_STEP
    assert math.isclose(tokens.loc[8, "flops"], 6 * 14e6 * 8 * TOKENS_PER_STEP)


def test_metrics_keep_the_last_line_of_a_step_taken_twice(make_run: MakeRun, tmp_path) -> None:
    folder = make_run(bits={1: 8.0, 2: 7.0})
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 2, "tokens": 32768, "bits_per_byte": 6.5}\n{"step": 3, "tok')
    frame = metric_frame(find_runs([f"{tmp_path}/runs/*"]))
    assert frame["step"].tolist() == [1, 2]
    assert frame["bits_per_byte"].tolist() == [8.0, 6.5]


def test_nothing_scored_gives_an_empty_frame_with_the_columns(make_run: MakeRun, tmp_path) -> None:
    make_run(None)
    runs = find_runs([f"{tmp_path}/runs/*"])
    for frame in (score_frame(runs), metric_frame(runs)):
        assert isinstance(frame, pd.DataFrame)
        assert frame.empty
        assert {"run", "line", "step", "tokens"} <= set(frame.columns)


def test_broken_scores_name_file_and_line(make_run: MakeRun, tmp_path) -> None:
    folder = make_run([score_row(0, 0.5), score_row(1, 0.67)])
    path = folder / "eval" / "accuracy.csv"
    path.write_text(path.read_text().replace("0.67,", "oops,"))
    with pytest.raises(UserError, match=r"accuracy\.csv:3: column accuracy holds 'oops'"):
        score_frame(find_runs([f"{tmp_path}/runs/*"]))


def test_a_run_that_writes_a_held_out_loss_after_it_was_opened_is_read(make_run: MakeRun, tmp_path: Path) -> None:
    folder = make_run(status="running", held_out={0: 8.0})
    runs = find_runs([str(tmp_path / "runs/*")])
    change_run(folder, files=write_held_out(folder, {0: 8.0, 1: 7.0}, 1_000_000))
    assert held_out_frame(runs)["step"].tolist() == [0, 1]


def test_held_out_losses_that_were_changed_are_refused(make_run: MakeRun, tmp_path: Path) -> None:
    folder = make_run(status="running", held_out={0: 8.0})
    write_held_out(folder, {0: 1.0}, 1_000_000)
    with pytest.raises(DamagedError, match="restore it from a copy"):
        held_out_frame(find_runs([str(tmp_path / "runs/*")]))
