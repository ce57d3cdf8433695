"""Reads the tables that scoring prints."""

import re

PARTS = ("95 % CI", "change", "0...50..100")  # columns behind an accuracy, which several of them may have


def read_printed(text):
    """Return the rows as dictionaries from column to text; those behind an accuracy are ``slln_lp 95 %`` and so on."""
    rows, head = [], []
    for line in text.splitlines():
        cells = re.split(r" {2,}", line.strip())
        if "95 % CI" in cells:
            head = name_columns(cells)
        elif head and line.startswith("  ") and len(cells) == len(head):
            rows.append(dict(zip(head, cells, strict=True)))
    return rows


def name_columns(cells):
    names = []
    for place, cell in enumerate(cells):
        accuracy = next((one for one in reversed(cells[:place]) if one not in PARTS), "")
        names.append(f"{accuracy} {cell}" if cell in PARTS else cell)
    return names
