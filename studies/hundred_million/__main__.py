"""Make the page of runs of a hundred million tokens, with the figures and the CSV files of its numbers.

python -m studies.hundred_million --runs 'runs/hundred_million/*' [--out docs] [--benchmark NAME]
"""

import argparse
import sys
from pathlib import Path

from analysis.api import open_study
from studies.hundred_million.page import write_study
from studies.hundred_million.tables import study_tables
from ucurve.errors import INTERRUPTED, UcurveError


def main() -> None:
    """Read the runs, write the page, and print where it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", required=True, nargs="+", help="run folders, or patterns")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder for hundred-million.md, data/, images/")
    parser.add_argument("--benchmark", help="which of the scored benchmarks, by default the first")
    arguments = parser.parse_args()
    try:
        tables = study_tables(open_study(arguments.runs, benchmark=arguments.benchmark))
        sys.stdout.write(f"page: {write_study(tables, arguments.out)}\n")
    except UcurveError as error:
        parser.exit(error.exit_code, f"error: {error}\n")
    except KeyboardInterrupt:
        parser.exit(INTERRUPTED, "interrupted: the same command starts again from the beginning\n")


if __name__ == "__main__":
    main()
