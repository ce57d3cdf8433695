"""The page of the study: every number on it is in one of its CSV files."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from studies.hundred_million.figures import draw_study
from studies.pages import read_tables, render_page, write_tables
from ucurve.storage.files import write_text

PAGE = "hundred-million.md"


def write_study(tables: Mapping[str, pd.DataFrame], docs: Path | str) -> Path:
    """Write the tables to ``docs/data/hundred_million/*.csv``, and what is made of these files alone.

    That is the page, ``docs/hundred-million.md``, and its figures, ``docs/images/hundred_million_*.png``.
    """
    write_tables(tables, data_folder(docs))
    for drawing in draw_study(read_study_tables(docs)):
        drawing.save(Path(docs) / "images" / f"{drawing.name}.png")
    page = Path(docs) / PAGE
    write_text(page, study_page(docs))
    return page


def study_page(docs: Path | str) -> str:
    """Make the page of the CSV files; what people add stands in ``findings.jinja`` beside these, if it is there."""
    return render_page("page.md", (Path(__file__).parent / "templates", data_folder(docs)), read_study_tables(docs))


def read_study_tables(docs: Path | str) -> dict[str, pd.DataFrame]:
    """Read the CSV files of the study, by name."""
    return read_tables(data_folder(docs))


def data_folder(docs: Path | str) -> Path:
    """Return the folder of the CSV files."""
    return Path(docs) / "data" / "hundred_million"
