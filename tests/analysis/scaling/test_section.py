import re
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.synthetic import MakeRun, score_row
from ucurve.analysis.api import open_study
from ucurve.analysis.scaling.section import (
    accuracy_by_bits_sections,
    accuracy_scaling_sections,
    loss_scaling_sections,
)

STEPS = (0, 1, 2, 4, 8, 16, 32, 64, 128)


def _rows(final: float) -> list[dict]:
    values = np.linspace(0.5, final, len(STEPS)).tolist()
    return [
        score_row(step, value, phenomenon=name)
        for step, value in zip(STEPS, values, strict=True)
        for name in ("all", "BA")
    ]


def _bits() -> dict[int, float]:
    return {step: 1 + 6 * step**-0.3 for step in STEPS[1:]}


def test_the_parts_hold_figures_with_their_numbers_and_name_the_law(make_run: MakeRun, tmp_path: Path) -> None:
    for tokenizer, final in (("char", 0.8), ("word", 0.7)):
        make_run(_rows(final), tokenizer=tokenizer, bits=_bits())
    study = open_study(f"{tmp_path}/runs/*")
    (scored,) = study.benchmarks()
    (accuracy,), (bits,), (both,) = (
        accuracy_scaling_sections(scored),
        loss_scaling_sections(study),
        accuracy_by_bits_sections(scored),
    )
    assert [drawing.name for drawing in accuracy.drawings] == ["scaling_zho_training"]
    assert "exp(-slope" in accuracy.drawings[0].note
    assert "It has no band, because checkpoints of one run depend on each other" in accuracy.drawings[0].note
    fits = bits.tables["scaling_bits_per_byte_fits"]
    exponents = fits[fits["parameter"] == "b"]
    assert exponents["line"].tolist() == ["char", "word"]
    assert exponents["value"].tolist() == pytest.approx([0.3, 0.3], rel=0.01)
    assert fits[["low", "high"]].isna().all(axis=None)
    assert [drawing.name for drawing in both.drawings] == [
        "accuracy_by_bits_zho_overall",
        "accuracy_by_bits_zho_phenomena",
    ]
    low, high = both.drawings[0].figure.axes[0].get_xlim()
    assert low > high  # loss falls to the right


def test_finished_runs_of_four_sizes_are_fitted_together(make_run: MakeRun, tmp_path: Path) -> None:
    for place, tokens in enumerate((10, 20, 40, 80)):
        rows = [score_row(step * tokens, 0.6 + place / 20) for step in (0, 1)]
        make_run(rows, tokens=f"{tokens}M", bits={tokens: 3.0 - place / 4})
    study = open_study(f"{tmp_path}/runs/*")
    (accuracy,) = accuracy_scaling_sections(study.benchmarks()[0])
    (bits,) = loss_scaling_sections(study)
    assert [drawing.name for drawing in accuracy.drawings] == ["scaling_zho_finished"]
    assert [drawing.name for drawing in bits.drawings] == ["scaling_bits_per_byte_finished"]
    fits = accuracy.tables["scaling_zho_fits"]
    assert set(fits["line"]) == {"gpt_neox, char, demo"}
    assert fits["low"].isna().all()
    assert "has no band with fewer than 8 different FLOPs" in accuracy.drawings[0].note


def test_the_report_says_why_a_line_of_few_points_has_no_interval(make_run: MakeRun, tmp_path: Path) -> None:
    for tokenizer, budgets in (("char", 9), ("word", 6)):
        for place in range(budgets):
            tokens = 10 * 2**place
            noise = 0.01 * (-1) ** place
            rows = [
                score_row(step * tokens, 0.5 + step * (0.4 / (1 + np.exp(4 - place)) + noise)) for step in (0, 1)
            ]
            make_run(rows, tokens=f"{tokens}M", tokenizer=tokenizer)
    (part,) = accuracy_scaling_sections(open_study(f"{tmp_path}/runs/*").benchmarks()[0])
    html = part._repr_html_()
    assert "A line with fewer than 8 different FLOPs has no interval" in html
    # Parameters of one line.
    assert len(re.findall(r'data-value="[^"]*">[^<]+ \([^<]+ to [^<]+\)</td>', html)) == 3
    assert "band: 95 % bootstrap interval of the fit of lines with 8 or more different FLOPs" in html


def test_few_points_give_no_part(make_run: MakeRun, tmp_path: Path) -> None:
    make_run([score_row(step, 0.6) for step in (0, 1, 2, 4)])
    study = open_study(f"{tmp_path}/runs/*")
    (scored,) = study.benchmarks()
    assert not [
        *accuracy_scaling_sections(scored),
        *loss_scaling_sections(study),
        *accuracy_by_bits_sections(scored),
    ]
