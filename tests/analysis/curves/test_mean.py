import math
import statistics
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.studies import frame_of, scored_of
from tests.analysis.synthetic import TOKENS_PER_STEP, MakeRun, score_row
from ucurve.analysis.curves.mean import draw_mean_curves, local_linear, mean_curve_sections, mean_curves


@pytest.fixture
def table_of(tmp_path: Path):
    return lambda: mean_curves(*frame_of(tmp_path))


def _curve(values: dict[int, float], **changes):
    return [score_row(step, value, **changes) for step, value in values.items()]


def test_sizes_and_seeds_are_averaged_at_equal_tokens(make_run: MakeRun, table_of) -> None:
    finals = {("14m", 0): 0.6, ("14m", 1): 0.7, ("70m", 0): 0.9}
    for (model, seed), final in finals.items():
        make_run(_curve({0: 0.5, 8: final}), model=model, seed=seed)
    table = table_of()
    assert table["tokens"].tolist() == [0, 8 * TOKENS_PER_STEP]
    end = table.iloc[1]
    mean, sd = statistics.mean(finals.values()), statistics.stdev(finals.values())
    assert [end["accuracy"], end["sd"], end["smoothed"]] == pytest.approx([mean, sd, mean])
    assert [end["low"], end["high"]] == pytest.approx([mean - sd, mean + sd])
    assert (end["runs"], end["models"], end["line"]) == (3, 2, "gpt_neox, char, 10M tokens, demo")


def test_between_checkpoints_a_run_is_interpolated_on_log_tokens(make_run: MakeRun, table_of) -> None:
    make_run(_curve({1: 0.5, 4: 0.7, 16: 0.9}), model="14m")
    make_run(_curve({1: 0.5, 16: 0.9}), model="70m")
    table = table_of().set_index("tokens")
    assert table.loc[4 * TOKENS_PER_STEP, "accuracy"] == pytest.approx(0.7)
    assert table.loc[4 * TOKENS_PER_STEP, "sd"] == pytest.approx(0, abs=1e-12)


def test_nothing_is_filled_in_outside_a_run_across_a_gap_or_after_step_0(make_run: MakeRun, table_of) -> None:
    make_run(_curve({0: 0.5, 1: 0.5, 2: 0.6, 4: 0.7, 8: 0.8, 16: 0.9, 32: 0.9}), model="14m")
    make_run(_curve({0: 0.5, 2: 0.6, 8: 0.8, 16: 0.9}), model="70m", planned=[0, 2, 4, 8, 16, 32])
    table = table_of()
    known = dict(zip((table["tokens"] / TOKENS_PER_STEP).astype(int), table["accuracy"].notna(), strict=True))
    assert known == {0: True, 1: False, 2: True, 4: False, 8: True, 16: True, 32: False}
    assert table["smoothed"].notna().tolist() == table["accuracy"].notna().tolist()


def test_tokenizers_and_budgets_have_curves_of_their_own_and_one_size_has_none(
    make_run: MakeRun, table_of
) -> None:
    for model in ("14m", "70m"):
        make_run(_curve({1: 0.5, 4: 0.7}), model=model)
        make_run(_curve({1: 0.5, 4: 0.7}), model=model, tokenizer="word")
    make_run(_curve({1: 0.5, 4: 0.7}), tokens="20M")
    assert set(table_of()["line"]) == {"char, 10M tokens", "word, 10M tokens"}


def test_one_size_makes_no_part(make_run: MakeRun, tmp_path: Path) -> None:
    for seed in (0, 1):
        make_run(_curve({1: 0.5, 4: 0.7}), seed=seed)
    assert list(mean_curve_sections(scored_of(tmp_path))) == []


def test_the_figure_says_what_its_band_and_its_smoother_are(make_run: MakeRun, tmp_path: Path) -> None:
    for model in ("14m", "70m"):
        make_run(
            [row for name in ("all", "BA", "x") for row in _curve({0: 0.5, 1: 0.5, 4: 0.7}, phenomenon=name)],
            model=model,
        )
    (part,) = mean_curve_sections(scored_of(tmp_path))
    overall, panels = part.drawings
    assert (overall.name, panels.name) == ("mean_curves_zho_overall", "mean_curves_zho_phenomena")
    assert [axes.get_title() for axes in panels.figure.axes] == ["BA", "x"]
    for drawing in part.drawings:
        assert "Band: ± 1 sample sd over runs (sizes and seeds)" in drawing.note
        assert "local linear regression on log tokens, Gaussian weights of 0.1 decades" in drawing.note
        text = " ".join(" ".join(text.get_text() for text in drawing.figure.texts).split())
        assert "band: ± 1 sample sd over runs" in text


def test_the_smoothed_line_breaks_at_a_gap(make_run: MakeRun, table_of) -> None:
    make_run(_curve(dict.fromkeys((1, 2, 4, 8, 16), 0.6)), model="14m")
    make_run(_curve(dict.fromkeys((1, 2, 8, 16), 0.6)), model="70m", planned=[1, 2, 4, 8, 16])
    (drawing,) = draw_mean_curves(table_of(), "n", "t")
    line = np.asarray(drawing.figure.axes[0].lines[0].get_ydata(), dtype=float)
    assert np.isnan(line).tolist() == [False, False, True, False, False]


@given(
    st.lists(st.floats(0, 5), min_size=1, max_size=30, unique_by=lambda value: round(value, 2)),
    st.floats(-1, 1), st.floats(-1, 1),
)  # fmt: skip
def test_a_straight_line_stays_as_it_is(places: list[float], level: float, slope: float) -> None:
    x = np.sort(np.array(places))
    assert local_linear(x, level + slope * x) == pytest.approx(level + slope * x, abs=1e-6)


def test_smoothing_averages_noise_but_keeps_a_wide_dip() -> None:
    x = np.linspace(0, 4, 41)
    noise = np.where(np.arange(41) % 2, 0.02, -0.02)
    assert np.abs(local_linear(x, noise)[2:-2]).max() < 0.003
    dip = -0.1 * np.exp(-0.5 * ((x - 2) / 0.4) ** 2)
    assert local_linear(x, dip).min() == pytest.approx(-0.1, abs=0.005)


def test_a_point_far_from_all_others_stays_as_it_is() -> None:
    assert local_linear(np.array([0.0, 9.0]), np.array([0.3, 0.8])).tolist() == pytest.approx([0.3, 0.8])
    assert math.isclose(local_linear(np.array([1.0]), np.array([0.4]))[0], 0.4)
