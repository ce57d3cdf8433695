"""Make the page of a study of tokenizers of its run folders, with the figures and the CSV files of its numbers.

python -m studies.tokenizers --runs 'runs/tokenizers_small/*' [--out docs] [--benchmark NAME]
"""

from studies.command import make_page
from studies.tokenizers.page import PAGE
from studies.tokenizers.tables import study_tables


def main() -> None:
    """Read the runs, write the page, and print where it is."""
    make_page(__doc__, study_tables, PAGE)


if __name__ == "__main__":
    main()
