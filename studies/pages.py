"""The page of a study, made of the CSV files of its numbers and of what people wrote about them."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
from jinja2 import ChoiceLoader, FileSystemLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from analysis.plotting.style import readable
from studies.dips import one_order_of_each
from ucurve.storage.files import write_text

MISSING = "–"
_DIGITS = 6  # significant ones in the CSV files; more would differ between machines


def write_tables(tables: Mapping[str, pd.DataFrame], folder: Path, prefix: str = "") -> None:
    """Write each table to ``<prefix><name>.csv`` in a folder."""
    for name, table in tables.items():
        text = table.to_csv(index=False, float_format=f"%.{_DIGITS}g", lineterminator="\n")
        write_text(folder / f"{prefix}{name}.csv", text)


def read_tables(folder: Path, prefix: str = "") -> dict[str, pd.DataFrame]:
    """Read what ``write_tables`` wrote, by name."""
    files = sorted(folder.glob(f"{prefix}*.csv"))
    return {path.stem.removeprefix(prefix): pd.read_csv(path) for path in files}


def render_page(
    template: str,
    folders: tuple[Path, ...],
    tables: Mapping[str, pd.DataFrame],
    filters: Mapping[str, Callable[..., object]] | None = None,
) -> str:
    """Fill a template in one of the folders with the rows of the tables, by the names of the tables."""
    loaders = [FileSystemLoader(folder) for folder in folders]
    environment = SandboxedEnvironment(
        loader=ChoiceLoader(loaders), undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {
        "percent": percent, "number": number, "count": count, "interval": interval, "readable": readable,
        "text": lambda value: MISSING if pd.isna(value) else str(value),
        "one_order_of_each": lambda rows: one_order_of_each(pd.DataFrame(rows)).to_dict("records"), **(filters or {}),
    }  # fmt: skip
    environment.tests["beginning_with"] = lambda value, text: isinstance(value, str) and value.startswith(text)
    return environment.get_template(template).render({name: table.to_dict("records") for name, table in tables.items()})


def percent(value: float, digits: int = 1) -> str:
    """Write a fraction in percent, without the sign."""
    return number(100 * value, digits)


def number(value: float, digits: int = 2) -> str:
    """Write a number with so many decimals."""
    return MISSING if pd.isna(value) else f"{round(value, digits) + 0.0:.{digits}f}"  # no minus sign before a zero


def count(value: float) -> str:
    """Write a whole number, a large one in thousands or millions as tokens are."""
    if pd.isna(value):
        return MISSING
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.0f} k" if value >= 1e4 else f"{value:,.0f}"


def interval(row: Mapping[str, float], name: str, digits: int = 2, scale: float = 1.0) -> str:
    """Write a number with its interval: ``name`` with ``low`` and ``high``, or ``name_low`` and ``name_high``."""
    low, high = (f"{name}_low", f"{name}_high") if f"{name}_low" in row else ("low", "high")
    texts = [number(scale * row[key], digits) for key in (name, low, high)]
    return texts[0] if MISSING in texts else f"{texts[0]} ({texts[1]} to {texts[2]})"
