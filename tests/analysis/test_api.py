from pathlib import Path

import pytest

import ucurve.analysis.api
from tests.analysis.report.page import Page
from tests.analysis.synthetic import MakeRun, score_row
from ucurve.analysis.api import curve_table, draw_learning_curves, open_study
from ucurve.errors import UserError


def _rows() -> list[dict]:
    return [score_row(step, 0.5 + step / 100) for step in (0, 1, 2, 4, 8)]


def test_a_study_is_opened_by_one_pattern_or_several(make_run: MakeRun, tmp_path: Path) -> None:
    one, two = (make_run(_rows(), seed=seed) for seed in (0, 1))
    assert len(open_study(f"{tmp_path}/runs/*").runs) == 2
    assert len(open_study([str(one), str(two)]).runs) == 2
    assert open_study(str(one)).runs[0].folder == one


def test_settings_are_those_of_the_command(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(_rows())
    with pytest.raises(UserError, match=r"linking function.*'sln_lp'.*slln_lp"):
        open_study(f"{tmp_path}/runs/*", linking="sln_lp")
    with pytest.raises(UserError, match="colour: unknown key"):
        open_study(f"{tmp_path}/runs/*", colour="red")
    with pytest.raises(UserError, match="no run folder matches"):
        open_study(f"{tmp_path}/nothing/*")


def test_a_drawing_shows_itself_and_saves_itself(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(_rows())
    study = open_study(f"{tmp_path}/runs/*")
    (scored,) = study.benchmarks()
    (drawing,) = draw_learning_curves(curve_table(scored.curve_rows(), study.runs), "curves", scored.title)
    data, size = drawing._repr_png_()
    assert data.startswith(b"\x89PNG")
    assert size == {"width": 630}  # 3.5 inches, a single panel
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    for ending, start in starts.items():
        assert drawing.save(tmp_path / f"a.{ending}").read_bytes().startswith(start)
    with pytest.raises(UserError, match=r"a\.gif: a figure is written as \.png, \.svg, \.pdf, not as '\.gif'"):
        drawing.save(tmp_path / "a.gif")


def test_a_section_of_the_report_shows_itself(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(_rows())
    (scored,) = open_study(f"{tmp_path}/runs/*").benchmarks()
    (section,) = ucurve.analysis.api.accuracy_scaling_sections(scored)
    page = Page(section._repr_html_())
    assert page.tables[0][0][:3] == ["Fitted to", "Line", "Points"]
    assert "button" not in [tag for tag, _ in page.tags]


def test_every_name_of_the_api_is_there() -> None:
    assert all(hasattr(ucurve.analysis.api, name) for name in ucurve.analysis.api.__all__)
