"""The page of the study: every number on it is in one of its CSV files."""

from pathlib import Path

from studies.architectures.figures import draw_study
from studies.architectures.seeds import comparisons
from studies.pages import StudyPage

_TEMPLATE = Path(__file__).parent / "templates/page.md"
PAGE = StudyPage("architectures-study.md", _TEMPLATE, draw_study, data="architectures", derive=comparisons)
