"""Make the page of a study of architectures of its run folders, with the figures and the CSV files of its numbers.

Runs that are not finished, or not scored at their last checkpoint, are left out and named on the page.

python -m studies.architectures --runs 'runs/architectures/*' [--out docs] [--benchmark NAME]
"""

from studies.architectures.page import PAGE
from studies.architectures.tables import study_tables
from studies.command import make_page


def main() -> None:
    """Read the runs, write the page, and print where it is."""
    make_page(__doc__, study_tables, PAGE)


if __name__ == "__main__":
    main()
