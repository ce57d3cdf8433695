import gc
import json
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from ucurve.config import check
from ucurve.config_files import completed
from ucurve.errors import UserError
from ucurve.eval.api import compare, score
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.significance import comparison_table
from ucurve.eval.settings import ScoreCommand
from ucurve.eval.store.tables import ACCURACY, STATISTICS, read_table

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def root(tmp_path_factory, records):
    folder = tmp_path_factory.mktemp("benchmarks")
    for name, part in (("zhoblimp", records[:40]), ("zhoblimp-excluded", records[40:60])):
        (folder / name).mkdir()
        text = "\n".join(json.dumps(record, ensure_ascii=False) for record in part) + "\n"
        (folder / name / "all.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def asked(root):
    return {"benchmarks": ["zhoblimp"], "benchmark_root": root, "linking": ["lp", "slln_lp"]}


def test_a_run(run, asked):
    scored = score(run, **asked)
    for table, kind in ((scored.accuracy, ACCURACY), (scored.statistics, STATISTICS)):
        pd.testing.assert_frame_equal(table, read_table(kind, kind.path(run)))
    assert set(scored.accuracy["step"]) == {0, 8}
    assert scored.fits.empty
    assert [(one.run, one.step, one.benchmark, one.scorer) for one in scored.scores] == [
        (run.name, step, "zhoblimp", "sentence") for step in (0, 8)
    ]


def test_only_what_was_asked_for(run, asked):
    score(run, **asked)
    scored = score(str(run), **asked | {"linking": "lp", "benchmarks": ["zhoblimp-excluded"]}, steps=[8])
    assert scored.accuracy[["step", "benchmark", "linking"]].drop_duplicates().values.tolist() == [
        [8, "zhoblimp-excluded", "lp"]
    ]
    assert set(scored.statistics["linking"]) == {"lp"}


def test_a_pattern_of_runs(run, asked):
    shutil.copytree(run, run.with_name("tiny-1M-char-text-s1"))
    scored = score(str(run.parent / "tiny-*"), **asked, steps=[0])
    assert scored.accuracy["run"].drop_duplicates().tolist() == [run.name, "tiny-1M-char-text-s1"]
    assert scored.at(run=run.name).folder == run
    with pytest.raises(
        UserError, match=rf"run: several were scored; name one of {run.name}, tiny-1M-char-text-s1"
    ):
        scored.at()


def test_pairs_have_their_scores(run, asked, root):
    scored = score(run, **asked)
    pairs = scored.pairs("zhoblimp", "sentence", 8)
    assert pairs["pair"].tolist() == list(range(40))
    assert {"good", "bad", "paradigm", "pairID", "lp_good", "n_bad"} <= set(pairs.columns)
    stored = pd.read_parquet(run / "eval" / "zhoblimp" / "sentence" / "step00000008.parquet")
    assert pairs["lp_good"].tolist() == stored["lp_good"].tolist()
    assert (pairs["n_good"] == pairs["good"].str.len()).all()


def test_pairs_are_read_when_they_are_asked_for(run, asked):
    scored = score(run, **asked)
    shutil.rmtree(run / "eval")
    assert len(scored.accuracy)
    with pytest.raises(FileNotFoundError):
        scored.pairs(step=8)


def test_a_published_column_with_the_name_of_a_score(run, tmp_path, records, write_benchmark):
    root = write_benchmark(tmp_path / "b", [record | {"n_good": 7} for record in records[:5]])
    pairs = score(run, benchmarks=["zhoblimp"], benchmark_root=root, steps=[0]).pairs()
    assert set(pairs["n_good_published"]) == {7}
    assert (pairs["n_good"] == pairs["good"].str.len()).all()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"step": 9}, r"step: 9 was not scored; there is 0, 8"),
        ({}, r"step: several were scored; name one of 0, 8"),
        ({"benchmark": "blimp"}, r"benchmark: 'blimp' was not scored; there is zhoblimp"),
        ({"scorer": "pll"}, r"scorer: 'pll' was not scored; there is sentence"),
    ],
)
def test_what_is_not_there(run, asked, names, message):
    with pytest.raises(UserError, match=message):
        score(run, **asked).at(**names)


def test_a_model_keeps_its_scores_as_long_as_the_result(copy_model, asked):
    scored = score(copy_model(), **asked)
    folder = scored.at().folder
    assert set(scored.accuracy["step"]) == {-1}
    gc.collect()
    assert len(scored.pairs()) == 40
    del scored
    gc.collect()
    assert not folder.exists()


def test_a_model_with_a_place_for_its_scores(copy_model, asked, tmp_path, monkeypatch):
    out = tmp_path / "out"
    first = score(copy_model(), **asked, out=str(out))
    del first
    monkeypatch.setattr("ucurve.eval.scoring.base.load_model", lambda *_: pytest.fail("scored already"))
    assert score(tmp_path / "model", **asked, out=out).at().folder == out


def test_steps_and_tokens_of_revisions(copy_model, asked):
    folder = copy_model("suite")
    for name in ("step1000-tokens4B", "final"):
        shutil.copytree(folder, folder / name, ignore=shutil.ignore_patterns("step*", "final"))
    rows = score(folder, **asked, revisions=["all"], steps={"final": 9000}).accuracy
    assert {step: part["tokens"].tolist()[0] for step, part in rows.groupby("step")} == {
        1000: 4 * 10**9,
        9000: pd.NA,
    }


def test_nothing_stays_after_an_error(copy_model, asked, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    with pytest.raises(UserError, match="step can be read off 'main'"):
        score(copy_model(), **asked, revisions=["main"])
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize(
    ("what", "settings", "message"),
    [
        (
            "{run}",
            {"benchmarks": ["zhoblmp"]},
            r"benchmarks: unknown benchmark 'zhoblmp'; .*Did you mean 'zhoblimp'\?",
        ),
        ("{run}", {"benchmark": ["zhoblimp"]}, r"benchmark: unknown key"),
        ("{run}", {"model": "x"}, r"model: unknown key"),
        ("{run}", {"benchmarks": []}, r"give 'benchmarks=\[\.\.\.\]'; there are bl2mp"),
        ("{run}", {"out": "x"}, r"out=DIR goes with model="),
        ("{run}", {"revisions": ["step0"]}, r"revisions= goes with model="),
        ("{run}", {"steps": [3]}, r"no checkpoint of step 3; there are 0, 8"),
        ("{run}/checkpoints/step00000000", {"steps": [3]}, r"'steps=\[\.\.\.\]' goes with run="),
        ("{run}1", {}, r"run or model: no folder .*s01\. Did you mean '.*s0'\?"),
        ("{run}*x", {}, r"run: no run folder matches '.*s0\*x'"),
        ("{run}/checkpoints/", {}, r"checkpoints: no \*\.safetensors file"),
    ],
)
def test_mistakes(run, asked, what, settings, message):
    with pytest.raises(UserError, match=message):
        score(what.format(run=run), **asked | settings)


def test_the_message_is_that_of_the_command(run):
    wrong = {"benchmarks": ["demo"], "subset": 0}
    with pytest.raises(UserError) as error:
        check(ScoreCommand, completed("score.yaml", {"run": str(run), **wrong}))
    with pytest.raises(UserError, match=f"^{re.escape(str(error.value))}$"):
        score(run, **wrong)


def test_two_checkpoints_compared(run, asked):
    scored = score(run, **asked)
    first, last = scored.at(step=0), scored.at(step=8)
    table = compare(last, first, linking="lp")
    read = {step: pd.read_parquet(run / f"eval/zhoblimp/sentence/step0000000{step}.parquet") for step in (0, 8)}
    lp = parse_linking("lp")
    expected = comparison_table(last.pair_table(), (read[8], lp), (read[0], lp))
    pd.testing.assert_frame_equal(table, expected)
    overall = table.query("phenomenon == 'all' and paradigm == 'all'").iloc[0]
    shown = scored.accuracy.query(
        "linking == 'lp' and phenomenon == 'all' and paradigm == 'all' and split == 'all'"
    )
    assert (
        overall[["accuracy_second", "accuracy_first"]].tolist() == shown.sort_values("step")["accuracy"].tolist()
    )


def test_two_linking_functions_compared(run, asked):
    one = score(run, **asked, steps=[8]).at()
    assert compare(one, one)["difference"].eq(0).all()
    assert compare(one, one, "lp", "slln_lp")[["first", "second"]].drop_duplicates().values.tolist() == [
        ["lp", "slln_lp"]
    ]


def test_other_pairs_do_not_compare(run, asked):
    scored = score(run, **asked | {"benchmarks": ["zhoblimp", "zhoblimp-excluded"]}, steps=[8])
    first, second = scored.scores
    with pytest.raises(UserError, match=r"comparison: zhoblimp of .* and zhoblimp-excluded of .* differ"):
        compare(first, second)


def test_fits_are_there_when_they_were_asked_for(run, asked):
    scored = score(run, **asked, fit={"on": "paradigms", "families": ["slln_lp", "pen_lp"]}, steps=[8])
    assert scored.fits[["family", "label"]].values.tolist() == [["pen_lp", "held_out"], ["slln_lp", "held_out"]]
    assert score(run, **asked, fit={"on": "paradigms"}, steps=[8]).fits["family"].tolist() == ["slln_lp"]


def test_the_builtin_is_left_alone():
    scope = {}
    exec("from ucurve.eval.api import score\nvalue = eval('1 + 1')", scope)  # noqa: S102 - what a notebook does
    assert scope["value"] == 2


PAIRS = [("我喜欢猫。", "我猫喜欢。"), ("他来了。", "来他了。"), ("书", "书")]


def test_pairs_without_a_file_have_the_scores_of_a_benchmark(run, tmp_path):
    lines = [json.dumps({"sentence_good": good, "sentence_bad": bad}, ensure_ascii=False) for good, bad in PAIRS]
    (tmp_path / "own.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    table = score(run, PAIRS)
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before  # nothing is stored
    assert list(table.columns) == ["good", "bad", "lp_good", "lp_bad", "margin", "right", "linking"]
    benchmark = score(run, benchmarks=[str(tmp_path / "own.jsonl")], steps=[8])
    assert set(table["linking"]) == {"slln_lp"} == set(benchmark.overall["linking"]), "as the benchmark is judged"
    assert set(benchmark.overall["benchmark"]) == {"own"}
    stored = benchmark.pairs()
    assert table["lp_good"].tolist() == pytest.approx(stored["lp_good"].tolist())
    assert table["lp_bad"].tolist() == pytest.approx(stored["lp_bad"].tolist())
    linked = [table[f"lp_{one}"] / table[one].str.len() ** 0.5 for one in ("good", "bad")]
    assert table["margin"].tolist() == pytest.approx((linked[0] - linked[1]).tolist())
    assert table["right"].tolist() == (table["margin"] > 1e-4).tolist()
    assert not table["right"].iloc[2]  # both sentences are the same


def test_pairs_at_several_checkpoints_under_another_linking_function(run):
    table = score(run, PAIRS, steps=[0, 8], linking="mean_lp")
    assert table["step"].tolist() == [0, 0, 0, 8, 8, 8]
    characters = [(len(good), len(bad)) for good, bad in 2 * PAIRS]
    wanted = [
        good / n - bad / m
        for good, bad, (n, m) in zip(table["lp_good"], table["lp_bad"], characters, strict=True)
    ]
    assert table["margin"].tolist() == pytest.approx(wanted)


def test_pairs_of_a_model(copy_model):
    table = score(copy_model(), PAIRS, linking="nll")
    assert list(table.columns) == ["good", "bad", "lp_good", "lp_bad", "margin", "right", "linking"]
    assert set(table["linking"]) == {"nll"}
    assert table["margin"].tolist() == pytest.approx((table["lp_good"] - table["lp_bad"]).tolist())


@pytest.mark.parametrize(
    ("pairs", "settings", "message"),
    [
        ([("a", "")], {}, "pair 0: 'bad' is empty"),
        ([("a", "b", "c")], {}, "pair 0: a good and a bad sentence are expected, got \\('a', 'b', 'c'\\)"),
        (["ab"], {}, "pair 0: a good and a bad sentence are expected, got 'ab'"),
        ([], {}, "pairs: the list is empty; give at least one"),
        (PAIRS, {"steps": {"main": 3}}, "steps: a list of checkpoints goes with a run"),
        (PAIRS, {"steps": [3]}, "no checkpoint of step 3; there are 0, 8"),
        (PAIRS, {"linking": "mink"}, "linking function 'mink' reads mink60_good"),
        (PAIRS, {"colour": 1}, "colour: unknown key"),
    ],
)
def test_mistakes_about_pairs(run, pairs, settings, message):
    with pytest.raises(UserError, match=message):
        score(run, pairs, **settings)


def test_a_result_shows_itself_briefly(run, asked):
    scored = score(run, **asked)
    shown = repr(scored)
    assert len(shown) < 500
    assert shown.splitlines()[0].split() == ["run", "step", "benchmark", "scorer", "lp", "slln_lp"]
    assert len(shown.splitlines()) == 3
    assert scored._repr_html_().count("<tr") == 3


def test_a_notebook_shows_the_table_of_a_score_once(run, asked, monkeypatch):
    """The cell that scores has the table that grew; a later cell shows the result."""
    shell = SimpleNamespace(kernel=None, execution_count=4)
    drawn = []
    display = SimpleNamespace(HTML=str, display=lambda page, display_id: SimpleNamespace(update=drawn.append))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    scored = score(run, **asked)
    assert "<table" in drawn[-1]
    assert "<table" not in scored._repr_html_()
    shell.execution_count = 5
    assert scored._repr_html_().count("<tr") == 3
