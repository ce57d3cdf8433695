"""The page of the study: every number on it is in one of its CSV files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from studies.architectures.figures import draw_study
from studies.pages import read_tables, render_page, write_tables
from ucurve.storage.files import write_text

PAGE = "architectures-study.md"


def write_study(tables: Mapping[str, pd.DataFrame], docs: Path | str) -> Path:
    """Write the tables to ``docs/data/architectures/*.csv``, and what is made of these files alone.

    That is the page, ``docs/architectures-study.md``, and its figures, ``docs/images/architectures_*.png``.
    """
    write_tables(tables, data_folder(docs))
    for drawing in draw_study(read_study_tables(docs)):
        drawing.save(Path(docs) / "images" / f"{drawing.name}.png")
    page = Path(docs) / PAGE
    write_text(page, study_page(docs))
    return page


def study_page(docs: Path | str) -> str:
    """Make the page of the CSV files alone."""
    folders = (Path(__file__).parent / "templates",)
    return render_page("page.md", folders, read_study_tables(docs), {"levels": _rows_of_each_level})


def read_study_tables(docs: Path | str) -> dict[str, pd.DataFrame]:
    """Read the CSV files of the study, by name."""
    return read_tables(data_folder(docs))


def data_folder(docs: Path | str) -> Path:
    """Return the folder of the CSV files."""
    return Path(docs) / "data" / "architectures"


def _rows_of_each_level(rows: Sequence[Mapping[str, object]]) -> list[list[Mapping[str, object]]]:
    found: dict[tuple[object, object], list[Mapping[str, object]]] = {}
    for row in rows:
        found.setdefault((row["equal_in"], row["level"]), []).append(row)
    return list(found.values())
