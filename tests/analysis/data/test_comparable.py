"""A line whose tokenizer does not know some of the text is marked wherever lines are compared by bits per byte."""

from dataclasses import replace

import pytest

from tests.analysis.scaling.test_section import _bits, _rows
from tests.analysis.synthetic import MakeRun
from tests.facts import change_run
from ucurve.analysis.api import open_study
from ucurve.analysis.curves.section import loss_sections
from ucurve.analysis.lines.section import side_by_side_sections
from ucurve.analysis.scaling.section import (
    accuracy_by_bits_sections,
    accuracy_scaling_sections,
    loss_scaling_sections,
)


@pytest.fixture
def study_with(make_run: MakeRun, tmp_path):
    """A study of two lines, of one of which so many of 10,000 held-out bytes are unknown."""

    def make(unknown: int, *objective: str):
        for tokenizer, suffix, unknown_bytes in (("char", "", unknown), ("bpe", "-rate=wsd", 0)):
            folder = make_run(
                _rows(0.8), tokenizer=tokenizer, suffix=suffix, cell=tokenizer, bits=_bits(), held_out=_bits()
            )
            text = {
                "source": "t",
                "documents": 1,
                "bytes": 10_000,
                "tokens": 9,
                "left_out": 0,
                "sha256": "6" * 64,
            }
            change_run(folder, held_out=text | {"unknown_bytes": unknown_bytes})
        return open_study(f"{tmp_path}/runs/*")

    return make


def sections(study):
    (scored,) = study.benchmarks()
    made = (
        loss_sections(study),
        loss_scaling_sections(study),
        accuracy_by_bits_sections(scored),
        side_by_side_sections(scored),
    )
    return [section for (section,) in map(tuple, made)]


def names_in(section):
    tables = [*section.tables.values(), *(drawing.table for drawing in section.drawings)]
    return {str(name) for table in tables if "line" in table for name in table["line"]}


def test_it_is_marked_in_all_sections_that_compare_by_bits(study_with):
    for section in sections(study_with(11)):
        assert {"†" in name for name in names_in(section)} == {True, False}, section.heading
        assert "wsd †" not in str(names_in(section))
        assert any(
            "0.11% of the bytes of the held-out text" in text for text in section.content if isinstance(text, str)
        )


def test_a_marked_line_over_budgets_has_the_color_of_its_tokenizer(study_with, make_run, tmp_path):
    study_with(5000)
    make_run(_rows(0.8), tokenizer="char", cell="char", tokens="20M")
    names = ["char †", "char", "char, 10M tokens"]
    look = open_study(f"{tmp_path}/runs/*").look
    assert len({look([name])[name].color for name in names}) == 1
    assert look(["bpe"])["bpe"].color != look(["char †"])["char †"].color


def test_a_marked_line_has_its_panel(study_with):
    study = study_with(11)
    study = replace(study, settings=replace(study.settings, facet="tokenizer"))
    ((drawing,),) = (section.drawings for section in loss_sections(study))
    assert {axes.get_title() for axes in drawing.figure.axes} == {"char", "bpe"}


def test_a_tokenizer_that_knows_nearly_everything_is_not_marked(study_with):
    study = study_with(10)
    for section in sections(study):
        assert "†" not in str(names_in(section)) + str(
            [text for text in section.content if isinstance(text, str)]
        )
    assert not any(
        "†" in name for section in accuracy_scaling_sections(study.benchmarks()[0]) for name in names_in(section)
    )


def test_a_comparison_over_flops_has_no_mark(study_with):
    for section in accuracy_scaling_sections(study_with(5000).benchmarks()[0]):
        assert "†" not in str(names_in(section))


def test_the_chart_of_a_notebook_is_marked(study_with):
    text = study_with(5000).loss_curve().to_json()
    assert "char \\u2020" in text or "char †" in text
