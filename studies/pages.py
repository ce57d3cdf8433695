"""The page of a study, made of the CSV files of its numbers and of what people wrote about them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from jinja2 import ChoiceLoader, FileSystemLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import readable
from ucurve.errors import UserError
from ucurve.eval.metrics.significance import least_prevalence
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


@dataclass(frozen=True)
class StudyPage:
    """A page, and figures in ``images/`` beside it, made of the CSV files of a study in ``data/`` and nothing else."""

    name: str  # of the page's file
    template: Path
    draw: Callable[[Mapping[str, pd.DataFrame]], Iterable[Drawing]]
    data: str = ""  # the folder of the CSV files in ``data/``
    prefix: str = ""  # of their names
    # What follows from tables.
    derive: Callable[[Mapping[str, pd.DataFrame]], Mapping[str, pd.DataFrame]] = lambda _: {}

    def write(self, tables: Mapping[str, pd.DataFrame], docs: Path | str) -> Path:
        """Write the CSV files, and what is made of them, to a folder of documentation; return the page."""
        return self._write({**tables, **self.derive(tables)}, docs)

    def write_again(self, docs: Path | str) -> Path:
        """Make all that follows from the CSV files of the runs again: other CSV files, figures and the page."""
        if not (tables := self.read_tables(docs)):
            raise UserError(f"--out={docs}: no CSV files in {self.data_folder(docs)}; make them with --runs")
        return self._write(self.derive(tables), docs)

    def _write(self, tables: Mapping[str, pd.DataFrame], docs: Path | str) -> Path:
        write_tables(tables, self.data_folder(docs), self.prefix)
        for drawing in self.draw(self.read_tables(docs)):
            drawing.save(Path(docs) / "images" / f"{drawing.name}.png")
        page = Path(docs) / self.name
        write_text(page, self.render(docs))
        return page

    def render(self, docs: Path | str) -> str:
        """Fill the template, which includes what people wrote beside the CSV files, if there is such a file."""
        folders = self.template.parent, self.data_folder(docs)
        return render_page(self.template.name, folders, self.read_tables(docs))

    def read_tables(self, docs: Path | str) -> dict[str, pd.DataFrame]:
        """Read the CSV files, by name."""
        return read_tables(self.data_folder(docs), self.prefix)

    def data_folder(self, docs: Path | str) -> Path:
        """Return the folder of the CSV files."""
        return Path(docs) / "data" / self.data


def render_page(
    template: str,
    folders: tuple[Path, ...],
    tables: Mapping[str, pd.DataFrame],
) -> str:
    """Fill a template in one of the folders with the rows of the tables, by the names of the tables."""
    loaders = [FileSystemLoader(folder) for folder in folders]
    environment = SandboxedEnvironment(
        loader=ChoiceLoader(loaders), undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {
        "percent": percent, "number": number, "count": count, "interval": interval, "readable": readable,
        "least_prevalence": least_prevalence,
        "ranged": ranged,
        "text": lambda value: MISSING if pd.isna(value) else str(value),
    }  # fmt: skip
    environment.tests["beginning_with"] = lambda value, text: isinstance(value, str) and value.startswith(text)
    return environment.get_template(template).render(
        {name: table.to_dict("records") for name, table in tables.items()}
    )


def percent(value: float, digits: int = 1) -> str:
    """Write a fraction in percent, without the sign."""
    return number(100 * value, digits)


def number(value: float, digits: int = 2) -> str:
    """Write a number with so many decimals."""
    # No minus sign before a zero.
    return MISSING if pd.isna(value) else f"{round(value, digits) + 0.0:.{digits}f}"


def count(value: float) -> str:
    """Write a whole number, a large one in thousands or millions as tokens are."""
    if pd.isna(value):
        return MISSING
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.0f} k" if value >= 1e4 else f"{value:,.0f}"


def interval(
    row: Mapping[str, float], name: str, digits: int = 2, scale: float = 1.0, form: str = "{} ({} to {})"
) -> str:
    """Write a number with its interval: ``name`` with ``low`` and ``high``, or ``name_low`` and ``name_high``."""
    low, high = (f"{name}_low", f"{name}_high") if f"{name}_low" in row else ("low", "high")
    texts = [number(scale * row[key], digits) for key in (name, low, high)]
    return texts[0] if MISSING in texts else form.format(*texts)


def ranged(row: Mapping[str, float], name: str, digits: int = 2, scale: float = 1.0) -> str:
    """Write a number with the lowest and the highest of the runs, alone where they are equal: this is no interval."""
    value, _, span = interval(row, name, digits, scale, "{}, {} to {}").partition(", ")
    return value if span in ("", f"{value} to {value}") else f"{value}, {span}"
