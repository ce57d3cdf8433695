"""The page of the study: every number on it is in one of its CSV files."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from jinja2 import ChoiceLoader, FileSystemLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from analysis.linking.tables import SPLITS
from studies.tokenizers.dips import one_order_of_each
from studies.tokenizers.figures import draw_study
from ucurve.storage.files import write_text

MISSING = "–"
_DIGITS = 6  # significant ones in the CSV files; more would differ between machines


def write_study(tables: Mapping[str, pd.DataFrame], docs: Path | str) -> Path:
    """Write the tables to ``docs/data/study_*.csv``, and what is made of these files alone.

    That is the page, ``docs/study.md``, and its figures, ``docs/images/study_*.png``.
    """
    for name, table in tables.items():
        text = table.to_csv(index=False, float_format=f"%.{_DIGITS}g", lineterminator="\n")
        write_text(Path(docs) / "data" / f"study_{name}.csv", text)
    for drawing in draw_study(_read_tables(Path(docs))):
        drawing.save(Path(docs) / "images" / f"{drawing.name}.png")
    page = Path(docs) / "study.md"
    write_text(page, study_page(Path(docs)))
    return page


def study_page(docs: Path) -> str:
    """Make the page of the CSV files in ``docs/data``.

    What people wrote about them stands in ``docs/data/study_findings.jinja``, with the numbers as places to fill from
    the same files; without that file the page has the tables alone.
    """
    loaders = FileSystemLoader(Path(__file__).parent / "templates"), FileSystemLoader(docs / "data")
    environment = SandboxedEnvironment(
        loader=ChoiceLoader(loaders), undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {
        "percent": _percent, "number": _number, "count": _count, "interval": _interval, "splits": _splits,
        "text": lambda value: MISSING if pd.isna(value) else str(value),
        "one_order_of_each": lambda rows: one_order_of_each(pd.DataFrame(rows)).to_dict("records"),
    }  # fmt: skip
    environment.tests["beginning_with"] = lambda value, text: isinstance(value, str) and value.startswith(text)
    tables = {name: table.to_dict("records") for name, table in _read_tables(docs).items()}
    return environment.get_template("study.md").render(tables)


def _read_tables(docs: Path) -> dict[str, pd.DataFrame]:
    files = sorted((docs / "data").glob("study_*.csv"))
    return {path.stem.removeprefix("study_"): pd.read_csv(path) for path in files}


def _percent(value: float, digits: int = 1) -> str:
    return _number(100 * value, digits)


def _number(value: float, digits: int = 2) -> str:
    return MISSING if pd.isna(value) else f"{round(value, digits) + 0.0:.{digits}f}"  # no minus sign before a zero


def _count(value: float) -> str:
    """Write a whole number, a large one in thousands or millions as tokens are."""
    if pd.isna(value):
        return MISSING
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.0f} k" if value >= 1e4 else f"{value:,.0f}"


def _interval(row: Mapping[str, float], name: str, digits: int = 2, scale: float = 1.0) -> str:
    """Write a number with its interval: ``name`` with ``low`` and ``high``, or ``name_low`` and ``name_high``."""
    low, high = (f"{name}_low", f"{name}_high") if f"{name}_low" in row else ("low", "high")
    texts = [_number(scale * row[key], digits) for key in (name, low, high)]
    return texts[0] if MISSING in texts else f"{texts[0]} ({texts[1]} to {texts[2]})"


def _splits(row: Mapping[str, float], whose: str, digits: int = 1) -> str:
    values = [row[f"{whose}_{split}"] for split in SPLITS]
    return MISSING if pd.isna(values).all() else " / ".join(_percent(value, digits) for value in values)
