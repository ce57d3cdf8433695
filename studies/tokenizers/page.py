"""The page of the study: every number on it is in one of its CSV files."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from studies.pages import MISSING, StudyPage, percent
from studies.tokenizers.at_equal_loss import compare_at_levels
from studies.tokenizers.figures import draw_study
from ucurve.analysis.linking.tables import SPLITS


def _splits(row: Mapping[str, float], whose: str, digits: int = 1) -> str:
    values = [row[f"{whose}_{split}"] for split in SPLITS]
    return MISSING if pd.isna(values).all() else " / ".join(percent(value, digits) for value in values)


_TEMPLATE = Path(__file__).parent / "templates/study.md"
PAGE = StudyPage(
    "study.md", _TEMPLATE, draw_study, prefix="study_", filters={"splits": _splits}, derive=compare_at_levels
)
