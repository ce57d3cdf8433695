"""The page of the study: every number on it is in one of its CSV files."""

from pathlib import Path

from studies.pages import StudyPage
from studies.tokenizers.at_equal_loss import compare_at_levels
from studies.tokenizers.figures import draw_study

_TEMPLATE = Path(__file__).parent / "templates/study.md"
PAGE = StudyPage("study.md", _TEMPLATE, draw_study, prefix="study_", derive=compare_at_levels)
