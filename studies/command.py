"""The command of a study: it reads run folders, makes the page and the CSV files of its numbers, and prints where."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ucurve.analysis.api import open_study
from ucurve.analysis.notebook import NotebookStudy
from ucurve.errors import INTERRUPTED, UcurveError

Tables = TypeVar("Tables")


def make_page(
    description: str | None, tables: Callable[[NotebookStudy], Tables], write: Callable[[Tables, Path], object]
) -> None:
    """Read the command line and make the page of a study."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", required=True, nargs="+", help="run folders, or patterns")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder for the page, data/ and images/")
    parser.add_argument("--benchmark", help="which of the scored benchmarks, by default the first")
    arguments = parser.parse_args()
    try:
        page = write(tables(open_study(arguments.runs, benchmark=arguments.benchmark)), arguments.out)
        sys.stdout.write(f"page: {page}\n")
    except UcurveError as error:
        parser.exit(error.exit_code, f"error: {error}\n")
    except KeyboardInterrupt:
        parser.exit(INTERRUPTED, "interrupted: the same command starts again from the beginning\n")
