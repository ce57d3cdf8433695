"""What a study shows in a notebook, on runs whose scores a test wrote."""

import doctest
import inspect
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.analysis.item_runs import make_item_run, pair_table
from tests.analysis.synthetic import MakeRun, score_row, write_scores
from ucurve.analysis.api import open_study
from ucurve.analysis.charts.offline import vega_script
from ucurve.analysis.notebook import NotebookStudy
from ucurve.errors import UserError
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import accuracy_table
from ucurve.eval.store.scores import score_path


def _rows(**changes) -> list[dict]:
    return [score_row(step, 0.5 + step / 100, **changes) for step in (0, 1, 8)]


def test_a_curve_shows_itself_and_begins_with_the_linking_function_asked_for(
    make_run: MakeRun, tmp_path: Path
) -> None:
    make_run(_rows() + _rows(linking="lp") + _rows(phenomenon="BA") + _rows(phenomenon="</script>"))
    study = open_study(f"{tmp_path}/runs/*")
    begins = [study.curve(linking=linking).to_dict()["params"][0]["value"] for linking in (None, "lp")]
    assert begins == ["slln_lp", "lp"]
    shown = study.curve(by="phenomenon")._repr_mimebundle_()["text/html"]
    assert "\\u003c/script\\u003e" in shown
    assert shown.count("</script>") == 1  # its own
    later = study.curve(linking="lp")
    assert vega_script() not in later._repr_mimebundle_()["text/html"]  # it is in the output of the first chart
    study.curve().properties(width=500).save(str(tmp_path / "curve.json"))
    assert '"width": 500' in (tmp_path / "curve.json").read_text(encoding="utf-8")


def test_panels_by_a_factor_are_of_lines_of_runs_alone(make_run: MakeRun, tmp_path: Path) -> None:
    for tokenizer in ("char", "bpe"):
        make_run(_rows() + _rows(phenomenon="BA"), tokenizer=tokenizer)
    study = open_study(f"{tmp_path}/runs/*")
    assert set(study.curve(facet="tokenizer").to_dict()["facet"]["sort"]) == {"char", "bpe"}
    with pytest.raises(UserError, match=r"facet='tokenizer' gives .* it needs by='run', not 'phenomenon'"):
        study.curve(by="phenomenon", facet="tokenizer")


def test_a_saved_page_needs_no_network(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(_rows() + _rows(phenomenon="</script>"))
    chart = open_study(f"{tmp_path}/runs/*").curve()
    chart.properties(width=500).save(str(tmp_path / "curve.html"))
    text = (tmp_path / "curve.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert not re.search(r"""(src|href)=|@import|import\(["']|cdn\.""", text.replace(vega_script(), ""))
    assert text.count("</script>") == 1
    assert vega_script() in text
    assert "500" in text.partition(vega_script())[2]
    with (tmp_path / "other").open("w", encoding="utf-8") as file:
        chart.save(file, format="html")
    assert (tmp_path / "other").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_flops_and_loss_are_drawn_too(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(_rows(), bits={1: 8.0, 8: 7.0})
    study = open_study(f"{tmp_path}/runs/*")
    assert study.flops_curve("zho").to_dict()["layer"]
    assert study.loss_curve().to_dict()["layer"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"benchmark": "zoh"}, "'zoh'.*zho"),
        ({"linking": "sln_lp"}, r"linking function.*'sln_lp'.*slln_lp"),
        ({"by": "phenomena"}, "'phenomena'.*phenomenon"),
        ({"by": "phenomenon"}, "zho has no phenomena; draw it with by='run'"),
    ],
)
def test_what_cannot_be_drawn_is_said(make_run: MakeRun, tmp_path: Path, arguments: dict, message: str) -> None:
    make_run(_rows())
    with pytest.raises(UserError, match=message):
        open_study(f"{tmp_path}/runs/*").curve(**arguments)


def test_without_what_a_chart_shows_there_is_none(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(None, bits={1: 8.0})
    with pytest.raises(UserError, match="no run of the study was scored"):
        open_study(f"{tmp_path}/runs/*").curve()
    write_scores(tmp_path / "elsewhere", [score_row(-1, 0.8) | {"tokens": "", "flops": ""}])
    study = open_study(f"{tmp_path}/elsewhere")
    with pytest.raises(UserError, match="zho: no checkpoints of a training run were scored on it"):
        study.curve()
    with pytest.raises(UserError, match="zho: no checkpoints of a training run were scored on it"):
        study.items()
    assert study.loss_curve().to_dict()["title"].startswith("no run has training metrics")
    make_run([score_row(0, 0.5)], seed=1)
    chart = open_study(f"{tmp_path}/runs/*s1").flops_curve()
    assert chart.to_dict()["title"].startswith("zho: no checkpoint after step 0 is scored")
    assert "no checkpoint after step 0" in chart._repr_mimebundle_()["text/html"]


STEPS = (0, 1, 2, 3, 5, 8, 13, 21, 34, 55)
PAIRS = pair_table({"BA_1": "BA", "BA_2": "BA", "passive_1": "passive"}, 20).assign(pair=range(60))


def test_a_run_on_other_pairs_is_named_where_curves_by_a_column_leave_it_out(
    make_run: MakeRun, tmp_path: Path, capsys
) -> None:
    pairs = pair_table({"p": "x"}, 4)
    for seed, own in enumerate((pairs, pairs.assign(bad="other"))):
        make_item_run(make_run, own, {8: np.full(4, 2)}, seed=seed)
    open_study(f"{tmp_path}/runs/*").column_curves("paradigm")
    assert capsys.readouterr().err == "zho: scored on other pairs, and left out: 14m-10M-char-demo-s1\n"


@pytest.fixture
def study(make_run: MakeRun, tmp_path: Path) -> NotebookStudy:
    """Two seeds, of which pairs are of other lengths, so that linking functions differ."""
    random = np.random.default_rng(0)
    for seed in (0, 1):
        half_points = {step: random.integers(0, 3, 60).astype(np.uint8) for step in STEPS}
        folder = make_item_run(make_run, PAIRS, half_points, seed=seed, bits=dict.fromkeys(STEPS[1:], 5.0))
        for step in STEPS:
            path = score_path(folder, "zho", "sentence", step)
            scores = pd.read_parquet(path)
            scores.assign(n_good=3 + np.arange(60) % 3).to_parquet(path, index=False)
    return open_study(f"{tmp_path}/runs/*")


def test_a_study_and_what_is_in_it_show_themselves_briefly(study: NotebookStudy) -> None:
    assert len(repr(study)) < 1000
    assert len(repr(study.runs)) < 600
    assert len(repr(study.benchmarks())) < 200
    for shown in (study._repr_html_(), study.runs._repr_html_()):
        assert shown.count("<tr") == 3  # the head and two runs
        assert "14m-10M-char-demo-s0" in shown
    last = study.scores[(study.scores["step"] == 55) & (study.scores["phenomenon"] == "all")]
    assert study.overview()["last_accuracy"].tolist() == [f"{value:.1%}" for value in last["accuracy"]]


@pytest.mark.parametrize("linking", ["slln_lp:0.8", "slln_lp:0.80", "mean_lp"])
def test_any_linking_function_is_computed_as_scoring_computes_it(study: NotebookStudy, linking: str) -> None:
    rows = study.scored(linking=linking).curve_rows()
    assert len(rows) == 2 * len(STEPS) * 3  # all pairs and two phenomena
    for run in study.runs:
        for step in (0, 55):
            scores = pd.read_parquet(score_path(run.folder, "zho", "sentence", step))
            table = accuracy_table(PAIRS, scores, [parse_linking(linking)])
            wanted = table[(table["split"] == "all") & (table["paradigm"] == "all")].set_index("phenomenon")[
                "accuracy"
            ]
            own = rows[(rows["run"] == run.label) & (rows["step"] == step)].set_index("phenomenon")["accuracy"]
            assert own.to_dict() == wanted.to_dict()
    assert set(study.scored().rows["linking"]) == {"slln_lp"}  # the study itself is as it was
    assert study.curve(linking=linking).to_dict()["params"][0]["value"] == parse_linking(linking).name


def test_what_the_stored_scores_lack_is_said(study: NotebookStudy) -> None:
    with pytest.raises(UserError, match=r"zho: no stored score has what slor reads \(lp, n, unigram\)"):
        study.curve(linking="slor")
    with pytest.raises(UserError, match=r"linking function 'slln_lp:x': alpha allowed after the name"):
        study.shapes(linking="slln_lp:x")


def test_flips_are_the_pairs_whose_verdicts_changed(study: NotebookStudy) -> None:
    found = study.flips("s1", 13)
    margins = study.margins()
    own = margins[margins["run"] == "14m-10M-char-demo-s1"].set_index(["step", "pair"])
    before, now = own.loc[8, "verdict"], own.loc[13, "verdict"]
    changed = before.index[before != now]
    assert set(found["pair"]) == set(changed)
    assert found["margin"].is_monotonic_increasing
    for row in found.to_dict("records"):
        pair = row["pair"]
        assert (row["before"], row["now"]) == (before[pair], now[pair])
        assert (row["margin_before"], row["margin"]) == (
            own.loc[(8, pair), "margin"],
            own.loc[(13, pair), "margin"],
        )
        assert row["good"] == PAIRS["good"][pair]


def test_flips_are_of_the_first_run_unless_one_is_named(study: NotebookStudy) -> None:
    first = study.flips()
    assert set(first["run"]) == {"14m-10M-char-demo-s0"}
    assert first["step"].nunique() == 1
    pd.testing.assert_frame_equal(first, study.flips("s0"))
    pd.testing.assert_frame_equal(first, study.flips(study.runs[0]))
    pd.testing.assert_frame_equal(first, study.flips("14m"))  # the first run of the line


def test_what_needs_several_checkpoints_or_seeds_says_so_and_is_empty(
    make_run: MakeRun, tmp_path, capsys
) -> None:
    make_item_run(make_run, PAIRS, {8: np.full(60, 2)})
    study = open_study(f"{tmp_path}/runs/*")
    flips, agreement = study.flips(), study.agreement()
    assert list(flips) == [
        *(
            "pair",
            "phenomenon",
            "paradigm",
            "good",
            "bad",
            "before",
            "now",
            "margin_before",
            "margin",
            "run",
            "step",
        )
    ]
    assert (len(flips), len(agreement)) == (0, 0)
    assert {"phenomenon", "kappa", "agreement"} <= set(agreement)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "14m-10M-char-demo-s0: only step 8 was scored, so no pair turned right or wrong",
        "zho: no two runs on the same pairs differ in the seed only, so there is no agreement of seeds.",
    ]
    with pytest.raises(UserError, match="no two runs on the same pairs differ in the seed only"):
        study.seed_components()


def test_shapes_of_curves_that_cannot_be_tested_are_an_empty_table(make_run: MakeRun, tmp_path, capsys) -> None:
    make_run(_rows())  # without scores of pairs
    shapes = open_study(f"{tmp_path}/runs/*").shapes()
    assert shapes.empty
    assert {"phenomenon", "shape", "dip", "limited_by"} <= set(shapes)
    assert "zho: no curve could be tested." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("run", "step", "message"),
    [
        ("s7", 13, r"unknown run 's7'; allowed: 14m-10M-char-demo-s0, 14m-10M-char-demo-s1"),
        ("s", 13, r"unknown run 's'"),
        ("s0", 14, r"step 14 is no checkpoint that follows on another; there are 1, 2, 3"),
        ("s0", 0, r"step 0 is no checkpoint that follows on another"),
    ],
)
def test_flips_of_what_is_not_there(study: NotebookStudy, run: str, step: int, message: str) -> None:
    with pytest.raises(UserError, match=message):
        study.flips(run, step)


def test_tables_have_a_row_for_each_curve_and_pair(study: NotebookStudy) -> None:
    shapes = study.shapes()
    assert sorted(shapes["phenomenon"]) == ["BA", "all", "passive"]
    assert {"shape", "p", "dip", "dip_low", "dip_high", "these_pairs", "these_runs"} <= set(shapes)
    assert {"detectable_dip", "limited_by", "more_seeds"} <= set(shapes)
    assert (shapes["q_dip"] <= shapes["p_dip"]).all()
    items = study.items()
    assert len(items) == 2 * 60
    assert items["good"].tolist() == 2 * PAIRS["good"].tolist()
    assert len(study.margins()) == 2 * 60 * len(STEPS)
    assert set(study.length_bias(linking="slln_lp:0.8")["linking"]) == {"slln_lp", "slln_lp:0.8"}


def test_of_several_benchmarks_the_one_of_most_runs_is_shown_and_named(
    make_run: MakeRun, tmp_path, capsys
) -> None:
    make_run(_rows() + _rows(benchmark="blimp") + _rows(scorer="mink"))
    make_run(_rows() + _rows(scorer="mink"), seed=1)
    study = open_study(f"{tmp_path}/runs/*")
    assert study.curve().to_dict()["title"] == study.curve("zho by sentence").to_dict()["title"]
    study.flops_curve()
    assert capsys.readouterr().err == (  # once
        "several benchmarks were scored; zho by sentence is shown, and benchmark= names another one: blimp, zho by mink\n"
    )
    with pytest.raises(UserError, match="unknown benchmark 'zho'; allowed: blimp, zho by mink, zho by sentence"):
        study.curve("zho")
    assert study.curve("zho by mink").to_dict()["title"] == "zho (scored by mink, ties counted half)"
    assert "blimp " in study.overview()["last_accuracy"].tolist()[0]
    assert len(open_study(f"{tmp_path}/runs/*", benchmark="blimp").curve().to_dict()["layer"])


def test_each_method_has_an_example_that_runs(study: NotebookStudy) -> None:
    methods = {
        name: one for name, one in vars(NotebookStudy).items() if inspect.isfunction(one) and name[0] != "_"
    }
    examples = {name: doctest.DocTestParser().get_examples(inspect.getdoc(one)) for name, one in methods.items()}
    assert not [name for name, found in examples.items() if not found]
    without = {
        "tokens",
        "critical_regions",
        "seed_components",
        "frequencies",
        "seen_before",
    }  # of other scores and runs
    without |= {"side_by_side", "side_by_side_differences"}  # which have examples in tests/analysis/lines
    for name, found in examples.items():
        scope = {"study": study}
        for example in found:
            if name in without:
                message = r"tokens are stored|cannot be told apart|cannot read .*config|set side by side"
                with pytest.raises(UserError, match=message):
                    exec(example.source, scope)  # noqa: S102 - what a reader copies
            else:
                exec(compile(example.source, name, "single"), scope)  # noqa: S102 - what a reader copies
