"""The look of a study's lines, and the mark of those that cannot be compared by bits per byte.

Factors give colors, dashes, markers and panels. Marked are lines whose tokenizers do not know some of the text.
"""

from collections.abc import Iterable, Sequence

import pandas as pd

from ucurve.analysis.data.runs import Run
from ucurve.analysis.plotting.style import FEWEST_IN_PANELS, LineStyles, styles_by_factor
from ucurve.errors import unknown_name

_MOST_UNKNOWN = 0.001  # of the bytes of the held-out text
_MARK = " †"


def unknown_mark(run: Run) -> str:
    """Return what follows the name of a run's line in comparisons by bits per byte: a mark, or nothing."""
    return _MARK if _unknown_share(run) > _MOST_UNKNOWN else ""


def mark_unknown(table: pd.DataFrame, runs: Sequence[Run]) -> pd.DataFrame:
    """Put the mark behind the lines in the column ``line`` of a table."""
    marks = {run.line: run.line + unknown_mark(run) for run in runs}
    return table.assign(line=table["line"].astype(str).replace(marks))


def describe_unknown(runs: Sequence[Run]) -> list[str]:
    """Say which lines have the mark and why; empty where none has it."""
    shares = {run.line: _unknown_share(run) for run in runs if unknown_mark(run)}
    return [
        f"† {line}: its tokenizer does not know {share:.2%} of the bytes of the held-out text. All that it does not "
        "know is one token, which takes fewer bits than the text, so its bits per byte are too low beside those of "
        "other lines."
        for line, share in shares.items()
    ]


def _unknown_share(run: Run) -> float:
    held_out = run.facts.held_out if run.facts and run.facts.objective in ("causal", "hybrid") else None
    return held_out.unknown_bytes / held_out.bytes if held_out else 0.0


def look_of(runs: Sequence[Run], first: Iterable[str | None] = (), facet: str | None = None) -> LineStyles:
    """Return the style of each line of some runs, and the panel of each from 12 lines on.

    ``first`` are the factors of color and dashes that were asked for; those that vary follow in their order. Panels are
    by ``facet``, else by the last factor that styles show.

    Raises:
        UserError: when there is no such factor.
    """
    design = runs[0].design
    asked = [name for name in first if name is not None]
    for name in (*asked, *([] if facet is None else [facet])):
        if name not in design.table:
            raise unknown_name("factor", name, design.varying or design.table.columns)
    factors = [name for name in dict.fromkeys((*asked, *design.varying)) if name in design.varying]
    styles = styles_by_factor(design.views(), {name: design.levels(name) for name in factors})
    marks = {run.label: unknown_mark(run) for run in runs}  # as comparisons by bits per byte name lines
    names = [(run, name) for run in runs for name in (run.line, run.line_without("size", "budget"))]
    marked = {f"{name}{marks[run.label]}": styles[name] for run, name in names if name in styles}
    by = facet or (factors[:3][-1] if len({run.line for run in runs}) >= FEWEST_IN_PANELS and factors else None)
    of_panels = [(run, run.line + mark) for run in runs for mark in ("", marks[run.label])] if by else []
    return LineStyles(
        styles | marked, {name: str(design.level(run.label, by or "") or run.line) for run, name in of_panels}
    )
