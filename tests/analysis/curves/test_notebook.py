import re
from pathlib import Path

import pytest

from analysis.api import open_study
from analysis.charts.bundle import vega_script
from tests.analysis.synthetic import MakeRun, score_row, write_scores
from ucurve.errors import UserError


def _rows(**changes) -> list[dict]:
    return [score_row(step, 0.5 + step / 100, **changes) for step in (0, 1, 8)]


def test_a_curve_shows_itself_and_begins_with_the_linking_function_asked_for(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(_rows() + _rows(linking="lp") + _rows(phenomenon="BA") + _rows(phenomenon="</script>"))
    study = open_study(f"{tmp_path}/runs/*")
    begins = [study.curve(linking=linking).to_dict()["params"][0]["value"] for linking in (None, "lp")]
    assert begins == ["slln_lp", "lp"]
    shown = study.benchmarks()[0].curve(by="phenomenon")._repr_mimebundle_()["text/html"]
    assert "\\u003c/script\\u003e" in shown
    assert shown.count("</script>") == 1  # its own
    study.curve().properties(width=500).save(str(tmp_path / "curve.json"))
    assert '"width": 500' in (tmp_path / "curve.json").read_text(encoding="utf-8")


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
    with pytest.raises(UserError, match="no run has training metrics"):
        study.loss_curve()
    make_run([score_row(0, 0.5)], seed=1)
    with pytest.raises(UserError, match="no checkpoint after step 0 is scored"):
        open_study(f"{tmp_path}/runs/*s1").flops_curve()
