import re
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.analysis.report.page import Page
from tests.analysis.synthetic import MakeRun, Row, score_row, write_scores
from tests.settings import analyze_settings
from ucurve.analysis.data.settings import AnalyzeSettings
from ucurve.analysis.run import analyze
from ucurve.config import check
from ucurve.config_files import completed
from ucurve.errors import UserError


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _curve(final: float, steps: tuple[int, ...] = (0, 2, 8), **changes) -> list[Row]:
    rows, names = [], changes.pop("names", ("all", "BA", "passive"))
    for step in steps:
        value = round(0.5 + (final - 0.5) * step / 8, 4)
        for split in ("all", "equal", "good_longer", "bad_longer"):
            rows += [score_row(step, value, split=split, phenomenon=name, **changes) for name in names]
    return rows


def _settings(**changes) -> AnalyzeSettings:
    return analyze_settings(**({"runs": "runs/*", "out": "figures", "formats": ["png"]} | changes))


def test_everything_is_written_and_reported(make_run: MakeRun) -> None:
    for seed, final in enumerate((0.8, 0.9)):
        make_run(_curve(final), seed=seed, bits={1: 8.0, 2: 7.0})
    report = analyze(_settings(formats=["svg"]))
    curves = [
        f"{kind}_zho_{level}"
        for kind in ("learning_curves", "flops_curves")
        for level in ("overall", "phenomena")
    ]
    figures = {f"{name}.{kind}" for name in [*curves, "training_curves"] for kind in ("svg", "csv")}
    tables = {f"{name}.csv" for name in ("headline", "linking_zho", "linking_by_run_zho", "runs", "missing")}
    assert {path.name for path in report.parent.iterdir()} >= figures | tables | {"report.html"}
    page = Page(report.read_text(encoding="utf-8"))
    assert "50.0 % before training, 80.0 to 90.0 % at the last scored checkpoint" in page.text
    assert "± 1 sample sd over runs" in page.text
    assert "Nothing is missing" in page.text
    # Two of the first screen, two of accuracy, one of the loss.
    assert sum(tag == "img" for tag, _ in page.tags) == 5
    assert "Accuracy against FLOPs on zho (one model and budget: the same curve as over tokens)" in page.text
    overall = pd.read_csv(report.parent / "learning_curves_zho_overall.csv")
    assert overall["accuracy"].tolist() == pytest.approx([0.5, 0.5875, 0.85])


def test_the_report_needs_nothing_from_outside(make_run: MakeRun) -> None:
    make_run(_curve(0.8), bits={1: 8.0})
    text = analyze(_settings()).read_text(encoding="utf-8")
    for tag, attributes in Page(text).tags:
        if tag == "a":  # a link loads nothing
            continue
        for name in ("src", "href", "srcset", "data", "action", "poster"):
            assert (attributes.get(name) or "#").startswith(("#", "data:image/png"))
    own = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)  # Vega's names of name spaces
    assert not re.search(r"https?://|@import|url\(", own)
    assert "default-src 'none'" in text


def test_the_same_runs_give_the_same_bytes(make_run: MakeRun) -> None:
    make_run(_curve(0.8, names=("all",)), bits={1: 8.0, 2: 7.0})
    folders = [analyze(_settings(out=out, formats=["svg"])).parent for out in ("one", "two")]
    first, second = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert first == second
    assert len(first) > 12


def test_unfinished_and_unscored_runs_are_listed_not_fatal(make_run: MakeRun) -> None:
    make_run(_curve(0.8, (0, 2)), seed=0, status="running", planned=[0, 2, 8], bits={1: 8.0})
    make_run(None, seed=1, status="running", planned=[0, 2, 8])
    report = analyze(_settings())
    missing = pd.read_csv(report.parent / "missing.csv")
    assert missing["missing"].tolist() == [
        "finished run",
        "checkpoints",
        "finished run",
        "training metrics",
        "scores",
    ]
    page = Page(report.read_text(encoding="utf-8"))
    assert page.tables[-1][1] == ["14m-10M-char-demo-s0", "finished run", "status: running"]


def test_metrics_alone_give_the_training_curves(make_run: MakeRun) -> None:
    make_run(None, bits={1: 8.0, 2: 7.0})
    names = {path.name for path in analyze(_settings()).parent.iterdir()}
    assert "training_curves.png" in names
    assert not any(name.startswith("learning") for name in names)


def test_a_model_from_elsewhere_has_tables_without_curves(make_run: MakeRun, tmp_path: Path) -> None:
    write_scores(
        tmp_path / "scored", [row | {"step": -1, "tokens": "", "flops": ""} for row in _curve(0.8, (8,))]
    )
    report = analyze(_settings(runs="scored"))
    assert "no curves" in Page(report.read_text(encoding="utf-8")).text
    assert pd.read_csv(report.parent / "linking_zho.csv")["accuracy"].tolist() == [0.8]


def test_benchmarks_have_files_of_their_own_and_can_be_chosen(make_run: MakeRun) -> None:
    overall = {"names": ("all",)}
    dutch = [_curve(0.7, benchmark="multiblimp/nld", scorer=scorer, **overall) for scorer in ("sentence", "pll")]
    make_run(_curve(0.8, **overall) + dutch[0] + dutch[1])
    names = {path.name for path in analyze(_settings(out="a", formats=["svg"])).parent.iterdir()}
    for name in ("zho", "multiblimp-nld-sentence", "multiblimp-nld-pll"):
        assert f"learning_curves_{name}_overall.svg" in names
    chosen = {path.name for path in analyze(_settings(out="b", benchmark="zho")).parent.iterdir()}
    assert not any("nld" in name or name.endswith(".svg") for name in chosen)


def test_chinese_names_are_drawn_whatever_fonts_there_are(make_run: MakeRun) -> None:
    make_run(_curve(0.8) + [score_row(step, 0.6, phenomenon="量词") for step in (0, 8)])
    report = analyze(_settings())
    assert set(pd.read_csv(report.parent / "learning_curves_zho_phenomena.csv")["phenomenon"]) >= {"量词"}


def test_names_are_drawn_as_written_never_as_formulas(make_run: MakeRun) -> None:
    names = ("all", r"$\frac$", "BA")
    for seed in (0, 1):
        make_run(_curve(0.8, names=names), seed=seed, suffix=r"-$\bad$", tokenizer=r"$\t$", model=r"$\m$")
    make_run(_curve(0.7, names=names), tokenizer="word", bits={1: 8.0, 2: 7.0}, suffix=r"-$\bad$")
    folder = analyze(_settings(formats=["svg"])).parent
    assert {path.stem for path in folder.glob("*.svg")} > {
        "learning_curves_zho_phenomena",
        "flops_curves_zho_phenomena",
    }


def test_captions_and_tables_name_the_ties_rule(make_run: MakeRun) -> None:
    make_run(_curve(0.8, ties=3, ties_rule="wrong"))
    page = Page(analyze(_settings()).read_text(encoding="utf-8"))
    assert page.text.count("zho, slln_lp, ties counted wrong") == 2  # the captions of both curves
    headings, row = next(table for table in page.tables if "Ties" in table[0])
    assert row[headings.index("Ties")] == "3"  # what a tie counts is in headline.csv


def test_runs_of_different_ties_rules_are_refused_before_anything_is_written(make_run: MakeRun) -> None:
    make_run(_curve(0.8) + _curve(0.8, benchmark="tse"), seed=0)
    make_run(_curve(0.8) + _curve(0.8, benchmark="tse", ties_rule="wrong"), seed=1)
    with pytest.raises(UserError, match=r"tse was scored under different rules for ties"):
        analyze(_settings())
    assert not Path("figures").exists()
    analyze(_settings(benchmark="zho"))


def test_unknown_names_are_answered_with_those_present(make_run: MakeRun) -> None:
    make_run(_curve(0.8))
    with pytest.raises(
        UserError, match=r"unknown linking function 'slln' in linking; allowed: slln_lp\. Did you mean"
    ):
        analyze(_settings(linking="slln"))
    with pytest.raises(
        UserError, match=r"unknown benchmark 'zhoo' in benchmark; allowed: zho\. Did you mean 'zho'"
    ):
        analyze(_settings(benchmark="zhoo"))
    assert not Path("figures").exists()


def test_a_run_with_nothing_to_draw_says_how_to_score_it(make_run: MakeRun) -> None:
    make_run(None)
    with pytest.raises(
        UserError, match=r"nothing to draw in runs/14m-10M-char-demo-s0: .* python score\.py run=runs/"
    ):
        analyze(_settings())


@pytest.mark.parametrize("out", ["figures", "figures/below"])
def test_out_must_not_be_a_file(make_run: MakeRun, tmp_path: Path, out: str) -> None:
    make_run(_curve(0.8))
    (tmp_path / "figures").write_text("mine")
    with pytest.raises(UserError, match=r"is a file or lies below one"):
        analyze(_settings(out=out))
    assert (tmp_path / "figures").read_text() == "mine"


def test_settings_are_checked_in_one_message() -> None:
    values = completed("analyze.yaml", {"formats": ["gif"], "colour": "red"})
    values.pop("out")
    with pytest.raises(
        UserError, match=r"(?s)3 problems.*out: no value given.*formats\.0.*'gif'.*colour: unknown key"
    ):
        check(AnalyzeSettings, values)


def test_command_ends_by_naming_the_report(make_run: MakeRun, run_command: Any, tmp_path: Path) -> None:
    make_run(_curve(0.8))
    code, told, _ = run_command("analyze", "runs=runs/*", "out=figures")
    assert code == 0
    said = told.splitlines()
    assert said[0].split()[:4] == ["run", "benchmark", "before", "last"]
    assert said[1].split()[:4] == ["14m-10M-char-demo-s0", "zho", "50.0", "80.0"]
    assert said[-2] == "report: figures/report.html"
    assert re.fullmatch(r"next: ucurve workbench runs='runs/\*'", said[-1])
    assert told.count("next: ") == 1
    assert len(said) <= 12
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "figures"}


@pytest.mark.long
def test_twenty_checkpoints_of_118_paradigms_take_seconds(make_run: MakeRun) -> None:
    rows = []
    for step in range(20):
        for linking in ("lp", "mean_lp", "pen_lp", "slln_lp", "slor"):
            for split in ("all", "equal", "good_longer", "bad_longer"):
                place = {"linking": linking, "split": split}
                rows.append(score_row(step, 0.5, **place))
                rows += [score_row(step, 0.6, phenomenon=f"P{index}", **place) for index in range(15)]
                names = [(f"P{index % 15}", f"p{index}") for index in range(118)]
                rows += [score_row(step, 0.6, phenomenon=name, paradigm=one, **place) for name, one in names]
    make_run(rows, bits=dict.fromkeys(range(1, 2000), 5.0))
    begin = time.process_time()
    analyze(_settings())
    assert time.process_time() - begin < 20
