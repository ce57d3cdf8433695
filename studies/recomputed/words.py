"""What the classes of a curve in three scopes are called in one column, by rules.md, without the analysis."""

from collections.abc import Hashable, Mapping

import pandas as pd

from studies.recomputed.shape import NOT_TESTED

TURNS = ("U-shaped", "inverted-U")
OPEN = ("undetermined", NOT_TESTED)
SEEN = 0.05  # depth of a turn that is said to be seen
_NARROWER = {"these pairs": "class_these_pairs", "these runs": "class_these_runs"}


def labels(rows: pd.DataFrame) -> list[str]:
    """Return the column ``shape``.

    ``rows`` have the classes, runs, dip, bump, whether ``both`` turn, and whether the class is of ``these_pairs``.
    """
    return [_label(row) for row in rows.to_dict("records")]


def _label(row: Mapping[Hashable, object]) -> str:
    name, runs = str(row["class"]), int(str(row["runs"]))
    if name == NOT_TESTED:
        return name
    scope = "these pairs" if row["these_pairs"] and name != "undetermined" else ""
    narrower = {words: str(row[column]) for words, column in _NARROWER.items() if str(row[column]) not in OPEN}
    if name == "undetermined" and narrower:
        scope = next((words for words, said in narrower.items() if said in TURNS), next(iter(narrower)))
        name = narrower[scope]
    also = (
        f", also {next(turn for turn in TURNS if turn != name)}"
        if row["both"] and name in TURNS and not scope
        else ""
    )
    notes = ["this run"] * (runs == 1 and name != "undetermined")
    notes += ["2 runs: indicative"] * (runs == 2 and name in TURNS and scope != "these runs")
    notes += [scope] * bool(scope) + _besides(row, name, scope)
    return f"{name}{also}" + (f" ({'; '.join(notes)})" if notes else "")


def _besides(row: Mapping[Hashable, object], name: str, scope: str) -> list[str]:
    """Say what is shown for these pairs beside a class for others, or what is seen and not shown."""
    dip, bump = float(str(row["dip"])), float(str(row["bump"]))
    if name in TURNS:
        return []
    if not scope and row["class_these_pairs"] in TURNS:
        return [f"these pairs: {row['class_these_pairs']}"]
    if row["class"] not in TURNS and max(dip, bump) >= SEEN:
        return [f"{'dips' if dip >= bump else 'bulges'}, unproven"]
    return []
