"""What a run had read of a pair before a checkpoint."""

from ucurve.analysis.items.seen_before import find_seen_pair
from ucurve.workbench.explore.curves import Asked
from ucurve.workbench.explore.library import Library
from ucurve.workbench.explore.pairs import row_of
from ucurve.workbench.replies import Values, text_of, whole_of


def seen_before(library: Library, asked: Asked, values: Values) -> dict[str, object]:
    """Count what differs in a pair in the text that a run was trained on up to a step, with lines that have it.

    The text is gone through once for a pair, up to the last scored step; ``spaced`` is whether its words have spaces
    between them.
    """
    matrix = library.matrix(text_of(values, "run"), asked.benchmark, asked.scorer)
    pair, last = int(matrix.pairs["pair"].iloc[row_of(matrix, values)]), int(matrix.steps[-1])
    key = "seen", matrix.run.folder, asked.benchmark, pair, last
    found = library.recall(key, lambda: find_seen_pair(matrix.run.folder, last, matrix.pairs, pair))
    return {"spaced": found.spaced, "rows": found.before(whole_of(values, "step")).to_dict("records")}
