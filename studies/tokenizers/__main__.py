"""Make the page of a study of tokenizers of its run folders, with the figures and the CSV files of its numbers.

python -m studies.tokenizers --runs 'runs/tokenizers_small/*' [--out docs] [--benchmark NAME]
"""

import argparse
import sys
from pathlib import Path

from analysis.api import open_study
from studies.tokenizers.page import write_study
from studies.tokenizers.tables import study_tables
from ucurve.errors import INTERRUPTED, UcurveError


def main() -> None:
    """Read the runs, write the page, and print where it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", required=True, nargs="+", help="run folders of several tokenizers, or patterns")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder for study.md, data/ and images/")
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
