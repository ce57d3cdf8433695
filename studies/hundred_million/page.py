"""The page of the study: every number on it is in one of its CSV files."""

from pathlib import Path

from studies.hundred_million.figures import draw_study
from studies.hundred_million.over_lines import mean_over_lines
from studies.pages import StudyPage

PAGE = StudyPage(
    "hundred-million.md",
    Path(__file__).parent / "templates/page.md",
    draw_study,
    data="hundred_million",
    derive=mean_over_lines,
)
