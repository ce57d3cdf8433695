"""The page of the study: every number on it is in one of its CSV files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from studies.architectures.figures import draw_study
from studies.architectures.seeds import comparisons
from studies.pages import StudyPage


def _rows_of_each_level(rows: Sequence[Mapping[str, object]]) -> list[list[Mapping[str, object]]]:
    found: dict[tuple[object, object], list[Mapping[str, object]]] = {}
    for row in rows:
        found.setdefault((row["equal_in"], row["level"]), []).append(row)
    return list(found.values())


_TEMPLATE = Path(__file__).parent / "templates/page.md"
PAGE = StudyPage(
    "architectures-study.md",
    _TEMPLATE,
    draw_study,
    data="architectures",
    filters={"levels": _rows_of_each_level},
    derive=comparisons,
)
