"""What the classes of a curve in three scopes are called in one column, by docs/shape.md, without the analysis."""

from collections.abc import Hashable, Mapping

import pandas as pd

from studies.second_shape import NOT_TESTED

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
    also = f", also {next(turn for turn in TURNS if turn != name)}" if row["both"] and name in TURNS else ""
    notes = []
    if name != "undetermined":
        notes = ["this run"] * (runs == 1) + ["2 runs: indicative"] * (runs == 2 and name in TURNS)
    notes += _narrower(row, name)[:1] + ["these pairs"] * bool(row["these_pairs"])
    return f"{name}{also}" + (f" ({'; '.join(notes)})" if notes else "")


def _narrower(row: Mapping[Hashable, object], name: str) -> list[str]:
    """Say what is shown in a narrower scope only, what is seen and not shown, and that nothing could be shown."""
    shown = {scope: str(row[column]) for scope, column in _NARROWER.items()}
    if row["these_pairs"]:
        del shown["these pairs"]
    if name != "undetermined":
        shown = {scope: said for scope, said in shown.items() if scope == "these pairs" and said in TURNS}
    turns = [f"{scope}: {said}" for scope, said in shown.items() if said in TURNS and name not in TURNS]
    others = [f"{scope}: {said}" for scope, said in shown.items() if said not in (*TURNS, *OPEN, name)]
    dip, bump = float(str(row["dip"])), float(str(row["bump"]))
    is_seen = name not in TURNS and max(dip, bump) >= SEEN
    seen = [f"{'dips' if dip >= bump else 'bulges'}, unproven"] if is_seen else []
    return turns + seen + others
