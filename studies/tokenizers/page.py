"""The page of the study: every number on it is in one of its CSV files."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from analysis.linking.tables import SPLITS
from studies.pages import MISSING, percent, read_tables, render_page, write_tables
from studies.tokenizers.figures import draw_study
from ucurve.storage.files import write_text

_PREFIX = "study_"


def write_study(tables: Mapping[str, pd.DataFrame], docs: Path | str) -> Path:
    """Write the tables to ``docs/data/study_*.csv``, and what is made of these files alone.

    That is the page, ``docs/study.md``, and its figures, ``docs/images/study_*.png``.
    """
    data, page = Path(docs) / "data", Path(docs) / "study.md"
    write_tables(tables, data, _PREFIX)
    for drawing in draw_study(read_tables(data, _PREFIX)):
        drawing.save(Path(docs) / "images" / f"{drawing.name}.png")
    write_text(page, study_page(Path(docs)))
    return page


def study_page(docs: Path) -> str:
    """Make the page of the CSV files in ``docs/data``.

    What people wrote about them stands in ``docs/data/study_findings.jinja``, with the numbers as places to fill from
    the same files; without that file the page has the tables alone.
    """
    folders = Path(__file__).parent / "templates", docs / "data"
    return render_page("study.md", folders, read_tables(docs / "data", _PREFIX), {"splits": _splits})


def _splits(row: Mapping[str, float], whose: str, digits: int = 1) -> str:
    values = [row[f"{whose}_{split}"] for split in SPLITS]
    return MISSING if pd.isna(values).all() else " / ".join(percent(value, digits) for value in values)
