"""The margin of one pair over training: a line for each seed, and a rule at the checkpoint that the page shows."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from ucurve.analysis.charts import axes, parts
from ucurve.analysis.charts.parts import CURVES, Column
from ucurve.analysis.items.card import card_html, maker_of, pair_facts
from ucurve.analysis.plotting.style import TokenAxis
from ucurve.workbench.explore.curves import Asked, usable_matrices
from ucurve.workbench.explore.library import Library
from ucurve.workbench.explore.matrix import ScoreMatrix
from ucurve.workbench.explore.pairs import row_of
from ucurve.workbench.replies import Values, text_of

_HEIGHT = 110  # CSS pixels of the panel
_NUMBERS = ("number", "step", "tokens")


def pair_margins(library: Library, asked: Asked, values: Values) -> dict[str, object]:
    """Return margins and verdicts of a pair at every step of a run and of those that differ from it in the seed only.

    A margin is the linked value of the good sentence less that of the bad one, above 0 where the good one is preferred.
    A ``trace`` is the verdicts as digits (0 wrong, 1 tied, 2 right); that of a pair of a set is of the whole set. The
    ``card`` is that of the pair, as HTML, without what a run had read.
    """
    matrix = library.matrix(text_of(values, "run"), asked.benchmark, asked.scorer)
    row = row_of(matrix, values)
    pair = matrix.pairs.iloc[row]
    line = [one for one in usable_matrices(library, asked)[0]
            if one.run.line == matrix.run.line and one.shared is matrix.shared]  # fmt: skip
    seeds = [_seed(one, asked, row) for one in line]
    return {
        "pair": int(pair["pair"]), "paradigm": pair["paradigm"], "good": pair["good"], "bad": pair["bad"],
        "card": card_html(pair_facts(matrix.shared, row, maker_of(matrix.run.folder, asked.benchmark))),
        "seeds": seeds, "chart": _chart(seeds, f"Pair {pair['pair']}", f"Margin ({asked.linking.name})"),
    }  # fmt: skip


def _seed(matrix: ScoreMatrix, asked: Asked, row: int) -> dict[str, object]:
    verdicts = matrix.verdicts(asked.linking, np.array([row]))[:, 0]
    margins = matrix.values(asked.linking, row)["margin"]
    trace = "".join(map(str, verdicts.tolist()))
    return {"run": matrix.run.label, "steps": matrix.steps, "tokens": matrix.tokens, "margins": margins, "trace": trace}


def _chart(seeds: Sequence[dict[str, object]], title: str, label: str) -> dict[str, object]:
    """Draw the margins around 0; the page sets the parameter ``at``, the step that is marked."""
    columns = {"line": "run", "number": "margins", "step": "steps", "tokens": "tokens"}
    table = pd.concat(pd.DataFrame({name: seed[key] for name, key in columns.items()}) for seed in seeds)
    axis, line = TokenAxis(table["tokens"]), Column("line", "Runs", tuple(table["line"].unique()))
    base = alt.Chart().encode(x=axes.token_axis(axis))
    colored = base.encode(
        y=alt.Y("number:Q", title=label), color=parts.color(line), strokeDash=parts.dashes(line),
    )  # fmt: skip
    marks = [
        alt.Chart(alt.InlineData([{}])).mark_rule(style="level", aria=False).encode(y=alt.datum(0)),
        *(axes.untrained_place(axis) if table["tokens"].eq(0).any() else []),
        base.mark_rule(style="chosen", aria=False).transform_filter("datum.step === at"),
        colored.mark_line(clip=True),
        colored.mark_point(clip=True, filled=True, size=24).encode(tooltip=parts.tips(["line", *_NUMBERS])),
    ]  # fmt: skip
    chart = parts.small(marks, _NUMBERS).transform_calculate(place=axes.token_place(axis)).properties(height=_HEIGHT)
    data = {CURVES: parts.nest(table, ["line"], _NUMBERS)}
    drawn: dict[str, object] = parts.filled(chart, title, label, data).to_dict(validate=False)
    return drawn
