"""The pairs behind a point of a curve, by what became of them there, and the margin of one over training."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.charts import axes, parts
from ucurve.analysis.charts.parts import CURVES, NameColumn
from ucurve.analysis.data.groups import Ids, Mask
from ucurve.analysis.items.card import card_html, maker_of, pair_facts
from ucurve.analysis.items.histories import RIGHT, TIE, WRONG, find_events
from ucurve.analysis.plotting.style import TokenAxis
from ucurve.errors import UserError, unknown_name
from ucurve.workbench.explore.curves import Asked, usable_matrices
from ucurve.workbench.explore.library import Library
from ucurve.workbench.explore.matrix import ScoreMatrix
from ucurve.workbench.replies import Values, text_of, whole_of

PAGE = 50  # pairs of one reply
KINDS = {
    "all": "all pairs of the curve, those that flipped first",
    "right": "right at this checkpoint",
    "wrong": "wrong at this checkpoint",
    "tied": "both members score equal at this checkpoint",
    "flipped": "another verdict than at the checkpoint before",
    "learned": "right from this checkpoint on to the last one, and not at the one before",
    "forgotten": "right at the checkpoint before, and not right at this one or any later one",
}
_MARKS = ("flipped", "learned", "forgotten")
Verdicts = npt.NDArray[np.uint8]
_VERDICTS = {RIGHT: "right", TIE: "tied", WRONG: "wrong"}


def pair_kinds(verdicts: Verdicts, place: int) -> dict[str, Mask]:
    """Mark the pairs of each of ``KINDS`` at a checkpoint, bool[pairs], from verdicts, uint8[steps, pairs].

    At the first checkpoint nothing is flipped or forgotten, and what is right from there on to the end is learned.
    """
    now, events = verdicts[place], find_events(verdicts)
    return {
        "all": np.ones(verdicts.shape[1], dtype=bool),
        "right": now == RIGHT, "wrong": now == WRONG, "tied": now == TIE, "flipped": events.flipped[place],
        "learned": events.learned[place], "forgotten": events.forgotten[place],
    }  # fmt: skip


def list_pairs(library: Library, asked: Asked, values: Values) -> dict[str, object]:
    """List at most 50 pairs of a ``kind`` at a ``step`` of a ``run``, from ``offset`` on, of those of one curve.

    ``text`` leaves the pairs of which a sentence has it, in small or capital letters. The ``trace`` of a pair is its
    verdicts at all steps as digits (0 wrong, 1 tied, 2 right).
    """
    matrix = library.matrix(text_of(values, "run"), asked.benchmark, asked.scorer)
    found = np.flatnonzero(matrix.steps == whole_of(values, "step"))
    if not len(found):
        steps = ", ".join(map(str, matrix.steps[:20].tolist()))
        raise UserError(f"{matrix.run.label} has no scores of step {values.get('step')}; there are {steps}")
    place = int(found[0])
    kind = str(values.get("kind") or "all")
    if kind not in KINDS:
        raise unknown_name("kind of pairs", kind, KINDS)
    rows = _rows(matrix, asked, str(values.get("text") or ""))
    verdicts = matrix.verdicts(asked.linking, rows)
    kinds = pair_kinds(verdicts, place)
    offset = max(0, whole_of(values, "offset", 0))
    chosen = np.flatnonzero(kinds[kind])
    if kind == "all":
        chosen = chosen[np.argsort(~kinds["flipped"], kind="stable")]
    chosen = chosen[offset : offset + PAGE]
    return {
        "counts": {name: int(mask.sum()) for name, mask in kinds.items()},
        "pairs": len(rows),
        "steps": matrix.steps,
        "offset": offset,
        "rows": [
            {**row, "marks": [name for name in _MARKS if kinds[name][number]]}
            for number, row in zip(
                chosen, _describe(matrix, asked, rows[chosen], verdicts[:, chosen], place), strict=True
            )
        ],
    }


def row_of(matrix: ScoreMatrix, values: Values) -> int:
    """Return the row of the pair that a request names."""
    number = whole_of(values, "pair")
    numbers = matrix.pairs["pair"].to_numpy()
    found = np.flatnonzero(numbers == number)
    if not len(found):
        # Those of a subset are numbered as in the whole benchmark.
        raise UserError(
            f"{matrix.benchmark} has no pair {number}; its numbers are from {numbers[0]} to {numbers[-1]}"
        )
    return int(found[0])


def _rows(matrix: ScoreMatrix, asked: Asked, text: str) -> Ids:
    """Return the rows of the pairs of one curve, or of several where more values are asked for, that have a text."""
    groups = matrix.shared.group(asked.by)
    wanted = [place for place, name in enumerate(groups.names) if not asked.values or name in asked.values]
    rows = np.flatnonzero(matrix.split(asked.split) & np.isin(groups.of, wanted)).astype(np.int64)
    pairs = matrix.pairs.iloc[rows]
    sentences = pairs["good"] + "\n" + pairs["bad"]
    # What is typed is a text and no pattern.
    return rows[sentences.str.contains(text, case=False, regex=False).to_numpy()] if text else rows


def _describe(
    matrix: ScoreMatrix, asked: Asked, rows: Ids, verdicts: Verdicts, place: int
) -> list[dict[str, object]]:
    """Describe pairs at the checkpoint of a place in the steps; ``verdicts`` are theirs, uint8[steps, rows]."""
    described = []
    for row, own in zip(rows.tolist(), verdicts.T, strict=True):
        pair, values = matrix.pairs.iloc[row], matrix.values(asked.linking, row)
        described.append({
            "pair": int(pair["pair"]), "paradigm": pair["paradigm"], "good": pair["good"], "bad": pair["bad"],
            "good_value": values["good"][place], "bad_value": values["bad"][place], "margin": values["margin"][place],
            "verdict": _VERDICTS[int(own[place])], "before": _VERDICTS[int(own[place - 1])] if place else None,
            "trace": "".join(map(str, own.tolist())),
        })  # fmt: skip
    return described


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
    seeds: list[dict[str, object]] = []
    for one in usable_matrices(library, asked)[0]:
        # A row is the same pair only in runs that have the same pairs.
        if one.run.line == matrix.run.line and one.shared is matrix.shared:
            verdicts = one.verdicts(asked.linking, np.array([row]))[:, 0]
            seeds.append(
                {
                    "run": one.run.label,
                    "steps": one.steps,
                    "tokens": one.tokens,
                    "margins": one.values(asked.linking, row)["margin"],
                    "trace": "".join(map(str, verdicts.tolist())),
                }
            )
    return {
        "pair": int(pair["pair"]), "paradigm": pair["paradigm"], "good": pair["good"], "bad": pair["bad"],
        "card": card_html(pair_facts(matrix.shared, row, maker_of(matrix.run.folder, asked.benchmark))),
        "seeds": seeds, "chart": _chart(seeds, f"Pair {pair['pair']}", f"Margin ({asked.linking.name})"),
    }  # fmt: skip


def _chart(seeds: Sequence[dict[str, object]], title: str, label: str) -> dict[str, object]:
    """Draw the margins around 0; the page sets the parameter ``at``, the step that is marked."""
    columns = {"line": "run", "number": "margins", "step": "steps", "tokens": "tokens"}
    table = pd.concat(pd.DataFrame({name: seed[key] for name, key in columns.items()}) for seed in seeds)
    axis, line = TokenAxis(table["tokens"]), NameColumn("line", "Runs", tuple(table["line"].unique()))
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
    chart = (
        parts.small(marks, _NUMBERS).transform_calculate(place=axes.token_place(axis)).properties(height=_HEIGHT)
    )
    data = {CURVES: parts.nest(table, ["line"], _NUMBERS)}
    drawn: dict[str, object] = parts.filled(chart, title, label, data).to_dict(validate=False)
    return drawn
