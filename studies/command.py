"""The command of a study: it reads run folders, makes the page and the CSV files of its numbers, and prints where."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from studies.pages import StudyPage
from ucurve.analysis.api import open_study
from ucurve.analysis.notebook import NotebookStudy
from ucurve.errors import INTERRUPTED, UcurveError


def make_page(
    description: str | None, tables: Callable[[NotebookStudy], Mapping[str, pd.DataFrame]], page: StudyPage
) -> None:
    """Read the command line and make the page of a study, of its runs or else of its CSV files."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--runs", nargs="+", help="run folders, or patterns; without, the page is made of its CSV files"
    )
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder for the page, data/ and images/")
    parser.add_argument("--benchmark", help="which of the scored benchmarks, by default the first")
    arguments = parser.parse_args()
    try:
        if arguments.runs:
            study = open_study(arguments.runs, benchmark=arguments.benchmark)
            made = page.write(tables(study), arguments.out)
        else:
            made = page.write_again(arguments.out)
        sys.stdout.write(f"page: {made}\n")
    except UcurveError as error:
        parser.exit(error.exit_code, f"error: {error}\n")
    except KeyboardInterrupt:
        parser.exit(INTERRUPTED, "interrupted: the same command starts again from the beginning\n")
