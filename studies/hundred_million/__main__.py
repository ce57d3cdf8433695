"""Make the page of runs of a hundred million tokens, with the figures and the CSV files of its numbers.

python -m studies.hundred_million --runs 'runs/hundred_million/*' [--out docs] [--benchmark NAME]
"""

from studies.command import make_page
from studies.hundred_million.page import PAGE
from studies.hundred_million.tables import study_tables


def main() -> None:
    """Read the runs, write the page, and print where it is."""
    make_page(__doc__, study_tables, PAGE)


if __name__ == "__main__":
    main()
