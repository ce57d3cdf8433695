import io
import warnings
from itertools import pairwise
from pathlib import Path

import matplotlib.image
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ucurve.analysis.plotting.facets import Sheet
from ucurve.analysis.plotting.figures import Drawing, render, write_drawing
from ucurve.analysis.plotting.style import ONE_COLUMN, TWO_COLUMNS, chinese_fonts, drawing_style


def _drawing(label: str = "accuracy", panels: int = 1) -> Drawing:
    with drawing_style():
        sheet = Sheet(panels, {}, "How to read it.")
        for axes in sheet.panels:
            axes.plot([1, 2], [0.5, 0.6])
            axes.set_title(label)
        figure = sheet.finish("Training tokens", "Accuracy (%)")
    return Drawing("name", "Title", "Note.", figure, pd.DataFrame({"x": [1]}))


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_drawing_gives_the_same_bytes_without_a_date(kind: str) -> None:
    first, second = render(_drawing(), kind), render(_drawing(), kind)
    assert first == second
    assert b"CreationDate" not in first
    assert b"dc:date" not in first


def test_text_in_a_pdf_is_truetype_and_the_page_as_wide_as_the_figure() -> None:
    data = render(_drawing(), "pdf")
    assert b"/FontFile2" in data
    assert b"/Type3" not in data
    assert f"/MediaBox [ 0 0 {72 * ONE_COLUMN:g} ".encode() in data


def test_one_panel_is_one_column_wide_and_several_two(tmp_path: Path) -> None:
    for panels, width, dots in ((1, ONE_COLUMN, 327), (3, TWO_COLUMNS, 200)):
        pixels = matplotlib.image.imread(io.BytesIO(render(_drawing(panels=panels), "png")))
        assert pixels.shape[1] == pytest.approx(dots * width, abs=1)


def test_every_format_asked_for_is_written_beside_the_numbers(tmp_path: Path) -> None:
    drawing = _drawing()
    paths = write_drawing(drawing, render(drawing, "png"), tmp_path, ["svg", "pdf"])
    assert [path.name for path in paths] == ["name.svg", "name.pdf", "name.csv"]
    assert all(path.stat().st_size for path in paths)


@pytest.mark.skipif(not chinese_fonts(), reason="no font with Chinese characters is installed")
@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_chinese_labels_are_drawn_in_a_font_that_has_them(kind: str) -> None:
    figure = _drawing("量词 (classifier), 把字句").figure
    with drawing_style(), warnings.catch_warnings():
        warnings.simplefilter("error")  # "Glyph ... missing from font"
        figure.savefig(io.BytesIO(), format=kind)


def test_a_script_without_a_font_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    figure = Figure()
    figure.text(0.5, 0.5, "\U00012000\U00012001")  # cuneiform: no font here has it
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("png", "svg"):
            assert render(Drawing("n", "t", "n", figure, pd.DataFrame()), kind)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "warning: no installed font has the Cuneiform characters of a label, which is drawn as boxes"
    )


@pytest.mark.parametrize("form", ["{:.2f}", "{:,.0f}", "{:.0%} of all the pairs"])
@pytest.mark.parametrize("panels", [1, 5])
def test_the_label_of_the_axis_stands_beside_the_labels_of_its_ticks(form: str, panels: int) -> None:
    with drawing_style():
        sheet = Sheet(panels, {}, "How to read it.")
        for axes in sheet.panels:
            axes.plot([1, 2], [900_000, 1_100_000])
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: form.format(value)))
        figure = sheet.finish("Training tokens", "Pairs")
        renderer = FigureCanvasAgg(figure).get_renderer()
        (label,) = (text for text in figure.texts if text.get_text() == "Pairs")
        ticks = [tick.get_window_extent(renderer) for tick in sheet.panels[0].get_yticklabels()]
    box = label.get_window_extent(renderer)
    assert box.x0 > 0
    assert min(tick.x0 for tick in ticks) > box.x1
    boxes = [axes.get_position() for axes in sheet.panels[:4]]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    assert boxes[-1].x1 < 1
