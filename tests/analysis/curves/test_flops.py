import pandas as pd
import pytest

from tests.analysis.studies import frame_of, paradigm_rows, scored_of
from tests.analysis.synthetic import MakeRun, score_row, write_scores
from ucurve.analysis.curves.flops import draw_flops_curves, flops_table
from ucurve.analysis.curves.learning import curve_table
from ucurve.analysis.paradigms.human import reference_lines


@pytest.fixture
def table_of(tmp_path):
    def build() -> pd.DataFrame:
        frame, runs = frame_of(tmp_path)
        return flops_table(curve_table(frame, runs), runs)

    return build


def _rows(flops: float, accuracy: float) -> list[dict]:
    return [score_row(0, 0.5, flops=0), score_row(1, 0.6, flops=flops / 2), score_row(2, accuracy, flops=flops)]


def test_only_the_ends_of_finished_runs_are_points(make_run: MakeRun, table_of) -> None:
    make_run(_rows(1e15, 0.7), tokens="10M")
    make_run(_rows(3e15, 0.8), tokens="30M")
    make_run(_rows(9e15, 0.9), tokens="90M", status="running", planned=[0, 1, 2, 3])
    table = table_of()
    points = table[table["final"]]
    assert points[["model", "flops", "accuracy"]].values.tolist() == [["14m", 1e15, 0.7], ["14m", 3e15, 0.8]]
    assert (table["flops"] > 0).all()
    assert set(points["over_budgets"]) == {"14m"}


def test_an_end_without_a_score_is_no_point(make_run: MakeRun, table_of) -> None:
    make_run(_rows(1e15, 0.7), planned=[0, 1, 2, 3])
    assert not table_of()["final"].any()


def test_budgets_of_one_size_are_joined_by_a_dotted_line(make_run: MakeRun, table_of) -> None:
    for tokens, flops in (("10M", 1e15), ("30M", 3e15)):
        for seed in (0, 1):
            make_run(_rows(flops, 0.7 + seed / 100), tokens=tokens, seed=seed)
    make_run(_rows(5e15, 0.9), model="70m")
    overall = draw_flops_curves(table_of(), "n", "t")[0]
    axes = overall.figure.axes[0]
    dotted = [line for line in axes.lines if line.get_linestyle() == ":" and line.get_marker() == "o"]
    assert [list(line.get_xdata()) for line in dotted] == [[1e15, 3e15], [5e15]]
    assert dotted[0].get_ydata().tolist() == pytest.approx([0.705, 0.705])
    assert dotted[0].get_color() != dotted[1].get_color()
    assert axes.get_xscale() == "log"
    labels = [text.get_text() for text in overall.figure.legends[0].get_texts()]
    assert labels == ["14m (14M parameters)", "70m (70M parameters)"]


def test_tokenizers_are_told_apart(make_run: MakeRun, table_of) -> None:
    for tokenizer in ("char", "word"):
        make_run(_rows(1e15, 0.7), tokenizer=tokenizer)
    overall = draw_flops_curves(table_of(), "n", "t")[0]
    labels = [text.get_text() for text in overall.figure.legends[0].get_texts()]
    assert labels == ["char (14M parameters)", "word (14M parameters)"]


def test_nothing_but_step_0_has_no_points(make_run: MakeRun, table_of) -> None:
    make_run([score_row(0, 0.5)])
    assert table_of().empty


def test_runs_of_other_settings_are_not_joined(make_run: MakeRun, table_of) -> None:
    make_run(_rows(1e15, 0.7), tokens="10M")
    make_run(_rows(3e15, 0.8), tokens="30M")
    make_run(_rows(2e15, 0.6), tokens="20M", suffix="-slow", cell="slow")
    overall = draw_flops_curves(table_of(), "n", "t")[0]
    dotted = {line.get_color(): list(line.get_xdata()) for line in overall.figure.axes[0].lines
              if line.get_linestyle() == ":" and line.get_marker() == "o"}  # fmt: skip
    assert sorted(dotted.values()) == [[1e15, 3e15], [2e15]]
    assert "differ in the budget alone" in overall.note


def test_people_and_models_from_elsewhere_are_level_lines(make_run: MakeRun, tmp_path) -> None:
    names = {("A", "a1"): 0.6, ("B", "b1"): 0.8}
    make_run([row | {"flops": 1e15 * row["step"]} for step in (1, 2) for row in paradigm_rows(step, names)])
    rows = paradigm_rows(-1, {("A", "a1"): 0.7, ("B", "b1"): 0.9})
    write_scores(tmp_path / "runs" / "qwen", [row | {"tokens": "", "flops": ""} for row in rows])
    (tmp_path / "human.csv").write_text("UID,correct,total\na1,19,20\nb1,4,5\n")
    scored = scored_of(tmp_path, human=tmp_path / "human.csv")
    lines = reference_lines(scored)
    levels = lines.set_index(["reference", "phenomenon"])["accuracy"].to_dict()
    assert levels == pytest.approx({
        ("human", "all"): 0.875, ("human", "A"): 0.95, ("human", "B"): 0.8,
        ("qwen", "all"): 0.8, ("qwen", "A"): 0.7, ("qwen", "B"): 0.9,
    })  # fmt: skip
    table = flops_table(curve_table(scored.curve_rows(), scored.study.runs), scored.study.runs)
    overall, panels = draw_flops_curves(table, "n", "t", lines)
    assert set(panels.table["reference"]) == {"", "human", "qwen"}
    drawn = [line for line in panels.figure.axes[0].lines if len(set(line.get_ydata())) == 1]
    assert {0.95, 0.7} <= {float(line.get_ydata()[0]) for line in drawn}
    labels = [text.get_text() for text in overall.figure.legends[0].get_texts()]
    assert labels[-2:] == ["human", "qwen"]
    assert "Level lines: people" in overall.note
