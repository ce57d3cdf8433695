"""The card of a pair, and what a run had read of it before a checkpoint."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pandas as pd

from ucurve.analysis.items.card import card_html, maker_of, pair_facts
from ucurve.analysis.items.seen_before import find_seen_at_once, find_seen_pair
from ucurve.workbench.explore.curves import Asked
from ucurve.workbench.explore.library import Library, import_transformers
from ucurve.workbench.explore.matrix import ScoreMatrix
from ucurve.workbench.explore.pairs import row_of
from ucurve.workbench.replies import Values, text_of, whole_of

Seen = TypeVar("Seen")


def pair_card(library: Library, asked: Asked, values: Values) -> dict[str, object]:
    """Return the card of a pair at a step as ``html``, with what the run had read where that is found in seconds."""
    matrix = library.matrix(text_of(values, "run"), asked.benchmark, asked.scorer)
    row, maker = row_of(matrix, values), maker_of(matrix.run.folder, asked.benchmark)
    found = _look(library, matrix, row, find_seen_at_once)
    seen = None if found is None else found.before(whole_of(values, "step"))
    return {"html": card_html(pair_facts(matrix.shared, row, maker, seen))}


def seen_before(library: Library, asked: Asked, values: Values) -> dict[str, object]:
    """Count what differs in a pair in the text that a run was trained on up to a step, with lines that have it.

    The text is gone through once for a pair, up to the last scored step; ``spaced`` is whether its words have spaces
    between them.
    """
    matrix = library.matrix(text_of(values, "run"), asked.benchmark, asked.scorer)
    row = row_of(matrix, values)
    found = _look(library, matrix, row, find_seen_at_once) or _look(library, matrix, row, find_seen_pair)
    return {"spaced": found.spaced, "rows": found.before(whole_of(values, "step")).to_dict("records")}


def _look(
    library: Library, matrix: ScoreMatrix, row: int, find: Callable[[Path, int, pd.DataFrame, int], Seen]
) -> Seen:
    """Return what a function finds of a pair in a run's text up to its last scored step; it is kept."""
    pair, last = int(matrix.pairs["pair"].iloc[row]), int(matrix.steps[-1])
    key = find, matrix.run.folder, matrix.benchmark, pair, last
    import_transformers()
    return library.recall(key, lambda: find(matrix.run.folder, last, matrix.pairs, pair))
