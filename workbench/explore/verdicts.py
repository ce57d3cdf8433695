"""The test of a curve's shape, for the curves that are on the page."""

from collections.abc import Mapping, Sequence

import numpy as np

from ucurve.analysis.data.groups import ALL
from ucurve.analysis.data.pair_scores import Items
from ucurve.analysis.data.settings import FLAT_MARGIN
from ucurve.analysis.shape.over_tokens import find_shapes
from ucurve.analysis.shape.section import test_note
from ucurve.analysis.shape.tables import explain_reservations
from ucurve.eval.metrics.clusters import EDIT, pair_clusters
from ucurve.workbench.explore.curves import Asked, count_curves, curve_values, usable_matrices
from ucurve.workbench.explore.library import Library
from ucurve.workbench.explore.matrix import ScoreMatrix
from ucurve.workbench.explore.turns import Course, order


def shape_verdicts(library: Library, asked: Asked) -> dict[str, object]:
    """Test the shapes of the curves that are asked for (``ucurve.analysis.shape``): a row for each curve, and notes.

    ``order`` has the values with those first of which a curve is U-shaped, which are in ``turned``.
    """
    found = count_curves(library, asked)
    matrices, notes = usable_matrices(library, asked)
    # The color changes no verdict, so that it is no part of the key.
    key = "shapes", asked.key, tuple(matrix.signature for matrix in matrices)
    return library.recall(key, lambda: _test(matrices, notes, asked, found.courses))


def _test(
    matrices: Sequence[ScoreMatrix], notes: Sequence[str], asked: Asked, lines: Mapping[str, list[Course]]
) -> dict[str, object]:
    """Test the curves of runs with checkpoints, and order the values by what was found."""
    trained = [matrix for matrix in matrices if matrix.steps[0] >= 0]
    shown = curve_values(matrices[0], asked)[1]
    found = find_shapes([(matrix.run, _items(matrix, asked, shown)) for matrix in trained])
    if found.classes.empty:
        return {"classes": [], "notes": [*notes, *found.notes], "order": order(lines), "turned": []}
    classes = found.classes[found.classes["phenomenon"].ne(ALL) | (asked.by == ALL)]
    turned = [str(value) for value in classes[classes["class"] == "U-shaped"]["phenomenon"].unique()]
    shown_columns = ["line", "phenomenon", "class", "shape", "p", "depth", "place", "runs"]
    rows = classes[shown_columns].rename(columns={"phenomenon": "value"}).to_dict("records")
    return {
        "classes": [row | {"meanings": explain_reservations([row["shape"]])} for row in rows],
        "notes": [*notes, *found.notes, test_note(found.classes, FLAT_MARGIN)],
        "order": order(lines, turned), "turned": turned,
    }  # fmt: skip


def _items(matrix: ScoreMatrix, asked: Asked, shown: Sequence[str]) -> Items:
    """Return the credits of the pairs of the curves, each pair under the name of its curve."""
    groups = matrix.shared.group(asked.by)
    # A pair without a value is of the group -1, which is the last name, the empty one.
    names = np.array([*groups.names, ""], dtype=object)[groups.of]
    rows = np.flatnonzero(matrix.split(asked.split) & np.isin(names, list(shown)))
    pairs = matrix.pairs.iloc[rows]
    named = pairs[["pair"]].assign(
        phenomenon=names[rows], paradigm=pairs["paradigm"].astype(str), cluster=pair_clusters(pairs, EDIT)
    )
    return Items(
        matrix.run.label, matrix.steps, matrix.tokens, matrix.verdicts(asked.linking, rows),
        named.reset_index(drop=True),
    )  # fmt: skip
