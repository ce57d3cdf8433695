from pathlib import Path

import pytest

from tests.analysis.studies import scored_of
from tests.analysis.synthetic import MakeRun, score_row
from ucurve.analysis.curves.section import curve_sections


@pytest.mark.parametrize(("pairs", "told"), [(300, False), (280, True)])
def test_lines_of_other_numbers_of_pairs_are_named(
    make_run: MakeRun, tmp_path: Path, pairs: int, told: bool
) -> None:
    make_run([score_row(step, 0.5 + step / 20, n=300) for step in (0, 1, 4)], tokenizer="char")
    make_run([score_row(step, 0.5 + step / 20, n=pairs) for step in (0, 1, 4)], tokenizer="bpe")
    (section,) = curve_sections(scored_of(tmp_path))
    sentences = [item for item in section.content if isinstance(item, str)]
    lines = "bpe 280, char 300"
    expected = (
        f"These lines are not of the same pairs, and their accuracies do not compare as they stand: {lines}."
    )
    assert sentences == ([expected] if told else [])
