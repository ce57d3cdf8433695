"""The test of a curve's shape, for the curves that are on the page."""

from collections.abc import Sequence

import numpy as np

from analysis.data.clusters import pair_clusters
from analysis.data.groups import ALL
from analysis.data.pair_scores import Items
from analysis.data.settings import BY_EDITS, FLAT_MARGIN
from analysis.shape.section import test_note
from analysis.shape.tables import find_shapes
from workbench.explore.curves import Asked, curve_values, usable_matrices
from workbench.explore.library import Library
from workbench.explore.matrix import ScoreMatrix


def shape_verdicts(library: Library, asked: Asked) -> dict[str, object]:
    """Test the shapes of the curves that are asked for (``analysis.shape``): a row for each curve, and notes."""
    matrices, notes = usable_matrices(library, asked)
    trained = [matrix for matrix in matrices if matrix.steps[0] >= 0]
    shown = curve_values(matrices[0], asked)[1]
    found = find_shapes([(matrix.run, _items(matrix, asked, shown)) for matrix in trained])
    if found.classes.empty:
        return {"classes": [], "notes": [*notes, *found.notes]}
    classes = found.classes[["group", "phenomenon", "shape", "p", "depth", "place", "runs"]]
    if asked.by != ALL:
        classes = classes[classes["phenomenon"] != ALL]
    rows = classes.rename(columns={"phenomenon": "value"}).to_dict("records")
    return {"classes": rows, "notes": [*notes, *found.notes, test_note(found.classes, FLAT_MARGIN)]}


def _items(matrix: ScoreMatrix, asked: Asked, shown: Sequence[str]) -> Items:
    """Return the credits of the pairs of the curves, each pair under the name of its curve."""
    groups = matrix.shared.group(asked.by)
    names = np.array([*groups.names, ""], dtype=object)[groups.of]
    rows = np.flatnonzero(matrix.split(asked.split) & np.isin(names, list(shown)))
    pairs = matrix.pairs.iloc[rows]
    named = pairs[["pair"]].assign(
        phenomenon=names[rows], paradigm=pairs["paradigm"].astype(str), cluster=pair_clusters(pairs, BY_EDITS)
    )
    return Items(
        matrix.run.label, matrix.steps, matrix.tokens, matrix.verdicts(asked.linking, rows),
        named.reset_index(drop=True),
    )  # fmt: skip
